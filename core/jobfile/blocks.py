"""Function blocks and hyper-parameters that are put into a file where it lacks them."""

import math
from typing import Any

from agentic_rl_tui.core.jobfile.steps import calls_needed, steps_of

TIMEOUTS = {"rollout": 600, "reward": 120, "group_reward": 120}
_CAPACITY = 30
_CONCURRENCY = 30


def runtime_block(calls: int | None = None) -> dict[str, Any]:
    """The resources that the service's page advises, with room for `calls` calls a step."""
    need = calls_needed(calls) if calls else 0
    capacity = max(_CAPACITY, math.ceil(need / _CONCURRENCY))
    return {
        "cpu": 2,
        "memory_size": 4096,
        "disk_size": 512,
        "concurrency": _CONCURRENCY,
        "capacity": capacity,
        "max_capacity": 2 * capacity,
        "min_capacity": capacity,
    }


def function_block(kind: str, classpath: str, name: str, calls: int | None = None) -> dict[str, Any]:
    block: dict[str, Any] = {"type": kind, "name": name, "timeout": TIMEOUTS[kind]}
    if kind != "rollout":
        block["weight"] = 1.0
    block["fcmodel"] = {"zipdir": "./", "classpath": classpath, "requirements_path": "./requirements.txt"}
    block["runtime"] = runtime_block(calls)
    return block


def fitting_batch(rows: int, most: int = 100_000) -> int:
    """The largest power of two below the number of rows, at most `most`; 1 where there is none."""
    limit = min(rows - 1, most)
    return 1 << (limit.bit_length() - 1) if limit >= 1 else 1


def starting_values(known: dict[str, Any], *, is_opd: bool, rows: int | None) -> dict[str, Any]:
    """A value for every essential hyper-parameter: those of a quick check, fitted to the ones that are set."""
    batch, rollouts = _samples(known, rows)
    prompt = _whole(known, "max_prompt_length")
    longest = _whole(known, "max_length") or min(max(8192, (prompt or 0) + 4096), 131_072)
    strategy = known.get("save_strategy") or ("steps" if is_opd else "epoch")
    steps = steps_of(rows, {"batch_size": batch, "n_epochs": _whole(known, "n_epochs") or 1})
    evaluate = _whole(known, "eval_steps") or (steps.low // 20 if steps and steps.low > 100 else 1)
    save = 1 if is_opd else 100
    if strategy == "steps":
        save = max(save, evaluate)
        save = save if steps is None else max(1, min(save, steps.high))
    return {
        "algorithm": "gspo",
        "kl_loss_coef": {"dapo": 0.0, "grpo": 0.04}.get(str(known.get("algorithm")), 0.002),
        "learning_rate": 1e-6 if is_opd else 2e-6,
        "lr_scheduler_type": "cosine" if is_opd else "linear",
        "lr_warmup_steps": 0 if is_opd else -1,
        "n_epochs": 1,
        "batch_size": batch,
        "n_rollouts": rollouts,
        "ppo_mini_batch_size": min(8, batch * rollouts),
        "max_length": longest,
        "max_prompt_length": max(1, min(1024, longest // 4)),
        "eval_steps": evaluate,
        "save_steps": save,
        "save_strategy": strategy,
        "save_total_limit": 2 if is_opd else 1,
    }


def _whole(known: dict[str, Any], key: str) -> int | None:
    value = known.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _samples(known: dict[str, Any], rows: int | None) -> tuple[int, int]:
    """batch_size and n_rollouts whose product holds a mini batch that is set already."""
    mini = _whole(known, "ppo_mini_batch_size") or 1
    rollouts = _whole(known, "n_rollouts") or 8
    batch = _whole(known, "batch_size")
    if batch is None:
        most = 65_536 if rows is None else fitting_batch(rows, 65_536)
        batch = min(64, most)
        while batch * rollouts < mini and batch * 2 <= most:
            batch *= 2
    if "n_rollouts" not in known and batch * rollouts < mini:
        rollouts = min(1024, math.ceil(mini / batch))
    return batch, rollouts
