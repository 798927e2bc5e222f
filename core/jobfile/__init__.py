"""The job file: read with positions, checked as a whole, edited as text."""

from agentic_rl_tui.core.jobfile.diagnostics import (
    Diagnostic,
    Fix,
    Severity,
    TextEdit,
    apply_edits,
    apply_fix,
)
from agentic_rl_tui.core.jobfile.document import JobDocument, check, load
from agentic_rl_tui.core.jobfile.facts import DiskFacts, WorkspaceFacts
from agentic_rl_tui.core.jobfile.model import (
    DatasetSpec,
    FcModel,
    FunctionSpec,
    JobFile,
    ModelSpec,
    TrainingSpec,
)

__all__ = [
    "DatasetSpec",
    "Diagnostic",
    "DiskFacts",
    "FcModel",
    "Fix",
    "FunctionSpec",
    "JobDocument",
    "JobFile",
    "ModelSpec",
    "Severity",
    "TextEdit",
    "TrainingSpec",
    "WorkspaceFacts",
    "apply_edits",
    "apply_fix",
    "check",
    "load",
]
