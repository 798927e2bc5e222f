"""Starting, finding, stopping and removing the local platform's process."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from agentic_rl_tui.core import launch
from agentic_rl_tui.core.launch import ensure_platform, platform_status, reset_platform, stop_platform
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.paths import PlatformPaths
from agentic_rl_tui.core.sdk import AgenticRL


@pytest.fixture
async def paths(tmp_path):
    made = PlatformPaths.default()
    yield made
    await stop_platform(made, force=True)


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Let another module be started in place of the platform."""

    def use(source: str) -> None:
        folder = tmp_path / "modules"
        folder.mkdir(exist_ok=True)
        (folder / "stand_in_platform.py").write_text(source)
        monkeypatch.setenv("PYTHONPATH", str(folder))
        monkeypatch.setattr(launch, "MODULE", "stand_in_platform")

    return use


ANSWERING = """
import asyncio, json, os, pathlib, signal, sys
from agentic_rl_tui.core.paths import PlatformPaths
root = sys.argv[2]
socket = str(PlatformPaths(pathlib.Path(root)).socket)
health = {"pid": os.getpid(), "version": "9", "running": RUNNING, "queued": 2, "started_at": 5}
async def serve(reader, writer):
    line = await reader.readline()
    if b"/stop" in line:
        if REFUSES:
            writer.write(b"HTTP/1.1 500 no\\r\\n\\r\\n")
        else:
            os.unlink(socket)
            os._exit(0)
    else:
        writer.write(b"HTTP/1.1 200 OK\\r\\n\\r\\n" + json.dumps(health).encode())
    await writer.drain()
    writer.close()
async def main():
    with open(root + "/starts", "a") as stream:
        stream.write(f"{os.getpid()}\\n")
    await asyncio.start_unix_server(serve, socket)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def answering(running: int = 0, refuses: bool = False) -> str:
    return ANSWERING.replace("RUNNING", str(running)).replace("REFUSES", str(refuses))


def is_alive(pid: int) -> bool:
    return launch._is_alive(pid)


async def test_no_platform_is_no_error(paths):
    assert await platform_status(paths) is None
    assert await stop_platform(paths) is False
    assert not paths.root.exists()


async def test_start_find_and_stop(paths, stand_in):
    stand_in(answering())
    info = await ensure_platform(paths)
    assert (info.version, info.queued, info.started_at) == ("9", 2, 5.0)
    assert is_alive(info.pid)
    assert (await ensure_platform(paths)).pid == info.pid
    assert await stop_platform(paths) is True
    assert not is_alive(info.pid)
    assert not paths.socket.exists()
    assert await platform_status(paths) is None


async def test_many_callers_start_one(paths, stand_in):
    stand_in(answering())
    code = (
        "import asyncio; from agentic_rl_tui.core import launch; from agentic_rl_tui.core.paths import PlatformPaths;"
        "launch.MODULE = 'stand_in_platform';"
        "print(asyncio.run(launch.ensure_platform(PlatformPaths.default())).pid)"
    )
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
        for _ in range(3)
    ]
    own = await asyncio.gather(*(ensure_platform(paths) for _ in range(3)))
    outputs = [(await process.communicate())[0].decode().strip() for process in processes]
    assert {str(info.pid) for info in own} == set(outputs)
    assert len((paths.root / "starts").read_text().split()) == 1


async def test_platform_outlives_its_starter_and_its_session(paths, stand_in):
    stand_in(answering())
    code = (
        "import asyncio, os, signal; from agentic_rl_tui.core import launch;"
        "from agentic_rl_tui.core.paths import PlatformPaths; launch.MODULE = 'stand_in_platform';"
        "print(asyncio.run(launch.ensure_platform(PlatformPaths.default())).pid, flush=True);"
        "os.killpg(0, signal.SIGHUP)"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    output, _ = await process.communicate()
    assert process.returncode == -signal.SIGHUP
    info = await platform_status(paths)
    assert info is not None
    assert info.pid == int(output)
    assert os.getsid(info.pid) == info.pid


async def test_killed_platform_is_replaced(paths, stand_in):
    stand_in(answering())
    first = await ensure_platform(paths)
    os.kill(first.pid, signal.SIGKILL)
    while is_alive(first.pid):  # noqa: ASYNC110 - the kernel sets no event
        await asyncio.sleep(0.01)
    assert paths.socket.exists()
    paths.socket.unlink()
    assert (await ensure_platform(paths)).pid != first.pid


async def test_start_that_fails_shows_the_end_of_its_log(paths, stand_in):
    stand_in("import sys\nprint('one')\nsys.exit('the disk is \\x1b[31mfull\\x1b[0m')\n")
    private = paths.root
    private.mkdir(parents=True)
    paths.own_log.write_text("from an earlier start\n")
    with pytest.raises(errors.PlatformError, match="code 1") as caught:
        await ensure_platform(paths)
    assert "the disk is full" in caught.value.message
    assert "earlier" not in caught.value.message
    assert str(paths.own_log) in caught.value.advice


async def test_start_that_never_answers_is_ended(paths, stand_in):
    stand_in("import os, sys, time\nopen(sys.argv[2] + '/pid', 'w').write(str(os.getpid()))\ntime.sleep(60)\n")
    with pytest.raises(errors.PlatformError, match="did not answer within"):
        await ensure_platform(paths, timeout_s=1.0)
    pid = paths.root / "pid"
    assert not pid.exists() or not is_alive(int(pid.read_text()))


async def test_modules_of_the_workspace_cannot_stand_in_for_ours(paths, stand_in, tmp_path):
    stand_in(answering())
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "json.py").write_text("raise SystemExit('the wrong module')\n")
    info = await ensure_platform(paths, workspace=workspace)
    assert Path(f"/proc/{info.pid}/cwd").resolve() == workspace


async def test_stop_and_reset_are_refused_while_jobs_run(paths, stand_in):
    stand_in(answering(running=1))
    info = await ensure_platform(paths)
    for call in (stop_platform, reset_platform):
        with pytest.raises(errors.Conflict, match="1 job is running"):
            await call(paths)
    assert is_alive(info.pid)
    await reset_platform(paths, force=True)
    assert not is_alive(info.pid)
    assert not paths.root.exists()


async def test_platform_that_refuses_to_stop_is_told_by_signal(paths, stand_in):
    stand_in(answering(refuses=True))
    info = await ensure_platform(paths)
    assert await stop_platform(paths) is True
    assert not is_alive(info.pid)
    assert not paths.socket.exists()


async def test_state_directory_that_cannot_be_made(tmp_path, stand_in):
    stand_in(answering())
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.PlatformError, match="cannot be used"):
        await ensure_platform(PlatformPaths(tmp_path / "file" / "platform"))


async def test_real_platform_from_the_first_request_to_a_reset(paths, tmp_path):
    async with AgenticRL(profile="local") as client:
        assert (await client.health()).state == "stopped"
        assert (await client.list()).jobs == ()
        health = await client.health()
        assert health.is_ok
        file = tmp_path / "rows.jsonl"
        file.write_text(
            '{"messages": [{"role": "user", "content": "1 + 1?"}], "rollout_extra": {"solution": "2"}}\n' * 9
        )
        uploaded = await client.upload_datasets(training_files=str(file))
        assert (await client.files.get(uploaded.training_ids[0])).size == file.stat().st_size
        with pytest.raises(errors.NotFound):
            await client.get("ft-202612010000-0000")
    info = await platform_status(paths)
    assert info is not None
    assert json.loads(paths.pid_file.read_text())["pid"] == info.pid
    await reset_platform(paths)
    assert not paths.root.exists()
    assert not is_alive(info.pid)
