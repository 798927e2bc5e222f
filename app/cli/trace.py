from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.connect import with_client
from agentic_rl_tui.app.cli.output import emit, facts, output_argument, table, write
from agentic_rl_tui.core.i18n import _, ngettext, pgettext
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

    from agentic_rl_tui.core.sdk import AgenticRL
    from agentic_rl_tui.core.tracing.model import Run, Span

_ACTIONS = ("list", "show", "export", "import")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=_ACTIONS)
    parser.add_argument(
        "what", nargs="*", metavar="ID|FILE", help=_("ids of runs or traces to show or export, a file to import")
    )
    parser.add_argument("--job", metavar="ID", help=_("only runs of this job"))
    parser.add_argument("--rollout", metavar="ID", help=_("only runs of this rollout"))
    parser.add_argument(
        "--text", default="", metavar="WORDS", help=_("only runs whose ids, function or end hold these")
    )
    parser.add_argument("--errors", action="store_true", help=_("only runs with an error"))
    parser.add_argument("--incomplete", action="store_true", help=_("only runs whose calls did not all give spans"))
    parser.add_argument("--limit", type=int, default=50, metavar="N", help=_("runs to list or export; default: 50"))
    parser.add_argument("--file", metavar="FILE", help=_("where to export to; default: stdout"))
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    if options.action == "show" and len(options.what) != 1:
        print(_("give the id of one run or trace to show"), file=sys.stderr)
        return exits.USAGE
    if options.action == "import" and not options.what:
        print(_("give a file to import"), file=sys.stderr)
        return exits.USAGE
    work = {"list": _list, "show": _show, "export": _export, "import": _import}[options.action]
    return with_client(options, lambda client: work(client, options))


def _headings() -> tuple[str, ...]:
    return (
        _("RUN"), _("WHEN"), _("FUNCTION"), _("ROLLOUT"), pgettext("of a run", "ENDED"), _("SECONDS"), "LLM",
        _("TOOLS"), _("TOKENS"), _("ERRORS"),
    )  # fmt: skip


def _query(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "job_id": options.job,
        "rollout_id": options.rollout,
        "text": options.text,
        "errors": int(options.errors),
        "incomplete": int(options.incomplete),
        "limit": options.limit,
    }


async def _list(client: AgenticRL, options: argparse.Namespace) -> int:
    from agentic_rl_tui.core.sdk.traces import list_traces

    runs, total = await list_traces(client.transport, **_query(options))
    if options.output != "table":
        emit({"total": total, "runs": [run.record() for run in runs]}, options.output)
        return exits.OK
    table(_headings(), [_row(run) for run in runs])
    if len(runs) < total:
        told = ngettext(
            "{shown} of {count} run; --limit shows more", "{shown} of {count} runs; --limit shows more", total
        )
        print(told.format(shown=len(runs), count=total), file=sys.stderr)
    return exits.OK


def _row(run: Run) -> tuple[str, ...]:
    from datetime import datetime

    moment = datetime.fromtimestamp(run.started_ns / 1e9).astimezone()
    return (
        run.run_id or run.trace_id,
        f"{moment:%Y-%m-%d %H:%M:%S}",
        run.function,
        run.rollout_id or "-",
        run.status,
        f"{run.duration_s:.3f}",
        str(run.completeness.llm),
        str(run.completeness.tools),
        str(run.tokens_in + run.tokens_out),
        str(run.errors),
    )


async def _show(client: AgenticRL, options: argparse.Namespace) -> int:
    from agentic_rl_tui.core.sdk.traces import read_trace
    from agentic_rl_tui.core.tracing.tree import depth_first

    run, spans = await read_trace(client.transport, options.what[0])
    if options.output != "table":
        emit({"run": run.record(), "spans": [span.record() for span in spans]}, options.output)
        return exits.OK
    known = {key: value for key, value in run.record().items() if key not in ("completeness", "started_ns")}
    facts({**known, "completeness": run.completeness.text})
    write("")
    for depth, span in depth_first(spans):
        write(_line(depth, span, run.started_ns))
    return exits.OK


def _line(depth: int, span: Span, begin_ns: int) -> str:
    offset_s = (span.start_ns - begin_ns) / 1e9
    error = f"  {plain(span.message, keep_newlines=False)}" if span.is_error else ""
    name = plain(span.name, keep_newlines=False)
    return f"{offset_s:9.3f} s {span.duration_s:9.3f} s  {'  ' * depth}{name}{error}"


async def _export(client: AgenticRL, options: argparse.Namespace) -> int:
    from pathlib import Path

    from agentic_rl_tui.core.models.errors import InputError
    from agentic_rl_tui.core.sdk.traces import export_traces

    content = await export_traces(client.transport, options.what, **({} if options.what else _query(options)))
    if options.file is None:
        write(content.decode())
    else:
        try:
            Path(options.file).write_bytes(content)
        except OSError as error:
            raise InputError(
                _("{file} cannot be written: {reason}").format(file=options.file, reason=error.strerror or error)
            ) from error
        told = ngettext("wrote {count} byte to {file}", "wrote {count} bytes to {file}", len(content))
        print(told.format(count=len(content), file=options.file), file=sys.stderr)
    return exits.OK


async def _import(client: AgenticRL, options: argparse.Namespace) -> int:
    from pathlib import Path

    from agentic_rl_tui.core.models.errors import InputError
    from agentic_rl_tui.core.sdk.traces import import_traces

    for name in options.what:
        try:
            content = Path(name).read_bytes()
        except OSError as error:
            raise InputError(
                _("{file} cannot be read: {reason}").format(file=name, reason=error.strerror or error)
            ) from error
        for run_id in await import_traces(client.transport, content):
            write(run_id)
    return exits.OK
