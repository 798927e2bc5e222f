"""Statuses as glyph, word and style: never colour alone."""

from dataclasses import dataclass

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
    JobStatus.PENDING: Look("◌", "pending", "$waiting"),
    JobStatus.QUEUING: Look("◌", "queued", "$waiting"),
    JobStatus.RUNNING: Look("●", "running", "$running"),
    JobStatus.SUSPENDED: Look("◍", "suspended", "$waiting"),
    JobStatus.CANCELING: Look("◍", "canceling", "$warn"),
    JobStatus.SUCCEEDED: Look("✔", "succeeded", "$succeeded"),
    JobStatus.FAILED: Look("✗", "failed", "$failed"),
    JobStatus.CANCELED: Look("⊘", "canceled", "$canceled"),
    JobStatus.UNKNOWN: Look("?", "unknown", "$muted"),
}

_HEALTH = {
    "ok": Look("●", "ready", "$succeeded"),
    "starting": Look("◌", "starting", "$waiting"),
    "stopped": Look("○", "not running", "$muted"),
    "unreachable": Look("✗", "unreachable", "$failed"),
    "unauthorized": Look("✗", "key refused", "$failed"),
    "failing": Look("!", "failing", "$warn"),
    "no_key": Look("✗", "no API key", "$failed"),
}


def job_look(status: str) -> Look:
    """A word the service invented later shows as received."""
    known = _JOB.get(status)  # type: ignore[call-overload]
    return known or Look("?", plain(status, keep_newlines=False).lower(), "$muted")


def health_look(state: str) -> Look:
    return _HEALTH.get(state) or Look("●", plain(state, keep_newlines=False), "$warn")
