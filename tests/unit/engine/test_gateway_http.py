"""The gateway's address: keys, error shapes, bodies, what is noted of a call."""

from typing import Any

import httpx
import orjson
import pytest

from agentic_rl_tui.core.platform.engine import Gateway
from agentic_rl_tui.core.platform.engine.policy import Place
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy, estimate_tokens, pieces_of
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.engine.session import Session

HELLO = {"model": "practice", "messages": [{"role": "user", "content": "What is 2 + 2?"}]}


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(base_url="http://gateway.local")


@pytest.fixture
def session(gateway: Gateway, kit: Any) -> Session:
    return gateway.open(PracticePolicy(), Place(Row.of(0, kit.arithmetic(1)[0]), (1, "train", 1, 0, 0, 1)))


async def post(gateway: Gateway, body: Any, key: str | None, path: str = "/v1/chat/completions") -> httpx.Response:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gateway.app), base_url="http://gateway.local") as client:
        return await client.post(path, content=content, headers=headers)


async def get(gateway: Gateway, path: str, key: str | None) -> httpx.Response:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gateway.app), base_url="http://gateway.local") as client:
        return await client.get(path, headers=headers)


def error_of(response: httpx.Response) -> dict[str, Any]:
    body = response.json()
    assert list(body) == ["error"]
    assert set(body["error"]) == {"message", "type", "param", "code"}
    return body["error"]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:8", "http://127.0.0.1:8/v1"),
        ("http://127.0.0.1:8/", "http://127.0.0.1:8/v1"),
        ("http://127.0.0.1:8/v1", "http://127.0.0.1:8/v1"),
    ],
)
def test_the_model_url_ends_in_v1(given: str, url: str) -> None:
    assert Gateway(base_url=given).model_url == url


async def test_keys_belong_to_one_open_rollout(gateway: Gateway, session: Session, kit: Any) -> None:
    other = gateway.open(session.policy, session.place)
    assert other.key != session.key
    assert session.key.startswith("sk-")
    assert session.key not in repr(session)
    assert (await post(gateway, HELLO, session.key)).status_code == 200
    assert len(session.calls) == 1
    assert other.calls == []
    for key in (None, "", "sk-wrong", session.key[:-1], session.key + "x"):
        response = await post(gateway, HELLO, key)
        assert response.status_code == 401
        error = error_of(response)
        assert (error["type"], error["code"]) == ("invalid_request_error", "invalid_api_key")
        assert session.key not in response.text
    gateway.close(session)
    assert (await post(gateway, HELLO, session.key)).status_code == 401
    assert (await get(gateway, "/v1/models", session.key)).status_code == 401
    assert (await post(gateway, HELLO, other.key)).status_code == 200


async def test_models(gateway: Gateway, session: Session) -> None:
    listed = (await get(gateway, "/v1/models", session.key)).json()
    assert [model["id"] for model in listed["data"]] == ["practice"]
    assert (await get(gateway, "/v1/models/practice", session.key)).json()["object"] == "model"
    missing = await get(gateway, "/v1/models/gpt-5", session.key)
    assert missing.status_code == 404
    assert error_of(missing)["code"] == "model_not_found"
    assert (await get(gateway, "/v1/models/practice", None)).status_code == 401


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/embeddings", "/", "/v1/chat/completions/"])
async def test_other_addresses(gateway: Gateway, session: Session, path: str) -> None:
    response = await post(gateway, HELLO, session.key, path)
    if response.status_code != 307:
        assert response.status_code == 404
        assert "Only chat completions are served here" in error_of(response)["message"]
    wrong = await get(gateway, "/v1/chat/completions", session.key)
    assert wrong.status_code == 405
    error_of(wrong)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        (b"{", None),
        (b"[]", None),
        (b"", None),
        ({"model": None}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        *(({"messages": [{"role": role, "content": "x"}]}, "messages[0].role") for role in ([], {}, None, 5)),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "assistant", "tool_calls": 5}]}, "messages[0].tool_calls"),
        ({"messages": [{"role": "assistant", "tool_calls": [5]}]}, "messages[0].tool_calls[0]"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"function": 5}]}]}, "messages[0].tool_calls[0].function"),
        (b'{"model": "practice", "messages": ' + b"[" * 100_000, None),
        (b'{"model": "practice", "messages": [], "a": ' + b"[" * 400 + b"]" * 400 + b"}", None),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "tool", "content": "4"}]}, "messages[0].tool_call_id"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens"),
        ({"n": 0}, "n"),
        ({"n": 1000}, "n"),
        ({"stop": 5}, "stop"),
        ({"stop": [1]}, "stop"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"tools": {}}, "tools"),
        ({"tools": [{}]}, "tools[0].function"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": 1}}]}, "tools[0].function.parameters"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
    ],
)
async def test_bad_bodies(gateway: Gateway, session: Session, change: Any, param: str | None) -> None:
    body = change if isinstance(change, bytes) else HELLO | change
    response = await post(gateway, body, session.key)
    assert response.status_code == 400
    error = error_of(response)
    assert error["type"] == "invalid_request_error"
    assert error["param"] == param
    assert error["message"]
    assert session.calls == []


async def test_a_body_that_is_too_large_is_refused(gateway: Gateway, session: Session) -> None:
    response = await post(gateway, b"x" * (33 << 20), session.key)
    assert response.status_code == 413
    error_of(response)


async def test_a_fault_of_ours_has_the_shape_of_an_error_too(
    gateway: Gateway, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("no answer")

    monkeypatch.setattr(session.policy, "answer", broken)
    response = await post(gateway, HELLO, session.key)
    assert response.status_code == 500
    assert error_of(response)["type"] == "server_error"
    assert "no answer" not in response.text


async def test_unusual_but_valid_bodies(gateway: Gateway, session: Session) -> None:
    parts = [{"type": "text", "text": "What is "}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    for more in (
        {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]},
        {"messages": [{"role": "developer", "content": "x"}, {"role": "user", "content": "y"}]},
        {"temperature": 0, "top_p": 0.1, "seed": 5, "logprobs": True, "user": "me", "unknown_field": 1},
        {"stop": None, "tools": None, "tool_choice": "none", "max_tokens": None},
        {"response_format": {"type": "text"}},
        {"model": "qwen3.5-9b"},
    ):
        response = await post(gateway, HELLO | more, session.key)
        assert response.status_code == 200, response.text
        assert response.json()["model"] == "practice"


async def test_json_answers(gateway: Gateway, session: Session) -> None:
    for _ in range(8):
        response = await post(gateway, HELLO | {"response_format": {"type": "json_object"}}, session.key)
        assert "answer" in orjson.loads(response.json()["choices"][0]["message"]["content"])
    schema = {
        "type": "object",
        "required": ["steps", "answer"],
        "properties": {"steps": {"type": "array", "items": {"type": "string"}}, "answer": {"type": "string"}},
    }
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    value = orjson.loads(
        (await post(gateway, HELLO | {"response_format": form}, session.key)).json()["choices"][0]["message"]["content"]
    )
    assert isinstance(value["steps"], list)
    assert isinstance(value["answer"], str)


async def test_length_and_stop(gateway: Gateway, session: Session) -> None:
    reasons = set()
    for _ in range(40):
        choice = (await post(gateway, HELLO | {"max_tokens": 3}, session.key)).json()["choices"][0]
        text = choice["message"]["content"]
        reasons.add(choice["finish_reason"])
        if choice["finish_reason"] == "length":
            assert len(pieces_of(text)) == 3
    assert "length" in reasons
    assert session.is_cut
    for _ in range(40):
        choice = (await post(gateway, HELLO | {"stop": ["###", "\n"]}, session.key)).json()["choices"][0]
        assert choice["finish_reason"] == "stop"
        assert "###" not in choice["message"]["content"]
        assert "\n" not in choice["message"]["content"]


async def test_a_prompt_over_the_context_is_refused(gateway: Gateway, kit: Any) -> None:
    session = gateway.open(PracticePolicy(), Place(Row.of(0, kit.arithmetic(1)[0]), (1,), max_length=50))
    body = {"model": "m", "messages": [{"role": "user", "content": "word " * 100}]}
    response = await post(gateway, body, session.key)
    assert response.status_code == 400
    assert error_of(response)["code"] == "context_length_exceeded"
    assert session.calls[0].error is not None
    body["messages"][0]["content"] = "word " * 30
    for _ in range(20):
        usage = (await post(gateway, body, session.key)).json()["usage"]
        assert usage["total_tokens"] <= 50


async def test_usage_adds_up(gateway: Gateway, session: Session) -> None:
    body = (await post(gateway, HELLO | {"n": 3}, session.key)).json()
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    usage = body["usage"]
    assert usage["prompt_tokens"] == estimate_tokens(HELLO["messages"])
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert session.completion_tokens == usage["completion_tokens"]
    assert len(session.decisions) == 3


async def test_calls_are_noted_without_repeating_the_history(gateway: Gateway, session: Session, kit: Any) -> None:
    messages = [{"role": "user", "content": "What is 2 + 2?"}]
    for turn in range(3):
        body = {"model": "m", "messages": messages, "tools": [kit.calculator]}
        answer = (await post(gateway, body, session.key)).json()["choices"][0]["message"]
        messages = [*messages, answer, {"role": "user", "content": f"again, {turn}"}]
    first, second, third = (call.record() for call in session.calls)
    assert (first["shared"], len(first["messages"])) == (0, 1)
    assert (second["shared"], len(second["messages"])) == (1, 2)
    assert (third["shared"], len(third["messages"])) == (3, 2)
    assert "tools" in first
    assert "tools" not in second
    assert first["answers"][0]["role"] == "assistant"
    assert first["strategies"]
    assert first["latency_s"] >= 0


async def test_the_same_request_is_answered_alike_in_whatever_order(gateway: Gateway, session: Session) -> None:
    one, two = HELLO, HELLO | {"messages": [{"role": "user", "content": "Another question?"}]}
    twin = gateway.open(session.policy, session.place)
    forth = [(await post(gateway, body, session.key)).json()["choices"] for body in (one, two, one)]
    back = [(await post(gateway, body, twin.key)).json()["choices"] for body in (two, one, one)]
    assert forth[0] == back[1]
    assert forth[1] == back[0]
    assert forth[2] == back[2]


@pytest.mark.parametrize("text", ["", "a", "### ANSWER: 1_000 ###", "你好，世界！  x\n\n", "ünïcödé_x²", "\ud7ff🎉"])
def test_pieces_make_the_text_again(text: str) -> None:
    assert "".join(pieces_of(text)) == text
