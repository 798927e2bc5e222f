"""Isolation shared by every test: no key, no proxy, English, state and config below tmp_path."""

import logging
from pathlib import Path

import pytest

from agentic_rl_tui.core.i18n import set_language

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Inputs that lie beside a checkout; absent from a user's clone."""


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # LOG_LEVEL sets the level of a logger that the whole process shares.
    logging.getLogger("agentic_rl_tui.client").setLevel(logging.NOTSET)
    for name in ("DASHSCOPE_API_KEY", "DASHSCOPE_HTTP_BASE_URL", "LOG_LEVEL", "AGENTIC_RL_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("AGENTIC_RL_LANGUAGE", "en")
    set_language("en")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AGENTIC_RL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("AGENTIC_RL_CONFIG_DIR", str(tmp_path / "config"))


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the shared inputs are not beside this checkout")
    return SHARED
