from __future__ import annotations

import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import emit, output_argument, write
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk import AgenticRL


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id")
    parser.add_argument("-y", "--yes", action="store_true", help=_("do not ask"))
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.confirm import confirmed
    from agentic_rl_tui.app.cli.connect import with_client

    async def delete(client: AgenticRL) -> bool:
        job = await client.get(options.job_id)
        question = _("Delete {status} job {name} ({job_id}) with its log? It cannot be undone.").format(
            status=job.status.lower(), name=job.job_name or "", job_id=job.job_id
        )
        if not confirmed(question, assume_yes=options.yes):
            return False
        await client.delete(options.job_id)
        return True

    if not with_client(options, delete):
        return exits.REJECTED
    if options.output == "table":
        write(_("{job_id} is deleted").format(job_id=options.job_id))
    else:
        emit({"job_id": options.job_id, "deleted": True}, options.output)
    return exits.OK
