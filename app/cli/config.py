"""Reading and changing settings: the same table and the same file as the settings screen."""

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import answer, emit, output_argument, table, write
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

    from agentic_rl_tui.core.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help=_("every setting with its value and where it comes from"))
    output_argument(listing)
    getting = actions.add_parser("get", help=_("print the value of one setting"))
    getting.add_argument("key", help=_("such as tui.theme or profiles.mine.base_url"))
    output_argument(getting)
    setting = actions.add_parser("set", help=_("write one setting into your file; the rest of it stays as it is"))
    setting.add_argument("key", help=_("such as tui.theme or profiles.mine.base_url"))
    setting.add_argument("value", help=_("the new value; - reads it from stdin, as is wise for a key"))
    output_argument(setting)
    unsetting = actions.add_parser("unset", help=_("take one setting out of your file"))
    unsetting.add_argument("key")
    output_argument(unsetting)
    where = actions.add_parser("path", help=_("print where the files are that settings come from"))
    output_argument(where)


def run(options: argparse.Namespace) -> int:
    return {"list": _list, "get": _get, "set": _set, "unset": _set, "path": _path}[options.action](options)


def _list(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.core.known import KNOWN, in_force, shown

    settings = settings_of(options)
    rows = []
    for known in KNOWN:
        value, origin = in_force(known, settings.values, settings.origins)
        rows.append((known, value, origin))
    unknown = [key for key in settings.values if key not in {known.key for known in KNOWN} and not _is_free(key)]
    if options.output == "table":
        table(
            (_("SETTING"), _("VALUE"), _("FROM"), _("MEANS")),
            [
                (known.key, shown(value), origin or _("default"), _(known.meaning))
                for known, value, origin in rows
            ],
        )  # fmt: skip
        for key in unknown:
            told = _("{origin}: there is no setting {name!r}").format(origin=settings.origins.get(key, ""), name=key)
            print(f"! {told}", file=sys.stderr)
        return exits.OK
    emit(
        {
            "settings": [
                {"key": known.key, "value": value, "default": known.default, "origin": origin or "default",
                 "kind": known.kind, "choices": list(known.choices), "unit": known.unit, "meaning": _(known.meaning)}
                for known, value, origin in rows
            ],
            "profiles": _profiles(settings),
            "unknown": unknown,
        },
        options.output,
    )  # fmt: skip
    return exits.OK


def _is_free(key: str) -> bool:
    """Tables whose names are not fixed, and those that screens write themselves."""
    return key.startswith(("keys.", "local.faults.", "tui.", "local.endpoint.")) or key == "trajectory"


def _profiles(settings: "Settings") -> "list[dict[str, Any]]":
    return [
        {
            "name": name,
            "base_url": profile.base_url,
            "origin": profile.origin,
            "workspace_id": profile.workspace_id,
            "api_key_env": None if profile.is_local else profile.api_key_env,
            "stored_key": str(profile.stored_key) if profile.stored_key else None,
            "is_in_use": name == settings.profile_name,
        }
        for name, profile in settings.profiles.items()
    ]


def _get(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.core.known import in_force, known, shown
    from agentic_rl_tui.core.models.redact import mask

    setting = known(options.key)
    settings = settings_of(options)
    if options.key.startswith("profiles."):
        profile = settings.profiles.get(options.key.split(".")[1])
        secret = profile.stored_key if profile is not None else None
        value: Any = getattr(profile, setting.key, None) if setting.key != "api_key" else secret
        value, origin = None if value is None else str(value), profile.origin if profile is not None else ""
    else:
        value, origin = in_force(setting, settings.values, settings.origins)
    if options.key.endswith("api_key") and value and "•" not in value:
        value = mask(value)
    if options.output == "table":
        write(shown(value))
    else:
        emit({"key": options.key, "value": value, "origin": origin or "default"}, options.output)
    return exits.OK if value is not None else exits.REJECTED


def _set(options: argparse.Namespace) -> int:
    from agentic_rl_tui.core.known import known, parse, shown
    from agentic_rl_tui.core.models.redact import mask, redact
    from agentic_rl_tui.core.preferences import prefer

    setting = known(options.key)
    value = None
    if options.action == "set":
        given = sys.stdin.readline() if options.value == "-" else options.value
        if setting.key == "api_key":
            redact.add(given.strip())
        value = parse(setting, given)
    path = prefer(options.key, value)
    if setting.key == "api_key" and value is not None:
        value = mask(value)
    told = (
        _("{path}: {key} is {value}").format(path=path, key=options.key, value=shown(value))
        if options.action == "set"
        else _("{path}: {key} is not set any more").format(path=path, key=options.key)
    )
    answer(told, {"key": options.key, "value": value, "path": str(path)}, options.output)
    return exits.OK


def _path(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.dispatch import workspace_of
    from agentic_rl_tui.core.sources import WORKSPACE_FILE, user_file

    own, other = user_file(), str(workspace_of(options) / WORKSPACE_FILE)
    answer(f"{own}\n{other}", {"user": own, "workspace": other}, options.output)
    return exits.OK
