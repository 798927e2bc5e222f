"""Settings by the command line, the table they stand in, and the bytes of the user's file."""

import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.i18n import SETTING
from agentic_rl_tui.core.known import KNOWN, in_force, known, parse, shown, wanted
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.platform.engine.options import EndpointOptions
from agentic_rl_tui.core.platform.options import PlatformOptions
from agentic_rl_tui.core.preferences import prefer
from agentic_rl_tui.core.settings import load

KEY = "sk-0123456789abcdef"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "config.toml"


def test_what_is_set_counts_and_says_where_it_comes_from(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["config", "set", "local.idle_s", "20"]) == exits.OK
    assert capsys.readouterr().out == f"{file}: local.idle_s is 20\n"
    monkeypatch.setenv("HTTP_REQUEST_TIMEOUT", "7")
    assert main(["config", "list", "-o", "json"]) == exits.OK
    settings = {entry["key"]: entry for entry in json.loads(capsys.readouterr().out)["settings"]}
    assert (settings["local.idle_s"]["value"], settings["local.idle_s"]["origin"]) == (20, str(file))
    assert (settings["timeout_s"]["value"], settings["timeout_s"]["origin"]) == (
        "7",
        "environment HTTP_REQUEST_TIMEOUT",
    )
    assert settings["local.trace_days"]["origin"] == "default"
    assert main(["config", "unset", "local.idle_s"]) == exits.OK
    capsys.readouterr()
    assert main(["config", "get", "local.idle_s", "-o", "json"]) == exits.OK
    assert json.loads(capsys.readouterr().out) == {"key": "local.idle_s", "value": 300, "origin": "default"}


def test_a_key_is_read_from_stdin_kept_private_and_never_shown(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    file.chmod(0o644)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    assert main(["config", "set", "profiles.mine.api_key", "-"]) == exits.OK
    assert main(["config", "get", "profiles.mine.api_key"]) == exits.OK
    assert main(["config", "list", "-o", "json"]) == exits.OK
    told = capsys.readouterr()
    assert KEY not in told.out + told.err
    assert "••••cdef" in told.out
    assert file.stat().st_mode & 0o077 == 0
    assert load(profile="mine").api_key() is not None
    assert file.read_text().startswith("# mine\n")


@pytest.mark.parametrize(
    ("key", "value", "advice"),
    [
        ("tui.them", "dark", "tui.theme"),
        ("tui.theme", "pink", "dark, light, ansi"),
        ("local.idle_s", "-3", "greater than 0"),
        ("local.max_files", "1.5", "whole number"),
        ("base_url", "ftp://x", "http://"),
        ("profiles.mine.colour", "x", "config list"),
    ],
)
def test_what_is_no_setting_or_no_value_is_refused_with_what_would_do(
    key: str, value: str, advice: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", key, "--", value]) == exits.USAGE
    assert advice in capsys.readouterr().err
    assert not file.exists()


def test_path_names_both_files(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "path", "-o", "json", "--workspace", str(tmp_path)]) == exits.OK
    assert json.loads(capsys.readouterr().out) == {"user": str(file), "workspace": str(tmp_path / "agentic-rl.toml")}


def test_defaults_are_those_of_the_platform() -> None:
    table = {setting.key: setting for setting in KNOWN}
    for prefix, kind in (("local.", PlatformOptions), ("local.endpoint.", EndpointOptions)):
        for option in fields(kind):
            setting = table.get(prefix + option.name)
            if setting is not None and setting.default is not None:
                assert setting.default == option.default, setting.key
    assert {f"local.{option.name}" for option in fields(PlatformOptions)} - table.keys() == {"local.faults"}
    assert SETTING in table
    assert len(table) == len(KNOWN)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("tui.bell", "Off", False),
        ("local.max_files", "1_000", 1000),
        ("local.idle_s", "2.5", 2.5),
        ("local.idle_s", "30", 30),
        ("base_url", " http://a/b/ ", "http://a/b"),
        ("profiles.x.base_url", "https://a", "https://a"),
        ("language", "zh_CN", "zh_CN"),
    ],
)
def test_typed_values(key: str, text: str, value: Any) -> None:
    assert parse(known(key), text) == value
    assert type(parse(known(key), text)) is type(value)


def test_every_default_is_a_value_of_its_setting() -> None:
    for setting in KNOWN:
        if setting.default is not None:
            assert parse(setting, shown(setting.default)) == setting.default
        assert wanted(setting)
        assert in_force(setting, {}, {}) == (setting.default, "")
    with pytest.raises(ConfigError):
        known("nothing.like.it")


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        (b'# a\r\nlanguage = "en" # c\r\n', "language", "zh_CN", b'# a\r\nlanguage = "zh_CN" # c\r\n'),
        (b"\xef\xbb\xbfx = 1\n", "language", "en", b'\xef\xbb\xbfx = 1\nlanguage = "en"\n'),
        (b'[keys]\n"jobs.cancel" = "X"\n', "keys.jobs.cancel", "Y", b'[keys]\n"jobs.cancel" = "Y"\n'),
        (b'[keys.jobs]\ncancel = "X"\n', "keys.jobs.cancel", "Y", b'[keys.jobs]\ncancel = "Y"\n'),
        (b'[keys.jobs]\ncancel = "X"\n', "keys.jobs.delete", "D", b'[keys.jobs]\ncancel = "X"\ndelete = "D"\n'),
        (b"", "keys.jobs.cancel", "Y", b'[keys]\n"jobs.cancel" = "Y"\n'),
        (b'tui.theme = "dark"\n', "tui.bell", False, b'tui.theme = "dark"\ntui.bell = false\n'),
        (b'[keys]\n"jobs.cancel" = "X"\n', "keys.jobs.cancel", None, b"[keys]\n"),
    ],
)
def test_bytes_that_nobody_asked_to_change_stay(
    before: bytes, key: str, value: Any, after: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before)
    prefer(key, value, path=path)
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("key", "given", "kept"),
    [
        ("language", "zh", "zh_CN"),
        ("language", "zh-Hans", "zh_CN"),
        ("language", "zh_CN.UTF-8", "zh_CN"),
        ("language", "中文", "zh_CN"),
        ("language", "English", "en"),
        ("language", "en_GB", "en"),
        ("language", "AUTO", "auto"),
        ("log_level", "debug", "DEBUG"),
        ("notify.command", "my-notifier --to 'a b'", ["my-notifier", "--to", "a b"]),
    ],
)
def test_a_value_goes_by_its_usual_names(key: str, given: str, kept: object) -> None:
    assert main(["config", "set", key, given]) == exits.OK
    assert load().get(key) == kept
    assert parse(known(key), shown(kept)) == kept


@pytest.mark.parametrize(("key", "given"), [("language", "fr"), ("tui.theme", "blue"), ("notify.command", "say 'a")])
def test_what_no_value_is_stays_refused(key: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", key, given]) == exits.USAGE
    assert wanted(known(key)) in capsys.readouterr().err
