"""The platform as a process of its own, ended in good order and in bad."""

import asyncio
import json
import signal
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from platform_process import LIMIT_S, PlatformProcess, processes_below, until

from agentic_rl_tui.core.platform.__main__ import main

FT = "/api/v1/fine-tunes"

FUNCTIONS = """
import asyncio
from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor, AbstractRolloutProcessor, AgentOutput, Reward, RewardInput, RewardOutput,
    RolloutInput, RolloutOutput,
)

class Slow(AbstractRolloutProcessor):
    async def process(self, input_data: RolloutInput) -> RolloutOutput:
        await asyncio.sleep(0.05)
        return RolloutOutput(agent_output=AgentOutput(messages=[{"role": "assistant", "content": "hi"}]))

class One(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        return RewardOutput(reward=Reward(reward_score=1.0))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "p"


@asynccontextmanager
async def running(root: Path, *arguments: str) -> AsyncIterator[PlatformProcess]:
    process = PlatformProcess(root, *arguments)
    try:
        await process.ready()
        yield process
    finally:
        await process.end(signal.SIGKILL)


async def test_it_listens_for_its_user_alone_and_ends_in_good_order(root: Path) -> None:
    process = PlatformProcess(root)
    health = await process.ready()
    assert (health["status"], health["pid"], health["root"]) == ("ok", process.process.pid, str(root))
    assert health["gateway_url"].startswith("http://127.0.0.1:")
    assert (await process.client.get(FT)).json()["output"]["total"] == 0
    paths = process.paths
    assert stat.S_IMODE(paths.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(paths.root.stat().st_mode) == 0o700
    assert json.loads(paths.pid_file.read_text())["pid"] == process.process.pid
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{health['gateway_url']}/models")).status_code == 401
    assert await process.end() == (0, "", "")
    assert not paths.socket.exists()
    assert not paths.pid_file.exists()
    assert processes_below(root) == set()


async def test_it_can_be_asked_to_stop(root: Path) -> None:
    async with running(root) as process:
        assert (await process.client.post("/local/v1/stop")).json()["status"] == "stopping"
        assert await asyncio.to_thread(process.process.wait, LIMIT_S) == 0


NO_HTTP = (
    b"BREW /api/v1/fine-tunes HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /api/v1/fine-tunes HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}",
    b"POST /api/v1/fine-tunes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
)


async def test_what_is_no_http_is_refused_in_the_services_shape(root: Path) -> None:
    async with running(root) as process:
        for sent in NO_HTTP:
            reader, writer = await asyncio.open_unix_connection(str(process.paths.socket))
            writer.write(sent)
            head, _, body = (await asyncio.wait_for(reader.read(), LIMIT_S)).partition(b"\r\n\r\n")
            writer.close()
            refusal = json.loads(body)
            assert head.startswith(b"HTTP/1.1 400 ")
            assert set(refusal) == {"request_id", "code", "message"}
            assert f"x-request-id: {refusal['request_id']}".encode() in head


async def test_it_outlives_its_terminal(root: Path) -> None:
    async with running(root) as process:
        process.process.send_signal(signal.SIGHUP)
        assert (await process.client.get(FT)).status_code == 200
        assert process.process.poll() is None


async def test_a_second_one_on_the_same_directory_is_refused(root: Path) -> None:
    async with running(root) as first:
        second = PlatformProcess(root)
        code, out, err = await second.end(signal.SIGCONT)
        assert (code, out) == (1, "")
        assert f"a platform runs on {root} already (process {first.process.pid})" in err
        assert (await first.client.get(FT)).status_code == 200


async def test_what_a_killed_one_left_is_taken_over(root: Path) -> None:
    async with running(root) as first:
        await first.end(signal.SIGKILL)
        assert first.paths.socket.exists()
        assert first.paths.pid_file.exists()
    async with running(root) as second:
        assert (await second.client.get(FT)).status_code == 200
        assert json.loads(second.paths.pid_file.read_text())["pid"] == second.process.pid


async def test_a_successor_waits_for_one_that_is_stopping(root: Path) -> None:
    async with running(root) as first:
        first.process.send_signal(signal.SIGTERM)

        async def is_closed() -> bool:
            return not first.paths.socket.exists()

        await until(is_closed)
        async with running(root) as second:
            assert (await second.client.get(FT)).status_code == 200


async def submit(client: httpx.AsyncClient, package: bytes, rows: int) -> str:
    """Register two functions and submit a job of as many steps as rows; its id."""
    content = b'{"messages": [{"role": "user", "content": "hi"}]}\n' * rows
    uploaded = await client.post("/api/v1/files", files={"files": ("a.jsonl", content)})
    file_id = uploaded.json()["data"]["uploaded_files"][0]["file_id"]
    answer = await client.post(f"{FT}/generate/faas/upload/url", json={"unique_key": "k"})
    url = answer.json()["output"]["url"]
    assert (await client.put(url, content=package)).status_code == 200
    ids = {}
    for kind, name in (("rollout", "Slow"), ("reward", "One")):
        body = {"name": "fns.py", "unique_key": kind, "func": name, "code_url": url}
        ids[kind] = (await client.post(f"{FT}/create/{kind}", json=body)).json()["output"][f"{kind}_id"]
    job = await client.post(
        FT,
        json={
            "model": "m",
            "training_datasets": [{"file_id": file_id}],
            "rollout": {"rollout_id": ids["rollout"], "concurrency": 4, "capacity": 1},
            "rewards": [{"reward_id": ids["reward"], "concurrency": 4, "capacity": 1}],
            "hyper_parameters": {"batch_size": 1, "n_rollouts": 2, "n_epochs": 1, "save_strategy": "no"},
        },
    )
    assert job.status_code == 200, job.text
    return str(job.json()["output"]["job_id"])


async def test_a_kill_in_the_middle_of_a_job(root: Path, make_package: Callable[..., bytes]) -> None:
    package = make_package({"fns.py": FUNCTIONS})
    async with running(root) as first:
        job_id = await submit(first.client, package, 500)
        waiting = await submit(first.client, package, 2)

        async def steps() -> bool:
            job = (await first.client.get(f"{FT}/{job_id}")).json()["output"]
            assert job["status"] in ("PENDING", "RUNNING"), job
            return int(job.get("progress", {}).get("step", 0)) >= 3

        await until(steps)
        seen = (await first.client.get(f"{FT}/{job_id}/logs?line=1000")).json()["output"]["logs"]
        workers = processes_below(root) - {first.process.pid}
        assert workers
        await first.end(signal.SIGKILL)

        async def are_gone() -> bool:
            return not workers & processes_below(root)

        await until(are_gone)
    async with running(root) as second:
        job = (await second.client.get(f"{FT}/{job_id}")).json()["output"]
        assert (job["status"], job["message"]) == ("FAILED", "platform stopped")
        lines = (await second.client.get(f"{FT}/{job_id}/logs?line=1000")).json()["output"]["logs"]
        assert lines[: len(seen)] == seen
        report = (await second.client.get(f"/local/v1/jobs/{job_id}/report")).json()
        assert report["steps_done"] >= 3
        steps_known = (await second.client.get(f"/local/v1/jobs/{job_id}/steps")).json()["steps"]
        assert [step["step"] for step in steps_known[:3]] == [1, 2, 3]

        async def has_ended() -> bool:
            status = (await second.client.get(f"{FT}/{waiting}")).json()["output"]["status"]
            assert status in ("PENDING", "QUEUING", "RUNNING", "SUCCEEDED")
            return status == "SUCCEEDED"

        await until(has_ended)
        assert (await second.end())[0] == 0
    assert processes_below(root) == set()


async def test_a_stop_in_the_middle_of_a_job(root: Path, make_package: Callable[..., bytes]) -> None:
    async with running(root) as first:
        job_id = await submit(first.client, make_package({"fns.py": FUNCTIONS}), 500)

        async def runs() -> bool:
            return bool((await first.client.get(f"/local/v1/jobs/{job_id}/steps")).json()["steps"])

        await until(runs)
        assert await first.end() == (0, "", "")
        assert processes_below(root) == set()
        assert not (root / "run").exists() or list((root / "run").iterdir()) == []
    async with running(root) as second:
        job = (await second.client.get(f"{FT}/{job_id}")).json()["output"]
        assert (job["status"], job["message"]) == ("FAILED", "platform stopped")
        lines = (await second.client.get(f"{FT}/{job_id}/logs?line=1000")).json()["output"]["logs"]
        assert lines[-1] == "##FT_COMPLETE##"


async def test_tcp_needs_the_token_which_is_never_logged(root: Path) -> None:
    async with running(root, "--port", "0", "--token", "tok-hush-hush") as process:
        url = json.loads(process.paths.pid_file.read_text())["url"]
        async with httpx.AsyncClient() as client:
            for headers in ({}, {"authorization": "Bearer"}, {"authorization": "Bearer x"}):
                assert (await client.get(f"{url}/fine-tunes", headers=headers)).status_code == 401
            right = {"authorization": "Bearer tok-hush-hush"}
            assert (await client.get(f"{url}/fine-tunes", headers=right)).status_code == 200
            answer = await client.post(
                f"{url}/fine-tunes/generate/faas/upload/url", json={"unique_key": "k"}, headers=right
            )
            host = url.removeprefix("http://").removesuffix("/api/v1")
            assert answer.json()["output"]["url"].startswith(f"http://{host}/oss/k.zip?")
        await process.end()
        assert "tok-hush-hush" not in process.paths.own_log.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--port", "0", "--host", "0.0.0.0", "--token", "t"), "--allow-remote"),
        (("--token", "t"), "need --port"),
        (("--port", "70000"), "no port"),
        (("--port", "0", "--token", "a b"), "spaces"),
        (("--max-running-jobs", "-1"), "positive number"),
    ],
)
def test_wrong_usage_is_told(
    root: Path, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(root), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert not root.exists()


async def test_a_token_is_made_and_shown_where_none_is_given(root: Path) -> None:
    async with running(root, "--port", "0") as process:
        url = json.loads(process.paths.pid_file.read_text())["url"]
        _, _, err = await process.end()
        assert err.startswith("token: tok-")
        assert url.startswith("http://127.0.0.1:")


async def test_an_unusable_directory_is_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        code, out, err = await PlatformProcess(place).end(signal.SIGCONT)
        assert (code, out) == (1, "")
        assert "cannot be used" in err
        assert "Traceback" not in err
    root.mkdir()
    (root / "platform.db").write_bytes(b"no database" * 100)
    code, _, err = await PlatformProcess(root).end(signal.SIGCONT)
    assert code == 1
    assert "damaged" in err
    assert "Traceback" not in err


async def test_a_port_in_use_is_told(root: Path, tmp_path: Path) -> None:
    async with running(root, "--port", "0", "--token", "t-12345") as process:
        port = json.loads(process.paths.pid_file.read_text())["url"].split(":")[2].split("/")[0]
        code, _, err = await PlatformProcess(tmp_path / "q", "--port", port, "--token", "t-12345").end(signal.SIGCONT)
        assert code == 1
        assert f"port {port} cannot be used" in err


async def test_a_long_path_puts_the_socket_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / ("d" * 90)
    async with running(root) as process:
        assert not process.paths.socket.is_relative_to(root)
        assert stat.S_IMODE(process.paths.socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(process.paths.socket.parent.stat().st_mode) == 0o700
        await process.end()
        assert not process.paths.socket.exists()
