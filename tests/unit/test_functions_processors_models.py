"""Defaults, conversions and unknown keys of the data models."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from agentic_rl_tui.core.functions import processors as api
from agentic_rl_tui.core.functions.processors.models import BooleanScore

RESOURCE = {"model_name": "m", "base_url": "http://127.0.0.1/v1", "api_key": "sk-secret"}
METADATA = {"job_id": "j", "sample_id": "s", "rollout_id": "r", "attempt_id": "a"}


def test_defaults() -> None:
    rollout = api.RolloutInput(messages=[], model_resource=RESOURCE)
    assert rollout.model_dump(exclude={"model_resource"}) == {
        "func_type": api.FunctionType.ROLLOUT,
        "messages": [],
        "tools": None,
        "ground_truth": None,
        "rollout_extra": None,
        "sampling_params": None,
        "request_metadata": None,
    }
    assert api.AgentOutput().model_dump() == {
        "messages": None,
        "rollout_extra": None,
        "rollout_metrics": {},
        "reward_score": None,
    }
    assert api.RolloutOutput().model_dump() == {
        "agent_output": None,
        "status": api.TaskStatus.SUCCESS,
        "error": None,
        "error_code": None,
    }
    reward = api.RewardOutput(reward={"reward_score": 1})
    assert reward.model_dump() == {
        "reward": {"reward_score": 1.0, "reward_metrics": None},
        "status": api.TaskStatus.SUCCESS,
        "error": None,
        "error_code": None,
    }
    assert "error_code" not in api.GroupRewardOutput(reward={"rewards": []}).model_dump()
    task = api.Task(prompt="p")
    assert task.rollout_id.startswith("ro-")
    assert len(task.rollout_id) == 15
    resource = api.Resource(**RESOURCE)
    assert (resource.protocol, resource.max_tokens, resource.max_turns) == (api.ModelProtocol.OPENAI, 2048, 25)
    assert (resource.timeout, resource.sampling_params, resource.system_prompt) == (60.0, {}, None)


@pytest.mark.parametrize(
    ("model", "needed", "kept"),
    [
        (api.BaseDataModel, {"func_type": "reward"}, True),
        (api.RolloutInput, {"messages": [], "model_resource": RESOURCE}, True),
        (api.RewardInput, {"agent_output": {}}, True),
        (api.GroupRewardInput, {"agent_outputs": []}, True),
        (api.RolloutOutput, {}, True),
        (api.RewardOutput, {"reward": {"reward_score": 0}}, True),
        (api.GroupRewardOutput, {"reward": {"rewards": []}}, True),
        (api.AgentOutput, {}, False),
        (api.ModelResource, RESOURCE, False),
        (api.RequestMetadata, METADATA, False),
        (api.Reward, {"reward_score": 0}, False),
        (api.GroupReward, {"rewards": []}, False),
        (api.Task, {"prompt": "p"}, False),
        (api.Resource, RESOURCE, False),
    ],
)
def test_unknown_keys(model: type[BaseModel], needed: dict[str, Any], kept: bool) -> None:
    assert ("more" in model.model_validate({**needed, "more": 1}).model_dump()) is kept


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (api.BaseDataModel, {}),
        (api.RolloutInput, {"messages": []}),
        (api.RolloutInput, {"model_resource": RESOURCE}),
        (api.RewardInput, {}),
        (api.RewardInput, {"agent_output": {}, "func_type": "other"}),
        (api.RewardInput, {"agent_output": {}, "request_metadata": {"job_id": "j"}}),
        (api.RewardOutput, {}),
        (api.Reward, {}),
        (api.Reward, {"reward_score": None}),
        (api.Reward, {"reward_score": 1, "reward_metrics": {"a": None}}),
        (api.AgentOutput, {"rollout_metrics": {"a": None}}),
        (api.RewardOutput, {"reward": {"reward_score": 1}, "error_code": True}),
        (api.RewardOutput, {"reward": {"reward_score": 1}, "error_code": 1.5}),
        (api.Resource, {**RESOURCE, "max_turns": 0}),
    ],
)
def test_what_is_refused(model: type[BaseModel], values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(values)


def test_lenient_numbers() -> None:
    reward = api.Reward.model_validate({"reward_score": "0.5", "reward_metrics": {"a": "2", "b": True}})
    assert reward.model_dump() == {"reward_score": 0.5, "reward_metrics": {"a": 2.0, "b": 1.0}}
    assert api.RewardOutput.model_validate({"reward": {"reward_score": 1}, "error_code": 429}).error_code == "429"


def test_a_boolean_score_counts_as_a_number_and_is_remembered() -> None:
    score = api.Reward(reward_score=True).reward_score
    assert score == 1.0
    assert isinstance(score, BooleanScore)
    assert not isinstance(api.Reward(reward_score=score * 2.0).reward_score, BooleanScore)


def test_func_type_is_not_tied_to_the_model() -> None:
    assert api.RewardInput.model_validate({"agent_output": {}, "func_type": "rollout"}).func_type == "rollout"


def test_the_key_is_hidden_until_asked_for() -> None:
    resource = api.ModelResource.model_validate(RESOURCE)
    assert "sk-secret" not in repr(resource)
    assert str(resource.model_dump()["api_key"]) == "**********"
    assert resource.api_key.get_secret_value() == "sk-secret"
