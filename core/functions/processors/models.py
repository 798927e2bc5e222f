"""What goes into a processor and what comes out of it.

Field names, defaults and the treatment of unknown keys are the service's. Values are converted leniently: a numeric
string becomes a number.
"""

import os
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from agentic_rl_tui.core.functions.processors.enums import FunctionType, ModelProtocol, TaskStatus


class BooleanScore(float):
    """A score that user code gave as True or False. It counts as 1.0 or 0.0; the worker names it when it answers."""


def _remember_boolean(value: Any, convert: ValidatorFunctionWrapHandler) -> float:
    number: float = convert(value)
    return BooleanScore(number) if isinstance(value, bool) else number


def _code_as_text(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("error_code must be a string or an integer, not a boolean")
    return str(value) if isinstance(value, int) else value


Score = Annotated[float, WrapValidator(_remember_boolean)]
ErrorCode = Annotated[str | None, BeforeValidator(_code_as_text)]
Messages = list[dict[Any, Any]]


class _Plain(BaseModel):
    """Built when first used: a process uses the models of one kind, and building all takes as long as a fork."""

    model_config = ConfigDict(protected_namespaces=(), defer_build=True)


class _Open(_Plain):
    model_config = ConfigDict(extra="allow")


class BaseDataModel(_Open):
    func_type: FunctionType


class ModelResource(_Plain):
    """Where and as what a rollout reaches the model under training."""

    model_name: str
    base_url: str
    api_key: SecretStr


class RequestMetadata(_Plain):
    job_id: str
    sample_id: str
    rollout_id: str
    attempt_id: str


class AgentOutput(_Plain):
    """One finished rollout as rewards see it. reward_score is set when the rollout scores itself."""

    messages: Messages | None = None
    rollout_extra: dict[str, Any] | None = None
    rollout_metrics: dict[str, float] | None = Field(default_factory=dict)
    reward_score: Score | None = None


class RolloutInput(BaseDataModel):
    func_type: FunctionType = FunctionType.ROLLOUT
    messages: Messages
    tools: list[dict[str, Any]] | None = None
    ground_truth: Any = None
    rollout_extra: dict[str, Any] | None = None
    sampling_params: dict[str, Any] | None = None
    model_resource: ModelResource
    request_metadata: RequestMetadata | None = None


class RewardInput(BaseDataModel):
    func_type: FunctionType = FunctionType.REWARD
    ground_truth: Any = None
    request_metadata: RequestMetadata | None = None
    agent_output: AgentOutput


class GroupRewardInput(BaseDataModel):
    """agent_outputs: all rollouts of one prompt."""

    func_type: FunctionType = FunctionType.GROUP_REWARD
    agent_outputs: list[AgentOutput]
    request_metadata: RequestMetadata | None = None
    ground_truth: Any = None


class Reward(_Plain):
    reward_score: Score
    reward_metrics: dict[str, float] | None = None


class GroupReward(_Plain):
    """rewards: one per agent output, in the same order."""

    rewards: list[Reward]


class RolloutOutput(_Open):
    agent_output: AgentOutput | None = None
    status: TaskStatus = TaskStatus.SUCCESS
    error: str | None = None
    error_code: ErrorCode = None


class RewardOutput(_Open):
    reward: Reward
    status: TaskStatus = TaskStatus.SUCCESS
    error: str | None = None
    error_code: ErrorCode = None


class GroupRewardOutput(_Open):
    reward: GroupReward
    status: TaskStatus = TaskStatus.SUCCESS
    error: str | None = None


def _rollout_id() -> str:
    return f"ro-{os.urandom(6).hex()}"


class Task(_Plain):
    rollout_id: str = Field(default_factory=_rollout_id)
    prompt: str | Messages | dict[Any, Any]
    ground_truth: Any = None
    training_state: dict[str, Any] = Field(default_factory=dict)


class Resource(_Plain):
    """timeout in seconds."""

    model_name: str
    base_url: str
    api_key: SecretStr
    protocol: ModelProtocol = ModelProtocol.OPENAI
    max_tokens: int = Field(2048, ge=1)
    max_turns: int = Field(25, ge=1)
    sampling_params: dict[str, Any] = Field(default_factory=dict)
    timeout: float = 60.0
    system_prompt: str | None = None


_OF_KIND: dict[FunctionType, tuple[type[BaseModel], ...]] = {
    FunctionType.ROLLOUT: (ModelResource, RequestMetadata, AgentOutput, RolloutInput, RolloutOutput),
    FunctionType.REWARD: (RequestMetadata, AgentOutput, RewardInput, Reward, RewardOutput),
    FunctionType.GROUP_REWARD: (
        RequestMetadata,
        AgentOutput,
        GroupRewardInput,
        Reward,
        GroupReward,
        GroupRewardOutput,
    ),
}


def build(kind: FunctionType | str) -> None:
    """Build the models of a kind now, before several threads meet at their first use."""
    for model in _OF_KIND[FunctionType(kind)]:
        model.model_rebuild()
