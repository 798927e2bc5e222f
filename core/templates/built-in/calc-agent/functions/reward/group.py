"""Compares the rollouts of one problem with each other: answers that more of them agree on score higher."""

from collections import Counter

from dashscope.finetune.reinforcement import (
    AbstractGroupRewardProcessor,
    GroupReward,
    GroupRewardInput,
    GroupRewardOutput,
    Reward,
)

from functions.reward.answer import extract, final_text, number


class AgreementReward(AbstractGroupRewardProcessor):
    async def process(self, input: GroupRewardInput) -> GroupRewardOutput:
        answers = [extract(final_text(output.messages)) for output in input.agent_outputs]
        keys = [None if answer is None else number(answer) or answer.strip().casefold() for answer in answers]
        votes = Counter(key for key in keys if key is not None)
        scores = [votes[key] / len(keys) if key is not None else 0.0 for key in keys]
        return GroupRewardOutput(reward=GroupReward(rewards=[Reward(reward_score=score) for score in scores]))
