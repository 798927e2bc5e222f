"""Text with highlighting in the colours of the theme; to edit or only to read."""

from typing import Any, ClassVar

from rich.style import Style as RichStyle
from textual.binding import Binding, BindingType
from textual.widgets.text_area import TextAreaTheme

from agentic_rl_tui.widgets.longtext import LongTextArea
from agentic_rl_tui.widgets.paint import Painted

LANGUAGES = {
    ".py": "python",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".md": "markdown",
    ".toml": "toml",
    ".sh": "bash",
    ".sql": "sql",
    ".js": "javascript",
    ".html": "html",
    ".css": "css",
    ".xml": "xml",
}

_SYNTAX = {
    "comment": "$faint italic",
    "string": "$succeeded",
    "string.documentation": "$muted",
    "number": "$warn",
    "float": "$warn",
    "boolean": "$warn",
    "constant.builtin": "$warn",
    "json.null": "$warn",
    "keyword": "$accent",
    "keyword.function": "$accent",
    "keyword.return": "$accent",
    "keyword.operator": "$accent",
    "conditional": "$accent",
    "repeat": "$accent",
    "exception": "$accent",
    "include": "$accent",
    "function": "$running",
    "function.call": "$running",
    "method": "$running",
    "method.call": "$running",
    "constructor": "$running",
    "class": "$running",
    "type": "$running",
    "type.class": "$running",
    "type.builtin": "$running",
    "tag": "$running",
    "yaml.field": "$running",
    "json.label": "$running",
    "toml.type": "$running",
    "css.property": "$running",
    "heading": "$accent bold",
    "heading.marker": "$faint",
    "bold": "bold",
    "italic": "italic",
    "strikethrough": "strike",
    "link.uri": "$running underline",
    "link.label": "$running",
    "list.marker": "$accent",
    "inline_code": "$succeeded",
    "info_string": "$muted",
    "operator": "$muted",
    "punctuation.bracket": "$muted",
    "punctuation.delimiter": "$muted",
    "punctuation.special": "$muted",
}


class Editor(LongTextArea, Painted):
    """In: `load` (a text and its language). Otherwise a `TextArea`; its syntax colours follow the theme."""

    DEFAULT_CSS = """
    Editor {
        border: none;
        padding: 0;
        background: $base;
        color: $ink;
        scrollbar-size: 0 1;
        &:focus { border: none; }
        & .text-area--cursor { background: $accent; color: $base; }
        & .text-area--cursor-line { background: $surface; }
        & .text-area--cursor-gutter { color: $muted; background: $surface; }
        & .text-area--gutter { color: $faint; background: $base; }
        & .text-area--selection { background: $selection; }
        & .text-area--matching-bracket { background: $line; text-style: bold; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "go(True)", "Top", show=False),
        Binding("ctrl+end", "go(False)", "Bottom", show=False),
    ]

    def __init__(self, *, read_only: bool = False, **names: Any) -> None:
        super().__init__(**names)
        self.read_only = read_only
        self.show_line_numbers = True
        self.tab_behavior = "focus" if read_only else "indent"
        self.soft_wrap = False
        self.indent_width = 2
        self.show_cursor = not read_only

    def on_mount(self) -> None:
        self._install_theme()
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self._install_theme())

    def _install_theme(self) -> None:
        self._styles_known = None
        name = f"arl-{self.app.theme}"
        colors: dict[str, RichStyle] = {token: self.paint_style(words) for token, words in _SYNTAX.items()}
        self.register_theme(TextAreaTheme(name=name, syntax_styles=colors))
        self.theme = name

    def action_go(self, is_first: bool) -> None:
        self.move_cursor(self.document.start if is_first else self.document.end)

    def load(self, text: str, suffix: str = "") -> None:
        """Show a text as a whole; the undo history starts anew."""
        language = LANGUAGES.get(suffix.lower())
        self.language = language if language in self.available_languages else None
        self.load_text(text)
