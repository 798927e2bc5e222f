import argparse
import os

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import emit, output_argument, table, write
from agentic_rl_tui.core.i18n import _


def arguments(parser: argparse.ArgumentParser) -> None:
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from agentic_rl_tui.app.cli.connect import settings_of, with_client
    from agentic_rl_tui.app.cli.sights import (
        GLYPHS,
        WRONG,
        folders,
        key_and_endpoint,
        proxies,
        service,
        terminal,
        versions,
    )

    settings = settings_of(options)
    sights = [*versions(), *terminal(os.environ), *folders(settings), *proxies(os.environ)]
    key = key_and_endpoint(settings, options.api_key)
    sights += key
    if not any(sight.state == WRONG for sight in key):
        sights.append(service(with_client(options, lambda client: client.health())))
    if options.output == "table":
        table(("", _("WHAT"), _("FOUND")), [(GLYPHS[sight.state], sight.what, sight.found) for sight in sights])
        for sight in sights:
            if sight.advice:
                told = _("{what}: {detail}").format(what=sight.what, detail=sight.advice)
                write(f"{GLYPHS[sight.state]} {told}")
    else:
        emit([asdict(sight) for sight in sights], options.output)
    return exits.REJECTED if any(sight.state == WRONG for sight in sights) else exits.OK
