"""The job engine, given what it needs of the platform."""

from typing import TYPE_CHECKING

from agentic_rl_tui.core.platform.engine import Engine, Gateway, Scheduler
from agentic_rl_tui.core.platform.engine.practice_room import PracticeRoom

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform


def engine_scheduler(platform: "Platform") -> Scheduler:
    gateway = Gateway(base_url=platform.identity.gateway_url)
    platform.gateway_app = gateway.app

    def calls_of(key: str) -> list[str] | None:
        session = gateway.find(key)
        return None if session is None else [call.span for call in session.calls]

    platform.traces.calls_of = calls_of
    platform.practice = PracticeRoom(gateway)
    engine = Engine(
        jobs=platform.jobs,
        log=platform.job_logs,
        functions=platform.job_functions,
        files=platform.files,
        gateway=gateway,
        artefacts=platform.paths.jobs,
        options=platform.engine_options,
        tally=platform.traces.tally,
    )
    return Scheduler(
        jobs=platform.jobs, log=platform.job_logs, engine=engine, max_running=platform.options.max_running_jobs
    )
