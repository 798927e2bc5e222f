"""The log view by itself: any width, any line, wrapped or not."""

import re
from pathlib import Path

import pytest
from settling import settle
from textual.app import App, ComposeResult

from agentic_rl_tui.widgets.lines import FileLines, LineBuffer
from agentic_rl_tui.widgets.logview import LogView, compile_search
from agentic_rl_tui.widgets.logview_rows import MARGIN

GAPS = [
    "2026-12-01 21:00:00 - INFO - one",
    "2026-12-01 21:00:30 - INFO - two",
    "2026-12-01 21:03:42 - ERROR - three",
    "Traceback (most recent call last):",
    "ValueError: three",
    "2026-12-01 23:03:42 - INFO - four",
]
WILD = [
    "plain",
    "奖励函数调用成功 " * 30,
    "\x1b[31mred\x1b[0m " * 40,
    "\x1b]0;title\x07\x1b[2J\x1b[999;999Hmoved",
    "x" * 5000,
    "",
    "👩‍🚀" * 60,
    "tab\tand\rreturn",
    "[bold]no markup[/bold]",
]


class One(App[None]):
    def __init__(self, *, is_prose: bool = False) -> None:
        super().__init__()
        self.is_prose = is_prose

    def compose(self) -> ComposeResult:
        yield LogView(is_prose=self.is_prose)

    def on_mount(self) -> None:
        self.view.focus()

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)


def shown(app: One) -> list[str]:
    return [app.view.render_line(line).text.strip() for line in range(app.view.size.height)]


@pytest.mark.parametrize("width", [5, 13, 40, 200])
@pytest.mark.parametrize("keys", [(), ("w",), ("number_sign",), ("w", "number_sign"), ("right", "right")])
async def test_every_row_fills_the_width_and_nothing_acts(width: int, keys: tuple[str, ...]) -> None:
    app = One()
    async with app.run_test(size=(width, 12)) as pilot:
        app.view.source = LineBuffer(WILD)
        await pilot.press(*keys)
        await pilot.pause()
        for line in range(12):
            strip = app.view.render_line(line)
            assert strip.cell_length == app.view.scrollable_size.width
            assert not re.search(r"[\x00-\x1f\x7f-\x9f]", strip.text)


async def test_a_wrapped_line_longer_than_the_screen_can_be_read_to_its_end() -> None:
    app = One()
    async with app.run_test(size=(43, 10)) as pilot:
        app.view.source = LineBuffer(["".join(f"{number:05}" for number in range(400)), "last"])
        await pilot.press("w")
        seen = set()
        for _ in range(20):
            await pilot.pause()
            seen |= set(re.findall(r"\d{5}", "".join(shown(app))))
            await pilot.press("pagedown")
        assert {f"{number:05}" for number in range(0, 400, 50)} <= seen
        assert shown(app)[-1] == "last"
        await pilot.press("g")
        assert shown(app)[0].startswith("00000")


async def test_prose_breaks_between_words_and_keeps_its_indentation() -> None:
    app = One(is_prose=True)
    async with app.run_test(size=(24, 8)) as pilot:
        app.view.source = LineBuffer(
            ["  How many pens are in seven boxes?", "  每盒有十二支铅笔，七盒一共有多少支？", "end"]
        )
        app.view.is_wrapped = True
        await pilot.pause()
        rows = [app.view.render_line(line).text[app.view._margin :].rstrip() for line in range(7)]
    assert rows == [
        "  How many pens are",
        "  in seven boxes?",
        "  每盒有十二支铅笔，",
        "  七盒一共有多少支？",
        "end",
        "",
        "",
    ]


@pytest.mark.parametrize("width", [5, 13, 40])
async def test_prose_loses_nothing_in_any_width(width: int) -> None:
    app = One(is_prose=True)
    async with app.run_test(size=(width + MARGIN, 12)):
        # Joined emoji at an edge are shown whole on both sides, in prose or not.
        app.view.source = LineBuffer([*(line for line in WILD if "\u200d" not in line), "      indented " * 9])
        for number in range(app.view.line_count):
            strip = app.view._line_strip(number, width, app.view.rich_style)
            cuts = app.view._cuts(strip, width)
            assert all(stop - start <= width for start, stop in cuts)
            rows = "".join(strip.crop(start, stop).text for start, stop in cuts)
            assert rows.replace(" ", "") == strip.text.replace(" ", "")


async def test_following_a_wrapped_log_shows_its_last_row() -> None:
    app = One()
    async with app.run_test(size=(40, 8)) as pilot:
        buffer = LineBuffer(f"{number} " + "y" * 100 for number in range(50))
        app.view.source = buffer
        app.view.is_wrapped = True
        app.view.is_following = True
        await pilot.pause()
        buffer.append(["the end"])
        app.view.grew()
        await pilot.pause()
        assert shown(app)[-1] == "the end"
        await pilot.resize_terminal(25, 5)
        await pilot.pause()
        assert shown(app)[-1] == "the end"


async def test_keys_and_wheel_stay_inside_the_log() -> None:
    app = One()
    async with app.run_test(size=(40, 8)) as pilot:
        app.view.source = LineBuffer(f"line {number}" for number in range(100))
        await pilot.press("k", "pageup", "ctrl+u")
        assert app.view.top == 0
        await pilot.press("ctrl+d", "space", "j")
        assert app.view.top == 4 + 7 + 1
        await pilot.press("G", "j", "pagedown")
        assert app.view.top == 92
        assert app.view.is_at_end
        await pilot.press("k")
        assert not app.view.is_following


async def test_dragging_the_scroll_bar_goes_there_and_lets_go() -> None:
    from textual.scrollbar import ScrollTo

    app = One()
    async with app.run_test(size=(40, 8)) as pilot:
        app.view.source = LineBuffer(f"line {number}" for number in range(100))
        app.view.is_following = True
        await pilot.pause()
        app.view.post_message(ScrollTo(y=30.0))
        await pilot.pause()
        assert app.view.top == 30
        assert not app.view.is_following
        assert shown(app)[0] == "line 30"


async def test_search_highlights_every_match_on_the_screen_and_points_at_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"line {number} {'needle' if number % 50 == 49 else ''}\n" for number in range(500)))
    app = One()
    async with app.run_test(size=(40, 8)) as pilot:
        source = FileLines(path)
        source.index()
        app.view.source = source
        app.view.search("needle")
        await settle(pilot)
        assert app.view.match_line == 49
        row = 49 - app.view.top
        assert app.view.render_line(row).text.startswith("▌")
        await pilot.press("N")
        await settle(pilot)
        assert app.view.match_line == 499
        app.view.search("")
        assert app.view.match_line is None
        source.close()


async def test_an_empty_log_says_so() -> None:
    app = One()
    async with app.run_test(size=(40, 8)) as pilot:
        app.view.placeholder = "Waiting"
        await pilot.press("j", "G", "f", "n", "e", "w")
        await settle(pilot)
        assert "Waiting" in shown(app)


def test_capitals_make_case_count_and_a_broken_pattern_is_taken_as_text() -> None:
    assert compile_search("error").search("ERROR")
    assert not compile_search("Error").search("ERROR")
    assert compile_search("a[").search("xa[y")
    assert compile_search(r"\d+ms").search("12ms")


async def test_the_time_between_lines_is_marked_where_it_is_long() -> None:
    app = One()
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.source = LineBuffer(GAPS)
        app.view.gap_s = 60
        await pilot.pause()
        rows = shown(app)
        assert "192 s later" in rows[2]
        assert "three" in rows[3]
        assert "7200 s later" in rows[6]
        await pilot.press("number_sign", "w")
        await pilot.pause()
        assert [row.split()[0] for row in shown(app)[:8] if "later" not in row] == ["1", "2", "3", "4", "5", "6"]
        await pilot.press("t")
        await pilot.pause()
        assert not any("later" in row for row in shown(app))


@pytest.mark.parametrize("keys", [(), ("w",)])
async def test_marks_of_time_take_rows_and_nothing_is_skipped(keys: tuple[str, ...]) -> None:
    lines = [f"2026-12-01 {hour:02}:{minute:02}:00 - line {hour}:{minute}" for hour in range(4) for minute in (0, 5)]
    app = One()
    async with app.run_test(size=(60, 7)) as pilot:
        app.view.source = LineBuffer(lines)
        app.view.gap_s = 60
        await pilot.press(*keys)
        seen: list[str] = []
        rows = 2 * len(lines)
        for _ in range(rows):
            await pilot.pause()
            seen += [row for row in shown(app) if "later" not in row and row not in seen]
            await pilot.press("j")
        assert seen == lines
        assert app.view.is_at_end
        assert shown(app)[-1] == lines[-1]
        await pilot.press(*["k"] * rows)
        assert app.view.top == 0


async def test_levels_go_round_and_what_is_looked_at_stays() -> None:
    app = One()
    async with app.run_test(size=(60, 8)) as pilot:
        app.view.source = LineBuffer(
            f"{'ERROR' if n % 10 == 3 else 'DEBUG' if n % 10 == 4 else 'INFO'} {n}" for n in range(1000)
        )
        app.view.go_to(500)
        counts = []
        for _ in range(4):
            await pilot.press("v")
            await pilot.pause()
            counts.append(app.view.line_count)
        assert counts == [900, 100, 100, 1000]
        assert 490 <= app.view.top <= 505
        await pilot.press("v", "v", "v")
        app.view.go_to_number(733)
        await pilot.pause()
        assert any(row == "ERROR 733" for row in shown(app))
        app.view.sift(text="ERROR 9.3")
        assert app.view.line_count == 10
        assert shown(app)[0] == "ERROR 903"


async def test_a_large_log_is_filtered_behind_the_screen_and_the_filter_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentic_rl_tui.widgets import logview_seek

    monkeypatch.setattr(logview_seek, "_AT_ONCE", 100)
    path = tmp_path / "log"
    path.write_text("".join(f"{'WARNING' if number % 50 == 0 else 'INFO'} {number}\n" for number in range(200_000)))
    source = FileLines(path)
    source.index()
    app = One()
    async with app.run_test(size=(40, 8)) as pilot:
        app.view.source = source
        app.view.sift(level="warning")
        assert app.view.is_sifting
        await settle(pilot)
        assert (app.view.line_count, app.view.is_sifting) == (4_000, False)
        app.view.sift(level="error")
        app.view.sift(level="all")
        assert app.view.line_count == 200_000
        app.view.is_following = True
        app.view.sift(level="warning")
        await settle(pilot)
        with path.open("a") as file:
            file.write("INFO end\nWARNING end\n")
        source.index()
        app.view.grew()
        await pilot.pause()
        assert shown(app)[-1] == "WARNING end"
        source.close()


async def test_the_raw_view_shows_escapes_and_returns_as_pictures() -> None:
    app = One()
    async with app.run_test(size=(60, 4)) as pilot:
        app.view.source = LineBuffer(["10 %\r\x1b[32m100 %\x1b[0m done\u202e"])
        await pilot.pause()
        assert shown(app)[0] == "100 % done"
        await pilot.press("d")
        await pilot.pause()
        assert shown(app)[0] == "10 %␍␛[32m100 %␛[0m done‹202e›"


@pytest.mark.parametrize(
    "line", ["\x1b[97;107mwhite on white", "\x1b[30;40mblack", "\x1b[48;5;226;93myellow", "\x1b[43mwarn"]
)
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
async def test_colours_of_a_line_can_be_read_on_its_own_background(line: str, theme: str) -> None:
    from textual.color import Color

    from agentic_rl_tui.widgets.paint import _contrast

    app = One()
    app.theme = theme
    async with app.run_test(size=(40, 4)) as pilot:
        app.view.source = LineBuffer([line])
        await pilot.pause()
        for text, style, _ in app.view.render_line(0):
            if (
                text.strip()
                and style
                and style.color
                and style.bgcolor
                and style.color.triplet
                and style.bgcolor.triplet
            ):
                assert _contrast(Color(*style.color.triplet), Color(*style.bgcolor.triplet)) >= 3.0
