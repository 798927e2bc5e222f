"""Every command of the pages is run, in its order, as a reader would: one shell a page, in an empty folder."""

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for page in [*ROOT.glob("README*.md"), *(ROOT / "app" / "docs").glob("*.md")]
    if "```sh\n" in page.read_text(encoding="utf-8")
)
BLOCK = re.compile(r"^( *)```(sh|python|toml)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.conformance, pytest.mark.xdist_group("docs")]


def script(page: Path) -> str:
    """The page as one shell script. A block that begins with the name of a file is that file."""
    parts = ["set -eux"]
    for _indent, kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "sh":
            parts.append(body)
        elif named := re.match(r"# ([\w./-]+\.(?:py|toml))\n", body):
            parts.append(f"cat >{shlex.quote(named[1])} <<'END-OF-FILE'\n{body}END-OF-FILE\n")
    return "\n".join(parts)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_work(page: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PORT": str(port),
        "AGENTIC_RL_LANGUAGE": "en",
    }
    done = subprocess.run(
        ["bash", "-c", script(page)],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    subprocess.run(
        [sys.executable, "-m", "agentic_rl_tui.app", "platform", "stop", "--force"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"


def test_a_file_block_becomes_the_file_and_text_blocks_stay_text(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n# a/b.py\nx = 1\n```\n\n```text\nrm -rf /\n```\n\n```sh\ntest -f a/b.py\n```\n")
    told = script(page)
    assert "cat >a/b.py" in told
    assert "rm -rf" not in told
    assert told.rstrip().endswith("test -f a/b.py")
