"""Functions given on the command line, as the SDK takes them."""

from __future__ import annotations

import argparse

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.kinds import FunctionKind

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

    from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent


def classpath_arguments(parser: argparse.ArgumentParser) -> None:
    """The guide spells the rollout option both ways."""
    told = _("a {kind} class, pkg.mod.Class or path/file.py:Class; may be repeated")
    for kind, spellings in (
        ("rollout", ("--rollout-classpaths", "--rollout-classpath")),
        ("reward", ("--reward-classpaths", "--reward-classpath")),
        ("group_reward", ("--group-reward-classpaths", "--group-reward-classpath")),
    ):
        parser.add_argument(
            *spellings, dest=f"{kind}_classpaths", action="append", default=[], metavar="CLASSPATH",
            help=told.format(kind=kind.replace("_", " ")),
        )  # fmt: skip


def components_of(options: argparse.Namespace) -> list[AgenticRLFunctionComponent]:
    """One component a given class, rollouts first. Raises InputError when there is none."""
    from agentic_rl_tui.core.models.errors import InputError
    from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent, FunctionComponentModel

    found = [
        AgenticRLFunctionComponent(type=kind, fcmodel=FunctionComponentModel(classpath=classpath))
        for kind in FunctionKind
        for given in getattr(options, f"{kind.value}_classpaths")
        for classpath in split(given)
    ]
    if not found:
        raise InputError(
            _("no function is named"),
            advice=_("Give at least one of --rollout-classpaths, --reward-classpaths, --group-reward-classpaths."),
        )
    return found


def split(given: str) -> list[str]:
    """A repeated option may also hold several values, separated by commas."""
    return [part.strip() for part in given.split(",") if part.strip()]


def kind_named(text: str) -> FunctionKind:
    """A kind in any spelling: ROLLOUT, group-reward, GROUP_REWARD."""
    try:
        return FunctionKind(text.strip().lower().replace("-", "_"))
    except ValueError:
        known = ", ".join(kind.value for kind in FunctionKind)
        raise argparse.ArgumentTypeError(_("{text!r} is none of {known}").format(text=text, known=known)) from None


def registered_data(registered: Any) -> dict[str, list[str]]:
    data: dict[str, list[str]] = registered._asdict()
    return data
