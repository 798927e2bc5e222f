"""What became of an error: where it shows, and the record that is kept of it."""

import traceback
from dataclasses import dataclass, field
from datetime import datetime

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, AuthError, NoKey, PlatformError, Unreachable
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain


@dataclass(frozen=True, slots=True)
class Problem:
    """One error as people read it. doing: verb and object ("cancel calc-agent-3f2a"). detail: all that is known."""

    doing: str
    message: str
    advice: str = ""
    detail: str = ""
    at: datetime | None = None
    is_bug: bool = False

    @property
    def title(self) -> str:
        return _("Could not {doing}").format(doing=self.doing) if self.doing else _("Something went wrong")

    @property
    def text(self) -> str:
        """The whole problem as one text to copy."""
        when = self.at.strftime("%Y-%m-%d %H:%M:%S") + "\n" if self.at else ""
        parts = [f"{when}{self.title}", self.message, self.advice, self.detail]
        return "\n".join(part for part in parts if part)


def problem(error: BaseException, doing: str, *, at: datetime | None = None) -> Problem:
    """The record of an error. An error that is not ours is a bug and keeps its traceback."""
    if isinstance(error, ArlError):
        return Problem(doing, plain(error.message), plain(error.advice), plain(str(error)), at)
    trace = "".join(traceback.format_exception(error))
    kind = type(error).__name__
    return Problem(doing, redact(plain(f"{kind}: {error}")), "", redact(plain(trace)), at, is_bug=True)


def state_of(error: ArlError) -> str:
    """What a failed request tells of the service's health."""
    if isinstance(error, NoKey):
        return "no_key"
    if isinstance(error, AuthError):
        return "unauthorized"
    return "unreachable" if isinstance(error, Unreachable | PlatformError) else "failing"


@dataclass
class ProblemLog:
    """Every problem of this session, oldest first, up to a limit."""

    limit: int = 500
    items: list[Problem] = field(default_factory=list)

    def add(self, item: Problem) -> None:
        self.items.append(item)
        del self.items[: -self.limit]


@dataclass
class Outage:
    """Failed refreshes in a row: the first one is worth a toast, the rest only a badge."""

    failures: int = 0
    last_good_s: float | None = None

    def succeeded(self, now_s: float) -> bool:
        """Note a good answer; True when it ends an outage."""
        ended = self.failures > 0
        self.failures = 0
        self.last_good_s = now_s
        return ended

    def failed(self) -> bool:
        """Note a failure; True when it is the first of its outage."""
        self.failures += 1
        return self.failures == 1
