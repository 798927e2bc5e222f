import argparse
import asyncio
import dataclasses
from typing import Any

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.confirm import confirmed
from agentic_rl_tui.app.cli.output import emit, facts, output_argument, write
from agentic_rl_tui.core.launch import platform_status, reset_platform, stop_platform
from agentic_rl_tui.core.paths import PlatformPaths


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("status", "stop", "reset"))
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before a reset")
    parser.add_argument("--force", action="store_true", help="stop or reset although jobs are running")
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    paths = PlatformPaths.default()
    if options.action == "status":
        return _status(paths, options.output)
    if options.action == "stop":
        stopped = asyncio.run(stop_platform(paths, force=options.force))
        write("the local platform is stopped" if stopped else "the local platform was not running")
        return exits.OK
    question = f"Remove every job, log, file and function of the local platform in {paths.root}?"
    if not confirmed(question, assume_yes=options.yes):
        return exits.REJECTED
    asyncio.run(reset_platform(paths, force=options.force))
    write(f"{paths.root} is empty")
    return exits.OK


def _status(paths: PlatformPaths, form: str) -> int:
    info = asyncio.run(platform_status(paths))
    state: dict[str, Any] = {"state": "running" if info else "stopped", "root": str(paths.root)}
    if info is not None:
        state |= {key: value for key, value in dataclasses.asdict(info).items() if value is not None}
    plain = {key: value if isinstance(value, int | float) else str(value) for key, value in state.items()}
    if form == "table":
        facts({key: str(value) for key, value in plain.items()})
    else:
        emit(plain, form)
    return exits.OK if info is not None else exits.UNREACHABLE
