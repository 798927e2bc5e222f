"""Repairs of a file that a program can make safely. Nothing is changed before `apply`, and every other byte stays."""

import codecs
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.datasets.blocks import BOM
from agentic_rl_tui.core.datasets.firstlook import wide_encoding
from agentic_rl_tui.core.datasets.jsonscan import scan
from agentic_rl_tui.core.datasets.report import DatasetReport
from agentic_rl_tui.core.datasets.rowrules import row_renames
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import InputError

_KEY = re.compile(r'"(?:[^"\\]|\\.)*"')
_SHOWN_CHARS = 96
_PIECE = 1 << 20
_ORDER = ("utf-8", "bom", "crlf", "blank-lines", "key-names", "final-newline")
_LABELS = {
    "utf-8": N_("convert to UTF-8"),
    "bom": N_("remove the byte order mark"),
    "crlf": N_("end lines with a line feed alone"),
    "blank-lines": N_("remove blank lines"),
    "key-names": N_("correct the names of keys"),
    "final-newline": N_("end the last line"),
}
_RULES = {
    "utf-8": ("utf-16", "utf-32"),
    "bom": ("bom",),
    "crlf": ("crlf",),
    "blank-lines": ("blank-line",),
    "key-names": ("mistyped-key", "extra-params"),
    "final-newline": ("no-final-newline",),
}


@dataclass(frozen=True, slots=True)
class Fix:
    """One kind of repair in one file. count is the number of places by the report, rules those it removes."""

    kind: str
    label: str
    file: Path
    count: int
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """A file that was written: its size, and how many lines differ from the source or are gone."""

    path: Path
    bytes: int
    changed_lines: int


def plan_fixes(report: DatasetReport) -> list[Fix]:
    """The repairs for what a report found, in the order in which they are made."""
    fixes = []
    for kind in _ORDER:
        count = sum(report.rule_counts.get(rule, 0) for rule in _RULES[kind])
        if count:
            fixes.append(Fix(kind, _(_LABELS[kind]), report.path, count, _RULES[kind]))
    return fixes


def preview(fixes: Fix | Sequence[Fix], n: int = 5) -> list[str]:
    """The first `n` changed lines as a diff: ``@@ line 12 @@``, the line before with ``-``, after with ``+``.

    Long lines are cut to the part that changes. Raises InputError when the file cannot be read.
    """
    chosen = _chosen(fixes)
    lines: list[str] = []
    shown = 0
    for number, before, after in _changes(chosen):
        if before == after:
            continue
        if shown == n:
            break
        shown += 1
        lines += [f"@@ line {number} @@", *_diff(before, after)]
    return lines


def apply(
    fixes: Fix | Sequence[Fix],
    destination: Path | str,
    *,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Applied:
    """Write the repaired file to `destination`, whole or not at all.

    overwrite: also replace a file that is there, such as the source itself.
    Raises InputError when it is there and that was not asked for, or when reading or writing fails.
    """
    chosen = _chosen(fixes)
    source, target = chosen[0].file, Path(destination)
    if target.exists() and not overwrite:
        raise InputError(
            _("{target} exists").format(target=target), advice=_("Choose another name, or allow it to be replaced.")
        )
    try:
        return _write(chosen, source, target, progress)
    except OSError as error:
        raise InputError(
            _("{target} cannot be written: {error}").format(target=target, error=error.strerror or error),
            advice=_("Check the folder."),
        ) from error


def _write(chosen: list[Fix], source: Path, target: Path, progress: Callable[[int, int], None] | None) -> Applied:
    facts = source.stat()
    handle, name = tempfile.mkstemp(dir=target.absolute().parent, prefix=f".{target.name}.", suffix=".part")
    changed = written = read = 0
    try:
        with os.fdopen(handle, "wb") as sink:
            for number, before, after in _changes(chosen):
                changed += before != after
                read += len(before)
                written += sink.write(after)
                if progress is not None and number % 1000 == 0:
                    progress(min(read, facts.st_size), facts.st_size)
            sink.flush()
            os.fsync(sink.fileno())
        os.chmod(name, facts.st_mode & 0o777)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if progress is not None:
        progress(facts.st_size, facts.st_size)
    return Applied(target, written, changed)


def _chosen(fixes: Fix | Sequence[Fix]) -> list[Fix]:
    chosen = [fixes] if isinstance(fixes, Fix) else list(fixes)
    if not chosen:
        raise InputError(_("there is nothing to fix"), advice=_("Choose at least one fix."))
    if len({fix.file for fix in chosen}) > 1:
        raise InputError(_("these fixes are for several files"), advice=_("Apply them file by file."))
    return chosen


def _changes(chosen: list[Fix]) -> Iterator[tuple[int, bytes, bytes]]:
    """Line number, the line as it is and as it will be, for every line; a removed line becomes empty."""
    kinds = {fix.kind for fix in chosen}
    path = chosen[0].file
    try:
        with path.open("rb") as stream:
            encoding = wide_encoding(stream.read(4)) if "utf-8" in kinds else None
            stream.seek(0)
            if encoding is None:
                source: Iterator[tuple[bytes, bytes]] = ((line, line) for line in stream)
            else:
                source = _decoded(stream, encoding, path)
            for number, (before, line) in enumerate(source, 1):
                after = _repair(line, kinds)
                if "final-newline" in kinds and after and not after.endswith(b"\n"):
                    after += b"\n"
                yield number, before, after
    except OSError as error:
        raise InputError(
            _("{path} cannot be read: {error}").format(path=path, error=error.strerror or error),
            advice=_("Check the path."),
        ) from error


def _decoded(stream: io.BufferedReader, encoding: str, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The lines of a UTF-16 or UTF-32 file, as they are and in UTF-8 without a mark."""
    decoder = codecs.getincrementaldecoder(encoding)()
    rest = ""
    is_start = True
    while True:
        piece = stream.read(_PIECE)
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            raise InputError(
                _("{path} is no sound {encoding}: {reason}").format(path=path, encoding=encoding, reason=error.reason),
                advice=_("Save it again as UTF-8."),
            ) from error
        if is_start:
            text = text.removeprefix("\ufeff")
            is_start = False
        lines = (rest + text).split("\n")
        rest = lines.pop()
        for line in lines:
            yield (line + "\n").encode(encoding), (line + "\n").encode()
        if not piece:
            break
    if rest:
        yield rest.encode(encoding), rest.encode()


def _repair(line: bytes, kinds: set[str]) -> bytes:
    if "bom" in kinds and line.startswith(BOM):
        line = line.removeprefix(BOM)
    if "crlf" in kinds:
        row = line.rstrip(b"\r\n")
        if b"\r" in line[len(row) :]:
            line = row + b"\n" * line.endswith(b"\n")
    if "blank-lines" in kinds and not line.strip(b" \t\r\n"):
        return b""
    if "key-names" in kinds:
        line = _rename(line)
    return line


def _rename(line: bytes) -> bytes:
    mark = BOM if line.startswith(BOM) else b""
    body = line[len(mark) :].rstrip(b"\r\n")
    try:
        text = body.decode()
        row: Any = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return line
    renames = row_renames(row)
    if not renames:
        return line
    keys = scan(text).keys
    places = sorted((keys[path], name) for path, name in renames.items() if path in keys)
    for index, name in reversed(places):
        match = _KEY.match(text, index)
        if match is not None:
            text = f'{text[:index]}"{name}"{text[match.end() :]}'
    return mark + text.encode() + line[len(mark) + len(body) :]


def _diff(before: bytes, after: bytes) -> list[str]:
    old, new = _visible(before), _visible(after)
    if not after:
        return [f"-{_cut(old, 0)}"]
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    return [f"-{_cut(old, same)}", f"+{_cut(new, same)}"]


def _visible(line: bytes) -> str:
    """Line ends and marks as pictures, so that a difference in them can be seen."""
    text = line.decode("utf-8", "replace")
    for char, shown in (("\r", "␍"), ("\n", "␊"), ("\ufeff", "⟨BOM⟩"), ("\0", "␀")):
        text = text.replace(char, shown)
    return text


def _cut(text: str, place: int) -> str:
    if len(text) <= _SHOWN_CHARS:
        return text
    start = max(0, min(place - _SHOWN_CHARS // 3, len(text) - _SHOWN_CHARS))
    end = start + _SHOWN_CHARS
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
