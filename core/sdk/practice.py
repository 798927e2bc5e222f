"""The local platform's practice policy as the model of a rollout that is tried outside a job."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agentic_rl_tui.core.client.transport import Request, Transport
from agentic_rl_tui.core.functions.harness_inputs import ModelResource
from agentic_rl_tui.core.functions.harness_report import ModelCall
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError


async def practice_models(
    transport: Transport, row: Mapping[str, Any], *, row_index: int = 0, rollouts: int = 1, seed: int = 0
) -> list[dict[str, str]]:
    """One ``model_resource`` (model_name, base_url, api_key) for each of `rollouts` rollouts of a data row.

    Only the local platform has the practice policy: raises InputError for another profile.
    """
    if not transport.profile.is_local:
        raise InputError(
            _("profile {name!r} has no practice policy").format(name=transport.profile.name),
            advice=_("Give a model of your own, or use the local platform with --profile local."),
        )
    body = {"row": dict(row), "row_index": row_index, "rollouts": rollouts, "seed": seed}
    answer = await transport.call(Request("POST", "//local/v1/practice", json=body))
    resources: list[dict[str, str]] = answer.body["model_resources"]
    return resources


@asynccontextmanager
async def practised(transport: Transport, payload: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
    """A rollout's input with the practice policy as its model for a while, where it names none that could answer.

    It stays as it is for a profile without a practice policy.
    """
    from agentic_rl_tui.core.sdk.tryout import lacks_model, with_model

    if not (transport.profile.is_local and lacks_model(payload) and isinstance(payload.get("messages"), list)):
        yield payload
        return
    lent = ModelResource(**(await practice_models(transport, payload))[0])
    try:
        yield with_model(payload, lent)
    finally:
        await model_calls(transport, lent)


async def model_calls(transport: Transport, resource: ModelResource) -> tuple[ModelCall, ...]:
    """What a rollout asked of a lent model; its key stops working."""
    answer = await transport.call(Request("POST", "//local/v1/practice/close", json={"api_key": resource.api_key}))
    return tuple(
        ModelCall(
            resource.model_name,
            call["prompt_tokens"],
            call["completion_tokens"],
            call["latency_s"],
            call.get("error"),
            call.get("span", ""),
        )
        for call in answer.body["calls"]
    )
