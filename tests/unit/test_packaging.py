import email
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("app", "core", "styles", "widgets")


def test_every_package_folder_is_listed_for_the_wheel() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        "agentic_rl_tui." + ".".join(init.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for init in (ROOT / folder).rglob("__init__.py")
        if "built-in" not in init.parts
    }
    # Folders of catalogues could be imported, so setuptools wants them named although they hold no module.
    assert {name for name in listed if ".locale." not in name} == found


def _modules_after(code: str) -> set[str]:
    script = f"import sys; {code}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(option: str) -> None:
    loaded = _modules_after(f"from agentic_rl_tui.app.__main__ import main; main(['{option}'])")
    heavy = {"textual", "pydantic", "httpx", "starlette", "argparse", "asyncio", "rich", "yaml", "msgspec"}
    assert not heavy & loaded


@pytest.mark.parametrize("verb", ["list", "get", "logs", "cancel", "delete", "run", "quickstart", "platform", "serve"])
def test_no_verb_loads_the_screen(verb: str) -> None:
    loaded = _modules_after(f"from agentic_rl_tui.app.__main__ import main; main(['{verb}', '--help'])")
    assert "textual" not in loaded


def test_the_sdk_loads_no_screen_and_no_server() -> None:
    loaded = _modules_after("from agentic_rl_tui.core import AgenticRL")
    assert not {"textual", "starlette", "uvicorn", "openai"} & loaded


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built from a copy, since a build leaves its traces in the tree."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    code = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, out], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return zipfile.ZipFile(next(out.glob("*.whl")))


def test_the_wheel_holds_every_file_that_the_program_reads(wheel: zipfile.ZipFile) -> None:
    held = {name.removeprefix("agentic_rl_tui/") for name in wheel.namelist() if "dist-info" not in name}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".po", ".pot", ".pyc")
    }
    assert wanted - held == set()
    assert {name for name in held - wanted if not name.endswith((".po", ".pot"))} == set()
    assert {f"{folder}/py.typed" for folder in FOLDERS} <= held
    assert any(name.endswith("zh_CN/LC_MESSAGES/agentic-rl-tui.mo") for name in held)


def test_the_wheel_asks_for_nothing_that_only_tests_need(wheel: zipfile.ZipFile) -> None:
    name = next(name for name in wheel.namelist() if name.endswith("METADATA"))
    facts = email.message_from_bytes(wheel.read(name))
    needs = facts.get_all("Requires-Dist") or []
    plain = {need.partition(";")[0].strip() for need in needs if "extra ==" not in need}
    tests = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["test"]
    assert not {_name(need) for need in plain} & {_name(need) for need in tests}
    assert facts["License-Expression"] == "Apache-2.0"
    assert facts["License-File"] == "LICENSE"
    assert facts["Requires-Python"] == ">=3.11"
    entries = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert b"agentic-rl-tui = agentic_rl_tui.app.__main__:main" in wheel.read(entries)


def _name(need: str) -> str:
    return need.replace("[", " ").replace(">", " ").replace("=", " ").replace("<", " ").split()[0].lower()
