import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.components import split
from agentic_rl_tui.app.cli.output import emit, output_argument, table
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk import AgenticRL
    from agentic_rl_tui.core.sdk.upload import Uploaded


def arguments(parser: argparse.ArgumentParser) -> None:
    for use in ("training", "validation"):
        parser.add_argument(
            f"--{use}-files",
            action="append",
            default=[],
            metavar="FILE",
            help=_("a {use} data set; may be repeated").format(use=use),
        )
    parser.add_argument("--force", action="store_true", help=_("upload files although they have errors"))
    output_argument(parser, "json")


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import with_client
    from agentic_rl_tui.app.cli.goes_on import told_on_interrupt
    from agentic_rl_tui.app.cli.narrate import Narrator
    from agentic_rl_tui.core.models.errors import InputError

    training = [name for given in options.training_files for name in split(given)]
    validation = [name for given in options.validation_files for name in split(given)]
    if not training and not validation:
        raise InputError(
            _("no file is named"), advice=_("Give --training-files FILE, --validation-files FILE or both.")
        )

    async def upload(client: "AgenticRL") -> "Uploaded":
        with told_on_interrupt(lambda: _("files that arrived stay on the service")):
            return await client.upload_datasets(
                training_files=training, validation_files=validation, force=options.force, on_event=Narrator()
            )

    uploaded = with_client(options, upload)
    data = {
        "uploaded_training_ids": list(uploaded.training_ids),
        "uploaded_validation_ids": list(uploaded.validation_ids),
    }
    if options.output == "table":
        rows = zip(training + validation, [*uploaded.training_ids, *uploaded.validation_ids], strict=True)
        table((_("FILE"), _("ID")), list(rows))
    else:
        emit(data, options.output)
    return exits.OK
