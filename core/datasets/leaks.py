"""Rows that are there twice, exactly or nearly, inside a set and between training and validation.

Near means that the three-word pieces of both texts overlap by at least a threshold (Jaccard). Pieces that are in a
fifth of all rows are the prompt's template and do not count. The search is exact: a pair at or over the threshold must
share one of the rarest pieces of each text, so only rows that do are compared, and a piece that occurs once in all
files need not be remembered at all.
"""

import io
import math
import os
import threading
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.datasets.blocks import BOM, blocks
from agentic_rl_tui.core.datasets.report import CheckCanceled
from agentic_rl_tui.core.datasets.shingles import digest, jaccard, row_text, shingles
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError

Paths = Path | str | Sequence[Path | str]

_TEMPLATE_SHARE = 0.2
_TEMPLATE_SAMPLE = 1000
_TEMPLATE_FROM_ROWS = 100
"""With fewer rows nothing can be told to be a template."""
_BYTES_PER_PIECE = 4
_MIN_SLOTS, _MAX_SLOTS = 1 << 16, 1 << 26
_CACHED_PIECES = 500_000
_SATURATED = 255
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class RowRef:
    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Leak:
    """Two rows with the same text, or nearly. `row` is the later one; between sets it is the validation row.

    similarity is 1.0 for exact ones. has_same_solution is False where the two rows disagree on the answer.
    """

    row: RowRef
    other: RowRef
    is_exact: bool
    is_between: bool
    similarity: float
    has_same_solution: bool

    def __str__(self) -> str:
        if self.is_exact and self.has_same_solution:
            text = _("{row} is {other}")
        elif self.is_exact:
            text = _("{row} is {other}, but their solutions differ")
        elif self.has_same_solution:
            text = _("{row} is {share:.0%} like {other}")
        else:
            text = _("{row} is {share:.0%} like {other}, but their solutions differ")
        return text.format(row=self.row, other=self.other, share=self.similarity)


@dataclass(frozen=True, slots=True)
class LeakReport:
    """Each row is counted once, with the row it is most alike. `leaks` holds those between sets first.

    An exact copy inside one set counts as that; its first twin alone is compared for near ones.
    The counts are true totals; unreadable counts rows that could not be compared.
    """

    leaks: tuple[Leak, ...]
    exact_between: int
    near_between: int
    exact_within: int
    near_within: int
    rows: int
    unreadable: int
    threshold: float

    @property
    def is_clean(self) -> bool:
        """Nothing of the validation set is in the training set."""
        return not self.exact_between and not self.near_between


def find_leaks(
    training: Paths,
    validation: Paths = (),
    *,
    threshold: float = 0.8,
    max_leaks: int = 1000,
    progress: Callable[[int, int], None] | None = None,
    cancel: threading.Event | None = None,
) -> LeakReport:
    """Compare all rows of one or several files with each other. Blocks: call it in a thread.

    threshold: 0.1 to 1. progress gets bytes done and in total; every file is read twice.
    Raises InputError for a file that cannot be read, CheckCanceled.
    """
    if not 0.1 <= threshold <= 1:
        raise InputError(
            _("a threshold of {threshold} makes no sense").format(threshold=threshold),
            advice=_("Choose one from 0.1 to 1."),
        )
    sets = [_paths(training), _paths(validation)]
    corpus = _Corpus([(path, place == 1) for place, paths in enumerate(sets) for path in paths])
    try:
        return _Search(corpus, threshold, _Ticker(2 * corpus.size, progress, cancel)).run(max_leaks)
    finally:
        corpus.close()


def _paths(given: Paths) -> list[Path]:
    return [Path(given)] if isinstance(given, Path | str) else [Path(path) for path in given]


class _Ticker:
    def __init__(self, total: int, progress: Callable[[int, int], None] | None, cancel: threading.Event | None) -> None:
        self.total, self.progress, self.cancel = total, progress, cancel
        self.done = 0

    def add(self, size: int) -> None:
        if self.cancel is not None and self.cancel.is_set():
            raise CheckCanceled(_("the search for duplicates was canceled"))
        self.done += size
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total)


class _Corpus:
    """The rows of all files by a running number; texts stay on disk."""

    def __init__(self, files: list[tuple[Path, bool]]) -> None:
        self.files = files
        self.size = 0
        self.file_of = array("H")
        self.offset_of = array("Q")
        self.length_of = array("L")
        self.line_of = array("Q")
        self._descriptors: list[int] = []
        try:
            for path, _is_validation in files:
                self._descriptors.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                self.size += os.fstat(self._descriptors[-1]).st_size
        except OSError as error:
            self.close()
            raise InputError(
                _("{path} cannot be read: {error}").format(path=error.filename, error=error.strerror),
                advice=_("Check the path."),
            ) from error

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def read(self, tick: Callable[[int], None]) -> Iterator[tuple[int, int, int, bytes]]:
        """File number, offset, line number and bytes of every line of all files."""
        for number, descriptor in enumerate(self._descriptors):
            with open(descriptor, "rb", closefd=False) as stream:
                offset = line = 0
                for _, data, huge in blocks(stream, 0, os.fstat(descriptor).st_size):
                    for raw in io.BytesIO(data):
                        line += 1
                        yield number, offset, line, raw
                        offset += len(raw)
                    if huge:
                        line += 1
                        offset += huge
                    tick(len(data) + huge)

    def add(self, file: int, offset: int, length: int, line: int) -> int:
        self.file_of.append(file)
        self.offset_of.append(offset)
        self.length_of.append(length)
        self.line_of.append(line)
        return len(self.line_of) - 1

    def is_at(self, number: int, file: int, offset: int) -> bool:
        """Whether a row of this number begins at the place: both passes meet the rows in the same order."""
        return number < len(self.offset_of) and (self.file_of[number], self.offset_of[number]) == (file, offset)

    def row(self, number: int) -> Any:
        raw = os.pread(self._descriptors[self.file_of[number]], self.length_of[number], self.offset_of[number])
        return parse(raw)

    def ref(self, number: int) -> RowRef:
        return RowRef(self.files[self.file_of[number]][0], self.line_of[number])

    def is_validation(self, number: int) -> bool:
        return self.files[self.file_of[number]][1]


def parse(raw: bytes) -> Any:
    try:
        return orjson.loads(raw.removeprefix(BOM))
    except orjson.JSONDecodeError:
        return None


class _Search:
    def __init__(self, corpus: _Corpus, threshold: float, ticker: _Ticker) -> None:
        self.corpus = corpus
        self.threshold = threshold
        self.ticker = ticker
        self.unreadable = 0
        self.leaks: list[Leak] = []
        slots = _MIN_SLOTS
        while slots < min(_MAX_SLOTS, 2 * corpus.size // _BYTES_PER_PIECE):
            slots *= 2
        self.mask = slots - 1
        self.counts = bytearray(slots)
        """How many rows hold a piece, by its hash; too high where hashes meet, never too low."""
        self.template: frozenset[int] = frozenset()
        self.sizes = array("L")
        self.cache: OrderedDict[int, set[int]] = OrderedDict()
        self.cached = 0
        self.waiting: dict[int, set[int]] = {}
        """Pieces of the first rows from the first pass, for the second: small files are cut up once only."""
        self.exact: dict[int, set[bool]] = {}
        """Rows with an exact twin, and whether that is between the sets."""

    def run(self, max_leaks: int) -> LeakReport:
        self._first_pass()
        self._second_pass()
        totals = Counter((leak.is_exact, leak.is_between) for leak in self.leaks)
        self.leaks.sort(key=lambda leak: (not leak.is_between, -leak.similarity))
        return LeakReport(
            leaks=tuple(self.leaks[:max_leaks]),
            exact_between=totals[True, True],
            near_between=totals[False, True],
            exact_within=totals[True, False],
            near_within=totals[False, False],
            rows=len(self.corpus.line_of),
            unreadable=self.unreadable,
            threshold=self.threshold,
        )

    def _first_pass(self) -> None:
        """Find the rows, the exact duplicates, how rare each piece is, and the template.

        A row that is an exact duplicate inside its own set has size 0 afterwards: its twin stands for it.
        """
        first: dict[tuple[bytes, bool], int] = {}
        sample: Counter[int] = Counter()
        sampled = 0
        every = max(1, self.corpus.size // (_TEMPLATE_SAMPLE * 256))
        counts, mask = self.counts, self.mask
        for file, offset, line, raw in self.corpus.read(self.ticker.add):
            text = row_text(parse(raw))
            if text is None:
                self.unreadable += bool(raw.strip())
                continue
            number = self.corpus.add(file, offset, len(raw), line)
            is_validation = self.corpus.is_validation(number)
            key = digest(text)
            if is_validation and (key, False) in first:
                self._leak(number, first[key, False], 1.0)
            if (key, is_validation) in first:
                self._leak(number, first[key, is_validation], 1.0)
                self.sizes.append(0)
                continue
            first[key, is_validation] = number
            pieces = shingles(text)
            self.sizes.append(len(pieces))
            if self.cached < _CACHED_PIECES:
                self.cached += len(pieces)
                self.waiting[number] = pieces
            for piece in pieces:
                slot = piece & mask
                if counts[slot] < _SATURATED:
                    counts[slot] += 1
            if number % every == 0 and sampled < 4 * _TEMPLATE_SAMPLE:
                sampled += 1
                sample.update(pieces)
        if sampled >= _TEMPLATE_FROM_ROWS:
            common = sampled * _TEMPLATE_SHARE
            self.template = frozenset(piece for piece, count in sample.items() if count > common)
        self.cached = 0

    def _second_pass(self) -> None:
        """Compare each row with the earlier ones that share one of its rarest pieces."""
        index: dict[int, list[int]] = {}
        number = 0
        for file, offset, _line, raw in self.corpus.read(self.ticker.add):
            if not self.corpus.is_at(number, file, offset):
                continue
            number += 1
            if not self.sizes[number - 1]:
                continue
            pieces = self.waiting.pop(number - 1, None)
            if pieces is None:
                pieces = self._pieces(parse(raw))
            else:
                pieces -= self.template
            self._match(number - 1, pieces, index)

    def _match(self, number: int, pieces: set[int], index: dict[int, list[int]]) -> None:
        self.sizes[number] = len(pieces)
        rarest = self._rarest(pieces)
        self._compare(number, pieces, {other for piece in rarest for other in index.get(piece, ())})
        for piece in rarest:
            index.setdefault(piece, []).append(number)
        self._keep(number, pieces)

    def _pieces(self, row: Any) -> set[int]:
        text = row_text(row)
        return shingles(text) - self.template if text else set()

    def _rarest(self, pieces: set[int]) -> list[int]:
        """So many of the rarest pieces that a text at the threshold must share one; those nobody else has left out."""
        counts, mask = self.counts, self.mask
        needed = math.ceil(self.threshold * len(pieces) - _ROUNDING)
        ranked = sorted(pieces, key=lambda piece: (counts[piece & mask], piece))
        return [piece for piece in ranked[: len(pieces) - needed + 1] if counts[piece & mask] > 1]

    def _compare(self, number: int, pieces: set[int], near: set[int]) -> None:
        """Record the most similar earlier row of each set, if it is similar enough."""
        best: dict[bool, tuple[float, int]] = {}
        size = len(pieces)
        is_validation = self.corpus.is_validation(number)
        for other in near:
            other_size = self.sizes[other]
            if min(size, other_size) < self.threshold * max(size, other_size) - _ROUNDING:
                continue
            similarity = jaccard(pieces, self._remembered(other))
            is_between = is_validation and not self.corpus.is_validation(other)
            known = best.get(is_between, (0.0, 0))
            if similarity >= self.threshold and (similarity, -other) > (known[0], -known[1]):
                best[is_between] = (similarity, other)
        exact = self.exact.get(number, ())
        for is_between, (similarity, other) in best.items():
            if is_between not in exact:
                self._leak(number, other, similarity, is_exact=False)

    def _remembered(self, number: int) -> set[int]:
        pieces = self.cache.get(number)
        if pieces is None:
            pieces = self._pieces(self.corpus.row(number))
            self._keep(number, pieces)
        return pieces

    def _keep(self, number: int, pieces: set[int]) -> None:
        self.cache[number] = pieces
        self.cached += len(pieces)
        while self.cached > _CACHED_PIECES and self.cache:
            self.cached -= len(self.cache.popitem(last=False)[1])

    def _leak(self, number: int, other: int, similarity: float, *, is_exact: bool = True) -> None:
        corpus = self.corpus
        is_between = corpus.is_validation(number) and not corpus.is_validation(other)
        if is_exact:
            self.exact.setdefault(number, set()).add(is_between)
        same = solution(corpus.row(number)) == solution(corpus.row(other))
        self.leaks.append(Leak(corpus.ref(number), corpus.ref(other), is_exact, is_between, similarity, same))


def solution(row: Any) -> Any:
    """What a row gives as the right answer; None where it gives none."""
    extra = row.get("rollout_extra") if isinstance(row, dict) else None
    if isinstance(extra, dict) and "solution" in extra:
        return extra["solution"]
    return row.get("ground_truth") if isinstance(row, dict) else None
