from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import emit, output_argument, write
from agentic_rl_tui.app.cli.run_arguments import dataset_arguments, function_arguments
from agentic_rl_tui.app.cli.values import path
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.sdk import AgenticRL
    from agentic_rl_tui.core.sdk.events import Event


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _("Give a job file, options, or both: what an option names wins over the file.")
    parser.add_argument("-c", "--config", type=path, metavar="FILE", help=_("the job file"))
    parser.add_argument("--model", metavar="NAME", help=_("train this model"))
    parser.add_argument("--teacher-model", metavar="NAME", help=_("distil from this teacher (OPD)"))
    dataset_arguments(parser)
    function_arguments(parser)
    parser.add_argument("--hyper-parameters", type=_object, metavar="JSON", help=_("values that win over the file's"))
    parser.add_argument("--job-name", metavar="NAME", help=_("name of the job; a unique ending is added"))
    parser.add_argument("--exact-name", action="store_true", help=_("send the name without the unique ending"))
    parser.add_argument("--force", action="store_true", help=_("send data files although they have errors"))
    parser.add_argument(
        "--dry-run", action="store_true", help=_("print the requests that would be sent, and send none")
    )
    parser.add_argument("-f", "--follow", action="store_true", help=_("stay and print the log until the job has ended"))
    parser.add_argument("-v", "--verbose", action="store_true", help=_("show the traceback of an unexpected error"))
    output_argument(parser)


def _object(text: str) -> dict[str, Any]:
    import json

    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        from agentic_rl_tui.app.cli.run_flags import no_json

        raise argparse.ArgumentTypeError(no_json(text, error)) from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(_('must be an object such as {"batch_size": 64}'))
    return value


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import with_client
    from agentic_rl_tui.app.cli.goes_on import told_on_interrupt
    from agentic_rl_tui.app.cli.logs import follow
    from agentic_rl_tui.core.models.errors import InputError

    if options.config is None and not (options.model and options.training_files):
        raise InputError(
            _("no job is named"), advice=_("Give --config FILE, or --model and --training-files with the functions.")
        )
    if options.dry_run:
        return _rehearse(options)

    async def work(client: AgenticRL) -> int:
        watch = _Watch()
        with told_on_interrupt(watch.words):
            job = await _submit(client, options, watch)
        if options.follow and options.output != "table":
            return await follow(client, job.job_id, form=options.output)
        _tell(job, options.output)
        return await follow(client, job.job_id) if options.follow else exits.OK

    return with_client(options, work)


class _Watch:
    """Narrates, and knows what an interrupt leaves behind."""

    def __init__(self) -> None:
        from agentic_rl_tui.app.cli.narrate import Narrator

        self._narrate = Narrator()
        self._job_id = ""
        self._is_sending = False

    def __call__(self, event: Event) -> None:
        from agentic_rl_tui.core.sdk.events import JobSubmitted, StepStarted

        if isinstance(event, JobSubmitted):
            self._job_id = event.job.job_id
        elif isinstance(event, StepStarted):
            self._is_sending = event.step == "submit"
        self._narrate(event)

    def words(self) -> str:
        from agentic_rl_tui.app.cli.goes_on import job_goes_on

        if self._job_id:
            return job_goes_on(self._job_id)
        if self._is_sending:
            return _("the job may have been submitted; run the same again: it is looked up by its name and adopted")
        return _("no job was submitted; functions that were registered stay and are used again next time")


async def _submit(client: AgenticRL, options: argparse.Namespace, on_event: Any) -> Job:
    """Kinds of functions and data sets that options name take the place of the file's; the others stay."""
    from agentic_rl_tui.app.cli.run_flags import datasets_of, functions_of

    client.init(options.config)
    given = functions_of(options)
    functions: Sequence[Any] | None = None
    if given:
        named = {component.type for component in given}
        functions = [*(part for part in client.plan.functions if part.type not in named), *given]
    data = {use: datasets_of(options, use, client.base) for use in ("training", "validation")}
    if any(data.values()):
        for use, sets in data.items():
            data[use] = sets or [part for part in client.plan.datasets if part.type == use]
    return await client.run(
        model=options.model,
        teacher_model=options.teacher_model,
        training_datasets=data["training"] or None,
        validation_datasets=data["validation"] or None,
        functions=functions,
        hyper_parameters=options.hyper_parameters,
        job_name=options.job_name,
        force=options.force,
        exact_name=options.exact_name,
        on_event=on_event,
    )


def _rehearse(options: argparse.Namespace) -> int:
    import asyncio

    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.app.cli.dry_run import rehearsal

    with rehearsal(settings_of(options), options.api_key) as (client, stage):

        async def work() -> None:
            async with client:
                await _submit(client, options, None)

        asyncio.run(work())
    if options.output != "table":
        emit({"requests": [planned.data() for planned in stage.requests]}, options.output)
    else:
        for planned in stage.requests:
            write(f"{planned.method} {plain(planned.url)}")
            write(planned.body) if isinstance(planned.body, str) else emit(planned.body, "json")
    print(_("dry run: nothing was sent"), file=sys.stderr)
    return exits.OK


def submit_and_follow(options: argparse.Namespace, job_file: Path) -> int:
    """The whole workflow of a job file, told on stdout and stderr; 0 only when the job SUCCEEDED."""
    from agentic_rl_tui.app.cli.connect import with_client
    from agentic_rl_tui.app.cli.goes_on import told_on_interrupt
    from agentic_rl_tui.app.cli.logs import follow

    async def work(client: AgenticRL) -> int:
        watch = _Watch()
        with told_on_interrupt(watch.words):
            job = await client.init(job_file).run(on_event=watch)
        return await follow(client, job.job_id, form=options.output)

    return with_client(options, work)


def _tell(job: Job, form: str) -> None:
    if form == "table":
        write(job.job_id)
    else:
        emit({"job_id": job.job_id, "job_name": job.job_name, "status": job.status}, form)
