"""The guide's walk through a job's life as a shell script: with our command line, and with the official one."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from platform_process import served
from walkers import environment, peer, write_slow_workspace

from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

pytestmark = pytest.mark.conformance

HERE = Path(__file__).parent
OFFICIAL = peer("2.0.2")
TOKEN = "tok-walk-0123456789"
WALK_S = 240.0
UNTIL = """\
import json, os, sys, urllib.request
url = os.environ["DASHSCOPE_HTTP_BASE_URL"] + "/fine-tunes/" + sys.argv[1] + "/stream"
asked = urllib.request.Request(url, headers={"Authorization": "Bearer " + os.environ["DASHSCOPE_API_KEY"]})
with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked) as events:
    for line in events:
        said = line.startswith(b"data:") and json.loads(line[5:])
        if said and (said.get("output") or said).get("status") in sys.argv[2:]:
            break
    else:
        sys.exit("the job ended otherwise")
"""
FIELD = """\
import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    value = value[int(key)] if key.isdigit() else value[key]
print(value)
"""
_PREFIX = re.compile(r"((?:grw-|rw-|ro-)?(?:ins-)?).*")


@dataclass(frozen=True)
class Walk:
    """Exit code, stderr, and what lies where the script put its answers."""

    code: int
    err: str
    out: Path

    def json(self, name: str) -> Any:
        return json.loads((self.out / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("walk") / "platform", TOKEN, "--max-running-jobs", "2") as platform:
        yield platform.url


@pytest.fixture(scope="module")
def walks(url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Walk]:
    """Both walks at the same time, each in a workspace of its own."""
    command_lines = {"ours": f"{sys.executable} -m agentic_rl_tui.app"}
    if OFFICIAL.exists():
        command_lines["official"] = f"{OFFICIAL} -m dashscope.cli rl"

    async def walk_all() -> list[Walk]:
        async with asyncio.timeout(WALK_S):
            return await asyncio.gather(
                *(walk(line, url, tmp_path_factory.mktemp(name), name) for name, line in command_lines.items())
            )

    return dict(zip(command_lines, asyncio.run(walk_all()), strict=True))


async def walk(command_line: str, url: str, folder: Path, name: str) -> Walk:
    workspace, out = folder / "workspace", folder / "out"
    write_slow_workspace(workspace)
    out.mkdir()
    template = folder / "template"
    write_workspace(TEMPLATES["calc-agent"], template)
    for kind in ("rollout", "reward"):
        (workspace / f"{kind}_input.json").write_bytes((template / "resources" / f"{kind}_input.json").read_bytes())
    (folder / "field.py").write_text(FIELD)
    (folder / "until.py").write_text(UNTIL)
    variables = {
        **environment(folder, url, TOKEN),
        "AGENTIC_RL_STATE_DIR": str(folder / "state"),
        "RL": command_line,
        "OUT": str(out),
        "FIELD": f"{sys.executable} -I -S {folder / 'field.py'}",
        "UNTIL": f"{sys.executable} -I -S {folder / 'until.py'}",
        "IS_OURS": "yes" if name == "ours" else "",
    }
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", str(HERE / "walk.sh"), cwd=workspace, env=variables, stderr=subprocess.PIPE
    )
    try:
        _, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Walk(process.returncode or 0, err.decode(), out)


def _of(walks: dict[str, Walk], name: str) -> Walk:
    if name not in walks:
        pytest.skip("no interpreter with dashscope 2.0.2; `make peers` makes one")
    found = walks[name]
    assert found.code == 0, found.err
    return found


def test_our_command_line_walks_the_whole_life_of_a_job(walks: dict[str, Walk]) -> None:
    ours = _of(walks, "ours")
    job_id = ours.json("run.json")["job_id"]
    assert ours.json("reward.json")["reward"]["reward_score"] == 1.0
    assert ours.json("get.json")["status"] == "RUNNING"
    assert job_id in [job["job_id"] for job in ours.json("list.json")["jobs"]]
    assert (ours.out / "cancel.txt").read_text() == f"{job_id} is being cancelled\n"
    assert ours.json("status.json") == ours.json("ended.json")
    assert ours.json("ended.json")["status"] == "CANCELED"
    assert ours.json("logs.json")["logs"][-1] == "##FT_COMPLETE##"
    assert ours.json("delete.json") == {"job_id": job_id, "deleted": True}
    assert "NotFound" in (ours.out / "gone.txt").read_text()


def test_both_command_lines_answer_alike(walks: dict[str, Walk]) -> None:
    ours, official = _of(walks, "ours"), _of(walks, "official")
    for name in ("register.json", "upload.json"):
        assert _shape(ours.json(name)) == _shape(official.json(name))
    for name in ("rollout.json", "reward.json"):
        assert _without_times(ours.json(name)) == _without_times(official.json(name))
    assert ours.json("run.json").keys() - {"job_name"} <= official.json("run.json").keys()
    for name in ("get.json", "ended.json"):
        assert ours.json(name)["status"] == official.json(name)["status"]
    assert official.json("get.json")["created_at"] == ours.json("get.json")["creator"]
    logs, other = ours.json("logs.json"), official.json("logs.json")
    assert _kinds(logs["logs"]) == _kinds(other["logs"])


def _shape(value: dict[str, list[str]]) -> dict[str, list[str]]:
    """Ids without what is unique in them: ``ro``, ``rw-ins``, ``file``; of other ids nothing is left."""
    return {key: [_PREFIX.sub(r"\1", text) for text in found] for key, found in value.items()}


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_times(inner)
            for key, inner in value.items()
            if not any(word in key for word in ("time", "latency", "duration", "timestamp"))
        }
    return [_without_times(inner) for inner in value] if isinstance(value, list) else value


def _kinds(lines: list[str]) -> tuple[str, str]:
    """How a log begins and ends, without its moments."""
    return lines[0].partition(" - ")[2].partition("ft-")[0], lines[-1]
