"""The table by itself: what it reads, what it repaints, what stays when its rows change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.app import App, ComposeResult

from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.table import HEADER, Table


@dataclass(frozen=True)
class Row:
    key: str
    name: str
    score: float = 0.0


class Counting(Sequence[Row]):
    """Rows made when they are asked for; remembers how many were."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made = 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        self.made += 1
        if not 0 <= index < self.count:
            raise IndexError(index)
        return Row(str(index), f"row {index}", index / self.count)

    def __iter__(self) -> Iterator[Row]:
        return (self[index] for index in range(self.count))


class One(App[None]):
    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__()
        self.rows = rows
        self.opened: list[str] = []

    def compose(self) -> ComposeResult:
        columns = [
            Column("name", "NAME", lambda row, _: row.name, 10, 30, sort=lambda row: row.name),
            Column("score", "SCORE", lambda row, _: f"{row.score:.2f}", 6, align="right", sort=lambda row: row.score),
        ]
        table: Table[Row] = Table(columns, lambda row: row.key)
        yield table

    def on_mount(self) -> None:
        self.table.items = self.rows
        self.table.focus()

    @property
    def table(self) -> Table[Row]:
        return self.query_one(Table)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.opened.append(event.key)


def few(*names: str) -> tuple[Row, ...]:
    return tuple(Row(name, name) for name in names)


async def test_only_the_rows_on_the_screen_are_made() -> None:
    rows = Counting(1_000_000)
    app = One(rows)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        first = rows.made
        assert first < 200
        await pilot.press("G", "pageup", "enter")
        assert rows.made - first < 400
        assert app.opened == [str(1_000_000 - 1 - (20 - HEADER))]


async def test_every_line_fills_the_width_whatever_the_text() -> None:
    app = One(
        few("数学推理任务名字很长很长很长", "👩‍🚀 astronaut", "e\u0301\u0301\u0301 marks", "ｆｕｌｌ", "a\tb", "")
    )
    for width in (7, 12, 19, 33, 80):
        async with app.run_test(size=(width, 10)) as pilot:
            await pilot.pause()
            for line in range(10):
                assert app.table.render_line(line).cell_length == width
        app = One(app.rows)


async def test_equal_rows_repaint_nothing_and_a_changed_row_only_its_line() -> None:
    app = One(few("a", "b", "c"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        painted: list[int] = []
        original = app.table.render_line
        app.table.render_line = lambda y: painted.append(y) or original(y)  # type: ignore[assignment,func-returns-value]
        app.table.items = few("a", "b", "c")
        await pilot.pause()
        assert painted == []
        app.table.items = (*few("a"), Row("b", "b", 0.5), *few("c"))
        await pilot.pause()
        assert painted == [HEADER + 1]


async def test_the_cursor_stays_on_its_row_and_goes_to_a_neighbour_when_it_is_gone() -> None:
    app = One(few("a", "b", "c", "d"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("j", "j")
        app.table.items = few("x", "a", "b", "c", "d")
        assert app.table.current == Row("c", "c")
        app.table.items = few("x", "a", "b", "d")
        assert app.table.current == Row("d", "d")
        app.table.items = ()
        assert app.table.current is None
        await pilot.press("j", "k", "G", "space", "enter", "v")
        app.table.items = few("new")
        assert app.table.current == Row("new", "new")


async def test_rows_added_above_do_not_move_the_screen() -> None:
    app = One(tuple(Row(str(number), f"row {number}") for number in range(100)))
    async with app.run_test(size=(40, 11)) as pilot:
        app.table.cursor = 50
        await pilot.pause()
        before = [app.table.render_line(line).text for line in range(1, 11)]
        app.table.items = (*few("n1", "n2", "n3"), *app.table.items)
        await pilot.pause()
        assert [app.table.render_line(line).text for line in range(1, 11)] == before


async def test_marks_belong_to_rows_and_go_with_them() -> None:
    app = One(few("a", "b", "c", "d"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("space", "j", "v")
        assert app.table.marks == {"a", "b", "c"}
        assert [row.key for row in app.table.chosen] == ["a", "b", "c"]
        app.table.items = few("d", "c", "a")
        assert app.table.marks == {"a", "c"}
        assert [row.key for row in app.table.chosen] == ["c", "a"]
        app.table.clear_marks()
        assert [row.key for row in app.table.chosen] == [app.table.current.key]  # type: ignore[union-attr]


async def test_order_goes_through_the_columns_and_back() -> None:
    app = One((Row("1", "b", 0.1), Row("2", "a", 0.3), Row("3", "c", 0.2)))
    async with app.run_test(size=(40, 10)) as pilot:

        def shown() -> str:
            return "".join(row.name for row in app.table.rows())

        assert shown() == "bac"
        seen = []
        for key in ("o", "O", "o", "O", "o"):
            await pilot.press(key)
            seen.append(shown())
        assert seen == ["abc", "cba", "bca", "acb", "bac"]


async def test_the_mouse_points_opens_and_sorts() -> None:
    app = One(few("a", "b", "c"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.click(Table, offset=(5, 2))
        assert app.table.cursor == 1
        await pilot.click(Table, offset=(5, 3), times=2)
        assert app.opened == ["c"]
        await pilot.click(Table, offset=(5, 0))
        assert app.table.order == ("name", False)
        await pilot.click(Table, offset=(5, 0))
        assert app.table.order == ("name", True)
