"""The body of a job: each entry from its own component, nothing invented, nothing lost."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.models.functions import FunctionKind, Runtime
from agentic_rl_tui.core.sdk import (
    AgenticRLFunctionComponent,
    FunctionComponentModel,
    FunctionComponentRuntime,
    FunctionType,
    GroupRewardFunctionComponent,
    RewardFunctionComponent,
    RolloutFunctionComponent,
    TrainingDataset,
    ValidationDataset,
)
from agentic_rl_tui.core.sdk.body import ReadyDataset, ReadyFunction, compose, numbers
from agentic_rl_tui.core.sdk.components import Dataset, DataSourceType
from agentic_rl_tui.core.sdk.plan import JobPlan


def code(classpath: str = "a.b.C") -> FunctionComponentModel:
    return FunctionComponentModel(classpath=classpath)


def body(functions: list[ReadyFunction], **plan):
    wanted = JobPlan(Path(), model="m", functions=tuple(part.component for part in functions), **plan)
    return compose(wanted, functions, [], job_name="j-1")


def test_runtime_stays_with_its_own_function():
    old = RewardFunctionComponent(entity_id="rw-OLD", name="old")
    new = RewardFunctionComponent(
        name="new", weight=0.5, timeout=7, fcmodel=code(), runtime=Runtime(cpu=9, env={"A": "1"})
    )
    made = body([ReadyFunction(old, "rw-OLD"), ReadyFunction(new, "rw-NEW", "layer-1")])
    assert made["rewards"] == [
        {"reward_id": "rw-OLD", "name": "old"},
        {
            "reward_id": "rw-NEW",
            "name": "new",
            "weight": 0.5,
            "timeout": 7,
            "layer_code": "layer-1",
            "cpu": 9.0,
            "env": {"A": "1"},
        },
    ]


def test_group_rewards_come_last_and_never_carry_metric_weights():
    weights = {"a": 0.3}
    group = GroupRewardFunctionComponent(name="g", fcmodel=code(), reward_metric_weight=weights)
    reward = RewardFunctionComponent(name="r", fcmodel=code(), reward_metric_weight=weights)
    made = body([ReadyFunction(group, "grw-1"), ReadyFunction(reward, "rw-1")])
    assert made["rewards"] == [
        {"reward_id": "rw-1", "name": "r", "reward_metric_weight": {"a": 0.3}},
        {"reward_id": "grw-1", "name": "g"},
    ]


def test_metric_weights_are_sent_only_where_they_were_given():
    reward = RewardFunctionComponent(name="r", fcmodel=code())
    assert "reward_metric_weight" not in body([ReadyFunction(reward, "rw-1")])["rewards"][0]


def test_zero_false_and_empty_values_of_the_user_are_sent():
    reward = RewardFunctionComponent(
        name="r", weight=0.0, fcmodel=code(), runtime=Runtime(min_capacity=0, enable_log=False, env={})
    )
    made = body(
        [ReadyFunction(reward, "rw-1")],
        hyper_parameters={"a": "", "b": [], "c": {}, "d": 0, "e": False, "f": {"g": []}},
    )
    assert made["rewards"][0] == {
        "reward_id": "rw-1",
        "name": "r",
        "weight": 0.0,
        "min_capacity": 0,
        "enable_log": False,
        "env": {},
    }
    assert made["hyper_parameters"] == {"a": "", "b": [], "c": {}, "d": 0, "e": False, "f": {"g": []}}


def test_environment_booleans_are_text_and_other_values_stay():
    rollout = RolloutFunctionComponent(
        name="r", fcmodel=code(), runtime=Runtime(env={"ENABLE_TRAJECTORY": True, "B": False, "N": 3, "E": ""})
    )
    made = body([ReadyFunction(rollout, "ro-1")])
    assert made["rollout"]["env"] == {"ENABLE_TRAJECTORY": "true", "B": "false", "N": 3, "E": ""}


def test_unnamed_functions_get_the_same_name_every_time():
    parts = [ReadyFunction(RewardFunctionComponent(fcmodel=code(path)), f"rw-{path}") for path in ("a.b.C", "a.b.D")]
    first, second = body(parts)["rewards"], body(parts)["rewards"]
    assert [entry["name"] for entry in first] == [entry["name"] for entry in second]
    assert len({entry["name"] for entry in first}) == 2
    assert first[0]["name"].startswith("reward-")


@pytest.mark.parametrize(
    ("teacher", "type_", "expected"),
    [(None, "reinforcement", "reinforcement"), ("big", "reinforcement", "pg_opd"), ("big", "pg_opd", "pg_opd")],
)
def test_teacher_makes_it_a_distillation(teacher, type_, expected):
    made = body([], teacher_model=teacher, type=type_)
    assert made["training_type"] == expected
    assert made.get("teacher_model") == teacher
    assert not made.keys() & {"rollout", "rewards"}


def test_data_sets_of_every_source():
    data = [
        ReadyDataset(TrainingDataset(file_name="./a.jsonl"), "f-1"),
        ReadyDataset(Dataset(type="testing", file_id="f-2"), "f-2"),
        ReadyDataset(TrainingDataset(data_source_type=DataSourceType.OSS_MOUNT, mount_storage={"region": "r"})),
        ReadyDataset(ValidationDataset(data_source_type=DataSourceType.DOWNLOAD_URL, download_url="http://x/y")),
    ]
    made = compose(JobPlan(Path(), model="m"), [], data, job_name="j")
    assert made["training_datasets"] == [
        {"type": "training", "data_source_type": "file_id", "file_name": "./a.jsonl", "file_id": "f-1"},
        {"type": "training", "data_source_type": "oss_mount", "mount_storage": {"region": "r"}},
    ]
    assert made["validation_datasets"] == [
        {"type": "validation", "data_source_type": "download_url", "download_url": "http://x/y"}
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2e-6", 2e-6),
        ("1.6e-5", 1.6e-5),
        ("128", 128),
        (" -1 ", -1),
        (".5", 0.5),
        ("gspo", "gspo"),
        ("0123", 123.0),
        ("1_000", "1_000"),
        ("", ""),
        ("1e999", "1e999"),
        ("nan", "nan"),
        ("true", "true"),
        ("MTU4", "MTU4"),
    ],
)
def test_numbers_spelled_as_text_are_sent_as_numbers(text, number):
    assert numbers({"x": [text]}) == {"x": [number]}


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_no_text_is_left_as_it_is(value):
    assert numbers(value) == value


def test_components_as_the_guide_writes_them():
    runtime = {"cpu": 2, "memory_size": 4, "disk_size": 20960, "concurrency": 2, "env": {}, "capacity": 5}
    component = AgenticRLFunctionComponent(
        type=FunctionType.REWARD,
        name="reward-1",
        weight=1.0,
        fcmodel=FunctionComponentModel(zipdir="./", classpath="functions/reward/reward.py:DemoRewardProcessor"),
        runtime=FunctionComponentRuntime(**runtime),
    )
    assert component.fcmodel.target().dotted == "functions.reward.reward.DemoRewardProcessor"
    assert RolloutFunctionComponent(type=FunctionType.ROLLOUT).type is FunctionKind.ROLLOUT


@pytest.mark.parametrize(
    "make",
    [
        lambda: AgenticRLFunctionComponent(fcmodel=code()),
        lambda: RewardFunctionComponent(type=FunctionType.ROLLOUT),
        lambda: RewardFunctionComponent(timeout=-5),
        lambda: RewardFunctionComponent(wieght=1.0),
        lambda: FunctionComponentRuntime(cpus=2),
        lambda: TrainingDataset(type="validation"),
    ],
)
def test_mistakes_in_code_are_refused(make):
    with pytest.raises(ValueError, match="validation error"):
        make()


def test_function_without_a_class_is_named():
    with pytest.raises(errors.InputError, match="classpath or an entity_id"):
        FunctionComponentModel().target()
    with pytest.raises(errors.InputError, match="names a file but no class"):
        FunctionComponentModel(classpath="functions/a.py").target()
    assert FunctionComponentModel(filepath="a/b.py", classname="C").target().colon == "a/b.py:C"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({}, ["no model", "no training data set", "needs a rollout", "at least one reward"]),
        ({"type": "pg_opd", "model": "m"}, ["pg_opd needs a teacher_model"]),
        (
            {"functions": (RolloutFunctionComponent(name="a"), RolloutFunctionComponent(name="a"))},
            ["2 rollout functions", "two functions are called 'a'"],
        ),
        ({"datasets": (TrainingDataset(),)}, ["needs a file_name or a file_id"]),
        ({"datasets": (TrainingDataset(data_source_type=DataSourceType.DOWNLOAD_URL),)}, ["needs a download_url"]),
        ({"datasets": (TrainingDataset(data_source_type=DataSourceType.OSS_MOUNT),)}, ["needs a mount_storage"]),
    ],
)
def test_everything_wrong_with_a_plan_is_named_at_once(plan, words):
    with pytest.raises(errors.ConfigError) as caught:
        JobPlan(Path(), **plan).check()
    for word in words:
        assert word in caught.value.message
    assert "init()" in caught.value.advice


def test_distillation_needs_no_function():
    JobPlan(Path(), model="m", teacher_model="t", datasets=(TrainingDataset(file_id="f"),)).check()
