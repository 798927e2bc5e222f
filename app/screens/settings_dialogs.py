"""Asking for one new value, or for one new key."""

from collections.abc import Callable

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

from agentic_rl_tui.app.keynames import key_labels
from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Note

Lines = tuple[tuple[Span, ...], ...]


class AskValue(Dialog[str | None]):
    """In: a title, what is known of the value, its text now, and a check that raises ConfigError.

    Answers a text that passed the check, or None. What was typed stays while it is not right.
    """

    def __init__(
        self, title: str, lines: Lines, text: str, check: Callable[[str], object], *, is_secret: bool = False
    ) -> None:
        super().__init__()
        self._question = title
        self._lines = lines
        self._text = text
        self._check = check
        self._is_secret = is_secret

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(self._question, id="dialog-title", markup=False)
            note = Note(id="dialog-text")
            note.lines = self._lines
            yield note
            yield Input(self._text, id="dialog-input", compact=True, password=self._is_secret)
            yield Note(id="ask-problem")
            yield Static(_("↵ keeps it · esc gives up"), id="dialog-foot", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self) -> None:
        self._tell(())

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        try:
            self._check(event.value)
        except ConfigError as error:
            advice: Lines = (((f"→ {error.advice}", "$muted"),),) if error.advice else ()
            self._tell((((error.message, "$failed"),), *advice))
        else:
            self.dismiss(event.value)

    def _tell(self, lines: Lines) -> None:
        self.query_one("#ask-problem", Note).lines = lines


class PressKey(Dialog[str | None]):
    """Takes the next key that is pressed. In: what it is for, its keys now, and what would be wrong with others."""

    BINDINGS = [Binding("enter", "take", N_("Take it"), show=False, priority=True)]

    def __init__(self, what: str, now: str, problems: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._what = what
        self._now = now
        self._problems = problems
        self.pressed: str | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(_("Press the new key"), id="dialog-title", markup=False)
            yield Note(id="dialog-text")
            yield Static(_("↵ takes it · esc gives up"), id="dialog-foot", markup=False)

    def on_mount(self) -> None:
        self._show()

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "enter"):
            return
        event.stop()
        event.prevent_default()
        # A comma parts keys in the file, so it stands there by its name.
        is_plain = event.is_printable and event.character not in (None, ",", " ")
        self.pressed = event.character if is_plain else event.key
        self._show()

    def _show(self) -> None:
        lines: list[tuple[Span, ...]] = [
            ((self._what, "$ink"),),
            ((_("now: {keys}").format(keys=key_labels(self._now)), "$muted"),),
        ]
        if self.pressed is not None:
            lines.append(((_("new: {keys}").format(keys=key_labels(self.pressed)), "$accent bold"),))
            lines += [((f"✗ {problem}", "$failed"),) for problem in self._problems(self.pressed)]
        self.query_one("#dialog-text", Note).lines = tuple(lines)

    def action_take(self) -> None:
        if self.pressed is not None and not self._problems(self.pressed):
            self.dismiss(self.pressed)
