import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.components import kind_named
from agentic_rl_tui.app.cli.output import emit, facts, output_argument
from agentic_rl_tui.core.i18n import _


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("instance_id", help=_("such as rw-ins-…, from register_functions --no-lazy-load"))
    parser.add_argument("-t", "--type", required=True, type=kind_named, metavar="KIND", help=_("rollout, reward, …"))
    parser.add_argument("-i", "--input", required=True, metavar="JSON", help=_("the input: JSON text, or a JSON file"))
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help=_("limit of the call"))
    output_argument(parser, "json")


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import with_client

    answer = with_client(
        options,
        lambda client: client.test_functions(
            options.instance_id, options.type, options.input, timeout_s=options.timeout
        ),
    )
    data = dict(answer)
    if options.output == "table":
        facts(data)
    else:
        emit(data, options.output)
    return exits.OK if answer.is_ok else exits.REJECTED
