"""A small stand-in of the service on loopback that records what it gets and misbehaves when told to."""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from agentic_rl_tui.core import settings as settings_module
from agentic_rl_tui.core.client.retry import RetryPolicy
from agentic_rl_tui.core.client.transport import Transport
from agentic_rl_tui.core.sdk import AgenticRL

KEY = "sk-0123456789abcdef"


@dataclass
class Seen:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def parts(self) -> list[tuple[str, str | None, bytes]]:
        """Name, file name and content of each part of a form."""
        head = f"Content-Type: {self.header('content-type')}\r\n\r\n".encode()
        message = BytesParser(policy=HTTP).parsebytes(head + self.body)
        return [
            (
                str(part.get_param("name", header="content-disposition")),
                part.get_filename(),
                part.get_payload(decode=True) or b"",  # type: ignore[misc]
            )
            for part in message.iter_parts()  # type: ignore[attr-defined]
        ]


@dataclass
class Fault:
    """What to do instead of answering, `times` times, for requests whose "METHOD path" matches.

    after: the request takes effect first. One of: status with body and headers; raw bytes and then the end of the
    connection; drop; stall until the client gives up.
    """

    pattern: str
    times: int = 1
    after: bool = False
    status: int | None = None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    drop: bool = False
    stall: bool = False


@dataclass
class Service:
    """Every operation of the protocol in memory. `jobs` newest first."""

    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)
    layers: dict[str, str] = field(default_factory=dict)
    layer_states: list[str] = field(default_factory=list)
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    instances: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    on_request: Callable[[Seen], None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def requests(self, pattern: str = "") -> list[Seen]:
        return [seen for seen in self.seen if re.search(pattern, f"{seen.method} {seen.path}")]

    def fail(self, pattern: str, **how: Any) -> Fault:
        fault = Fault(pattern, **how)
        self.faults.append(fault)
        return fault

    def answer(self, seen: Seen) -> tuple[int, Any]:
        """Status and body of a request in good order."""
        for pattern, handler in self._routes():
            if found := re.fullmatch(pattern, f"{seen.method} {seen.path}"):
                return handler(seen, *found.groups())
        return 404, {"code": "NotFound", "message": f"no route {seen.method} {seen.path}", "request_id": "r"}

    def _routes(self) -> Iterator[tuple[str, Callable[..., tuple[int, Any]]]]:
        api = "/api/v1"
        yield r"PUT /oss/(\S+)", self._put
        yield rf"POST {api}/fine-tunes/generate/faas/upload/url", self._upload_url
        yield rf"POST {api}/fine-tunes/create/faas/layer", self._create_layer
        yield rf"GET {api}/fine-tunes/query/faas/layer/status", self._layer
        yield rf"POST {api}/fine-tunes/create/(rollout|reward|group-reward)", self._register
        yield rf"POST {api}/fine-tunes/online/faas/jobId-([^/]+)/([^/]+)", self._load
        yield rf"POST {api}/fine-tunes/query/faas/log/([^/]+)", self._instance_log
        yield rf"POST {api}/fine-tunes/query/faas/([^/]+)", self._query
        yield rf"POST {api}/fine-tunes/delete/faas/([^/]+)", self._delete_instance
        yield r"GET /fn/([^/]+)/health", lambda seen, name: (200, {"status": "healthy"})
        yield r"POST /fn/([^/]+)/api/v1", lambda seen, name: (200, {"status": "success", "got": seen.json})
        yield rf"POST {api}/files", self._upload
        yield rf"GET {api}/files", self._file_list
        yield rf"GET {api}/files/([^/]+)", self._file
        yield rf"DELETE {api}/files/([^/]+)", self._delete_file
        yield rf"POST {api}/fine-tunes", self._create
        yield rf"GET {api}/fine-tunes", self._list
        yield rf"GET {api}/fine-tunes/([^/]+)", self._get
        yield rf"DELETE {api}/fine-tunes/([^/]+)", self._delete
        yield rf"POST {api}/fine-tunes/([^/]+)/cancel", self._cancel
        yield rf"GET {api}/fine-tunes/([^/]+)/logs", self._logs

    def _put(self, seen: Seen, key: str) -> tuple[int, Any]:
        self.packages[key] = seen.body
        return 200, b""

    def _upload_url(self, seen: Seen) -> tuple[int, Any]:
        return _ok({"url": f"http://127.0.0.1:{self.port}/oss/{seen.json['unique_key']}.zip?Signature=c2VjcmV0MTIz"})

    def _create_layer(self, seen: Seen) -> tuple[int, Any]:
        code = f"layer-{len(self.layers) + 1}"
        self.layers[code] = seen.json["requirements_content"]
        return _ok({"layer_code": code})

    def _layer(self, seen: Seen) -> tuple[int, Any]:
        if seen.query["layer_code"] not in self.layers:
            return _missing("layer")
        state = self.layer_states.pop(0) if self.layer_states else "SUCCESS"
        return _ok({"layer_code": seen.query["layer_code"], "status": state, "message": "pip says no"})

    def _register(self, seen: Seen, route: str) -> tuple[int, Any]:
        prefix = {"rollout": "ro", "reward": "rw", "group-reward": "grw"}[route]
        entity = f"{prefix}-{len(self.entities) + 1}"
        self.entities[entity] = seen.json
        return _ok({f"{route.replace('-', '_')}_id": entity})

    def _load(self, seen: Seen, job: str, entity: str) -> tuple[int, Any]:
        instance = f"{entity.split('-')[0]}-ins-{len(self.instances) + 1}"
        url = f"http://127.0.0.1:{self.port}/fn/{instance}"
        self.instances[instance] = {"trigger_url": url, "trigger_token": "tok-abcdefgh", "runtime": seen.json}
        return _ok({"instanceId": instance, "trigger_url": url, "trigger_token": "tok-abcdefgh"})

    def _query(self, seen: Seen, instance: str) -> tuple[int, Any]:
        if instance not in self.instances:
            return _missing("instance")
        found = self.instances[instance]
        return _ok({"status": 2, "trigger_url": found["trigger_url"], "trigger_token": found["trigger_token"]})

    def _instance_log(self, seen: Seen, instance: str) -> tuple[int, Any]:
        page, size = seen.json["pageNumber"], seen.json["pageSize"]
        messages = [line for line in self.lines if all(word in line for word in seen.json.get("keywords", []))]
        entries = [{"message": text, "timestamp": 1} for text in messages[(page - 1) * size : page * size]]
        return _ok({"page_number": page, "page_size": size, "total_count": len(messages), "log_entries": entries})

    def _delete_instance(self, seen: Seen, instance: str) -> tuple[int, Any]:
        self.instances.pop(instance, None)
        return 200, {"code": 0, "message": "success", "data": {"status": "deleted"}}

    def _upload(self, seen: Seen) -> tuple[int, Any]:
        import hashlib

        uploaded = []
        for name, filename, content in seen.parts():
            if name == "files":
                file_id = f"file-{len(self.files) + 1}"
                digest = hashlib.md5(content).hexdigest()
                self.files[file_id] = {"name": filename, "size": len(content), "md5": digest, "content": content}
                uploaded.append({"name": filename, "file_id": file_id})
        return 200, {"request_id": "r", "data": {"uploaded_files": uploaded, "failed_uploads": []}}

    def _file_row(self, file_id: str) -> dict[str, Any]:
        return {"file_id": file_id, **{k: v for k, v in self.files[file_id].items() if k != "content"}}

    def _file_list(self, seen: Seen) -> tuple[int, Any]:
        number, size = int(seen.query["page_no"]), int(seen.query["page_size"])
        rows = [self._file_row(file_id) for file_id in reversed(self.files)][(number - 1) * size : number * size]
        return 200, {"data": {"total": len(self.files), "page_no": number, "page_size": size, "files": rows}}

    def _file(self, seen: Seen, file_id: str) -> tuple[int, Any]:
        return (200, {"data": self._file_row(file_id)}) if file_id in self.files else _missing("file")

    def _delete_file(self, seen: Seen, file_id: str) -> tuple[int, Any]:
        return (200, {"request_id": "r"}) if self.files.pop(file_id, None) else _missing("file")

    def _create(self, seen: Seen) -> tuple[int, Any]:
        job = {
            "job_id": f"ft-{len(self.jobs) + 1}",
            "job_name": seen.json.get("job_name"),
            "status": "PENDING",
            "creator": 123456,
        }
        self.jobs.insert(0, job)
        return _ok(job)

    def _list(self, seen: Seen) -> tuple[int, Any]:
        number, size = int(seen.query["page_no"]), int(seen.query["page_size"])
        page = self.jobs[(number - 1) * size : number * size]
        return _ok({"page_no": number, "page_size": size, "total": len(self.jobs), "jobs": page})

    def job(self, job_id: str) -> dict[str, Any] | None:
        return next((job for job in self.jobs if job["job_id"] == job_id), None)

    def _get(self, seen: Seen, job_id: str) -> tuple[int, Any]:
        job = self.job(job_id)
        return _ok(job) if job is not None else _missing("job")

    def _delete(self, seen: Seen, job_id: str) -> tuple[int, Any]:
        job = self.job(job_id)
        if job is None:
            return _missing("job")
        self.jobs.remove(job)
        return _ok({"status": "success"})

    def _cancel(self, seen: Seen, job_id: str) -> tuple[int, Any]:
        job = self.job(job_id)
        if job is None:
            return _missing("job")
        job["status"] = "CANCELED"
        return _ok({"status": "success"})

    def _logs(self, seen: Seen, job_id: str) -> tuple[int, Any]:
        offset, count = int(seen.query["offset"]), int(seen.query["line"])
        return _ok({"total": len(self.lines), "logs": self.lines[offset : offset + count]})

    # -- the wire --------------------------------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (seen := await _read(reader)) is not None:
                self.seen.append(seen)
                if self.on_request is not None:
                    self.on_request(seen)
                if not await self._reply(seen, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _reply(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        """Answer or misbehave; whether the connection goes on."""
        fault = self._fault(seen)
        if fault is None:
            await _write(writer, *self.answer(seen))
            return True
        if fault.after:
            self.answer(seen)
        if fault.stall:
            await asyncio.sleep(3600)
        if fault.drop:
            writer.transport.abort()
            return False
        if fault.raw is not None:
            writer.write(fault.raw)
            await writer.drain()
            return False
        status, body = (fault.status, fault.body) if fault.status is not None else self.answer(seen)
        await _write(writer, status, body, fault.headers)
        return True

    def _fault(self, seen: Seen) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.pattern, f"{seen.method} {seen.path}"):
                fault.times -= 1
                return fault
        return None


def _ok(output: Any) -> tuple[int, Any]:
    return 200, {"request_id": "req-1", "output": output}


def _missing(what: str) -> tuple[int, Any]:
    return 404, {"request_id": "req-404", "code": "NotFound", "message": f"{what} not found"}


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = [(name.strip(), value.strip()) for name, value in (line.split(":", 1) for line in rest if ":" in line)]
    length = int(next((value for name, value in headers if name.lower() == "content-length"), 0))
    return Seen(method, target, headers, await reader.readexactly(length))


async def _write(
    writer: asyncio.StreamWriter, status: int | None, body: Any, headers: dict[str, str] | None = None
) -> None:
    if isinstance(body, bytes | str):
        content = body.encode() if isinstance(body, str) else body
        kind = "text/html" if content.lstrip()[:1] == b"<" else "text/plain"
    else:
        content, kind = json.dumps(body).encode(), "application/json"
    lines = {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}
    top = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(top.encode() + b"\r\n" + content)
    await writer.drain()


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    made = Service()
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(asyncio.CancelledError):
            await made.serve(reader, writer)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        tasks.discard(task)

    server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=1 << 22)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()
    for task in list(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Clock:
    """Waits that take no time, remembered in order."""

    waits: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def policy(clock: Clock) -> RetryPolicy:
    return RetryPolicy(attempts=3, random=lambda: 1.0, sleep=clock.sleep)


MakeClient = Callable[..., AgenticRL]


@pytest.fixture
async def make_client(service: Service, policy: RetryPolicy, tmp_path: Path) -> AsyncIterator[MakeClient]:
    """Clients of the service, closed at the end; arguments win over the usual ones."""
    made: list[AgenticRL] = []

    def make(api_key: str | None = KEY, *, flags: dict[str, Any] | None = None, **named: Any) -> AgenticRL:
        url = named.pop("base_url", service.url)
        loaded = settings_module.load(workspace=tmp_path, base_url=url, flags=flags)
        client = AgenticRL(api_key, settings=named.pop("settings", loaded), retry=policy, **named)
        made.append(client)
        return client

    yield make
    for client in made:
        await client.close()


@pytest.fixture
def client(make_client: MakeClient) -> AgenticRL:
    return make_client()


@pytest.fixture
def transport(client: AgenticRL) -> Transport:
    return client.transport


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small workspace with one function of each kind, data, and a job file."""
    root = tmp_path / "workspace"
    sources = {
        "functions/rollout/agent.py": "AbstractRolloutProcessor",
        "functions/reward/answer.py": "AbstractRewardProcessor",
        "functions/reward/group.py": "AbstractGroupRewardProcessor",
    }
    for name, base in sources.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"from dashscope.finetune.reinforcement import {base}\n\n\n"
            f"class Thing({base}):\n    def process(self, input):\n        return None\n"
        )
    (root / "requirements.txt").write_text("sympy==1.14.0\n")
    (root / "data").mkdir()
    rows = [
        {"messages": [{"role": "user", "content": f"What is {n} + 1?"}], "rollout_extra": {"solution": str(n + 1)}}
        for n in range(40)
    ]
    (root / "data/train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:32]))
    (root / "data/valid.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[32:]))
    (root / "job.yaml").write_text(JOB)
    return root


JOB = """\
name: little
model: {name: qwen3.5-9b}
functions:
  - type: rollout
    name: agent
    timeout: 600
    fcmodel: {classpath: functions.rollout.agent.Thing}
    runtime: {cpu: 2, memory_size: 4096, disk_size: 512, concurrency: 30, capacity: 30}
  - type: reward
    name: answer
    weight: 1.0
    timeout: 120
    reward_metric_weight: {exact: 0.5}
    fcmodel: {classpath: "functions/reward/answer.py:Thing"}
    runtime: {cpu: 1, memory_size: 4096, disk_size: 512, concurrency: 2, capacity: 5, env: {TRACE: true, LEVEL: 3}}
  - type: group_reward
    name: group
    weight: 0.5
    timeout: 120
    fcmodel: {classpath: functions.reward.group.Thing}
datasets:
  - {type: training, file_name: ./data/train.jsonl}
  - {type: validation, file_name: ./data/valid.jsonl}
training:
  type: reinforcement
  hyper_parameters:
    algorithm: gspo
    kl_loss_coef: 0.002
    learning_rate: 2e-6
    lr_scheduler_type: linear
    lr_warmup_steps: -1
    n_epochs: 1
    batch_size: 16
    n_rollouts: 8
    ppo_mini_batch_size: 8
    max_length: 8192
    max_prompt_length: 1024
    eval_steps: 1
    save_steps: 100
    save_strategy: steps
    save_total_limit: 1
  resources: {charge_type: mtu_postpaid, mtu_spec_code: MTU4, mtu_capacity: 24}
"""
