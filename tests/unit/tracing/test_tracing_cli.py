"""The verbs of ``trace`` against a local platform, as somebody types them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.tracing import otlp
from agentic_rl_tui.core.tracing.model import Completeness, Counted, Run, Span

Typed = Callable[..., tuple[int, str, str]]
START = 1_796_000_000_000_000_000


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Typed]:
    """Exit code, stdout and stderr of a verb."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        try:
            code = main(["trace", *words])
        except SystemExit as end:
            code = int(end.code or 0)
        told = capsys.readouterr()
        return code, told.out, told.err

    yield run
    main(["platform", "stop", "--force"])
    capsys.readouterr()


def recorded(number: int, *, status: str = "ok", completeness: Completeness | None = None) -> tuple[Run, list[Span]]:
    trace_id, start = f"{number:x}" * 32, START + number * 10**9
    ids = {"bailian.agentic_rl.rollout_id": f"train-1-0-{number}"}
    root_id = f"{number:x}a" * 8
    root = Span(trace_id, root_id, None, "invoke_agentic_rl", "INTERNAL", start, start + 2 * 10**9, ids)
    usage = {"gen_ai.span.kind": "LLM", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 5}
    ended = ("ERROR", "E:\x1b[31m no") if status != "ok" else ("OK", "")
    chat = Span(trace_id, "b" * 16, root_id, "chat m", "CLIENT", start + 10**9, start + 2 * 10**9, usage, (), *ended)
    facts = {"function": "agent.R", "kind": "rollout", "job_id": "ft-1" if number < 3 else "ft-2", "status": status}
    return Run.over([root, chat], **facts, completeness=completeness or Completeness(Counted(1, 1))), [root, chat]


SHORT = Completeness(Counted(1, 1), Counted(0, 2, ("trace_tool() was never called",)))


def test_the_verbs_one_after_the_other(typed: Typed, tmp_path: Path) -> None:
    runs = [recorded(1), recorded(2, completeness=SHORT), recorded(3, status="raised")]
    (tmp_path / "runs.json").write_text(json.dumps(otlp.encode(runs)))
    code, out, err = typed("list")
    assert (code, err) == (exits.OK, "")
    assert out.split() == [
        "RUN",
        "WHEN",
        "FUNCTION",
        "ROLLOUT",
        "ENDED",
        "SECONDS",
        "LLM",
        "TOOLS",
        "TOKENS",
        "ERRORS",
    ]

    code, out, _ = typed("import", "runs.json")
    assert code == exits.OK
    assert sorted(out.split()) == [f"{number}a" * 8 for number in (1, 2, 3)]

    code, out, err = typed("list")
    rows = [line.split() for line in out.splitlines()[1:]]
    assert [row[0] for row in rows] == ["3a" * 8, "2a" * 8, "1a" * 8]
    assert rows[1][3:] == ["agent.R", "train-1-0-2", "ok", "2.000", "1/1", "0/2", "12", "0"]
    code, out, err = typed("list", "--limit", "1")
    assert len(out.splitlines()) == 2
    assert err == "1 of 3 runs; --limit shows more\n"

    def listed(*words: str) -> list[str]:
        found = json.loads(typed("list", *words, "-o", "json")[1])
        assert found["total"] == len(found["runs"])
        return [run["trace_id"][0] for run in found["runs"]]

    assert listed("--job", "ft-1") == ["2", "1"]
    assert listed("--rollout", "train-1-0-3") == ["3"]
    assert listed("--text", "raised agent") == ["3"]
    assert listed("--text", "nothing") == []
    assert listed("--errors") == ["3"]
    assert listed("--incomplete") == ["2"]
    whole = yaml.safe_load(typed("list", "--incomplete", "-o", "yaml")[1])
    assert whole["runs"][0]["completeness"]["tools"] == [0, 2, ["trace_tool() was never called"]]

    code, out, _ = typed("show", "2" * 5)
    assert code == exits.OK
    assert "completeness  LLM 1/1, tools 0/2: trace_tool() was never called" in out
    assert [line.split("s  ", 2)[-1] for line in out.splitlines()[-2:]] == ["invoke_agentic_rl", "  chat m"]
    assert typed("show", "2a" * 3)[1] == out
    assert "E: no" in typed("show", "3" * 32)[1].replace("�", "")
    assert "\x1b" not in typed("show", "3" * 32)[1]
    shown = json.loads(typed("show", "1" * 32, "-o", "json")[1])
    assert (shown["run"]["tokens_out"], [span["name"] for span in shown["spans"]]) == (
        5,
        ["invoke_agentic_rl", "chat m"],
    )

    assert [run.trace_id[0] for run, _ in otlp.decode(typed("export", "1" * 32, "3" * 32)[1])] == ["1", "3"]
    code, out, err = typed("export", "--job", "ft-1", "--file", "out.json")
    written = (tmp_path / "out.json").read_bytes()
    assert (code, out, err) == (exits.OK, "", f"wrote {len(written)} bytes to out.json\n")
    exported = otlp.decode(written)
    assert sorted(run.trace_id[0] for run, _ in exported) == ["1", "2"]
    assert next(run.completeness for run, _ in exported if run.trace_id[0] == "2") == SHORT

    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "empty.json").write_text('{"resourceSpans": []}')
    for words, expected, why in (
        (("show", "9" * 32), exits.REJECTED, "not found"),
        (("show", "a/b"), exits.USAGE, "trace id"),
        (("export", "9" * 32), exits.REJECTED, "not found"),
        (("export", "1" * 32, "--file", "absent/out.json"), exits.USAGE, "absent/out.json cannot be written: No such"),
        (("import", "absent.json"), exits.USAGE, "absent.json cannot be read: No such file"),
        (("import", "bad.json"), exits.REJECTED, "no OTLP JSON"),
        (("import", "empty.json"), exits.REJECTED, "holds no spans"),
    ):
        code, out, err = typed(*words)
        assert (code, out) == (expected, ""), (words, err)
        assert why in err, (words, err)


def test_runs_of_one_trace_are_told_apart(typed: Typed, tmp_path: Path) -> None:
    runs = []
    for number, run_id in enumerate(("ab" * 8, "ac" * 8)):
        start = START + number * 10**9
        spans = [Span("d" * 32, run_id, "e" * 16, f"call {number}", "INTERNAL", start, start + 10**9)]
        runs.append((Run.over(spans, function=f"agent.F{number}", kind="rollout"), spans))
    (tmp_path / "runs.json").write_text(json.dumps(otlp.encode(runs)))
    assert typed("import", "runs.json")[1].split() == ["ab" * 8, "ac" * 8]
    assert [line.split()[0] for line in typed("list")[1].splitlines()[1:]] == ["ac" * 8, "ab" * 8]
    for name in ("d" * 32, "d" * 9, "a"):
        code, out, err = typed("show", name)
        assert (code, out) == (exits.REJECTED, "")
        told = f"fits several runs: {'ac' * 8} (agent.F1), {'ab' * 8} (agent.F0); give the id of one"
        assert f"{name} {told}" in err
    for name in ("ab", "ab" * 8, f"{'d' * 32}-{'ab' * 8}"):
        assert typed("show", name)[1].splitlines()[-1].endswith("call 0"), name
    for names, expected in ((["d" * 32], 2), (["d" * 32, "ab" * 8], 2), (["ac"], 1)):
        assert len(otlp.decode(typed("export", *names)[1])) == expected
    assert typed("export", "a")[0] == exits.REJECTED
    assert typed("import", "runs.json")[0] == exits.OK
    assert len(typed("list")[1].splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("show",), "give the id of one run or trace to show"),
        (("show", "a", "b"), "give the id of one run or trace to show"),
        (("import",), "give a file to import"),
        (("forget",), "forget"),
        (("list", "--limit", "many"), "--limit"),
    ],
)
def test_what_is_asked_wrongly(typed: Typed, words: tuple[str, ...], why: str) -> None:
    code, out, err = typed(*words)
    assert (code, out) == (exits.USAGE, "")
    assert why in err


def test_other_profiles_keep_their_traces(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-0123456789abcdef")
    code, out, err = typed("list", "--profile", "dashscope")
    assert (code, out) == (exits.USAGE, ""), err
    assert "traces of this profile are kept by the service" in err
