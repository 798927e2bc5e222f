"""The platform's part: keeping, listing, exporting, importing, and never being in the way."""

import json
import random
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus
from agentic_rl_tui.core.paths import PlatformPaths
from agentic_rl_tui.core.platform import traces as platform_traces
from agentic_rl_tui.core.platform.app import make_app
from agentic_rl_tui.core.platform.options import PlatformOptions
from agentic_rl_tui.core.platform.service import Platform
from agentic_rl_tui.core.platform.tasks import Tasks
from agentic_rl_tui.core.platform.traces import TraceKeeper
from agentic_rl_tui.core.settings import load
from agentic_rl_tui.core.tracing.model import Run, Span
from agentic_rl_tui.core.tracing.store import TraceStore


def records(number: int = 1, *, is_open: bool = False) -> tuple[dict[str, Any], ...]:
    base: dict[str, Any] = {
        "type": "begun" if is_open else "span",
        "trace_id": f"{number:032x}",
        "span_id": f"{number:016x}",
        "parent_id": None,
        "name": "chat m",
        "kind": "CLIENT",
        "start_ns": 1_796_000_000_000_000_000 + number,
        "end_ns": None if is_open else 1_796_000_001_000_000_000,
        "attributes": {"gen_ai.span.kind": "LLM"},
    }
    return ({"type": "facts", "clients": 1, "tools": 0, "unsupported": [], "decorated": []}, base)


PAYLOAD = {
    "messages": [],
    "model_resource": {"api_key": "k"},
    "request_metadata": {"job_id": "j", "sample_id": "s", "rollout_id": "r", "attempt_id": "2"},
}


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    made = Platform(tmp_path / "platform")
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def client(platform: Platform) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(make_app(platform))
    async with httpx.AsyncClient(transport=transport, base_url="http://platform.local") as made:
        yield made


def take(keeper: TraceKeeper, result: CallResult, **facts: Any) -> None:
    given: dict[str, Any] = {"function": "R", "kind": "rollout", "env": {}, "job_id": "j", "source": "job"} | facts
    keeper.take(PAYLOAD, result, **given)


async def test_kept_listed_and_told(platform: Platform, client: httpx.AsyncClient) -> None:
    keeper = platform.traces
    keeper.calls_of = lambda key: ("", "", "") if key == "k" else None
    take(keeper, CallResult(CallStatus.OK, {"agent_output": {"messages": [{"role": "tool"}]}}, trace=records()))
    late = CallError("TimedOut", "no answer within 5 s")
    take(keeper, CallResult(CallStatus.TIMEOUT, error=late, trace=records(2, is_open=True)))
    take(keeper, CallResult(CallStatus.OK, {}))
    body = (await client.get("/local/v1/traces", params={"job_id": "j"})).json()
    assert body["total"] == 2
    first, second = body["runs"]
    assert (first["status"], first["detail"]) == ("timeout", "timed out: no answer within 5 s")
    assert (first["attempt_id"], first["errors"]) == ("2", 1)
    assert second["completeness"]["llm"][:2] == [1, 3]
    assert second["completeness"]["tools"][:2] == [0, 1]
    tally = keeper.tally("j")
    assert tally is not None
    assert tally.text.startswith("LLM 2/9, tools 0/1: ")
    whole = (await client.get(f"/local/v1/traces/{second['trace_id'][:31]}")).json()
    assert whole["code"] == "InvalidParameter"
    assert "fits several runs" in whole["message"]
    assert (await client.get(f"/local/v1/traces/{'9' * 32}")).json()["code"] == "NotFound"
    whole = (await client.get(f"/local/v1/traces/{second['trace_id']}")).json()
    assert [item["name"] for item in whole["spans"]] == ["chat m"]
    assert (await client.get("/local/v1/traces", params={"limit": "x"})).status_code == 400
    exported = (await client.get("/local/v1/traces/export", params={"ids": first["trace_id"]})).json()
    await keeper.remove_job("j")
    assert (await client.get("/local/v1/traces")).json()["total"] == 0
    answer = await client.post("/local/v1/traces", content=json.dumps(exported))
    assert answer.json()["trace_ids"] == [first["trace_id"]]
    assert (await client.get("/local/v1/traces")).json()["runs"] == [first]
    refused = await client.post("/local/v1/traces", content=b"no json")
    assert refused.status_code == 400


async def test_traces_of_an_older_release_are_there_from_the_first_look(tmp_path: Path) -> None:
    folder = PlatformPaths(tmp_path / "platform").traces
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "traces.db")) as db:
        db.executescript(
            "create table runs (trace_id text primary key, job_id, rollout_id, sample_id, attempt_id, function,"
            " started_ns, errors, is_complete, bytes, record); create table spans (trace_id text primary key, body);"
        )
    keeper = TraceKeeper(folder, Tasks(), max_age_s=1e9, max_bytes=1 << 30)
    await keeper.flush()
    assert keeper.reader.find("a") == []
    await keeper.stop()


async def test_a_full_queue_or_a_bad_record_harms_nobody(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(platform_traces, "MAX_QUEUED", 1)
    for number in (1, 2, 3):
        take(platform.traces, CallResult(CallStatus.OK, {}, trace=records(number)))
    assert platform.traces.dropped == 2
    take(platform.traces, CallResult(CallStatus.OK, {}, trace=({"type": "span", "span_id": "x"},)))
    assert "cannot be kept" in caplog.text
    await platform.traces.flush()
    assert platform.traces.reader.count() == 1
    assert "2 traces were dropped" in caplog.text


async def test_tracing_off_is_the_reason(platform: Platform) -> None:
    platform.traces.calls_of = lambda _key: ("",)
    take(platform.traces, CallResult(CallStatus.OK, {}), env={"ENABLE_TRAJECTORY": "False"})
    tally = platform.traces.tally("j")
    assert tally is not None
    assert tally.text == "LLM 0/1, tools 0/0: tracing is off (ENABLE_TRAJECTORY=false)"


async def test_the_settings_say_how_long_and_how_much_is_kept(tmp_path: Path) -> None:
    """What is too old goes when the platform starts; then the oldest, until the rest fits."""
    (tmp_path / "agentic-rl.toml").write_text("[local]\ntrace_days = 2\nmax_trace_bytes = 4000\n")
    options = PlatformOptions.from_settings(load(workspace=tmp_path))
    store = TraceStore(PlatformPaths(tmp_path / "platform").traces)
    now, day = time.time_ns(), 86_400 * 10**9
    for number, (age, size) in enumerate(((3, 10), (1.5, 900), (1, 900), (0.5, 900)), 1):
        start = now - int(age * day)
        noise = random.Random(number).randbytes(size).hex()
        span = Span(f"{number:032x}", "a" * 16, None, "chat m", "CLIENT", start, start + 1, {"output.value": noise})
        store.add([(Run.over([span]), [span])])
    store.close()
    platform = Platform(tmp_path / "platform", options=options)
    await platform.start()
    try:
        await platform.traces.prune()
        kept = [int(run.trace_id, 16) for run in platform.traces.reader.runs()]
    finally:
        await platform.stop()
    assert kept == [4, 3]
