"""One line to type into, at the foot of a screen."""

from dataclasses import dataclass

from textual import events, on
from textual.containers import Horizontal
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Static


class Prompt(Horizontal):
    """A label and an input, shown while something is asked.

    Use `ask` to show it. Out: `Typed` at each key, `Given` on enter, `Left` when it was given up with escape.
    It takes the focus and gives it back to the widget that had it.
    """

    DEFAULT_CSS = """
    Prompt {
        dock: bottom;
        height: 1;
        display: none;
        /* The line of keys is docked to the same edge and would cover it. */
        margin-bottom: 1;
        background: $raised;
        &.-open { display: block; }
        Static { width: auto; color: $accent; text-style: bold; padding: 0 1; }
        Input {
            border: none;
            width: 1fr;
            height: 1;
            padding: 0;
            background: $raised;
            color: $ink;
            &:focus { border: none; background: $raised; background-tint: $raised 0%; }
        }
    }
    """

    purpose: reactive[str] = reactive("")

    @dataclass
    class Typed(Message):
        prompt: "Prompt"
        purpose: str
        text: str

    @dataclass
    class Given(Message):
        prompt: "Prompt"
        purpose: str
        text: str

    @dataclass
    class Left(Message):
        prompt: "Prompt"
        purpose: str

    def on_mount(self) -> None:
        # After the first frame, which needs no input.
        self.call_after_refresh(self._fill)

    async def _fill(self) -> None:
        if not self.children:
            await self.mount(Static(markup=False), Input(compact=True, disabled=True))

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    async def ask(self, purpose: str, label: str, *, text: str = "", hint: str = "") -> None:
        await self._fill()
        self.purpose = purpose
        self._before = self.screen.focused
        self.query_one(Static).update(label)
        field = self.query_one(Input)
        with field.prevent(Input.Changed):
            field.value = text
        field.placeholder = hint
        field.cursor_position = len(text)
        self.add_class("-open")
        field.disabled = False
        field.focus()

    def leave(self) -> None:
        """Close without an answer."""
        if self.is_open:
            self._close()
            self.post_message(self.Left(self, self.purpose))

    def _close(self) -> None:
        self._hide()
        before = self._before
        if before is not None and before.is_attached and before.focusable:
            before.focus()
        else:
            self.screen.set_focus(None)

    def _hide(self) -> None:
        self.remove_class("-open")
        # A disabled input is out of the way of the tab key.
        self.query_one(Input).disabled = True

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self.post_message(self.Typed(self, self.purpose, event.value))

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        event.stop()
        self._close()
        self.post_message(self.Given(self, self.purpose, event.value))

    def on_descendant_blur(self, _event: events.DescendantBlur) -> None:
        # A click elsewhere is an answer too: the draft is given up.
        self.call_after_refresh(self._leave_when_unfocused)

    def _leave_when_unfocused(self) -> None:
        if self.is_open and not self.query_one(Input).has_focus and self.screen.is_current:
            self._hide()
            self.post_message(self.Left(self, self.purpose))
