"""The trace that a call comes from, under the vendor's function server and under ours: one file, the same headers."""

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.functions.server import serve
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

pytestmark = pytest.mark.conformance

CHECKOUT = Path(__file__).parents[2]
SERVER = "dashscope.finetune.reinforcement.component.server.server"
CODE = """
import json, os
from opentelemetry import baggage, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutOutput
from dashscope.finetune.reinforcement.component.observability import observe_processor
from dashscope.finetune.reinforcement.component.observability.tracing import (
    current_trace_id_hex, get_upstream_trace_linkage
)

class ToFile(SpanExporter):
    def export(self, spans):
        with open(os.environ["SPANS"], "a") as file:
            for span in spans:
                file.write(json.dumps(json.loads(span.to_json())) + "\\n")
        return SpanExportResult.SUCCESS

if not isinstance(trace.get_tracer_provider(), TracerProvider):
    trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(ToFile()))

class R(AbstractRolloutProcessor):
    @observe_processor
    async def process(self, input):
        seen = {
            "linkage": get_upstream_trace_linkage(),
            "baggage": {key: value for key, value in baggage.get_all().items() if key == "team"},
            "state": dict(trace.get_current_span().get_span_context().trace_state),
            "is_known": current_trace_id_hex() is not None,
        }
        return RolloutOutput(agent_output=AgentOutput(messages=[{"role": "assistant", "content": json.dumps(seen)}]))
"""
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
HEADERS: dict[str, dict[str, str]] = {
    "none": {},
    "all": {
        "traceparent": PARENT,
        "tracestate": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
        "baggage": "team=blue,bailian.agentic_rl.sample_id=other",
        "x-request-id": "req-1",
    },
    "a request alone": {"x-request-id": "req-2"},
    "an empty request": {"traceparent": PARENT, "x-request-id": ""},
    "baggage alone": {"baggage": "team=red"},
    "not sampled": {"traceparent": f"{PARENT[:-1]}0", "x-request-id": "req-3"},
    "a later version": {"traceparent": f"01-{TRACE}-{SPAN}-01-more"},
    "no span": {"traceparent": f"00-{TRACE}-{'0' * 16}-01"},
    "nonsense": {"traceparent": "nonsense", "tracestate": "=", "baggage": ";;", "x-request-id": "é"},
}
BODY = {
    "func_type": "rollout",
    "messages": [{"role": "user", "content": "hi"}],
    "model_resource": {"model_name": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"},
    "request_metadata": {"job_id": "j", "sample_id": "s", "rollout_id": "r", "attempt_id": "1"},
}
SPELT_IN_TWO_WAYS = {"operation.name", "gen_ai.operation.name"}


def interpreter() -> Path:
    named = os.environ.get("AGENTIC_RL_TEST_DASHSCOPE_TRACING")
    path = Path(named) if named else CHECKOUT / ".cache" / "peers" / "dashscope-2.0.2-tracing" / "bin" / "python"
    if not path.exists():
        pytest.skip("no interpreter with dashscope and its tracing packages")
    return path


@asynccontextmanager
async def vendors(package: Path, spans: Path) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {**os.environ, "FUNC_TYPE": "rollout", "PROCESSOR_CLASS": "agent.R", "WORKERS_COUNT": "1"}
    env |= {"SERVER_PORT": str(port), "DASHSCOPE_API_KEY": "x", "SPANS": str(spans), "PYTHONPATH": str(package)}
    env |= {"ENABLE_TRAJECTORY": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    with open(package / "vendor.log", "w") as log:  # noqa: ASYNC230
        process = subprocess.Popen(  # noqa: ASYNC220
            [interpreter(), "-m", SERVER], env=env, cwd=package, stdout=log, stderr=log, start_new_session=True
        )
    try:
        async with asyncio.timeout(60), httpx.AsyncClient() as client:
            while True:
                assert process.poll() is None, (package / "vendor.log").read_text()
                try:
                    await client.get(f"http://127.0.0.1:{port}/health")
                    break
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@asynccontextmanager
async def ours(package: Path, spans: Path, python: Path | None = None) -> AsyncIterator[str]:
    env = {"ENABLE_TRAJECTORY": "true", "SPANS": str(spans)}
    spec = WorkerSpec(package, FunctionKind.ROLLOUT, ClassPath("agent", "R"), python=python, env=env)
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with FunctionPool(spec) as pool:
        serving = asyncio.create_task(serve(pool, port=0, on_ready=ready.set_result))
        yield await ready
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def told(base: str, spans: Path) -> dict[str, Any]:
    """For each set of headers what user code saw, and the outermost span."""
    found: dict[str, Any] = {}
    async with httpx.AsyncClient(base_url=base, timeout=30) as client:
        for name, headers in HEADERS.items():
            spans.write_text("")
            raw = {key: value.encode("latin-1") for key, value in headers.items()}
            answer = await client.post("/api/v1", json=BODY, headers=raw)
            assert answer.status_code == 200, answer.text
            seen = json.loads(answer.json()["agent_output"]["messages"][0]["content"])
            made = [json.loads(line) for line in spans.read_text().splitlines()]
            found[name] = (seen, [_chain(span) for span in made if span["name"] == "invoke_agentic_rl"])
    return found


def _chain(span: dict[str, Any]) -> dict[str, Any]:
    """All that may be equal in two runs."""
    parent = span["parent_id"]
    return {
        "parent": parent,
        "trace": span["context"]["trace_id"] if parent else "its own",
        "state": span["context"]["trace_state"],
        "kind": span["kind"],
        "status": span["status"],
        "attributes": {
            key: (type(value).__name__, value)
            for key, value in span["attributes"].items()
            if key not in SPELT_IN_TWO_WAYS and key != "agentic_rl.result.status"
        },
    }


async def test_headers_mean_the_same_to_both_servers(tmp_path: Path) -> None:
    python = interpreter()
    (tmp_path / "agent.py").write_text(CODE)
    spans = tmp_path / "spans.jsonl"
    async with vendors(tmp_path, spans) as base:
        theirs = await told(base, spans)
    for chosen in (None, python):
        async with ours(tmp_path, spans, chosen) as base:
            mine = await told(base, spans)
        for name in HEADERS:
            assert mine[name] == theirs[name], (name, chosen)
    ((seen, (chain,)), (_, (alone,))) = theirs["all"], theirs["none"]
    assert (chain["parent"], chain["trace"]) == (f"0x{SPAN}", f"0x{TRACE}")
    assert (seen["linkage"], seen["baggage"], seen["state"]["congo"]) == (
        [True, "req-1"],
        {"team": "blue"},
        "t61rcWkgMzE",
    )
    assert chain["attributes"]["agentic_rl.trace.linked"] == ("int", 1)
    assert chain["attributes"]["agentic_rl.upstream.trace_id"] == ("str", "req-1")
    assert chain["attributes"]["bailian.agentic_rl.sample_id"] == ("str", "s")
    assert alone["attributes"]["agentic_rl.trace.linked"] == ("int", 0)
    assert theirs["not sampled"][1] == []
