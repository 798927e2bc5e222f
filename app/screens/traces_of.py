"""From a rollout that is shown elsewhere to its trace."""

from typing import TYPE_CHECKING

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError

if TYPE_CHECKING:
    from agentic_rl_tui.app.screens.base import PlaceScreen
    from agentic_rl_tui.core.tracing.model import Run


def open_trace(screen: "PlaceScreen", job_id: str, rollout_id: str) -> None:
    """Look for the trace of a job's rollout and open it; say so where none was kept."""
    screen.run_worker(_find(screen, job_id, rollout_id), group="trace.find", exclusive=True, exit_on_error=False)


async def _find(screen: "PlaceScreen", job_id: str, rollout_id: str) -> None:
    from agentic_rl_tui.app.screens.traces_run import JobTraceScreen

    backend = screen.arl.backend
    if backend is None:
        return
    try:
        found = await backend.traces({"job_id": job_id, "rollout_id": rollout_id, "limit": 50})
    except ArlError as error:
        screen.arl.fail(error, _("read the traces"))
        return
    run = _of_rollout(() if found is None else found[0])
    if run is None:
        screen.arl.refuse(_("No trace of this rollout was kept: its function uses no tracing, or it was removed"))
    elif screen.is_current:
        screen.app.push_screen(JobTraceScreen(run.key))


def _of_rollout(runs: "list[Run] | tuple[Run, ...]") -> "Run | None":
    """The newest run of the rollout itself, before those of its rewards: they share its id."""
    return next((run for run in runs if run.kind == "rollout"), next(iter(runs), None))
