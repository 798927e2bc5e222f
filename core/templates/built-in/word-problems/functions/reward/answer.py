"""Is the number behind #### right, and is there exactly one such line at the end? A decorated reward with two parts."""

import re
from decimal import Decimal, InvalidOperation

from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor,
    Reward,
    RewardInput,
    RewardOutput,
    aggregate_func,
    reward_func,
    sub_reward_func,
)

MARKED = re.compile(r"^####[ \t]*(.+?)[ \t]*$", re.MULTILINE)


def final_text(messages: list[dict] | None) -> str:
    """The text of the last assistant message, empty when there is none."""
    for message in reversed(messages or []):
        if message.get("role") == "assistant":
            return str(message.get("content") or "")
    return ""


def number(text: str) -> Decimal | None:
    """Read 72, 1,200, 3.50 and 18 coins; None for anything without exactly one number."""
    found = re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)
    if len(found) != 1:
        return None
    try:
        return Decimal(found[0].replace(",", ""))
    except InvalidOperation:
        return None


def is_right(messages: list[dict] | None, solution: str) -> bool:
    marked = MARKED.findall(final_text(messages))
    answer = number(marked[-1]) if marked else None
    return answer is not None and answer == number(str(solution))


def solution_of(input: RewardInput) -> str:
    solution = input.ground_truth
    if solution is None:
        solution = (input.agent_output.rollout_extra or {}).get("solution")
    if solution is None:
        raise ValueError("the row has no rollout_extra.solution to compare with")
    return str(solution)


@reward_func("answer")
class WordProblemReward(AbstractRewardProcessor):
    @sub_reward_func("correct", sub_weight=0.9)
    def correct(self, input: RewardInput) -> RewardOutput:
        right = is_right(input.agent_output.messages, solution_of(input))
        return RewardOutput(reward=Reward(reward_score=float(right)))

    @sub_reward_func("form", sub_weight=0.1)
    def form(self, input: RewardInput) -> RewardOutput:
        """1 where one marked line ends the answer: listing many numbers and marking each of them earns nothing."""
        text = final_text(input.agent_output.messages).strip()
        marked = MARKED.findall(text)
        fits = len(marked) == 1 and text.splitlines()[-1].startswith("####") and number(marked[0]) is not None
        return RewardOutput(reward=Reward(reward_score=float(fits)))

    @aggregate_func
    def aggregate(self, sub_rewards: dict[str, RewardOutput]) -> RewardOutput:
        return RewardOutput(
            reward=Reward(
                reward_score=self.get_total(sub_rewards),
                reward_metrics=self.get_reward_metrics(sub_rewards),
            ),
        )
