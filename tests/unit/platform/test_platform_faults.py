from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.core import settings
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform import faults
from agentic_rl_tui.core.platform.app import make_app, running_app
from agentic_rl_tui.core.platform.faults import CutOff, Faults, parse, place_of
from agentic_rl_tui.core.platform.options import PlatformOptions

FT = "/api/v1/fine-tunes"


def options(*rules: str, seed: int = 0) -> PlatformOptions:
    return PlatformOptions(faults=Faults([parse(rule) for rule in rules], seed))


@asynccontextmanager
async def client_of(bench: Any, *rules: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the bench's platform with rules put upon it."""
    bench.platform.options.faults.rules[:] = [parse(rule) for rule in rules]
    transport = httpx.ASGITransport(make_app(bench.platform))
    async with httpx.AsyncClient(transport=transport, base_url="http://platform.local") as client:
        yield client


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("explode", "no fault 'explode'"),
        ("throttle@moon", "cannot be at 'moon'"),
        ("quota-full@jobs", "cannot be at 'jobs'"),
        ("throttle:status=500", "has no 'status'"),
        ("error:status=x", "must be a number"),
        ("error:times", "must be a number"),
        ("error:times=-1", "must be a number"),
        ("error:times=1.5", "must be a whole number"),
        ("error:status=200", "from 400 to 599"),
        ("error:status=99999", "from 400 to 599"),
        ("throttle:share=2", "from 0 to 1"),
        ("slow:seconds=" + "9" * 400, "from 0 to 1e"),
    ],
)
def test_a_rule_that_cannot_be_read_is_told(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse(text)


def test_rules_come_from_settings_and_flags_win(tmp_path: Path) -> None:
    (tmp_path / "agentic-rl.toml").write_text('[local.faults]\nrules = ["error@jobs:times=2"]\nseed = 5\n')
    found = Faults.from_settings(settings.load(workspace=tmp_path, profile="local"))
    assert ([rule.kind for rule in found.rules], found.seed) == (["error"], 5)
    flags = {"local.faults.rules": ["slow", "cut@jobs"]}
    found = PlatformOptions.from_settings(settings.load(workspace=tmp_path, profile="local", flags=flags)).faults
    assert [(rule.kind, rule.place) for rule in found.rules] == [("slow", None), ("cut", "jobs")]
    for wrong in ('rules = "error"', "rules = [1]", 'seed = "x"'):
        (tmp_path / "agentic-rl.toml").write_text(f"[local.faults]\n{wrong}\n")
        with pytest.raises(ConfigError):
            Faults.from_settings(settings.load(workspace=tmp_path, profile="local"))


def test_rules_count_and_chance_repeats() -> None:
    counted = Faults([parse("error:times=2,after=1")])
    assert [counted.take("error") is not None for _ in range(5)] == [False, True, True, False, False]
    first, second = (Faults([parse("error:share=0.5")], 3) for _ in range(2))
    draws = [first.take("error") is not None for _ in range(200)]
    assert draws == [second.take("error") is not None for _ in range(200)]
    assert 60 < sum(draws) < 140


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (FT, "jobs"),
        (f"{FT}/ft-1/cancel", "jobs"),
        (f"{FT}/ft-1/logs", "logs"),
        (f"{FT}/create/reward", "register"),
        (f"{FT}/create/faas/layer", "layers"),
        (f"{FT}/online/faas/jobId-1/rw-1", "load"),
        (f"{FT}/query/faas/rw-ins-1", "instances"),
        (f"{FT}/generate/faas/upload/url", "packages"),
        ("/oss/a.zip", "packages"),
        ("/functions/a/api/v1", "invoke"),
        ("/api/v1/files/x", "files"),
        ("/local/v1/health", None),
    ],
)
def test_every_request_has_its_place(path: str, place: str | None) -> None:
    assert place_of(path) == place


async def test_a_burst_of_refusals_passes(bench: Any) -> None:
    async with client_of(bench, "throttle@jobs:times=2,retry_after=7") as client:
        answers = [await client.get(FT) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [429, 429, 200]
        assert answers[0].headers["retry-after"] == "7"
        assert answers[0].json()["code"] == "Throttling.RateQuota"
        assert answers[0].json()["request_id"] == answers[0].headers["x-request-id"]
        assert (await client.get("/api/v1/files")).status_code == 200


async def test_errors_have_the_wanted_status(bench: Any) -> None:
    async with client_of(bench, "error@files:status=502,times=1") as client:
        assert (await client.get("/api/v1/files")).status_code == 502
        assert (await client.get("/api/v1/files")).status_code == 200


async def test_slow_answers_come_later(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async with client_of(bench, "slow@jobs:seconds=30") as client:
        monkeypatch.setattr(faults.asyncio, "sleep", sleep)
        assert (await client.get(FT)).status_code == 200
    assert waited == [30.0]


async def test_a_cut_answer_leaves_what_was_done(bench: Any) -> None:
    body = await bench.request_body()
    async with client_of(bench, "cut@jobs:times=1") as client:
        with pytest.raises(CutOff):
            await client.post(FT, json=body)
        assert (await client.get(FT)).json()["output"]["total"] == 1


async def test_health_flaps(bench: Any) -> None:
    loaded = await bench.load(await bench.register())
    path, headers = f"/functions/{loaded['instanceId']}/health", {"authorization": f"Bearer {loaded['trigger_token']}"}
    async with client_of(bench, "unhealthy:times=1") as client:
        assert [(await client.get(path, headers=headers)).json()["status"] for _ in range(2)] == [
            "unhealthy",
            "healthy",
        ]


async def test_layers_fail(bench: Any) -> None:
    async with client_of(bench, "layer-failed:times=1") as client:
        for status in ("FAILED", "SUCCESS"):
            made = await client.post(f"{FT}/create/faas/layer", json={"layer_name": "a"})
            code = made.json()["output"]["layer_code"]
            looked = await client.get(f"{FT}/query/faas/layer/status", params={"layer_code": code})
            assert looked.json()["output"]["status"] == status


async def test_logs_come_late_and_again(bench: Any) -> None:
    job_id = await bench.create_job()
    await bench.platform.job_logs.append(job_id, [f"{number}" for number in range(5)])
    async with client_of(bench, "log-late:lines=2") as client:
        assert (await client.get(f"{FT}/{job_id}/logs")).json()["output"] == {"total": 3, "logs": ["0", "1", "2"]}
        assert (await client.get(f"{FT}/{job_id}/logs?offset=4")).json()["output"] == {"total": 3, "logs": []}
        await bench.platform.jobs.move(job_id, JobStatus.CANCELED)
        assert (await client.get(f"{FT}/{job_id}/logs")).json()["output"]["total"] == 5
    async with client_of(bench, "log-repeat:lines=2") as client:
        assert (await client.get(f"{FT}/{job_id}/logs?offset=3")).json()["output"]["logs"] == ["1", "2", "3", "4"]


async def test_the_quota_is_full(bench: Any) -> None:
    async with client_of(bench, "quota-full:times=1") as client:
        for expected in (["BadRequest.TooMany"], []):
            data = (await client.post("/api/v1/files", files={"files": ("a", b"x")})).json()["data"]
            assert [file["code"] for file in data["failed_uploads"]] == expected


async def test_a_job_fails_at_its_step(tmp_path: Path, make_package: Callable[..., bytes]) -> None:
    rows = b'{"messages": [{"role": "user", "content": "hi"}], "rollout_extra": {"solution": "4"}}\n' * 16
    async with running_app(tmp_path / "p", options=options("job-fails:step=2,times=1")) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x", timeout=60) as client:
            uploaded = await client.post("/api/v1/files", files={"files": ("a.jsonl", rows)})
            file_id = uploaded.json()["data"]["uploaded_files"][0]["file_id"]
            body = {
                "model": "m",
                "teacher_model": "t",
                "training_datasets": [{"file_id": file_id}],
                "hyper_parameters": {"batch_size": 4, "n_rollouts": 2},
            }
            found = []
            for _ in range(2):
                job_id = (await client.post(FT, json=body)).json()["output"]["job_id"]
                assert "##FT_COMPLETE##" in (await client.get(f"{FT}/{job_id}/stream")).text
                found.append((await client.get(f"{FT}/{job_id}")).json()["output"])
            assert [job["status"] for job in found] == ["FAILED", "SUCCEEDED"]
            assert (found[0]["code"], found[0]["message"]) == ("InternalError", "a fault on purpose at step 2")
