"""A job from its first line to its last."""

import json
from typing import Any

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine import END_MARKER, TrajectoryReader, read_report, read_steps, read_table


def small(bench: Any, kit: Any, **more: Any) -> Any:
    """A short job with validation: 3 steps of 8 x 4."""
    settings = {"rows": kit.arithmetic(24), "validation": kit.arithmetic(6, seed=2)} | more
    return bench.request(rollout=settings.pop("rollout", bench.agent()), rewards=[kit.strict], **settings)


async def test_a_good_reward_rises(bench: Any, kit: Any) -> None:
    request = bench.request(
        rollout=bench.agent(tools=True),
        rewards=[kit.strict],
        rows=kit.arithmetic(256),
        validation=kit.arithmetic(32, seed=2),
        batch_size=64,
        n_rollouts=8,
    )
    job = await bench.run(request)
    assert job.status is JobStatus.SUCCEEDED
    rewards = bench.metrics(job)
    assert len(rewards) == 4
    assert rewards[-1] - rewards[0] >= 0.3
    validation = bench.metrics(job, "validation/data/reward/mean@1")
    assert validation[-1] - validation[0] >= 0.3
    assert all(kl < 0.1 for kl in bench.metrics(job, "actor/ppo_kl"))


async def test_a_constant_reward_stays_flat(bench: Any, kit: Any) -> None:
    job = await bench.run(
        bench.request(
            rollout=bench.agent(tools=True), rewards=[lambda _: kit.scored(0.5)], rows=kit.arithmetic(64), n_epochs=3
        )
    )
    rewards = bench.metrics(job)
    assert len(rewards) == 24
    assert max(rewards) - min(rewards) <= 0.02
    assert max(bench.metrics(job, "actor/kl_loss")) < 1e-9
    assert set(bench.metrics(job, "trajectory/zero_variance_share")) == {1.0}
    assert "teach nothing" in bench.text(job)


async def test_the_log_reads_like_the_service(bench: Any, kit: Any) -> None:
    job = await bench.run(small(bench, kit))
    lines = bench.lines(job)
    assert lines[-1] == END_MARKER
    assert lines[0].split(" - ")[1:] == ["INFO", f"job {job.job_id} ({job.name}) starts on the local platform"]
    assert lines[0].startswith("20")
    assert lines[0][19] == ","
    assert "practice" in bench.text(job)
    assert "no language model is run or trained here" in bench.text(job)
    for key in (
        "critic/rewards/mean",
        "critic/rewards/std",
        "actor/ppo_kl",
        "actor/entropy",
        "actor/pg_clipfrac",
        "trace/reward_metrics/score-1/reward_score/avg",
        "response_length/mean",
        "timing/s/step",
        "trajectory/zero_variance_groups",
        "trajectory/failed_rollouts",
    ):
        assert len(bench.metrics(job, key)) == 3, key
    assert bench.metrics(job, "step") == [0, 1, 1, 2, 2, 3, 3]
    assert len(bench.metrics(job, "validation/data/reward/mean@1")) == 4
    assert bench.metrics(job, "actor/lr") == [2e-6, 1.33333e-6, 6.66667e-7]


async def test_progress_names_phase_step_and_rewards(bench: Any, kit: Any) -> None:
    job = await bench.run(small(bench, kit))
    phases = list(dict.fromkeys(progress.phase for progress in bench.jobs.progress))
    assert phases == ["validating", "starting functions", "evaluating", "training", "succeeded"]
    last = job.progress
    assert last is not None
    assert (last.step, last.total_steps) == (3, 3)
    assert list(last.rewards) == [round(value, 9) for value in last.rewards]
    assert [round(value, 5) for value in last.rewards] == [round(value, 5) for value in bench.metrics(job)]
    assert last.validation is not None


async def test_rollouts_receive_what_the_contract_promises(bench: Any, kit: Any) -> None:
    seen: list[dict[str, Any]] = []
    scored: list[dict[str, Any]] = []
    grouped: list[dict[str, Any]] = []
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> dict[str, Any]:
        seen.append(payload)
        return await ask(payload)

    def reward(payload: dict[str, Any]) -> dict[str, Any]:
        scored.append(payload)
        return kit.scored(1.0)

    def group(payload: dict[str, Any]) -> dict[str, Any]:
        grouped.append(payload)
        return {"reward": {"rewards": [{"reward_score": 0.5}] * len(payload["agent_outputs"])}, "status": "success"}

    row = kit.arithmetic(1)[0] | {"tools": [kit.calculator]}
    request = bench.request(
        rollout=rollout, rewards=[reward], group_rewards=[group], rows=[row], batch_size=1, n_rollouts=3
    )
    job = await bench.run(request)
    assert job.status is JobStatus.SUCCEEDED
    assert [payload["request_metadata"]["rollout_id"] for payload in seen] == [f"train-1-0-{k}" for k in range(3)]
    first = seen[0]
    assert first["func_type"] == "rollout"
    assert first["messages"] == row["messages"]
    assert first["rollout_extra"] == row["rollout_extra"]
    assert first["ground_truth"] == row["rollout_extra"]["solution"]
    assert first["tools"] == row["tools"]
    assert first["model_resource"]["base_url"] == "http://gateway.local/v1"
    assert first["request_metadata"] == {
        "job_id": job.job_id,
        "sample_id": "0",
        "rollout_id": "train-1-0-0",
        "attempt_id": "1",
    }
    assert len({payload["model_resource"]["api_key"] for payload in seen}) == 3
    assert scored[0]["func_type"] == "reward"
    assert scored[0]["agent_output"]["messages"][-1]["role"] == "assistant"
    assert scored[0]["ground_truth"] == row["rollout_extra"]["solution"]
    assert len(grouped) == 1
    assert len(grouped[0]["agent_outputs"]) == 3
    assert bench.gateway.open_sessions == 0


async def test_weights_of_components_are_normalised(bench: Any, kit: Any) -> None:
    request = bench.request(
        rollout=bench.agent(),
        rewards=[lambda _: kit.scored(1.0), lambda _: kit.scored(0.0)],
        group_rewards=[
            lambda payload: {"reward": {"rewards": [{"reward_score": 0.5} for _ in payload["agent_outputs"]]}}
        ],
        weights=[1, 2, 1],
        rows=kit.arithmetic(8),
    )
    job = await bench.run(request)
    assert bench.metrics(job) == [0.375]


async def test_a_reward_inside_the_rollout_is_enough(bench: Any, kit: Any) -> None:
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> dict[str, Any]:
        answer = await ask(payload)
        answer["agent_output"]["reward_score"] = 0.25
        return answer

    job = await bench.run(bench.request(rollout=rollout, rows=kit.arithmetic(8)))
    assert job.status is JobStatus.SUCCEEDED
    assert bench.metrics(job) == [0.25]


async def test_every_trajectory_is_kept_and_found(bench: Any, kit: Any) -> None:
    job = await bench.run(small(bench, kit, rollout=bench.agent(tools=True)))
    reader = TrajectoryReader(bench.artefacts / job.job_id)
    steps = reader.steps()
    assert [(step["step"], step["phase"], step["rollouts"]) for step in steps if step["phase"] == "train"] == [
        (1, "train", 32),
        (2, "train", 32),
        (3, "train", 32),
    ]
    assert [step["rollouts"] for step in steps if step["phase"] == "validation"] == [6] * 4
    samples = reader.samples(2)
    assert len(samples) == 8
    sample = samples[0]["sample"]
    group = reader.group(2, sample)
    assert [record["rollout"] for record in group] == [0, 1, 2, 3]
    assert [record["reward"] for record in group] == samples[0]["rewards"]
    one = group[3]
    assert one["messages"][-1]["role"] == "assistant"
    assert one["scores"][0]["name"] == "score-1"
    assert one["calls"][0]["prompt_tokens"] > 0
    assert one["strategies"]
    assert one["timings"].keys() == {"rollout_s", "reward_s"}
    assert reader.group(9, sample) == []


async def test_no_key_is_left_in_log_trajectories_or_report(bench: Any, kit: Any) -> None:
    keys: set[str] = set()
    ask = bench.agent()

    async def leaky(payload: dict[str, Any]) -> dict[str, Any]:
        key = payload["model_resource"]["api_key"]
        keys.add(key)
        answer = await ask(payload)
        answer["agent_output"]["messages"].append({"role": "assistant", "content": f"my key is {key}"})
        if payload["request_metadata"]["rollout_id"].endswith("-0"):
            raise RuntimeError(f"cannot use {key}")
        return answer

    job = await bench.run(small(bench, kit, rollout=leaky))
    folder = bench.artefacts / job.job_id
    written = bench.text(job) + "".join(
        path.read_text() for path in folder.iterdir() if path.suffix.startswith(".json")
    )
    assert keys
    assert not [key for key in keys if key in written]


async def test_the_report_tells_the_run(bench: Any, kit: Any) -> None:
    job = await bench.run(small(bench, kit))
    folder = bench.artefacts / job.job_id
    report = read_report(folder)
    assert report is not None
    assert report["status"] == "SUCCEEDED"
    assert report["is_partial"] is False
    assert report["policy"] == "practice"
    assert report["is_evaluation"] is False
    assert [entry["step"] for entry in report["reward"]["by_step"]] == [1, 2, 3]
    assert [entry["step"] for entry in report["validation"]] == [0, 1, 2, 3]
    agent, score = report["functions"]
    assert (agent["name"], agent["kind"], agent["calls"]) == ("agent", "rollout", 3 * 32 + 4 * 6)
    assert score["calls"] == agent["calls"]
    assert agent["p50_s"] <= agent["p95_s"] <= agent["max_s"]
    assert len(report["slowest"]) == 10
    assert 0 <= report["zero_variance_share"] <= 1
    assert [row["is_best"] for row in report["checkpoints"]] == [True]
    assert [values["step"] for values in read_steps(folder)] == [1, 2, 3]
    assert [values["step"] for values in read_steps(folder, first=2, limit=1)] == [2]
    assert read_table(folder)[0]["is_final"] is True
    assert job.finetuned_output == f"practice-qwen3.5-9b-{job.job_id}"
    assert json.loads((folder / "checkpoints" / "step-3.json").read_text())["policy"] == "practice"


async def test_rows_without_an_answer_still_run(bench: Any, kit: Any) -> None:
    rows = [{"messages": [{"role": "user", "content": "Say something nice about spring."}]}] * 8
    job = await bench.run(bench.request(rollout=bench.agent(), rewards=[lambda _: kit.scored(1.0)], rows=rows))
    assert job.status is JobStatus.SUCCEEDED


async def test_rollouts_that_never_call_the_model_are_told(bench: Any, kit: Any) -> None:
    def silent(payload: dict[str, Any]) -> dict[str, Any]:
        return kit.done([*payload["messages"], {"role": "assistant", "content": "4"}], payload)

    job = await bench.run(bench.request(rollout=silent, rewards=[kit.strict], rows=kit.arithmetic(16)))
    assert job.status is JobStatus.SUCCEEDED
    assert bench.metrics(job, "trajectory/no_model_call") == [32, 32]
    assert bench.text(job).count("no rollout called the model") == 1


async def test_validation_leaves_group_rewards_out(bench: Any, kit: Any) -> None:
    def group(payload: dict[str, Any]) -> dict[str, Any]:
        assert len(payload["agent_outputs"]) == 4
        return {"reward": {"rewards": [{"reward_score": 1.0}] * 4}, "status": "success"}

    job = await bench.run(
        bench.request(
            rollout=bench.agent(),
            rewards=[lambda _: kit.scored(0.0)],
            group_rewards=[group],
            rows=kit.arithmetic(8),
            validation=kit.arithmetic(2, seed=2),
        )
    )
    assert job.status is JobStatus.SUCCEEDED
    assert bench.metrics(job) == [0.5]
    assert bench.metrics(job, "validation/data/reward/mean@1") == [0.0, 0.0]
    assert "leaves the group rewards out" in bench.text(job)


async def test_group_rewards_alone_score_the_validation_too(bench: Any, kit: Any) -> None:
    job = await bench.run(
        bench.request(
            rollout=bench.agent(),
            group_rewards=[lambda p: {"reward": {"rewards": [{"reward_score": 1.0} for _ in p["agent_outputs"]]}}],
            rows=kit.arithmetic(8),
            validation=kit.arithmetic(2, seed=2),
        )
    )
    assert bench.metrics(job, "validation/data/reward/mean@1") == [1.0, 1.0]


async def test_users_own_metrics_are_averaged_and_summed(bench: Any, kit: Any) -> None:
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> Any:
        answer = await ask(payload)
        answer["agent_output"]["rollout_metrics"] = {"searches": 2, "odd": "no number"}
        return answer

    job = await bench.run(
        bench.request(rollout=rollout, rewards=[lambda _: kit.scored(1.0, words=3.0)], rows=kit.arithmetic(8))
    )
    assert bench.metrics(job, "trace/rollout_metrics/searches/avg") == [2.0]
    assert bench.metrics(job, "trace/rollout_metrics/searches/sum") == [64.0]
    assert bench.metrics(job, "trace/reward_metrics/score-1/words/avg") == [3.0]
    assert "odd" not in bench.text(job)
