"""The log of one job, in the service's form: ``2026-12-01 21:00:00,123 - INFO - text``."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.platform.ports import JobLog

END_MARKER = "##FT_COMPLETE##"


class JobLogWriter:
    """now gives seconds since the epoch. Secrets are masked in everything that is written."""

    def __init__(self, log: JobLog, job_id: str, now: Callable[[], float]) -> None:
        self._log = log
        self._job_id = job_id
        self._now = now

    async def info(self, *texts: str) -> None:
        await self._write("INFO", texts)

    async def warning(self, *texts: str) -> None:
        await self._write("WARNING", texts)

    async def error(self, *texts: str) -> None:
        await self._write("ERROR", texts)

    async def metrics(self, values: Mapping[str, Any]) -> None:
        """One line that holds `values` as a Python dict."""
        await self._write("INFO", (repr(rounded(values)),))

    async def end(self) -> None:
        await self._log.append(self._job_id, [END_MARKER])

    async def has_ended(self) -> bool:
        """Whether the end marker is written."""
        return await self._log.last(self._job_id) == END_MARKER

    async def _write(self, level: str, texts: tuple[str, ...]) -> None:
        stamp = timestamp(self._now())
        await self._log.append(self._job_id, [f"{stamp} - {level} - {redact(text)}" for text in texts])


def timestamp(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC).astimezone()
    return f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}"


def rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Floats to six digits; what is not finite is left out, since a dict line must be readable by literal_eval."""
    return {
        key: float(f"{value:.6g}") if isinstance(value, float) else value
        for key, value in values.items()
        if value is not None and not (isinstance(value, float) and not math.isfinite(value))
    }
