"""What only this platform has: its health and end, and what it keeps of a job beside the service's fields."""

import os
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from agentic_rl_tui.core.platform import wire
from agentic_rl_tui.core.platform.routes.jobs import found

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform


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


routes: list[BaseRoute] = [
    wire.endpoint("/local/v1/health", get=health),
    wire.endpoint("/local/v1/stop", post=stop),
    wire.endpoint("/local/v1/jobs/{job_id}/functions", get=functions),
]
