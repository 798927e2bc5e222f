"""Statuses as glyph, word and style: never colour alone."""

from dataclasses import dataclass, replace
from functools import lru_cache

from agentic_rl_tui.core.i18n import N_, _, language
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.models.text import plain


@dataclass(frozen=True, slots=True)
class Look:
    glyph: str
    word: str
    style: str

    @property
    def label(self) -> str:
        return f"{self.glyph} {self.word}"


_JOB = {
    JobStatus.PENDING: Look("◌", N_("pending"), "$waiting"),
    JobStatus.QUEUING: Look("◌", N_("queued"), "$waiting"),
    JobStatus.RUNNING: Look("●", N_("running"), "$running"),
    JobStatus.SUSPENDED: Look("◍", N_("suspended"), "$waiting"),
    JobStatus.CANCELING: Look("◍", N_("canceling"), "$warn"),
    JobStatus.SUCCEEDED: Look("✔", N_("succeeded"), "$succeeded"),
    JobStatus.FAILED: Look("✗", N_("failed"), "$failed"),
    JobStatus.CANCELED: Look("⊘", N_("canceled"), "$canceled"),
    JobStatus.UNKNOWN: Look("?", N_("unknown"), "$muted"),
}

_HEALTH = {
    "ok": Look("●", N_("ready"), "$succeeded"),
    "starting": Look("◌", N_("starting"), "$waiting"),
    "stopped": Look("○", N_("not running"), "$muted"),
    "unreachable": Look("✗", N_("unreachable"), "$failed"),
    "unauthorized": Look("✗", N_("key refused"), "$failed"),
    "failing": Look("!", N_("failing"), "$warn"),
    "no_key": Look("✗", N_("no API key"), "$failed"),
}


def job_look(status: str) -> Look:
    """A word the service invented later shows as received."""
    return _job_look(status, language())


def stalled_look() -> Look:
    """A running job that tells nothing new."""
    return _stalled_look(language())


@lru_cache(maxsize=4)
def _stalled_look(_language: str) -> Look:
    return Look("◒", _("stalled"), "$warn")


def english_word(status: str) -> str:
    """The word of a status whatever the language: what filters and saved views are written with."""
    known = _JOB.get(status)  # type: ignore[call-overload]
    return known.word if known is not None else status.lower()


@lru_cache(maxsize=64)
def _job_look(status: str, _language: str) -> Look:
    known = _JOB.get(status)  # type: ignore[call-overload]
    return (
        replace(known, word=_(known.word))
        if known is not None
        else Look("?", plain(status, keep_newlines=False).lower(), "$muted")
    )


def health_look(state: str) -> Look:
    known = _HEALTH.get(state)
    return replace(known, word=_(known.word)) if known else Look("●", plain(state, keep_newlines=False), "$warn")
