"""Traces on their way to a collector: what it is sent, and that nothing it does reaches a job."""

import asyncio
import gzip
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.platform.tasks import Tasks
from agentic_rl_tui.core.platform.traces import TraceKeeper
from agentic_rl_tui.core.platform.traces_export import TraceExport
from agentic_rl_tui.core.tracing import otlp, otlp_proto
from agentic_rl_tui.core.tracing.export import Target, target_of
from agentic_rl_tui.core.tracing.model import Run, Span

IDS = {f"bailian.agentic_rl.{name}_id": name for name in ("rollout", "sample", "attempt")}
ODD = {"half": "a\ud800b", "big": 1 << 70, "endless": float("inf"), "none": None, "list": ["a", 1], "map": {"k": True}}


def trace(number: int = 1, **attributes: Any) -> tuple[Run, tuple[Span, ...]]:
    span = Span(
        f"{number:032x}",
        f"{number:016x}",
        f"{99:016x}",
        "chat m",
        "CLIENT",
        1_796_000_000_000_000_000,
        1_796_000_001_000_000_000,
        {"gen_ai.span.kind": "LLM", **IDS, **attributes},
        ({"name": "exception", "time_ns": 1_796_000_000_500_000_000, "attributes": {"exception.type": "E"}},),
        "ERROR",
        "E: no",
        "scope",
    )
    return Run.over([span], function="R", kind="rollout"), (span,)


class Collector:
    """What came, and what to answer next; 200 when nothing is said."""

    def __init__(self) -> None:
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.url = ""
        self.is_here = asyncio.Event()

    async def take(self, request: Request) -> Response:
        self.came.append((dict(request.headers), await request.body()))
        self.is_here.set()
        return Response(status_code=self.answers.pop(0) if self.answers else 200)


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    made = Collector()
    app = Starlette(routes=[Route("/v1/traces", made.take, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    made.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    yield made
    server.should_exit = True
    await serving
    listener.close()


def export_to(url: str, **more: Any) -> TraceExport:
    return TraceExport(Target(f"{url}/v1/traces", **more))


@pytest.mark.parametrize(
    ("protocol", "kind"),
    [("http/json", "application/json"), ("http/protobuf", "application/x-protobuf"), ("", "application/x-protobuf")],
)
async def test_traces_arrive_as_asked(collector: Collector, tmp_path: Path, protocol: str, kind: str) -> None:
    """The whole way: a call that ended in a job, its function's variables, the collector."""
    tasks = Tasks()
    keeper = TraceKeeper(tmp_path, tasks, max_age_s=1e9, max_bytes=1 << 30)
    keeper.start()
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=1,authorization=Bearer%20t",
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_SERVICE_NAME": "mine",
    }
    _, (span,) = trace(**ODD)
    result = CallResult(CallStatus.OK, {}, trace=({"type": "span", **span.record()},))
    keeper.take({"request_metadata": {"rollout_id": "r"}}, result, function="R", kind="rollout", env=env, job_id="j")
    await asyncio.wait_for(collector.is_here.wait(), 20)
    ((headers, content),) = collector.came
    assert (headers["content-type"], headers["content-encoding"]) == (kind, "gzip")
    assert (headers["x-key"], headers["authorization"]) == ("1", "Bearer t")
    content = gzip.decompress(content)
    if kind == "application/json":
        resource = json.loads(content)["resourceSpans"][0]
        attributes = {item["key"]: item["value"].get("stringValue") for item in resource["resource"]["attributes"]}
        sent = resource["scopeSpans"][0]["spans"][0]
        ids = [sent["traceId"], sent["spanId"], sent["parentSpanId"]]
        found = {item["key"]: item["value"].get("stringValue") for item in sent["attributes"]}
        assert (sent["kind"], sent["status"]["code"], sent["events"][0]["name"]) == (3, 2, "exception")
    else:
        (whole,) = ExportTraceServiceRequest.FromString(content).resource_spans
        attributes = {item.key: item.value.string_value for item in whole.resource.attributes}
        (parsed,) = whole.scope_spans[0].spans
        ids = [parsed.trace_id.hex(), parsed.span_id.hex(), parsed.parent_span_id.hex()]
        found = {item.key: item.value.string_value for item in parsed.attributes}
        assert (parsed.kind, parsed.status.code, parsed.events[0].name) == (3, 2, "exception")
        assert parsed.end_time_unix_nano == span.end_ns
    assert attributes["service.name"] == "mine"
    assert attributes["agentic_rl.job_id"] == "j"
    assert ids == [span.trace_id, span.span_id, span.parent_id]
    assert {key: found[key] for key in IDS} == IDS
    assert (found["half"], found["big"]) == ("a?b", str(1 << 70))
    await keeper.stop()
    await tasks.stop()


async def test_a_collector_that_is_down_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    export = export_to("http://127.0.0.1:9")
    for _ in range(3):
        export.add(trace())
        await asyncio.wait_for(export.stop(), 5)
    assert caplog.text.count("takes no traces: ConnectError") == 1
    assert "127.0.0.1:9" in export.fault


async def test_a_collector_that_hangs_is_left_after_its_time(caplog: pytest.LogCaptureFixture) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    target = target_of(
        {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{listener.getsockname()[1]}",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "100",
        }
    )
    assert target is not None
    export = TraceExport(target)
    export.add(trace())
    await export.stop()
    listener.close()
    assert "takes no traces: ReadTimeout" in caplog.text


async def test_what_is_refused_is_dropped_and_what_may_pass_is_sent_again(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    export = export_to(collector.url, protocol="http/json")
    collector.answers = [400, 400, 503]
    for number in (1, 2):
        export.add(trace(number))
        await export.stop()
    assert caplog.text.count("takes no traces: HTTP 400") == 1
    assert export.dropped == 2
    export.add(trace(3))
    await export.stop()
    assert export.fault.endswith("HTTP 503")
    await export.stop()
    assert export.fault == ""
    sent = [otlp.decode(content)[0][0].trace_id for _, content in collector.came]
    assert [int(trace_id, 16) for trace_id in sent] == [1, 2, 3, 3]


async def test_a_batch_that_is_too_large_is_sent_in_parts(collector: Collector) -> None:
    export = export_to(collector.url, protocol="http/json")
    collector.answers = [413, 413]
    for number in range(1, 5):
        export.add(trace(number))
    await export.stop()
    assert [len(otlp.decode(content)) for _, content in collector.came] == [4, 2, 1, 1, 1, 1]
    assert export.dropped == 0


async def test_protobuf_that_is_not_installed(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def absent() -> None:
        raise ImportError("gone", name="opentelemetry.proto")

    monkeypatch.setattr(otlp_proto, "_parts", absent)
    otlp_proto.is_installed.cache_clear()
    asked = export_to(collector.url, protocol="http/protobuf")
    asked.add(trace())
    await asked.stop()
    assert "opentelemetry-proto, which is not installed (opentelemetry.proto)" in asked.fault
    assert "pip install 'agentic-rl-tui[otlp]'" in caplog.text
    assert collector.came == []
    free = export_to(collector.url)
    free.add(trace())
    await free.stop()
    assert collector.came[0][0]["content-type"] == "application/json"
    monkeypatch.undo()
    otlp_proto.is_installed.cache_clear()


async def test_a_protocol_nobody_speaks(caplog: pytest.LogCaptureFixture) -> None:
    export = export_to("http://127.0.0.1:9", protocol="grpc")
    export.add(trace())
    await export.stop()
    assert "OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not known here Set it to http/protobuf or http/json." in caplog.text


async def test_a_job_is_told_of_its_collector_and_waits_for_nothing(tmp_path: Path) -> None:
    tasks = Tasks()
    keeper = TraceKeeper(tmp_path, tasks, max_age_s=1e9, max_bytes=1 << 30)
    env = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/x",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json",
    }
    for number in range(1, 4):
        _, (span,) = trace(number)
        result = CallResult(CallStatus.OK, {}, trace=({"type": "span", **span.record()},))
        keeper.take({}, result, function="R", kind="rollout", env=env, job_id="j")
        (export,) = keeper._exports.values()
        await export.stop()
    tally = keeper.tally("j")
    assert tally is not None
    assert tally.text == (
        "LLM 3/3, tools 0/0: the collector http://127.0.0.1:9/x takes no traces: "
        "ConnectError: All connection attempts failed"
    )
    await keeper.stop()
    await tasks.stop()
    assert keeper.reader.count() == 3


def test_where_a_collector_is() -> None:
    general = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a/", "OTEL_EXPORTER_OTLP_HEADERS": "a=1"}
    only = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b/t", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2"}
    assert target_of({}, general) == Target("http://a/v1/traces", (("a", "1"),))
    assert target_of({**general, **only}) == Target("http://b/t", (("b", "2"),))
    assert target_of({**general, "OTEL_EXPORTER_OTLP_TIMEOUT": "x"}) == Target("http://a/v1/traces", (("a", "1"),))
    assert target_of({"OTEL_TRACES_EXPORTER": "none"}, general) is None
    assert target_of({}) is None
