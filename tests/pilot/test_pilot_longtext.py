"""Long texts in the editor: coloured, edited, undone and walked through as short ones are."""

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.document._syntax_aware_document import SyntaxAwareDocument

from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.codeeditor import CodeEditor
from agentic_rl_tui.widgets.longtext import LONG_FROM
from agentic_rl_tui.widgets.syntax import tokens

BLOCK = "  - type: reward  # 奖励\n    weight: 0.5\n    name: 'a b'\n"
LONG = "functions:\n" + BLOCK * LONG_FROM


class One(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.TOKENS

    def compose(self) -> ComposeResult:
        yield CodeEditor()


def shown(editor: CodeEditor, row: int) -> str:
    return "".join(segment.text for segment in editor.render_line(row - editor.scroll_offset.y))


async def test_a_long_text_is_edited_like_a_short_one() -> None:
    app = One()
    async with app.run_test(size=(80, 24)) as pilot:
        editor = app.query_one(CodeEditor)
        editor.load(LONG, ".yaml")
        editor.focus()
        editor.move_cursor((2000, 0), center=True)
        await pilot.pause()
        await pilot.press("#", "x")
        assert editor.document.get_line(2000).startswith("#x")
        assert "#x" in shown(editor, 2000)
        before = editor.document.line_count
        await pilot.press("enter", "y")
        assert editor.document.line_count == before + 1
        assert "y" in shown(editor, 2001)
        assert "2002" in shown(editor, 2001)
        await pilot.press("ctrl+z", "ctrl+z", "ctrl+z")
        assert editor.text == LONG
        assert editor.document.get_line(2000) in shown(editor, 2000)
        await pilot.press("ctrl+y")
        assert editor.text != LONG
        await pilot.press("pagedown", "pageup", "end", "home", "up", "down")
        assert editor.wrapped_document.height == editor.document.line_count
        assert editor.virtual_size.height == editor.document.line_count
        await pilot.press("ctrl+end")
        assert editor.cursor_location == editor.document.end
        await pilot.press("ctrl+home")
        assert editor.cursor_location == (0, 0)


async def test_words_have_their_colours_also_behind_wide_letters() -> None:
    app = One()
    async with app.run_test(size=(80, 24)):
        editor = app.query_one(CodeEditor)
        editor.load(LONG.replace("name: 'a b'", "name: 计算 # note"), ".yaml")
        found = {name: (start, end) for start, end, name in editor._highlights[3]}
        line = editor.document.get_line(3).encode()
        assert line[slice(*found["yaml.field"])] == b"name"
        assert line[slice(*found["string"])].decode().strip() == "计算"
        assert line[slice(*found["comment"])] == b"# note"


async def test_a_text_that_grows_long_is_parsed_no_more() -> None:
    app = One()
    async with app.run_test(size=(80, 24)) as pilot:
        editor = app.query_one(CodeEditor)
        editor.load("functions:\n", ".yaml")
        assert isinstance(editor.document, SyntaxAwareDocument)
        editor.insert(BLOCK * LONG_FROM, (1, 0))
        await pilot.pause()
        assert not isinstance(editor.document, SyntaxAwareDocument)
        assert {name for _, _, name in editor._highlights[2]} >= {"yaml.field", "number"}
        editor.load("a: 1\n", ".yaml")
        await pilot.pause()
        assert isinstance(editor.document, SyntaxAwareDocument)
        assert editor._highlights[0]


@pytest.mark.parametrize(
    ("language", "line", "wanted"),
    [
        (
            "yaml",
            "  - name: calc-agent  # x",
            [("-", "punctuation.delimiter"), ("name", "yaml.field"), ("# x", "comment")],
        ),
        ("yaml", 'a: {b: 2.0e-6, "c": true}', [("a", "yaml.field"), ("2.0e-6", "number"), ("true", "boolean")]),
        ("yaml", "url: http://host:80/#x", [("url", "yaml.field"), ("http://host:80/#x", "string")]),
        ("json", '{"a": [1, null, "b"]}', [('"a"', "json.label"), ("null", "json.null"), ('"b"', "string")]),
        ("python", "def run(self): return None  # ok", [("def", "keyword"), ("run", "function"), ("# ok", "comment")]),
        ("markdown", "# Title", []),
    ],
)
def test_words_are_told_by_their_line(language: str, line: str, wanted: list[Any]) -> None:
    found = [(line[start:end], name) for start, end, name in tokens(language, line)]
    assert all(word in found for word in wanted), found
    places = [place for start, end, _ in tokens(language, line) for place in (start, end)]
    assert places == sorted(places)


@pytest.mark.parametrize("language", ["yaml", "json", "python"])
def test_a_very_long_line_is_told_soon(language: str) -> None:
    for line in ("a" * 300_000, "a: " * 100_000, '"' * 100_000, " " * 300_000 + "#", "{" * 300_000):
        assert len(list(tokens(language, line))) <= 2_000
