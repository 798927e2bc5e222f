import subprocess
import sys
import tomllib
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
    assert listed == found


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
