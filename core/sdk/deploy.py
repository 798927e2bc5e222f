"""One function at a time on the service: registered, loaded, watched and removed; and what this machine knows of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic_rl_tui.core.client.functions import Functions
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.functions import FunctionKind, Runtime
from agentic_rl_tui.core.models.processors import ProcessorInfo
from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent, FunctionComponentModel
from agentic_rl_tui.core.sdk.events import OnEvent
from agentic_rl_tui.core.sdk.steps import Steps

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.facade import AgenticRL

READY_S = 180.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """A registered function as this machine remembers it. content_hash is that of the package it was made from.

    at_s: seconds since the epoch. instances: those loaded from here and not removed, newest first.
    """

    kind: str
    classpath: str
    content_hash: str
    entity_id: str
    at_s: float
    instances: tuple[str, ...] = ()


def deployments(rl: "AgenticRL") -> tuple[Deployment, ...]:
    """What this machine registered with the account of `rl`, newest first. Reads the disk alone.

    Raises NoKey where the profile needs a key and has none.
    """
    scope, registry = rl.session.scope(), rl.session.registry()
    loaded: dict[str, list[tuple[float, str]]] = {}
    for instance, (entity, at_s) in registry.entries(f"{scope}|instance|").items():
        loaded.setdefault(entity, []).append((at_s, instance))
    kinds = {kind.value for kind in FunctionKind}
    found = []
    for key, (entity, at_s) in registry.entries(f"{scope}|").items():
        parts = key.split("|")
        if len(parts) == 3 and parts[0] in kinds:
            instances = tuple(name for _, name in sorted(loaded.get(entity, ()), reverse=True))
            found.append(Deployment(parts[0], parts[1], parts[2], entity, at_s, instances))
    return tuple(sorted(found, key=lambda item: -item.at_s))


async def deploy(
    rl: "AgenticRL",
    info: ProcessorInfo,
    *,
    name: str = "",
    runtime: Runtime | Mapping[str, object] | None = None,
    on_event: OnEvent | None = None,
) -> Deployment:
    """Register a class of the workspace, load one instance and wait until it takes calls.

    What an earlier try got done is found again and not sent twice, so a retry goes on where that one failed.
    """
    given = Runtime.model_validate(dict(runtime)) if isinstance(runtime, Mapping) else runtime
    component = AgenticRLFunctionComponent(
        type=info.kind,
        name=name or info.class_name,
        fcmodel=FunctionComponentModel(classpath=info.classpath.colon),
        runtime=given,
    )
    registered = await rl.register_functions(component, lazy_load=False, on_event=on_event)
    entities = [*registered.rollout_entity_ids, *registered.reward_entity_ids, *registered.group_reward_entity_ids]
    instances = [
        *registered.rollout_instance_ids,
        *registered.reward_instance_ids,
        *registered.group_reward_instance_ids,
    ]
    scope, registry = rl.session.scope(), rl.session.registry()
    registry.put(f"{scope}|instance|{instances[0]}", entities[0])
    functions = Functions(rl.transport)
    async with Steps(on_event).step(f"healthy:{component.label}", _("wait until it takes calls")) as step:
        instance = await functions.wait_active(instances[0], timeout_s=READY_S)
        await functions.wait_healthy(instance, timeout_s=READY_S)
        step.detail = instances[0]
    made = next((item for item in deployments(rl) if item.entity_id == entities[0]), None)
    return made or Deployment(info.kind.value, info.classpath.dotted, "", entities[0], 0.0, (instances[0],))


async def remove_instance(rl: "AgenticRL", instance_id: str) -> None:
    """Stop and delete an instance; one that is gone already is forgotten here."""
    await Functions(rl.transport).delete_instance(instance_id)
    rl.session.registry().drop(f"{rl.session.scope()}|instance|{instance_id}")
