"""What a check may ask about the workspace around a job file."""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

from agentic_rl_tui.core.models.processors import ClassPath, ProcessorInfo

_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "venv"})
_MAX_LISTED = 2_000


class WorkspaceFacts(Protocol):
    """Answers must be quick: they are asked for while a person types. Paths are as the job file spells them."""

    def find_class(self, classpath: ClassPath) -> ProcessorInfo | None:
        """The processor, or None where the file holds no processor of that name."""

    def module_exists(self, classpath: ClassPath) -> bool: ...

    def file_exists(self, path: str) -> bool: ...

    def rows(self, path: str) -> int | None:
        """Rows of a data file; None while they are not known."""

    def processors(self) -> Sequence[ProcessorInfo] | None:
        """Every processor of the workspace; None while nobody has looked: classes are then not checked."""

    def files(self) -> Sequence[str]:
        """Files of the workspace, relative, with ``/``."""


class DiskFacts:
    """Facts read from a folder. Row counts are kept, also between instances, until a file changes.

    processors: what a scan of the sources found; None leaves classes unchecked.
    """

    def __init__(
        self,
        workspace: Path,
        processors: Iterable[ProcessorInfo] | None = None,
    ) -> None:
        self.workspace = workspace
        self._processors = None if processors is None else tuple(processors)
        self._by_class = {(info.path, info.class_name): info for info in self._processors or ()}

    def find_class(self, classpath: ClassPath) -> ProcessorInfo | None:
        return self._by_class.get((classpath.path, classpath.class_name))

    def module_exists(self, classpath: ClassPath) -> bool:
        return self.file_exists(classpath.path)

    def file_exists(self, path: str) -> bool:
        try:
            return (self.workspace / path).is_file()
        except (OSError, ValueError):
            return False

    def rows(self, path: str) -> int | None:
        """Lines that are not blank."""
        try:
            target = (self.workspace / path).absolute()
            stat = target.stat()
            return _count_rows(target, stat.st_mtime_ns, stat.st_size)
        except (OSError, ValueError):
            return None

    def processors(self) -> Sequence[ProcessorInfo] | None:
        return self._processors

    def files(self) -> Sequence[str]:
        """At most 2,000 files; hidden folders and those of tools are left out."""
        found: list[str] = []
        pending = [self.workspace]
        while pending and len(found) < _MAX_LISTED:
            folder = pending.pop()
            try:
                entries = sorted(folder.iterdir(), reverse=True)
            except OSError:
                continue
            for entry in entries:
                if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
                    continue
                if entry.is_dir() and not entry.is_symlink():
                    pending.append(entry)
                elif entry.is_file():
                    found.append(entry.relative_to(self.workspace).as_posix())
        return sorted(found[:_MAX_LISTED])


@lru_cache(maxsize=256)
def _count_rows(path: Path, _changed_ns: int, _bytes: int) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if not line.isspace())


class RememberedFacts:
    """Facts that are asked only once for each thing: the functions of a job name the same files again and again."""

    def __init__(self, facts: WorkspaceFacts) -> None:
        self.find_class = cache(facts.find_class)
        self.module_exists = cache(facts.module_exists)
        self.file_exists = cache(facts.file_exists)
        self.rows = cache(facts.rows)
        self.processors = cache(facts.processors)
        self.files = cache(facts.files)
