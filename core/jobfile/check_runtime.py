"""Rules about the resources of a function."""

import math
import re
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.context import Context, FunctionView
from agentic_rl_tui.core.jobfile.diagnostics import Fix
from agentic_rl_tui.core.jobfile.steps import STEP_SECONDS, calls_at_once, calls_needed, calls_per_step
from agentic_rl_tui.core.jobfile.tree import Path

_ADVISED_MEMORY = 4096
_ADVISED_DISK = 512
_TINY_MEMORY = 512
_SECRET_NAME = re.compile(r"(?:^|_)(?:key|token|secret|password|passwd|pwd|credential|ak|sk)s?(?:_id)?$", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"(?:sk|tok|ghp|hf|xox[bp])[-_][A-Za-z0-9_-]{8,}|LTAI[A-Za-z0-9]{12,}|AKIA[A-Z0-9]{12,}")
_REFERENCE = re.compile(r"\$\{?\w+\}?|<[^>]+>|\*+|x+|your[-_ ].*", re.IGNORECASE)


def check_runtime(context: Context, view: FunctionView) -> None:
    path = (*view.path, "runtime")
    runtime = view.values.get("runtime")
    if not isinstance(runtime, dict):
        if context.is_filled(path):
            return
        runtime = {}
    _check_sizes(context, view, path, runtime)
    _check_capacities(context, path, runtime)
    _check_throughput(context, view, path, runtime)
    env = runtime.get("env")
    if isinstance(env, dict):
        _check_secrets(context, (*path, "env"), env)


def _check_sizes(context: Context, view: FunctionView, path: Path, runtime: dict[str, Any]) -> None:
    memory, disk = runtime.get("memory_size"), runtime.get("disk_size")
    if memory is not None and memory < _TINY_MEMORY:
        better = max(_ADVISED_MEMORY, memory * 1024) if memory <= 64 else _ADVISED_MEMORY
        message = _("memory_size {memory} means {memory} MB; {better} is meant, or more.").format(
            memory=memory, better=better
        )
        context.report_at(
            "memory-small", (*path, "memory_size"), message, fix=_set(context, path, "memory_size", better)
        )
    elif memory is not None and memory < _ADVISED_MEMORY:
        fix = _set(context, path, "memory_size", _ADVISED_MEMORY, is_safe=False)
        context.report_at(
            "memory-low", (*path, "memory_size"), _("memory_size is {memory} MB.").format(memory=memory), fix=fix
        )
    if disk is not None and disk < _ADVISED_DISK:
        fix = _set(context, path, "disk_size", _ADVISED_DISK)
        context.report_at(
            "disk-small", (*path, "disk_size"), _("disk_size {disk} means {disk} MB.").format(disk=disk), fix=fix
        )
    missing = [key for key in ("memory_size", "disk_size") if not context.is_filled((*path, key))]
    if missing and not view.values.get("entity_id"):
        sizes = {"memory_size": _ADVISED_MEMORY, "disk_size": _ADVISED_DISK}
        fix = context.fix(_("Set what is advised"), context.fill(path, {key: sizes[key] for key in missing}))
        message = _("{label} sets no {key}.") if len(missing) == 1 else _("{label} sets no {key} and no {other}.")
        words = message.format(label=view.label, key=missing[0], other=missing[-1])
        context.report_at("runtime-default", path, words, fix=fix)


def _set(context: Context, path: Path, key: str, value: int, *, is_safe: bool = True) -> Fix | None:
    return context.fix(
        _("Set {key} to {value}").format(key=key, value=value), context.set((*path, key), value), is_safe=is_safe
    )


def _check_capacities(context: Context, path: Path, runtime: dict[str, Any]) -> None:
    least, start, most = (runtime.get(key) for key in ("min_capacity", "capacity", "max_capacity"))
    wrong = []
    if least is not None and start is not None and least > start:
        wrong.append(
            ("min_capacity", start, _("min_capacity {least} > capacity {start}.").format(least=least, start=start))
        )
    if most is not None and start is not None and most < start:
        wrong.append(
            ("max_capacity", start, _("max_capacity {most} < capacity {start}.").format(most=most, start=start))
        )
    if start is None and least is not None and most is not None and least > most:
        wrong.append(
            ("min_capacity", most, _("min_capacity {least} > max_capacity {most}.").format(least=least, most=most))
        )
    for key, value, message in wrong:
        context.report_at("capacity-order", (*path, key), message, fix=_set(context, path, key, value))


def _check_throughput(context: Context, view: FunctionView, path: Path, runtime: dict[str, Any]) -> None:
    calls = calls_per_step(view.kind.value, context.expected)
    if calls is None:
        return
    need, have = calls_needed(calls), calls_at_once(runtime)
    if have >= need:
        return
    message = _(
        "{label} takes {have} calls at once (concurrency x capacity); {calls} calls in a step "
        "of {seconds:g} s need {need}."
    ).format(label=view.label, have=have, calls=calls, seconds=STEP_SECONDS, need=math.ceil(need))
    context.report_at("throughput", (*path, "capacity"), message, fix=_more_capacity(context, path, runtime, need))


def _more_capacity(context: Context, path: Path, runtime: dict[str, Any], need: float) -> Fix | None:
    if not runtime:
        return None
    capacity = max(math.ceil(need / int(runtime.get("concurrency") or 2)), runtime.get("min_capacity") or 0)
    if capacity > 100_000:
        return None
    edits = [context.set((*path, "capacity"), capacity)]
    if (runtime.get("max_capacity") or capacity) < capacity:
        edits.append(context.set((*path, "max_capacity"), capacity))
    return context.fix(_("Set capacity to {capacity}").format(capacity=capacity), *edits, is_safe=False)


def _check_secrets(context: Context, path: Path, env: dict[str, Any]) -> None:
    for name, value in env.items():
        text = value if isinstance(value, str) else ""
        if not text or _REFERENCE.fullmatch(text):
            continue
        if _SECRET_VALUE.search(text) or (_SECRET_NAME.search(name) and len(text) >= 6):
            message = _("{name} looks like a secret; it is stored with the job in plain text.").format(name=name)
            context.report_at("secret", (*path, name), message)
