"""Instances of functions on the service: their logs, and their end."""

from __future__ import annotations

import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import emit, output_argument, write
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

    from agentic_rl_tui.core.sdk import AgenticRL


def arguments(actions: Any) -> None:
    logs_parser = actions.add_parser("logs", help=_("what an instance on the service wrote"))
    logs_parser.add_argument("instance_id", help=_("such as rw-ins-…"))
    logs_parser.add_argument("--lines", type=int, metavar="N", help=_("entries to print; default: all there are"))
    logs_parser.add_argument("--keyword", action="append", default=[], metavar="WORD", help=_("only entries with it"))
    output_argument(logs_parser)
    delete_parser = actions.add_parser("delete", help=_("stop and remove an instance on the service"))
    delete_parser.add_argument("instance_id")
    delete_parser.add_argument("-y", "--yes", action="store_true", help=_("do not ask"))
    output_argument(delete_parser)


def logs(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import with_client

    async def read(client: AgenticRL) -> int:
        collected: list[dict[str, Any]] = []
        async for entry in client.functions.iter_logs(options.instance_id, keywords=options.keyword):
            if options.lines is not None and len(collected) >= options.lines:
                break
            collected.append(entry.model_dump(mode="json", exclude_none=True))
            if options.output == "table":
                write(plain(entry.message))
        if options.output != "table":
            emit({"instance_id": options.instance_id, "entries": collected}, options.output)
        return exits.OK

    return with_client(options, read)


def delete(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.confirm import confirmed
    from agentic_rl_tui.app.cli.connect import with_client

    question = _("Stop and remove instance {instance}?").format(instance=options.instance_id)
    if not confirmed(question, assume_yes=options.yes):
        return exits.REJECTED
    with_client(options, lambda client: client.delete_function_instance(options.instance_id))
    if options.output == "table":
        write(_("{instance} is deleted").format(instance=options.instance_id))
    else:
        emit({"instance_id": options.instance_id, "deleted": True}, options.output)
    return exits.OK
