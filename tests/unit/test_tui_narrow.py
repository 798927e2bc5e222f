"""What gives way where there is little room, and what stays."""

from typing import Any

import pytest

from agentic_rl_tui.app.present.frames import as_in_workspace
from agentic_rl_tui.app.present.jobs import counts, job_row
from agentic_rl_tui.app.present.trajectories import sample_columns
from agentic_rl_tui.app.screens.job_overview import _no_curve
from agentic_rl_tui.widgets.bars import KeyBar, KeyHint, Tab, TabBar
from agentic_rl_tui.widgets.cells import width_of

TABS = tuple(Tab(name.lower(), name) for name in ("Overview", "Logs", "Metrics", "Trajectories", "Traces"))


def text_of(line: Any) -> str:
    return "".join(part for part, _style in line)


@pytest.mark.parametrize("width", [20, 30, 40, 60, 79])
def test_help_and_the_way_back_stay_in_the_footer(width: int) -> None:
    bar = KeyBar()
    bar.hints = tuple(
        KeyHint(key, label, key)
        for key, label in (
            ("a", "open"),
            ("b", "next tab"),
            ("c", "cancel"),
            ("d", "next"),
            ("?", "help"),
            ("esc", "up"),
        )
    )
    line = bar.line(width)
    assert width_of(line) == width
    assert "? help  esc up" in text_of(line)


@pytest.mark.parametrize("active", [tab.name for tab in TABS])
@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_active_tab_is_never_cut(active: str, width: int) -> None:
    bar = TabBar()
    bar.tabs, bar.active, bar.note = TABS, active, (("5 of 36 lines", "$muted"),)
    line = bar.line(width)
    assert width_of(line) == width
    title = next(tab.title for tab in TABS if tab.name == active)
    assert (title, "$accent bold underline") in line
    assert text_of(line).endswith("5 of 36 lines")
    assert ("‹" in text_of(line)) is ("Overview" not in text_of(line))


def test_a_stalled_job_is_not_counted_as_running(scenes: Any) -> None:
    jobs = [scenes.job(number, f"job-{number}", "RUNNING", 60) for number in range(2)]
    rows = [
        job_row(job, now=scenes.NOW, zone=scenes.ZONE, stalled_s=3600.0 if number else None)
        for number, job in enumerate(jobs)
    ]
    assert text_of(counts(rows)) == "2 jobs · 1 running · 1 stalled"


def test_a_job_of_one_step_is_not_said_to_have_no_reward() -> None:
    assert _no_curve(0, True) == "no reward came of this job"
    assert "one step" in _no_curve(1, True)
    assert "second step" in _no_curve(1, False)


def test_frames_name_files_as_the_workspace_does() -> None:
    text = '  File "/tmp/agentic-rl-try-x1/package/functions/a.py", line 3\n  File "/usr/lib/json.py", line 1'
    assert as_in_workspace(text) == '  File "functions/a.py", line 3\n  File "/usr/lib/json.py", line 1'


def test_scores_are_shown_whole_or_not_at_all() -> None:
    class Row:
        rewards = (0.5, None, 0.25, 1.0)

    column = next(item for item in sample_columns() if item.key == "scores")
    assert text_of(column.cell(Row(), 40)) == "0.50  ✗     0.25  1.00"  # type: ignore[arg-type]
    assert text_of(column.cell(Row(), 14)) == "0.50  ✗     …"  # type: ignore[arg-type]
