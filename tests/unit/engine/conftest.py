"""A platform in memory: store, log, files and functions written in plain Python behind the engine's ports."""

import ast
import asyncio
import dataclasses
import hashlib
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus
from agentic_rl_tui.core.models.errors import FunctionFailed, NotFound
from agentic_rl_tui.core.models.functions import FunctionKind, Runtime
from agentic_rl_tui.core.models.job_request import DatasetEntry, FunctionEntry, JobRequest
from agentic_rl_tui.core.models.jobs import JobProgress
from agentic_rl_tui.core.models.status import TERMINAL, JobStatus, sources
from agentic_rl_tui.core.platform.engine import Engine, EngineOptions, Gateway, Scheduler
from agentic_rl_tui.core.platform.engine.policy import ModelRequest
from agentic_rl_tui.core.platform.engine.session import message_of
from agentic_rl_tui.core.platform.ports import JobRecord

Body = Callable[[dict[str, Any]], Any | Awaitable[Any]]
FORM = (
    "Output the answer when you are ready. The answer should be surrounded by three sharps (`###`), in the form of "
    "### ANSWER: <answer> ###. "
)


class MemoryJobs:
    def __init__(self) -> None:
        self.records: dict[str, JobRecord] = {}
        self.moves: list[tuple[str, JobStatus]] = []
        self.progress: list[JobProgress] = []
        self._changed = asyncio.Event()

    def _touch(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for changes until `condition` holds."""
        async with asyncio.timeout(10):
            while not condition():
                await self._changed.wait()

    async def ended(self, *job_ids: str) -> None:
        await self.until(lambda: all(self.records[job_id].status in TERMINAL for job_id in job_ids))

    def add(
        self, request: JobRequest, *, status: JobStatus = JobStatus.PENDING, job_id: str | None = None
    ) -> JobRecord:
        number = len(self.records) + 1
        job_id = job_id or f"ft-202612010900-{number:04x}"
        record = JobRecord(job_id, request.job_name or "job", status, request, created_at=float(number))
        self.records[job_id] = record
        return record

    async def job(self, job_id: str) -> JobRecord | None:
        return self.records.get(job_id)

    async def jobs_in(self, *statuses: JobStatus) -> list[JobRecord]:
        found = [record for record in self.records.values() if record.status in statuses]
        return sorted(found, key=lambda record: record.created_at)

    async def move(
        self, job_id: str, target: JobStatus, *, code: str | None = None, message: str | None = None
    ) -> bool:
        record = self.records.get(job_id)
        if record is None or record.status not in sources(target):
            return False
        self.records[job_id] = dataclasses.replace(record, status=target, code=code, message=message)
        self.moves.append((job_id, target))
        self._touch()
        return True

    async def set_progress(self, job_id: str, progress: JobProgress) -> None:
        self.progress.append(progress)
        self.records[job_id] = dataclasses.replace(self.records[job_id], progress=progress)
        self._touch()

    async def set_output(self, job_id: str, finetuned_output: str) -> None:
        self.records[job_id] = dataclasses.replace(self.records[job_id], finetuned_output=finetuned_output)


class MemoryLog:
    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}

    async def append(self, job_id: str, lines: Sequence[str]) -> None:
        for line in lines:
            self.lines.setdefault(job_id, []).extend(line.split("\n"))

    async def last(self, job_id: str) -> str | None:
        return self.lines.get(job_id, [None])[-1]


class MemoryFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, file_id: str, rows: Sequence[Any]) -> str:
        self._folder.mkdir(exist_ok=True)
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (self._folder / file_id).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file_id

    async def path(self, file_id: str) -> Path:
        found = self._folder / file_id
        if not found.exists():
            raise NotFound(f"there is no file {file_id!r}")
        return found


class PlainFunction:
    """A callable behind the port. It may give a dict, a CallResult, raise, or be async."""

    def __init__(self, body: Body, kind: FunctionKind, name: str, slots: int) -> None:
        self.body, self.kind, self.name, self.slots = body, kind, name, slots
        self.calls = 0
        self.running = 0
        self.most_running = 0
        self.closed = False

    async def call(self, payload: dict[str, Any], *, timeout_s: float | None = None) -> CallResult:
        self.calls += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            async with asyncio.timeout(timeout_s):
                output = self.body(payload)
                if asyncio.iscoroutine(output):
                    output = await output
        except TimeoutError:
            return CallResult(CallStatus.TIMEOUT, None, CallError("TimeoutError", f"no answer within {timeout_s} s"))
        except Exception as error:
            trace = f'File "functions/{self.name}.py", line 7, in process\n{type(error).__name__}: {error}'
            return CallResult(CallStatus.RAISED, None, CallError(type(error).__name__, str(error), trace))
        finally:
            self.running -= 1
        if isinstance(output, CallResult):
            return output
        failed = isinstance(output, dict) and output.get("status") == "failed"
        return CallResult(CallStatus.FAILED if failed else CallStatus.OK, output)

    async def close(self) -> None:
        self.closed = True


class PlainFunctions:
    """entities maps an id to a body; the id's prefix tells its kind."""

    def __init__(self) -> None:
        self.entities: dict[str, Body] = {}
        self.opened: list[PlainFunction] = []
        self.slots = 8
        self.open_delay: asyncio.Event | None = None
        self.broken: set[str] = set()

    async def open(
        self, entity_id: str, *, runtime: Runtime, timeout_s: float | None, job_id: str, name: str
    ) -> PlainFunction:
        if self.open_delay is not None:
            await self.open_delay.wait()
        if entity_id in self.broken:
            raise FunctionFailed(f"{name}: setup raised KeyError", kind="raised", traceback="File x.py\nKeyError: 'x'")
        if entity_id not in self.entities:
            raise NotFound(f"there is no function {entity_id!r}")
        kind = {"ro": FunctionKind.ROLLOUT, "rw": FunctionKind.REWARD, "grw": FunctionKind.GROUP_REWARD}[
            entity_id.split("-")[0]
        ]
        function = PlainFunction(self.entities[entity_id], kind, name, self.slots)
        self.opened.append(function)
        return function


class ManualClock:
    """Time that stands still unless it is told to go on."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds


class Bench:
    """Everything a job needs, with the gateway reached through ASGI."""

    def __init__(self, folder: Path, options: EngineOptions | None = None) -> None:
        self.jobs, self.log, self.functions = MemoryJobs(), MemoryLog(), PlainFunctions()
        self.files = MemoryFiles(folder / "files")
        self.clock = ManualClock()
        self.gateway = Gateway(base_url="http://gateway.local")
        self.artefacts = folder / "jobs"
        self.engine = Engine(
            jobs=self.jobs,
            log=self.log,
            functions=self.functions,
            files=self.files,
            gateway=self.gateway,
            artefacts=self.artefacts,
            options=options or EngineOptions(now=self.clock, timer=self.clock),
        )
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(self.gateway.app))

    def scheduler(self, **options: Any) -> Scheduler:
        return Scheduler(jobs=self.jobs, log=self.log, engine=self.engine, **options)

    async def run(self, request: JobRequest, *, cancel: asyncio.Event | None = None) -> JobRecord:
        """Run one job as the scheduler would, to its end."""
        record = self.jobs.add(request)
        await self.jobs.move(record.job_id, JobStatus.RUNNING)
        running = await self.jobs.job(record.job_id)
        assert running is not None
        await self.engine.run(running, cancel or asyncio.Event())
        ended = self.jobs.records[record.job_id]
        assert ended.status in TERMINAL or ended.status is JobStatus.CANCELING
        return ended

    def request(
        self,
        *,
        rollout: Body | None,
        rewards: Sequence[Body] = (),
        group_rewards: Sequence[Body] = (),
        rows: Sequence[Any] | None = None,
        validation: Sequence[Any] | None = None,
        weights: Sequence[float | None] = (),
        model: str = "qwen3.5-9b",
        teacher: str | None = None,
        **hyper: Any,
    ) -> JobRequest:
        """A job over plain callables; hyper overrides a small default."""
        if rollout is not None:
            self.functions.entities["ro-1"] = rollout
        entries: list[FunctionEntry] = []
        for prefix, bodies in (("rw", rewards), ("grw", group_rewards)):
            for number, body in enumerate(bodies, 1):
                entity_id = f"{prefix}-{number}"
                self.functions.entities[entity_id] = body
                weight = weights[len(entries)] if len(entries) < len(weights) else None
                name = f"{'group' if prefix == 'grw' else 'score'}-{number}"
                entries.append(FunctionEntry(reward_id=entity_id, name=name, weight=weight, timeout=5))
        self.files.write("train", arithmetic(64) if rows is None else rows)
        validating = []
        if validation is not None:
            self.files.write("valid", validation)
            validating = [DatasetEntry(type="validation", file_id="valid", file_name="valid.jsonl")]
        settings = {"batch_size": 8, "n_rollouts": 4, "learning_rate": "2e-6", "seed": 7} | hyper
        return JobRequest(
            model=model,
            training_datasets=[DatasetEntry(file_id="train", file_name="train.jsonl")],
            validation_datasets=validating,
            rollout=None if rollout is None else FunctionEntry(rollout_id="ro-1", name="agent", timeout=5),
            rewards=entries,
            hyper_parameters=settings,
            training_type="pg_opd" if teacher else "reinforcement",
            teacher_model=teacher,
        )

    def metrics(self, record: JobRecord, key: str = "critic/rewards/mean") -> list[float]:
        """The values of one metric over the log's dict lines."""
        found = []
        for line in self.lines(record):
            if " - INFO - {" in line:
                values = ast.literal_eval(line.split(" - INFO - ", 1)[1])
                found += [values[key]] if key in values else []
        return found

    def lines(self, record: JobRecord) -> list[str]:
        return self.log.lines.get(record.job_id, [])

    def text(self, record: JobRecord) -> str:
        return "\n".join(self.lines(record))

    def log_hash(self, record: JobRecord) -> str:
        return hashlib.sha256(self.text(record).replace(record.job_id, "JOB").encode()).hexdigest()

    def agent(self, *, tools: bool = False, turns: int = 3, http: bool = False) -> Body:
        """A rollout function as users write them: ask the model, run its tools, give the conversation back."""
        ask = self.ask_over_http if http else self.ask

        async def rollout(payload: dict[str, Any]) -> dict[str, Any]:
            messages = list(payload["messages"])
            for _ in range(turns):
                message = await ask(payload, messages, tools=[CALCULATOR] if tools else None)
                messages.append(message)
                if not message.get("tool_calls"):
                    break
                for call in message["tool_calls"]:
                    expression = json.loads(call["function"]["arguments"])["expression"]
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": calculate(expression)})
            return done(messages, payload)

        return rollout

    async def ask(
        self, payload: dict[str, Any], messages: list[dict[str, Any]], *, tools: list[Any] | None = None
    ) -> dict[str, Any]:
        """Ask the model without HTTP in between, for tests of many rollouts."""
        session = self.gateway.find(payload["model_resource"]["api_key"])
        assert session is not None
        reply = await self.gateway.ask(session, ModelRequest(list(messages), tools or []))
        return message_of(reply.completions[0])

    async def ask_over_http(
        self, payload: dict[str, Any], messages: list[dict[str, Any]], *, tools: list[Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        model = payload["model_resource"]
        body = {"model": model["model_name"], "messages": messages, **more}
        if tools:
            body["tools"] = tools
        response = await self.http.post(
            f"{model['base_url']}/chat/completions",
            json=body,
            headers={"Authorization": f"Bearer {model['api_key']}"},
        )
        response.raise_for_status()
        return response.json()["choices"][0]["message"]


CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculate",
        "description": "Evaluate an arithmetic expression.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
}


def calculate(expression: str) -> str:
    assert set(expression) <= set("0123456789+-*/(). "), expression
    return f"{eval(expression):.10g}"


def done(messages: list[dict[str, Any]], payload: dict[str, Any], **more: Any) -> dict[str, Any]:
    output = {"messages": messages, "rollout_extra": payload["rollout_extra"], "rollout_metrics": {}, **more}
    return {"agent_output": output, "status": "success", "error": None, "error_code": None}


def arithmetic(count: int, *, seed: int = 1) -> list[dict[str, Any]]:
    """Rows like those of the built-in workspace."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        a, b = draw.randint(2, 99), draw.randint(2, 99)
        question, answer = draw.choice(
            [
                (f"Tom has {a} apples and buys {b} more. How many has he?", a + b),
                (f"A box holds {a} pens. How many pens are in {b} boxes?", a * b),
                (f"From {a + b} litres {b} are used. How many are left?", a),
            ]
        )
        rows.append(
            {
                "messages": [{"role": "user", "content": FORM + question}],
                "rollout_extra": {"solution": f"{answer:_}"},
            }
        )
    return rows


def last_text(payload: dict[str, Any]) -> str:
    return payload["agent_output"]["messages"][-1].get("content") or ""


def scored(value: float, **metrics: float) -> dict[str, Any]:
    return {"reward": {"reward_score": value, "reward_metrics": metrics}, "status": "success", "error": None}


def strict(payload: dict[str, Any]) -> dict[str, Any]:
    """A good reward: the last answer in the wanted form must be the number asked for."""
    text = last_text(payload)
    found = text.rsplit("### ANSWER:", 1)
    if len(found) != 2 or text.count("### ANSWER:") != 1:
        return scored(0.0)
    try:
        value = float(found[1].split("###")[0].strip().replace(",", "").replace("_", ""))
    except ValueError:
        return scored(0.0)
    return scored(float(value == float(payload["ground_truth"].replace("_", ""))), length=len(text))


def naive(payload: dict[str, Any]) -> dict[str, Any]:
    """A reward that can be hacked: the answer anywhere in the text will do."""
    text = last_text(payload).replace(",", " ").replace("_", "")
    return scored(float(payload["ground_truth"].replace("_", "") in text.split()))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[..., Bench]:
    counter = iter(range(100))

    def make(options: EngineOptions | None = None) -> Bench:
        folder = tmp_path / f"bench-{next(counter)}"
        folder.mkdir()
        return Bench(folder, options)

    return make


class Kit:
    """The plain functions above, for tests that cannot import this file."""

    arithmetic = staticmethod(arithmetic)
    calculator = CALCULATOR
    done = staticmethod(done)
    form = FORM
    last_text = staticmethod(last_text)
    naive = staticmethod(naive)
    scored = staticmethod(scored)
    strict = staticmethod(strict)


@pytest.fixture
def kit() -> type[Kit]:
    return Kit
