"""Settings that are known to work, each with its reason, applied as a diff."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.jobfile.blocks import fitting_batch
from agentic_rl_tui.core.jobfile.catalog import is_moe
from agentic_rl_tui.core.jobfile.document import JobDocument
from agentic_rl_tui.core.jobfile.edit import CannotEdit, Edits
from agentic_rl_tui.core.jobfile.operations import apply_all, edits_between
from agentic_rl_tui.core.jobfile.steps import steps_of
from agentic_rl_tui.core.jobfile.tree import Path

_HYPER: Path = ("training", "hyper_parameters")


@dataclass(frozen=True, slots=True)
class Preset:
    """values maps hyper-parameters to (value, reason)."""

    name: str
    summary: str
    is_opd: bool
    values: Mapping[str, tuple[Any, str]]


@dataclass(frozen=True, slots=True)
class PresetChange:
    """One hyper-parameter that a preset changes. old is None where the file does not set it."""

    key: str
    old: Any
    new: Any
    reason: str


@dataclass(frozen=True, slots=True)
class PresetPlan:
    preset: Preset
    changes: tuple[PresetChange, ...]
    edits: Edits
    text: str


_QUICK = Preset(
    N_("quick check"),
    N_("One epoch with small batches: shows within minutes whether functions, data and rewards work together."),
    False,
    {
        "algorithm": ("gspo", N_("the service's default; works on whole answers")),
        "kl_loss_coef": (0.002, N_("holds the policy a little tighter while little is known")),
        "learning_rate": (2e-6, N_("careful: a check needs no fast progress")),
        "lr_scheduler_type": ("linear", N_("simple, and enough for one epoch")),
        "lr_warmup_steps": (-1, N_("the service chooses")),
        "n_epochs": (1, N_("one pass shows whether everything runs")),
        "batch_size": (64, N_("many steps from few rows, so that the curve has points")),
        "n_rollouts": (8, N_("enough attempts to compare with each other")),
        "ppo_mini_batch_size": (8, N_("several updates a step")),
        "max_length": (8192, N_("room for a conversation with tools")),
        "max_prompt_length": (1024, N_("leaves 7168 tokens for answers")),
        "eval_steps": (1, N_("validation after each step: a check is short")),
        "save_steps": (100, N_("no checkpoints in between")),
        "save_strategy": ("epoch", N_("one checkpoint at the end of the epoch")),
        "save_total_limit": (1, N_("only the last one is of interest")),
    },
)
_REAL = Preset(
    N_("real run"),
    N_("Three epochs with larger batches, for a dense model of about 9B."),
    False,
    {
        "algorithm": ("gspo", N_("the service's default; works on whole answers")),
        "kl_loss_coef": (0.001, N_("the usual hold for gspo")),
        "learning_rate": (5e-6, N_("5.0e-6 to 7.0e-6 is advised for a real run")),
        "lr_scheduler_type": ("cosine", N_("falls slowly at first, then fast")),
        "lr_warmup_steps": (-1, N_("the service chooses")),
        "n_epochs": (3, N_("3 to 5; with 10 the rows are learnt by heart")),
        "batch_size": (128, N_("128 to 512: steadier gradients")),
        "n_rollouts": (8, N_("enough attempts to compare with each other")),
        "ppo_mini_batch_size": (16, N_("16 to 32")),
        "max_length": (8192, N_("room for a conversation with tools")),
        "max_prompt_length": (2048, N_("leaves 6144 tokens for answers")),
        "eval_steps": (50, N_("about every tenth to twentieth of the run")),
        "save_steps": (100, N_("twice eval_steps")),
        "save_strategy": ("epoch", N_("a checkpoint after each epoch")),
        "save_total_limit": (3, N_("the best one is often not the last")),
    },
)
_MOE = Preset(
    N_("MoE"),
    N_("Two epochs with large batches, for a mixture-of-experts model."),
    False,
    {
        **_REAL.values,
        "algorithm": ("gspo", N_("token-level algorithms are unstable with expert routing")),
        "kl_loss_coef": (0.001, N_("0.0005 to 0.001")),
        "learning_rate": (3e-6, N_("3.0e-6 to 5.0e-6: smaller than for a dense model")),
        "n_epochs": (2, N_("2 to 3")),
        "batch_size": (256, N_("256 to 512: routing needs many samples")),
        "ppo_mini_batch_size": (32, N_("32 to 64")),
        "save_total_limit": (2, N_("checkpoints are large")),
    },
)
_OPD_QUICK = Preset(
    N_("OPD quick"),
    N_("One epoch of distillation that shows whether teacher, student and data fit."),
    True,
    {
        "algorithm": ("gspo", N_("the only one that OPD takes")),
        "learning_rate": (1e-6, N_("careful: a check needs no fast progress")),
        "lr_scheduler_type": ("cosine", N_("OPD takes no linear one")),
        "lr_warmup_steps": (0, N_("no warm-up on small data")),
        "n_epochs": (1, N_("one pass shows whether everything runs")),
        "batch_size": (128, N_("the advice for small students")),
        "n_rollouts": (8, N_("enough answers for the teacher to judge")),
        "ppo_mini_batch_size": (8, N_("several updates a step")),
        "max_length": (8192, N_("room for a conversation with tools")),
        "max_prompt_length": (2048, N_("leaves 6144 tokens for answers")),
        "eval_steps": (1, N_("validation after each step: a check is short")),
        "save_steps": (1, N_("a checkpoint after each step")),
        "save_strategy": ("steps", N_("OPD counts in steps")),
        "save_total_limit": (2, N_("the last two")),
    },
)
_OPD_REAL = Preset(
    N_("OPD real"),
    N_("Two epochs of distillation."),
    True,
    {
        **_OPD_QUICK.values,
        "learning_rate": (3e-6, N_("3.0e-6 to 5.0e-6 for small students, 2.0e-6 to 3.0e-6 for large ones")),
        "lr_warmup_steps": (-1, N_("the service chooses")),
        "n_epochs": (2, N_("2 to 3")),
        "ppo_mini_batch_size": (16, N_("16 to 32")),
        "eval_steps": (50, N_("about every tenth to twentieth of the run")),
        "save_steps": (100, N_("twice eval_steps")),
        "save_total_limit": (3, N_("the best one is often not the last")),
    },
)

PRESETS = {preset.name: preset for preset in (_QUICK, _REAL, _MOE, _OPD_QUICK, _OPD_REAL)}


def presets_for(document: JobDocument) -> tuple[Preset, ...]:
    """The presets that suit a job, the best fitting one for real work last."""
    job = document.job
    if job is None:
        return ()
    moe = bool(job.model.name and is_moe(job.model.name))
    return tuple(
        preset
        for preset in PRESETS.values()
        if preset.is_opd == job.is_opd and (preset.is_opd or preset is _QUICK or (preset is _MOE) == moe)
    )


def preset_edits(document: JobDocument, name: str) -> PresetPlan:
    """What a preset would change in a file, with reasons. Values are fitted to the number of training rows.

    Raises CannotEdit for an unknown preset, a file with broken syntax, or a preset of the other kind of training.
    """
    preset = PRESETS.get(name)
    if preset is None:
        raise CannotEdit(
            _("There is no preset {name!r}.").format(name=name),
            advice=_("One of: {names}.").format(names=", ".join(PRESETS)),
        )
    job = document.job
    if job is None:
        raise CannotEdit(_("A preset cannot be applied to a file with broken syntax."))
    if preset.is_opd != job.is_opd:
        kind = _("an OPD job") if preset.is_opd else _("reinforcement learning")
        raise CannotEdit(
            _("The preset {name!r} is for {kind}.").format(name=name, kind=kind), advice=_("Switch the scenario first.")
        )
    values = _fitted(preset, document.training_rows)
    hyper = job.training.hyper_parameters
    changes = tuple(
        PresetChange(key, hyper.get(key), value, _(reason))
        for key, (value, reason) in values.items()
        if key not in hyper or hyper[key] != value
    )
    text = apply_all(document.text, [((*_HYPER, change.key), change.new) for change in changes])
    return PresetPlan(preset, changes, edits_between(document.text, text), text)


def _fitted(preset: Preset, rows: int | None) -> dict[str, tuple[Any, str]]:
    values = dict(preset.values)
    batch = int(values["batch_size"][0])
    if rows is not None and rows <= batch:
        batch = fitting_batch(rows, batch)
        values["batch_size"] = (batch, _("below the {rows} training rows").format(rows=rows))
        samples = batch * int(values["n_rollouts"][0])
        if values["ppo_mini_batch_size"][0] > samples:
            values["ppo_mini_batch_size"] = (samples, _("no more than a step has samples"))
    steps = steps_of(rows, {key: value for key, (value, _reason) in values.items()})
    if steps is not None and values["eval_steps"][0] != 1:
        every = max(1, steps.low // 15)
        values["eval_steps"] = (every, _("about every fifteenth of {steps} steps").format(steps=steps))
        values["save_steps"] = (2 * every, _("twice eval_steps"))
    return values
