"""Compares the rollouts of one problem with each other: among the marked answers, fewer turns are better."""

from dashscope.finetune.reinforcement import (
    AbstractGroupRewardProcessor,
    GroupReward,
    GroupRewardInput,
    GroupRewardOutput,
    Reward,
)

from functions.reward.answer import extract, final_text


class EconomyReward(AbstractGroupRewardProcessor):
    async def process(self, input: GroupRewardInput) -> GroupRewardOutput:
        turns = []
        for output in input.agent_outputs:
            answered = extract(final_text(output.messages)) is not None
            count = sum(message.get("role") == "assistant" for message in output.messages or [])
            turns.append(count if answered else None)
        counted = [count for count in turns if count is not None]
        fewest = min(counted, default=0)
        scores = [fewest / count if count else 0.0 for count in turns]
        return GroupRewardOutput(reward=GroupReward(rewards=[Reward(reward_score=score) for score in scores]))
