import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.connect import with_client
from agentic_rl_tui.app.cli.logs import follow
from agentic_rl_tui.app.cli.narrate import Narrator
from agentic_rl_tui.app.cli.output import emit, output_argument, write
from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.core.sdk import AgenticRL


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-c", "--config", required=True, type=Path, metavar="FILE", help="the job file")
    parser.add_argument("--model", metavar="NAME", help="train this model instead of the file's")
    parser.add_argument("--teacher-model", metavar="NAME", help="distil from this teacher (OPD)")
    parser.add_argument("--hyper-parameters", type=_object, metavar="JSON", help="values that win over the file's")
    parser.add_argument("--job-name", metavar="NAME", help="name of the job; a unique ending is added")
    parser.add_argument("-f", "--follow", action="store_true", help="stay and print the log until the job has ended")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the traceback of an unexpected error")
    output_argument(parser)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('must be an object such as {"batch_size": 64}')
    return value


def run(options: argparse.Namespace) -> int:
    overrides = {
        "model": options.model,
        "teacher_model": options.teacher_model,
        "hyper_parameters": options.hyper_parameters,
        "job_name": options.job_name,
    }
    given = {key: value for key, value in overrides.items() if value is not None}

    async def work(client: AgenticRL) -> int:
        job = await client.init(options.config, **given).run(on_event=Narrator())
        _tell(job, options.output)
        return await _follow_to_the_end(client, job) if options.follow else exits.OK

    return with_client(options, work)


def submit_and_follow(options: argparse.Namespace, job_file: Path) -> int:
    """The whole workflow of a job file, told on stdout and stderr; 0 only when the job SUCCEEDED."""

    async def work(client: AgenticRL) -> int:
        job = await client.init(job_file).run(on_event=Narrator())
        return await _follow_to_the_end(client, job)

    return with_client(options, work)


async def _follow_to_the_end(client: AgenticRL, job: Job) -> int:
    try:
        return await follow(client, job.job_id)
    except asyncio.CancelledError:
        print(
            f"\njob {job.job_id} goes on; watch it with: agentic-rl-tui logs {job.job_id} --follow",
            file=sys.stderr,
        )
        raise


def _tell(job: Job, form: str) -> None:
    if form == "table":
        write(job.job_id)
    else:
        emit({"job_id": job.job_id, "job_name": job.job_name, "status": job.status}, form)
