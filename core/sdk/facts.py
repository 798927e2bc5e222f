"""What a job file's check may know of the workspace around it."""

from pathlib import Path

from agentic_rl_tui.core.functions.discovery import discover
from agentic_rl_tui.core.jobfile import DiskFacts


def facts_of(workspace: Path) -> DiskFacts:
    """Files, rows and classes of a workspace, found without importing user code."""
    return DiskFacts(workspace, discover(workspace).processors)
