"""Registering a function: package, upload, layer, create, load, healthy, each with its time. A retry goes on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Static

from agentic_rl_tui.app.backend import StepNews
from agentic_rl_tui.app.present.functions import FunctionRow, clean
from agentic_rl_tui.app.present.steps import StepLine, step_line, told
from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.app.surfaces import Problem
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Note

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.deploy import Deployment

_GAP: tuple[Span, ...] = (("", ""),)


class Register(Dialog["Deployment | None"]):
    """Answers the deployment, or None when it was left."""

    BINDINGS = [
        Binding("f5,ctrl+j", "register", N_("Register"), show=False),
        Binding("left,right", "other", N_("Other button"), show=False),
        Binding("y", "copy", N_("Copy"), show=False),
    ]

    @dataclass
    class Told(Message):
        news: StepNews

    @dataclass
    class Done(Message):
        deployment: "Deployment"

    @dataclass
    class Refused(Message):
        error: ArlError

    def __init__(self, row: FunctionRow, runtime: dict[str, Any] | None, size: str) -> None:
        super().__init__()
        self._row = row
        self._runtime = runtime
        self._amount = size
        self._steps: dict[str, StepLine] = {}
        self._is_running = False
        self._error: ArlError | None = None
        self._problem: Problem | None = None

    def compose(self) -> ComposeResult:
        name = self._row.info.class_name
        with Vertical(id="dialog", classes="-wide"):
            yield Static(_("Register {name}?").format(name=name), id="dialog-title", markup=False)
            with VerticalScroll(id="submit-body"):
                yield Note(id="register-text")
            with Horizontal(id="dialog-buttons"):
                yield Button(_("Close"), id="no", compact=True)
                yield Button(_("Register"), id="yes", compact=True, classes="-primary")

    def on_mount(self) -> None:
        self.query_one("#submit-body").can_focus = False
        self._show()
        self.query_one("#yes", Button).focus()

    def _show(self) -> None:
        yes, no = self.query_one("#yes", Button), self.query_one("#no", Button)
        yes.display = not self._is_running
        yes.label = _("Go on from there") if self._error is not None else _("Register")
        no.label = _("Stop") if self._is_running else _("Close")
        self.query_one("#register-text", Note).lines = tuple(self._lines())

    def _lines(self) -> list[tuple[Span, ...]]:
        if not self._steps and not self._is_running:
            where = self.arl.settings.profile_name
            lines: list[tuple[Span, ...]] = [
                ((_("send      "), "$muted"), (self._amount or _("the package of this workspace"), "$ink")),
                (
                    (_("create    "), "$muted"),
                    (clean(self._row.key), "$ink"),
                    (_("  on {profile}").format(profile=where), "$muted"),
                ),
                ((_("load      "), "$muted"), (_("one instance, and wait until it is healthy"), "$ink")),
            ]
            if self._runtime:
                words = ", ".join(f"{key} {value}" for key, value in self._runtime.items() if key != "env")
                lines.append(((_("runtime   "), "$muted"), (clean(words), "$ink")))
            if not self.arl.settings.profile.is_local:
                lines += [_GAP, ((_("A loaded instance costs money until it is deleted."), "$warn"),)]
            return lines
        lines = [step_line(step) for step in self._steps.values()] or [((_("starting …"), "$muted"),)]
        if self._error is not None:
            lines += [_GAP, (("✗ ", "$failed"), (clean(self._error.message), "$ink"))]
            if self._error.advice:
                lines.append(((f"→ {clean(self._error.advice)}", "$muted"),))
            lines.append(((_("y copies all of it"), "$faint"),))
        return lines

    def action_other(self) -> None:
        self.focus_next(Button)

    def action_copy(self) -> None:
        if self._problem is not None:
            self.arl.copy(self._problem.text, _("error"))

    def action_register(self) -> None:
        if not self._is_running:
            self._is_running = True
            self._error = None
            self._steps = {}
            self._show()
            self.query_one("#no", Button).focus()
            self.register()

    @work(exclusive=True, group="register.run", exit_on_error=False)
    async def register(self) -> None:
        backend = self.arl.backend
        try:
            if backend is None:
                raise ArlError(_("the platform is still starting"), advice=_("Try again in a moment."))
            found = await backend.deploy(self._row.info, self._runtime, self._pass_on)
        except ArlError as error:
            self.post_message(self.Refused(error))
        else:
            self.post_message(self.Done(found))

    def _pass_on(self, news: StepNews) -> None:
        self.post_message(self.Told(news))

    @on(Told)
    def _told(self, event: Told) -> None:
        self._steps = told(self._steps, event.news)
        self._show()

    @on(Done)
    def _done(self, event: Done) -> None:
        self.dismiss(event.deployment)

    @on(Refused)
    def _refused(self, event: Refused) -> None:
        self._is_running = False
        self._error = event.error
        self._steps = self._steps or {"start": StepLine(_("register"), "failed")}
        self._problem = self.arl.keep(
            event.error, _("register {class_name}").format(class_name=self._row.info.class_name)
        )
        self._show()
        self.query_one("#yes", Button).focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "yes":
            self.action_register()
        else:
            self.action_dismiss_dialog()

    def action_dismiss_dialog(self) -> None:
        if self._is_running:
            self.workers.cancel_group(self, "register.run")
            done = [step.label for step in self._steps.values() if step.state == "finished"]
            words = _("Stopped. Done by then: {steps}").format(steps=", ".join(done) or _("nothing"))
            self.arl.warn(words)
        self.dismiss(None)
