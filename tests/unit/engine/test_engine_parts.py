"""The engine's parts by themselves: hyper-parameters, batches, files on disk, texts."""

import ast
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.models.errors import ConfigError, InputError
from agentic_rl_tui.core.platform.engine import TrajectoryReader, hyper, read_report, read_steps, read_table
from agentic_rl_tui.core.platform.engine.data import Rows, batches, epoch_of, total_steps
from agentic_rl_tui.core.platform.engine.failures import FailureLog
from agentic_rl_tui.core.platform.engine.joblog import JobLogWriter, rounded
from agentic_rl_tui.core.platform.engine.loop import thinned
from agentic_rl_tui.core.platform.engine.scoring import Failure, Score, combine
from agentic_rl_tui.core.platform.engine.seeds import rng
from agentic_rl_tui.core.platform.engine.trajectories import INDEX, LINES, TrajectoryWriter


def test_hyper_parameters_come_as_numbers_or_texts() -> None:
    read = hyper.read({"learning_rate": "2e-6", "batch_size": "64", "n_epochs": 3.0, "save_strategy": "Steps", "x": 1})
    assert (read.learning_rate, read.batch_size, read.n_epochs, read.save_strategy) == (2e-6, 64, 3, "steps")
    assert read.given == {"learning_rate", "batch_size", "n_epochs", "save_strategy"}
    assert read.ignored == ("x",)
    assert hyper.read({"n_gpus_training": 8, "opd_teacher_infer_tp": 8, "seed": None}).ignored == ()
    assert hyper.read({}) == hyper.HyperParameters()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("learning_rate", "fast", "is no number"),
        ("learning_rate", 2, "out of range"),
        ("learning_rate", float("nan"), "out of range"),
        ("batch_size", 0, "out of range"),
        ("batch_size", 1.5, "no whole number"),
        ("batch_size", True, "is no number"),
        ("batch_size", [1], "is no number"),
        ("n_rollouts", "1e9", "out of range"),
        ("algorithm", "ppo", "is unknown"),
        ("save_strategy", 3, "is unknown"),
    ],
)
def test_bad_hyper_parameters_are_named(key: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        hyper.read({key: value})
    assert key in caught.value.message
    assert caught.value.advice.startswith("Allowed:")


@pytest.mark.parametrize("kind", hyper.SCHEDULERS)
def test_the_learning_rate_follows_its_schedule(kind: str) -> None:
    settings = hyper.read({"learning_rate": 1e-3, "lr_scheduler_type": kind, "lr_warmup_steps": 4})
    rates = [hyper.learning_rate_at(settings, step, 20) for step in range(1, 21)]
    assert rates[:4] == sorted(rates[:4])
    assert max(rates) == rates[4] == 1e-3
    assert all(rate >= 0 for rate in rates)
    assert (rates[-1] == 1e-3) is (kind == "constant")


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 5), st.integers(0, 3))
def test_batches_use_every_row_equally(rows: int, batch_size: int, n_epochs: int, seed: int) -> None:
    batch_size = min(batch_size, rows)
    made = list(batches(rows, batch_size, n_epochs, rng(seed)))
    assert len(made) == total_steps(rows, batch_size, n_epochs)
    counts = [0] * rows
    for batch in made:
        assert len(batch) == batch_size
        assert len(set(batch)) == batch_size
        for row in batch:
            counts[row] += 1
    assert max(counts) <= n_epochs
    assert epoch_of(len(made), rows, batch_size) <= n_epochs


def test_rows_are_read_over_several_files(tmp_path: Path) -> None:
    line = '{"messages":[{"role":"user","content":"%s"}]}'
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf" + (line % "one").encode() + b"\r\n\r\n" + (line % "two").encode())
    (tmp_path / "b").write_text(line % "三" + "\n", encoding="utf-8")
    rows = Rows(["a.jsonl", "b.jsonl"], [tmp_path / "a", tmp_path / "b"]).scan()
    assert len(rows) == 3
    assert [rows[index].messages[0]["content"] for index in range(3)] == ["one", "two", "三"]
    assert [row.index for row in rows.read([2, 0])] == [2, 0]
    with pytest.raises(IndexError):
        rows[3]
    (tmp_path / "b").write_text("\n\nnot json\n")
    with pytest.raises(InputError, match=r"b\.jsonl line 3 is no JSON"):
        Rows(["a.jsonl", "b.jsonl"], [tmp_path / "a", tmp_path / "b"]).scan()


def record(step: int, sample: int, rollout: int, **more: Any) -> dict[str, Any]:
    base = {"step": step, "phase": "train", "sample": sample, "rollout": rollout, "reward": 0.5, "advantage": 0.0}
    return base | {"messages": [{"role": "user", "content": "你好"}]} | more


def test_trajectories_survive_a_torn_end(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path)
    writer.write([record(1, 5, 0), record(1, 5, 1, reward=None, failure={"kind": "timeout"})])
    writer.write([record(2, 5, 0, reward=None), record(2, 6, 0, phase="validation")])
    writer.close()
    writer.write([record(3, 0, 0)])
    for name in (LINES, INDEX):
        with (tmp_path / name).open("ab") as file:
            file.write(b'{"step": 9')
    reader = TrajectoryReader(tmp_path)
    entries = list(reader.entries())
    assert [(entry.step, entry.sample, entry.rollout) for entry in entries] == [
        (1, 5, 0),
        (1, 5, 1),
        (2, 5, 0),
        (2, 6, 0),
    ]
    assert [entry.is_failed_rollout for entry in entries] == [False, True, False, False]
    assert [entry.is_failed_reward for entry in entries] == [False, False, True, False]
    assert reader.group(1, 5)[1]["failure"] == {"kind": "timeout"}
    assert reader.samples(2, phase="validation")[0]["sample"] == 6
    assert list(reader.entries(phase="nonsense")) == []
    again = TrajectoryWriter(tmp_path)
    again.close()


def test_a_resumed_writer_goes_on_behind_a_torn_end(tmp_path: Path) -> None:
    TrajectoryWriter(tmp_path).close()
    writer = TrajectoryWriter(tmp_path)
    writer.write([record(1, 1, 0)])
    writer.close()
    for name in (LINES, INDEX):
        with (tmp_path / name).open("ab") as file:
            file.write(b"torn")
    writer = TrajectoryWriter(tmp_path)
    writer.write([record(2, 1, 0)])
    writer.close()
    reader = TrajectoryReader(tmp_path)
    assert [entry.step for entry in reader.entries()] == [1, 2]
    assert [found["step"] for found in reader.group(2, 1)] == [2]
    assert (tmp_path / LINES).read_bytes().count(b"\n") == 3


def test_nothing_written_reads_as_nothing(tmp_path: Path) -> None:
    reader = TrajectoryReader(tmp_path / "none")
    assert reader.steps() == []
    assert reader.samples(1) == []
    assert reader.group(1, 1) == []
    assert read_report(tmp_path) is None
    assert read_steps(tmp_path) == []
    assert read_table(tmp_path) == []


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=300))
def test_thinned_keeps_both_ends(values: list[float]) -> None:
    thin = thinned(values, 64)
    assert len(thin) == min(64, len(values))
    if values:
        assert (thin[0], thin[-1]) == (values[0], values[-1])


def test_metric_lines_can_be_read_back() -> None:
    values = rounded({"a/b": 1 / 3, "nan": math.nan, "none": None, "step": 4, "tiny": 1.23456789e-9, "text": "x"})
    assert ast.literal_eval(repr(values)) == {"a/b": 0.333333, "step": 4, "tiny": 1.23457e-9, "text": "x"}


async def test_log_lines_carry_time_and_level_and_no_secret(bench: Any) -> None:
    log = JobLogWriter(bench.log, "ft-1", lambda: 1_800_000_000.9876)
    await log.info("one", "two sk-0123456789abcdef")
    await log.warning("three\nfour")
    await log.error("five")
    await log.end()
    lines = bench.log.lines["ft-1"]
    assert [line.split(" - ")[1:] for line in lines[:3]] == [
        ["INFO", "one"],
        ["INFO", "two ••••cdef"],
        ["WARNING", "three"],
    ]
    assert lines[3] == "four"
    assert lines[0].split(" - ")[0].endswith(",987")
    assert lines[-1] == "##FT_COMPLETE##"


def test_failures_are_grouped_and_cut() -> None:
    log = FailureLog()
    for number in range(50):
        log.add("rollout 'a'", Failure("raised", "ValueError", f"row {number}", "trace\n" * 60), f"sample {number}")
    for number in range(30):
        log.add("reward 'b'", Failure("raised", f"Error{number}", "x" * 5_000), "sample 0")
    common = log.most_common()
    assert common == "rollout 'a' raised: ValueError: row 0"
    texts = log.take()
    assert len(texts) == 21
    assert texts[0].startswith("rollout 'a' raised: ValueError: row 0 (50 times, first at sample 0)")
    assert "… 36 lines …" in texts[0]
    assert len(texts[1]) < 2_200
    assert texts[-1] == "and 11 more failures of 11 other kinds"
    assert log.take() == []
    assert log.most_common() is None
    assert log.counts["rollout 'a'", "raised", "ValueError"] == 50


def test_scores_combine_by_weight() -> None:
    def score(value: float | None, weight: float) -> Score:
        return Score("s", "reward", weight, value)

    assert combine([score(1.0, 3), score(0.0, 1)]) == 0.75
    assert combine([score(1.0, 1), score(None, 1)]) is None
    assert combine([score(1.0, 1), score(None, 0)]) == 1.0
    assert combine([score(1.0, 1), score(1.0, -1)]) == 0.0
    assert combine([]) is None
