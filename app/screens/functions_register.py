"""Registering a function: package, upload, layer, create, load, healthy, each with its time. A retry goes on."""

from typing import TYPE_CHECKING, Any

from agentic_rl_tui.app.backend import Backend
from agentic_rl_tui.app.present.functions import FunctionRow, clean
from agentic_rl_tui.app.present.steps import StepLine
from agentic_rl_tui.app.screens.deed import GAP, DeedDialog
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.cells import Span

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.deploy import Deployment


class Register(DeedDialog["Deployment"]):
    """amount: the size of the package in words, empty while it is not known."""

    def __init__(self, row: FunctionRow, runtime: dict[str, Any] | None, amount: str) -> None:
        super().__init__()
        self._row = row
        self._runtime = runtime
        self._amount = amount

    @property
    def question(self) -> str:
        return _("Register {name}?").format(name=self._row.info.class_name)

    @property
    def title_while_running(self) -> str:
        return _("Registering {name}").format(name=self._row.info.class_name)

    @property
    def verb(self) -> str:
        return _("Register")

    @property
    def verb_again(self) -> str:
        return _("Go on from there")

    @property
    def doing(self) -> str:
        return _("register {name}").format(name=self._row.info.class_name)

    def before_lines(self) -> list[tuple[Span, ...]]:
        where = _("  on {profile}").format(profile=self.arl.settings.profile_name)
        lines: list[tuple[Span, ...]] = [
            ((_("send      "), "$muted"), (self._amount or _("the package of this workspace"), "$ink")),
            ((_("create    "), "$muted"), (clean(self._row.key), "$ink"), (where, "$muted")),
            ((_("load      "), "$muted"), (_("one instance, and wait until it is healthy"), "$ink")),
        ]
        if self._runtime:
            words = ", ".join(f"{key} {value}" for key, value in self._runtime.items() if key != "env")
            lines.append(((_("runtime   "), "$muted"), (clean(words), "$ink")))
        if not self.arl.settings.profile.is_local:
            lines += [GAP, ((_("A loaded instance costs money until it is deleted."), "$warn"),)]
        return lines

    async def perform(self, backend: Backend) -> "Deployment":
        return await backend.deploy(self._row.info, self._runtime, self.tell)

    def stopped_words(self, done: list[StepLine]) -> str:
        if not done:
            return _("Stopped. Nothing had been done yet")
        return _("Stopped. Done by then: {steps}").format(steps=", ".join(step.label for step in done))
