"""Was the right tool called, with the right arguments, and none where none is needed? Two parts of one reward."""

import json
import re

from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor,
    Reward,
    RewardInput,
    RewardOutput,
    aggregate_func,
    reward_func,
    sub_reward_func,
)

ANSWER = re.compile(r"###\s*ANSWER:\s*(.+?)\s*###", re.IGNORECASE | re.DOTALL)


def called(messages: list[dict] | None) -> list[tuple[str, dict]]:
    """Every tool call of a conversation in its order; arguments that are no JSON object count as none."""
    found = []
    for message in messages or []:
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            try:
                arguments = json.loads(function.get("arguments") or "{}")
            except ValueError:
                arguments = {}
            found.append((str(function.get("name")), arguments if isinstance(arguments, dict) else {}))
    return found


def answered(messages: list[dict] | None) -> str | None:
    """The marked answer of the last assistant message."""
    for message in reversed(messages or []):
        if message.get("role") == "assistant":
            marked = ANSWER.findall(str(message.get("content") or ""))
            return marked[-1] if marked else None
    return None


def wanted(input: RewardInput) -> tuple[tuple[str, dict] | None, str]:
    """The call that the row asks for, or None and the text to answer with."""
    solution = input.ground_truth
    if solution is None:
        solution = (input.agent_output.rollout_extra or {}).get("solution")
    if solution is None:
        raise ValueError("the row has no rollout_extra.solution to compare with")
    try:
        parsed = json.loads(str(solution))
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        return None, str(solution)
    call = parsed["tool_calls"][0]
    return (call["name"], call["arguments"]), ""


def _same(left: object, right: object) -> bool:
    return str(left).strip().casefold() == str(right).strip().casefold()


@reward_func("routing")
class RoutingReward(AbstractRewardProcessor):
    @sub_reward_func("tool", sub_weight=0.6)
    def tool(self, input: RewardInput) -> RewardOutput:
        """1 where the first call is the right one, less for each call more; without a tool to call, the right text."""
        call, text = wanted(input)
        calls = called(input.agent_output.messages)
        if call is None:
            score = float(not calls and _same(answered(input.agent_output.messages), text))
        else:
            right = bool(calls) and calls[0][0] == call[0]
            score = max(0.0, 1.0 - 0.25 * (len(calls) - 1)) if right else 0.0
        return RewardOutput(reward=Reward(reward_score=score, reward_metrics={"calls": float(len(calls))}))

    @sub_reward_func("arguments", sub_weight=0.4)
    def arguments(self, input: RewardInput) -> RewardOutput:
        """The share of arguments that are as wanted, of the first call to the right tool."""
        call, _text = wanted(input)
        calls = called(input.agent_output.messages)
        if call is None:
            return RewardOutput(reward=Reward(reward_score=float(not calls)))
        given = next((arguments for name, arguments in calls if name == call[0]), None)
        hits = sum(_same(given.get(key), value) for key, value in call[1].items()) if given is not None else 0
        return RewardOutput(reward=Reward(reward_score=hits / max(1, len(call[1]))))

    @aggregate_func
    def aggregate(self, sub_rewards: dict[str, RewardOutput]) -> RewardOutput:
        return RewardOutput(
            reward=Reward(
                reward_score=self.get_total(sub_rewards),
                reward_metrics=self.get_reward_metrics(sub_rewards),
            ),
        )
