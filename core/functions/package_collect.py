"""The walk over a workspace that sorts its files into what is sent and what stays at home."""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from agentic_rl_tui.core.functions.package_plan import (
    FILES_LIMIT,
    LIMIT_BYTES,
    UNPACKED_LIMIT_BYTES,
    LeftOut,
    PackageEntry,
)
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
from agentic_rl_tui.core.functions.package_zip import CHUNK_BYTES, MAX_FILE_BYTES, packed_estimate
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import PackageError

_KEY_SHAPE = re.compile(rb"\bsk-[A-Za-z0-9_-]{20,}")
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\s|\\n)*[A-Za-z0-9+/=]{32}")
_OVERLAP_BYTES = 4096
_MIB = 1 << 20
# Without O_NONBLOCK a named pipe in the workspace would block the walk for ever.
_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_SECRET_NAME = Verdict(LeftOutRule.SECRET, N_("the name looks like that of a secret"))
_SECRET_TARGET = Verdict(LeftOutRule.SECRET, N_("links to a file whose name looks like that of a secret"))
_START = Verdict(LeftOutRule.REPLACED, N_("replaced by the generated start script"))
_ENVIRONMENT = Verdict(LeftOutRule.CACHE, N_("is a virtual environment"))


def environment_patterns() -> tuple[str, ...]:
    """The patterns of FC_ZIP_EXCLUDE_PATTERNS (comma separated), which replace the default ones as they always did."""
    text = os.environ.get("FC_ZIP_EXCLUDE_PATTERNS")
    return DEFAULT_PATTERNS if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def environment_limit() -> int:
    """FC_OSS_FILE_SIZE_WARNING (bytes), which despite its name is the limit of the archive, or the service's own."""
    text = os.environ.get("FC_OSS_FILE_SIZE_WARNING", "").strip()
    return int(text) if text.isdecimal() and int(text) > 0 else LIMIT_BYTES


class Collector:
    """Fills `entries`, `left_out` and `problems`. Reads every kept file once; never follows linked directories."""

    def __init__(
        self, workspace: Path, *, patterns: Sequence[str], secrets: Iterable[str], limit_bytes: int = LIMIT_BYTES
    ) -> None:
        self.workspace = workspace
        self.entries: dict[str, PackageEntry] = {}
        self.left_out: list[LeftOut] = []
        self.problems: list[SourceProblem] = []
        self._limit = limit_bytes
        self._total = 0
        self._needles = [secret.encode() for secret in secrets if len(secret) >= 6]
        self._rules = NameRules(patterns, self._ignore_rules())

    def _ignore_rules(self) -> IgnoreRules:
        try:
            text = (self.workspace / IGNORE_FILE).read_text(encoding="utf-8-sig", errors="replace")
        except FileNotFoundError:
            return IgnoreRules()
        except OSError as error:
            self._error(IGNORE_FILE, "package-unreadable", _("cannot be read: {error}").format(error=error.strerror))
            return IgnoreRules()
        return IgnoreRules.parse(text)

    def collect(self) -> None:
        """Raises PackageError when the tree is too large to be a workspace."""
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
                elif item.is_symlink():
                    self._link(path, item)
                else:
                    self._file(path, item)

    def add_extra(self, file: Path) -> None:
        """Put a file named by the job into the root of the package, whatever the patterns say of its name."""
        source = self.workspace / file
        name, shown = source.name, str(file)
        if not source.is_file():
            what = _("is a directory") if source.is_dir() else _("does not exist")
            self._error(
                shown,
                "package-extra-missing",
                _("the extra file {what}").format(what=what),
                _("Correct extra_files in the job file."),
            )
            return
        if looks_secret(name):
            self._leave(name, _SECRET_NAME)
            return
        previous = self.entries.pop(name, None)
        self.left_out = [item for item in self.left_out if item.path != name]
        self._read(name, str(source), _("extra file {shown}").format(shown=shown), origin=source)
        if previous is not None and name in self.entries and self.entries[name].digest != previous.digest:
            self.left_out.append(
                LeftOut(name, _("replaced by the extra file {shown}").format(shown=shown), LeftOutRule.REPLACED)
            )

    def _keeps_dir(self, path: str, item: os.DirEntry[str]) -> bool:
        verdict, _rule = self._rules.decide(path, item.name, is_dir=True)
        if verdict is None and os.path.exists(os.path.join(item.path, "pyvenv.cfg")):
            verdict = _ENVIRONMENT
        if verdict is not None:
            self._leave(path, verdict, is_dir=True)
        return verdict is None

    def _link(self, path: str, item: os.DirEntry[str]) -> None:
        """Links to files are followed, as the service's client does; links to directories are not."""
        if not item.is_dir():
            self._file(path, item)
            return
        verdict, _rule = self._rules.decide(path, item.name, is_dir=True)
        if verdict is not None:
            self._leave(path, verdict, is_dir=True)
            return
        target = os.readlink(item.path)
        self.left_out.append(
            LeftOut(path, _("link to the directory {target}").format(target=target), LeftOutRule.LINK, is_dir=True)
        )
        self._warning(
            path,
            "package-linked-dir",
            _("is a link to the directory {target}; linked directories are not packaged").format(target=target),
            _("Copy the directory into the workspace if the functions need it."),
        )

    def _file(self, path: str, item: os.DirEntry[str]) -> None:
        verdict, kept_by = self._rules.decide(path, item.name, is_dir=False)
        if verdict is None and path == START_SCRIPT:
            verdict = _START
        if verdict is None and kept_by is None and item.is_symlink():
            verdict = self._judge_target(item)
        if verdict is not None:
            self._leave(path, verdict)
            return
        if kept_by is not None and looks_secret(item.name):
            message = _("looks like a secret and is sent, since {file}:{line} asks for it").format(
                file=IGNORE_FILE, line=kept_by.line
            )
            self._warning(path, "package-secret-kept", message)
        self._read(path, item.path, _kept(kept_by))

    def _judge_target(self, item: os.DirEntry[str]) -> Verdict | None:
        target = os.path.realpath(item.path)
        if looks_secret(os.path.basename(target)):
            return _SECRET_TARGET
        if os.path.exists(target) and not os.path.isfile(target):
            return Verdict(LeftOutRule.SPECIAL, _("links to what is no ordinary file"))
        return None

    def _read(self, path: str, source: str, reason: str, origin: Path | None = None) -> None:
        """Hash a file, look for secrets in it, and make it an entry."""
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = path.encode(errors="replace").decode()
            self._leave(shown, Verdict(LeftOutRule.UNREADABLE, _("the name is not valid UTF-8")))
            return
        try:
            handle = os.open(source, _OPEN_FLAGS)
        except OSError as error:
            self._unreadable(path, error)
            return
        try:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                self._leave(path, Verdict(LeftOutRule.SPECIAL, _("is no ordinary file")))
                return
            if facts.st_size > self._limit and self._is_too_big(path, handle, facts.st_size):
                return
            digest, secret = self._scan(path, handle, facts.st_size)
        except OSError as error:
            self._unreadable(path, error)
            return
        finally:
            os.close(handle)
        if secret is not None:
            self._leave(path, Verdict(LeftOutRule.SECRET, secret))
            return
        self._total += facts.st_size
        if self._total > UNPACKED_LIMIT_BYTES or len(self.entries) >= FILES_LIMIT:
            raise self._not_a_workspace()
        is_executable = bool(facts.st_mode & 0o111)
        self.entries[path] = PackageEntry(path, facts.st_size, reason, is_executable, digest, facts.st_mtime_ns, origin)

    def _not_a_workspace(self) -> PackageError:
        return PackageError(
            _("{workspace} holds more than {limit:,} files or {size:.0f} GiB").format(
                workspace=self.workspace, limit=FILES_LIMIT, size=UNPACKED_LIMIT_BYTES / (1 << 30)
            ),
            advice=_("Name the directory of the functions alone, or leave parts of it out with {file}.").format(
                file=IGNORE_FILE
            ),
        )

    def _is_too_big(self, path: str, handle: int, size: int) -> bool:
        if size <= MAX_FILE_BYTES and packed_estimate(handle, size) <= self._limit:
            return False
        text = _("{size:.0f} MiB, over the limit of the whole package").format(size=size / _MIB)
        self._leave(path, Verdict(LeftOutRule.TOO_BIG, text))
        advice = _("Name it in {file} if the functions do not need it, else fetch it in setup().").format(
            file=IGNORE_FILE
        )
        self._error(path, "package-too-big", _("is too big to be sent: {text}").format(text=text), advice)
        return True

    def _scan(self, path: str, handle: int, left: int) -> tuple[bytes, str | None]:
        """(SHA-256, why the text is a secret) of the first `left` bytes. Texts are searched in overlapping pieces."""
        digest = hashlib.sha256()
        tail = b""
        lines_before = 0
        is_reported = False
        while left > 0 and (chunk := os.read(handle, min(CHUNK_BYTES, left))):
            left -= len(chunk)
            digest.update(chunk)
            text = tail + chunk if tail else chunk
            for needle in self._needles:
                if needle in text:
                    return b"", _("its text holds one of your keys")
            if b"PRIVATE KEY-----" in text and _PRIVATE_KEY.search(text):
                return b"", _("its text holds a private key")
            if not is_reported and b"sk-" in text and (found := _KEY_SHAPE.search(text)):
                is_reported = True
                self._key_shape(path, text, found.start(), lines_before)
            if left:
                tail = chunk[-_OVERLAP_BYTES:]
                lines_before += text.count(b"\n", 0, len(text) - len(tail))
        return digest.digest(), None

    def _key_shape(self, path: str, text: bytes, offset: int, lines_before: int) -> None:
        line = lines_before + text.count(b"\n", 0, offset) + 1
        col = offset - text.rfind(b"\n", 0, offset)
        message = _("holds what looks like an API key, and would be sent")
        advice = _("Pass keys in runtime.env and read them from os.environ.")
        self.problems.append(SourceProblem(path, line, col, message, "package-key-in-file", Severity.WARNING, advice))

    def _leave(self, path: str, verdict: Verdict, *, is_dir: bool = False) -> None:
        self.left_out.append(LeftOut(path, _(verdict.reason), verdict.rule, is_dir))
        if verdict.rule is LeftOutRule.SECRET:
            advice = _("Pass secrets in runtime.env; a line !/{path} in {file} sends the file all the same.").format(
                path=path, file=IGNORE_FILE
            )
            self._warning(path, "package-secret", _("is left out: {reason}").format(reason=_(verdict.reason)), advice)

    def _unreadable(self, path: str, error: OSError, *, is_dir: bool = False) -> None:
        why = _("cannot be read: {error}").format(error=error.strerror or type(error).__name__)
        self.left_out.append(LeftOut(path, why, LeftOutRule.UNREADABLE, is_dir))
        self._warning(path, "package-unreadable", _("is left out: it {why}").format(why=why))

    def _error(self, path: str, rule: str, message: str, advice: str = "") -> None:
        self.problems.append(SourceProblem(path, 0, 0, message, rule, Severity.ERROR, advice))

    def _warning(self, path: str, rule: str, message: str, advice: str = "") -> None:
        self.problems.append(SourceProblem(path, 0, 0, message, rule, Severity.WARNING, advice))


def _kept(rule: IgnoreRule | None) -> str:
    return _("in the workspace") if rule is None else f"{IGNORE_FILE}:{rule.line} {rule.text!r}"


def estimate_archive(workspace: Path, entries: Iterable[PackageEntry], total: int, limit: int) -> int | None:
    """The archive's size judged by samples of its large files, None when even uncompressed it is within the limit."""
    if total <= limit:
        return None
    estimate = 0
    for entry in entries:
        if entry.content is not None or entry.size < CHUNK_BYTES:
            estimate += entry.size // 3
            continue
        handle = os.open(entry.origin or workspace / entry.path, _OPEN_FLAGS)
        try:
            estimate += packed_estimate(handle, entry.size)
        finally:
            os.close(handle)
    return estimate
