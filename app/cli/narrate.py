"""Narration on stderr: what the SDK is doing, and what went wrong in words that help."""

import sys
import time
from typing import TextIO

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, ConfigError, InputError, Unreachable
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.sdk.events import (
    Event,
    JobSubmitted,
    Note,
    StepFailed,
    StepFinished,
    StepProgress,
    StepStarted,
)

_REDRAW_S = 0.1


def tell_error(error: ArlError, stream: TextIO | None = None) -> int:
    """Print an error with its advice and every diagnostic it carries; return the exit code of its kind."""
    out = stream or sys.stderr
    for diagnostic in error.diagnostics if isinstance(error, ConfigError) else ():
        print(plain(redact(str(diagnostic))), file=out)
    print(f"✗ {plain(str(error))}", file=out)
    if error.advice:
        print(f"  {plain(error.advice)}", file=out)
    if isinstance(error, Unreachable):
        return exits.UNREACHABLE
    return exits.USAGE if isinstance(error, InputError) else exits.REJECTED


class Narrator:
    """Tells events as lines; on a terminal the progress of a step is redrawn in place."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._out = stream or sys.stderr
        self._live = self._out.isatty()
        self._drawn_at = 0.0
        self._has_draft = False
        self._labels: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        match event:
            case StepStarted():
                self._labels[event.step] = event.label
                self._draft(f"… {event.label}")
            case StepProgress():
                self._progress(event)
            case StepFinished():
                how = _("reused") if event.reused else f"{event.seconds:.1f} s"
                detail = f"  {event.detail}" if event.detail else ""
                self._line("✓ " + _("{label} ({how})").format(label=event.label, how=how) + detail)
            case StepFailed():
                self._line("✗ " + _("{what}: {detail}").format(what=event.label, detail=event.error))
            case JobSubmitted():
                found = _("found again") if event.adopted else event.job.status.lower()
                told = _("job {name} is {found}: {job_id}")
                self._line("✓ " + told.format(name=event.job.job_name or "", found=found, job_id=event.job.job_id))
            case Note():
                self._line(f"! {event.text}")

    def _progress(self, event: StepProgress) -> None:
        now = time.monotonic()
        if not self._live or now - self._drawn_at < _REDRAW_S:
            return
        self._drawn_at = now
        share = f"{100 * event.done / event.total:.0f}%" if event.total else f"{event.done:.0f} {event.unit}"
        self._draft(f"… {self._labels.get(event.step, event.step)}  {share}  {event.note}".rstrip())

    def _draft(self, text: str) -> None:
        if self._live:
            print(f"\r\x1b[2K{plain(text, keep_newlines=False)}", end="", file=self._out, flush=True)
            self._has_draft = True

    def _line(self, text: str) -> None:
        start = "\r\x1b[2K" if self._has_draft else ""
        self._has_draft = False
        print(start + plain(text), file=self._out, flush=True)
