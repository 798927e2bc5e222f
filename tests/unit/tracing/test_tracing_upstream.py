"""A caller's trace on its way from the headers of a request to the spans of a worker."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.functions.calls import CallResult
from agentic_rl_tui.core.functions.frames import Splitter, call_frame, read_call
from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.functions.upstream import upstream_of
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath
from agentic_rl_tui.core.tracing.collect import judge, spans_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
CODE = """
from dashscope.finetune.reinforcement import AbstractRewardProcessor, Reward, RewardOutput
from dashscope.finetune.reinforcement.component.observability import observe_processor
from dashscope.finetune.reinforcement.component.observability.tracing import get_upstream_trace_linkage

class {name}(AbstractRewardProcessor):
    @observe_processor
    {how}def process(self, input):
        linked, request = get_upstream_trace_linkage()
        return RewardOutput(reward=Reward(reward_score=float(linked) + len(request or "")))
"""
REWARD = {"func_type": "reward", "agent_output": {"messages": []}, "ground_truth": "84"}


def test_four_headers_are_kept_and_nothing_else() -> None:
    assert upstream_of([(b"host", b"x"), (b"content-type", b"y")]) is None
    assert upstream_of(
        [(b"baggage", b"a=1"), (b"traceparent", b"first"), (b"baggage", b"b=2"), (b"traceparent", b"second")]
    ) == {"baggage": "a=1,b=2", "traceparent": "first"}
    assert upstream_of([(b"x-request-id", "é".encode("latin-1"))]) == {"x-request-id": "é"}


@pytest.mark.parametrize("upstream", [b"", b'{"traceparent":"x"}'])
def test_a_call_comes_out_of_its_frame_as_it_went_in(upstream: bytes) -> None:
    (body,) = Splitter().feed(call_frame(1 << 40, b'{"a":1}', upstream))
    assert read_call(body) == (1 << 40, b'{"a":1}', upstream)
    assert len(call_frame(7, b"{}")) == 15


@pytest.mark.parametrize("how", ["", "async "])
async def test_calls_of_one_worker_keep_their_callers_apart(how: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(CODE.format(name="R", how=how))
    spec = WorkerSpec(tmp_path, FunctionKind.REWARD, ClassPath("agent", "R"), concurrency=4)
    async with FunctionPool(spec) as pool:

        async def call(upstream: dict[str, str] | None) -> tuple[CallResult, Any]:
            result = await pool.call(REWARD, upstream=upstream)
            assert result.is_ok, result.error
            chain, reward = spans_of(result.trace)
            assert (chain.role, reward.parent_id, reward.trace_id) == ("CHAIN", chain.span_id, chain.trace_id)
            return result, chain

        given = {"traceparent": PARENT, "x-request-id": "req-1"}
        answers = await asyncio.gather(*[call(given if number % 2 else None) for number in range(6)])
    for number, (result, chain) in enumerate(answers):
        assert result.output is not None
        score = result.output["reward"]["reward_score"]
        is_linked = chain.attributes["agentic_rl.trace.linked"]
        if number % 2:
            assert (chain.trace_id, chain.parent_id, score, is_linked) == (TRACE, SPAN, 6.0, 1)
            assert chain.attributes["agentic_rl.upstream.trace_id"] == "req-1"
        else:
            assert (chain.trace_id == TRACE, chain.parent_id, score, is_linked) == (False, None, 0.0, 0)
            assert "agentic_rl.upstream.trace_id" not in chain.attributes


async def test_a_call_that_is_not_sampled_says_why_it_has_no_spans(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(CODE.format(name="R", how=""))
    spec = WorkerSpec(tmp_path, FunctionKind.REWARD, ClassPath("agent", "R"))
    async with FunctionPool(spec) as pool:
        result = await pool.call(REWARD, upstream={"traceparent": f"{PARENT[:-1]}0"})
    spans = spans_of(result.trace)
    assert spans == ()
    assert judge(result.trace, spans, model_calls=1).text == (
        "LLM 0/1, tools 0/0: the call was not to be sampled, as its traceparent or OTEL_TRACES_SAMPLER says"
    )


async def test_headers_that_nobody_can_read_harm_no_call(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(CODE.format(name="R", how=""))
    env = {"OTEL_PROPAGATORS": "absent"}
    spec = WorkerSpec(tmp_path, FunctionKind.REWARD, ClassPath("agent", "R"), env=env)
    async with FunctionPool(spec) as pool:
        result = await pool.call(REWARD, upstream={"traceparent": PARENT})
    assert result.is_ok, result.error
    chain = spans_of(result.trace)[0]
    assert (chain.parent_id, chain.attributes["agentic_rl.trace.linked"]) == (None, 0)
    assert "the caller's trace cannot be read" in result.printed
