"""Function blocks and hyper-parameters that are put into a file where it lacks them."""

import math
from typing import Any

from agentic_rl_tui.core.jobfile.steps import calls_needed

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
    algorithm = known.get("algorithm", "gspo")
    batch = known.get("batch_size")
    if not isinstance(batch, int):
        batch = 64 if rows is None else fitting_batch(rows, 64)
    rollouts = known.get("n_rollouts")
    rollouts = rollouts if isinstance(rollouts, int) else 8
    most_prompt = known.get("max_prompt_length")
    longest = known.get("max_length")
    if not isinstance(longest, int):
        longest = max(8192, 4 * most_prompt) if isinstance(most_prompt, int) else 8192
    return {
        "algorithm": "gspo",
        "kl_loss_coef": {"dapo": 0.0, "grpo": 0.04}.get(str(algorithm), 0.002),
        "learning_rate": 1e-6 if is_opd else 2e-6,
        "lr_scheduler_type": "cosine" if is_opd else "linear",
        "lr_warmup_steps": 0 if is_opd else -1,
        "n_epochs": 1,
        "batch_size": batch,
        "n_rollouts": rollouts,
        "ppo_mini_batch_size": min(8, batch * rollouts),
        "max_length": min(longest, 131_072),
        "max_prompt_length": max(1, min(1024, longest // 4)),
        "eval_steps": 1,
        "save_steps": 1 if is_opd else 100,
        "save_strategy": "steps" if is_opd else "epoch",
        "save_total_limit": 2 if is_opd else 1,
    }
