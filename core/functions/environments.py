"""Environments made from a requirements text: one for each text and interpreter, shared by all processes."""

import asyncio
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ConfigError, PackageError
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.paths import private_dir, state_dir
from agentic_rl_tui.core.settings import Settings

OnLine = Callable[[str], None]

NEEDS = ("pydantic>=2",)
"""What a worker imports that neither Python nor the worker itself holds."""

_READY = ".ready"
_REQUIREMENTS = "requirements.txt"
_KEPT = 5
_UNUSED_S = 86_400.0
_LOOK_S = 0.1
_LAST_LINES = 3
_CHUNK = 1 << 16
_COMMENT = re.compile(r"(^|\s)#.*$")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PROVIDED = "dashscope"
_DESCRIBE = "import sys; print(sys.implementation.cache_tag, *sys.version_info[:3], sys.base_prefix)"


class RequirementsPolicy(StrEnum):
    """check: compare the requirements with what is there. install: make an environment of them. ignore: neither."""

    CHECK = "check"
    INSTALL = "install"
    IGNORE = "ignore"


def policy_of(settings: Settings) -> RequirementsPolicy:
    """What ``local.requirements`` of the settings says. Raises ConfigError."""
    value = settings.get("local.requirements", RequirementsPolicy.CHECK)
    try:
        return RequirementsPolicy(value)
    except ValueError as error:
        told = _("{origin}: local.requirements must be one of {known}, not {value!r}")
        origin = settings.origins.get("local.requirements", "settings")
        known = ", ".join(RequirementsPolicy)
        raise ConfigError(told.format(origin=origin, known=known, value=value)) from error


def default_cache_dir() -> Path:
    return state_dir() / "environments"


@dataclass(frozen=True, slots=True)
class Environments:
    """Environments of our own interpreter below one directory."""

    cache_dir: Path

    def python(self, requirements_text: str) -> Path:
        """Where the interpreter for a text lies, once `make` has made it."""
        return _python_of(self.cache_dir / _key(_normalized(requirements_text), _own_interpreter()))

    async def make(self, requirements_text: str, on_line: OnLine | None = None) -> Path:
        return await environment(requirements_text, cache_dir=self.cache_dir, on_line=on_line)


async def environment(
    requirements_text: str, *, python: Path | None = None, cache_dir: Path | None = None, on_line: OnLine | None = None
) -> Path:
    """The interpreter of an environment that holds the requirements and what a worker needs; made when it is not there.

    python: the interpreter it is made of, None for ours. on_line: is given every line that pip prints. pip is set up
    by its own files and ``PIP_*`` variables. Environments that were not used for a day are removed, except for the
    five used last. Raises PackageError with pip's last words when the requirements cannot be installed.
    """
    lines = _normalized(requirements_text)
    base = python or Path(sys.executable)
    described = _own_interpreter() if python is None else await asyncio.to_thread(_describe, python)
    cache = default_cache_dir() if cache_dir is None else cache_dir
    home = cache / _key(lines, described)
    try:
        private_dir(cache)
        async with _locked(home) as lock:
            if not await asyncio.to_thread(_is_ready, home):
                await _Build(home, base, lines, lock, on_line).run()
            (home / _READY).touch()
        await asyncio.to_thread(_prune, cache, home)
    except OSError as error:
        raise PackageError(
            _("The environment of the requirements cannot be made: {error}").format(error=error.strerror or error),
            advice=_("Check that there is room in {cache} and that it can be written.").format(cache=cache),
        ) from error
    return _python_of(home)


class _Build:
    """Makes one environment at its final place, since environments cannot be moved; the stamp comes last."""

    def __init__(self, home: Path, base: Path, lines: Sequence[str], lock: int, on_line: OnLine | None) -> None:
        self._home = home
        self._base = base
        self._lines = lines
        self._lock = lock
        self._on_line = on_line
        self._last: deque[str] = deque(maxlen=40)

    async def run(self) -> None:
        """Raises PackageError, and leaves nothing behind when it does or is canceled."""
        await asyncio.to_thread(shutil.rmtree, self._home, True)
        is_made = False
        try:
            await self._make()
            is_made = True
        finally:
            if not is_made:
                await asyncio.to_thread(shutil.rmtree, self._home, True)

    async def _make(self) -> None:
        failure = _("The interpreter cannot make an environment")
        await self._step([str(self._base), "-I", "-m", "venv", str(self._home)], failure, _("Install its venv module."))
        given = self._home / _REQUIREMENTS
        given.write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")
        needs = tuple(NEEDS)
        # pip wants a hash for everything as soon as one line has one, and ours have none.
        runs = [("-r", str(given)), needs] if any("--hash" in line for line in self._lines) else [
            ("-r", str(given), *needs)
        ]  # fmt: skip
        pip = [str(_python_of(self._home)), "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
        advice = _("Correct requirements.txt, or choose the policy check or ignore to use what is installed.")
        for run in runs:
            await self._step(
                [*pip, "--disable-pip-version-check", *run], _("The requirements cannot be installed"), advice
            )

    async def _step(self, command: list[str], failure: str, advice: str) -> None:
        """Run a command and tell its lines. It holds the lock too, so that it is never overtaken should we die."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._home.parent,
            env=_pip_environment(),
            start_new_session=True,
            pass_fds=[self._lock],
        )
        assert process.stdout is not None
        try:
            async for line in _lines_of(process.stdout):
                self._hear(line)
            code = await process.wait()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if code != 0:
            raise PackageError(
                f"{failure}: {self._last_words() or _('exit code {code}').format(code=code)}", advice=advice
            )

    def _hear(self, line: str) -> None:
        told = redact(line)
        self._last.append(told)
        if self._on_line is not None:
            self._on_line(told)

    def _last_words(self) -> str:
        errors = [line.removeprefix("ERROR: ") for line in self._last if line.startswith("ERROR: ")]
        return "\n".join((errors or [line for line in self._last if line.strip()])[-_LAST_LINES:])


async def _lines_of(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    rest = b""
    while chunk := await stream.read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip()
    if rest:
        yield rest.decode("utf-8", "replace").rstrip()


@asynccontextmanager
async def _locked(home: Path) -> AsyncIterator[int]:
    """Hold the lock of one environment, against other processes and other tasks of this one."""
    lock = _open_lock(home)
    try:
        while not _try_lock(lock):  # noqa: ASYNC110 - another process cannot set an event
            await asyncio.sleep(_LOOK_S)
        yield lock
    finally:
        os.close(lock)


def _open_lock(home: Path) -> int:
    return os.open(home.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _prune(cache: Path, current: Path) -> None:
    """Remove what nobody used for long; what is being made is locked and stays."""
    homes = [path for path in cache.iterdir() if path.is_dir() and path != current]
    ordered = sorted(homes, key=_used_at, reverse=True)
    limit = time.time() - _UNUSED_S
    for home in ordered[_KEPT - 1 :]:
        if _used_at(home) >= limit:
            continue
        lock = _open_lock(home)
        try:
            # Looked at again with the lock held: it may have been taken into use meanwhile.
            if _try_lock(lock) and _used_at(home) < limit:
                (home / _READY).unlink(missing_ok=True)
                shutil.rmtree(home, ignore_errors=True)
        finally:
            os.close(lock)


def _used_at(home: Path) -> float:
    for path in (home / _READY, home):
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            continue
    return 0.0


def _is_ready(home: Path) -> bool:
    """False also for one whose interpreter was removed from the machine."""
    return (home / _READY).is_file() and _python_of(home).exists()


def _python_of(home: Path) -> Path:
    return home / "bin" / "python"


def _normalized(text: str) -> tuple[str, ...]:
    """The lines that pip is to see: continued lines joined, without comments and what workers provide themselves."""
    joined = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\\\n", " ")
    lines = (" ".join(_COMMENT.sub("", line).split()) for line in joined.splitlines())
    return tuple(line for line in lines if line and not _is_provided(line))


def _is_provided(line: str) -> bool:
    name = _NAME.match(line)
    return name is not None and re.sub(r"[-_.]+", "-", name[0]).lower() == _PROVIDED


def _key(lines: Sequence[str], interpreter: str) -> str:
    return hashlib.sha256("\n".join([interpreter, *NEEDS, "", *lines]).encode()).hexdigest()


def _own_interpreter() -> str:
    version = " ".join(map(str, sys.version_info[:3]))
    return f"{sys.implementation.cache_tag} {version} {sys.base_prefix}"


def _describe(python: Path) -> str:
    """Like `_own_interpreter`, of another one. Raises PackageError when it does not run."""
    try:
        ran = subprocess.run(
            [str(python), "-I", "-c", _DESCRIBE], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise PackageError(
            _("{python} cannot be run: {error}").format(python=python, error=error),
            advice=_("Repair or remove that environment."),
        ) from error
    return ran.stdout.strip()


def _pip_environment() -> dict[str, str]:
    """What function code may see, and how the user set up pip: a package's build runs code of others."""
    from agentic_rl_tui.core.functions.keeper import clean_environment

    return clean_environment({name: value for name, value in os.environ.items() if name.startswith("PIP_")})
