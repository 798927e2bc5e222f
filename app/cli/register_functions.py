import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.components import classpath_arguments, components_of, registered_data
from agentic_rl_tui.app.cli.output import emit, output_argument, table
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk import AgenticRL
    from agentic_rl_tui.core.sdk.register import Registered


def arguments(parser: argparse.ArgumentParser) -> None:
    classpath_arguments(parser)
    parser.add_argument(
        "--lazy-load", action=argparse.BooleanOptionalAction, default=True,
        help=_(
            "leave loading to the job; --no-lazy-load also starts an instance of each, for "
            "test_functions"
        ),
    )  # fmt: skip
    output_argument(parser, "json")


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import with_client
    from agentic_rl_tui.app.cli.goes_on import told_on_interrupt
    from agentic_rl_tui.app.cli.narrate import Narrator

    functions = components_of(options)

    async def register(client: "AgenticRL") -> "Registered":
        with told_on_interrupt(lambda: _("functions that were registered stay, and are found again next time")):
            return await client.register_functions(functions, lazy_load=options.lazy_load, on_event=Narrator())

    registered = with_client(options, register)
    data = registered_data(registered)
    if options.output == "table":
        table((_("WHAT"), _("ID")), [(name.removesuffix("s"), each) for name, ids in data.items() for each in ids])
    else:
        emit(data, options.output)
    return exits.OK
