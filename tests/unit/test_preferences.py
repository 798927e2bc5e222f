"""Single settings written into the user's file."""

import tomllib
from pathlib import Path

import pytest

from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.preferences import prefer


def test_comments_and_order_of_the_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '# 我的设置\nprofile = "local"  # always\n\n[tui]\ntheme = "light" # day\n\n[keys.jobs]\ncancel = "X"\n'
    )
    prefer("tui.jobs_columns", ["name", "reward"], path=path)
    text = path.read_text()
    assert text.startswith('# 我的设置\nprofile = "local"  # always\n')
    assert 'theme = "light" # day' in text
    read = tomllib.loads(text)
    assert read["tui"] == {"theme": "light", "jobs_columns": ["name", "reward"]}
    assert read["keys"] == {"jobs": {"cancel": "X"}}
    prefer("tui.jobs_columns", None, path=path)
    assert "jobs_columns" not in path.read_text()


def test_a_file_and_table_that_are_not_there_are_made(tmp_path: Path) -> None:
    path = tmp_path / "below" / "config.toml"
    prefer("tui.theme", "dark", path=path)
    prefer("profile", "dashscope", path=path)
    assert tomllib.loads(path.read_text()) == {"tui": {"theme": "dark"}, "profile": "dashscope"}
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", ["[tui\n", 'tui = "text"\n'])
def test_a_file_that_is_broken_is_not_touched(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        prefer("tui.theme", "dark", path=path)
    assert path.read_text() == content
