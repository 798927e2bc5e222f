"""The parts of tracing that need no worker."""

import contextlib
import gettext
import json
import sqlite3
import time
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.app.present.traces import tracing_lines
from agentic_rl_tui.core import i18n
from agentic_rl_tui.core.functions.calls import CallStatus
from agentic_rl_tui.core.functions.harness_report import ModelCall, Stage, TestReport
from agentic_rl_tui.core.functions.harness_traces import with_model_calls
from agentic_rl_tui.core.models.errors import InputError, PlatformError
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath
from agentic_rl_tui.core.tracing import otlp, payload, reasons
from agentic_rl_tui.core.tracing.collect import Tally, judge, spans_of
from agentic_rl_tui.core.tracing.export import target_of
from agentic_rl_tui.core.tracing.messages import (
    Joined,
    openai_chat_messages_to_input_messages,
    openai_completion_to_output_messages,
)
from agentic_rl_tui.core.tracing.model import Completeness, Counted, Run, Span
from agentic_rl_tui.core.tracing.store import TraceReader, TraceStore, Wanted
from agentic_rl_tui.core.tracing.tree import depth_first


def span(number: int, parent: int | None = None, *, trace: str = "a" * 32, **fields: object) -> Span:
    given_fields: dict[str, object] = {"attributes": {"gen_ai.span.kind": "LLM", "n": number}} | fields
    start = 1_700_000_000_000_000_000 + number * 1000
    parent_id = None if parent is None else f"{parent:016x}"
    return Span(trace, f"{number:016x}", parent_id, f"chat {number}", "CLIENT", start, start + 500, **given_fields)  # type: ignore[arg-type]


def test_payloads_are_cut_with_a_mark_and_masked() -> None:
    assert payload.cut("abc", 3) == "abc"
    assert payload.cut("abcd", 3) == "abc… [cut: 3 of 4 characters kept]"
    shown = json.loads(payload.preview({"api_key": "sk", "max_tokens": 5, "inner": [{"Authorization": "x", "a": 1}]}))
    assert shown == {"api_key": "******", "max_tokens": 5, "inner": [{"Authorization": "******", "a": 1}]}
    assert payload.arguments('{"password": "p"}') == '{"password": "******"}'
    assert payload.arguments("not json") == "not json"

    class Rude:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert "cannot be shown" in payload.preview(Rude())


def test_messages_of_several_forms() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": '{"x": 1}'}}
    given_messages = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": "u"}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "c", "content": "84"},
    ]
    found = openai_chat_messages_to_input_messages(given_messages)
    assert [part["type"] for part in found[0]["parts"]] == ["text", "image_url"]
    assert found[1]["parts"] == [
        {"type": "reasoning", "content": "hm"},
        {"type": "tool_call", "id": "c", "name": "f", "arguments": {"x": 1}},
    ]
    assert found[2]["parts"] == [{"type": "tool_call_response", "id": "c", "result": "84"}]
    assert openai_chat_messages_to_input_messages("hi")[0]["parts"][0]["content"] == "hi"
    assert openai_completion_to_output_messages({"choices": []}) == []


def test_chunks_of_a_tool_call_are_joined() -> None:
    joined = Joined()

    def chunk(**delta: object) -> dict[str, object]:
        return {"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    joined.add(chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}}]))
    joined.add(chunk(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]))
    joined.add({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
    (message,) = joined.messages()
    assert message["parts"] == [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}]
    assert joined.facts["usage"] == {"prompt_tokens": 1, "completion_tokens": 2}
    assert joined.chunks == 3


def test_a_span_that_never_ended_says_why() -> None:
    begun = {"type": "begun", **span(1).record(), "end_ns": None}
    (found,) = spans_of([begun], ended="no answer within 5 s")
    assert (found.status, found.message) == ("ERROR", "no answer within 5 s")
    assert found.attributes["agentic_rl.unfinished"] == "no answer within 5 s"
    assert found.end_ns is not None


def test_retries_inside_one_span_are_no_missing_calls() -> None:
    facts = {"type": "facts", "clients": 1, "tools": 0, "unsupported": [], "decorated": []}
    posts = [{"type": "http", "path": "/v1/chat/completions", "traced": True}] * 3
    found = judge([facts, *posts], [span(1)], model_calls=3)
    assert found.llm == Counted(1, 1)


def test_a_tally_tells_the_commonest_reason_first() -> None:
    tally = Tally()
    for told in (("b",), ("a",), ("a",)):
        tally.add(Completeness(Counted(1, 2, told), Counted(0, 1, ("t",))))
    assert tally.text == "LLM 3/6, tools 0/3: t; a; b"
    assert tally.record()["llm"] == {"traced": 3, "total": 6}


def test_the_endpoint_follows_the_specification() -> None:
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/", "OTEL_EXPORTER_OTLP_HEADERS": "Key=a%20b, other=1,bad"}
    target = target_of({}, base)
    assert target is not None
    assert target.url == "http://c:4318/v1/traces"
    assert target.headers == (("key", "a b"), ("other", "1"))
    whole = target_of(
        {**base, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://d/in", "OTEL_EXPORTER_OTLP_TIMEOUT": "500"}
    )
    assert whole is not None
    assert (whole.url, whole.timeout_s) == ("http://d/in", 0.5)
    assert target_of({}, {}) is None


def trace(number: int, **facts: object) -> tuple[Run, tuple[Span, ...]]:
    trace_id = f"{number:032x}"
    spans = (span(number, trace=trace_id), span(number + 1, number, trace=trace_id))
    return Run.over(spans, function=f"F{number}", kind="rollout", **facts), spans  # type: ignore[arg-type]


def test_otlp_comes_back_as_it_went() -> None:
    bad = span(3, status="ERROR", message="no", events=({"name": "exception", "time_ns": 5, "attributes": {"a": "b"}},))
    odd = span(4, attributes={"i": 1, "f": 1.5, "b": True, "l": ["x", "y"], "gen_ai.span.kind": "TOOL"})
    run = Run.over((bad, odd), function="F", job_id="j", status="raised", detail="no", kind="rollout")
    text = json.dumps(otlp.encode([(run, (bad, odd))]))
    assert otlp.decode(text) == [(run, (bad, odd))]
    lines = "\n".join(json.dumps(otlp.encode([trace(number)])) for number in (1, 2))
    assert [item.function for item, _ in otlp.decode(lines)] == ["F1", "F2"]


@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}'])
def test_what_is_no_export_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        otlp.decode(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_is_refused_with_words_or_read(value: object) -> None:
    with contextlib.suppress(InputError):
        otlp.decode(json.dumps({"resourceSpans": value}))


def test_foreign_spans_get_a_run_of_their_own() -> None:
    raw = {
        "traceId": "AB" * 16,
        "spanId": "CD" * 8,
        "name": "GET /",
        "kind": "SPAN_KIND_SERVER",
        "startTimeUnixNano": 5,
        "endTimeUnixNano": "9",
        "status": {"code": "STATUS_CODE_ERROR", "message": "x"},
    }
    ((run, (found,)),) = otlp.decode(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [raw]}]}]}))
    assert (run.function, run.status, run.detail, run.source) == ("GET /", "raised", "x", "import")
    assert (found.kind, found.status, found.trace_id) == ("SERVER", "ERROR", "ab" * 16)
    assert run.completeness.text == f"LLM 0/0, tools 0/0: {reasons.FOREIGN}"


def test_calls_of_foreign_spans_are_counted_as_far_as_they_are_known() -> None:
    raws = [
        {"traceId": "ab" * 16, "spanId": f"{place:016x}", "name": kind, "startTimeUnixNano": place + 1}
        | {"attributes": [{"key": "gen_ai.span.kind", "value": {"stringValue": kind}}]}
        for place, kind in enumerate(["CHAIN", "LLM", "TOOL", "LLM"])
    ]
    ((run, _spans),) = otlp.decode(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": raws}]}]}))
    assert run.completeness.text == f"LLM 2/2, tools 1/1: {reasons.FOREIGN}"
    assert run.completeness.is_complete


def test_the_store_finds_masks_and_forgets(tmp_path: Path) -> None:
    store, reader = TraceStore(tmp_path), TraceReader(tmp_path)
    secret = (span(7, trace="7" * 32, attributes={"k": "Bearer sk-verysecretkey123"}),)
    store.add([trace(1, job_id="j1", errors=1), trace(2, job_id="j2"), (Run.over(secret, function="Secret"), secret)])
    assert [run.function for run in reader.runs()] == ["Secret", "F2", "F1"]
    assert [run.function for run in reader.runs(Wanted(job_id="j1"))] == ["F1"]
    assert [run.function for run in reader.runs(Wanted(text="f2 j2"))] == ["F2"]
    assert reader.runs(Wanted(text="100%")) == []
    assert [run.function for run in reader.runs(Wanted(only_errors=True))] == ["F1"]
    assert reader.count() == 3
    assert reader.runs(Wanted(limit=1, before_ns=reader.runs()[0].started_ns))[0].function == "F2"
    assert reader.find("7777") == reader.find(f"{7:016x}") == [reader.runs()[0]]
    assert [run.function for run in reader.find("0" * 14)] == ["Secret", "F2", "F1"]
    assert reader.spans(trace(2)[0]) == list(trace(2)[1])
    assert "verysecret" not in str(reader.spans(reader.runs()[0]))
    assert oct((tmp_path / "traces.db").stat().st_mode)[-3:] == "600"
    store.remove_job("j2")
    assert [run.function for run in reader.runs()] == ["Secret", "F1"]
    assert store.prune(max_age_s=time.time(), max_bytes=reader_bytes(reader) - 1) == 1
    assert [run.function for run in reader.runs()] == ["Secret"]
    assert store.prune(max_age_s=1, max_bytes=1 << 30) == 1
    assert reader.runs() == []
    store.close()


def of_one_trace(*numbers: int) -> list[tuple[Run, tuple[Span, ...]]]:
    """Calls of one caller: its span is the parent of each, and is in none."""
    calls = [(span(number, 900), span(number + 1, number)) for number in numbers]
    return [(Run.over(spans, function=f"F{spans[0].attributes['n']}"), spans) for spans in calls]


def test_calls_of_one_trace_are_kept_and_read_apart(tmp_path: Path) -> None:
    store, reader = TraceStore(tmp_path), TraceReader(tmp_path)
    first, second = of_one_trace(10, 20)
    store.add([first, second])
    store.add([(replace(first[0], status="raised"), first[1])])
    assert [(run.function, run.status) for run in reader.runs()] == [("F20", "ok"), ("F10", "raised")]
    for name in (f"{20:016x}", second[0].key, f"{20:016x}"[:-1]):
        assert [run.function for run in reader.find(name)] == ["F20"], name
    assert [run.function for run in reader.find("a" * 32)] == ["F20", "F10"]
    assert [run.function for run in reader.find("a" * 31)] == ["F20", "F10"]
    assert reader.find(f"{'a' * 32}-{5:016x}") == []
    assert [len(reader.spans(run)) for run in reader.runs()] == [2, 2]
    exported = json.dumps(otlp.encode([(run, reader.spans(run)) for run in reader.runs()]))
    assert [(run.function, len(spans)) for run, spans in otlp.decode(exported)] == [("F20", 2), ("F10", 2)]
    store.close()


OLD_TABLES = """
create table runs (
  trace_id text primary key, job_id text not null, rollout_id text not null, sample_id text not null,
  attempt_id text not null, function text not null, started_ns integer not null, errors integer not null,
  is_complete integer not null, bytes integer not null, record text not null
);
create index runs_by_time on runs (started_ns);
create index runs_by_job on runs (job_id, started_ns);
create index runs_by_rollout on runs (rollout_id, started_ns);
create table spans (trace_id text primary key, body blob not null);
"""


def old_store(folder: Path, *traces: tuple[Run, tuple[Span, ...]]) -> None:
    """As the first release of the store left it."""
    folder.mkdir(exist_ok=True)
    with contextlib.closing(sqlite3.connect(folder / "traces.db")) as db, db:
        db.executescript(OLD_TABLES)
        for run, spans in traces:
            record = {key: value for key, value in run.record().items() if key != "run_id"}
            body = zlib.compress(json.dumps([item.record() for item in spans]).encode())
            facts = (run.trace_id, run.job_id, "", "", "", run.function, run.started_ns, 0, 1, len(body))
            db.execute("insert into runs values (?,?,?,?,?,?,?,?,?,?,?)", (*facts, json.dumps(record)))
            db.execute("insert into spans values (?,?)", (run.trace_id, body))


def test_a_store_of_an_older_release_is_taken_over(tmp_path: Path) -> None:
    big = (span(30, trace="b" * 32, attributes={"input.value": "x" * 50_000}),)
    old_store(tmp_path, trace(1, job_id="j1"), trace(2, job_id="j2"), (Run.over(big, function="Big"), big))
    TraceStore(tmp_path).close()
    store, reader = TraceStore(tmp_path), TraceReader(tmp_path)
    assert [run.function for run in reader.runs()] == ["Big", "F2", "F1"]
    assert reader.runs()[1:] == [trace(2, job_id="j2")[0], trace(1, job_id="j1")[0]]
    assert [reader.spans(run) for run in reader.runs()] == [list(big), list(trace(2)[1]), list(trace(1)[1])]
    assert [run.function for run in reader.find(f"{2:016x}")] == ["F2"]
    assert [run.function for run in reader.find("b" * 32)] == ["Big"]
    store.add([trace(2, job_id="j2", detail="again"), *of_one_trace(10, 20)])
    assert [(run.function, run.detail) for run in reader.runs()][-2:] == [("F2", "again"), ("F1", "")]
    assert reader.count() == 5
    store.remove_job("j1")
    assert store.prune(max_age_s=time.time(), max_bytes=0) == 4
    assert reader._rows("select id from spans", ()) == []
    store.close()


def test_a_store_of_a_later_release_is_left_alone(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "traces.db")) as db:
        db.execute("pragma user_version = 99")
    with pytest.raises(PlatformError, match="later release"):
        TraceStore(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "traces.db")) as db:
        assert db.execute("select name from sqlite_master").fetchall() == []


def reader_bytes(reader: TraceReader) -> int:
    return sum(row[0] for row in reader._rows("select bytes from runs", ()))


def test_an_absent_store_holds_nothing(tmp_path: Path) -> None:
    reader = TraceReader(tmp_path / "none")
    assert reader.runs() == []
    assert reader.count() == 0
    assert reader.find("a") == []


def test_the_tree_shows_orphans_rings_and_folds() -> None:
    spans = [span(1), span(2, 1), span(3, 2), span(4, 99), span(5, 6), span(6, 5)]
    assert [(depth, item.attributes["n"]) for depth, item in depth_first(spans)] == [
        (0, 1), (1, 2), (2, 3), (0, 4), (0, 5), (1, 6),
    ]  # fmt: skip
    folded = [item.attributes["n"] for _, item in depth_first(spans[:4], folded=frozenset({f"{1:016x}"}))]
    assert folded == [1, 4]


def test_a_try_is_judged_by_what_the_models_server_saw() -> None:
    report = TestReport(
        ClassPath("agent", "R"),
        FunctionKind.ROLLOUT,
        Stage.CALL,
        CallStatus.OK,
        {"messages": []},
        output={"agent_output": {"messages": [{"role": "tool", "content": "84"}]}},
    )
    counted = with_model_calls(report, [ModelCall("practice")])
    assert counted.completeness is not None
    assert counted.completeness.text == (
        "LLM 0/1, tools 0/1: trace_client() was never called; trace_tool() was never called"
    )
    assert [caution.rule for caution in counted.warnings] == ["not-traced"]
    spans = (span(1), span(2))
    named = with_model_calls(
        replace(counted, spans=spans, output={}), [ModelCall("practice", span=item.span_id) for item in spans]
    )
    assert named.completeness is not None
    assert (named.completeness.text, named.completeness.linked) == ("LLM 2/2, tools 0/0", 2)
    assert named.warnings == ()


def test_reasons_are_told_in_the_language_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loud(gettext.NullTranslations):
        def gettext(self, message: str) -> str:
            return message.upper().replace("{NAMES}", "{names}").replace("{COUNT}", "{count}")

    monkeypatch.setattr(i18n._Current, "catalogue", Loud())
    assert reasons.told(reasons.NEVER_CLIENT) == "TRACE_CLIENT() WAS NEVER CALLED"
    assert reasons.told(reasons.UNKNOWN_CLIENT.format(names="a.B, c.D")) == (
        "TRACE_CLIENT() DOES NOT KNOW a.B, c.D; USE @OBSERVE_LLM"
    )
    assert reasons.told("tool calc was not given to trace_tool()") == "tool calc WAS NOT GIVEN TO TRACE_TOOL()"
    assert reasons.told("what nobody knows") == "what nobody knows"
    short = Completeness(Counted(0, 1, (reasons.NEVER_CLIENT,)), Counted(), (reasons.CONTEXT_LOST.format(count=2),))
    assert short.record()["llm"] == [0, 1, ["trace_client() was never called"]]
    assert short.why == (
        "TRACE_CLIENT() WAS NEVER CALLED; THE CONTEXT WAS LOST FOR SPANS (A THREAD MADE BEFORE THE CALL?): 2"
    )


def test_what_the_worker_writes_is_known_to_whoever_tells_it() -> None:
    """The worker imports no translation, so it holds the same sentences a second time."""
    worker = "".join((Path(reasons.__file__).parent / name).read_text() for name in ("calls.py", "llm.py", "tools.py"))
    assert f'"{reasons.LEFT_OPEN}"' in worker
    assert f'"{reasons.LEFT_STREAM}"' in worker
    assert f'"{reasons.LEFT_PARTS}"' in worker


def test_a_report_tells_how_whole_the_traces_of_its_job_are() -> None:
    tally = Tally()
    tally.add(Completeness(Counted(1_900, 1_920, (reasons.LATE_CLIENT,)), Counted(640, 640)))
    tally.notes["the collector http://x takes no traces: HTTP 400"] = None
    assert tracing_lines({"tracing": tally.record()}) == (
        "LLM 1,900/1,920",
        "tools 640/640",
        "trace_client() was called after the first model call; call it in setup()",
        "the collector http://x takes no traces: HTTP 400",
    )
    assert tracing_lines({"tracing": None}) == tracing_lines(None) == ()
