"""What a package holds, why, and what stays at home: everything is decided here, before a byte is written."""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from agentic_rl_tui.core.functions.package_rules import (
    DEFAULT_PATTERNS,
    IGNORE_FILE,
    START_SCRIPT,
    IgnoreRule,
    IgnoreRules,
    LeftOutRule,
    NameRules,
    Verdict,
    looks_secret,
)
from agentic_rl_tui.core.functions.package_script import start_script
from agentic_rl_tui.core.functions.package_zip import CHUNK_BYTES, MAX_FILE_BYTES, packed_estimate
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

LIMIT_BYTES = 200 << 20
"""The largest archive that the service takes."""

_IN_WORKSPACE = "in the workspace"
_KEY_SHAPE = re.compile(rb"\bsk-[A-Za-z0-9_-]{20,}")
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\s|\\n)*[A-Za-z0-9+/=]{32}")
_OVERLAP_BYTES = 4096


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
        return _tree_hash(self.all_entries)

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

    def for_function(self, kind: FunctionKind, classpath: ClassPath, *, workers: int = 2) -> "PackagePlan":
        """The same files with the start script of one function; nothing is read again."""
        content = start_script(kind, classpath, workers=workers)
        return replace(self, script=generated(START_SCRIPT, content, f"starts {classpath.dotted}", is_executable=True))

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


def environment_patterns() -> tuple[str, ...]:
    """The patterns of FC_ZIP_EXCLUDE_PATTERNS (comma separated), which replace the default ones as they always did."""
    text = os.environ.get("FC_ZIP_EXCLUDE_PATTERNS")
    return DEFAULT_PATTERNS if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


class Collector:
    """Walks a workspace and sorts its files into entries and what is left out. Never follows linked directories."""

    def __init__(
        self, workspace: Path, *, patterns: Sequence[str], secrets: Iterable[str], limit_bytes: int = LIMIT_BYTES
    ) -> None:
        self.workspace = workspace
        self.entries: dict[str, PackageEntry] = {}
        self.left_out: list[LeftOut] = []
        self.problems: list[SourceProblem] = []
        self._limit = limit_bytes
        self._needles = [secret.encode() for secret in secrets if len(secret) >= 6]
        self._rules = NameRules(patterns, self._ignore_rules())

    def _ignore_rules(self) -> IgnoreRules:
        try:
            text = (self.workspace / IGNORE_FILE).read_text(encoding="utf-8-sig", errors="replace")
        except FileNotFoundError:
            return IgnoreRules()
        except OSError as error:
            self._problem(IGNORE_FILE, f"cannot be read: {error.strerror}", "package-unreadable", Severity.ERROR)
            return IgnoreRules()
        return IgnoreRules.parse(text)

    def collect(self) -> None:
        pending = [("", str(self.workspace))]
        while pending:
            prefix, directory = pending.pop()
            try:
                with os.scandir(directory) as found:
                    items = sorted(found, key=lambda item: item.name)
            except OSError as error:
                self._unreadable(prefix.rstrip("/") or ".", error, is_dir=True)
                continue
            for item in items:
                path = prefix + item.name
                if item.is_dir(follow_symlinks=False):
                    if self._keeps_dir(path, item):
                        pending.append((f"{path}/", item.path))
                elif item.is_symlink() and item.is_dir():
                    self._linked_dir(path, item)
                else:
                    self._file(path, item)

    def add_extra(self, file: Path) -> None:
        """Put a file named by the job into the root of the package, whatever the patterns say of its name."""
        source = file if file.is_absolute() else self.workspace / file
        name = source.name
        shown = str(file)
        if not source.is_file():
            what = "is a directory" if source.is_dir() else "does not exist"
            self._problem(
                shown, f"the extra file {shown} {what}", "package-extra-missing", Severity.ERROR,
                "Correct extra_files in the job file.",
            )  # fmt: skip
            return
        if looks_secret(name):
            self._leave(name, Verdict(LeftOutRule.SECRET, "the name looks like that of a secret"))
            return
        previous = self.entries.pop(name, None)
        self.left_out = [item for item in self.left_out if item.path != name]
        self._read(name, str(source), f"extra file {shown}", origin=source)
        if previous is not None and name in self.entries and self.entries[name].digest != previous.digest:
            self.left_out.append(LeftOut(name, f"replaced by the extra file {shown}", LeftOutRule.REPLACED))

    def _keeps_dir(self, path: str, item: os.DirEntry[str]) -> bool:
        verdict, _ = self._rules.decide(path, item.name, is_dir=True)
        if verdict is None and os.path.exists(os.path.join(item.path, "pyvenv.cfg")):
            verdict = Verdict(LeftOutRule.CACHE, "is a virtual environment")
        if verdict is not None:
            self._leave(path, verdict, is_dir=True)
        return verdict is None

    def _linked_dir(self, path: str, item: os.DirEntry[str]) -> None:
        verdict, _ = self._rules.decide(path, item.name, is_dir=True)
        if verdict is not None:
            self._leave(path, verdict, is_dir=True)
            return
        target = os.readlink(item.path)
        self.left_out.append(LeftOut(path, f"link to the directory {target}", LeftOutRule.LINK, is_dir=True))
        self._problem(
            path, f"is a link to the directory {target}; linked directories are not packaged", "package-linked-dir",
            Severity.WARNING, "Copy the directory into the workspace if the functions need it.",
        )  # fmt: skip

    def _file(self, path: str, item: os.DirEntry[str]) -> None:
        verdict, kept_by = self._rules.decide(path, item.name, is_dir=False)
        if (
            verdict is None
            and kept_by is None
            and item.is_symlink()
            and looks_secret(os.path.basename(os.path.realpath(item.path)))
        ):
            verdict = Verdict(LeftOutRule.SECRET, "is a link to a file whose name looks like that of a secret")
        if verdict is not None:
            self._leave(path, verdict)
        elif path == START_SCRIPT:
            self._leave(path, Verdict(LeftOutRule.REPLACED, "replaced by the generated start script"))
        else:
            if kept_by is not None and looks_secret(item.name):
                self._problem(
                    path, f"looks like a secret and is sent, since {IGNORE_FILE}:{kept_by.line} asks for it",
                    "package-secret-kept", Severity.WARNING,
                )  # fmt: skip
            self._read(path, item.path, _kept(kept_by))

    def _read(self, path: str, source: str, reason: str, origin: Path | None = None) -> None:
        """Hash a file, look for secrets in it, and make it an entry."""
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = path.encode(errors="replace").decode()
            self._leave(shown, Verdict(LeftOutRule.UNREADABLE, "the name is not valid UTF-8"))
            return
        try:
            facts = os.stat(source)
            if not stat.S_ISREG(facts.st_mode):
                self._leave(path, Verdict(LeftOutRule.SPECIAL, "is no ordinary file"))
                return
            handle = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if facts.st_size > self._limit and self._is_too_big(path, handle, facts.st_size):
                    return
                digest, secret = self._scan(path, handle)
            finally:
                os.close(handle)
        except OSError as error:
            self._unreadable(path, error)
            return
        if secret is not None:
            self._leave(path, Verdict(LeftOutRule.SECRET, secret))
            return
        is_executable = bool(facts.st_mode & 0o111)
        self.entries[path] = PackageEntry(path, facts.st_size, reason, is_executable, digest, facts.st_mtime_ns, origin)

    def _is_too_big(self, path: str, handle: int, size: int) -> bool:
        if size <= MAX_FILE_BYTES and packed_estimate(handle, size) <= self._limit:
            return False
        text = f"{size / (1 << 20):.0f} MiB, over the limit of the whole package"
        self._leave(path, Verdict(LeftOutRule.TOO_BIG, text))
        self._problem(
            path, f"is too big to be sent: {text}", "package-too-big", Severity.ERROR,
            f"Name it in {IGNORE_FILE} if the functions do not need it, else fetch it in setup().",
        )  # fmt: skip
        return True

    def _scan(self, path: str, handle: int) -> tuple[bytes, str | None]:
        digest = hashlib.sha256()
        tail = b""
        is_reported = False
        while chunk := os.read(handle, CHUNK_BYTES):
            digest.update(chunk)
            text = tail + chunk if tail else chunk
            for needle in self._needles:
                if needle in text:
                    return b"", "its text holds one of your keys"
            if b"PRIVATE KEY-----" in text and _PRIVATE_KEY.search(text):
                return b"", "its text holds a private key"
            if not is_reported and b"sk-" in text and (found := _KEY_SHAPE.search(text)):
                is_reported = True
                self._key_shape(path, text, found.start())
            tail = chunk[-_OVERLAP_BYTES:] if len(chunk) == CHUNK_BYTES else b""
        return digest.digest(), None

    def _key_shape(self, path: str, text: bytes, offset: int) -> None:
        line = text.count(b"\n", 0, offset) + 1
        self.problems.append(
            SourceProblem(
                path,
                line,
                offset - text.rfind(b"\n", 0, offset),
                "holds what looks like an API key, and would be sent",
                "package-key-in-file",
                Severity.WARNING,
                "Pass keys in runtime.env and read them from os.environ.",
            )
        )

    def _leave(self, path: str, verdict: Verdict, *, is_dir: bool = False) -> None:
        self.left_out.append(LeftOut(path, verdict.reason, verdict.rule, is_dir))
        if verdict.rule is LeftOutRule.SECRET:
            self._problem(
                path, f"is left out: {verdict.reason}", "package-secret", Severity.WARNING,
                f"Pass secrets in runtime.env; a line !{path} in {IGNORE_FILE} sends the file all the same.",
            )  # fmt: skip

    def _unreadable(self, path: str, error: OSError, *, is_dir: bool = False) -> None:
        why = error.strerror or "cannot be read"
        self.left_out.append(LeftOut(path, why, LeftOutRule.UNREADABLE, is_dir))
        self._problem(path, f"cannot be read: {why}", "package-unreadable", Severity.ERROR)

    def _problem(self, path: str, message: str, rule: str, severity: Severity, advice: str = "") -> None:
        self.problems.append(SourceProblem(path, 0, 0, message, rule, severity, advice))


def _kept(rule: IgnoreRule | None) -> str:
    return _IN_WORKSPACE if rule is None else f"{IGNORE_FILE}:{rule.line} {rule.text!r}"


def estimate_archive(workspace: Path, entries: Iterable[PackageEntry], total: int, limit: int) -> int | None:
    """The archive's size judged by samples of its large files, None when even uncompressed it is within the limit."""
    if total <= limit:
        return None
    estimate = 0
    for entry in entries:
        if entry.content is not None or entry.size < CHUNK_BYTES:
            estimate += entry.size // 3
            continue
        handle = os.open(entry.origin or workspace / entry.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            estimate += packed_estimate(handle, entry.size)
        finally:
            os.close(handle)
    return estimate
