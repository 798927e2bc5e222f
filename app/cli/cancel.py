import argparse

from agentic_rl_tui.app.cli import job_end
from agentic_rl_tui.core.i18n import _

arguments = job_end.arguments


def run(options: argparse.Namespace) -> int:
    return job_end.run(
        options,
        lambda client, job_id: client.cancel(job_id),
        question=_("Cancel {status} job {name} ({job_id})? What it used stays billed."),
        done=_("{job_id} is being cancelled"),
        fact={"status": "CANCELING"},
    )
