import asyncio
import os
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.functions import harness
from agentic_rl_tui.core.functions.calls import CallStatus
from agentic_rl_tui.core.functions.harness import (
    ModelResource,
    RowResult,
    RowSource,
    Stage,
    TrialOptions,
    Verdict,
    roll_out,
    rolled_inputs,
    row_inputs,
    sweep,
    try_function,
)
from agentic_rl_tui.core.functions.harness_report import ModelCall
from agentic_rl_tui.core.functions.output import OutputLine
from agentic_rl_tui.core.models.errors import FunctionFailed, InputError
from agentic_rl_tui.core.models.functions import FunctionKind

ROW: dict[str, Any] = {
    "messages": [{"role": "user", "content": "2+2? ### ANSWER: <answer> ###"}],
    "rollout_extra": {"solution": "4"},
}
RESOURCE = ModelResource("toy", "http://127.0.0.1:9/v1", "sk-0123456789abcdef")

FILES = {
    "requirements.txt": "",
    "functions/lib/words.py": """\
        def last(messages):
            return str(messages[-1].get("content"))
        """,
    "functions/reward.py": """\
        import os, sys, time
        from pathlib import Path
        from dashscope.finetune.reinforcement import (
            AbstractRewardProcessor, Reward, RewardInput, RewardOutput, TaskStatus, reward_func, sub_reward_func,
        )
        from functions.lib.words import last

        def give(score, **metrics):
            return RewardOutput(reward=Reward(reward_score=score, reward_metrics=metrics))

        class Plain(AbstractRewardProcessor):
            def process(self, input: RewardInput) -> RewardOutput:
                said = last(input.agent_output.messages)
                print("scoring", said)
                print("to stderr", file=sys.stderr)
                if said == "crash":
                    self.deeper()
                if said == "sleep":
                    time.sleep(30)
                if said == "fail":
                    return RewardOutput(reward=Reward(reward_score=0.0), status=TaskStatus.FAILED, error="busy")
                if said == "dict":
                    return {"reward": {"reward_metrics": {"a": "x"}}}
                if said == "where":
                    files = [path for path in Path(".").rglob("*.*") if path.is_file() and path.suffix != ".pyc"]
                    return give(float(len(files)), env=float(os.environ.get("MINE", 0)))
                return give(1.0 if str(input.ground_truth) in said else 0.0, length=float(len(said)))

            def deeper(self):
                raise LookupError("no such thing")

        @reward_func("parts")
        class Parts(AbstractRewardProcessor):
            @sub_reward_func("right", sub_weight=0.75)
            def right(self, input):
                return give(1.0, exact=0.5)
            @sub_reward_func("broken", sub_weight=0.25)
            async def broken(self, input):
                raise ValueError("broken sub")
        """,
    "functions/group.py": """\
        from dashscope.finetune.reinforcement import (
            AbstractGroupRewardProcessor, GroupReward, GroupRewardInput, GroupRewardOutput, Reward,
        )
        class Ranks(AbstractGroupRewardProcessor):
            async def process(self, input: GroupRewardInput) -> GroupRewardOutput:
                sizes = [len(str(output.messages[-1]["content"])) for output in input.agent_outputs]
                return GroupRewardOutput(reward=GroupReward(rewards=[Reward(reward_score=float(n)) for n in sizes]))
        """,
    "functions/rollout.py": """\
        from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutInput, RolloutOutput
        class Echo(AbstractRolloutProcessor):
            async def process(self, input: RolloutInput) -> RolloutOutput:
                said = "x" * (1 + int(input.request_metadata.rollout_id[-1]))
                talk = [*input.messages, {"role": "assistant", "content": said}]
                return RolloutOutput(agent_output=AgentOutput(messages=talk, rollout_extra=input.rollout_extra))
        class Silent(AbstractRolloutProcessor):
            async def process(self, input: RolloutInput) -> RolloutOutput:
                raise RuntimeError("the model is away")
        """,
    "functions/bad.py": """\
        import functions.data.gone
        from dashscope.finetune.reinforcement import AbstractRewardProcessor
        class Bad(AbstractRewardProcessor):
            def process(self, input): ...
        """,
    "functions/data/gone.py": "",
    "data/train.jsonl": "{}",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ws"
    for name, text in FILES.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return path


def _leftovers(root: Path) -> list[Path]:
    return list((root.parent / "tmp").glob("agentic-rl-try-*"))


async def test_a_call_with_everything_about_it(root: Path) -> None:
    before = sorted(path for path in root.rglob("*"))
    live: list[OutputLine] = []
    report = await try_function(root, "functions.reward.Plain", RowSource(ROW, 3), on_output=live.append)
    assert (report.status, report.verdict, report.stage) == (CallStatus.OK, Verdict.SCORED, Stage.CALL)
    assert (report.score, report.metrics, report.row_index) == (1.0, {"length": 17.0}, 3)
    assert report.output is not None
    assert report.output["reward"]["reward_score"] == 1.0
    assert report.waterfall is not None
    assert report.waterfall.total == 1.0
    assert report.latency_s > 0
    assert {(line.stream, line.text) for line in report.lines} >= {
        ("stdout", "scoring ### ANSWER: 4 ###"),
        ("stderr", "to stderr"),
    }
    assert tuple(live) == report.lines
    assert "scoring" in report.printed
    assert report.warnings == ()
    assert sorted(path for path in root.rglob("*")) == before
    assert _leftovers(root) == []


async def test_it_runs_in_a_clean_copy_with_its_environment(root: Path) -> None:
    options = TrialOptions(env={"MINE": "7"}, weight=2.0)
    report = await try_function(root, "functions/reward.py:Plain", RowSource(ROW, answers=["where"]), options=options)
    assert report.metrics == {"env": 7.0}
    names = {path for path in FILES if "data/" not in path}
    assert report.score == len(names) + 1
    assert report.waterfall is not None
    assert report.waterfall.total == 2.0 * (len(names) + 1)


async def test_exceptions_show_the_users_frames_first(root: Path) -> None:
    report = await try_function(root, "functions.reward.Plain", RowSource(ROW, answers=["crash"]))
    assert (report.status, report.verdict) == (CallStatus.RAISED, Verdict.FAILED)
    assert report.error is not None
    assert (report.error.type, report.error.message) == ("LookupError", "no such thing")
    assert "deeper" in report.error.traceback
    assert "site-packages" not in report.error.traceback
    assert len(report.error.full_traceback) >= len(report.error.traceback)
    assert "scoring crash" in report.printed


async def test_failed_parts_are_counted_and_named(root: Path) -> None:
    options = TrialOptions(metric_weights={"right.exact": 1.0})
    report = await try_function(root, "functions.reward.Parts", RowSource(ROW), options=options)
    assert (report.score, report.verdict) == (0.75, Verdict.SCORED)
    assert [caution.rule for caution in report.warnings] == ["sub-failed"]
    assert report.waterfall is not None
    assert [(row.sub, row.metric, row.contribution) for row in report.waterfall.rows] == [
        ("broken", "", 0.0),
        ("right", "exact", 0.375),
        ("right", "", 0.375),
    ]


async def test_an_answer_that_does_not_fit_lists_all_its_problems(root: Path) -> None:
    report = await try_function(root, "functions.reward.Plain", RowSource(ROW, answers=["dict"]))
    assert report.status is CallStatus.INVALID_OUTPUT
    paths = [problem.path for problem in report.problems]
    assert "$.reward.reward_score" in paths
    assert "$.reward.reward_metrics.a" in paths


async def test_an_input_that_does_not_fit_starts_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "prepare_trial", None)
    report = await try_function(root, "functions.reward.Plain", {"agent_output": {"messages": "x"}})
    assert (report.stage, report.status) == (Stage.INPUT, CallStatus.INVALID_INPUT)
    assert [problem.path for problem in report.problems] == ["$.agent_output.messages"]
    with pytest.raises(InputError, match="has no class Plane; it has Plain, Parts"):
        await try_function(root, "functions.reward.Plane", {})


async def test_a_function_that_does_not_start_is_a_report(root: Path) -> None:
    report = await try_function(root, "functions.bad.Bad", RowSource(ROW))
    assert (report.stage, report.status) == (Stage.START, CallStatus.RAISED)
    assert report.error is not None
    assert "No module named 'functions.data'" in report.error.message
    assert "functions/bad.py" in report.error.traceback
    assert [problem.rule for problem in report.package_problems] == ["import-left-out"]
    assert [caution.rule for caution in report.warnings] == ["package"]
    assert _leftovers(root) == []


async def test_timeout_is_a_report(root: Path) -> None:
    options = TrialOptions(timeout_s=0.3)
    report = await try_function(root, "functions.reward.Plain", RowSource(ROW, answers=["sleep"]), options=options)
    assert (report.status, report.verdict) == (CallStatus.TIMEOUT, Verdict.FAILED)


async def test_group_from_rollouts_of_the_workspace(root: Path) -> None:
    source = RowSource(ROW, rollout="functions.rollout.Echo", rollouts=3, resource=RESOURCE)
    report = await try_function(root, "functions.group.Ranks", source)
    assert report.scores == (1.0, 2.0, 3.0)
    assert (report.score, len(report.waterfalls)) == (2.0, 3)


async def test_group_from_answers_and_made_up_ones(root: Path) -> None:
    given = await try_function(root, "functions.group.Ranks", RowSource(ROW, answers=["a", "bb"]))
    assert given.scores == (1.0, 2.0)
    made_up = await try_function(root, "functions.group.Ranks", RowSource(ROW, rollouts=3))
    assert made_up.scores == (17.0, 14.0, 0.0)


async def test_rollout_with_recorded_model_calls(root: Path) -> None:
    calls = [ModelCall("toy", 12, 3, 0.1)]
    report = await try_function(
        root,
        "functions.rollout.Echo",
        RowSource(ROW, resource=RESOURCE),
        recorder=lambda key: calls if key == RESOURCE.api_key else [],
    )
    assert report.model_calls == tuple(calls)
    assert RESOURCE.api_key not in repr(report)
    assert report.score is None
    with pytest.raises(InputError, match="no model was given"):
        await try_function(root, "functions.rollout.Echo", RowSource(ROW))


async def test_rollout_that_fails_below_a_reward(root: Path) -> None:
    source = RowSource(ROW, rollout="functions.rollout.Silent", resource=RESOURCE)
    with pytest.raises(FunctionFailed, match="the model is away"):
        await try_function(root, "functions.reward.Plain", source)


async def test_rewards_of_a_sweep_score_rollouts_of_the_workspace(root: Path) -> None:
    rows = [(index, ROW, RESOURCE) for index in range(3)]
    made = await roll_out(root, "functions.rollout.Echo", rows, rollouts=2)
    assert [(item.index, len(item.outputs)) for item in made] == [(0, 2), (1, 2), (2, 2)]
    report = await sweep(root, "functions.group.Ranks", rolled_inputs(FunctionKind.GROUP_REWARD, made))
    assert [row.score for row in report.rows] == [1.5, 1.5, 1.5]


async def test_a_row_whose_rollout_fails_is_left_out_of_the_sweep_and_told(root: Path) -> None:
    made = await roll_out(root, "functions.rollout.Silent", [(7, ROW, RESOURCE)])
    assert made[0].error is not None
    assert "the model is away" in made[0].error.message
    assert list(rolled_inputs(FunctionKind.REWARD, made)) == []


async def test_sweep_counts_and_tells_rows(root: Path) -> None:
    inputs = list(row_inputs(FunctionKind.REWARD, [(index, ROW) for index in range(9)]))
    inputs[4][1]["agent_output"]["messages"][-1]["content"] = "crash"
    inputs[5][1]["agent_output"]["messages"][-1]["content"] = "fail"
    inputs[7][1]["agent_output"]["messages"] = "no list"
    told: list[RowResult] = []
    options = TrialOptions(concurrency=2, size=2)
    report = await sweep(root, "functions.reward.Plain", inputs, options=options, on_row=told.append)
    assert sorted(row.index for row in told) == [row.index for row in report.rows] == list(range(9))
    assert report.verdicts == {
        Verdict.SCORED: 3,
        Verdict.ZERO_BY_JUDGEMENT: 3,
        Verdict.ZERO_BY_EXCEPTION: 0,
        Verdict.FAILED: 3,
    }
    assert report.scores is not None
    assert (report.scores.count, report.scores.mean) == (6, 0.5)
    assert report.rows[4].error == "LookupError: no such thing"
    assert report.rows[5].error == "status=failed: busy"
    assert "$.agent_output.messages" in report.rows[7].error
    assert _leftovers(root) == []


async def test_canceling_a_sweep_leaves_nothing(root: Path) -> None:
    rows = [(index, ROW) for index in range(50)]
    inputs = list(row_inputs(FunctionKind.REWARD, rows))
    inputs[2][1]["agent_output"]["messages"][-1]["content"] = "sleep"
    reached = asyncio.Event()
    pids: set[int] = set()

    def see(row: RowResult) -> None:
        if row.index == 1:
            reached.set()

    task = asyncio.ensure_future(sweep(root, "functions.reward.Plain", inputs, on_row=see))
    await asyncio.wait_for(reached.wait(), 30)
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if children.exists():
        pids = {int(pid) for pid in children.read_text().split()}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _leftovers(root) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


async def test_canceling_while_packaging_waits_for_the_thread(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow_write(plan: Any, destination: Path, *, progress: Any) -> Any:
        loop.call_soon_threadsafe(writing.set)
        while True:
            progress(0, 1)

    monkeypatch.setattr("agentic_rl_tui.core.functions.package.write", slow_write)
    task = asyncio.ensure_future(try_function(root, "functions.reward.Plain", RowSource(ROW)))
    await asyncio.wait_for(writing.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _leftovers(root) == []
