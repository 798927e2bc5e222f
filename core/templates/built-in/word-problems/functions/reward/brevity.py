"""Of the right answers to one problem, those that need no more words than most of them score higher."""

from statistics import median

from dashscope.finetune.reinforcement import (
    AbstractGroupRewardProcessor,
    GroupReward,
    GroupRewardInput,
    GroupRewardOutput,
    Reward,
)

from functions.reward.answer import final_text, is_right

LONGER = 0.5
"""What a right answer gets that is longer than the median of the right ones."""


class BrevityReward(AbstractGroupRewardProcessor):
    async def process(self, input: GroupRewardInput) -> GroupRewardOutput:
        lengths = []
        for output in input.agent_outputs:
            solution = input.ground_truth
            if solution is None:
                solution = (output.rollout_extra or {}).get("solution")
            right = solution is not None and is_right(output.messages, str(solution))
            lengths.append(len(final_text(output.messages)) if right else None)
        known = [length for length in lengths if length is not None]
        usual = median(known) if known else 0
        scores = [0.0 if length is None else 1.0 if length <= usual else LONGER for length in lengths]
        return GroupRewardOutput(reward=GroupReward(rewards=[Reward(reward_score=score) for score in scores]))
