import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.core.functions import package
from agentic_rl_tui.core.functions.package import LeftOutRule, PackagePlan
from agentic_rl_tui.core.functions.package_rules import IgnoreRules, looks_secret
from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

KEY = "sk-abcdef0123456789abcdef"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    _put(root, "requirements.txt", "openai==2.8.0\n")
    _put(root, "functions/reward/reward.py", "x = 1\n")
    return root


def _put(root: Path, path: str, content: str | bytes = "") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def _paths(plan: PackagePlan) -> list[str]:
    return [entry.path for entry in plan.all_entries]


def _rules(plan: PackagePlan) -> dict[str, str]:
    return {problem.path: problem.rule for problem in plan.problems}


def test_keeps_what_the_service_client_keeps(workspace: Path) -> None:
    kept = ["agent.yaml", "functions/__init__.py", "functions/rollout/prompt.txt", "rl-job.yaml"]
    dropped = [".git/config", "README.md", "x.log", "a/b.pyc", "functions/test/t.py", "data/train.jsonl", "a/tmp/x"]
    for path in kept + dropped:
        _put(workspace, path)
    plan = package.plan(workspace)
    assert _paths(plan) == sorted([*kept, "functions/reward/reward.py", "requirements.txt"])
    for path in dropped:
        assert (found := plan.why_left_out(path)) is not None, path
        assert found.rule is LeftOutRule.PATTERN
        assert "default pattern" in found.reason
    assert plan.why_left_out("agent.yaml") is None
    assert plan.entry("agent.yaml") is not None


def test_patterns_of_the_environment_replace_the_default_ones(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(workspace, "README.md")
    _put(workspace, "notes.txt")
    monkeypatch.setenv("FC_ZIP_EXCLUDE_PATTERNS", "*.txt , functions")
    assert _paths(package.plan(workspace)) == ["README.md"]


@pytest.mark.parametrize("name", ["venv", "node_modules", ".mypy_cache", "my-env"])
def test_environments_and_caches_stay_at_home(workspace: Path, name: str) -> None:
    _put(workspace, f"{name}/lib/x.py")
    _put(workspace, f"{name}/pyvenv.cfg")
    left = package.plan(workspace).why_left_out(f"{name}/lib/x.py")
    assert left is not None
    assert (left.path, left.rule, left.is_dir) == (name, LeftOutRule.CACHE, True)


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", "server.pem", "id_rsa", "id_ed25519.pub", "secrets.yaml", "credentials.json", "app.key"],
)
def test_secret_names_are_left_out_and_reported(workspace: Path, name: str) -> None:
    _put(workspace, f"conf/{name}", "x")
    plan = package.plan(workspace)
    left = plan.why_left_out(f"conf/{name}")
    assert left is not None
    assert left.rule is LeftOutRule.SECRET
    assert _rules(plan)[f"conf/{name}"] == "package-secret"


@pytest.mark.parametrize("name", ["id_map.py", "secrets.py", "environment.yaml", "keys.txt", "credentials.pyi"])
def test_code_and_ordinary_names_are_no_secrets(name: str) -> None:
    assert not looks_secret(name)
    assert not looks_secret("id_mapping", is_dir=True)


def test_file_that_holds_a_known_key_is_left_out(workspace: Path) -> None:
    secret = "0123456789-my-very-own-key"
    _put(workspace, "functions/client.py", f"KEY = '{secret}'\n")
    _put(workspace, "big.bin", b"x" * ((1 << 20) - 7) + secret.encode() + b"y" * 100)
    plan = package.plan(workspace, secrets=[secret])
    for path in ("functions/client.py", "big.bin"):
        left = plan.why_left_out(path)
        assert left is not None
        assert left.rule is LeftOutRule.SECRET
        assert secret not in repr(plan)


def test_private_key_is_left_out_but_code_about_keys_is_not(workspace: Path) -> None:
    head = "-----BEGIN RSA PRIVATE KEY-----"
    _put(workspace, "deploy.txt", f"{head}\n{'A' * 64}\n")
    _put(workspace, "functions/check.py", f"if text.startswith('{head}'): ...\n")
    plan = package.plan(workspace)
    assert plan.entry("deploy.txt") is None
    assert plan.entry("functions/check.py") is not None


def test_key_shape_is_reported_with_its_line(workspace: Path) -> None:
    _put(workspace, "functions/a.py", f"x = 1\nKEY = '{KEY}'\n")
    plan = package.plan(workspace)
    [problem] = [problem for problem in plan.problems if problem.rule == "package-key-in-file"]
    assert (problem.path, problem.line, problem.col) == ("functions/a.py", 2, 8)
    assert KEY not in problem.message
    assert plan.entry("functions/a.py") is not None


def test_key_shape_in_a_later_piece_has_the_right_line(workspace: Path) -> None:
    _put(workspace, "big.txt", "0123456\n" * (3 << 17) + f"k={KEY}\n")
    [problem] = package.plan(workspace).problems
    assert (problem.line, problem.col) == ((3 << 17) + 1, 3)


def test_links(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    _put(outside, "m.py", "y = 2\n")
    _put(outside, "id_rsa", "key")
    (workspace / "linked").symlink_to(outside)
    (workspace / "loop").symlink_to(workspace)
    (workspace / "m.py").symlink_to(outside / "m.py")
    (workspace / "harmless.txt").symlink_to(outside / "id_rsa")
    (workspace / "gone.txt").symlink_to(outside / "gone")
    plan = package.plan(workspace)
    assert (entry := plan.entry("m.py")) is not None
    assert entry.size == 6
    for path, rule in (
        ("linked", LeftOutRule.LINK),
        ("loop", LeftOutRule.LINK),
        ("harmless.txt", LeftOutRule.SECRET),
        ("gone.txt", LeftOutRule.UNREADABLE),
    ):
        left = plan.why_left_out(path)
        assert left is not None
        assert left.rule is rule
    assert _rules(plan)["linked"] == "package-linked-dir"


def test_pipes_and_unreadable_names_do_not_stop_the_walk(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / os.fsdecode(b"bad\xff.txt")).write_text("x")
    plan = package.plan(workspace)
    assert [(item.path, item.rule) for item in plan.left_out] == [
        ("bad?.txt", LeftOutRule.UNREADABLE),
        ("pipe", LeftOutRule.SPECIAL),
    ]


def test_ignore_file_drops_and_brings_back(workspace: Path) -> None:
    _put(workspace, ".agenticignore", "# mine\n*.bin\n/assets/*\n!/assets/keep.txt\n!functions/rollout/data/\n")
    for path in ("a.bin", "x/b.bin", "assets/drop.txt", "assets/keep.txt", "functions/rollout/data/prompts.py"):
        _put(workspace, path)
    _put(workspace, "data/train.jsonl")
    plan = package.plan(workspace)
    assert "functions/rollout/data/prompts.py" in _paths(plan)
    assert "assets/keep.txt" in _paths(plan)
    assert ".agenticignore" not in _paths(plan)
    left = plan.why_left_out("x/b.bin")
    assert left is not None
    assert left.reason == ".agenticignore:2 '*.bin'"
    assert plan.why_left_out("assets/drop.txt") is not None
    assert plan.why_left_out("data/train.jsonl") is not None


def test_secret_kept_by_the_ignore_file_is_said(workspace: Path) -> None:
    _put(workspace, ".agenticignore", "!certs/ca.pem\n")
    _put(workspace, "certs/ca.pem", "public\n")
    plan = package.plan(workspace)
    assert plan.entry("certs/ca.pem") is not None
    assert _rules(plan) == {"certs/ca.pem": "package-secret-kept"}


@pytest.mark.parametrize(
    ("pattern", "path", "is_dir", "expected"),
    [
        ("*.txt", "a/b.txt", False, True),
        ("/b.txt", "a/b.txt", False, False),
        ("a/*.txt", "a/b.txt", False, True),
        ("a/*.txt", "a/c/b.txt", False, False),
        ("a/**/b.txt", "a/b.txt", False, True),
        ("a/**/b.txt", "a/c/d/b.txt", False, True),
        ("**/x", "a/x", False, True),
        ("a/**", "a/b/c", False, True),
        ("logs/", "logs", False, False),
        ("logs/", "a/logs", True, True),
        ("[ab]?.py", "x/a1.py", False, True),
        ("[[]", "[", False, True),
        ("[--0]", ".", False, True),
        ("[--0]", "a", False, False),
        ("[-a]", "-", False, True),
        ("[a&&b]", "&", False, True),
        ("[^~~]", "~", False, False),
        ("[\\]", "\\", False, True),
        ("[!ab]?.py", "x/a1.py", False, False),
        ("a.c", "abc", False, False),
        ("\\#x", "#x", False, True),
        ("[z", "[z", False, True),
        ("[z-a]", "x/[z-a]", False, True),
        ("/[!]", "[!]", False, True),
    ],
)
def test_ignore_patterns(pattern: str, path: str, is_dir: bool, expected: bool) -> None:
    assert (IgnoreRules.parse(pattern + "\n").match(path, is_dir=is_dir) is not None) is expected


@given(st.text("[]!^*?\\/#-ab .\n", max_size=12), st.text("ab/.-[]*", min_size=1, max_size=8), st.booleans())
def test_no_ignore_line_breaks_the_walk(text: str, path: str, is_dir: bool) -> None:
    rule = IgnoreRules.parse(text).match(path, is_dir=is_dir)
    assert rule is None or rule.text.strip() in text


def test_nothing_is_written_and_the_users_start_script_is_replaced(workspace: Path) -> None:
    _put(workspace, "start.sh", "mine")
    before = sorted((path, path.stat().st_mtime_ns) for path in workspace.rglob("*"))
    classpath = ClassPath.parse("functions/reward/reward.py:Mine")
    plan = package.plan(workspace, kind=FunctionKind.REWARD, classpath=classpath)
    assert sorted((path, path.stat().st_mtime_ns) for path in workspace.rglob("*")) == before
    left = plan.why_left_out("start.sh")
    assert left is not None
    assert left.rule is LeftOutRule.REPLACED
    script = plan.entry("start.sh")
    assert script is not None
    assert script.is_executable
    assert script.content is not None
    text = script.content.decode()
    assert "export FUNC_TYPE=reward\n" in text
    assert "export PROCESSOR_CLASS=functions.reward.reward.Mine\n" in text
    assert "exec python3 -m dashscope.finetune.reinforcement.component.server.server" in text


STUB = """#!/bin/bash
echo "ran python3 $* FUNC_TYPE=$FUNC_TYPE PROCESSOR_CLASS=$PROCESSOR_CLASS PYTHONPATH=$PYTHONPATH N=$WORKERS_COUNT"
"""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ["-m dashscope.finetune.reinforcement.component.server.server"]),
        (
            {
                "FC_WORKERS_COUNT": "7",
                "FC_PYPI_LIB": "one==1 two",
                "FC_PYPI_REPO": "https://mirror.example/simple",
                "FC_SERVER_CLASSPATH": "my.server",
            },
            ["-m pip install --no-cache-dir --index-url https://mirror.example/simple one==1 two", "-m my.server"],
        ),
    ],
)
def test_start_script_runs(
    workspace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    expected: list[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    plan = package.plan(workspace, check=False).for_function(FunctionKind.REWARD, ClassPath.parse("a/b.py:C"))
    assert plan.script is not None
    assert plan.script.content is not None
    text = plan.script.content.decode().replace("/tmp/log/agentic_rl", str(tmp_path / "logs"))
    script = _put(tmp_path, "unpacked/start.sh", text)
    _put(tmp_path, "bin/python3", STUB).chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(script)], env={"PATH": path}, capture_output=True, text=True, check=True, timeout=60
    )
    ran = [line.partition(" FUNC_TYPE=") for line in done.stdout.splitlines() if line.startswith("ran ")]
    assert [command for command, _, _ in ran] == [f"ran python3 {arguments}" for arguments in expected]
    workers = environment.get("FC_WORKERS_COUNT", "2")
    assert ran[-1][2] == f"reward PROCESSOR_CLASS=a.b.C PYTHONPATH=.: N={workers}"
    [log] = (tmp_path / "logs").glob("service_*.log")
    assert log.read_text() == done.stdout


def test_start_script_installs_where_there_is_no_layer(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FC_LAYER_USED", "false")
    plan = package.plan(workspace, requirements="deps/my list.txt", check=False)
    script = plan.for_function(FunctionKind.REWARD, ClassPath.parse("a.b.C")).script
    assert script is not None
    assert script.content is not None
    assert b"install -r 'deps/my list.txt'" in script.content


def test_limit_of_the_environment(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert package.plan(workspace).limit_bytes == 200 << 20
    monkeypatch.setenv("FC_OSS_FILE_SIZE_WARNING", "1000")
    assert package.plan(workspace).limit_bytes == 1000


def test_content_hash_is_shared_by_functions_and_independent_of_times(workspace: Path, tmp_path: Path) -> None:
    shared = package.plan(workspace)
    one = shared.for_function(FunctionKind.REWARD, ClassPath.parse("functions.reward.reward.A"))
    two = shared.for_function(FunctionKind.REWARD, ClassPath.parse("functions.reward.reward.B"))
    assert shared.content_hash == one.content_hash == two.content_hash
    assert len({shared.archive_hash, one.archive_hash, two.archive_hash}) == 3
    copy = tmp_path / "copy"
    for entry in shared.entries:
        _put(copy, entry.path, (workspace / entry.path).read_bytes())
        os.utime(copy / entry.path, (1, 1))
    assert package.plan(copy).content_hash == shared.content_hash
    (copy / "requirements.txt").chmod(0o755)
    assert package.plan(copy).content_hash != shared.content_hash


def test_extra_files(workspace: Path, tmp_path: Path) -> None:
    outside = _put(tmp_path, "elsewhere/README.md", "hello")
    _put(workspace, "conf/requirements.txt", "numpy\n")
    plan = package.plan(workspace, extra_files=[outside, "conf/requirements.txt", "absent.txt", "functions"])
    entry = plan.entry("README.md")
    assert entry is not None
    assert entry.origin == outside
    replaced = plan.entry("requirements.txt")
    assert replaced is not None
    assert replaced.size == 6
    left = plan.why_left_out("requirements.txt")
    assert left is not None
    assert left.rule is LeftOutRule.REPLACED
    assert [(problem.path, problem.message) for problem in plan.errors] == [
        ("absent.txt", "the extra file does not exist"),
        ("functions", "the extra file is a directory"),
    ]


def test_file_over_the_limit_is_named(workspace: Path) -> None:
    _put(workspace, "weights.bin", os.urandom(300_000))
    _put(workspace, "zeros.bin", b"\0" * 300_000)
    plan = package.plan(workspace, limit_bytes=200_000)
    left = plan.why_left_out("weights.bin")
    assert left is not None
    assert left.rule is LeftOutRule.TOO_BIG
    assert [problem.path for problem in plan.errors] == ["weights.bin"]
    assert plan.entry("zeros.bin") is not None


def test_a_workspace_that_is_no_directory(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="is no directory"):
        package.plan(tmp_path / "absent")
