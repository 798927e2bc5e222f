"""The options by which a job is given without a job file. Reading them is elsewhere, to keep `--help` quick."""

import argparse

from agentic_rl_tui.app.cli.components import classpath_arguments
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.kinds import FunctionKind

PLURAL = {FunctionKind.ROLLOUT: "", FunctionKind.REWARD: "s", FunctionKind.GROUP_REWARD: "s"}


def function_arguments(parser: argparse.ArgumentParser) -> None:
    classpath_arguments(parser)
    for kind in FunctionKind:
        words, s = kind.value.replace("_", " "), PLURAL[kind]
        option = kind.value.replace("_", "-")
        parser.add_argument(
            f"--{option}-name{s}", dest=f"{kind.value}_names", action="append", default=[], metavar="NAME",
            help=_("name of each {words}; without a classpath, ids of registered ones").format(words=words),
        )  # fmt: skip
        parser.add_argument(
            f"--{option}-weight{s}", dest=f"{kind.value}_weights", action="append", default=[], metavar="NUMBER",
            help=_("weight of each {words}").format(words=words),
        )  # fmt: skip
        parser.add_argument(
            f"--{option}-runtime{s}", dest=f"{kind.value}_runtimes", metavar="JSON",
            help=_("resources of each {words}: an object, or a list of one each").format(words=words),
        )  # fmt: skip
    parser.add_argument("--reward-metric-weights", metavar="JSON", help=_("weights of sub-rewards, an object a reward"))


def dataset_arguments(parser: argparse.ArgumentParser) -> None:
    for use in ("training", "validation"):
        parser.add_argument(
            f"--{use}-files",
            action="append",
            default=[],
            metavar="FILE",
            help=_("a {use} data set; may be repeated").format(use=use),
        )
