"""Checkpoints: when they are saved, which are kept, how a job goes on from one."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine import read_table
from agentic_rl_tui.core.platform.engine.checkpoints import Checkpoints, load_start, output_name


def request(bench: Any, kit: Any, **more: Any) -> Any:
    settings = {"rows": kit.arithmetic(32), "validation": kit.arithmetic(8, seed=2), "n_epochs": 2} | more
    return bench.request(rollout=bench.agent(), rewards=[kit.strict], **settings)


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"save_strategy": "epoch"}, [4, 8]),
        ({"save_strategy": "steps", "save_steps": 3}, [3, 6, 8]),
        ({"save_strategy": "no"}, [8]),
    ],
)
async def test_when_checkpoints_are_saved(bench: Any, kit: Any, settings: dict[str, Any], steps: list[int]) -> None:
    job = await bench.run(request(bench, kit, save_total_limit=10, **settings))
    table = read_table(bench.artefacts / job.job_id)
    assert [row["step"] for row in table] == steps
    assert all(row["validation"] is not None for row in table)
    best = max(table, key=lambda row: (row["validation"], row["step"]))
    assert [row["step"] for row in table if row["is_best"]] == [best["step"]]
    assert [row["is_final"] for row in table] == [step == 8 for step in steps]


def test_the_best_outlives_the_limit(tmp_path: Any) -> None:
    book = Checkpoints(tmp_path, "practice-m-ft-202601010000-abcd", limit=1)
    for step, value in ((1, 0.2), (2, 0.9), (3, 0.5), (4, None)):
        book.save(step, {"tables": {}}, validation=value, reward=0.0, now=0.0)
    assert [(row.step, row.is_kept, row.is_best) for row in book.table] == [
        (1, False, False),
        (2, True, True),
        (3, False, False),
        (4, True, False),
    ]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-2.json", "step-4.json"]
    assert book.best is not None
    assert book.best.name == "practice-m-ft-202601010000-abcd@step-2"


async def test_a_job_goes_on_from_another_ones_output(bench: Any, kit: Any) -> None:
    first = await bench.run(request(bench, kit, validation=None))
    rewards = bench.metrics(first)
    second = await bench.run(request(bench, kit, validation=None, model=first.finetuned_output))
    assert second.status is JobStatus.SUCCEEDED
    assert f"goes on from {first.finetuned_output}, step 8" in bench.text(second)
    more = bench.metrics(second)
    assert rewards[-1] - rewards[0] > 0.1
    assert abs(more[0] - rewards[-1]) < abs(more[0] - rewards[0])
    assert bench.metrics(second, "actor/kl_loss")[0] == 0.0
    assert second.finetuned_output == f"practice-qwen3.5-9b-{second.job_id}"


async def test_a_named_checkpoint_is_taken(bench: Any, kit: Any) -> None:
    job = await bench.run(request(bench, kit, save_strategy="steps", save_steps=2, save_total_limit=9))
    state = load_start(bench.artefacts, f"{job.finetuned_output}@step-4")
    assert state is not None
    assert state["step"] == 4
    last = load_start(bench.artefacts, job.finetuned_output or "")
    assert last is not None
    assert last["step"] == 8
    with pytest.raises(InputError, match="is not on this platform"):
        load_start(bench.artefacts, f"{job.finetuned_output}@step-3")


def test_base_models_have_no_start(tmp_path: Any) -> None:
    assert load_start(tmp_path, "qwen3.5-9b") is None
    assert output_name("qwen3.5-9b", "ft-202601010000-abcd") == "practice-qwen3.5-9b-ft-202601010000-abcd"
    again = output_name("practice-qwen3.5-9b-ft-202601010000-abcd@step-3", "ft-202601020000-ef01")
    assert again == "practice-qwen3.5-9b-ft-202601020000-ef01"


async def test_the_saved_state_is_what_was_learned(make_bench: Callable[..., Any], kit: Any) -> None:
    states = []
    for _ in range(2):
        bench = make_bench()
        job = await bench.run(request(bench, kit))
        states.append(orjson.loads((bench.artefacts / job.job_id / "checkpoints" / "step-8.json").read_bytes()))
    assert states[0] == states[1]
    first = states[0]["tables"]["first"]["always"]
    assert first["right_in_form"] > first["wrong"]
