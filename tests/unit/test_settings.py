from pathlib import Path

import pytest

from agentic_rl_tui.core.models.errors import ConfigError, NoKey
from agentic_rl_tui.core.settings import DASHSCOPE_URL, load, normalise_url

KEY = "sk-from-environment-1234"


def _user_file(text: str) -> None:
    from agentic_rl_tui.core.paths import config_dir

    config_dir().mkdir(parents=True, exist_ok=True)
    (config_dir() / "config.toml").write_text(text, encoding="utf-8")


def test_the_local_platform_is_the_default_and_needs_no_key(tmp_path: Path) -> None:
    settings = load(workspace=tmp_path)
    assert settings.profile.is_local
    assert settings.api_key() is None


def test_a_base_url_in_the_environment_means_that_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", " https://example.test/api/v1/ ")
    profile = load(workspace=tmp_path).profile
    assert (profile.name, profile.base_url) == ("dashscope", "https://example.test/api/v1")
    assert profile.origin == "environment DASHSCOPE_HTTP_BASE_URL"


def test_flags_beat_environment_beats_workspace_beats_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _user_file('timeout_s = 1\nlog_level = "user"\n[local]\nseed = 1\nmax_running_jobs = 2\n')
    (tmp_path / "agentic-rl.toml").write_text('log_level = "workspace"\n[local]\nseed = 2\n', encoding="utf-8")
    monkeypatch.setenv("HTTP_REQUEST_TIMEOUT", "3")
    settings = load(workspace=tmp_path, flags={"local.seed": 9})
    assert settings.get("timeout_s") == "3"
    assert settings.get("log_level") == "workspace"
    assert settings.get("local.seed") == 9
    assert settings.get("local.max_running_jobs") == 2
    assert settings.origins["local.seed"] == "flag"
    assert settings.origins["log_level"] == str(tmp_path / "agentic-rl.toml")
    assert settings.origins["timeout_s"] == "environment HTTP_REQUEST_TIMEOUT"


def test_the_key_is_argument_then_environment_then_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _user_file('profile = "mine"\n[profiles.mine]\nbase_url = "https://a.test/v1"\napi_key = "sk-stored-12345678"\n')
    settings = load(workspace=tmp_path)
    stored = settings.api_key()
    assert stored is not None
    assert stored.reveal() == "sk-stored-12345678"
    assert stored.origin.startswith("profile mine")
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    found = settings.api_key()
    assert found is not None
    assert (found.reveal(), found.origin) == (KEY, "environment DASHSCOPE_API_KEY")
    given = settings.api_key("sk-argument-12345678\n")
    assert given is not None
    assert (given.reveal(), given.origin) == ("sk-argument-12345678", "argument")
    assert KEY not in repr(found) + str(found)


def test_a_missing_key_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(NoKey) as caught:
        load(workspace=tmp_path, profile="dashscope").api_key()
    assert "DASHSCOPE_API_KEY" in caught.value.advice


def test_a_key_that_cannot_be_a_header_is_refused_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(workspace=tmp_path, profile="dashscope").api_key("sk-ab\ncd-12345678")
    assert "12345678" not in str(caught.value) + caught.value.advice


def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "agentic-rl.toml").write_text("a = 1\nb = \n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"agentic-rl\.toml.*line 2"):
        load(workspace=tmp_path)


def test_an_unknown_profile_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(workspace=tmp_path, profile="nowhere")
    assert caught.value.advice == "Known profiles: dashscope, local."


def test_an_url_loses_what_breaks_paths() -> None:
    assert normalise_url(" https://h.test/api/v1// ") == "https://h.test/api/v1"
    with pytest.raises(ConfigError):
        normalise_url("h.test/api")


def test_the_service_is_known_without_configuration(tmp_path: Path) -> None:
    assert load(workspace=tmp_path, profile="dashscope").profile.base_url == DASHSCOPE_URL
