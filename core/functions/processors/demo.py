"""Three tiny processors: fixtures, and a first thing to serve."""

from typing import Any

from agentic_rl_tui.core.functions.processors.base import (
    AbstractGroupRewardProcessor,
    AbstractRewardProcessor,
    AbstractRolloutProcessor,
)
from agentic_rl_tui.core.functions.processors.models import (
    AgentOutput,
    GroupReward,
    GroupRewardInput,
    GroupRewardOutput,
    Reward,
    RewardInput,
    RewardOutput,
    RolloutInput,
    RolloutOutput,
)


def _score(ground_truth: Any, messages: list[dict[Any, Any]] | None) -> float:
    """1 when a message holds the truth as text, else a half; 0 without a truth or without messages."""
    if ground_truth is None or not messages:
        return 0.0
    truth = str(ground_truth)
    contents = (message.get("content") for message in messages)
    return 1.0 if any(isinstance(text, str) and truth in text for text in contents) else 0.5


class DemoRolloutProcessor(AbstractRolloutProcessor):
    """Answers with the user's last message."""

    def process(self, input_data: RolloutInput) -> RolloutOutput:  # type: ignore[override] # sync is allowed
        users = [message for message in input_data.messages if message.get("role") == "user"]
        last = users[-1].get("content", "") if users else ""
        answer = {"role": "assistant", "content": f"[DemoRolloutProcessor Echo] {last}"}
        output = AgentOutput(messages=[*input_data.messages, answer], rollout_extra=input_data.rollout_extra)
        return RolloutOutput(agent_output=output)


class DemoRewardProcessor(AbstractRewardProcessor):
    """Looks for the ground truth in the conversation."""

    def process(self, input_data: RewardInput) -> RewardOutput:  # type: ignore[override] # sync is allowed
        output = input_data.agent_output
        score = _score(input_data.ground_truth, output.messages)
        return RewardOutput(reward=Reward(reward_score=score, reward_metrics=output.rollout_metrics))


class DemoGroupRewardProcessor(AbstractGroupRewardProcessor):
    """Looks for the ground truth in each conversation."""

    def process(self, input_data: GroupRewardInput) -> GroupRewardOutput:  # type: ignore[override] # sync is allowed
        rewards = [
            Reward(reward_score=_score(input_data.ground_truth, output.messages), reward_metrics=output.rollout_metrics)
            for output in input_data.agent_outputs
        ]
        return GroupRewardOutput(reward=GroupReward(rewards=rewards))
