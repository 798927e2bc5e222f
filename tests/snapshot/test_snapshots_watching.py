"""How notes, pins, stalls, comparisons and columns of jobs look."""

from typing import Any

import pytest

from agentic_rl_tui.core.sdk.clone import Start
from agentic_rl_tui.core.sdk.origins import Code, Data, Origin

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40"), pytest.param((200, 60), id="200x60")]
SMALL = [pytest.param((80, 24), id="80x24"), pytest.param((200, 60), id="200x60")]
COLUMNS = ["status", "name", "step", "reward", "validation", "duration", "age", "note", "model"]


def watched(scenes: Any, **facts: Any) -> Any:
    """Jobs of which some are noted or pinned, in Chinese too, and one has stalled for an hour."""
    backend = scenes.sample_backend()
    ids = list(backend.store)
    backend.starts[ids[2]] = (
        Start("practice-qwen3.5-9b-calc@step-48", 48, 0.941, 0.93, is_best=True),
        Start("practice-qwen3.5-9b-calc", is_output=True),
        Start("practice-qwen3.5-9b-calc@step-32", 32, 0.902, 0.88),
    )
    app = scenes.app(backend, **facts)
    app.notes.write(ids[2], "基线：学习率 2e-6，奖励稳定上升\n下次试更大的 batch")
    app.notes.write(ids[5], "reward too flat")
    app.notes.pin([ids[2]], is_pinned=True)
    running = backend.store[ids[0]]
    app.stalls.see(running, scenes.NOW - 3600)
    app.stalls.see(running, scenes.NOW)
    return app


@pytest.mark.parametrize("size", SIZES)
def test_notes_pins_and_a_stall(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(watched(scenes, values={"tui.jobs_columns": COLUMNS}), size)


@pytest.mark.parametrize("size", SMALL)
def test_a_stalled_job(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(watched(scenes), size, "j", "enter")


@pytest.mark.parametrize("size", SMALL)
def test_the_note_of_a_job(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(watched(scenes), size, "enter")


@pytest.mark.parametrize("size", SMALL)
def test_writing_a_note(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(watched(scenes), size, "a")


@pytest.mark.parametrize("size", SMALL)
def test_choosing_columns(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(watched(scenes, values={"tui.jobs_columns": COLUMNS}), size, "T", "j", "o")


@pytest.mark.parametrize("size", SMALL)
def test_choosing_a_checkpoint(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(watched(scenes), size, "R")


@pytest.mark.parametrize("size", SMALL)
def test_two_jobs_compared(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    app = scenes.app(scenes.sample_backend())
    backend = app.connect(app.settings)
    new, _queued, old = list(backend.store)[:3]
    for job_id, rate, source, digest, rows in (
        (old, 2e-6, "1f2e3d4c5b", "aa11bb22", 256),
        (new, 5e-6, "9a8b7c6d5e", "cc33dd44", 512),
    ):
        backend.origins[job_id] = Origin(
            job_id,
            "/w",
            "",
            "",
            {"name": "calc", "training": {"hyper_parameters": {"learning_rate": rate, "batch_size": 8}}},
            (Code("rollout", "agent", "f.Agent", "5566778899"), Code("reward", "正确性", "f.Answer", source)),
            (
                Data("training", "./data/训练集.jsonl", "", digest, 1, rows),
                Data("validation", "./data/valid.jsonl", "", "ee", 1, 64),
            ),
        )
    assert look(app, size, "space", "j", "space", "equals_sign")


def test_profiles_to_switch_to(look: Any, scenes: Any) -> None:
    assert look(scenes.app(scenes.sample_backend()), (80, 24), "at")


def test_sparing_a_slow_line(look: Any, scenes: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    app.is_slow = True
    assert look(app, (120, 40))
