"""The settings there are: what each means, which values it takes, and what holds without it.

The settings screen, ``config`` and the reference page are made from this table.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.i18n import LANGUAGES, N_, SETTING, _, language_named
from agentic_rl_tui.core.models.errors import ConfigError

CHOICE, TEXT, URL, NUMBER, COUNT, SWITCH, WORDS = "choice", "text", "url", "number", "count", "switch", "words"
KINDS = {
    CHOICE: N_("one of these"),
    TEXT: N_("a text"),
    URL: N_("an address that begins with http:// or https://"),
    NUMBER: N_("a number greater than 0"),
    COUNT: N_("a whole number greater than 0"),
    SWITCH: N_("true or false"),
    WORDS: N_("words with spaces between them, in quotes where one holds a space itself"),
}
GROUPS = {
    "general": N_("General"),
    "limits": N_("Limits"),
    "local": N_("Local platform"),
    "watching": N_("Watching jobs"),
}
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True, slots=True)
class Known:
    """default: what holds where nothing is set, None where that is nothing. unit: of a number."""

    key: str
    group: str
    kind: str
    meaning: str
    default: Any = None
    choices: tuple[str, ...] = ()
    unit: str = ""


def _local(key: str, kind: str, default: Any, meaning: str, unit: str = "", choices: tuple[str, ...] = ()) -> Known:
    return Known(f"local.{key}", "local", kind, meaning, default, choices, unit)


KNOWN = (
    Known("language", "general", CHOICE, N_("the language of all texts; auto: the system's"), "auto",
          ("auto", *LANGUAGES)),
    Known("profile", "general", TEXT, N_("the profile that is used when none is named"), "local"),
    Known("tui.theme", "general", CHOICE, N_("colours of the app"), "dark", ("dark", "light", "ansi")),
    Known("tui.bell", "general", SWITCH, N_("ring the terminal's bell when a job ends"), True),
    Known("base_url", "general", URL, N_("address of the profile dashscope"),
          "https://dashscope.aliyuncs.com/api/v1"),
    Known("workspace_id", "general", TEXT, N_("id of the workspace on the service, where an account has several")),
    Known("log_level", "general", CHOICE, N_("how much the client tells on stderr"), None,
          ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")),
    Known("timeout_s", "limits", NUMBER, N_("limit of one request; without it 60, and 600 for slow ones"), 60,
          unit="s"),
    Known("upload_timeout_s", "limits", NUMBER, N_("limit of an upload that makes no progress"), None, unit="s"),
    Known("layer_timeout_s", "limits", NUMBER, N_("limit of building a layer of requirements"), None, unit="s"),
    Known("try.model", "general", TEXT, N_("model that answers a rollout that is tried on this machine")),
    Known("try.base_url", "general", URL, N_("address where that model answers")),
    Known("try.api_key_env", "general", TEXT, N_("variable with the key of that address"), "DASHSCOPE_API_KEY"),
    _local("max_running_jobs", COUNT, 1, N_("jobs that run at once; the others wait")),
    _local("policy", CHOICE, "practice", N_("what answers the rollouts"), choices=("practice", "endpoint")),
    _local("teacher", CHOICE, "practice", N_("what teaches in distillation"), choices=("practice", "endpoint")),
    _local("requirements", CHOICE, "check", N_("what becomes of a function's requirements"),
           choices=("check", "install", "ignore")),
    _local("endpoint.base_url", URL, None, N_("address of the endpoint policy")),
    _local("endpoint.model", TEXT, None, N_("model of the endpoint policy")),
    _local("endpoint.api_key_env", TEXT, None, N_("variable with the key of the endpoint")),
    _local("endpoint.timeout_s", NUMBER, 120, N_("limit of one call of the endpoint"), "s"),
    _local("endpoint.attempts", COUNT, 3, N_("how often a call of the endpoint is tried")),
    _local("endpoint.max_connections", COUNT, 64, N_("connections to the endpoint at once")),
    _local("idle_s", NUMBER, 300, N_("how long an unused function keeps its workers"), "s"),
    _local("max_waiting_calls", COUNT, 100, N_("calls of one function that may wait for a free worker")),
    _local("max_files", COUNT, 10_000, N_("uploaded files in all")),
    _local("max_file_bytes", COUNT, 4 << 30, N_("size of one uploaded file"), "bytes"),
    _local("max_total_bytes", COUNT, 64 << 30, N_("size of all uploaded files"), "bytes"),
    _local("max_package_bytes", COUNT, 200 << 20, N_("size of one function package"), "bytes"),
    _local("upload_url_s", NUMBER, 3600, N_("how long an upload address is valid"), "s"),
    _local("trace_days", NUMBER, 14, N_("how long traces are kept"), "days"),
    _local("max_trace_bytes", COUNT, 1 << 30, N_("size of all traces; the oldest go first"), "bytes"),
    _local("clock_factor", NUMBER, 1, N_("10 makes the platform's own waits ten times shorter")),
    Known("tui.jobs_columns", "watching", WORDS, N_("columns of the jobs, in their order")),
    Known("tui.low_bandwidth", "watching", SWITCH, N_("spare a slow line to the screen"), False),
    Known("notify.terminal", "watching", CHOICE, N_("notices by the terminal itself: OSC 9 or OSC 777"), "auto",
          ("auto", "9", "777", "off")),
    Known("notify.command", "watching", WORDS, N_("program that gets each notice as JSON on its stdin")),
    Known("notify.webhook", "watching", URL, N_("address that gets each notice as JSON")),
    Known("notify.timeout_s", "watching", NUMBER, N_("limit of the program and of the address"), 10, unit="s"),
    Known("notify.stall_factor", "watching", NUMBER, N_("a job has stalled after so many usual steps of silence"), 3),
    Known("notify.stall_floor_s", "watching", NUMBER, N_("silence that is never a stall"), 120, unit="s"),
)  # fmt: skip
_BY_KEY = {known.key: known for known in KNOWN}
PROFILE_FIELDS = {
    "base_url": Known("base_url", "profiles", URL, N_("address of the service")),
    "api_key": Known("api_key", "profiles", TEXT, N_("the key itself; a variable is the safer place")),
    "api_key_env": Known("api_key_env", "profiles", TEXT, N_("variable that holds the key"), "DASHSCOPE_API_KEY"),
    "workspace_id": Known("workspace_id", "profiles", TEXT, N_("id of the workspace on the service")),
}


def known(key: str) -> Known:
    """The setting of a dotted key, fields of profiles included. Raises ConfigError with the nearest names."""
    if key in _BY_KEY:
        return _BY_KEY[key]
    parts = key.split(".")
    if len(parts) == 3 and parts[0] == "profiles" and parts[1] and parts[2] in PROFILE_FIELDS:
        return PROFILE_FIELDS[parts[2]]
    from difflib import get_close_matches

    near = get_close_matches(key, _BY_KEY, n=3)
    advice = _("Did you mean {names}?").format(names=", ".join(near)) if near else ""
    raise ConfigError(
        _("there is no setting {name!r}").format(name=key), advice=advice or _("See `agentic-rl-tui config list`.")
    )


def parse(setting: Known, text: str) -> Any:
    """A value as it was typed, as TOML holds it. Raises ConfigError that says what would do."""
    given = text.strip()
    match setting.kind:
        case "choice" if (choice := _choice(setting, given)) is not None:
            return choice
        case "switch" if given.lower() in (*_TRUE, *_FALSE):
            return given.lower() in _TRUE
        case "count" if given.replace("_", "").isdecimal() and int(given) > 0:
            return int(given)
        case "number" if (number := _number(given)) is not None:
            return number
        case "url" if given.startswith(("http://", "https://")) and len(given.split()) == 1:
            return given.rstrip("/")
        case "words" if words := _words(given):
            return words
        case "text" if given and given.isprintable():
            return given
    raise ConfigError(_("{value!r} is no value of {key}").format(value=text, key=setting.key), advice=wanted(setting))


def _choice(setting: Known, given: str) -> str | None:
    """A choice by its own word in any case; a language by any of its names."""
    named = next((choice for choice in setting.choices if choice.lower() == given.lower()), None)
    return language_named(given) if named is None and setting.key == SETTING else named


def _words(text: str) -> list[str]:
    """What a shell would make of it; nothing where a quote stays open."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _number(text: str) -> int | float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not 0 < number < float("inf"):
        return None
    return int(number) if number.is_integer() and "." not in text and "e" not in text.lower() else number


def wanted(setting: Known) -> str:
    """One sentence about the values that do."""
    if setting.choices:
        return _("It takes one of {choices}.").format(choices=", ".join(setting.choices))
    return _("It takes {kind}.").format(kind=_(KINDS[setting.kind]))


def shown(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return shlex.join(map(str, value))
    return "" if value is None else str(value)


def in_force(setting: Known, values: Mapping[str, Any], origins: Mapping[str, str]) -> tuple[Any, str]:
    """The value that counts and where it comes from, "" where it is the default."""
    if setting.key in values:
        return values[setting.key], origins.get(setting.key, "")
    return setting.default, ""
