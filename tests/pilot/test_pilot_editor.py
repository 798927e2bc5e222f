"""Highlighting of the four languages that a workspace is made of."""

import gc

import pytest
from textual.app import App, ComposeResult

from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.editor import Editor

TEXTS = {
    ".yaml": "name: calc\nfunctions:\n  - type: reward  # note\n    weight: 0.5\n",
    ".py": 'def process(self, input):\n    """Score."""\n    return {"a": [1, None]}\n',
    ".json": '{"a": [1, 2.5, null, true], "b": "text"}\n',
    ".md": "# Title\n\n- a *b* `c`\n",
}
TOKENS = {
    ".yaml": {"yaml.field", "comment"},
    ".py": {"keyword.function", "string"},
    ".json": {"json.label", "number"},
    ".md": {"heading"},
}


class One(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.TOKENS

    def compose(self) -> ComposeResult:
        yield Editor()


@pytest.mark.parametrize("suffix", TEXTS)
async def test_each_language_is_highlighted_in_colours_of_the_theme(suffix: str) -> None:
    app = One()
    async with app.run_test() as pilot:
        editor = app.query_one(Editor)
        editor.load(TEXTS[suffix], suffix)
        await pilot.pause()
        lines = range(editor.document.line_count)
        found = {name for line in lines for _, _, name in editor._highlights.get(line, ())}
        assert found >= TOKENS[suffix]
        assert TOKENS[suffix] <= set(editor._theme.syntax_styles)  # type: ignore[union-attr]


async def test_other_files_are_plain() -> None:
    app = One()
    async with app.run_test():
        editor = app.query_one(Editor)
        editor.load("just text", ".txt")
        assert editor.language is None


async def test_switching_languages_again_and_again_is_safe() -> None:
    """A parser that frees trees in use ends the whole process here."""
    app = One()
    async with app.run_test() as pilot:
        editor = app.query_one(Editor)
        for turn in range(80):
            suffix = list(TEXTS)[turn % len(TEXTS)]
            editor.load(TEXTS[suffix] * 30, suffix)
            if turn % 8 == 0:
                await pilot.press("x", "enter")
                gc.collect()
        assert editor.language == "markdown"
