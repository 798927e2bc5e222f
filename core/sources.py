"""Where settings come from, merged: flag > environment > workspace file > user file. Plain data, quick to import.

`settings` gives it types. A verb that asks one question of a service reads no more than this.
"""

import os
from collections.abc import Mapping

from agentic_rl_tui.core.folders import USER_FILE, config_folder
from agentic_rl_tui.core.i18n import N_, _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

DASHSCOPE_URL = "https://dashscope.aliyuncs.com/api/v1"
WORKSPACE_FILE = "agentic-rl.toml"
ENVIRONMENT = {
    "base_url": "DASHSCOPE_HTTP_BASE_URL",
    "timeout_s": "HTTP_REQUEST_TIMEOUT",
    "upload_timeout_s": "BAILIAN_FILE_TIMEOUT",
    "log_level": "LOG_LEVEL",
    "trajectory": "ENABLE_TRAJECTORY",
    "profile": "AGENTIC_RL_PROFILE",
    "workspace_id": "DASHSCOPE_WORKSPACE_ID",
}
KEY_VARIABLE = "DASHSCOPE_API_KEY"


class Sources:
    """values and origins by dotted key; tables holds the profiles of the files with the file of each."""

    __slots__ = ("origins", "tables", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.tables: dict[str, tuple[dict[str, Any], str]] = {}

    def put(self, key: str, value: object, origin: str) -> None:
        self.values[key] = value
        self.origins[key] = origin


def user_file() -> str:
    return os.path.join(config_folder(), USER_FILE)


def gather(workspace: str, flags: "Mapping[str, Any]") -> Sources:
    """Read and merge. Raises ConfigError naming file, line and column of a file that is not TOML."""
    found = Sources()
    for path in (user_file(), os.path.join(workspace, WORKSPACE_FILE)):
        document = read_toml(path)
        for name, table in document.pop("profiles", {}).items():
            if not isinstance(table, dict):
                raise _error(_("{path}: profiles.{name} must be a table").format(path=path, name=name))
            found.tables[name] = (table, path)
        for key, value in _flatten(document):
            found.put(key, value, path)
    for key, variable in ENVIRONMENT.items():
        if text := os.environ.get(variable, "").strip():
            found.put(key, text, f"environment {variable}")
    for key, value in flags.items():
        if value is not None:
            found.put(key, value, "flag")
    return found


def chosen_profile(found: Sources, wanted: str | None) -> str:
    name = wanted or found.values.get("profile")
    if name is None:
        # A base URL somebody set is a wish to talk to that server.
        return "dashscope" if "base_url" in found.values else "local"
    return str(name)


def profile_tables(found: Sources) -> dict[str, tuple[dict[str, object], str]]:
    """Every profile that talks to a service over the network, as a table with its origin."""
    workspace_id = found.values.get("workspace_id")
    own: dict[str, object] = {
        "base_url": str(found.values.get("base_url", DASHSCOPE_URL)), "workspace_id": workspace_id,
    }  # fmt: skip
    tables = {"dashscope": (own, found.origins.get("base_url", N_("built in")))}
    for name, (table, origin) in found.tables.items():
        if name == "local":
            continue
        if not isinstance(table.get("base_url", ""), str):
            raise _error(_("{origin}: profiles.{name}.base_url must be a text").format(origin=origin, name=name))
        tables[name] = ({"base_url": DASHSCOPE_URL, "workspace_id": workspace_id, **table}, origin)
    return tables


def normalise_url(url: str) -> str:
    """Strip spaces and trailing slashes, both of which break every path built on it. Raises ConfigError."""
    cleaned = url.strip().rstrip("/")
    if not cleaned.startswith(("http://", "https://")):
        raise _error(_("{url!r} is no base URL").format(url=url), _("It must start with http:// or https://."))
    return cleaned


def read_toml(path: str) -> "dict[str, Any]":
    """A settings file; empty where there is none. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        message = _("{path} cannot be read: {strerror}").format(path=path, strerror=error.strerror)
        raise _error(message) from error
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _error(_("{path} is not valid TOML: {error}").format(path=path, error=error)) from error


def _error(message: str, advice: str = "") -> Exception:
    from agentic_rl_tui.core.models.errors import ConfigError

    return ConfigError(message, advice=advice)


def _flatten(table: "Mapping[str, Any]", prefix: str = "") -> "list[tuple[str, Any]]":
    flat: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            flat += _flatten(value, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, value))
    return flat
