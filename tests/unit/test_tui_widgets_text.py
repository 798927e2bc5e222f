"""Cutting, colouring and drawing text in cells."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agentic_rl_tui.widgets import ansi
from agentic_rl_tui.widgets.area import area, nice_bounds
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.cells import PIECE_CHARS, clip, clip_middle, clip_path, cut, fit, in_pieces, safe, width_of
from agentic_rl_tui.widgets.columns import GAP, Column, place
from agentic_rl_tui.widgets.highlight import TROUBLE, highlight, marked
from agentic_rl_tui.widgets.spark import bar, low_bar, sparkline, thin

TEXTS = st.text(alphabet=st.sampled_from("ab 奖励→é\u0301👩‍🚀ｱ한\u200d\ufe0f█"), max_size=40)


@given(TEXTS, st.integers(0, 30))
def test_cut_never_takes_more_cells_than_asked(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width
    assert text.startswith(cut(text, width))


@given(TEXTS, st.integers(0, 30), st.sampled_from(["left", "right", "center"]))
def test_fit_fills_exactly_the_cells_asked_for(text: str, width: int, align: str) -> None:
    assert width_of(fit(text, width, align)) == width  # type: ignore[arg-type]


@given(TEXTS, st.integers(1, 30))
def test_clip_keeps_what_fits_and_marks_what_does_not(text: str, width: int) -> None:
    shown = clip(text, width)
    assert cell_len(shown) <= width
    assert (shown == text) is (cell_len(text) <= width)
    middle = clip_middle(text, width)
    assert cell_len(middle) <= width


def test_clip_middle_keeps_both_ends() -> None:
    assert clip_middle("calc-agent-very-long-name-3f2a", 15) == "calc-ag…me-3f2a"
    assert clip_middle("数学推理数学推理", 9) == "数学…推理"


def test_safe_has_no_character_that_acts() -> None:
    shown = safe("a\x1b[2J\x07\x9b\u202eb\tc")
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\t"}


def test_columns_fold_by_rank_and_grow_to_their_limits() -> None:
    columns = [
        Column("a", "A", lambda row, _: "", 10),
        Column("b", "B", lambda row, _: "", 10, 20),
        Column("c", "C", lambda row, _: "", 10, fold=2),
        Column("d", "D", lambda row, _: "", 10, fold=1),
    ]
    assert [spot.column.key for spot in place(columns, 50)] == ["a", "b", "c", "d"]
    assert [spot.column.key for spot in place(columns, 40)] == ["a", "b", "d"]
    assert [spot.column.key for spot in place(columns, 25)] == ["a", "b"]
    wide = place(columns, 200)
    assert [spot.width for spot in wide] == [10, 20, 10, 10]
    assert [spot.x for spot in wide] == [0, 10 + GAP, 30 + 2 * GAP, 40 + 3 * GAP]


def test_columns_that_never_fold_are_cut_at_the_edge() -> None:
    columns = [Column("a", "A", lambda row, _: "", 10), Column("b", "B", lambda row, _: "", 10)]
    assert [spot.width for spot in place(columns, 15)] == [10, 3]
    assert [spot.width for spot in place(columns, 5)] == [5]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m off", "red off"),
        ("\x1b]8;;http://evil\x07link\x1b]8;;\x07", "link"),
        ("\x1b]52;c;aGk=\x07x", "x"),
        ("\x1b[2J\x1b[Hhome", "home"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("10%\r55%\rdone", "done"),
        ("tab\there", "tab     here"),
        ("nul\x00bell\x07", "nul␀bell␇"),
        ("\u202eright\u202c", "right"),
        ("[bold]text[/bold]", "[bold]text[/bold]"),
        ("open \x1b[38;5;208", "open "),
        ("", ""),
    ],
)
def test_escapes_never_reach_the_screen(raw: str, shown: str) -> None:
    assert ansi.text_of(raw) == shown


@given(st.text(alphabet=st.sampled_from("\x1b[]8;m0123\x07\x9b\\PX^_?h ab\x00\r\t\u202e"), max_size=60))
def test_no_line_whatever_it_holds_leaves_a_control_character(raw: str) -> None:
    shown = ansi.text_of(raw)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


def test_colours_follow_the_theme_or_are_kept() -> None:
    assert ansi.spans("\x1b[31mbad\x1b[39m ok") == [("bad", "$failed"), (" ok", "")]
    assert ansi.spans("\x1b[1;32mok")[0] == ("ok", "$succeeded bold")
    assert ansi.spans("\x1b[38;2;1;2;3mx")[0] == ("x", "#010203")
    assert ansi.spans("\x1b[38;5;208mx")[0] == ("x", "#ff8700")
    assert ansi.spans("\x1b[41mx")[0] == ("x", "$ink on $failed")
    assert ansi.spans("\x1b[31mx\x1b[0my")[1] == ("y", "")


def test_levels_and_numbers_stand_out() -> None:
    line = highlight("2026-12-01 21:00:00,123 - ERROR - it broke")
    assert ("ERROR", "$failed bold") in line
    assert line[0] == ("2026-12-01 21:00:00,123", "$faint")
    numbers = highlight("2026-12-01 21:00:00,123 - INFO - {'step': 3, 'reward/mean': 0.41}")
    assert ("0.41", "$ink") in numbers
    assert "".join(text for text, _ in numbers) == "2026-12-01 21:00:00,123 - INFO - {'step': 3, 'reward/mean': 0.41}"


@given(st.text(max_size=80))
def test_highlighting_changes_no_character(text: str) -> None:
    assert "".join(part for part, _ in highlight(text)) == text


@given(st.lists(st.text(alphabet="abc", max_size=5), max_size=6), st.sampled_from(["a", "ab", "b+", "ca|bc"]))
def test_marking_matches_changes_no_character_and_marks_every_match(parts: list[str], pattern: str) -> None:
    line = [(part, str(number)) for number, part in enumerate(parts)]
    out = marked(line, re.compile(pattern), "HIT")
    whole = "".join(parts)
    assert "".join(text for text, _ in out) == whole
    hits = "".join(text for text, style in out if style == "HIT")
    assert hits == "".join(re.findall(pattern, whole))


def test_trouble_is_an_error_line_or_the_end_of_a_traceback() -> None:
    assert TROUBLE.search("2026 - ERROR - x")
    assert TROUBLE.search("KeyError: 'solution'")
    assert TROUBLE.search("  requests.exceptions.ConnectionError: no")
    assert not TROUBLE.search("no errors found")


def test_sparkline_spans_its_values_and_keeps_noise_flat() -> None:
    assert sparkline([0, 1], 2) == "▁▇"
    assert len(sparkline(list(range(1000)), 12)) == 12
    assert len(set(sparkline([0.50, 0.51, 0.50, 0.505], 4))) <= 2
    assert sparkline([0.5] * 5, 5) == "▄▄▄▄▄"
    assert sparkline([], 5) == ""
    assert sparkline([float("nan"), 1.0, 0.0], 3)[0] == " "


def test_thinning_keeps_the_mean() -> None:
    values = [float(number) for number in range(100)]
    assert sum(thin(values, 10)) / 10 == pytest.approx(sum(values) / 100)


def test_bar_fills_by_eighths() -> None:
    assert bar(0.5, 4) == "██  "
    assert low_bar(0.5, 4) == "▇▇  "
    assert low_bar(float("nan"), 2) == "  "
    assert low_bar(3.0, 2) == "▇▇"
    assert bar(1 / 32, 4) == "▎   " or bar(1 / 32, 4) == "▏   "
    assert bar(2.0, 4) == "████"
    assert bar(float("nan"), 4) == "    "


def test_area_rows_fill_from_below() -> None:
    rows = area([0.0, 0.5, 1.0], 3, 2, 0.0, 1.0)
    assert rows == ["  █", "▁██"]


@pytest.mark.parametrize(("low", "high"), [(0.31, 0.74), (0.5, 0.5), (180, 284), (1e-5, 3e-5), (-3, 8), (0, 0)])
def test_scales_hold_their_values(low: float, high: float) -> None:
    floor, ceiling = nice_bounds(low, high)
    assert floor <= low
    assert ceiling >= high
    assert ceiling > floor


@pytest.mark.parametrize(
    "text", ["", "a" * 1000, "长" * 1000, "👩\u200d👩\u200d👧" * 200, "e\u0301" * 500, "é" + "\u0301" * 700]
)
def test_a_long_text_in_pieces_is_the_same_text_of_the_same_width(text: str) -> None:
    pieces = list(in_pieces([(text, "$warn"), ("end", "")]))
    assert "".join(piece for piece, style in pieces if style) == text
    assert pieces[-1] == ("end", "")
    assert all(len(piece) <= PIECE_CHARS for piece, _style in pieces)
    assert width_of(pieces) == cell_len(text) + 3


def test_clipped_paths_keep_the_name() -> None:
    assert clip_path("functions/reward/answer.py:52", 40) == "functions/reward/answer.py:52"
    assert clip_path("functions/reward/answer.py:52", 24) == "…/reward/answer.py:52"
    assert clip_path("functions/reward/answer.py:52", 16) == "…/answer.py:52"
    assert clip_path("functions/reward/answer.py:52", 9) == "answ…y:52"
    assert clip_path("函数/奖励/答案.py:5", 12) == "…/答案.py:5"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, "data/train.jsonl  1 MB      row 0 of 8,192  line 1  9 turns "),
        (46, "data/train.jsonl  1 MB  row 0 of 8,192  line 1"),
        (34, "data/train.jsonl  … row 0 of 8,192"),
    ],
)
def test_a_heading_keeps_its_name_while_its_note_gives_way(width: int, shown: str) -> None:
    heading = Heading()
    heading.set_reactive(Heading.title, "data/train.jsonl")
    heading.set_reactive(Heading.facts, (("1 MB", ""),))
    heading.set_reactive(Heading.note, (("row 0 of 8,192", ""), ("  line 1", ""), ("  9 turns ", "")))
    assert "".join(text for text, _style in heading.line(width)) == shown
