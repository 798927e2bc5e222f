"""Is the final answer right? Compares numbers, not spellings: 1/2, 0.5, 50% and 1_000, 1,000 are equal."""

import math
import re
from fractions import Fraction

from dashscope.finetune.reinforcement import AbstractRewardProcessor, Reward, RewardInput, RewardOutput

ANSWER = re.compile(r"###\s*ANSWER:\s*(.+?)\s*###", re.IGNORECASE | re.DOTALL)
RELATIVE_TOLERANCE = 1e-4


def final_text(messages: list[dict] | None) -> str:
    """The text of the last assistant message, empty when there is none."""
    for message in reversed(messages or []):
        if message.get("role") == "assistant":
            return str(message.get("content") or "")
    return ""


def extract(text: str) -> str | None:
    """The last marked answer of a text."""
    found = ANSWER.findall(text)
    return found[-1] if found else None


def number(text: str) -> Fraction | None:
    """Read 12, -3.5, 1_000, 1,000, 2/3, 1 1/2 and 40%; None for anything else."""
    cleaned = text.strip().rstrip(".").replace("_", "").replace(" %", "%")
    cleaned = re.sub(r"(?<=\d),(?=\d{3}\b)", "", cleaned)
    percent = cleaned.endswith("%")
    cleaned = cleaned.removesuffix("%").strip()
    mixed = re.fullmatch(r"(-?)(\d+)\s+(\d+/\d+)", cleaned)
    try:
        if mixed:
            value = int(mixed[2]) + Fraction(mixed[3])
            value = -value if mixed[1] else value
        else:
            value = Fraction(cleaned.replace(" ", ""))
    except (ValueError, ZeroDivisionError):
        return None
    return value / 100 if percent else value


def same(answer: str, solution: str) -> bool:
    left, right = number(answer), number(solution)
    if left is None or right is None:
        return answer.strip().casefold() == solution.strip().casefold()
    return math.isclose(left, right, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-9)


class AnswerReward(AbstractRewardProcessor):
    def process(self, input: RewardInput) -> RewardOutput:
        solution = input.ground_truth
        if solution is None:
            solution = (input.agent_output.rollout_extra or {}).get("solution")
        if solution is None:
            raise ValueError("the row has no rollout_extra.solution to compare with")
        answer = extract(final_text(input.agent_output.messages))
        right = answer is not None and same(answer, str(solution))
        return RewardOutput(
            reward=Reward(
                reward_score=1.0 if right else 0.0,
                reward_metrics={"right": float(right), "marked": float(answer is not None)},
            ),
        )
