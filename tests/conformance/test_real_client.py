"""The official client, unmodified, drives the local platform over TCP."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from platform_process import PlatformProcess, served
from walkers import ROW, environment, peer, write_slow_workspace

from agentic_rl_tui.core.templates.write import TEMPLATES, write_workspace

pytestmark = pytest.mark.conformance

TOKEN = "tok-conformance-0123456789"
DRIVE_S = 420.0
VERSIONS = ("2.0.2", "1.27.8")
PRELUDE = """
import json, os, time
import dashscope
from dashscope.finetune.agentic_rl import AgenticRL

def emit(value):
    print("@@" + json.dumps(value, default=str), flush=True)

def until(job_id, *statuses):
    url, key = os.environ["DASHSCOPE_HTTP_BASE_URL"], os.environ["DASHSCOPE_API_KEY"]
    for event in dashscope.Client(api_key=key, base_url=url).fine_tunes.stream_events(job_id):
        if event.output.get("status") in statuses:
            return
    raise AssertionError(f"{job_id} never was {statuses}")
"""


@cache
def interpreter(version: str) -> Path | None:
    """An interpreter with that version of the client, None where there is none."""
    named = os.environ.get("AGENTIC_RL_TEST_DASHSCOPE")
    candidates = [peer(version)]
    if named:
        candidates.insert(0, Path(named))
    for path in candidates:
        if path.exists() and installed_version(path) == version:
            return path
    return None


def installed_version(python: Path) -> str:
    code = "from importlib import metadata; print(metadata.version('dashscope'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformProcess]:
    """A platform with a TCP port, as `agentic-rl-tui serve` runs it."""
    with served(tmp_path_factory.mktemp("conformance") / "platform", TOKEN) as running:
        yield running


@pytest.fixture(scope="module")
def driven(
    shared: Path, platform: PlatformProcess, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Path, str]]:
    """The report and the output of the driver for each version that is installed; they run at the same time."""
    folder = tmp_path_factory.mktemp("reports")
    versions = [version for version in VERSIONS if interpreter(version) is not None]

    async def drive_all() -> list[tuple[Path, str]]:
        async with asyncio.timeout(DRIVE_S):
            return await asyncio.gather(*(drive(shared, platform, version, folder) for version in versions))

    return dict(zip(versions, asyncio.run(drive_all()), strict=True))


async def drive(shared: Path, platform: PlatformProcess, version: str, folder: Path) -> tuple[Path, str]:
    report = folder / f"{version}.json"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(shared / "protocol" / "drive_real_client.py"),
        *("--base-url", platform.url, "--api-key", TOKEN, "--python", str(interpreter(version))),
        *("--strict-values", "--report", str(report)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        return report, (await process.communicate())[0].decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_step_of_the_driver_passes(version: str, driven: dict[str, tuple[Path, str]]) -> None:
    if version not in driven:
        pytest.skip(f"no interpreter with dashscope {version}; `make peers` makes one")
    report, output = driven[version]
    assert report.is_file(), output
    steps = json.loads(report.read_text())
    assert [step for step in steps if step["status"] == "FAIL"] == [], output
    skipped = [step["step"] for step in steps if step["status"] == "SKIP"]
    assert skipped == ([] if version.startswith("2") else ["v2 client fetch/list/logs"]), output
    assert len(steps) >= 30


async def run_client(platform: PlatformProcess, version: str, workspace: Path, code: str) -> list[Any]:
    """Run code of a user of the client in a workspace; what it emitted."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no interpreter with dashscope {version}; `make peers` makes one")
    program = textwrap.dedent(PRELUDE) + textwrap.dedent(code)
    process = await asyncio.create_subprocess_exec(
        str(python),
        *("-c", program),
        cwd=workspace,
        env=environment(workspace, platform.url, TOKEN),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    async with asyncio.timeout(DRIVE_S):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return [json.loads(line[2:]) for line in out.decode().splitlines() if line.startswith("@@")]


async def test_a_running_job_is_canceled_by_the_client(platform: PlatformProcess, tmp_path: Path) -> None:
    workspace = tmp_path / "slow"
    write_slow_workspace(workspace)
    emitted = await run_client(
        platform,
        "2.0.2",
        workspace,
        """
        import asyncio
        async def main():
            answer = await AgenticRL().init("job.yaml").run()
            job_id = answer.output.job_id
            until(job_id, "RUNNING")
            emit(AgenticRL.get(job_id).output.status)
            emit(AgenticRL.delete(job_id).status_code)
            emit(AgenticRL.cancel(job_id).status_code)
            began = time.monotonic()
            until(job_id, "CANCELED")
            emit([AgenticRL.get(job_id).output.status, time.monotonic() - began < 5])
            emit(AgenticRL.logs(job_id, offset=0, lines=1000).output["logs"][-1])
            emit([AgenticRL.delete(job_id).status_code, AgenticRL.get(job_id).status_code])
        asyncio.run(main())
        """,
    )
    assert emitted == ["RUNNING", 400, 200, ["CANCELED", True], "##FT_COMPLETE##", [200, 404]]


async def test_the_template_succeeds_with_the_official_client(platform: PlatformProcess, tmp_path: Path) -> None:
    workspace = tmp_path / "calc-agent"
    write_workspace(TEMPLATES["calc-agent"], workspace)
    job_file = workspace / "rl-job.yaml"
    short = job_file.read_text().replace("n_epochs: 3", "n_epochs: 1").replace("n_rollouts: 8", "n_rollouts: 2")
    job_file.write_text(short)
    emitted = await run_client(
        platform,
        "2.0.2",
        workspace,
        """
        import asyncio
        async def main():
            answer = await AgenticRL().init("rl-job.yaml").run()
            job_id = answer.output.job_id
            until(job_id, "SUCCEEDED", "FAILED")
            job = AgenticRL.get(job_id).output
            emit([job_id, job.status, getattr(job, "finetuned_output", None), getattr(job, "message", None)])
        asyncio.run(main())
        """,
    )
    ((job_id, status, output, message),) = emitted
    assert status == "SUCCEEDED", message
    assert job_id in output


async def test_the_second_client_of_the_package(platform: PlatformProcess, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text((json.dumps(ROW) + "\n") * 12)
    (tmp_path / "opd.yaml").write_text(
        "name: opd\nmodel: {name: qwen3.5-9b}\nteacher_model: qwen3-max\nfunctions: []\n"
        "datasets: [{type: training, file_name: ./a.jsonl}]\n"
        "training: {hyper_parameters: {batch_size: 4, n_rollouts: 2}}\n"
    )
    emitted = await run_client(
        platform,
        "2.0.2",
        tmp_path,
        f"""
        import asyncio, dashscope
        client = dashscope.Client(api_key="{TOKEN}", base_url="{platform.url}")
        file_id = client.files.upload(file_path="a.jsonl", description="d").file_id
        emit([client.files.get(file_id).name, file_id in [file.file_id for file in client.files.list().files]])
        for mode in ("sft", None):
            try:
                client.fine_tunes.create(model="m", training_file_ids=file_id, mode=mode)
            except dashscope.v2.errors.BadRequestError as error:
                emit(error.code)
        job_id = asyncio.run(AgenticRL().init("opd.yaml").run()).output.job_id
        events = list(client.fine_tunes.stream_events(job_id))
        said = [event.output for event in events]
        emit([value["status"] for value in said if "status" in value][-1])
        emit([value["message"] for value in said if "message" in value][-1])
        emit([client.rl.jobs.wait(job_id).status, client.fine_tunes.get(job_id).job_id == job_id])
        emit("##FT_COMPLETE##" in client.rl.jobs.logs(job_id, offset=0, lines=1000).content)
        for act in (client.rl.jobs.cancel, client.rl.jobs.delete, client.rl.jobs.fetch):
            try:
                emit(act(job_id).status)
            except dashscope.v2.errors.BadRequestError as error:
                emit(error.code)
            except dashscope.v2.errors.NotFoundError as error:
                emit([error.code, error.request_id != ""])
        emit(client.files.delete(file_id).deleted)
        """,
    )
    assert emitted == [
        ["a.jsonl", True],
        "InvalidParameter",
        "InvalidParameter",
        "SUCCEEDED",
        "##FT_COMPLETE##",
        ["SUCCEEDED", True],
        True,
        "UnsupportedOperation",
        "success",
        ["NotFound", True],
        True,
    ]
