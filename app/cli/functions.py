"""Functions: what the workspace has, what is sent of it, what it does, and the instances a service runs of it."""

import argparse

from agentic_rl_tui.app.cli.output import output_argument
from agentic_rl_tui.app.cli.values import path
from agentic_rl_tui.core.i18n import _


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help=_("every processor class of the workspace, without importing it"))
    output_argument(listing)
    from agentic_rl_tui.app.cli import functions_remote, functions_test

    functions_test.arguments(actions.add_parser("test", help=_("run a function from a clean copy of its package")))
    package = actions.add_parser("package", help=_("show exactly what is sent, or write it"))
    package.add_argument("classpath", nargs="?", help=_("the function; without it, what all functions share"))
    package.add_argument("--write", type=path, metavar="FILE", help=_("write the archive to this file"))
    output_argument(package)
    functions_remote.arguments(actions)
    serve = actions.add_parser("serve", help=_("answer POST /api/v1 and GET /health like the function server"))
    serve.add_argument("classpath")
    serve.add_argument("--port", type=int, default=8000, help=_("0 takes a free one; default: 8000"))
    functions_test.requirements_argument(serve)
    output_argument(serve)
    serve.add_argument("--concurrency", type=int, default=8, metavar="N", help=_("calls at once; default: 8"))


def run(options: argparse.Namespace) -> int:
    if options.action == "test":
        from agentic_rl_tui.app.cli import functions_test

        return functions_test.run(options)
    if options.action in ("logs", "delete"):
        from agentic_rl_tui.app.cli import functions_remote

        return functions_remote.logs(options) if options.action == "logs" else functions_remote.delete(options)
    from agentic_rl_tui.app.cli import functions_local

    work = {"list": functions_local.listed, "package": functions_local.package, "serve": functions_local.served}
    return work[options.action](options)
