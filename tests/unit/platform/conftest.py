"""A platform in this process, with stand-ins for the job engine and the function workers."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.app import make_app
from agentic_rl_tui.core.platform.instances import PoolRequest
from agentic_rl_tui.core.platform.options import PlatformOptions
from agentic_rl_tui.core.platform.service import Platform

BASE = "http://platform.local"
ROWS = b"".join(b'{"messages": [{"role": "user", "content": "%d"}]}\n' % number for number in range(8))


class FakeScheduler:
    """Moves jobs only when a test says so."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.events: list[str] = []
        self.held: list[str] = []

    async def recover(self) -> None:
        self.events.append("recover")

    async def start(self) -> None:
        self.events.append("start")

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self.held)

    def wake(self) -> None:
        self.events.append("wake")

    async def cancel(self, job_id: str) -> bool:
        jobs = self.platform.jobs
        job = jobs.stored(job_id)
        if job is not None and job.status == JobStatus.RUNNING:
            return await jobs.move(job_id, JobStatus.CANCELING)
        return await jobs.move(job_id, JobStatus.CANCELED)

    async def stop(self) -> None:
        self.events.append("stop")


@dataclass
class FakePool:
    """A pool whose answers a test sets. Calls wait for `gate` where it is set."""

    request: PoolRequest
    slots: int = 2
    result: CallResult = field(default_factory=lambda: CallResult(CallStatus.OK, {"ok": True}))
    start_error: ArlError | None = None
    gate: asyncio.Event | None = None
    start_gate: asyncio.Event | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)
    upstreams: list[Any] = field(default_factory=list)
    canceled: int = 0
    is_running: bool = False
    was_called: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self) -> None:
        if self.start_gate is not None:
            await self.start_gate.wait()
        if self.start_error is not None:
            raise self.start_error
        self.is_running = True

    async def call(
        self, payload: dict[str, Any], *, timeout_s: float | None = None, upstream: Any = None
    ) -> CallResult:
        self.calls.append(payload)
        self.upstreams.append(upstream)
        self.was_called.set()
        self.request.on_output("stdout", f"called {len(self.calls)}", 1_796_000_000.0 + len(self.calls))
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.canceled += 1
                raise
        return self.result

    async def stop(self) -> None:
        self.is_running = False


@dataclass
class Bench:
    """The platform under test, with what its stand-ins saw."""

    platform: Platform
    client: httpx.AsyncClient
    pools: list[FakePool]
    next_pool: dict[str, Any]

    async def upload(self, name: str = "train.jsonl", content: bytes = ROWS) -> str:
        answer = await self.client.post("/api/v1/files", files={"files": (name, content)})
        return str(answer.json()["data"]["uploaded_files"][0]["file_id"])

    async def put_package(self, files: dict[str, str] | None = None, key: str = "reward-key") -> str:
        """Upload a package; its code_url."""
        answer = await self.client.post(f"{FT}/generate/faas/upload/url", json={"unique_key": key})
        url = str(answer.json()["output"]["url"])
        put = await self.client.put(url, content=package(files))
        assert put.status_code == 200, put.text
        return url

    async def register(self, kind: str = "reward", *, key: str = "", url: str | None = None) -> str:
        code_url = url or await self.put_package()
        answer = await self.client.post(
            f"{FT}/create/{kind}",
            json={
                "name": "functions/fns.py",
                "unique_key": key or f"{kind}-{len(self.pools)}-key",
                "func": "Fn",
                "code_url": code_url,
            },
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["output"][f"{kind.replace('-', '_')}_id"])

    async def load(self, entity_id: str, runtime: dict[str, Any] | None = None, job: str = "1") -> dict[str, str]:
        answer = await self.client.post(f"{FT}/online/faas/jobId-{job}/{entity_id}", json=runtime or {})
        assert answer.status_code == 200, answer.text
        return dict(answer.json()["output"])

    async def request_body(self, **changes: Any) -> dict[str, Any]:
        """A request that can be taken, with changes."""
        body = {
            "model": "qwen3.5-9b",
            "training_datasets": [{"type": "training", "data_source_type": "file_id", "file_id": await self.upload()}],
            "rollout": {"rollout_id": await self.register("rollout"), "name": "rollout-1"},
            "rewards": [{"reward_id": await self.register("reward"), "name": "r", "weight": 1.0}],
            "hyper_parameters": {"batch_size": 4, "learning_rate": "2e-6"},
            "training_type": "reinforcement",
            "job_name": "demo-12345678",
        }
        return {key: value for key, value in {**body, **changes}.items() if value is not None}

    async def create_job(self, **changes: Any) -> str:
        answer = await self.client.post(FT, json=await self.request_body(**changes))
        assert answer.status_code == 200, answer.text
        return str(answer.json()["output"]["job_id"])


FT = "/api/v1/fine-tunes"


def package(files: dict[str, str] | None = None) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (files or {"functions/fns.py": "class Fn: ...\n", "functions/__init__.py": ""}).items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return memory.getvalue()


@pytest.fixture
def make_package() -> Callable[..., bytes]:
    return package


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty directory."""
    path = tmp_path / "folder"
    path.mkdir()
    return path


@pytest.fixture
def options() -> PlatformOptions:
    return PlatformOptions()


@pytest.fixture
async def bench(tmp_path: Path, options: PlatformOptions) -> AsyncIterator[Bench]:
    pools: list[FakePool] = []
    next_pool: dict[str, Any] = {}

    def make_pool(request: PoolRequest) -> FakePool:
        pools.append(FakePool(request, **next_pool))
        return pools[-1]

    platform = Platform(tmp_path / "platform", options=options, make_scheduler=FakeScheduler, make_pool=make_pool)
    await platform.start()
    transport = httpx.ASGITransport(make_app(platform))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
        yield Bench(platform, client, pools, next_pool)
    await platform.stop()
