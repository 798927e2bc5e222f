import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_rl_tui.core.functions import package
from agentic_rl_tui.core.functions.discovery import discover
from agentic_rl_tui.core.functions.package import PackagePlan
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

Write = Callable[[str, str], Path]

ROLLOUT = """\
from dashscope.finetune.reinforcement import AbstractRolloutProcessor
class Mine(AbstractRolloutProcessor):
    async def process(self, input): ...
"""
MINE = ClassPath.parse("functions/rollout/rollout.py:Mine")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "ws"
    path.mkdir()
    (path / "requirements.txt").write_text("openai==2.8.0\n")
    return path


@pytest.fixture
def write(root: Path) -> Write:
    def put(path: str, text: str) -> Path:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file

    return put


def _plan(root: Path) -> PackagePlan:
    return package.plan(root, kind=FunctionKind.ROLLOUT, classpath=MINE)


def _found(plan: PackagePlan) -> list[tuple[str, str]]:
    return [(problem.place, problem.rule) for problem in plan.problems]


def test_left_out_folder_that_code_imports_is_reported_with_its_line(root: Path, write: Write) -> None:
    write("functions/__init__.py", "")
    write("functions/rollout/__init__.py", "")
    write("functions/rollout/data/__init__.py", "")
    write("functions/rollout/data/prompts.py", "P = 1\n")
    write("functions/rollout/rollout.py", "import os\nfrom functions.rollout.data import prompts\n" + ROLLOUT)
    plan = _plan(root)
    [problem] = plan.problems
    assert (problem.path, problem.line, problem.col, problem.rule) == (
        "functions/rollout/rollout.py",
        2,
        1,
        "import-left-out",
    )
    assert "default pattern 'data'" in problem.message
    assert problem.advice == (
        "Rename functions/rollout/data, or put the line !/functions/rollout/data/ into .agenticignore."
    )
    write(".agenticignore", "!/functions/rollout/data/\n")
    mended = _plan(root)
    assert mended.problems == ()
    entry = mended.entry("functions/rollout/data/prompts.py")
    assert entry is not None
    assert entry.reason == "imported by functions/rollout/rollout.py:2"


def test_reasons_tell_why_a_file_is_sent(root: Path, write: Write) -> None:
    write("functions/__init__.py", "")
    write("functions/rollout/rollout.py", "from . import tools\nfrom ..shared.text import clean\n" + ROLLOUT)
    write("functions/rollout/tools.py", "")
    write("functions/shared/text.py", "import functions.shared.deep\n")
    write("functions/shared/deep.py", "")
    write("scripts/make.py", "import pandas\n")
    plan = _plan(root)
    assert plan.problems == ()
    assert {entry.path: entry.reason for entry in plan.all_entries} == {
        "functions/__init__.py": "package of functions/rollout/rollout.py",
        "functions/rollout/rollout.py": "holds Mine",
        "functions/rollout/tools.py": "imported by functions/rollout/rollout.py:1",
        "functions/shared/deep.py": "imported by functions/shared/text.py:1",
        "functions/shared/text.py": "imported by functions/rollout/rollout.py:2",
        "requirements.txt": "in the workspace",
        "scripts/make.py": "in the workspace",
        "start.sh": "starts functions.rollout.rollout.Mine",
    }


def test_imports_against_requirements_and_workspace(root: Path, write: Write) -> None:
    write(
        "functions/rollout/rollout.py",
        textwrap.dedent(
            """\
            import sys, openai
            import sklearn.metrics
            import helpers
            from functions.absent import x
            try:
                import torch
            except ImportError:
                torch = None
            def later():
                import numpy
            """
        )
        + ROLLOUT,
    )
    write("functions/rollout/helpers.py", "")
    plan = _plan(root)
    place = "functions/rollout/rollout.py"
    assert _found(plan) == [
        (f"{place}:2", "requirements-import"),
        (f"{place}:3", "import-path"),
        (f"{place}:4", "import-missing"),
        (f"{place}:10", "requirements-import"),
    ]
    assert plan.problems[1].advice == "Import it as functions.rollout.helpers."


def test_broken_helper_and_text_that_names_a_left_out_file(root: Path, write: Write) -> None:
    write("functions/rollout/rollout.py", "import functions.broken\nNAME = 'data/prompts.json'\n" + ROLLOUT)
    write("functions/broken.py", "def (\n")
    write("data/prompts.json", "{}")
    assert _found(_plan(root)) == [
        ("functions/broken.py:1", "syntax-error"),
        ("functions/rollout/rollout.py:2", "path-left-out"),
    ]


def test_tracing_names_ask_for_the_pins(root: Path, write: Write) -> None:
    write(
        "functions/rollout/rollout.py",
        "from dashscope.finetune.reinforcement.component.observability import trace_client\n" + ROLLOUT,
    )
    assert _found(_plan(root)) == [("requirements.txt", "requirements-tracing")]


@pytest.mark.parametrize(
    ("source", "kind", "rule"),
    [
        (ROLLOUT, FunctionKind.REWARD, "kind-mismatch"),
        (ROLLOUT.replace("Mine", "Yours"), FunctionKind.ROLLOUT, "class-missing"),
        (ROLLOUT.replace("async def process", "def other"), FunctionKind.ROLLOUT, "abstract-class"),
    ],
)
def test_the_class_itself(root: Path, write: Write, source: str, kind: FunctionKind, rule: str) -> None:
    write("functions/rollout/rollout.py", source)
    plan = package.plan(root, kind=kind, classpath=MINE)
    assert [problem.rule for problem in plan.errors] == [rule]


def test_syntax_error_in_the_class_file_is_told_once(root: Path, write: Write) -> None:
    write("functions/rollout/rollout.py", ROLLOUT + "def (\n")
    assert _found(_plan(root)) == [("functions/rollout/rollout.py:4", "syntax-error")]


def test_class_in_a_left_out_folder(root: Path, write: Write) -> None:
    write("tests/r.py", ROLLOUT)
    plan = package.plan(root, kind=FunctionKind.ROLLOUT, classpath=ClassPath.parse("tests/r.py:Mine"))
    assert [problem.rule for problem in plan.errors] == ["class-left-out"]


def test_plan_for_all_functions_follows_every_processor(root: Path, write: Write) -> None:
    write("functions/a.py", "import numpy\n" + ROLLOUT)
    write("functions/b.py", "import scipy\n" + ROLLOUT)
    write("functions/test/c.py", "import pandas\n" + ROLLOUT)
    write("tools.py", "import torch\n")
    found = discover(root)
    plan = package.plan(root, discovery=found)
    assert _found(plan) == [
        ("functions/a.py:1", "requirements-import"),
        ("functions/b.py:1", "requirements-import"),
        ("functions/test/c.py", "class-left-out"),
    ]
    assert package.plan(root) == plan
    assert package.plan(root, check=False).problems == ()
    assert package.plan(root, check=False).content_hash == plan.content_hash


def test_functions_that_share_a_package_are_all_checked(root: Path, write: Write) -> None:
    write("functions/a.py", "import functions.absent\n" + ROLLOUT)
    write("functions/b.py", ROLLOUT)
    write("functions/c.py", "import functions.missing\n" + ROLLOUT)
    unused = package.plan(root)
    assert [(problem.path, problem.severity.value) for problem in unused.problems] == [
        ("functions/a.py", "warning"),
        ("functions/c.py", "warning"),
    ]
    used = [(FunctionKind.ROLLOUT, ClassPath.parse("functions.a.Mine")), (None, ClassPath.parse("functions.b.Mine"))]
    plan = package.plan(root, functions=used)
    assert plan.script is None
    assert [problem.path for problem in plan.errors] == ["functions/a.py"]
    wrong = package.plan(root, functions=[(FunctionKind.REWARD, ClassPath.parse("functions.b.Mine"))])
    assert [problem.rule for problem in wrong.errors] == ["kind-mismatch"]


def test_named_requirements_file_is_the_one_that_is_read(root: Path, write: Write) -> None:
    write("functions/rollout/rollout.py", "import numpy\n" + ROLLOUT)
    write("deps/rollout.txt", "numpy==2.0\n")
    plan = package.plan(root, kind=FunctionKind.ROLLOUT, classpath=MINE, requirements="deps/rollout.txt")
    assert plan.problems == ()
    assert package.requirements_text(plan) == b"numpy==2.0\n"
    (root / "requirements.txt").unlink()
    assert _found(_plan(root)) == [
        ("functions/rollout/rollout.py:1", "requirements-import"),
        ("requirements.txt", "requirements-missing"),
    ]
