import shlex
import subprocess
import sys

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.help import HELP
from agentic_rl_tui.app.cli.help_text import GROUPS, help_text
from agentic_rl_tui.app.cli.verbs import VERBS, find
from agentic_rl_tui.core.version import __version__


def test_the_help_text_is_the_one_of_the_verb_table() -> None:
    assert help_text() == HELP
    assert {verb.group for verb in VERBS} == set(GROUPS)


def test_version_is_the_one_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == exits.OK
    assert capsys.readouterr().out == f"agentic-rl-tui {__version__}\n"


def test_a_mistyped_verb_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lsit"]) == exits.USAGE
    assert "did you mean 'list'?" in capsys.readouterr().err


def test_a_bad_option_ends_with_the_usage_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--page", "x"]) == exits.USAGE
    assert "See `agentic-rl-tui list --help`" in capsys.readouterr().err


def test_without_a_terminal_the_app_is_not_started(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == exits.USAGE
    assert "needs a terminal" in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_explains_itself(verb: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb.name, "--help"]) == exits.OK  # type: ignore[attr-defined]
    assert verb.summary in capsys.readouterr().out  # type: ignore[attr-defined]


def test_help_loads_nothing_that_talks_to_a_service() -> None:
    """Each verb's help in one process; what one of them loads would slow down its every start."""
    code = (
        "import sys\n"
        "from agentic_rl_tui.app.__main__ import main\n"
        "for name in sys.argv[1:]:\n"
        "    assert main([name, '--help']) == 0\n"
        "    loaded = {'pydantic', 'httpx', 'asyncio', 'textual'} & sys.modules.keys()\n"
        "    assert not loaded, (name, loaded)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *(verb.name for verb in VERBS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_hyphens_and_underscores_and_aliases_name_the_same_verb() -> None:
    assert find("status") is find("get")
    assert find("nothing") is None


def test_lines_of_the_guide_work_with_our_name_in_place_of_the_official_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rl", "test_functions", "--help"]) == exits.OK
    assert capsys.readouterr().out.startswith("usage: agentic-rl-tui test_functions")
    assert main(["rl"]) == exits.USAGE
    assert main(["rl", "nothing"]) == exits.USAGE
    assert "there is no verb 'rl'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["keys"], ["keys", "-o", "json"]])
@pytest.mark.parametrize("end", ["closed", "gone", "full"])
def test_output_that_goes_nowhere_is_no_crash(words: list[str], end: str) -> None:
    call = shlex.join([sys.executable, "-m", "agentic_rl_tui.app", *words])
    whole = {"closed": f"{call} >&-", "gone": f"{call} | exec 0<&-", "full": f"{call} >/dev/full"}[end]
    done = subprocess.run(["bash", "-o", "pipefail", "-c", whole], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == (exits.REJECTED if end == "full" else exits.OK)
    assert ("No space left" in done.stderr) == (end == "full")
