"""Rules about the functions of a job: which there are, and what each one names."""

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.blocks import function_block
from agentic_rl_tui.core.jobfile.check_classes import check_class, guess_kind
from agentic_rl_tui.core.jobfile.check_runtime import check_runtime
from agentic_rl_tui.core.jobfile.context import Context, FunctionView
from agentic_rl_tui.core.jobfile.diagnostics import Fix
from agentic_rl_tui.core.jobfile.edit import CannotEdit
from agentic_rl_tui.core.jobfile.steps import calls_per_step
from agentic_rl_tui.core.models.functions import FunctionKind


def collect_functions(context: Context) -> list[FunctionView]:
    """The functions whose block could be read. One without a readable type gets the kind it seems to be."""
    listed = context.values.get("functions")
    found = []
    for index, values in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(values, dict):
            continue
        view = FunctionView(index, values)
        view.kind = FunctionKind(values["type"]) if "type" in values else guess_kind(context, values)
        found.append(view)
    return found


def check_functions(context: Context, *, is_opd: bool) -> None:
    for view in context.functions:
        _check_type(context, view)
        check_class(context, view)
        _check_weights(context, view)
        check_runtime(context, view)
    _check_names(context)
    _check_reward_weights(context)
    _check_roles(context, is_opd)


def _check_type(context: Context, view: FunctionView) -> None:
    if context.is_filled((*view.path, "type")):
        return
    kind = view.kind.value
    fix = context.fix(_("Set type to {kind}").format(kind=kind), context.set((*view.path, "type"), kind))
    message = _("Function {index} has no type; the service takes it for a rollout.").format(index=view.index + 1)
    context.report_at("type-missing", view.path, message, fix=fix)


def _check_names(context: Context) -> None:
    taken: set[str] = {str(view.values["name"]) for view in context.functions if view.values.get("name")}
    first: dict[str, int] = {}
    for view in context.functions:
        name = view.values.get("name")
        if not name:
            continue
        if name in first:
            number = 2
            while f"{name}-{number}" in taken:
                number += 1
            fresh = f"{name}-{number}"
            taken.add(fresh)
            fix = context.fix(_("Rename to {guess}").format(guess=fresh), context.set((*view.path, "name"), fresh))
            message = _("{name!r} is the name of function {first} already.").format(name=name, first=first[name] + 1)
            context.report_at("name-twice", (*view.path, "name"), message, fix=fix)
        else:
            first[name] = view.index


def _check_weights(context: Context, view: FunctionView) -> None:
    """Weights that the job drops, or that do not do what they seem to."""
    if view.kind is FunctionKind.ROLLOUT and "weight" in view.values:
        fix = context.fix(_("Remove weight"), context.remove((*view.path, "weight")))
        context.report_at("weight-unused", (*view.path, "weight"), _("A rollout has no weight."), fix=fix)
    if view.kind is not FunctionKind.REWARD and context.is_filled((*view.path, "reward_metric_weight")):
        path = (*view.path, "reward_metric_weight")
        fix = context.fix(_("Remove reward_metric_weight"), context.remove(path))
        message = _("reward_metric_weight is sent for rewards only, not for a {kind}.").format(kind=view.kind.value)
        context.report_at("weight-unused", path, message, fix=fix)
    weight = view.values.get("weight")
    if view.kind is not FunctionKind.ROLLOUT and weight is not None and weight < 0:
        message = _("The weight of {label} is negative.").format(label=view.label)
        context.report_at("weight-negative", (*view.path, "weight"), message)


def _check_reward_weights(context: Context) -> None:
    scores = [view for view in context.functions if view.kind is not FunctionKind.ROLLOUT]
    weights = [view.values.get("weight") for view in scores]
    if scores and all(weight == 0 for weight in weights):
        message = _("Every reward has weight 0.")
        context.report_at("weight-zero", (*scores[0].path, "weight"), message)
        return
    for view in scores:
        if view.values.get("weight") == 0:
            message = _("{label} has weight 0 and takes no part.").format(label=view.label)
            context.report_at("weight-zero", (*view.path, "weight"), message)


def _check_roles(context: Context, is_opd: bool) -> None:
    rollouts = [view for view in context.functions if view.kind is FunctionKind.ROLLOUT]
    for view in rollouts[1:]:
        edits = context.remove(view.path)
        fix = context.fix(_("Remove this rollout"), edits, is_safe=False)
        message = _("Only one rollout runs: {label}. This one is dropped.").format(label=rollouts[0].label)
        context.report_at("rollout-several", (*view.path, "type"), message, fix=fix)
    listed = context.values.get("functions")
    is_readable = not context.is_filled(("functions",)) or (
        isinstance(listed, list) and len(listed) == len(context.functions)
    )
    if is_opd or not is_readable:
        return
    if not rollouts:
        message = _("There is no rollout function.")
        context.report_at("rollout-missing", ("functions",), message, fix=_addition(context, FunctionKind.ROLLOUT))
    if len(rollouts) == len(context.functions):
        message = _(
            "There is no reward function. Where the rollout sets AgentOutput.reward_score itself, "
            "move that into a reward."
        )
        context.report_at("reward-missing", ("functions",), message, fix=_addition(context, FunctionKind.REWARD))


def _addition(context: Context, kind: FunctionKind) -> Fix | None:
    """A block for the only processor of a kind that the workspace has."""
    known = context.facts.processors() if context.facts else None
    fitting = [info for info in known or () if info.kind is kind and not info.is_abstract]
    if len(fitting) != 1 or context.facts is None or not context.facts.file_exists("requirements.txt"):
        return None
    taken = {view.values.get("name") for view in context.functions}
    name = next(name for name in (f"{kind.value}-{n}" for n in range(1, 10_000)) if name not in taken)
    block = function_block(kind.value, fitting[0].classpath.dotted, name, calls_per_step(kind.value, context.expected))
    try:
        edits = context.patcher.append(("functions",), block)
    except CannotEdit:
        return None
    return context.fix(_("Add {name}").format(name=fitting[0].class_name), edits)
