"""The rollouts that the local platform keeps of a job. Other profiles keep none for us."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.core.client.transport import Request, Transport, checked_id
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.groups import bounds, judge

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.dumps import Dump

_LONG_S = 300.0


async def read_trajectories(
    transport: Transport,
    job_id: str,
    *,
    step: int | None = None,
    sample: int | None = None,
    phase: str = "train",
) -> dict[str, Any]:
    """Without a step the steps there are, with one its samples, with a sample too the whole rollouts of its group.

    Raises ConfigError for a profile that is not local, NotFound for a job that is not there.
    """
    if not transport.profile.is_local:
        raise ConfigError(
            _("only the local platform keeps every rollout of a job"),
            advice=_("Read those of this profile in the console of the service."),
        )
    given = {"step": step, "sample": sample, "phase": phase if step is not None else None}
    query = {name: value for name, value in given.items() if value is not None}
    target = f"//local/v1/jobs/{checked_id(job_id)}/trajectories"
    body = (await transport.call(Request("GET", target, query=query, limit_s=_LONG_S))).body
    return dict(body) if isinstance(body, Mapping) else {}


async def explain_samples(transport: Transport, job_id: str, *, step: int, phase: str = "train") -> dict[str, Any]:
    """The samples of a step, each with its prompt, how its rewards lie, and why where they have no spread.

    Reads every group of the step.
    """
    page = await read_trajectories(transport, job_id, step=step, phase=phase)
    samples = [dict(item) for item in page.get("samples") or ()]
    edges = bounds([item.get("rewards") or () for item in samples])
    for item in samples:
        group = await read_trajectories(transport, job_id, step=step, sample=item["sample"], phase=phase)
        item |= _told(item, group, edges)
    return {**page, "samples": samples}


def explain_dump(dump: "Dump", *, step: int, phase: str = "train") -> dict[str, Any]:
    """The same of a file of rollouts."""
    page = dump.page(step=step, phase=phase)
    samples = [dict(item) for item in page["samples"]]
    edges = bounds([item["rewards"] for item in samples])
    for item in samples:
        item |= _told(item, dump.page(step=step, sample=item["sample"], phase=phase), edges)
    return {**page, "samples": samples}


def _told(item: Mapping[str, Any], group: Mapping[str, Any], edges: tuple[float, float]) -> dict[str, Any]:
    facts = asdict(judge(item.get("rewards") or (), *edges, records=group.get("rollouts") or ()))
    return {name: facts[name] for name in ("spread", "cause", "scored", "zeros", "zeros_by_exception", "prompt")}
