"""Notes and pins on jobs, kept on this machine: one small file a profile, safe with several processes."""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.paths import locked, private_dir, state_dir

LONGEST = 4000
"""Characters of a note; more is cut."""
_VERSION = 1
_MOST = 5000
_FORGET_GONE_S = 90 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class JobNote:
    """What a person keeps about a job. gone_at: when the job was deleted, 0 while it is there."""

    text: str = ""
    is_pinned: bool = False
    at: float = 0.0
    gone_at: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not self.text and not self.is_pinned


class Notes:
    """All notes of one profile. Every change reads the file again under a lock, so two programs lose nothing.

    A file that cannot be read is set aside as ``….broken`` at the next change, never written over.
    """

    def __init__(self, place: str, root: Path | None = None, *, clock: Callable[[], float] = time.time) -> None:
        """place: what tells the profile apart, e.g. its base URL."""
        import hashlib

        folder = root if root is not None else state_dir() / "notes"
        self.path = folder / f"{hashlib.sha256(place.encode()).hexdigest()[:12]}.json"
        self._clock = clock
        self._known: dict[str, JobNote] = {}
        self._stamp: tuple[int, int] | None = None

    def all(self) -> Mapping[str, JobNote]:
        """Every note by job id; read again only when the file has changed."""
        try:
            facts = self.path.stat()
        except OSError:
            self._known, self._stamp = {}, None
            return self._known
        stamp = (facts.st_mtime_ns, facts.st_size)
        if stamp != self._stamp:
            self._known, self._stamp = _read(self.path) or {}, stamp
        return self._known

    def get(self, job_id: str) -> JobNote:
        return self.all().get(job_id, JobNote())

    def write(self, job_id: str, text: str) -> JobNote:
        """Replace the text of a note; an empty one takes it away. Raises OSError when the disk refuses."""
        cleaned = text.strip()[:LONGEST]
        return self._change(job_id, lambda note: replace(note, text=cleaned, at=self._clock()))

    def pin(self, job_ids: Iterable[str], *, is_pinned: bool) -> None:
        """Raises OSError when the disk refuses."""
        for job_id in job_ids:
            self._change(job_id, lambda note: replace(note, is_pinned=is_pinned, at=self._clock()))

    def job_gone(self, job_id: str) -> None:
        """The job was deleted: its pin goes, its text stays readable for three months. Raises OSError."""
        if job_id in self.all():
            self._change(job_id, lambda note: replace(note, is_pinned=False, gone_at=self._clock()))

    def _change(self, job_id: str, change: Callable[[JobNote], JobNote]) -> JobNote:
        private_dir(self.path.parent)
        with locked(self.path.with_suffix(".lock")):
            known = _read(self.path)
            if known is None:
                os.replace(self.path, self.path.with_suffix(".broken"))
                known = {}
            note = change(known.get(job_id, JobNote()))
            known[job_id] = note
            self._save({key: item for key, item in known.items() if self._is_kept(item)})
        return note

    def _is_kept(self, note: JobNote) -> bool:
        return not note.is_empty and not (note.gone_at and self._clock() - note.gone_at > _FORGET_GONE_S)

    def _save(self, notes: Mapping[str, JobNote]) -> None:
        from agentic_rl_tui.core.textfile import write_atomic

        newest = sorted(notes.items(), key=lambda item: -item[1].at)[:_MOST]
        entries = {job_id: asdict(note) for job_id, note in newest}
        self.path.touch(mode=0o600)
        text = json.dumps({"version": _VERSION, "notes": entries}, ensure_ascii=False)
        write_atomic(self.path, text.encode("utf-8", "replace"))


class SessionNotes(Notes):
    """Notes that live as long as the program, for runs that leave no trace on the disk."""

    def __init__(self) -> None:
        super().__init__("", Path("."))

    def all(self) -> Mapping[str, JobNote]:
        return self._known

    def _change(self, job_id: str, change: Callable[[JobNote], JobNote]) -> JobNote:
        note = self._known[job_id] = change(self._known.get(job_id, JobNote()))
        if note.is_empty:
            del self._known[job_id]
        return note


def _read(path: Path) -> dict[str, JobNote] | None:
    """None for a file that holds something else; empty where there is none."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        kept: Any = json.loads(raw) if raw else {"version": _VERSION, "notes": {}}
        if kept["version"] != _VERSION:
            return None
        return {str(job_id): _note(item) for job_id, item in kept["notes"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _note(item: Mapping[str, object]) -> JobNote:
    return JobNote(
        str(item["text"]),
        bool(item["is_pinned"]),
        float(str(item["at"])),
        float(str(item.get("gone_at", 0.0))),
    )
