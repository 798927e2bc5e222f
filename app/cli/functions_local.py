"""What the workspace's functions are, what is sent of them, and answering for one."""

import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.dispatch import workspace_of
from agentic_rl_tui.app.cli.output import answer, emit, table, write
from agentic_rl_tui.app.cli.source_problems import problem_data, tell_problems
from agentic_rl_tui.core.functions.discovery import Discovery, discover
from agentic_rl_tui.core.functions.package import plan
from agentic_rl_tui.core.functions.package import write as write_package
from agentic_rl_tui.core.functions.problems import Severity
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.processors import ProcessorInfo


def found_class(discovery: Discovery, text: str) -> ProcessorInfo:
    """Raises InputError with what may have been meant."""
    resolution = discovery.resolve(text)
    if resolution.info is None:
        near = (
            _("Did you mean {names}?").format(names=_(" or ").join(resolution.suggestions))
            if resolution.suggestions
            else ""
        )
        raise InputError(resolution.message, advice=near, number=4041)
    return resolution.info


def listed(options: argparse.Namespace) -> int:
    discovery = discover(workspace_of(options))
    if options.output == "table":
        rows = [(info.kind.value, info.classpath.colon, str(info.line), _traits(info)) for info in discovery.processors]
        table((_("KIND"), _("CLASS"), _("LINE"), _("TRAITS")), rows)
        tell_problems(discovery.problems)
    else:
        emit(
            {
                "processors": [_processor_data(info) for info in discovery.processors],
                "problems": [problem_data(problem) for problem in discovery.problems],
            },
            options.output,
        )
    return _verdict(discovery.problems)


def _traits(info: ProcessorInfo) -> str:
    subs = [f"{sub.name}×{'?' if sub.weight is None else f'{sub.weight:g}'}" for sub in info.sub_rewards]
    words = ["async" if info.is_async else "sync", "setup" if info.has_setup else "", *subs]
    return " ".join(word for word in words if word)


def _processor_data(info: ProcessorInfo) -> dict[str, object]:
    return {
        "kind": info.kind.value,
        "class": info.class_name,
        "path": info.path,
        "line": info.line,
        "classpath": info.classpath.dotted,
        "is_async": info.is_async,
        "has_setup": info.has_setup,
        "sub_rewards": [
            {"name": sub.name, "method": sub.method, "weight": sub.weight, "is_async": sub.is_async, "line": sub.line}
            for sub in info.sub_rewards
        ],
        "has_aggregate": info.has_aggregate,
        "docstring": info.docstring,
    }


def _verdict(problems: tuple[object, ...]) -> int:
    has_errors = any(getattr(problem, "severity", None) is Severity.ERROR for problem in problems)
    return exits.REJECTED if has_errors else exits.OK


def package(options: argparse.Namespace) -> int:
    workspace = workspace_of(options)
    discovery = discover(workspace)
    if options.classpath:
        info = found_class(discovery, options.classpath)
        planned = plan(workspace, kind=info.kind, classpath=info.classpath, discovery=discovery)
    else:
        every = [(info.kind, info.classpath) for info in discovery.processors]
        planned = plan(workspace, functions=every, discovery=discovery)
    if options.output == "table":
        table(
            ("", _("BYTES"), _("FILE"), _("WHY")),
            [("+", str(entry.size), entry.path, entry.reason) for entry in planned.all_entries]
            + [("-", "", left.path, left.reason) for left in planned.left_out],
        )
        write(
            _("{count} files, {total_bytes:,} bytes, hash {content_hash}").format(
                count=len(planned.all_entries), total_bytes=planned.total_bytes, content_hash=planned.content_hash
            )
        )
        tell_problems(planned.problems)
    else:
        emit(
            {
                "files": [
                    {"path": entry.path, "bytes": entry.size, "reason": entry.reason} for entry in planned.all_entries
                ],
                "left_out": [{"path": left.path, "reason": left.reason} for left in planned.left_out],
                "problems": [problem_data(problem) for problem in planned.problems],
                "total_bytes": planned.total_bytes,
                "content_hash": planned.content_hash,
                "archive_hash": planned.archive_hash,
            },
            options.output,
        )
    if options.write is not None:
        made = write_package(planned, options.write.absolute())
        tell_problems((), note=_("wrote {path}, {bytes:,} bytes").format(path=made.path, bytes=made.bytes))
    return _verdict(planned.problems)


def served(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.functions_test import policy
    from agentic_rl_tui.core.functions.harness import TrialOptions, open_trial
    from agentic_rl_tui.core.functions.output import OutputLine
    from agentic_rl_tui.core.functions.server import run, serve

    def tell(line: OutputLine) -> None:
        tell_problems((), note=f"{line.stream}: {line.text}")

    def ready(url: str, function: str) -> None:
        told = _("{url}/api/v1 answers for {function}; ctrl+c stops it").format(url=url, function=function)
        data = {"url": f"{url}/api/v1", "health": f"{url}/health", "function": function}
        answer(told, data, options.output)

    async def session() -> None:
        trial_options = TrialOptions(
            concurrency=max(1, options.concurrency),
            requirements_policy=policy(options),
            on_requirements=lambda line: tell_problems((), note=line),
        )
        async with open_trial(workspace_of(options), options.classpath, options=trial_options, on_output=tell) as trial:
            await serve(
                trial.pool,
                port=options.port,
                on_ready=lambda url: ready(url, trial.info.classpath.colon),
            )

    try:
        run(session())
    except OSError as error:
        raise InputError(
            _("port {port} cannot be used: {strerror}").format(port=options.port, strerror=error.strerror),
            advice=_("Give another --port."),
        ) from error
    return exits.OK
