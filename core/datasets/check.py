"""Checking a JSONL file before it is sent."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.datasets.report import CheckCanceled, DatasetReport, DatasetStats, RowProblem, Severity

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in total."""


def check_file(
    path: Path | str,
    *,
    max_problems: int = 200,
    max_prompt_length: int | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> DatasetReport:
    """Check every line; all problems are counted and at most `max_problems` kept.

    A file that cannot be read is a problem in the report, not an exception. Raises CheckCanceled.
    """
    file = Path(path)
    started = time.perf_counter()
    problems: list[RowProblem] = []
    counts: dict[str, int] = {}

    def add(line: int, rule: str, message: str, json_path: str = "", col: int = 1) -> None:
        counts[rule] = counts.get(rule, 0) + 1
        if len(problems) < max_problems:
            problems.append(RowProblem(file, line, col, json_path, rule, Severity.ERROR, message))

    rows = lines = done = 0
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            for raw in stream:
                lines += 1
                done += len(raw)
                if cancel is not None and cancel.is_set():
                    raise CheckCanceled(f"the check of {file.name} was canceled")
                if progress is not None and lines % 1000 == 0:
                    progress(done, size)
                if not raw.strip():
                    add(lines, "blank-line", "blank line")
                    continue
                rows += 1
                _check_row(raw, lines, add)
    except OSError as error:
        size = 0
        add(1, "not-a-file", f"{file} cannot be read: {error.strerror}")
    if progress is not None:
        progress(done, size)
    errors = sum(counts.values())
    return DatasetReport(
        file,
        rows,
        lines,
        size,
        tuple(problems),
        counts,
        errors,
        0,
        0,
        DatasetStats(rows=rows, max_prompt_length=max_prompt_length),
        time.perf_counter() - started,
    )


def _check_row(raw: bytes, line: int, add: Callable[..., None]) -> None:
    try:
        row: Any = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        add(line, "bad-json", str(error), col=error.colno)
        return
    if not isinstance(row, dict):
        add(line, "not-an-object", "the row is no JSON object")
    elif not isinstance(row.get("messages"), list) or not row["messages"]:
        add(line, "messages-missing", "the row has no messages", "messages")


def statistics(path: Path | str, *, max_prompt_length: int | None = None) -> DatasetStats:
    """The figures of a file, from the same single pass as the check."""
    return check_file(path, max_problems=0, max_prompt_length=max_prompt_length).stats
