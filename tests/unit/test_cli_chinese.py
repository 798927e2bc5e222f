"""The command line in Chinese: columns stand by terminal cells, lines end within the terminal."""

import re
from collections.abc import Iterator

import pytest

from agentic_rl_tui.app.cli import init
from agentic_rl_tui.app.cli.dispatch import dispatch
from agentic_rl_tui.app.cli.help_text import help_text
from agentic_rl_tui.app.cli.helping import wrapped
from agentic_rl_tui.app.cli.list_jobs import _COLUMNS
from agentic_rl_tui.app.cli.output import facts, table
from agentic_rl_tui.app.cli.verbs import VERBS
from agentic_rl_tui.app.language import cells
from agentic_rl_tui.core import i18n
from agentic_rl_tui.core.templates import TEMPLATES


@pytest.fixture(autouse=True)
def _chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AGENTIC_RL_LANGUAGE", "zh_CN")
    monkeypatch.setenv("COLUMNS", "80")
    i18n.set_language("zh_CN")
    yield
    i18n.set_language("en")


def starts(line: str) -> list[int]:
    """The cells at which the columns of a line begin: two blanks part them."""
    return [cells(line[: found.start()]) for found in re.finditer(r"(?:(?<=  )|^)\S", line)]


def test_headings_stand_over_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    headings = [i18n._(heading) for heading in _COLUMNS]
    assert not all(heading.isascii() for heading in headings)
    rows = [["succeeded", "算术智能体", "qwen3.5-9b", "RL", "4/4", "01:56", "ft-1"]]
    rows.append(["运行中", "a", "模型", "OPD", "1/12", "刚才", "ft-2"])
    assert len(rows[0]) == len(headings)
    table(headings, rows)
    lines = capsys.readouterr().out.splitlines()
    assert len({tuple(starts(line)) for line in lines}) == 1


def test_facts_stand_in_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    facts({"函数": "a.py:A", "status": "ok", "模型调用": "2"})
    assert {starts(line)[1] for line in capsys.readouterr().out.splitlines()} == {10}


def test_the_summaries_of_a_group_stand_in_one_column() -> None:
    text = help_text()
    assert not text.isascii()
    for block in text.split("\n\n")[2:-1]:
        assert len({tuple(starts(line)) for line in block.splitlines()[1:]}) == 1, block


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_the_help_of_a_verb_stands_in_columns(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch([verb, "--help"]) == 0
    usage, _, rest = capsys.readouterr().out.partition("\n\n")
    first, *others = usage.splitlines()
    indent = cells(first[: first.index(" [-h]") + 1])
    assert {starts(line)[0] for line in others} <= {indent}
    lines = rest.splitlines()
    assert [line for line in lines if cells(line) > 78] == []
    explained = [line for line in lines if re.match(r"  -.*\S  +\S|\s{20,}\S", line)]
    assert {starts(line)[-1] for line in explained} == {24}


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("检查任务文件。", 8, ["检查任务", "文件。"]),
        ("检查任务。", 8, ["检查任", "务。"]),
        ("说明（见此）", 6, ["说明", "（见", "此）"]),
        ("用 --data 的行", 9, ["用 --data", "的行"]),
        ("a-very-long-word", 4, ["a-very-long-word"]),
        ("", 4, [""]),
    ],
)
def test_chinese_is_broken_between_characters(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines


def test_init_names_every_template_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert {name: template.title for name, template in TEMPLATES.items()} == init.TITLES
    assert dispatch(["init", "--help"]) == 0
    told = capsys.readouterr().out
    for name, template in TEMPLATES.items():
        assert re.search(rf"^  {name}  +{re.escape(i18n._(template.title))}$", told, re.M)
