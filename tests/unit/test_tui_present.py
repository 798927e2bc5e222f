"""Jobs, times, steps and errors as people read them; keys and cadence."""

import ast
import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from agentic_rl_tui.app import keymap, keynames, scopes
from agentic_rl_tui.app.backend import StepNews
from agentic_rl_tui.app.poll import Pauses, Pulse, delay_s, eased_s
from agentic_rl_tui.app.present.jobs import JOB_COLUMNS, JobRow, counts, job_filter, job_row
from agentic_rl_tui.app.present.states import health_look, job_look
from agentic_rl_tui.app.present.steps import StepLine, size, step_line, told
from agentic_rl_tui.app.present.times import coarse_duration, parse_time, short_duration
from agentic_rl_tui.app.surfaces import Outage, ProblemLog, problem
from agentic_rl_tui.core.models.errors import ServerError
from agentic_rl_tui.core.models.jobs import Job, JobProgress
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.widgets.cells import fit, width_of

BEIJING = timezone(timedelta(hours=8))
NOW = datetime(2026, 12, 1, 13, 0, tzinfo=UTC).timestamp()


def row(**fields: object) -> JobRow:
    values: dict[str, object] = {"job_id": "ft-1", "status": "RUNNING", "create_time": "2026-12-01 20:55:00"}
    return job_row(Job(**(values | fields)), now=NOW, zone=BEIJING)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seconds", "short", "coarse"),
    [
        (0, "0s", "0s"),
        (59, "59s", "59s"),
        (252, "4m12s", "4m"),
        (7500, "2h05m", "2h"),
        (100_000, "1d3h", "1d"),
        (3_600_000, "41d", "41d"),
    ],
)
def test_durations(seconds: float, short: str, coarse: str) -> None:
    assert short_duration(seconds) == short
    assert coarse_duration(seconds) == coarse


def test_server_times_are_read_in_the_servers_zone() -> None:
    assert parse_time("2026-12-01 21:00:00", BEIJING) == NOW
    assert parse_time("2026-12-01T13:00:00+00:00", BEIJING) == NOW
    assert parse_time("soon", BEIJING) is None
    assert parse_time(None, BEIJING) is None


def test_every_status_has_a_glyph_and_a_word_and_unknown_ones_show_as_received() -> None:
    looks = [job_look(status) for status in JobStatus]
    assert all(look.glyph and look.word for look in looks)
    assert job_look("HIBERNATING").word == "hibernating"
    assert job_look("BAD\x1b[2J").word == "bad"
    assert health_look("napping").word == "napping"


def test_a_row_is_clean_of_escapes_and_odd_numbers() -> None:
    shown = row(job_name="a\x1b]0;title\x07b\nc", progress=JobProgress(step=2, rewards=(0.1, float("nan"), 0.3)))
    assert shown.name == "ab⏎c"
    assert shown.rewards == (0.1, 0.3)
    assert shown.age == "5m00s"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"progress": JobProgress(step=3, total_steps=9, rewards=(0.1, 0.2))},
        {"status": "FAILED", "message": "奖励函数失败 " * 20},
        {"job_name": "数学推理-" * 20, "model": "m" * 99},
        {"create_time": None},
    ],
)
@pytest.mark.parametrize("width", [1, 7, 16, 40])
def test_every_cell_fills_its_column_exactly(fields: dict[str, object], width: int) -> None:
    shown = row(**fields)
    for column in JOB_COLUMNS:
        assert width_of(fit(column.cell(shown, width), width, column.align)) == width


def test_filters_match_words_fields_and_exclusions() -> None:
    running = row(job_name="calc-agent", model="qwen3.5-9b")
    failed = row(job_name="gsm8k", status="FAILED", message="rollout raised")
    for text, matches in (
        ("calc", (True, False)),
        ("status:failed", (False, True)),
        ("status:failed gsm", (False, True)),
        ("!calc", (False, True)),
        ("model:qwen", (True, False)),
        ("raised", (False, True)),
        ("http://x", (False, False)),
    ):
        test = job_filter(text)
        assert test is not None
        assert (test(running), test(failed)) == matches, text
    assert job_filter("   ") is None


def test_counts_tell_the_states_that_matter() -> None:
    text = "".join(part for part, _ in counts([row(), row(status="FAILED"), row(status="SUCCEEDED")]))
    assert text == "3 jobs · 1 running · 1 failed"
    assert "".join(part for part, _ in counts([row(status="SUCCEEDED")])) == "1 job"


def test_steps_keep_their_order_and_show_progress_then_time() -> None:
    steps: dict[str, StepLine] = {}
    for news in (
        StepNews("upload", "upload train.jsonl", "started"),
        StepNews("upload", "", "progress", 50, 100, "bytes"),
        StepNews("create", "create job", "started"),
    ):
        steps = told(steps, news)
    assert list(steps) == ["upload", "create"]
    assert "50 B of 100 B" in "".join(text for text, _ in step_line(steps["upload"]))
    steps = told(steps, StepNews("upload", "upload train.jsonl", "finished", seconds=1.25))
    shown = "".join(text for text, _ in step_line(steps["upload"]))
    assert shown.startswith("✔ upload train.jsonl")
    assert "1.2s" in shown
    steps = told(steps, StepNews("note", "reused\x1b[2J", "note"))
    assert "".join(text for text, _ in step_line(list(steps.values())[-1])) == "· reused"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (4100, "4.1 KB"), (41_000, "41 KB"), (3_200_000, "3.2 MB"), (10**15, "1000 TB")],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_problems_hold_the_request_id_and_bugs_their_traceback() -> None:
    item = problem(ServerError("fault\x1b[2J", status=500, request_id="req-1"), "list the jobs")
    assert (item.title, item.message) == ("Could not list the jobs", "fault")
    assert "req-1" in item.text
    assert not item.is_bug
    try:
        raise RuntimeError("broken [markup]")
    except RuntimeError as error:
        bug = problem(error, "")
    assert bug.is_bug
    assert "test_tui_present.py" in bug.detail
    log = ProblemLog(limit=2)
    for _ in range(3):
        log.add(item)
    assert len(log.items) == 2


def test_an_outage_is_told_once() -> None:
    outage = Outage()
    assert not outage.succeeded(1.0)
    assert [outage.failed(), outage.failed()] == [True, False]
    assert outage.succeeded(2.0)
    assert outage.failed()


def test_cadence_is_quick_when_watched_slow_when_not_and_backs_off() -> None:
    live = delay_s(Pulse(is_local=True, is_live=True))
    assert live < delay_s(Pulse(is_local=True, is_live=False))
    assert live < delay_s(Pulse(is_local=False, is_live=True))
    assert live < delay_s(Pulse(is_local=True, is_live=True, is_focused=False))
    waits = [delay_s(Pulse(is_local=True, is_live=True, failures=count)) for count in range(1, 12)]
    assert waits == sorted(waits)
    assert waits[-1] == 60.0
    assert delay_s(Pulse(is_local=True, is_live=True, failures=1, retry_after_s=300.0)) == 300.0


def test_waits_grow_with_every_reason_to_rest_but_never_so_that_an_end_is_told_late() -> None:
    seen = Pulse(is_local=True, is_live=True)
    rests = [seen, replace(seen, is_seen=False), replace(seen, is_seen=False, is_focused=False)]
    rests.append(replace(rests[-1], is_slow_line=True))
    waits = [eased_s(0.5, pulse) for pulse in rests]
    assert waits[0] == 0.5
    assert waits == sorted(set(waits))
    assert eased_s(20.0, rests[-1]) == 60.0
    assert eased_s(90.0, rests[-1]) == 90.0


async def test_a_pause_is_as_long_as_it_is_eased_to_and_over_when_somebody_looks() -> None:
    wanted: list[float] = []

    def eased(seconds: float) -> float:
        wanted.append(seconds)
        return 0.0 if len(wanted) == 1 else 3600.0

    pauses = Pauses(eased)
    await pauses.wait(5.0)
    waiting = asyncio.ensure_future(pauses.wait(7.0))
    await asyncio.sleep(0)
    assert not waiting.done()
    pauses.wake()
    await waiting
    assert wanted == [5.0, 7.0]


# Keys


def test_the_default_keys_collide_nowhere() -> None:
    assert keymap.check_keymap({}) == []


def test_ids_are_unique_and_every_scope_has_a_title() -> None:
    ids = [action.id for action in keymap.ACTIONS]
    assert len(ids) == len(set(ids))
    assert {action.scope for action in keymap.ACTIONS} <= set(scopes.SCOPES)


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        ({"jobs.cancel": "j"}, "j is bound to both table.down and jobs.cancel"),
        ({"jobs.nothing": "z"}, "there is no action 'jobs.nothing'"),
        ({"jobs.cancel": "ctrl+i"}, "jobs.cancel: terminals send tab for ctrl+i"),
        ({"jobs.cancel": "alt+b"}, "jobs.cancel: terminals send ctrl+left for alt+b"),
        ({"jobs.cancel": " "}, "jobs.cancel has no key"),
        ({"jobs.cancel": "?"}, "? is bound to both app.help and jobs.cancel"),
    ],
)
def test_keys_that_cannot_work_are_named(user: dict[str, str], sentence: str) -> None:
    assert sentence in keymap.check_keymap(user)


def test_keys_may_be_swapped_and_used_again_elsewhere() -> None:
    assert keymap.check_keymap({"jobs.cancel": "D", "jobs.delete": "x"}) == []
    assert keymap.check_keymap({"log.follow": "x", "job.cancel": "X"}) == []


def test_keys_are_written_for_people() -> None:
    assert keynames.key_labels("ctrl+r,/,enter,?,G,pagedown") == "^r / ↵ ? G pgdn"
    assert keymap.user_keys({"keys.jobs.cancel": "X", "other": 1}) == {"jobs.cancel": "X"}


def test_widgets_bind_what_the_table_says() -> None:
    """Widgets name their own default keys, since they stand alone; the table must say the same."""
    from agentic_rl_tui.widgets.logview import LogView
    from agentic_rl_tui.widgets.table import Table

    for widget in (Table, LogView):
        for binding in widget.BINDINGS:
            action = keymap.by_id(binding.id or "")  # type: ignore[union-attr]
            assert action is not None, binding
            assert keynames.key_list(action.keys) == keynames.key_list(binding.key), binding  # type: ignore[union-attr]
            assert action.command == binding.action, binding  # type: ignore[union-attr]
        scope = "table" if widget is Table else "log"
        assert {action.id for action in keymap.scoped(scope)} == {binding.id for binding in widget.BINDINGS}  # type: ignore[union-attr]


def test_widgets_import_neither_app_nor_core() -> None:
    root = Path(__file__).resolve().parents[2] / "widgets"
    for path in root.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            assert not (module or "").startswith(("agentic_rl_tui.app", "agentic_rl_tui.core")), path
