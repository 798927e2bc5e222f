"""The job file: read with positions, checked as a whole, edited as text."""

from agentic_rl_tui.core.jobfile.completion import Completion, KeyDoc, complete, describe
from agentic_rl_tui.core.jobfile.diagnostics import (
    Diagnostic,
    Fix,
    Severity,
    TextEdit,
    apply_edits,
    apply_fix,
)
from agentic_rl_tui.core.jobfile.difference import KeyChange, diff
from agentic_rl_tui.core.jobfile.document import JobDocument, check, decode, load
from agentic_rl_tui.core.jobfile.edit import CannotEdit, Edits
from agentic_rl_tui.core.jobfile.facts import DiskFacts, WorkspaceFacts
from agentic_rl_tui.core.jobfile.fixes import fix_all
from agentic_rl_tui.core.jobfile.meaning import DatasetMeaning, FunctionMeaning, Meaning, meaning
from agentic_rl_tui.core.jobfile.model import (
    DatasetSpec,
    FcModel,
    FunctionSpec,
    JobFile,
    ModelSpec,
    MountStorage,
    TrainingSpec,
)
from agentic_rl_tui.core.jobfile.operations import (
    add_function,
    append_value,
    edits_between,
    remove_function,
    remove_value,
    set_value,
)
from agentic_rl_tui.core.jobfile.outline import OutlineItem, outline
from agentic_rl_tui.core.jobfile.presets import (
    PRESETS,
    Preset,
    PresetChange,
    PresetPlan,
    preset_edits,
    presets_for,
)
from agentic_rl_tui.core.jobfile.price import Price, UnitPrice, Unknown, estimate, load_prices
from agentic_rl_tui.core.jobfile.rules import RULES, Rule
from agentic_rl_tui.core.jobfile.scenario import SCENARIOS, Scenario, scenario_of
from agentic_rl_tui.core.jobfile.steps import StepCount
from agentic_rl_tui.core.jobfile.switch import switch_scenario

__all__ = [
    "PRESETS",
    "RULES",
    "SCENARIOS",
    "CannotEdit",
    "Completion",
    "DatasetMeaning",
    "DatasetSpec",
    "Diagnostic",
    "DiskFacts",
    "Edits",
    "FcModel",
    "Fix",
    "FunctionMeaning",
    "FunctionSpec",
    "JobDocument",
    "JobFile",
    "KeyChange",
    "KeyDoc",
    "Meaning",
    "ModelSpec",
    "MountStorage",
    "OutlineItem",
    "Preset",
    "PresetChange",
    "PresetPlan",
    "Price",
    "Rule",
    "Scenario",
    "Severity",
    "StepCount",
    "TextEdit",
    "TrainingSpec",
    "UnitPrice",
    "Unknown",
    "WorkspaceFacts",
    "add_function",
    "append_value",
    "apply_edits",
    "apply_fix",
    "check",
    "complete",
    "decode",
    "describe",
    "diff",
    "edits_between",
    "estimate",
    "fix_all",
    "load",
    "load_prices",
    "meaning",
    "outline",
    "preset_edits",
    "presets_for",
    "remove_function",
    "remove_value",
    "scenario_of",
    "set_value",
    "switch_scenario",
]
