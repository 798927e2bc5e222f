"""Settings: flag > environment > workspace file ``agentic-rl.toml`` > user file ``config.toml`` > default.

Every value knows where it came from. Documented environment variables keep their meaning: DASHSCOPE_API_KEY,
DASHSCOPE_HTTP_BASE_URL, HTTP_REQUEST_TIMEOUT, BAILIAN_FILE_TIMEOUT, LOG_LEVEL, ENABLE_TRAJECTORY.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl_tui.core import paths
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ConfigError, NoKey
from agentic_rl_tui.core.models.redact import mask, redact

DASHSCOPE_URL = "https://dashscope.aliyuncs.com/api/v1"
LOCAL_URL = "http://platform.local/api/v1"
WORKSPACE_FILE = "agentic-rl.toml"
USER_FILE = "config.toml"


@dataclass(frozen=True, slots=True)
class Secret:
    """A key and where it came from. Its text form is masked; `reveal` is the only way to the value."""

    _value: str = field(repr=False)
    origin: str

    def reveal(self) -> str:
        return self._value

    def __str__(self) -> str:
        return mask(self._value)


@dataclass(frozen=True, slots=True)
class Profile:
    """One place that answers the protocol. socket is set for the local platform only."""

    name: str
    base_url: str
    origin: str
    socket: Path | None = None
    workspace_id: str | None = None
    api_key_env: str = "DASHSCOPE_API_KEY"
    stored_key: Secret | None = None

    @property
    def is_local(self) -> bool:
        return self.socket is not None


@dataclass(frozen=True, slots=True)
class Settings:
    """The merged settings of one start. `origins` maps a dotted key to the place that set it."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    profiles: Mapping[str, Profile]
    profile_name: str
    workspace: Path
    platform: paths.PlatformPaths

    @property
    def profile(self) -> Profile:
        return self.profiles[self.profile_name]

    def get(self, key: str, default: Any = None) -> Any:
        """A value by dotted key, e.g. ``local.max_running_jobs``."""
        return self.values.get(key, default)

    def api_key(self, given: str | None = None) -> Secret | None:
        """The key to send, resolved now: argument, then environment, then profile. None for a keyless local platform.

        Raises NoKey when the profile needs a key and there is none, ConfigError when it cannot be a header value.
        """
        profile = self.profile
        found: Secret | None = None
        if given is not None and given.strip():
            found = Secret(given.strip(), "argument")
        elif (environment := os.environ.get(profile.api_key_env, "").strip()) and not profile.is_local:
            found = Secret(environment, f"environment {profile.api_key_env}")
        elif profile.stored_key is not None:
            found = profile.stored_key
        if found is None:
            if profile.is_local:
                return None
            raise NoKey(_("profile {name!r} needs an API key and none was found").format(name=profile.name))
        value = found.reveal()
        redact.add(value)
        if not value.isascii() or not value.isprintable() or any(char.isspace() for char in value):
            raise ConfigError(
                _("the API key from {origin} has characters that no key has").format(origin=found.origin),
                advice=_("Copy the key again, without quotes, spaces or line breaks."),
            )
        return found


def load(
    *,
    workspace: Path | None = None,
    profile: str | None = None,
    base_url: str | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """Read and merge all sources. Raises ConfigError naming file, line and column of a file that is not TOML."""
    root = (workspace or Path.cwd()).absolute()
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    tables: dict[str, tuple[dict[str, Any], str]] = {}
    for path in (paths.config_dir() / USER_FILE, root / WORKSPACE_FILE):
        document = _read(path)
        for name, table in document.pop("profiles", {}).items():
            if not isinstance(table, dict):
                raise ConfigError(_("{path}: profiles.{name} must be a table").format(path=path, name=name))
            tables[name] = (table, str(path))
        for key, value in _flatten(document):
            values[key] = value
            origins[key] = str(path)
    environment = {
        "base_url": "DASHSCOPE_HTTP_BASE_URL",
        "timeout_s": "HTTP_REQUEST_TIMEOUT",
        "upload_timeout_s": "BAILIAN_FILE_TIMEOUT",
        "log_level": "LOG_LEVEL",
        "trajectory": "ENABLE_TRAJECTORY",
        "profile": "AGENTIC_RL_PROFILE",
        "workspace_id": "DASHSCOPE_WORKSPACE_ID",
    }
    for key, variable in environment.items():
        if text := os.environ.get(variable, "").strip():
            values[key] = text
            origins[key] = f"environment {variable}"
    for key, value in (flags or {}).items():
        if value is not None:
            values[key] = value
            origins[key] = "flag"
    if base_url is not None:
        values["base_url"] = base_url
        origins["base_url"] = "flag"
    platform = paths.PlatformPaths.default()
    profiles = _profiles(tables, values, origins, platform)
    name = profile or values.get("profile")
    if name is None:
        # A base URL somebody set is a wish to talk to that server.
        name = "dashscope" if "base_url" in values else "local"
    if name not in profiles:
        known = ", ".join(sorted(profiles))
        raise ConfigError(
            _("there is no profile {name!r}").format(name=name),
            advice=_("Known profiles: {known}.").format(known=known),
        )
    return Settings(values, origins, profiles, name, root, platform)


def _profiles(
    tables: Mapping[str, tuple[dict[str, Any], str]],
    values: Mapping[str, Any],
    origins: Mapping[str, str],
    platform: paths.PlatformPaths,
) -> dict[str, Profile]:
    workspace_id = values.get("workspace_id")
    profiles = {
        "local": Profile("local", LOCAL_URL, "built in", socket=platform.socket),
        "dashscope": Profile(
            "dashscope",
            normalise_url(str(values.get("base_url", DASHSCOPE_URL))),
            origins.get("base_url", "built in"),
            workspace_id=workspace_id,
        ),
    }
    for name, (table, origin) in tables.items():
        if name == "local":
            continue
        url = table.get("base_url", DASHSCOPE_URL)
        if not isinstance(url, str):
            raise ConfigError(_("{origin}: profiles.{name}.base_url must be a text").format(origin=origin, name=name))
        key = table.get("api_key")
        profiles[name] = Profile(
            name,
            normalise_url(url),
            origin,
            workspace_id=table.get("workspace_id", workspace_id),
            api_key_env=table.get("api_key_env", "DASHSCOPE_API_KEY"),
            stored_key=Secret(str(key).strip(), f"profile {name} in {origin}") if key else None,
        )
    return profiles


def normalise_url(url: str) -> str:
    """Strip spaces and trailing slashes, both of which break every path built on it. Raises ConfigError."""
    cleaned = url.strip().rstrip("/")
    if not cleaned.startswith(("http://", "https://")):
        raise ConfigError(
            _("{url!r} is no base URL").format(url=url), advice=_("It must start with http:// or https://.")
        )
    return cleaned


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(_("{path} cannot be read: {strerror}").format(path=path, strerror=error.strerror)) from error
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(_("{path} is not valid TOML: {error}").format(path=path, error=error)) from error


def _flatten(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            flat += _flatten(value, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, value))
    return flat
