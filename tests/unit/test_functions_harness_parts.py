import json
import math
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus, SubResult
from agentic_rl_tui.core.functions.harness_answer import report_of
from agentic_rl_tui.core.functions.harness_inputs import (
    ModelResource,
    agent_output,
    check_input,
    group_input,
    json_path,
    load_input,
    masked,
    read_row,
    read_rows,
    reward_input,
    rollout_input,
    row_inputs,
    truth_of,
)
from agentic_rl_tui.core.functions.harness_report import (
    Distribution,
    RowResult,
    Stage,
    SweepReport,
    TestReport,
    Verdict,
)
from agentic_rl_tui.core.functions.harness_trial import workspace_python
from agentic_rl_tui.core.functions.harness_waterfall import Component, Layer, waterfall
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

ROW = {
    "messages": [{"role": "user", "content": "2+2? In the form ### ANSWER: <answer> ###."}],
    "rollout_extra": {"solution": "4"},
}
RESOURCE = ModelResource("qwen", "http://127.0.0.1:1/v1", "sk-0123456789abcdef")
CLASS = ClassPath.parse("functions.reward.Mine")


def _component(random: Random, number: int) -> Component:
    def numbers(names: str) -> dict[str, float]:
        return {name: random.uniform(-10, 10) for name in random.sample(names.split(), random.randint(0, 2))}

    failed = CallError("ValueError", "x")
    subs = [
        SubResult(
            name,
            random.uniform(-3, 3),
            random.uniform(-3, 3),
            "success",
            numbers("a b c"),
            failed if random.random() < 0.2 else None,
        )
        for name in random.sample(["s1", "s2", "s3"], random.randint(0, 3))
    ]
    weights = numbers("a b c s1.a s2.b s1 s3")
    score, weight = random.uniform(-5, 5), random.choice([0.0, 1.0, random.uniform(-2, 2)])
    return Component(f"component-{number}", score, weight, subs, numbers("a b c"), weights)


def _is_split(component: Component, sub: SubResult) -> bool:
    weights = component.metric_weights
    return any(name in weights or f"{sub.name}.{name}" in weights for name in sub.metrics)


@pytest.mark.parametrize("normalize", [False, True])
def test_rows_sum_to_the_total_in_a_thousand_trees(normalize: bool) -> None:
    for seed in range(1000):
        random = Random(seed)
        components = [_component(random, number) for number in range(random.randint(0, 4))]
        fall = waterfall(components, normalize=normalize)
        size = sum(abs(component.weight) for component in components) if normalize else 1.0
        expected = 0.0
        for component in components:
            own = component.score
            for sub in component.subs:
                if sub.error is None and not _is_split(component, sub):
                    own += sub.score * sub.weight * (component.metric_weights.get(sub.name, 1.0) - 1.0)
            expected += own * component.weight / (size or 1.0)
        assert abs(fall.total - expected) <= 1e-9, seed
        assert abs(fall.total - math.fsum(row.contribution for row in fall.rows)) <= 1e-9
        for row in fall.rows:
            product = row.value * row.metric_weight * row.sub_weight * row.component_weight
            assert math.isclose(row.contribution, product, abs_tol=1e-12)


def test_tiny_weights_normalize() -> None:
    fall = waterfall([Component("a", 0.5, 0.0), Component("b", 1.0, 2e-313)], normalize=True)
    assert fall.total == 1.0


def test_waterfall_of_a_decorated_reward() -> None:
    subs = (
        SubResult("right", 0.7, 1.0, "success", {"exact": 0.5, "loose": 1.0}),
        SubResult("style", 0.3, 0.5, "success"),
        SubResult("broken", 2.0, 0.9, "failed", error=CallError("ValueError", "no")),
    )
    fall = waterfall([Component("R", 1.0, 2.0, subs, {}, {"right.exact": 0.6, "loose": 0.7, "style": 1.0})])
    assert [
        (row.layer, row.sub, row.metric, round(row.value, 9), round(row.contribution, 9), row.note) for row in fall.rows
    ] == [
        (Layer.METRIC, "right", "exact", 0.5, 0.42, ""),
        (Layer.METRIC, "right", "loose", 1.0, 0.98, ""),
        (Layer.SUB, "style", "", 0.5, 0.3, ""),
        (Layer.SUB, "broken", "", 0.0, 0.0, "0 by exception"),
        (Layer.REST, "", "", 0.15, 0.3, "the aggregate's own arithmetic"),
    ]
    assert math.isclose(fall.total, 2.0)


def test_rest_within_a_sub_reward_and_current_weights_change_nothing() -> None:
    sub = SubResult("a", 0.5, 0.9, "success", {"m": 0.4})
    plain = waterfall([Component("R", 0.45, subs=[sub])])
    split = waterfall([Component("R", 0.45, subs=[sub], metric_weights={"m": 1.0})])
    assert [row.layer for row in plain.rows] == [Layer.SUB]
    assert [row.layer for row in split.rows] == [Layer.METRIC, Layer.REST]
    assert math.isclose(plain.total, split.total)
    assert waterfall([]).total == 0.0


def test_input_builders_fit_the_models() -> None:
    payload = rollout_input(ROW, RESOURCE, row_index=7, rollout=2, temperature=0.5)
    assert check_input(FunctionKind.ROLLOUT, payload) == ()
    assert payload["ground_truth"] == "4"
    assert payload["sampling_params"]["temperature"] == 0.5
    assert payload["request_metadata"]["rollout_id"] == "row-7-rollout-2"
    output = agent_output(ROW)
    assert output["messages"][-1] == {"role": "assistant", "content": "### ANSWER: 4 ###"}
    assert output["rollout_extra"] == {"solution": "4"}
    reward = reward_input(ROW, agent_output(ROW, "five"))
    assert check_input(FunctionKind.REWARD, reward) == ()
    assert reward["agent_output"]["messages"][-1]["content"] == "five"
    assert check_input(FunctionKind.GROUP_REWARD, group_input(ROW, [output, output])) == ()
    assert len(ROW["messages"]) == 1


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Put it in <answer></answer> tags.", "<answer>4</answer>"),
        ("Use \\boxed{}.", "\\boxed{4}"),
        ("End with ANSWER: <your answer>", "ANSWER: 4"),
        ("What is it?", "4"),
    ],
)
def test_the_right_answer_takes_the_form_of_the_prompt(prompt: str, answer: str) -> None:
    row = {"messages": [{"role": "user", "content": prompt}], "ground_truth": 4}
    assert agent_output(row)["messages"][-1]["content"] == answer


def test_messages_that_end_with_the_assistant_are_kept() -> None:
    row = {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "done"}]}
    assert agent_output(row)["messages"] == row["messages"]
    assert truth_of(row) is None
    assert truth_of({"ground_truth": 0, "rollout_extra": {"solution": 1}}) == 0


def test_sweeps_get_answers_of_different_worth() -> None:
    rows = [(index, ROW) for index in range(3)]
    said = [payload["agent_output"]["messages"][-1]["content"] for _, payload in row_inputs(FunctionKind.REWARD, rows)]
    assert said == ["### ANSWER: 4 ###", "I do not know.", ""]
    [(index, group)] = row_inputs(FunctionKind.GROUP_REWARD, [(5, ROW)], rollouts=5)
    assert (index, len(group["agent_outputs"])) == (5, 5)
    [(_, rollout)] = row_inputs(FunctionKind.ROLLOUT, [(5, ROW)], resource=RESOURCE)
    assert check_input(FunctionKind.ROLLOUT, rollout) == ()
    with pytest.raises(InputError, match="no model was given"):
        list(row_inputs(FunctionKind.ROLLOUT, rows))


def test_all_problems_of_an_input_with_their_paths() -> None:
    payload = {
        "func_type": "reward",
        "agent_outputs": [{"messages": "hi"}, {"rollout_metrics": {"a b": None}}, 3],
        "request_metadata": {"job_id": "1"},
    }
    problems = check_input(FunctionKind.GROUP_REWARD, payload)
    assert [problem.path for problem in problems] == [
        "$.agent_outputs[0].messages",
        '$.agent_outputs[1].rollout_metrics["a b"]',
        "$.agent_outputs[2]",
        "$.request_metadata.sample_id",
        "$.request_metadata.rollout_id",
        "$.request_metadata.attempt_id",
        "$.func_type",
    ]
    assert str(problems[-1]) == "$.func_type: is reward, but the function is a group_reward"
    assert [str(problem) for problem in check_input(FunctionKind.REWARD, [])] == [
        "$: must be a JSON object, not an array"
    ]
    assert json_path(["a", 0, "b-c"]) == '$.a[0]["b-c"]'


def test_resource_files_fit(shared: Path) -> None:
    for name, kind in (
        ("rollout_input", FunctionKind.ROLLOUT),
        ("reward_input", FunctionKind.REWARD),
        ("reward_decorator_input", FunctionKind.REWARD),
        ("group_reward_input", FunctionKind.GROUP_REWARD),
    ):
        assert check_input(kind, load_input(shared / "data" / f"{name}.json")) == ()


def test_inputs_from_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "in.json"
    file.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert load_input({"a": 1}) == load_input('{"a": 1}') == load_input(str(file)) == load_input(file) == {"a": 1}
    cases = {
        "{bad": r"the input is no JSON: .* in line 1, column 2",
        "[1]": "the input holds an array, not a JSON object",
        str(tmp_path / "absent.json"): "No such file",
        "a\0b": "cannot be read",
        "x" * 5000: "cannot be read",
    }
    for source, message in cases.items():
        with pytest.raises(InputError, match=message):
            load_input(source)


def test_rows_of_a_data_file(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text('{"k": 0}\n\n{"k": 1}\n{"k": 2}\n{bad\n')
    assert read_row(file, 1) == {"k": 1}
    assert list(read_rows(file, start=1, limit=2)) == [(1, {"k": 1}), (2, {"k": 2})]
    with pytest.raises(InputError, match=r"d\.jsonl:5 is no JSON"):
        read_row(file, 3)
    for index in (9, -1):
        with pytest.raises(InputError, match=r"has no row|is no JSON"):
            read_row(file, index)
    with pytest.raises(InputError, match="cannot be read"):
        read_row(tmp_path / "absent.jsonl", 0)


def test_keys_are_masked_in_reports() -> None:
    payload = rollout_input(ROW, RESOURCE)
    assert RESOURCE.api_key not in json.dumps(masked(payload)) + repr(RESOURCE)
    assert payload["model_resource"]["api_key"] == RESOURCE.api_key


def _report(
    result: CallResult, kind: FunctionKind = FunctionKind.REWARD, payload: dict[str, object] | None = None
) -> TestReport:
    base = TestReport(CLASS, kind, Stage.CALL, result.status, {})
    return report_of(base, result, 1.0, {}, timeout_s=10.0, payload=payload or {})


def _scored(score: float, *subs: SubResult) -> CallResult:
    output = {"reward": {"reward_score": score, "reward_metrics": None}, "status": "success"}
    return CallResult(CallStatus.OK, output, latency_s=0.1, sub_results=subs)


def test_the_workspaces_own_interpreter_is_found(tmp_path: Path) -> None:
    assert workspace_python(tmp_path) is None
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    assert workspace_python(tmp_path) == tmp_path / ".venv" / "bin" / "python"


def test_zeros_are_told_apart() -> None:
    error = CallError("KeyError", "'x'")
    good, bad = SubResult("a", 1.0, 0.0, "success"), SubResult("b", 1.0, 0.0, "failed", error=error)
    failed = {"reward": {"reward_score": 0.0}, "status": "failed", "error": "busy", "error_code": "429"}
    cases = [
        (_scored(0.5, good), Verdict.SCORED),
        (_scored(0.0, good), Verdict.ZERO_BY_JUDGEMENT),
        (_scored(0.0, good, bad), Verdict.ZERO_BY_EXCEPTION),
        (CallResult(CallStatus.FAILED, failed), Verdict.FAILED),
        (CallResult(CallStatus.RAISED, error=error), Verdict.FAILED),
    ]
    assert [_report(result).verdict for result, _ in cases] == [verdict for _, verdict in cases]
    told = _report(cases[3][0])
    assert told.error == CallError("status=failed (429)", "busy")
    assert told.waterfalls == ()
    assert [caution.message for caution in _report(cases[2][0]).warnings] == [
        "sub-reward b failed and counted as 0: KeyError: 'x'"
    ]


def test_problems_of_an_answer_have_places() -> None:
    message = (
        "process returned dict, which is no RewardOutput; reward.reward_score: Field required; "
        "reward.rewards.1.reward_score: a boolean is no score; return 1.0 or 0.0; the whole: bad"
    )
    report = _report(CallResult(CallStatus.INVALID_OUTPUT, error=CallError("InvalidAnswer", message)))
    assert [str(problem) for problem in report.problems] == [
        "$: process returned dict, which is no RewardOutput",
        "$.reward.reward_score: Field required",
        "$.reward.rewards[1].reward_score: a boolean is no score; return 1.0 or 0.0",
        "$: bad",
    ]


def test_cautions_about_answers() -> None:
    group = {"reward": {"rewards": [{"reward_score": 0.5}, {"reward_score": 0.5}]}, "status": "success"}
    report = _report(CallResult(CallStatus.OK, group, latency_s=9.0), FunctionKind.GROUP_REWARD)
    assert (report.score, report.scores, len(report.waterfalls)) == (0.5, (0.5, 0.5), 2)
    assert [caution.rule for caution in report.warnings] == ["near-timeout", "group-constant"]
    bare = CallResult(CallStatus.OK, {"agent_output": None, "status": "success"})
    assert [caution.rule for caution in _report(bare, FunctionKind.ROLLOUT).warnings] == ["no-agent-output"]
    output = {"messages": [{"role": "user", "content": "?"}], "rollout_metrics": {"turns": 1.0}, "reward_score": None}
    rolled = _report(
        CallResult(CallStatus.OK, {"agent_output": output}), FunctionKind.ROLLOUT, {"rollout_extra": {"solution": "4"}}
    )
    assert [caution.rule for caution in rolled.warnings] == ["extra-dropped", "no-assistant"]
    assert (rolled.score, rolled.metrics, rolled.verdict) == (None, {"turns": 1.0}, Verdict.SCORED)


def _row(
    index: int,
    verdict: Verdict = Verdict.SCORED,
    score: float | None = 1.0,
    latency_s: float = 0.1,
    error: str = "",
) -> RowResult:
    status = CallStatus.RAISED if verdict is Verdict.FAILED else CallStatus.OK
    failed_subs = ("s",) if verdict is Verdict.ZERO_BY_EXCEPTION else ()
    return RowResult(index, verdict, status, score, latency_s, error, failed_subs)


def test_sweep_summary() -> None:
    rows = [
        _row(2, score=0.25, latency_s=0.9),
        _row(0, score=1.0),
        _row(1, Verdict.ZERO_BY_JUDGEMENT, 0.0),
        _row(3, Verdict.ZERO_BY_EXCEPTION, 0.0),
        _row(4, Verdict.FAILED, None, 0.5, "ValueError: a"),
        _row(5, Verdict.FAILED, None, 0.0, "ValueError: a"),
        _row(6, Verdict.FAILED, None, 0.2, "KeyError: b"),
    ]
    report = SweepReport.of(CLASS, FunctionKind.REWARD, rows, timeout_s=1.0)
    assert [row.index for row in report.rows] == list(range(7))
    assert list(report.verdicts.values()) == [2, 1, 1, 3]
    assert report.scores is not None
    assert (report.scores.count, report.scores.minimum, report.scores.p50, report.scores.maximum) == (4, 0.0, 0.0, 1.0)
    assert report.scores.mean == 0.3125
    assert sum(count for *_, count in report.scores.histogram) == 4
    assert [row.index for row in report.slowest[:2]] == [2, 4]
    assert report.errors == (("ValueError: a", 2, 4), ("KeyError: b", 1, 6))
    assert [caution.rule for caution in report.warnings] == [
        "near-timeout",
        "zero-by-exception",
        "sub-failed",
        "rows-failed",
    ]


def test_constant_scores_are_said() -> None:
    report = SweepReport.of(CLASS, FunctionKind.REWARD, [_row(index) for index in range(5)], timeout_s=None)
    assert [caution.rule for caution in report.warnings] == ["score-constant"]
    assert report.scores is not None
    assert report.scores.histogram == ((1.0, 1.0, 5),)
    empty = SweepReport.of(CLASS, FunctionKind.REWARD, [], timeout_s=None)
    assert (empty.scores, empty.warnings) == (None, ())


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300), min_size=1))
def test_distributions_hold_every_value(values: list[float]) -> None:
    found = Distribution.of(values)
    assert found is not None
    assert sum(count for *_, count in found.histogram) == len(values) == found.count
    assert found.minimum <= found.mean <= found.maximum
    assert found.minimum <= found.p50 <= found.p95 <= found.maximum
