"""What `cancel` and `delete` share: look at the job, ask, do it, say so."""

from __future__ import annotations

import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import answer, output_argument
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from agentic_rl_tui.core.sdk import AgenticRL


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id")
    parser.add_argument("-y", "--yes", action="store_true", help=_("do not ask"))
    output_argument(parser)


def run(
    options: argparse.Namespace,
    do: Callable[[AgenticRL, str], Awaitable[object]],
    *,
    question: str,
    done: str,
    fact: dict[str, Any],
) -> int:
    """`question` has the places {status}, {name} and {job_id}, `done` has {job_id}; `fact` is what programs read."""
    from agentic_rl_tui.app.cli.confirm import confirmed
    from agentic_rl_tui.app.cli.connect import with_client

    job_id: str = options.job_id

    async def work(client: AgenticRL) -> bool:
        job = await client.get(job_id)
        asked = question.format(status=job.status.lower(), name=job.job_name or "", job_id=job.job_id)
        if not confirmed(asked, assume_yes=options.yes):
            return False
        await do(client, job_id)
        return True

    if not with_client(options, work):
        return exits.REJECTED
    answer(done.format(job_id=job_id), {"job_id": job_id, **fact}, options.output)
    return exits.OK
