import argparse

from agentic_rl_tui.app.cli import job_end
from agentic_rl_tui.core.i18n import _

arguments = job_end.arguments


def run(options: argparse.Namespace) -> int:
    return job_end.run(
        options,
        lambda client, job_id: client.delete(job_id),
        question=_("Delete {status} job {name} ({job_id}) with its log? It cannot be undone."),
        done=_("{job_id} is deleted"),
        fact={"deleted": True},
    )
