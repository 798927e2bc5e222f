from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import answer, emit, facts, output_argument
from agentic_rl_tui.app.cli.values import path
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from agentic_rl_tui.core.paths import PlatformPaths
    from agentic_rl_tui.core.platform.archive import Manifest


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("status", "stop", "reset", "export", "import"))
    parser.add_argument("file", nargs="?", type=path, metavar="FILE", help=_("of export and import: the archive"))
    parser.add_argument("-y", "--yes", action="store_true", help=_("do not ask before a reset or a replacing import"))
    parser.add_argument(
        "--force",
        action="store_true",
        help=_("stop or reset although jobs are running; export over a file; import over a state"),
    )
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    import asyncio

    from agentic_rl_tui.app.cli.confirm import confirmed
    from agentic_rl_tui.core.launch import reset_platform, stop_platform
    from agentic_rl_tui.core.models.errors import ConfigError
    from agentic_rl_tui.core.paths import PlatformPaths

    paths = PlatformPaths.default()
    if (options.action in ("export", "import")) != (options.file is not None):
        raise ConfigError(_("export and import need a FILE, the other actions take none"))
    if options.action == "export":
        return _export(paths, options.file, options.output, force=options.force)
    if options.action == "import":
        return _import(paths, options.file, options.output, force=options.force, assume_yes=options.yes)
    if options.action == "status":
        return _status(paths, options.output)
    if options.action == "stop":
        stopped = asyncio.run(stop_platform(paths, force=options.force))
        told = _("the local platform is stopped") if stopped else _("the local platform was not running")
        answer(told, {"state": "stopped", "was_running": stopped, "root": str(paths.root)}, options.output)
        return exits.OK
    question = _("Remove every job, log, file and function of the local platform in {root}?").format(root=paths.root)
    if not confirmed(question, assume_yes=options.yes):
        return exits.REJECTED
    asyncio.run(reset_platform(paths, force=options.force))
    told = _("{root} is empty").format(root=paths.root)
    answer(told, {"state": "empty", "root": str(paths.root)}, options.output)
    return exits.OK


def _export(paths: PlatformPaths, target: Path, form: str, *, force: bool) -> int:
    from agentic_rl_tui.core.platform.archive import export_state

    held = export_state(paths, target, replace=force)
    _tell_held(target, held, form)
    print(_("keep it private: it holds the variables and tokens of your functions"), file=sys.stderr)
    return exits.OK


def _import(paths: PlatformPaths, source: Path, form: str, *, force: bool, assume_yes: bool) -> int:
    from agentic_rl_tui.app.cli.confirm import confirmed
    from agentic_rl_tui.core.platform.archive import import_state, is_empty

    question = _("Replace every job, log, file and function of the local platform in {root}?").format(root=paths.root)
    if force and not is_empty(paths) and not confirmed(question, assume_yes=assume_yes):
        return exits.REJECTED
    held = import_state(paths, source, force=force)
    _tell_held(paths.root, held, form)
    return exits.OK


def _tell_held(place: Path, held: Manifest, form: str) -> None:
    told = _("{place}: {jobs} jobs, {files} files, {entities} functions").format(
        place=place, jobs=held.jobs, files=held.files, entities=held.entities
    )
    data = {"path": str(place), "jobs": held.jobs, "files": held.files, "functions": held.entities}
    answer(told, data, form)


def _status(paths: PlatformPaths, form: str) -> int:
    import asyncio
    import dataclasses
    from datetime import datetime

    from agentic_rl_tui.core.launch import platform_status

    info = asyncio.run(platform_status(paths))
    state: dict[str, Any] = {"state": "running" if info else "stopped", "root": str(paths.root)}
    if info is not None:
        state |= {key: value for key, value in dataclasses.asdict(info).items() if value is not None}
    plain = {key: value if isinstance(value, int | float) else str(value) for key, value in state.items()}
    if form == "table":
        if info is not None and info.started_at is not None:
            plain["started_at"] = datetime.fromtimestamp(info.started_at).astimezone().isoformat(" ", "seconds")
        facts({key: str(value) for key, value in plain.items()})
    else:
        emit(plain, form)
    return exits.OK if info is not None else exits.UNREACHABLE
