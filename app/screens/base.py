"""What every place and dialog shares: header and footer, escape one layer at a time, errors that are never silent."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import DescendantFocus
from textual.screen import ModalScreen, Screen
from textual.worker import Worker, WorkerState

from agentic_rl_tui.app.keymap import bindings, by_id
from agentic_rl_tui.app.keynames import key_label
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import HeaderBar, KeyBar, KeyHint
from agentic_rl_tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentic_rl_tui.app.tui import ArlApp

MOST_HINTS = 6
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Layer:
    """Something that escape undoes. label: its words in the footer, after ``esc``."""

    label: str
    undo: "Callable[[], object]"


class Reporting(Screen[Result], Generic[Result]):
    """A screen whose failed workers are reported."""

    @property
    def arl(self) -> "ArlApp":
        return cast("ArlApp", self.app)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        if (self.arl.options.is_still or self.arl.is_slow) and hasattr(event.widget, "cursor_blink"):
            event.widget.cursor_blink = False

    @on(Worker.StateChanged)
    def _report_failed_worker(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            self.arl.report_bug(event.worker.error, _(event.worker.description or event.worker.name))


class PlaceScreen(Reporting[None]):
    """The frame of a place: header, body, prompt, footer. Subclasses give `body`, `undo_layers` and their actions."""

    place: ClassVar[str] = ""
    AUTO_FOCUS = None
    BINDINGS = bindings("view")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-tall"), (50, "-high")]

    def compose(self) -> ComposeResult:
        yield HeaderBar(id="header")
        yield from self.body()
        yield Prompt(id="prompt")
        yield KeyBar(id="keys")

    def body(self) -> ComposeResult:
        yield from ()

    def undo_layers(self) -> Iterator[Layer]:
        """What escape undoes here, nearest first; the prompt and leaving the screen are added by `_all_layers`."""
        yield from ()

    @property
    def is_changed(self) -> bool:
        """Whether it holds text that is not saved."""
        return False

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    def on_mount(self) -> None:
        header = self.query_one(HeaderBar)
        header.places = self.arl.place_tabs
        header.active = self.place
        for name in ("workspace", "profile", "health"):
            self.watch(self.app, f"{name}_shown", partial(setattr, header, name))
        self.bindings_updated_signal.subscribe(self, lambda _screen: self.refresh_hints())
        self.call_after_refresh(self.arl.tell_painted)

    # The footer

    def refresh_hints(self) -> None:
        if self.is_mounted and self.app.screen is self:
            self.query_one(KeyBar).hints = tuple(self._hints())

    def _hints(self) -> Iterator[KeyHint]:
        ranked: dict[int, KeyHint] = {}
        layer = next(self._all_layers(), None)
        for key, active in self.active_bindings.items():
            action = by_id(active.binding.id or "")
            if action is None or not action.footer or action.footer in ranked:
                continue
            label = _(action.label)
            if action.id == "view.back":
                if layer is None:
                    continue
                label = layer.label
            ranked[action.footer] = KeyHint(
                key_label(key), label, active.binding.action, self.blocked(action.id) is None
            )
        order = sorted(ranked)
        if len(order) > MOST_HINTS:
            # Help and escape stay; the weakest of the pane's own verbs give way.
            order = order[: MOST_HINTS - 2] + order[-2:]
        return (ranked[number] for number in order)

    @on(KeyBar.Pressed)
    async def _hint_pressed(self, event: KeyBar.Pressed) -> None:
        await self.run_action(event.action)

    @on(HeaderBar.PlaceChosen)
    def _place_chosen(self, event: HeaderBar.PlaceChosen) -> None:
        self.arl.action_go(event.place)

    def why_not(self, action_id: str) -> str | None:  # noqa: ARG002
        """The reason why an action has nothing to act on now; its key stays, dimmed, and says this when pressed."""
        return None

    def blocked(self, action_id: str) -> str | None:
        """`why_not`, and the wish to change nothing when the program was started read-only."""
        action = by_id(action_id)
        if action is not None and action.dangerous and self.arl.options.is_read_only:
            return _("Started with --read-only: nothing can be changed from here")
        return self.why_not(action_id)

    def may(self, action_id: str) -> bool:
        """Whether an action can go ahead; says why where it cannot."""
        reason = self.blocked(action_id)
        if reason is not None:
            self.arl.refuse(reason)
        return reason is None

    # One layer back

    def _all_layers(self) -> Iterator[Layer]:
        if self.prompt.is_open:
            yield Layer(_("close"), self.prompt.leave)
        yield from self.undo_layers()
        if self.is_on_top_of_another:
            yield Layer(self.back_label, self.leave_screen)

    @property
    def is_on_top_of_another(self) -> bool:
        """Whether there is a place below this one to go back to; dialogs do not count."""
        return self.app.screen_stack.index(self) > 0 if self in self.app.screen_stack else False

    @property
    def is_seen(self) -> bool:
        """Whether this is the place on the screen, dialogs on top of it left aside."""
        stack = self.app.screen_stack
        return self in stack and all(isinstance(above, ModalScreen) for above in stack[stack.index(self) + 1 :])

    @property
    def back_label(self) -> str:
        return _("back")

    def leave_screen(self) -> None:
        self.app.pop_screen()

    def action_back(self) -> None:
        layer = next(self._all_layers(), None)
        if layer is not None:
            layer.undo()
            self.refresh_hints()

    def action_quit(self) -> None:
        if self.is_on_top_of_another:
            self.leave_screen()
        else:
            self.arl.action_leave()

    def plain_text(self) -> str:
        """What the plain view shows: by default what is on the screen, line by line."""
        lines = self._compositor.render_strips() if self.size else []
        return "\n".join(strip.text.rstrip() for strip in lines)

    def action_plain(self) -> None:
        self.arl.show_plain(self.plain_text())

    def action_refresh(self) -> None:
        """Ask the platform again; places that show nothing from it have nothing to do."""


class Dialog(ModalScreen[Result], Reporting[Result], Generic[Result]):
    """A modal; escape answers `dismissed`."""

    CSS_PATH = themes.STYLES / "dialogs.tcss"
    BINDINGS = [Binding("escape", "dismiss_dialog", "Close", id="dialog.close", show=False)]
    dismissed: ClassVar[Any] = None

    def action_dismiss_dialog(self) -> None:
        self.dismiss(self.dismissed)
