"""Which language a start speaks."""

import pytest

from agentic_rl_tui.app import language
from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.core import i18n
from agentic_rl_tui.core.folders import USER_FILE
from agentic_rl_tui.core.paths import config_dir


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (language.VARIABLE, "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)


def _write(text: str) -> None:
    config_dir().mkdir(parents=True)
    (config_dir() / USER_FILE).write_text(text, encoding="utf-8")


def test_the_system_decides_where_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert language.speak() == "en"
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert language.speak() == "zh_CN"


def test_the_setting_wins_over_the_system_and_the_variable_over_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    _write('language = "en"\n')
    assert language.speak() == "en"
    monkeypatch.setenv(language.VARIABLE, "zh")
    assert language.speak() == "zh_CN"


def test_auto_in_the_setting_asks_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    _write('language = "auto"\n')
    assert language.speak() == "zh_CN"


@pytest.mark.parametrize("text", ["language = \n", "language = 3\n", "# language\n"])
def test_a_file_that_says_nothing_of_use_is_passed_over(text: str) -> None:
    _write(text)
    assert language.speak() == "en"


def test_help_is_told_in_the_language_of_the_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(language.VARIABLE, "zh_CN")
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert i18n._("Show one job") in told
    assert "Show one job" not in told
    assert "--read-only" in told


def test_titles_of_the_first_sight_are_measured_in_cells() -> None:
    assert (language.cells("Jobs"), language.cells("任务")) == (4, 4)
