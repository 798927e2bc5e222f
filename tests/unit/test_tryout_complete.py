"""Completion in the half-typed input of a function. ``|`` is the cursor."""

import pytest

from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.sdk.tryout_complete import complete_input

REWARD, GROUP, ROLLOUT = FunctionKind.REWARD, FunctionKind.GROUP_REWARD, FunctionKind.ROLLOUT


def after(kind: FunctionKind, marked: str) -> list[str]:
    """The text after taking each offer."""
    at = marked.index("|")
    text = marked.replace("|", "", 1)
    line, start = text.count("\n", 0, at), text.rfind("\n", 0, at) + 1
    return [
        text[: start + item.start_col - 1] + item.insert + text[start + item.end_col - 1 :]
        for item in complete_input(kind, text, line + 1, at - start + 1)
    ]


@pytest.mark.parametrize(
    ("kind", "marked", "first"),
    [
        (REWARD, "{|}", '{"agent_output": }'),
        (REWARD, '{"ag|', '{"agent_output": '),
        (REWARD, '{"ag|"}', '{"agent_output": }'),
        (REWARD, '{"agent_out|": {}}', '{"agent_output": {}}'),
        (REWARD, '{\n  "func_type": |\n}', '{\n  "func_type": "reward"\n}'),
        (GROUP, '{"agent_outputs": [{"reward|', '{"agent_outputs": [{"reward_score": '),
        (ROLLOUT, '{"messages": [{"ro|', '{"messages": [{"role": '),
        (ROLLOUT, '{"messages": [{"role": "as|"}]}', '{"messages": [{"role": "assistant"}]}'),
        (ROLLOUT, '{"messages": [], "model_resource": {"|', '{"messages": [], "model_resource": {"model_name": '),
        (ROLLOUT, '{"tools": |', '{"tools": []'),
        (ROLLOUT, '{"sampling_params": {"temp|', '{"sampling_params": {"temperature": '),
    ],
)
def test_the_best_offer_fits(kind: FunctionKind, marked: str, first: str) -> None:
    assert after(kind, marked)[0] == first


@pytest.mark.parametrize(
    "marked", ["|", "[|", '{"a": "free t|ext"}', '{"agent_output"|: {}}', '{"func_type": "reward" |']
)
def test_nothing_is_offered_where_nothing_is_known(marked: str) -> None:
    assert after(REWARD, marked) == []


def test_keys_that_are_there_are_not_offered_again() -> None:
    offers = after(REWARD, '{"agent_output": {}, "func_type": "reward", |')
    assert offers
    assert not any(text.endswith(('"agent_output": ', '"func_type": ')) for text in offers)
