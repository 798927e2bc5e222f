"""Data sets: JSONL files of chat rows, checked, measured, compared, repaired and read.

Names are resolved on first use, so that a checking process loads only what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_rl_tui.core.datasets.check import check_file as check_file
    from agentic_rl_tui.core.datasets.check import statistics as statistics
    from agentic_rl_tui.core.datasets.fixes import Fix as Fix
    from agentic_rl_tui.core.datasets.fixes import apply as apply
    from agentic_rl_tui.core.datasets.fixes import plan_fixes as plan_fixes
    from agentic_rl_tui.core.datasets.fixes import preview as preview
    from agentic_rl_tui.core.datasets.leaks import Leak as Leak
    from agentic_rl_tui.core.datasets.leaks import LeakReport as LeakReport
    from agentic_rl_tui.core.datasets.leaks import find_leaks as find_leaks
    from agentic_rl_tui.core.datasets.report import Bucket as Bucket
    from agentic_rl_tui.core.datasets.report import CheckCanceled as CheckCanceled
    from agentic_rl_tui.core.datasets.report import DatasetReport as DatasetReport
    from agentic_rl_tui.core.datasets.report import DatasetStats as DatasetStats
    from agentic_rl_tui.core.datasets.report import Histogram as Histogram
    from agentic_rl_tui.core.datasets.report import LongRow as LongRow
    from agentic_rl_tui.core.datasets.report import RowProblem as RowProblem
    from agentic_rl_tui.core.datasets.report import Severity as Severity
    from agentic_rl_tui.core.datasets.rows import RowIndex as RowIndex
    from agentic_rl_tui.core.datasets.rows import open_rows as open_rows
    from agentic_rl_tui.core.datasets.turns import Conversation as Conversation
    from agentic_rl_tui.core.datasets.turns import ToolCall as ToolCall
    from agentic_rl_tui.core.datasets.turns import Turn as Turn
    from agentic_rl_tui.core.datasets.turns import conversation as conversation

_HOMES = {
    "check": ("check_file", "statistics"),
    "turns": ("Conversation", "ToolCall", "Turn", "conversation"),
    "fixes": ("Fix", "apply", "plan_fixes", "preview"),
    "leaks": ("Leak", "LeakReport", "find_leaks"),
    "report": (
        "Bucket",
        "CheckCanceled",
        "DatasetReport",
        "DatasetStats",
        "Histogram",
        "LongRow",
        "RowProblem",
        "Severity",
    ),
    "rows": ("RowIndex", "open_rows"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
