"""Which processor API the interpreter offers: the vendor's package, or ours under its name."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

API = "dashscope.finetune.reinforcement"
KINDS = ("rollout", "reward", "group_reward")
SWITCH = "AGENTIC_RL_PROCESSORS"


@dataclass(frozen=True, slots=True)
class Runtime:
    """source is ``own`` or ``real``. The mappings go by kind."""

    source: str
    processor: type[Any]
    bases: dict[str, type[Any]]
    inputs: dict[str, type[Any]]
    outputs: dict[str, type[Any]]
    logger: Any


def prepare(kind: str) -> Runtime:
    """Import the processor API, as far as a kind of function needs it. Raises ImportError with a sentence."""
    choice = os.environ.get(SWITCH, "auto").strip().lower() or "auto"
    if choice not in {"own", "real", "auto"}:
        raise ImportError(f"{SWITCH}={choice} is not known; use own, real or auto")
    if choice == "real" or (choice == "auto" and find_spec("dashscope") is not None and _has_api()):
        return _runtime("real")
    if find_spec("pydantic") is None:
        raise ImportError("it lacks pydantic; install pydantic>=2 or dashscope there")
    from agentic_rl_tui.core.functions.worker import alias

    alias.install()
    runtime = _runtime("own")
    importlib.import_module("agentic_rl_tui.core.functions.processors.models").build(kind)
    return runtime


def _has_api() -> bool:
    """False for a dashscope too old to have, or installed without what it needs for, reinforcement learning."""
    try:
        importlib.import_module(API)
    except ImportError:
        return False
    return True


def _runtime(source: str) -> Runtime:
    ours = "agentic_rl_tui.core.functions.processors"
    real = source == "real"
    base: Any = importlib.import_module(f"{API}.component.processor" if real else f"{ours}.base")
    data: Any = importlib.import_module(f"{API}.component.data" if real else f"{ours}.models")
    log: Any = importlib.import_module(f"{API}.common.log" if real else f"{ours}.log")
    names = {kind: "".join(part.title() for part in kind.split("_")) for kind in KINDS}
    return Runtime(
        source=source,
        processor=base.AbstractProcessor,
        bases={kind: getattr(base, f"Abstract{name}Processor") for kind, name in names.items()},
        inputs={kind: getattr(data, f"{name}Input") for kind, name in names.items()},
        outputs={kind: getattr(data, f"{name}Output") for kind, name in names.items()},
        logger=log.logger,
    )
