"""The endpoint policy: calls go to another server with its own key, and the job says that it is an evaluation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from agentic_rl_tui.core import settings as core_settings
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine import (
    EndpointOptions,
    EngineOptions,
    Gateway,
    endpoint_from_settings,
    read_report,
)
from agentic_rl_tui.core.platform.engine import engine as engine_module
from agentic_rl_tui.core.platform.engine.endpoint import EndpointPolicy
from agentic_rl_tui.core.platform.engine.policy import ModelFault, ModelRequest, Place
from agentic_rl_tui.core.platform.engine.row import Row

KEY = "sk-upstream-0123456789"
OPTIONS = EndpointOptions("http://model.example/v1/", "qwen-plus", KEY, attempts=3)
Answer = Callable[[httpx.Request], httpx.Response]


def completion(text: str = "### ANSWER: 4 ###", **more: Any) -> dict[str, Any]:
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    } | more


class Upstream:
    """Answers from a list, the last one again and again."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


def ok(**more: Any) -> httpx.Response:
    return httpx.Response(200, json=completion(**more))


def busy(status: int = 429) -> httpx.Response:
    return httpx.Response(status, headers={"retry-after": "0"}, json={"error": {"message": "slow down"}})


def policy(upstream: Upstream) -> EndpointPolicy:
    return EndpointPolicy(OPTIONS, transport=httpx.MockTransport(upstream))


async def ask(upstream: Upstream, request: ModelRequest | None = None) -> Any:
    model = policy(upstream)
    row = Row.of(0, {"messages": [{"role": "user", "content": "2 + 2?"}]})
    try:
        return await model.answer(request or ModelRequest(row.messages), Place(row, (1,), temperature=0.7), ())
    finally:
        await model.close()


async def test_a_call_is_forwarded_with_the_endpoints_key_and_model() -> None:
    upstream = Upstream(ok())
    raw = {"model": "practice", "messages": [{"role": "user", "content": "x"}], "top_p": 0.5, "stream": True}
    reply = await ask(upstream, ModelRequest(raw["messages"], raw=raw))
    (request,) = upstream.requests
    assert str(request.url) == "http://model.example/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = orjson.loads(request.content)
    assert body["model"] == "qwen-plus"
    assert body["temperature"] == 0.7
    assert body["top_p"] == 0.5
    assert "stream" not in body
    assert reply.completions[0].text == "### ANSWER: 4 ###"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (11, 7, "qwen-plus")


async def test_tool_calls_and_missing_usage() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "calc", "arguments": '{"e":"2+2"}'}}]
    choices = [
        {"message": {"role": "assistant", "content": None, "tool_calls": calls}, "finish_reason": "tool_calls"},
        {"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"},
    ]
    reply = await ask(Upstream(httpx.Response(200, json={"choices": choices})))
    first, second = reply.completions
    assert (first.tool_calls[0].name, first.finish_reason, first.text) == ("calc", "tool_calls", None)
    assert second.tokens > 0
    assert reply.prompt_tokens > 0


@pytest.mark.parametrize("fault", [busy(), busy(503), httpx.ConnectError("refused"), httpx.ReadTimeout("slow")])
async def test_passing_faults_are_tried_again(monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    monkeypatch.setattr("agentic_rl_tui.core.platform.engine.endpoint_client._BACKOFF", lambda _: 0)
    upstream = Upstream(fault, fault, ok())
    reply = await ask(upstream)
    assert len(upstream.requests) == 3
    assert reply.completion_tokens == 7


async def test_it_gives_up_after_its_attempts() -> None:
    upstream = Upstream(busy())
    with pytest.raises(ModelFault, match="HTTP 429: slow down") as caught:
        await ask(upstream)
    assert caught.value.status == 429
    assert len(upstream.requests) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(401, json={"error": {"message": f"bad key {KEY}"}}), "HTTP 401: bad key"),
        (httpx.Response(404, text="<html>no</html>"), "HTTP 404: <html>no</html>"),
        (httpx.Response(200, json={"object": "list"}), "has no choices"),
        (httpx.Response(200, json={"choices": []}), "has no choices"),
    ],
)
async def test_lasting_faults_are_told_at_once(answer: httpx.Response, words: str) -> None:
    upstream = Upstream(answer)
    with pytest.raises(ModelFault) as caught:
        await ask(upstream)
    assert words in caught.value.message
    assert KEY not in caught.value.message
    assert len(upstream.requests) == 1


async def test_a_job_over_an_endpoint_is_an_evaluation(
    make_bench: Callable[..., Any], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = Upstream(ok())
    monkeypatch.setattr(
        engine_module,
        "EndpointPolicy",
        lambda options, **more: EndpointPolicy(options, transport=httpx.MockTransport(upstream), **more),
    )
    bench = make_bench(EngineOptions(endpoint=OPTIONS))
    request = bench.request(
        rollout=bench.agent(http=True),
        rewards=[lambda payload: kit.scored(float("4" in kit.last_text(payload)))],
        rows=kit.arithmetic(16),
        validation=kit.arithmetic(2, seed=2),
    )
    job = await bench.run(request)
    assert job.status is JobStatus.SUCCEEDED, job.message
    text = bench.text(job)
    assert "This job is an evaluation: real rollouts and rewards, no weight is changed" in text
    assert "evaluation finished; there is no model to publish" in text
    assert KEY not in text
    assert bench.metrics(job) == [1.0, 1.0]
    assert bench.metrics(job, "actor/ppo_kl") == []
    assert bench.metrics(job, "response_length/mean") == [7.0, 7.0]
    assert job.finetuned_output is None
    report = read_report(bench.artefacts / job.job_id)
    assert report is not None
    assert (report["policy"], report["is_evaluation"], report["checkpoints"]) == ("endpoint", True, [])
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in upstream.requests)


async def test_faults_of_the_endpoint_reach_the_agent_in_openais_shape(kit: Any) -> None:
    gateway = Gateway(base_url="http://gateway.local")
    model = policy(Upstream(busy(500)))
    session = gateway.open(model, Place(Row.of(0, kit.arithmetic(1)[0]), (1,)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gateway.app)) as client:
        response = await client.post(
            "http://gateway.local/v1/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": "x"}]},
            headers={"Authorization": f"Bearer {session.key}"},
        )
    assert response.status_code == 500
    assert response.json()["error"]["type"] == "server_error"
    await model.close()


def settings_of(text: str, folder: Path) -> core_settings.Settings:
    (folder / "agentic-rl.toml").write_text(text)
    return core_settings.load(workspace=folder)


def test_the_endpoint_comes_from_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert endpoint_from_settings(settings_of("", tmp_path)) is None
    monkeypatch.setenv("MY_KEY", KEY)
    table = 'policy = "endpoint"\n[local.endpoint]\nbase_url = "http://h/v1/"\nmodel = "m"\napi_key_env = "MY_KEY"\n'
    options = endpoint_from_settings(settings_of(f"[local]\n{table}timeout_s = 5\n", tmp_path))
    assert options == EndpointOptions("http://h/v1", "m", KEY, timeout_s=5.0)
    assert KEY not in repr(options)
    for text, words in (
        ('policy = "gpt"', "local.policy is 'gpt'"),
        ('policy = "endpoint"', "needs local.endpoint.base_url"),
        (f"{table}attempts = 0", "local.endpoint.attempts is 0"),
    ):
        with pytest.raises(ConfigError, match=words):
            endpoint_from_settings(settings_of(f"[local]\n{text}\n", tmp_path))
