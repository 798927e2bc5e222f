"""Rules about hyper-parameters and resources: formulas across keys, and values that are known to go wrong."""

import math

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.jobfile.blocks import fitting_batch
from agentic_rl_tui.core.jobfile.catalog import is_dense, is_moe, listed
from agentic_rl_tui.core.jobfile.context import Context
from agentic_rl_tui.core.jobfile.diagnostics import Fix
from agentic_rl_tui.core.jobfile.parameters import ESSENTIAL
from agentic_rl_tui.core.jobfile.steps import steps_of
from agentic_rl_tui.core.jobfile.tree import Path

HYPER: Path = ("training", "hyper_parameters")


def check_training(context: Context, *, is_opd: bool) -> None:
    if context.is_filled(("training",)) and "training" not in context.values:
        return
    _check_missing(context, is_opd)
    _check_batches(context)
    _check_gpus(context)
    _check_lengths(context)
    _check_habits(context, is_opd)
    _check_steps(context)
    if not is_opd:
        _check_algorithm(context)
    _check_units(context)


def _set(context: Context, key: str, value: int | float | str, *, is_safe: bool = True) -> Fix | None:
    return context.fix(
        _("Set {key} to {value}").format(key=key, value=value), context.set((*HYPER, key), value), is_safe=is_safe
    )


def _whole(context: Context, key: str) -> int | None:
    value = context.expected.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _check_missing(context: Context, is_opd: bool) -> None:
    given = context.names(HYPER)
    missing = [key for key in ESSENTIAL if key not in given and not (is_opd and key == "kl_loss_coef")]
    if not missing:
        return
    edits = context.fill(HYPER, {key: context.expected[key] for key in missing})
    fix = context.fix(_("Add them with the values of a quick check"), edits)
    names = ", ".join(missing[:4])
    if len(missing) > 4:
        names = _("{names} and {count} more").format(names=names, count=len(missing) - 4)
    message = ngettext("{names} is not set.", "{names} are not set.", len(missing)).format(names=names)
    context.report_at("parameters-missing", HYPER, message, fix=fix)


def _check_batches(context: Context) -> None:
    batch, rollouts, mini = (_whole(context, key) for key in ("batch_size", "n_rollouts", "ppo_mini_batch_size"))
    if batch and rollouts and mini and mini > batch * rollouts:
        samples = f"batch_size {batch} x n_rollouts {rollouts} = {batch * rollouts}"
        message = _("ppo_mini_batch_size {mini} > {samples} samples a step.").format(mini=mini, samples=samples)
        fix = _set(context, "ppo_mini_batch_size", batch * rollouts)
        context.report_at("mini-batch", (*HYPER, "ppo_mini_batch_size"), message, fix=fix)
    rows = context.training_rows
    if batch and rows is not None and rows <= batch:
        context.report_at(
            "rows-batch",
            (*HYPER, "batch_size"),
            _("batch_size {batch} needs more than {batch} training rows; there are {rows}.").format(
                batch=batch, rows=rows
            ),
            fix=_smaller_batch(context, rows, rollouts, mini),
        )


def _smaller_batch(context: Context, rows: int, rollouts: int | None, mini: int | None) -> Fix | None:
    if rows < 2:
        return None
    batch = fitting_batch(rows)
    edits = [context.set((*HYPER, "batch_size"), batch)]
    if rollouts and mini and mini > batch * rollouts:
        edits.append(context.set((*HYPER, "ppo_mini_batch_size"), batch * rollouts))
    return context.fix(_("Set batch_size to {batch}").format(batch=batch), *edits)


def _check_gpus(context: Context) -> None:
    hyper = context.hyper
    keys = ("n_gpus_training", "tensor_model_parallel_size", "pipeline_model_parallel_size")
    if any(key in hyper for key in keys):
        total, tensor, pipeline = hyper.get(keys[0], 8), hyper.get(keys[1], 1), hyper.get(keys[2], 1)
        product = tensor * pipeline
        if total % product:
            place = next(key for key in keys if key in hyper)
            better = math.ceil(total / product) * product
            fix = _set(context, keys[0], better, is_safe=False) if better <= 1024 else None
            message = _(
                "n_gpus_training {total} is no multiple of tensor {tensor} x pipeline {pipeline} = {product}."
            ).format(total=total, tensor=tensor, pipeline=pipeline, product=product)
            context.report_at("gpu-product", (*HYPER, place), message, fix=fix)
    engine = _whole(context, "inference_tensor_parallel_size")
    if engine is not None:
        gpus = hyper.get("n_gpus_rollout", 8)
        if gpus % engine:
            message = _("n_gpus_rollout {gpus} is no multiple of inference_tensor_parallel_size {engine}.").format(
                gpus=gpus, engine=engine
            )
            context.report_at("gpu-inference", (*HYPER, "inference_tensor_parallel_size"), message)
    experts, model = _whole(context, "expert_model_parallel_size"), context.model_name
    if experts and experts > 1 and model and is_dense(model):
        fix = _set(context, "expert_model_parallel_size", 1)
        message = _("{model} is dense; expert_model_parallel_size must be 1.").format(model=model)
        context.report_at("expert-parallel-dense", (*HYPER, "expert_model_parallel_size"), message, fix=fix)


def _check_lengths(context: Context) -> None:
    longest, prompt = _whole(context, "max_length"), _whole(context, "max_prompt_length")
    if longest and prompt and prompt >= longest:
        fix = _set(context, "max_prompt_length", longest // 4) if longest >= 4 else None
        message = _("max_prompt_length {prompt} leaves no token for an answer within max_length {longest}.").format(
            prompt=prompt, longest=longest
        )
        context.report_at("prompt-length", (*HYPER, "max_prompt_length"), message, fix=fix)
    if longest and longest >= 32_768:
        fix = None if prompt and prompt >= 8192 else _set(context, "max_length", 8192, is_safe=False)
        message = _("max_length {longest} is rarely needed; 8192 to 16384 is usual.").format(longest=longest)
        context.report_at("length-large", (*HYPER, "max_length"), message, fix=fix)


def _check_habits(context: Context, is_opd: bool) -> None:
    """Values that are legal and known to spoil a run."""
    hyper = context.hyper
    rate = hyper.get("learning_rate")
    if isinstance(rate, (int, float)):
        if rate >= 5e-5:
            fix = _set(context, "learning_rate", 5e-6, is_safe=False)
            message = _("learning_rate {rate:g} is one of supervised tuning; RL wants 1.0e-6 to 7.0e-6.").format(
                rate=rate
            )
            context.report_at("lr-high", (*HYPER, "learning_rate"), message, fix=fix)
        elif rate == 0:
            fix = _set(context, "learning_rate", 2e-6, is_safe=False)
            context.report_at("lr-zero", (*HYPER, "learning_rate"), _("learning_rate is 0."), fix=fix)
    epochs = _whole(context, "n_epochs")
    if epochs and epochs >= 10:
        fix = _set(context, "n_epochs", 3, is_safe=False)
        context.report_at(
            "epochs-many", (*HYPER, "n_epochs"), _("{epochs} epochs; 1 to 5 is usual.").format(epochs=epochs), fix=fix
        )
    if _whole(context, "n_rollouts") == 1:
        fix = _set(context, "n_rollouts", 8, is_safe=False)
        context.report_at("rollouts-one", (*HYPER, "n_rollouts"), _("n_rollouts is 1; 8 is usual."), fix=fix)
    _check_kl(context, is_opd)


def _check_kl(context: Context, is_opd: bool) -> None:
    penalty, algorithm = context.hyper.get("kl_loss_coef"), context.hyper.get("algorithm", "gspo")
    place = (*HYPER, "kl_loss_coef")
    if penalty is None:
        return
    if is_opd:
        context.report_at("opd-kl", place, _("kl_loss_coef is not used in OPD."))
    elif algorithm == "dapo":
        if penalty > 0:
            fix = _set(context, "kl_loss_coef", 0.0, is_safe=False)
            context.report_at("kl-dapo", place, _("dapo runs with kl_loss_coef 0."), fix=fix)
    elif penalty == 0:
        usual = 0.04 if algorithm == "grpo" else 0.001
        fix = _set(context, "kl_loss_coef", usual, is_safe=False)
        context.report_at(
            "kl-zero",
            place,
            _("kl_loss_coef is 0; {usual} is usual for {algorithm}.").format(usual=usual, algorithm=algorithm),
            fix=fix,
        )


def _check_algorithm(context: Context) -> None:
    algorithm, model = context.hyper.get("algorithm"), context.model_name
    if algorithm not in (None, "gspo") and model and is_moe(model):
        edits = [context.set((*HYPER, "algorithm"), "gspo")]
        if context.hyper.get("kl_loss_coef") == 0:
            edits.append(context.set((*HYPER, "kl_loss_coef"), 0.001))
        fix = context.fix(_("Set algorithm to gspo"), *edits)
        message = _("{model} is a mixture of experts, which {algorithm} does not train stably.").format(
            model=model, algorithm=algorithm
        )
        context.report_at("moe-algorithm", (*HYPER, "algorithm"), message, fix=fix)
    keys = [key for key in context.hyper if key.startswith("opd_teacher_")]
    if keys:
        message = _("{key} does nothing without a teacher_model.").format(key=keys[0])
        context.report_at("opd-keys", (*HYPER, keys[0]), message)


def _check_steps(context: Context) -> None:
    steps = steps_of(context.training_rows, context.expected)
    if steps is None or not steps.low:
        return
    evaluate, save = _whole(context, "eval_steps"), _whole(context, "save_steps")
    if evaluate and evaluate > steps.high:
        fix = _set(context, "eval_steps", max(1, steps.low // 10), is_safe=False)
        message = _("eval_steps {evaluate} > {steps} steps in all: validation never runs.").format(
            evaluate=evaluate, steps=steps
        )
        context.report_at("eval-never", (*HYPER, "eval_steps"), message, fix=fix)
    elif evaluate and steps.low // evaluate > 100:
        message = _("{count} validations in {steps} steps; eval_steps of {enough} is enough.").format(
            count=steps.low // evaluate, steps=steps, enough=steps.low // 20
        )
        fix = _set(context, "eval_steps", steps.low // 20, is_safe=False)
        context.report_at("eval-often", (*HYPER, "eval_steps"), message, fix=fix)
    if save and context.expected.get("save_strategy") == "steps" and save > steps.high:
        fix = _set(context, "save_steps", max(1, steps.low // 5), is_safe=False)
        message = _("save_steps {save} > {steps} steps in all: there is no checkpoint before the end.").format(
            save=save, steps=steps
        )
        context.report_at("save-never", (*HYPER, "save_steps"), message, fix=fix)
    elif save and evaluate and save < evaluate and context.expected.get("save_strategy") == "steps":
        message = _("save_steps {save} < eval_steps {evaluate}: most checkpoints are never validated.").format(
            save=save, evaluate=evaluate
        )
        context.report_at("save-often", (*HYPER, "save_steps"), message)


def _check_units(context: Context) -> None:
    model, resources = context.model_name, context.values.get("training", {}).get("resources")
    units = resources.get("mtu_capacity") if isinstance(resources, dict) else None
    known = listed(model) if model else None
    if known and known.units and isinstance(units, int) and units < known.units:
        message = _("mtu_capacity {units}; {advised} are advised for {name}.").format(
            units=units, advised=known.units, name=known.name
        )
        context.report_at("units-few", ("training", "resources", "mtu_capacity"), message)
