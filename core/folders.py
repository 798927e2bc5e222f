"""The user's config and state directories as text.

`paths` builds on them. They are apart because a short command ends before pathlib and platformdirs are imported.
"""

import os
import sys

APP = "agentic-rl-tui"
USER_FILE = "config.toml"
"""The user's settings, in the config directory."""
_SYSTEM: str = sys.platform


def config_folder() -> str:
    """``AGENTIC_RL_CONFIG_DIR`` or the user's config directory."""
    if override := os.environ.get("AGENTIC_RL_CONFIG_DIR"):
        return override
    if _SYSTEM == "linux":
        return os.path.join(_base("XDG_CONFIG_HOME", "~/.config"), APP)
    import platformdirs

    return platformdirs.user_config_dir(APP)


def state_folder() -> str:
    """``AGENTIC_RL_STATE_DIR`` or the user's state directory."""
    if override := os.environ.get("AGENTIC_RL_STATE_DIR"):
        return os.path.abspath(override)
    if _SYSTEM == "linux":
        return os.path.join(_base("XDG_STATE_HOME", "~/.local/state"), APP)
    import platformdirs

    return platformdirs.user_state_dir(APP)


def _base(variable: str, usual: str) -> str:
    given = os.path.expanduser(os.environ.get(variable, "").strip())
    return given if os.path.isabs(given) else os.path.expanduser(usual)
