"""Checking a JSONL file before it is sent."""

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

from agentic_rl_tui.core.datasets.blocks import BLOCK, MAX_LINE
from agentic_rl_tui.core.datasets.findings import Findings, Options
from agentic_rl_tui.core.datasets.firstlook import HEAD_BYTES, look
from agentic_rl_tui.core.datasets.measure import TOKEN_BASIS, Spread, ceiling
from agentic_rl_tui.core.datasets.parallel import scan_parallel
from agentic_rl_tui.core.datasets.report import (
    Bucket,
    CheckCanceled,
    DatasetReport,
    DatasetStats,
    Histogram,
    LongRow,
    RowProblem,
    Severity,
)
from agentic_rl_tui.core.datasets.rulebook import RULES
from agentic_rl_tui.core.i18n import _

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in total, in the thread that checks."""

_PARALLEL_FROM = 8 << 20
"""Smaller files are done before a process has started."""
_RANGE = 8 << 20
_MEASURE_ALL_UP_TO = 64 << 20
_MEASURED_BLOCKS = 16
"""Of a larger file so many blocks are measured, spread evenly: 4 MiB, a thousand rows and more."""
_MAX_WORKERS = 2
"""More would read faster than the disk, at 15 MB of memory each."""


def check_file(
    path: Path | str,
    *,
    max_problems: int = 200,
    max_prompt_length: int | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    workers: int | None = None,
    measure_all: bool = False,
) -> DatasetReport:
    """Check and measure every line. All problems are counted; at most `max_problems` are kept, some of each rule.

    Blocks: call it in a thread. Large files are shared between `workers` processes (by default one for each core, at
    most 2; 1 stays in this process). Characters and tokens of files over 64 MiB are measured on 16 blocks of 256 KiB
    spread evenly, unless `measure_all`; everything else, rows over `max_prompt_length` (tokens) included, is exact.

    A file that cannot be read is a problem in the report, not an exception. Raises CheckCanceled, and WorkerDied when
    a process is killed from outside.
    """
    file = Path(path)
    started = time.perf_counter()
    size = 0

    def tick(done: int) -> None:
        if cancel is not None and cancel.is_set():
            raise CheckCanceled(_("the check of {file} was canceled").format(file=file.name))
        if progress is not None:
            progress(min(done, size), size)

    options = Options(max_problems, max_prompt_length)
    found = Findings(max_problems)
    try:
        before = file.stat()
        if not stat.S_ISREG(before.st_mode):
            found.add(
                1, "not-a-file", 1, "", _("the path is no file") if not file.is_dir() else _("the path is a directory")
            )
        else:
            size = before.st_size
            tick(0)
            if size > _MEASURE_ALL_UP_TO and not measure_all:
                options = options._replace(measure_every=size // (BLOCK * _MEASURED_BLOCKS))
            found = _check_content(file, size, options, workers, tick)
            after = file.stat()
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                found.add(1, "changed-while-read", 1, "", _("the file changed while it was read"))
            tick(size)
    except FileNotFoundError:
        found.add(1, "not-a-file", 1, "", _("there is no such file"))
    except OSError as error:
        found.add(1, "unreadable", 1, "", _("the file cannot be read: {error}").format(error=error.strerror or error))
    return _report(file, size, found, options, max_problems, time.perf_counter() - started)


def statistics(
    path: Path | str,
    *,
    max_prompt_length: int | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> DatasetStats:
    """The figures of a file with every row measured. Raises like `check_file`."""
    report = check_file(
        path, max_problems=1, max_prompt_length=max_prompt_length, progress=progress, cancel=cancel, measure_all=True
    )
    return report.stats


def _check_content(
    file: Path, size: int, options: Options, workers: int | None, tick: Callable[[int], None]
) -> Findings:
    found = Findings(options.keep)
    if not size:
        found.add(1, "empty-file", 1, "", _("the file is empty"))
        return found
    with file.open("rb") as stream:
        if seen := look(stream.read(HEAD_BYTES)):
            found.add(1, seen.rule, 1, "", seen.message)
            return found
    found = _scan(str(file), size, options, workers, tick)
    if not found.rows:
        found.add(1, "no-rows", 1, "", _("the file has no row"))
    if (col := _unended(file, size)) is not None:
        found.add(found.lines, "no-final-newline", col, "", _("the last line does not end in a line feed"))
    return found


def _scan(path: str, size: int, options: Options, workers: int | None, tick: Callable[[int], None]) -> Findings:
    if workers is None:
        workers = min(_MAX_WORKERS, _cores()) if size >= _PARALLEL_FROM else 1
    if workers > 1:
        width = min(_RANGE, -(-size // (workers * 2 * BLOCK)) * BLOCK)
        ranges = [(start, min(start + width, size)) for start in range(0, size, width)]
        try:
            return scan_parallel(path, ranges, options, workers=min(workers, len(ranges)), tick=tick)
        except BlockingIOError:
            # No process to be had on a full machine: this one can do it too.
            pass
    # Not needed where other processes scan: half of the memory of this one.
    from agentic_rl_tui.core.datasets.scan import RangeScanner

    return RangeScanner(options).scan(path, 0, size, at_block=tick)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _unended(file: Path, size: int) -> int | None:
    """The column after the last character of a last line without line feed; None when it has one."""
    with file.open("rb") as stream:
        stream.seek(max(0, size - MAX_LINE - 1))
        tail = stream.read(MAX_LINE + 1)
    if tail.endswith(b"\n"):
        return None
    return len(tail[tail.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1


def _report(
    file: Path, size: int, found: Findings, options: Options, max_problems: int, seconds: float
) -> DatasetReport:
    totals = dict.fromkeys(Severity, 0)
    for rule, count in found.counts.items():
        totals[RULES[rule][0]] += count
    return DatasetReport(
        path=file,
        rows=found.rows,
        lines=found.lines,
        bytes=size,
        problems=_choose(file, found, max_problems),
        rule_counts=dict(
            sorted(found.counts.items(), key=lambda item: (list(Severity).index(RULES[item[0]][0]), -item[1]))
        ),
        errors=totals[Severity.ERROR],
        warnings=totals[Severity.WARNING],
        infos=totals[Severity.INFO],
        stats=_stats(found, options),
        seconds=seconds,
    )


def _choose(file: Path, found: Findings, limit: int) -> tuple[RowProblem, ...]:
    """At most `limit` problems: a fair share of each rule first, then errors before warnings before infos."""
    if limit < 1 or not found.kept:
        return ()
    order = list(Severity)
    share = max(1, limit // len(found.kept))
    ranked = sorted(
        (place >= share, order.index(RULES[rule][0]), line, col, rule, path, message)
        for rule, problems in found.kept.items()
        for place, (line, col, path, message) in enumerate(problems)
    )
    chosen = sorted(
        (line, col, rule, path, message) for _share, _order, line, col, rule, path, message in ranked[:limit]
    )
    return tuple(
        RowProblem(file, line, col, path, rule, *_severity_and(rule, message))
        for line, col, rule, path, message in chosen
    )


def _severity_and(rule: str, message: str) -> tuple[Severity, str, str]:
    severity, advice = RULES[rule]
    fix = _(advice)
    return severity, message, fix


def _stats(found: Findings, options: Options) -> DatasetStats:
    _length, chars, tokens = found.longest
    return DatasetStats(
        rows=found.turns.count,
        turns=_histogram(found.turns),
        chars=_histogram(found.chars, chars),
        tokens=_histogram(found.tokens, tokens),
        roles=dict(found.roles.most_common()),
        keys=dict(found.keys.most_common()),
        max_prompt_length=options.max_prompt_length,
        long_row_count=found.long_count,
        long_rows=tuple(LongRow(line, size) for line, size in found.long_rows),
        token_basis=_(TOKEN_BASIS),
        measured_rows=found.chars.count,
    )


def _histogram(spread: Spread, largest: int = 0) -> Histogram:
    """largest: the value of the longest row, which may not be among the measured ones."""
    buckets = tuple(Bucket(low, ceiling(low), count) for low, count in sorted(spread.buckets.items()))
    return Histogram(spread.count, spread.total, spread.low, max(spread.high, largest), buckets)
