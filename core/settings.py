"""Settings: flag > environment > workspace file ``agentic-rl.toml`` > user file ``config.toml`` > default.

Every value knows where it came from. Documented environment variables keep their meaning: DASHSCOPE_API_KEY,
DASHSCOPE_HTTP_BASE_URL, HTTP_REQUEST_TIMEOUT, BAILIAN_FILE_TIMEOUT, LOG_LEVEL, ENABLE_TRAJECTORY.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl_tui.core import paths, sources
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ConfigError, NoKey
from agentic_rl_tui.core.models.redact import mask, redact
from agentic_rl_tui.core.sources import DASHSCOPE_URL as DASHSCOPE_URL
from agentic_rl_tui.core.sources import WORKSPACE_FILE as WORKSPACE_FILE
from agentic_rl_tui.core.sources import normalise_url as normalise_url

LOCAL_URL = "http://platform.local/api/v1"


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
    found = sources.gather(str(root), {**(flags or {}), "base_url": base_url})
    platform = paths.PlatformPaths.default()
    profiles = _profiles(found, platform)
    name = sources.chosen_profile(found, profile)
    if name not in profiles:
        known = ", ".join(sorted(profiles))
        raise ConfigError(
            _("there is no profile {name!r}").format(name=name),
            advice=_("Known profiles: {known}.").format(known=known),
        )
    return Settings(found.values, found.origins, profiles, name, root, platform)


def _profiles(found: sources.Sources, platform: paths.PlatformPaths) -> dict[str, Profile]:
    profiles = {"local": Profile("local", LOCAL_URL, N_("built in"), socket=platform.socket)}
    for name, (table, origin) in sources.profile_tables(found).items():
        key = table.get("api_key")
        workspace_id = table.get("workspace_id")
        profiles[name] = Profile(
            name,
            sources.normalise_url(str(table["base_url"])),
            origin,
            workspace_id=None if workspace_id is None else str(workspace_id),
            api_key_env=str(table.get("api_key_env", sources.KEY_VARIABLE)),
            stored_key=Secret(str(key).strip(), f"profile {name} in {origin}") if key else None,
        )
    return profiles
