"""What only this platform has: its health and end, and what it keeps of a job beside the service's fields."""

import asyncio
import os
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.platform import wire
from agentic_rl_tui.core.platform.engine import TrajectoryReader, read_report, read_steps, read_table
from agentic_rl_tui.core.platform.job_check import number
from agentic_rl_tui.core.platform.routes.jobs import found

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.engine.practice_room import PracticeRoom
    from agentic_rl_tui.core.platform.service import Platform

_MAX_PRACTICE = 1024
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
        wanted = wire.whole(request, "rollout", 0)
        rollouts = [item for item in rollouts if item.get("rollout") == wanted]
    return {**place, "sample": sample, "rollouts": rollouts}


async def practice(request: Request, platform: "Platform") -> dict[str, Any]:
    """Keys at which rollouts of the data row `row` find the practice policy, one for each of `rollouts`."""
    body = await wire.read_object(request)
    row, rollouts = body.get("row"), body.get("rollouts", 1)
    if not isinstance(row, dict) or not _are_messages(row.get("messages")):
        raise wire.invalid("row must be a data row with messages")
    if type(rollouts) is not int or not 1 <= rollouts <= _MAX_PRACTICE:
        raise wire.invalid(f"rollouts must be a number from 1 to {_MAX_PRACTICE}")
    numbers = {"index": body.get("row_index", 0), "seed": body.get("seed", 0)}
    temperature = number(body.get("temperature", 1.0), "temperature")
    if any(type(value) is not int for value in numbers.values()) or temperature < 0:
        raise wire.invalid("row_index and seed must be whole numbers, temperature must not be negative")
    room = _room(platform)
    return {
        "model_resources": [
            room.open(row, rollout=rollout, temperature=temperature, **numbers) for rollout in range(rollouts)
        ]
    }


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(message, dict) for message in value)


async def practice_close(request: Request, platform: "Platform") -> dict[str, Any]:
    """Take a key back and tell the calls that were made with it."""
    calls = _room(platform).close(wire.text(await wire.read_object(request), "api_key"))
    if calls is None:
        raise NotFound("no such key is open")
    return {"calls": calls}


def _room(platform: "Platform") -> "PracticeRoom":
    if platform.practice is None:
        raise NotFound("this platform has no practice policy")
    return platform.practice


routes: list[BaseRoute] = [
    wire.endpoint("/local/v1/health", get=health),
    wire.endpoint("/local/v1/stop", post=stop),
    wire.endpoint("/local/v1/practice", post=practice),
    wire.endpoint("/local/v1/practice/close", post=practice_close),
    wire.endpoint("/local/v1/jobs/{job_id}/functions", get=functions),
    wire.endpoint("/local/v1/jobs/{job_id}/report", get=report),
    wire.endpoint("/local/v1/jobs/{job_id}/checkpoints", get=checkpoints),
    wire.endpoint("/local/v1/jobs/{job_id}/steps", get=steps),
    wire.endpoint("/local/v1/jobs/{job_id}/trajectories", get=trajectories),
]
