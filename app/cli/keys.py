from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import emit, output_argument, table
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schema", action="store_true", help=_("print the JSON schema of the settings' [keys] table"))
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.app.keymap import check_keymap, effective, user_keys

    if options.schema:
        emit(_schema(), "json" if options.output == "table" else options.output)
        return exits.OK
    own = user_keys(settings_of(options).values)
    problems = check_keymap(own)
    rows = [(action, keys) for action, keys in effective(own)]
    if options.output == "table":
        shown = [
            (keys.replace(",", " "), action.id, _("yours") if action.id in own else "", _(action.help))
            for action, keys in rows
        ]
        table((_("KEYS"), _("ACTION"), _("FROM"), _("DOES")), shown)
        for problem in problems:
            print(f"✗ {problem}", file=sys.stderr)
    else:
        emit(
            {
                "keys": [
                    {"id": action.id, "keys": _several(keys), "is_yours": action.id in own, "help": action.help}
                    for action, keys in rows
                ],
                "problems": problems,
            },
            options.output,
        )
    return exits.REJECTED if problems else exits.OK


def _several(keys: str) -> list[str]:
    return [part.strip() for part in keys.split(",") if part.strip()]


def _schema() -> dict[str, Any]:
    from agentic_rl_tui.app.keymap import ACTIONS

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "keys",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            action.id: {"type": "string", "default": action.keys, "description": action.help} for action in ACTIONS
        },
    }
