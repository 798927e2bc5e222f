"""What becomes of jobs that a killed platform left in the middle."""

import asyncio
import logging
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine.engine import PLATFORM_STOPPED, Engine
from agentic_rl_tui.core.platform.engine.joblog import JobLogWriter
from agentic_rl_tui.core.platform.engine.report import read_report, write_from_disk
from agentic_rl_tui.core.platform.ports import JobRecord

logger = logging.getLogger(__name__)


async def mark_interrupted(engine: Engine, job: JobRecord) -> None:
    """Give a job that a killed platform left behind its true state, and a report of what it got done.

    A job whose report is written had come to its end; only what follows the report is done then.
    """
    folder = engine.artefacts / job.job_id
    log = JobLogWriter(engine.log, job.job_id, engine.options.now)
    try:
        report = await asyncio.to_thread(read_report, folder)
        is_cut_off = report is None
        report = report or await _interrupted_report(folder, job)
        if not await log.has_ended():
            if is_cut_off and (told := report.get("tracing")):
                await log.info(f"traces: {_counts(told)}")
            reason = report["reason"] or "succeeded; the platform was stopped as it ended"
            await log.error(f"job ended: {reason}")
            await log.end()
    except OSError as error:
        logger.error("the end of job %s could not be written: %s", job.job_id, error)
        report = _interruption(job)
    if report.get("output"):
        await engine.jobs.set_output(job.job_id, report["output"])
    status = JobStatus(report["status"])
    if not await engine.jobs.move(job.job_id, status, code=report.get("code"), message=report["reason"]):
        await engine.jobs.move(job.job_id, JobStatus.CANCELED)


async def _interrupted_report(folder: Path, job: JobRecord) -> dict[str, Any]:
    facts = {"job_id": job.job_id, "job_name": job.name, "model": job.request.model} | _interruption(job)
    return await asyncio.to_thread(write_from_disk, folder, facts)


def _counts(tracing: dict[str, Any]) -> str:
    """What was traced of how much, in the words of a job that ends by itself."""
    llm, tools = tracing["llm"], tracing["tools"]
    return f"LLM {llm['traced']}/{llm['total']}, tools {tools['traced']}/{tools['total']}"


def _interruption(job: JobRecord) -> dict[str, Any]:
    """How a job ended that was cut off in the middle: status, reason and code."""
    if job.status is JobStatus.CANCELING:
        reason = "canceled; the platform was stopped before it had finished"
        return {"status": JobStatus.CANCELED.value, "reason": reason, "code": None}
    return {"status": JobStatus.FAILED.value, "reason": PLATFORM_STOPPED, "code": "PlatformStopped"}
