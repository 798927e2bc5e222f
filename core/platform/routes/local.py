"""What only this platform has: its health and end, and what it keeps of a job beside the service's fields."""

import asyncio
import os
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.platform import wire
from agentic_rl_tui.core.platform.engine import TrajectoryReader, read_report, read_steps, read_table
from agentic_rl_tui.core.platform.routes.jobs import found

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform

_MAX_STEPS = 100_000


async def health(_request: Request, platform: "Platform") -> dict[str, Any]:
    return platform.health()


async def stop(_request: Request, platform: "Platform") -> dict[str, Any]:
    platform.request_stop()
    return {"status": "stopping", "pid": os.getpid()}


async def functions(request: Request, platform: "Platform") -> dict[str, Any]:
    """The instances that a job started, so that their logs can be read."""
    job = found(request, platform)
    instances = platform.functions.instances_of_job(job.job_id)
    return {
        "functions": [
            {
                "instance_id": instance.instance_id,
                "entity_id": instance.entity_id,
                "name": instance.name,
                "status": int(platform.instances.state(instance.instance_id)),
            }
            for instance in instances
        ]
    }


async def report(request: Request, platform: "Platform") -> dict[str, Any]:
    """The report of a job that has ended."""
    job = found(request, platform)
    content = await asyncio.to_thread(read_report, platform.paths.jobs / job.job_id)
    if content is None:
        raise NotFound(f"Job {job.job_id} has no report: it is {job.status}")
    return content


async def checkpoints(request: Request, platform: "Platform") -> dict[str, Any]:
    job = found(request, platform)
    return {"checkpoints": await asyncio.to_thread(read_table, platform.paths.jobs / job.job_id)}


async def steps(request: Request, platform: "Platform") -> dict[str, Any]:
    """Metrics of the finished steps, from the step `first` on, at most `limit`."""
    job = found(request, platform)
    first, limit = wire.whole(request, "first", 1), wire.whole(request, "limit", _MAX_STEPS)
    if limit < 1:
        raise wire.invalid("limit must be at least 1")
    content = await asyncio.to_thread(read_steps, platform.paths.jobs / job.job_id, first=first, limit=limit)
    return {"steps": content}


async def trajectories(request: Request, platform: "Platform") -> dict[str, Any]:
    """Without `step` the steps there are, with one its samples, with `sample` too the whole rollouts of the group.

    `rollout` picks one of them, `phase` is train or validation.
    """
    job = found(request, platform)
    phase = request.query_params.get("phase", "train")
    reader = TrajectoryReader(platform.paths.jobs / job.job_id)
    if "step" not in request.query_params:
        return {"steps": await asyncio.to_thread(reader.steps)}
    step = wire.whole(request, "step", 0)
    place = {"step": step, "phase": phase}
    if "sample" not in request.query_params:
        return {**place, "samples": await asyncio.to_thread(reader.samples, step, phase=phase)}
    sample = wire.whole(request, "sample", 0)
    rollouts = await asyncio.to_thread(reader.group, step, sample, phase=phase)
    if "rollout" in request.query_params:
        number = wire.whole(request, "rollout", 0)
        rollouts = [item for item in rollouts if item.get("rollout") == number]
    return {**place, "sample": sample, "rollouts": rollouts}


routes: list[BaseRoute] = [
    wire.endpoint("/local/v1/health", get=health),
    wire.endpoint("/local/v1/stop", post=stop),
    wire.endpoint("/local/v1/jobs/{job_id}/functions", get=functions),
    wire.endpoint("/local/v1/jobs/{job_id}/report", get=report),
    wire.endpoint("/local/v1/jobs/{job_id}/checkpoints", get=checkpoints),
    wire.endpoint("/local/v1/jobs/{job_id}/steps", get=steps),
    wire.endpoint("/local/v1/jobs/{job_id}/trajectories", get=trajectories),
]
