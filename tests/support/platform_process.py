"""A platform as a process of its own, for the tests that need a real one."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx

from agentic_rl_tui.core.paths import PlatformPaths

LIMIT_S = 60.0
BASE = "http://platform.local"


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """Wait for a condition of another process; its first true answer."""
    async with asyncio.timeout(LIMIT_S):
        while not (found := await condition()):  # noqa: ASYNC110 - it is another process that is watched
            await asyncio.sleep(0.02)
    return found


class PlatformProcess:
    """Runs below `root`; `client` asks it over its socket. What it prints goes to files that nobody has to empty."""

    def __init__(
        self, root: Path, *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self.root = root
        self.paths = PlatformPaths(root)
        self._out, self._err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")  # noqa: SIM115 - see `end`
        self._ended: tuple[int, str, str] | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "agentic_rl_tui.core.platform", "--root", str(root), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
            cwd=cwd,
            env=os.environ | dict(env or {}),
        )

    @cached_property
    def client(self) -> httpx.AsyncClient:
        return self._client()

    def _client(self) -> httpx.AsyncClient:
        transport = httpx.AsyncHTTPTransport(uds=str(self.paths.socket))
        return httpx.AsyncClient(transport=transport, base_url=BASE, timeout=LIMIT_S)

    @property
    def url(self) -> str:
        """Where it can be reached over TCP."""
        return str(json.loads(self.paths.pid_file.read_text())["url"])

    async def ready(self) -> dict[str, Any]:
        """Wait until it serves jobs; what it says of its health."""
        async with self._client() as client:

            async def ask() -> dict[str, Any] | None:
                assert self.process.poll() is None, self._printed()
                try:
                    await client.get("/api/v1/fine-tunes?page_size=1")
                    return dict((await client.get("/local/v1/health")).json())
                except httpx.TransportError:
                    return None

            return dict(await until(ask))

    async def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Signal it and wait for its end: its code and what it printed. May be called again."""
        await self.client.aclose()
        return await asyncio.to_thread(self.end_now, number)

    def end_now(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """As `end`, for who has no loop and used no client."""
        if self._ended is None:
            if self.process.poll() is None:
                self.process.send_signal(number)
            self._ended = (self.process.wait(LIMIT_S), *self._printed())
            self._out.close()
            self._err.close()
        return self._ended

    def _printed(self) -> tuple[str, str]:
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read())
        return texts[0], texts[1]


@contextmanager
def served(root: Path, token: str, *arguments: str) -> Iterator[PlatformProcess]:
    """A platform with a TCP port, ready, for the time of the block; for fixtures of whole modules."""
    platform = PlatformProcess(root, "--port", "0", "--token", token, *arguments)
    try:
        asyncio.run(platform.ready())
        yield platform
    finally:
        platform.end_now()


def processes_below(root: Path) -> set[int]:
    """Processes that work below a directory or name it on their command line."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            place, words = os.readlink(entry / "cwd"), (entry / "cmdline").read_bytes().decode(errors="replace")
            is_gone = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if not is_gone and (f"{place}/".startswith(f"{root}/") or f"{root}/" in words or words.endswith(f"{root}\0")):
            found.add(int(entry.name))
    return found
