"""Whatever is typed: a check answers, its places lie in the text, and its fixes only ever make things better."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.jobfile import (
    Diagnostic,
    JobDocument,
    apply_edits,
    apply_fix,
    check,
    complete,
    describe,
    fix_all,
    outline,
    switch_scenario,
)
from agentic_rl_tui.core.jobfile.edit import CannotEdit
from agentic_rl_tui.core.jobfile.render import block_lines
from agentic_rl_tui.core.jobfile.scenario import SCENARIOS

EXAMPLES = int(os.environ.get("AGENTIC_RL_EXAMPLES", "30"))
FIXED = "AGENTIC_RL_EXAMPLES" not in os.environ
"""The same examples in each run, unless more of them are asked for."""
Checked = Callable[..., JobDocument]

MARKS = st.text("ab: -#'\"[]{}&*!|>%@`,?\t\r\n\\训\ufeff\u2028\x00~<=012.e", max_size=60)


def look(document: JobDocument) -> None:
    lines = document.text.count("\n") + document.text.count("\r") + 1
    for item in document.diagnostics:
        assert 1 <= item.line <= lines
        assert 1 <= item.col < item.end_col
        assert 0 <= item.start <= item.end <= len(document.text)
        if item.fix:
            apply_fix(document.text, item.fix)


@given(MARKS)
@settings(max_examples=EXAMPLES * 5, deadline=None, derandomize=FIXED)
def test_any_text_is_answered(text: str) -> None:
    look(check_alone(text))
    outline(text)
    for line, col in ((1, 1), (2, 3), (9, 9)):
        complete(text, line, col)
        describe(text, line, col)


def check_alone(text: str) -> JobDocument:
    return check(text, path=Path("job.yaml"))


@given(st.data())
@settings(max_examples=EXAMPLES * 3, deadline=None, derandomize=FIXED)
def test_half_typed_files_are_answered(data: st.DataObject) -> None:
    text = SOUND_TEXT
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        text = text[:start] + data.draw(MARKS) + text[end:]
    look(check_alone(text))
    outline(text)
    line = data.draw(st.integers(1, 70))
    col = data.draw(st.integers(1, 40))
    for completion in complete(text, line, col):
        assert completion.start_col <= completion.end_col
    describe(text, line, col)


SOUND_TEXT = """\
name: calc-agent
model:
  name: qwen3.5-9b
functions:
  - type: rollout
    fcmodel:
      classpath: a.b.C
    runtime: {cpu: 2, memory_size: 4096, env: {A: 'b'}}
  # 奖励
  - type: reward
    weight: 1.0
    fcmodel:
      classpath: a/b.py:D
datasets:
  - type: training
    file_name: data/train.jsonl  # rows
training:
  type: reinforcement
  hyper_parameters:
    learning_rate: 2e-6
    batch_size: 64
    n_rollouts: 8
"""

NUMBER = st.one_of(
    st.sampled_from(
        [0, 1, 2, 4, 8, 16, 30, 60, 64, 100, 128, 512, 1000, 4096, 8192, 32768, -1, 0.5, 0.6, 70, 2e-6, 5e-5]
    ),
    st.sampled_from(["64", "1_000", "x", None, True, [1], {"a": 1}]),
)
HYPER = st.dictionaries(
    st.sampled_from(
        ["algorithm", "kl_loss_coef", "learning_rate", "lr_scheduler_type", "n_epochs", "batch_size", "n_rollouts",
         "ppo_mini_batch_size", "max_length", "max_prompt_length", "eval_steps", "save_steps", "save_strategy",
         "batch_sise", "lr", "x-new", "zzz", "n_gpus_training", "tensor_model_parallel_size",
         "pipeline_model_parallel_size", "inference_tensor_parallel_size", "expert_model_parallel_size",
         "opd_teacher_nnodes"]
    ),
    st.one_of(NUMBER, st.sampled_from(["gspo", "grpo", "dapo", "GSPO", "linear", "cosine", "steps", "epoch", "no"])),
    max_size=14,
)  # fmt: skip
RUNTIME = st.dictionaries(
    st.sampled_from(
        ["cpu", "memory_size", "disk_size", "concurrency", "capacity", "min_capacity", "max_capacity", "memory",
         "memory_scale_threshold", "env"]
    ),
    NUMBER,
    max_size=8,
)  # fmt: skip
MODEL = st.fixed_dictionaries(
    {},
    optional={
        "classpath": st.sampled_from(
            ["functions.rollout.agent.CalcRollout", "functions/reward/answer.py:AnswerReward", "a.b.C", "nonsense",
             "functions.reward.answer.AnswerRewards", "functions.reward.group:Ranking", None, 5]
        ),
        "zipdir": st.sampled_from(["./", "functions", "../up", None]),
        "requirements_path": st.sampled_from(["./requirements.txt", "no.txt"]),
        "extra_files": st.sampled_from(["a.txt", ["a.txt"], None]),
    },
)  # fmt: skip
FUNCTION = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["rollout", "reward", "group_reward", "Reward", "group-reward", "zzz", None]),
        "name": st.sampled_from(["f", "f", "g", "reward-x", 3, None]),
        "timeout": NUMBER,
        "weight": NUMBER,
        "reward_metric_weight": st.sampled_from([{"correct": 1}, {"corect": 1, "format": "2"}, {"other": 1}, None, 3]),
        "entity_id": st.sampled_from(["rw-1", None]),
        "fcmodel": st.one_of(MODEL, st.none()),
        "runtime": st.one_of(RUNTIME, st.none()),
    },
)
DATASET = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["training", "validation", "testing", "train", "zzz"]),
        "data_source_type": st.sampled_from(["file_id", "download_url", "oss_mount", "url"]),
        "file_name": st.sampled_from(["data/train.jsonl", "./data/valid.jsonl", "no.csv", None]),
        "file_id": st.sampled_from(["id", None]),
        "download_url": st.just("http://x/y"),
        "mount_storage": st.sampled_from([{"region": "r", "bucket": "b", "file_path": "f"}, {"bucket": "b"}, None]),
    },
)
MODELS = ["qwen3.5-9b", "qwen3.5-35b-a3b", "qwen3.5-397b-a17b", "Qwen3.5-9B", "other-7b", "qwen3.5-27b", ""]
JOBS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", 5, None, "yes"]),
        "model": st.one_of(st.fixed_dictionaries({"name": st.sampled_from(MODELS)}), st.sampled_from([*MODELS, None])),
        "teacher_model": st.sampled_from([*MODELS, None]),
        "functions": st.one_of(st.lists(FUNCTION, max_size=4), st.none()),
        "datasets": st.one_of(st.lists(DATASET, max_size=3), st.none()),
        "training": st.one_of(
            st.fixed_dictionaries(
                {},
                optional={
                    "type": st.sampled_from(["reinforcement", "pg_opd", "pg-opd", "rl", None]),
                    "hyper_parameters": st.one_of(HYPER, st.none()),
                    "resources": st.sampled_from([{"mtu_capacity": 8, "charge_type": "mtu_postpaid"}, None, {}]),
                    "typ": st.just("x"),
                },
            ),
            st.none(),
        ),
        "functons": st.just([]),
        "x-own": st.just(1),
    },
)


@st.composite
def job_texts(draw: Any) -> str:
    job = draw(JOBS)
    text = "\n".join(block_lines(job, 0)) + "\n" if job else "{}\n"
    if draw(st.booleans()):
        text = text.replace("2.0e-6", "2e-6")
    return text


def counts(document: JobDocument) -> Counter[str]:
    return Counter(item.rule for item in document.diagnostics)


def improves(run: Checked, before: JobDocument, problem: Diagnostic) -> None:
    assert problem.fix is not None
    fixed = apply_fix(before.text, problem.fix)
    after = run(fixed)
    old, new = counts(before), counts(after)
    assert new[problem.rule] < old[problem.rule], (before.text, fixed, str(problem))
    added = new - old
    assert not added, (before.text, fixed, str(problem), added)


@given(text=job_texts())
@settings(
    max_examples=EXAMPLES * 4,
    deadline=None,
    derandomize=FIXED,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_each_fix_removes_its_problem_and_adds_none(checked: Checked, text: str) -> None:
    document = checked(text)
    look(document)
    for problem in document.diagnostics:
        if problem.fix is not None:
            improves(checked, document, problem)


@given(text=job_texts())
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=FIXED, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_fixing_all_leaves_no_safe_fix_and_no_more_problems(checked: Checked, text: str) -> None:
    before = checked(text)
    fixed = fix_all(before)
    after = checked(fixed)
    assert [str(item) for item in after.diagnostics if item.fix and item.fix.is_safe] == []
    assert not counts(after) - counts(before)
    assert fix_all(after) == fixed


@given(text=job_texts(), target=st.sampled_from(sorted(SCENARIOS)))
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=FIXED, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_switching_reaches_the_scenario(checked: Checked, facts: Any, text: str, target: str) -> None:
    text = fix_all(checked(text))
    try:
        switched = apply_edits(text, switch_scenario(text, target, teacher="qwen3.5-397b-a17b", facts=facts))
    except CannotEdit:
        return
    document = checked(switched)
    assert document.scenario == target
