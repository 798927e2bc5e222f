"""A dialog around something that takes several steps: asked for, watched, stopped, and tried again where it failed."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Generic

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Static

from agentic_rl_tui.app.backend import Backend, StepNews
from agentic_rl_tui.app.present.steps import StepLine, failure_lines, step_line, told
from agentic_rl_tui.app.screens.base import Dialog, Result
from agentic_rl_tui.app.surfaces import Problem
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.buttons import DialogButton
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Note

GAP: tuple[Span, ...] = (("", ""),)
_RUN = "deed.run"


class DeedDialog(Dialog[Result | None], Generic[Result]):
    """Answers what the deed gave, or None when it was left.

    Subclasses give the words, `before_lines`, and `perform`, which does the work and tells its steps.
    """

    BINDINGS = [
        Binding("f5,ctrl+j", "go", N_("Go"), show=False),
        Binding("left,right", "other", N_("Other button"), show=False),
        Binding("y", "copy", N_("Copy"), show=False),
    ]

    @dataclass
    class Told(Message):
        news: StepNews

    @dataclass
    class Done(Message):
        found: Any

    @dataclass
    class Refused(Message):
        error: ArlError

    def __init__(self) -> None:
        super().__init__()
        self.steps: dict[str, StepLine] = {}
        self.is_under_way = False
        self._error: ArlError | None = None
        self._problem: Problem | None = None

    # What a subclass says and does

    @property
    @abstractmethod
    def question(self) -> str:
        """The title before it begins."""

    @property
    def title_while_running(self) -> str:
        return self.question

    @property
    @abstractmethod
    def verb(self) -> str:
        """The word on the button."""

    @property
    def verb_again(self) -> str:
        return _("Try again")

    @property
    @abstractmethod
    def doing(self) -> str:
        """The deed in words that follow ``Could not``."""

    def before_lines(self) -> list[tuple[Span, ...]]:
        """What is shown before it begins."""
        return []

    def why_not(self) -> str | None:
        """The reason why it cannot begin; None where it can."""
        return None

    @abstractmethod
    async def perform(self, backend: Backend) -> Result:
        """Do it. Raises ArlError; `tell` is given every step."""

    @abstractmethod
    def stopped_words(self, done: list[StepLine]) -> str:
        """What had happened when it was stopped. done: the steps that had ended."""

    # The frame

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-wide"):
            yield Static(self.question, id="dialog-title", markup=False)
            with VerticalScroll(id="submit-body"):
                yield Note(id="deed-text")
            with Horizontal(id="dialog-buttons"):
                yield DialogButton(_("Close"), id="no")
                yield DialogButton(self.verb, id="yes", classes="-primary")

    def on_mount(self) -> None:
        self.query_one("#submit-body").can_focus = False
        self.show()
        self.focus_button("no" if self.why_not() else "yes")

    def focus_button(self, name: str) -> None:
        """At once: a key that is on its way must find the focus where the screen shows it."""
        self.set_focus(self.query_one(f"#{name}", DialogButton), scroll_visible=False)

    def show(self) -> None:
        yes, no = self.query_one("#yes", DialogButton), self.query_one("#no", DialogButton)
        yes.is_idle = self.is_under_way or self.why_not() is not None
        yes.say(self.verb_again if self._error is not None else self.verb)
        no.say(_("Stop") if self.is_under_way else _("Close"))
        self.query_one("#deed-text", Note).lines = tuple(self._lines())
        if self.is_under_way:
            self.query_one("#submit-body", VerticalScroll).scroll_end(animate=False)

    def _lines(self) -> list[tuple[Span, ...]]:
        if not self.steps and not self.is_under_way:
            return self.before_lines()
        lines = [step_line(step) for step in self.steps.values()] or [((_("starting …"), "$muted"),)]
        if self._error is not None:
            lines += [GAP, *failure_lines(self._error)]
        elif self.is_under_way:
            lines += [GAP, ((_("esc stops; what is done stays on the service and is used again"), "$faint"),)]
        return lines

    # Acting

    def action_other(self) -> None:
        self.focus_next(Button)

    def action_copy(self) -> None:
        if self._problem is not None:
            self.arl.copy(self._problem.text, _("error"))

    def action_go(self) -> None:
        reason = _("It is going on; esc stops it") if self.is_under_way else self.why_not()
        if reason is not None:
            self.arl.refuse(reason)
            return
        self.is_under_way = True
        self._error = None
        self.steps = {}
        self.query_one("#dialog-title", Static).update(self.title_while_running)
        self.show()
        self.focus_button("no")
        self._run()

    @work(exclusive=True, group=_RUN, exit_on_error=False)
    async def _run(self) -> None:
        backend = self.arl.backend
        try:
            if backend is None:
                raise ArlError(_("the platform is still starting"), advice=_("Try again in a moment."))
            found = await self.perform(backend)
        except ArlError as error:
            self.post_message(self.Refused(error))
        else:
            self.post_message(self.Done(found))

    def tell(self, news: StepNews) -> None:
        self.post_message(self.Told(news))

    @on(Told)
    def _told(self, event: Told) -> None:
        self.steps = told(self.steps, event.news)
        self.show()

    @on(Done)
    def _done(self, event: Done) -> None:
        self.dismiss(event.found)

    @on(Refused)
    def _refused(self, event: Refused) -> None:
        self.is_under_way = False
        self._error = event.error
        self.steps = self.steps or {"start": StepLine(self.verb, "failed")}
        self._problem = self.arl.keep(event.error, self.doing)
        self.query_one("#dialog-title", Static).update(self.question)
        self.show()
        self.focus_button("yes")

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "yes":
            self.action_go()
        else:
            self.action_dismiss_dialog()

    def action_dismiss_dialog(self) -> None:
        if self.is_under_way:
            self.workers.cancel_group(self, _RUN)
            self.arl.warn(self.stopped_words([step for step in self.steps.values() if step.state == "finished"]))
        self.dismiss(None)
