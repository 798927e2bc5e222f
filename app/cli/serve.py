from __future__ import annotations

import argparse

from agentic_rl_tui.app.cli.output import emit, output_argument
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, metavar="N", help=_("also listen on this TCP port of 127.0.0.1"))
    parser.add_argument("--token", metavar="TEXT", help=_("what TCP clients must send as their API key"))
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=_("TCP address; default: 127.0.0.1"))
    parser.add_argument("--allow-remote", action="store_true", help=_("allow an address that other machines can reach"))
    parser.add_argument("--root", metavar="DIR", help=_("state directory; default: the user's"))
    parser.add_argument("--max-running-jobs", type=int, metavar="N", help=_("jobs that run at once; default: 1"))
    parser.add_argument(
        "--fault",
        action="append",
        metavar="RULE",
        help=_("a fault on purpose, e.g. throttle@jobs:times=3; may be repeated"),
    )
    parser.add_argument("--seed", type=int, metavar="N", help=_("makes the chance of faults repeatable; default: 0"))
    parser.add_argument(
        "--clock-factor", type=float, metavar="F", help=_("10 makes the platform's own waits ten times shorter")
    )
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from agentic_rl_tui.core.paths import PlatformPaths
    from agentic_rl_tui.core.platform.__main__ import main

    given = ["--root", options.root or str(PlatformPaths.default().root), "--host", options.host]
    if options.port is not None:
        given += ["--port", str(options.port)]
    if options.token is not None:
        given += ["--token", options.token]
    if options.allow_remote:
        given.append("--allow-remote")
    for name in ("max_running_jobs", "seed", "clock_factor"):
        if getattr(options, name) is not None:
            given += [f"--{name.replace('_', '-')}={getattr(options, name)}"]
    given += [f"--fault={rule}" for rule in options.fault or ()]
    if options.output == "table":
        return main(given)

    def announce(state: dict[str, Any]) -> None:
        paths = PlatformPaths(Path(options.root).absolute()) if options.root else PlatformPaths.default()
        emit({**state, "socket": str(paths.socket), "root": str(paths.root)}, options.output)

    return main(given, on_ready=announce)
