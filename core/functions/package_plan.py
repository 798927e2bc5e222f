"""What a package holds, why, and what stays at home."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from agentic_rl_tui.core.functions.package_rules import START_SCRIPT, LeftOutRule
from agentic_rl_tui.core.functions.package_script import ScriptOptions, start_script
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

LIMIT_BYTES = 200 << 20
"""The largest archive that the service takes."""
UNPACKED_LIMIT_BYTES = 2 << 30
FILES_LIMIT = 100_000
"""What a package may hold; `unpack` takes no more either."""


@dataclass(frozen=True, slots=True)
class PackageEntry:
    """One file of the package. path is its name in the archive; digest the SHA-256 of its bytes.

    origin is set where the file lies elsewhere than below the workspace, content where it is made in memory.
    """

    path: str
    size: int
    reason: str
    is_executable: bool
    digest: bytes = field(repr=False)
    mtime_ns: int = 0
    origin: Path | None = None
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or a directory with all below it, that is not in the package."""

    path: str
    reason: str
    rule: LeftOutRule
    is_dir: bool = False


@dataclass(frozen=True)
class PackagePlan:
    """Exactly what `write` would put into the archive. Entries are in the order of their paths."""

    workspace: Path
    entries: tuple[PackageEntry, ...]
    left_out: tuple[LeftOut, ...]
    problems: tuple[SourceProblem, ...]
    limit_bytes: int = LIMIT_BYTES
    requirements: str = "requirements.txt"
    script: PackageEntry | None = None
    estimate: int | None = None

    @property
    def total_bytes(self) -> int:
        """Unpacked size."""
        return sum(entry.size for entry in self.all_entries)

    @property
    def estimated_bytes(self) -> int:
        """Upper guess of the archive's size: from samples where the plain size is over the limit."""
        return self.total_bytes if self.estimate is None else self.estimate

    @property
    def all_entries(self) -> tuple[PackageEntry, ...]:
        """The entries and, for a plan of one function, the start script."""
        if self.script is None:
            return self.entries
        return tuple(sorted((*self.entries, self.script), key=lambda entry: entry.path))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) over path, execute bit and bytes of the entries; the start script does not count.

        Functions of one workspace share it. It is the same on any machine, whatever the files' times are.
        """
        return _tree_hash(self.entries)

    @cached_property
    def archive_hash(self) -> str:
        """Like `content_hash`, with the start script: two archives of the same hash are interchangeable."""
        return self.content_hash if self.script is None else _tree_hash(self.all_entries)

    @property
    def errors(self) -> tuple[SourceProblem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    def entry(self, path: str) -> PackageEntry | None:
        return self._by_path.get(path)

    def why_left_out(self, path: str) -> LeftOut | None:
        """The record that keeps `path` or a directory above it out of the package."""
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            if (found := self._left_by_path.get("/".join(parts[:end]))) is not None:
                return found
        return None

    def for_function(
        self, kind: FunctionKind, classpath: ClassPath, *, options: ScriptOptions | None = None
    ) -> "PackagePlan":
        """The same files with the start script of one function; nothing is read again.

        options: by default what the environment says.
        """
        settings = options or ScriptOptions.of_environment(self.requirements)
        content = start_script(kind, classpath, settings)
        return replace(
            self,
            script=generated(
                START_SCRIPT, content, _("starts {function}").format(function=classpath.dotted), is_executable=True
            ),
        )

    @cached_property
    def _by_path(self) -> dict[str, PackageEntry]:
        return {entry.path: entry for entry in self.all_entries}

    @cached_property
    def _left_by_path(self) -> dict[str, LeftOut]:
        return {item.path: item for item in self.left_out}


def _tree_hash(entries: Iterable[PackageEntry]) -> str:
    digest = hashlib.sha256(b"agentic-rl package 1\n")
    for entry in entries:
        digest.update(entry.path.encode() + (b"\0x" if entry.is_executable else b"\0-") + entry.digest)
    return digest.hexdigest()


def generated(path: str, content: bytes, reason: str, *, is_executable: bool = False) -> PackageEntry:
    """An entry that exists in memory only."""
    digest = hashlib.sha256(content).digest()
    return PackageEntry(path, len(content), reason, is_executable, digest, content=content)


def requirements_text(plan: PackagePlan) -> bytes | None:
    """The content of the plan's requirements file, None where there is none. Raises PackageError when unreadable."""
    try:
        return (plan.workspace / plan.requirements).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PackageError(
            _("{requirements} cannot be read: {error}").format(requirements=plan.requirements, error=error.strerror)
        ) from error
