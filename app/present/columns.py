"""Columns with their titles in the language in force."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.columns import Column

T = TypeVar("T")


def titled(columns: Sequence[Column[T]]) -> tuple[Column[T], ...]:
    """The columns of a module-level table, to be handed to a `Table`."""
    return tuple(replace(column, title=_(column.title) if column.title else "") for column in columns)
