"""Buttons that answer every press."""

from typing import Any

from textual.widgets import Button


class DialogButton(Button):
    """A compact button of a dialog. Out: `Button.Pressed`, for each press.

    The base class drops presses for a moment after each one, to show its effect: a key typed in that moment would be
    lost. While `is_idle` it stays in its place, dimmed; its owner says why when it is pressed. A button that is hidden
    or disabled instead would lose the focus, and the keys with it, at a time nobody can tell.
    """

    def __init__(self, label: str, **names: Any) -> None:
        super().__init__(label, compact=True, **names)
        self.active_effect_duration = 0

    def say(self, label: str) -> None:
        """Change the label; the button takes the width that it needs."""
        if str(self.label) != label:
            self.label = label
            self.refresh(layout=True)

    @property
    def is_idle(self) -> bool:
        return self.has_class("-idle")

    @is_idle.setter
    def is_idle(self, idle: bool) -> None:
        self.set_class(idle, "-idle")
