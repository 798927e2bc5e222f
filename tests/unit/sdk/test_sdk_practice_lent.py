"""A rollout's input that names no model is answered by the practice policy, where the platform has one."""

from types import SimpleNamespace
from typing import Any

import pytest

from agentic_rl_tui.core.sdk.practice import practised

MESSAGES = [{"role": "user", "content": "1 + 1"}]
HOLDS_THE_PLACE = {"model_name": "m", "base_url": "https://service.example/v1", "api_key": "your-api-key-here"}
OWN = {**HOLDS_THE_PLACE, "api_key": "sk-0123456789abcdef"}
LENT = {"model_name": "practice", "base_url": "http://127.0.0.1:1/v1", "api_key": "key-1"}


class Platform:
    """Lends one key and takes it back."""

    def __init__(self, *, is_local: bool = True) -> None:
        self.profile = SimpleNamespace(is_local=is_local, name="any")
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def call(self, request: Any) -> Any:
        self.asked.append((request.target, request.json))
        return SimpleNamespace(body={"model_resources": [LENT], "calls": []})


@pytest.mark.parametrize("resource", [{}, {"model_resource": HOLDS_THE_PLACE}])
async def test_a_key_is_lent_for_the_call_and_given_back(resource: dict[str, Any]) -> None:
    platform: Any = Platform()
    payload = {"messages": MESSAGES, "ground_truth": "2", **resource}
    async with practised(platform, payload) as whole:
        assert whole == {**payload, "model_resource": LENT}
        assert len(platform.asked) == 1
    assert [path for path, _body in platform.asked] == ["//local/v1/practice", "//local/v1/practice/close"]
    assert platform.asked[0][1]["row"] == payload
    assert platform.asked[1][1] == {"api_key": "key-1"}


@pytest.mark.parametrize(
    ("is_local", "payload"),
    [
        (True, {"messages": MESSAGES, "model_resource": OWN}),
        (False, {"messages": MESSAGES, "model_resource": HOLDS_THE_PLACE}),
        (True, {"model_resource": HOLDS_THE_PLACE}),
    ],
)
async def test_other_inputs_stay_as_they_are(is_local: bool, payload: dict[str, Any]) -> None:
    platform: Any = Platform(is_local=is_local)
    async with practised(platform, payload) as whole:
        assert whole == payload
    assert platform.asked == []
