"""A text file that a person edits: every byte that was not changed stays, and nobody's change is lost unseen."""

import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Self

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import Conflict, InputError

_EDITOR_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters that Python, but no YAML or JSON reader, takes for the end of a line."""
_PICTURES = {ord(char): "\ufffd" for char in _EDITOR_BREAKS} | dict.fromkeys(range(55296, 57344), "�")
_WIDE_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_MOST_COMPARED = 4_000
LARGEST_BYTES = 32 << 20


class ChangedOnDisk(Conflict):
    """The file is no longer what was read; nothing was written."""

    default_advice = N_("Look at the difference, then read it again or write over it.")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file was when it was looked at. A file of the same digest is the same, whatever its time says."""

    mtime_ns: int
    size: int
    digest: str

    @classmethod
    def of(cls, raw: bytes, facts: os.stat_result | None = None) -> Self:
        return cls(facts.st_mtime_ns if facts else 0, len(raw), hashlib.sha256(raw).hexdigest())


class TextFile:
    """The content of a file as an editor shows it, and the way back to bytes.

    `text` has one kind of line end, the file's own where it has only one. Bytes that are no UTF-8 show as U+FFFD and
    are kept in every line that is not changed.
    """

    def __init__(self, path: Path, raw: bytes, facts: os.stat_result | None = None) -> None:
        self.path = path
        self.stamp = Stamp.of(raw, facts)
        self._encoding = next((name for mark, name in _WIDE_MARKS if raw.startswith(mark)), "utf-8")
        whole = raw.decode(self._encoding, "surrogateescape" if self._encoding == "utf-8" else "replace")
        self._lines = _split(whole)
        ends = {_end(line) for line in self._lines} - {""}
        self.newline = ends.pop() if len(ends) == 1 else "\n"
        self._shown = [line.removesuffix(_end(line)).translate(_PICTURES) for line in self._lines]
        self.text = self.newline.join(self._shown)
        self.is_exact = self.text == whole and self._encoding == "utf-8"

    @classmethod
    def read(cls, path: Path) -> "TextFile":
        """Raises InputError when it cannot be read or is too large to edit."""
        try:
            facts = path.stat()
            if not stat.S_ISREG(facts.st_mode):
                raise InputError(_("{name} is no regular file").format(name=path.name))
            if facts.st_size > LARGEST_BYTES:
                raise InputError(
                    _("{name} is larger than {limit} MiB").format(name=path.name, limit=LARGEST_BYTES >> 20),
                    advice=_("Use another editor."),
                )
            return cls(path, path.read_bytes(), facts)
        except OSError as error:
            raise InputError(
                _("{path} cannot be read: {reason}").format(path=path, reason=error.strerror or error)
            ) from error

    def encode(self, text: str) -> bytes:
        """The bytes of an edited text: lines that are as they were keep their bytes and their ends."""
        if text == self.text:
            return "".join(self._lines).encode(self._encoding, self._errors)
        if self.is_exact:
            return text.encode("utf-8", "surrogatepass")
        edited = [line.removesuffix(_end(line)) for line in _split(text)]
        kept = _kept(self._shown, edited)
        parts: list[str] = []
        for number, line in enumerate(edited):
            old = kept.get(number)
            is_last = number == len(edited) - 1
            if old is None:
                parts.append(line + ("" if is_last else self.newline))
            else:
                raw = self._lines[old]
                end = _end(raw)
                parts.append(raw.removesuffix(end) + ("" if is_last else end or self.newline))
        return "".join(parts).encode(self._encoding, self._errors)

    @property
    def _errors(self) -> str:
        return "surrogateescape" if self._encoding == "utf-8" else "replace"

    def changed_on_disk(self) -> "TextFile | None":
        """The file as it is when its content is another one by now; None when it is the same.

        Raises InputError when it is gone or cannot be read.
        """
        try:
            facts = self.path.stat()
        except OSError as error:
            raise InputError(
                _("{path} cannot be read: {reason}").format(path=self.path, reason=error.strerror or error)
            ) from error
        if (facts.st_mtime_ns, facts.st_size) == (self.stamp.mtime_ns, self.stamp.size):
            return None
        now = TextFile.read(self.path)
        if now.stamp.digest == self.stamp.digest:
            self.stamp = now.stamp
            return None
        return now

    def save(self, text: str, *, overwrite: bool = False) -> "TextFile":
        """Write an edited text, whole or not at all, with the file's mode; what a link points to is written.

        Raises ChangedOnDisk when somebody else wrote the file since it was read, InputError when the disk refuses.
        """
        try:
            target = self.path.resolve()
            if not overwrite and target.exists() and self.changed_on_disk() is not None:
                raise ChangedOnDisk(
                    _("{name} was changed by somebody else since it was read").format(name=self.path.name)
                )
            raw = self.encode(text)
            write_atomic(target, raw)
            return TextFile(self.path, raw, target.stat())
        except OSError as error:
            raise InputError(
                _("{path} cannot be written: {reason}").format(path=self.path, reason=error.strerror or error)
            ) from error


def write_atomic(target: Path, raw: bytes) -> None:
    """Put `raw` in the place of a file, keeping its mode. Raises OSError, with the old content still there."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        draft.chmod(_mode(target))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _split(text: str) -> list[str]:
    """Lines with their ends; the last one has none, so that joining gives the text again."""
    lines: list[str] = []
    for part in text.split("\n"):
        pieces = part.split("\r")
        # A carriage return before the line feed belongs to it; any other one ends a line of its own.
        if len(pieces) > 1 and pieces[-1] == "":
            lines += [piece + "\r" for piece in pieces[:-2]]
            lines.append(pieces[-2] + "\r\n")
        else:
            lines += [piece + "\r" for piece in pieces[:-1]]
            lines.append(pieces[-1] + "\n")
    last = lines[-1]
    if last.endswith("\r\n"):
        lines[-1:] = [last[:-1], ""]
    else:
        lines[-1] = last[:-1]
    return lines


def _end(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else line[-1] if line.endswith(("\n", "\r")) else ""


def _kept(before: list[str], after: list[str]) -> dict[int, int]:
    """Which old line each new line is, for those that are as they were."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    kept = {number: number for number in range(head)}
    kept |= {len(after) - 1 - number: len(before) - 1 - number for number in range(tail)}
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(old) + len(new) <= _MOST_COMPARED:
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            kept |= {head + block.b + step: head + block.a + step for step in range(block.size)}
    return kept


def smallest_change(before: str, after: str) -> tuple[int, int, str]:
    """(start, end, replacement) that turns one text into the other, in whole lines: one step to undo."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = sum(map(len, old[:head]))
    end = len(before) - sum(map(len, old[len(old) - tail :]))
    return start, end, "".join(new[head : len(new) - tail])


def unified(before: str, after: str, *, context: int = 3) -> list[tuple[str, int, int, str]]:
    """Lines of a difference: (``-``, ``+``, `` `` or ``@``, old line number, new line number, text).

    Numbers count from 1 and are 0 where a line has none; ``@`` stands for lines that are left out.
    """
    old, new = before.splitlines(), after.splitlines()
    out: list[tuple[str, int, int, str]] = []
    groups = list(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context))
    for number, group in enumerate(groups):
        first = group[0]
        if number or first[1] > 0:
            out.append(("@", first[1] + 1, first[3] + 1, ""))
        for tag, a0, a1, b0, b1 in group:
            if tag == "equal":
                out += [(" ", a0 + step + 1, b0 + step + 1, old[a0 + step]) for step in range(a1 - a0)]
                continue
            out += [("-", row + 1, 0, old[row]) for row in range(a0, a1)]
            out += [("+", 0, row + 1, new[row]) for row in range(b0, b1)]
    return out


__all__ = ["ChangedOnDisk", "Stamp", "TextFile", "smallest_change", "unified", "write_atomic"]
