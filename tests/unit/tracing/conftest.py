"""A model to call and a worker to call it from: user code is traced where it runs, in a process of its own."""

import asyncio
import socket
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from agentic_rl_tui.core.functions.calls import CallResult
from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath
from agentic_rl_tui.core.platform.engine import Gateway
from agentic_rl_tui.core.platform.engine.policy import Place
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.tracing.collect import judge, link, spans_of, tool_results
from agentic_rl_tui.core.tracing.model import Completeness, Span

HEAD = """
import asyncio, openai, os, threading, queue
from concurrent.futures import ThreadPoolExecutor
from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutOutput
from dashscope.finetune.reinforcement.component.observability import *

def sync_client(resource):
    return openai.OpenAI(base_url=resource.base_url, api_key=resource.api_key.get_secret_value(), max_retries=0)

def async_client(resource):
    return openai.AsyncOpenAI(base_url=resource.base_url, api_key=resource.api_key.get_secret_value(), max_retries=0)

def done(input, *contents):
    return RolloutOutput(agent_output=AgentOutput(messages=[*input.messages, *contents]))

ASK = [{"role": "user", "content": "What is 12 * 7?"}]
"""
ROW = Row.of(0, {"messages": [{"role": "user", "content": "What is 12 * 7?"}], "rollout_extra": {"solution": "84"}})


@dataclass
class Traced:
    """What one call of a function left."""

    result: CallResult
    spans: tuple[Span, ...]
    completeness: Completeness

    def tree(self) -> list[tuple[str, str]]:
        """(name, name of its parent) of each span, in the order of their beginning."""
        names = {span.span_id: span.name for span in self.spans}
        return [(span.name, names.get(span.parent_id or "", "")) for span in self.spans]

    def of(self, role: str) -> list[Span]:
        return [span for span in self.spans if span.role == role]


Run = Callable[..., Awaitable[list[Traced]]]


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    made = Gateway()
    listener = socket.create_server(("127.0.0.1", 0))
    made.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(made.app, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    yield made
    server.should_exit = True
    await task
    listener.close()


@pytest.fixture
def run(gateway: Gateway, tmp_path: Path) -> Run:
    """Call the class R of some code once for each rollout_extra given, in one worker."""

    async def call(
        code: str,
        *extras: dict[str, Any],
        env: dict[str, str] | None = None,
        timeout_s: float = 30.0,
        head: str = HEAD,
        at_once: bool = False,
        **spec: Any,
    ) -> list[Traced]:
        package = tmp_path / "package"
        package.mkdir(exist_ok=True)
        (package / "agent.py").write_text(head + textwrap.dedent(code))
        given = WorkerSpec(
            package,
            FunctionKind.ROLLOUT,
            ClassPath("agent", "R"),
            env=env or {},
            concurrency=spec.pop("concurrency", 1),
            cancel_grace_s=0.3,
            **spec,
        )
        async with FunctionPool(given) as pool:

            async def one(number: int, extra: dict[str, Any]) -> Traced:
                session = gateway.open(PracticePolicy(), Place(ROW, (1, number)))
                payload = payload_of(gateway, session.key, extra, number)
                result = await pool.call(payload, timeout_s=timeout_s)
                gateway.close(session)
                return traced_of(result, [call.span for call in session.calls], payload["messages"], env or {})

            numbered = list(enumerate(extras or ({},)))
            if at_once:
                return list(await asyncio.gather(*(one(*item) for item in numbered)))
            return [await one(*item) for item in numbered]

    return call


def payload_of(gateway: Gateway, key: str, extra: dict[str, Any], number: int = 0) -> dict[str, Any]:
    return {
        "func_type": "rollout",
        "messages": [{"role": "user", "content": "What is 12 * 7?"}],
        "rollout_extra": extra,
        "model_resource": {"model_name": "practice", "base_url": gateway.model_url, "api_key": key},
        "request_metadata": {"job_id": "j", "sample_id": "s", "rollout_id": f"r{number}", "attempt_id": "1"},
    }


def traced_of(result: CallResult, model_calls: Sequence[str], before: Sequence[Any], env: dict[str, str]) -> Traced:
    ended = None if result.is_ok else (result.error.message if result.error else result.status.value)
    spans = spans_of(result.trace, ended=ended)
    output = (result.output or {}).get("agent_output") or {}
    completeness = judge(
        result.trace,
        spans,
        model_calls=model_calls,
        tool_results=tool_results(output.get("messages")),
        is_forbidden=env.get("ENABLE_TRAJECTORY") == "false",
    )
    return Traced(result, link(spans, completeness), completeness)
