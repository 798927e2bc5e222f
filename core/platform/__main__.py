"""``python -m agentic_rl_tui.core.platform``: run a local platform in the foreground."""

import argparse
import ipaddress
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentic_rl_tui.core import settings
from agentic_rl_tui.core.i18n import set_language
from agentic_rl_tui.core.models.errors import ArlError, ConfigError
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.paths import PlatformPaths
from agentic_rl_tui.core.platform import server
from agentic_rl_tui.core.platform.options import Listening

TOKEN_VARIABLE = "AGENTIC_RL_PLATFORM_TOKEN"

EXIT_REFUSED = 1
EXIT_USAGE = 2


def main(
    argv: Sequence[str] | None = None,
    *,
    prog: str = "agentic-rl-tui serve",
    on_ready: Callable[[dict[str, Any]], None] | None = None,
) -> int:
    """Run a platform until it is told to stop; the exit code. on_ready gets where it answers, once it does.

    0 stopped in good order, 1 refused (another platform, unusable state directory or port), 2 wrong usage.
    """
    arguments = _parser(prog).parse_args(argv)
    # What a service says is part of its protocol: logs and answers are English whoever started it.
    set_language("en")
    try:
        listening = _listening(arguments)
        paths = PlatformPaths(arguments.root.absolute()) if arguments.root else PlatformPaths.default()
        flags = {
            "local.max_running_jobs": arguments.max_running_jobs,
            "local.faults.rules": arguments.fault,
            "local.faults.seed": arguments.seed,
            "local.clock_factor": arguments.clock_factor,
        }
        merged = settings.load(profile="local", flags=flags)
        server.run(paths, merged, listening, on_ready)
    except ConfigError as error:
        return _refuse(error, EXIT_USAGE)
    except ArlError as error:
        return _refuse(error, EXIT_REFUSED)
    return 0


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog, description="Run the local platform in the foreground, at a unix socket and, with --port, over TCP."
    )
    parser.add_argument("--root", type=Path, help="state directory (default: the user's)")
    parser.add_argument("--port", type=int, help="also listen on TCP, 0 takes a free port")
    parser.add_argument("--host", default="127.0.0.1", help="address for --port (default: %(default)s)")
    parser.add_argument(
        "--token", help=f"what TCP clients give as API key (default: ${TOKEN_VARIABLE}, or a new one that is shown)"
    )
    parser.add_argument("--allow-remote", action="store_true", help="let --host be an address of other machines")
    parser.add_argument(
        "--fault", action="append", metavar="RULE", help="a fault on purpose, e.g. throttle@jobs:times=3"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="makes the chance of faults repeatable (default: 0)")
    parser.add_argument("--max-running-jobs", type=int, metavar="N", help="jobs that run at once (default: 1)")
    parser.add_argument(
        "--clock-factor", type=float, metavar="F", help="10 makes the platform's own waits ten times shorter"
    )
    return parser


def _listening(arguments: argparse.Namespace) -> Listening | None:
    if arguments.port is None:
        if arguments.token is not None or arguments.allow_remote or arguments.host != "127.0.0.1":
            raise ConfigError("--token, --host and --allow-remote need --port")
        return None
    if not 0 <= arguments.port <= 65535:
        raise ConfigError(f"{arguments.port} is no port; it lies between 0 and 65535")
    if not _is_loopback(arguments.host) and not arguments.allow_remote:
        raise ConfigError(
            f"{arguments.host} can be reached from other machines",
            advice="Use 127.0.0.1 with an SSH tunnel, or say --allow-remote if you mean it.",
        )
    token = arguments.token or os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        token = f"tok-{secrets.token_hex(16)}"
        print(f"token: {token}", file=sys.stderr, flush=True)
    if any(char.isspace() for char in token) or not token.isascii():
        raise ConfigError("the token may hold neither spaces nor characters outside ASCII")
    redact.add(token)
    return Listening(arguments.host, arguments.port, token)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse(error: ArlError, code: int) -> int:
    print(f"agentic-rl-tui: {error.message}", file=sys.stderr)
    if error.advice:
        print(error.advice, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
