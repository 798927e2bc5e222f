"""The package next to the one that the service's own client makes of the same workspace."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from agentic_rl_tui.core.functions import package
from agentic_rl_tui.core.functions.package_rules import DEFAULT_PATTERNS

PROGRAM = """
import sys
from dashscope.finetune.reinforcement.common.constants import FC_ZIP_EXCLUDE_PATTERNS
from dashscope.finetune.reinforcement.common.utils import zip_dir
zip_dir(sys.argv[1], sys.argv[2])
print(FC_ZIP_EXCLUDE_PATTERNS)
"""


@pytest.fixture(scope="module")
def client() -> Path:
    root = Path(__file__).resolve().parents[2]
    named = os.environ.get("AGENTIC_RL_TEST_DASHSCOPE")
    path = Path(named) if named else root / ".cache" / "peers" / "dashscope-2.0.2" / "bin" / "python"
    if not path.exists():
        pytest.skip("no interpreter with the service's client; set AGENTIC_RL_TEST_DASHSCOPE")
    return path


@pytest.mark.conformance
def test_same_files_as_the_service_client(client: Path, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    for path in (
        "requirements.txt", "rl-job.yaml", "README.md", ".gitignore", ".git/HEAD", ".hidden", "a.log", "b.tmp", "c.bak",
        "functions/__init__.py", "functions/reward/reward.py", "functions/reward/tests/t.py", "functions/rollout/x.txt",
        "data/train.jsonl", "functions/data/p.py", "build/lib/x.py", "functions/building.py", "tmp/x", "temp/x",
        "test/x",
        "pkg.egg-info/PKG-INFO", "functions/__pycache__/a.pyc", "functions/a.pyc", "empty/keep", ".vscode/s.json",
        "functions/testing/t.py", "functions/database.py", "功能/奖励.py", "functions/test", "x.MD",
    ):  # fmt: skip
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
    (root / "functions" / "run.sh").write_text("#!/bin/sh\n")
    (root / "functions" / "run.sh").chmod(0o755)
    (root / "linked.txt").symlink_to(root / "functions" / "database.py")
    theirs = tmp_path / "theirs.zip"
    done = subprocess.run(
        [str(client), "-c", PROGRAM, str(root), str(theirs)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DASHSCOPE_API_KEY": "none"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    ours = tmp_path / "ours.zip"
    package.write(package.plan(root), ours)
    assert done.stdout.strip().split(",") == list(DEFAULT_PATTERNS)
    assert _content(ours) == _content(theirs)


def _content(archive: Path) -> dict[str, tuple[bytes, bool]]:
    with zipfile.ZipFile(archive) as opened:
        return {
            item.filename: (opened.read(item), bool((item.external_attr >> 16) & 0o111)) for item in opened.infolist()
        }
