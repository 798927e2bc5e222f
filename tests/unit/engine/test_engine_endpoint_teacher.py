"""Distillation from a teacher behind an OpenAI-compatible server: asked for log-probabilities, or practice instead."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine import (
    EndpointOptions,
    EngineOptions,
    TrajectoryReader,
    read_report,
    teacher_from_settings,
)
from agentic_rl_tui.core.platform.engine.advantages import teacher_advantages
from agentic_rl_tui.core.platform.engine.report import ReportBook
from agentic_rl_tui.core.platform.engine.teacher import EndpointTeacher, Judgement, as_prompt, judgement
from agentic_rl_tui.core.platform.lock import bind_tcp

KEY = "sk-teacher-0123456789"
SAMPLES, ROLLOUTS = 8, 6
Pieces = list[tuple[int, str]]


def pieces_of(text: str) -> Pieces:
    return [(match.start(), match[0]) for match in re.finditer(r"\w+|\s+|[^\w\s]", text)]


def likes_form(answer: str) -> float:
    """The log-probability of each token of an answer: this teacher wants the form that the prompt asks for."""
    return -0.5 if "### ANSWER:" in answer else -4.0


class FakeServer:
    """Completions as vLLM answers them, for `way`; `answers` may take a call over."""

    def __init__(self) -> None:
        self.way = "echo"
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.take_over: Callable[[int], Response | None] = lambda _number: None
        self.url = ""

    async def complete(self, request: Request) -> Response:
        body = await request.json()
        self.bodies.append(body)
        self.keys.add(request.headers["authorization"])
        if (taken := self.take_over(len(self.bodies))) is not None:
            return taken
        prompt = body["prompt"]
        border = prompt.rindex("assistant:\n") + len("assistant:\n")
        worth = likes_form(prompt[border:])
        values = [worth if at >= border else -9.0 for at, _ in pieces_of(prompt)]
        if self.way == "echo" and body.get("echo") and (body["max_tokens"] or not self.wants_a_token):
            return JSONResponse({"choices": [{"text": prompt, "logprobs": self._echoed(pieces_of(prompt), values)}]})
        if self.way == "prompt_logprobs" and "prompt_logprobs" in body:
            entries = [
                {str(at): {"logprob": value, "rank": 1, "decoded_token": piece}}
                for (at, piece), value in zip(pieces_of(prompt), values, strict=True)
            ]
            return JSONResponse({"choices": [{"text": "x", "logprobs": None, "prompt_logprobs": [None, *entries[1:]]}]})
        if self.way == "silent":
            return JSONResponse({"choices": [{"text": "x", "logprobs": None}]})
        return JSONResponse({"error": {"message": "unknown field"}}, 400)

    wants_a_token = False

    @staticmethod
    def _echoed(pieces: Pieces, values: list[float]) -> dict[str, Any]:
        return {
            "tokens": [piece for _, piece in pieces],
            "token_logprobs": [None, *values[1:]],
            "text_offset": [at for at, _ in pieces],
        }


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    fake = FakeServer()
    listener = bind_tcp("127.0.0.1", 0)
    app = Starlette(routes=[Route("/v1/completions", fake.complete, methods=["POST"])])
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    task = asyncio.create_task(running.serve(sockets=[listener]))
    fake.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    yield fake
    running.should_exit = True
    await task
    listener.close()


@pytest.fixture
def taught(make_bench: Callable[..., Any], server: FakeServer) -> Iterator[Any]:
    """A bench whose distillation jobs ask the fake server."""
    endpoint = EndpointOptions(server.url, "qwen-max", KEY, timeout_s=5, attempts=1)
    bench = make_bench(EngineOptions(teacher=endpoint))
    yield bench
    assert server.keys <= {f"Bearer {KEY}"}


def request_of(bench: Any, kit: Any, **more: Any) -> Any:
    given = {"rollout": None, "rows": kit.arithmetic(16), "n_rollouts": ROLLOUTS, "batch_size": SAMPLES, "n_epochs": 1}
    return bench.request(teacher="big", **(given | more))


async def test_the_policy_is_pulled_to_what_the_teacher_finds_likely(taught: Any, kit: Any, server: FakeServer) -> None:
    rows = kit.arithmetic(48)
    job = await taught.run(request_of(taught, kit, rows=rows, validation=kit.arithmetic(16, seed=2)))
    assert job.status is JobStatus.SUCCEEDED, job.message
    losses = taught.metrics(job, "actor/distillation/loss")
    assert len(losses) == 6
    assert losses[-1] < 0.75 * losses[0]
    assert min(losses) >= 0.5
    checked = taught.metrics(job, "validation/distillation/loss")
    assert checked[-1] < 0.75 * checked[0]
    said = f"endpoint {server.url}, model qwen-max, stands in for big; its log-probabilities"
    assert said in taught.text(job)
    report = read_report(taught.artefacts / job.job_id)
    assert report is not None
    assert said in report["teacher"]
    judged = report["teacher_judgements"]
    assert judged["judged_rollouts"] > 0.9 * len(rows) * ROLLOUTS
    assert judged["judged_tokens"] > judged["judged_rollouts"]
    assert judged["failed_judgements"] == 0
    assert taught.metrics(job, "trace/distillation/judged_rollouts") != []
    assert {body["model"] for body in server.bodies} == {"qwen-max"}
    assert KEY not in taught.text(job) + json.dumps(report)


@pytest.mark.parametrize("way", ["echo with a token", "prompt_logprobs"])
async def test_other_ways_to_ask(taught: Any, kit: Any, server: FakeServer, way: str) -> None:
    server.way, server.wants_a_token = way.split(" with ")[0], "with" in way
    job = await taught.run(request_of(taught, kit, rows=kit.arithmetic(8)))
    assert job.status is JobStatus.SUCCEEDED, job.message
    (loss,) = taught.metrics(job, "actor/distillation/loss")
    assert 0.5 <= loss <= 4
    asked = server.bodies[-1]
    assert asked["max_tokens"] == 1
    assert ("echo" if server.wants_a_token else "prompt_logprobs") in asked


async def test_a_killed_platform_still_knows_what_was_judged(taught: Any, kit: Any) -> None:
    job = await taught.run(request_of(taught, kit))
    folder = taught.artefacts / job.job_id
    told = read_report(folder)
    assert told is not None
    assert ReportBook.from_disk(folder).judged == told["teacher_judgements"]


@pytest.mark.parametrize("has_rollout", [True, False])
@pytest.mark.parametrize("has_reward", [True, False])
async def test_all_four_scenarios(taught: Any, kit: Any, has_rollout: bool, has_reward: bool) -> None:
    rollout = taught.agent(tools=True) if has_rollout else None
    job = await taught.run(
        request_of(taught, kit, rollout=rollout, rewards=[kit.strict] if has_reward else [], rows=kit.arithmetic(8))
    )
    assert job.status is JobStatus.SUCCEEDED, job.message
    assert len(taught.metrics(job, "actor/distillation/loss")) == 1
    reader = TrajectoryReader(taught.artefacts / job.job_id)
    records = reader.group(1, reader.samples(1)[0]["sample"])
    assert any(record.get("teacher", {}).get("tokens") for record in records)


async def test_lone_rollouts_learn_from_a_comparison_over_the_step(taught: Any, kit: Any) -> None:
    job = await taught.run(request_of(taught, kit, n_rollouts=1, batch_size=16, n_epochs=10))
    losses = taught.metrics(job, "actor/distillation/loss")
    assert sum(losses[-3:]) < 0.85 * sum(losses[:3])


@pytest.mark.parametrize(
    ("way", "reason"), [("silent", "returns no log-probabilities"), ("none", "HTTP 400: unknown field")]
)
async def test_a_server_without_them_leaves_the_practice_teacher(
    taught: Any, kit: Any, server: FakeServer, way: str, reason: str
) -> None:
    server.way = way
    job = await taught.run(request_of(taught, kit))
    assert job.status is JobStatus.SUCCEEDED, job.message
    report = read_report(taught.artefacts / job.job_id)
    assert report is not None
    for told in (taught.text(job), report["teacher"]):
        assert "a fixed practice teacher stands in for big, whose log-probabilities are not used" in told
        assert f"The endpoint {server.url} cannot teach: " in told
        assert reason in told
    assert report["teacher_judgements"] is None
    assert len(server.bodies) == 3
    assert taught.metrics(job, "actor/distillation/loss")[0] < 3


async def test_a_server_that_is_not_there_leaves_the_practice_teacher(make_bench: Callable[..., Any], kit: Any) -> None:
    bench = make_bench(EngineOptions(teacher=EndpointOptions("http://127.0.0.1:9/v1", "m", attempts=1)))
    job = await bench.run(request_of(bench, kit, rows=kit.arithmetic(8)))
    assert job.status is JobStatus.SUCCEEDED
    assert "cannot teach: the endpoint cannot be reached" in bench.text(job)


async def test_faults_on_the_way_are_counted_and_told(taught: Any, kit: Any, server: FakeServer) -> None:
    sick = JSONResponse({"error": {"message": "out of memory"}}, 500)
    server.take_over = lambda number: sick if number % 4 == 3 else None
    job = await taught.run(request_of(taught, kit))
    assert job.status is JobStatus.SUCCEEDED, job.message
    assert "the teacher gave no log-probabilities: the endpoint answered HTTP 500: out of memory" in taught.text(job)
    report = read_report(taught.artefacts / job.job_id)
    assert report is not None
    failed = report["teacher_judgements"]["failed_judgements"]
    assert failed == sum(entry["count"] for entry in report["failures"] if entry["function"] == "the teacher") > 0
    assert 0 < taught.metrics(job, "trace/distillation/missing_token_rate")[0] < 1


async def test_a_server_that_dies_is_passed_over_until_the_next_step(taught: Any, kit: Any, server: FakeServer) -> None:
    dead = JSONResponse({"error": {"message": "gone"}}, 500)
    server.take_over = lambda number: dead if number > 1 else None
    job = await taught.run(request_of(taught, kit))
    assert job.status is JobStatus.SUCCEEDED, job.message
    assert "passed over after 5 faults in a row" in taught.text(job)
    assert len(server.bodies) < 100
    assert taught.metrics(job, "trace/distillation/judged_rollouts") == [0, 0]
    assert taught.metrics(job, "actor/distillation/loss") == []


async def test_the_endpoint_policy_asks_no_teacher(make_bench: Callable[..., Any], kit: Any) -> None:
    nobody = EndpointOptions("http://127.0.0.1:9/v1", "m", attempts=1)
    bench = make_bench(EngineOptions(endpoint=nobody, teacher=nobody))
    job = await bench.run(request_of(bench, kit, rows=kit.arithmetic(8)))
    assert "teacher: big is not asked: the job is an evaluation and nothing is learned" in bench.text(job)


async def test_an_unprobed_teacher_is_a_mistake() -> None:
    teacher = EndpointTeacher(EndpointOptions("http://127.0.0.1:9/v1", "m"))
    with pytest.raises(RuntimeError, match="not probed"):
        await teacher.judge([], "x")
    await teacher.close()


def test_a_conversation_as_text() -> None:
    call = {"function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "2"},
    ]
    assert as_prompt(messages) == 'user:\n1 + 1?\n\nassistant:\nadd({"a": 1})\n\ntool:\n2\n\nassistant:\n'


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"logprobs": {"tokens": ["ab", "c", "d"], "token_logprobs": [None, -1, -2.5]}}, Judgement(-3.5, 2)),
        ({"logprobs": {"tokens": ["a", "bc", "d"], "token_logprobs": [None, -1, -2.5]}}, Judgement(-2.5, 1)),
        ({"logprobs": {"tokens": ["ab", "cd", "more"], "token_logprobs": [None, -1, -7]}}, Judgement(-1.0, 1)),
        ({"logprobs": {"tokens": ["x"], "token_logprobs": [-1], "text_offset": [4]}}, None),
        ({"logprobs": {"tokens": ["ab", "cd"], "token_logprobs": [None, None]}}, None),
        ({"logprobs": {"tokens": ["ab", "cd"], "token_logprobs": [None, "x"]}}, None),
        ({"logprobs": {"content": []}}, None),
        ({"prompt_logprobs": [None, {"7": {"logprob": -2, "decoded_token": "cd"}}]}, Judgement(-2.0, 1)),
        ({"prompt_logprobs": [None, {"7": {"logprob": -2, "decoded_token": "bcd"}}]}, None),
        ({"prompt_logprobs": [None]}, None),
        ({}, None),
    ],
)
def test_answers_of_servers(choice: dict[str, Any], expected: Judgement | None) -> None:
    """A prompt of ``ab`` with the answer ``cd``."""
    assert judgement({"choices": [choice]}, 2, 2) == expected


def test_what_a_teacher_likes_is_compared_in_its_group_first() -> None:
    near = pytest.approx
    assert teacher_advantages([(1.0, 3.0, None), (2.0, 2.0)]) == [(near(-1, 1e-3), near(1, 1e-3), 0.0), (0.0, 0.0)]
    assert teacher_advantages([(1.0,), (None,), (3.0,)]) == [(near(-1, 1e-3),), (0.0,), (near(1, 1e-3),)]
    assert teacher_advantages([]) == []


def test_settings(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentic_rl_tui.core import settings as core_settings

    def settings_of(text: str) -> Any:
        (tmp_path / "agentic-rl.toml").write_text(text)
        return core_settings.load(workspace=tmp_path)

    table = '[local.endpoint]\nbase_url = "http://h/v1"\nmodel = "m"\n'
    assert teacher_from_settings(settings_of(table)) is None
    found = teacher_from_settings(settings_of('[local]\nteacher = "endpoint"\n' + table))
    assert found is not None
    assert (found.base_url, found.model) == ("http://h/v1", "m")
    with pytest.raises(ConfigError, match=r"local\.teacher is 'big'"):
        teacher_from_settings(settings_of('[local]\nteacher = "big"\n' + table))
