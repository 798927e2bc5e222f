"""Trying a function of the workspace from a clean copy of its package: one call, or a sweep over data rows."""

from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.dispatch import workspace_of
from agentic_rl_tui.app.cli.output import emit, facts, output_argument, table, write
from agentic_rl_tui.app.cli.values import path
from agentic_rl_tui.app.present.frames import as_in_workspace
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from agentic_rl_tui.core.functions.environments import RequirementsPolicy
    from agentic_rl_tui.core.models.kinds import FunctionKind


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("classpath", help=_("pkg.mod.Class or path/file.py:Class"))
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("-i", "--input", metavar="JSON", help=_("the input: JSON text, or a JSON file"))
    given.add_argument("--row", type=int, metavar="K", help=_("build the input from row K of --data, from 0"))
    given.add_argument("--rows", type=int, metavar="M", help=_("sweep over the first M rows of --data"))
    parser.add_argument("--data", type=path, metavar="FILE", help=_("a data set; default: data/train.jsonl"))
    parser.add_argument("--rollouts", type=int, default=4, metavar="N", help=_("rollouts of a group; default: 4"))
    parser.add_argument(
        "--answer", action="append", default=[], metavar="TEXT", help=_("what the assistant said; may be repeated")
    )
    parser.add_argument("--rollout-classpath", metavar="CLASSPATH", help=_("make the rollouts with this class instead"))
    parser.add_argument("--model", metavar="NAME", help=_("model of a rollout; default: the local practice policy"))
    parser.add_argument("--model-url", metavar="URL", help=_("OpenAI-compatible address of --model"))
    parser.add_argument("--model-key-env", metavar="VARIABLE", default="DASHSCOPE_API_KEY", help=_("where its key is"))
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="SECONDS", help=_("limit of a call; default: 120")
    )
    requirements_argument(parser)
    parser.add_argument("--full-traceback", action="store_true", help=_("all frames, not only those of the workspace"))
    output_argument(parser)


def requirements_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--requirements",
        choices=("check", "install", "ignore"),
        help=_(
            "install: run in an environment of requirements.txt, made once; ignore: do not check it; "
            "default: local.requirements of the settings, else check"
        ),
    )


def policy(options: argparse.Namespace) -> RequirementsPolicy:
    """What the option says, else the settings. Raises ConfigError."""
    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.core.functions.environments import RequirementsPolicy, policy_of

    return RequirementsPolicy(options.requirements) if options.requirements else policy_of(settings_of(options))


def run(options: argparse.Namespace) -> int:
    import asyncio

    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.functions_local import found_class
    from agentic_rl_tui.core.functions.discovery import discover
    from agentic_rl_tui.core.functions.harness import RowSource, TrialOptions, read_rows, try_function
    from agentic_rl_tui.core.functions.harness_traces import with_model_calls
    from agentic_rl_tui.core.models.kinds import FunctionKind

    workspace = workspace_of(options)
    discovery = discover(workspace)
    info = found_class(discovery, options.classpath)
    data = options.data or workspace / "data" / "train.jsonl"
    trial = TrialOptions(
        timeout_s=options.timeout,
        concurrency=1 if options.rows is None else 8,
        requirements_policy=policy(options),
        on_requirements=lambda line: print(plain(line), file=sys.stderr),
    )
    if options.rows is not None:
        rows = list(read_rows(data, limit=max(1, options.rows)))
        return await _sweep(options, workspace, info.kind, rows, trial)
    shared: dict[str, Any] = {"options": trial, "discovery": discovery}
    resource = None
    if options.input is not None:
        given = options.input
        if info.kind is FunctionKind.ROLLOUT:
            given, resource = await _with_model(options)
        report = await try_function(workspace, info.classpath, given, **shared)
    else:
        needs_model = info.kind is FunctionKind.ROLLOUT or options.rollout_classpath
        source = RowSource.read(data, options.row)
        resource = (await _models(options, [(options.row, source.row)]))[0] if needs_model else None
        source = RowSource(
            source.row, options.row, answers=options.answer, rollout=options.rollout_classpath,
            rollouts=options.rollouts, resource=resource,
        )  # fmt: skip
        report = await try_function(workspace, info.classpath, source, **shared)
    if resource is not None and not options.model:
        report = with_model_calls(report, await _model_calls(options, resource))
    return _tell(report, options)


async def _with_model(options: argparse.Namespace) -> tuple[dict[str, Any], Any]:
    """The input of a rollout, and the model that answers it where it names none itself or the options name another."""
    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.core.functions.harness_inputs import load_input
    from agentic_rl_tui.core.sdk.tryout import lacks_model, with_model

    payload = load_input(options.input)
    is_named = bool(options.model or options.model_url)
    can_practise = isinstance(payload.get("messages"), list) and settings_of(options).profile.is_local
    if not is_named and not (can_practise and lacks_model(payload)):
        return payload, None
    resource = (await _models(options, [(0, payload)]))[0]
    return with_model(payload, resource), resource


async def _model_calls(options: argparse.Namespace, resource: Any) -> tuple[Any, ...]:
    """What the practice policy was asked, as the platform recorded it; the key stops working."""
    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.core.sdk import AgenticRL
    from agentic_rl_tui.core.sdk.practice import model_calls

    async with AgenticRL(settings=settings_of(options)) as client:
        return await model_calls(client.transport, resource)


async def _models(options: argparse.Namespace, rows: list[tuple[int, Any]]) -> list[Any]:
    """The endpoint for each row: the one that was named, or practice keys of the local platform."""
    import os

    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.core.functions.harness import ModelResource
    from agentic_rl_tui.core.models.errors import InputError
    from agentic_rl_tui.core.sdk import AgenticRL
    from agentic_rl_tui.core.sdk.practice import practice_models

    if options.model or options.model_url:
        key = os.environ.get(options.model_key_env, "").strip()
        if not (options.model and options.model_url and key):
            raise InputError(
                _("a model needs --model, --model-url and a key in {model_key_env}").format(
                    model_key_env=options.model_key_env
                ),
                advice=_("Give all three, or none of them to use the local practice policy."),
            )
        return [ModelResource(options.model, options.model_url, key)] * len(rows)
    async with AgenticRL(settings=settings_of(options)) as client:
        return [
            ModelResource(**(await practice_models(client.transport, row, row_index=index))[0]) for index, row in rows
        ]


async def _sweep(
    options: argparse.Namespace, workspace: Path, kind: FunctionKind, rows: list[tuple[int, Any]], trial: Any
) -> int:
    from agentic_rl_tui.core.functions.harness import roll_out, rolled_inputs, row_inputs, sweep
    from agentic_rl_tui.core.models.errors import InputError
    from agentic_rl_tui.core.models.kinds import FunctionKind

    if options.answer:
        raise InputError(_("--answer is for one row"), advice=_("Give --row K, or leave --answer out."))
    failed = []
    if kind is FunctionKind.ROLLOUT:
        models = await _models(options, rows)
        inputs = [
            pair for model, row in zip(models, rows, strict=True) for pair in row_inputs(kind, [row], resource=model)
        ]
    elif options.rollout_classpath:
        models = await _models(options, rows)
        made = await roll_out(
            workspace,
            options.rollout_classpath,
            [(index, row, model) for (index, row), model in zip(rows, models, strict=True)],
            rollouts=1 if kind is FunctionKind.REWARD else options.rollouts,
            options=trial,
        )
        inputs = list(rolled_inputs(kind, made))
        failed = [(item.index, item.error.message) for item in made if item.error is not None]
    else:
        inputs = list(row_inputs(kind, rows, rollouts=options.rollouts))
    report = await sweep(workspace, options.classpath, inputs, options=trial)
    data = {
        "rows": len(report.rows),
        "scores": _distribution(report.scores),
        "latency_s": _distribution(report.latencies_s),
        "verdicts": {verdict.value: count for verdict, count in report.verdicts.items()},
        "slowest": [{"row": row.index, "latency_s": round(row.latency_s, 6)} for row in report.slowest],
        "errors": [{"error": text, "count": count, "first_row": row} for text, count, row in report.errors],
        "warnings": [caution.message for caution in report.warnings],
        "failed_rollouts": [{"row": row, "error": error} for row, error in failed],
    }
    if options.output != "table":
        emit(data, options.output)
    else:
        facts(_sweep_facts(report))
        if kind is not FunctionKind.ROLLOUT:
            _histogram(report.scores)
        for row, error in failed:
            print(plain(_("✗ row {row}: {error}").format(row=row, error=error)), file=sys.stderr)
    return exits.REJECTED if report.errors or failed else exits.OK


def _sweep_facts(report: Any) -> dict[str, Any]:
    times = report.latencies_s
    return {
        _("rows"): str(len(report.rows)),
        _("verdicts"): ", ".join(
            _("{count} {state}").format(count=count, state=_(verdict.value))
            for verdict, count in report.verdicts.items()
            if count
        ),
        _("latency"): None
        if times is None
        else _("mean {mean:.3g} ms, 95 % within {p95:.3g} ms, longest {maximum:.3g} ms").format(
            mean=times.mean * 1000, p95=times.p95 * 1000, maximum=times.maximum * 1000
        ),
        _("slowest rows"): ", ".join(f"{row.index} ({row.latency_s * 1000:.3g} ms)" for row in report.slowest),
        _("errors"): "\n".join(
            _("{count} x {error} (first in row {row})").format(count=count, error=error, row=row)
            for error, count, row in report.errors
        ),
        _("warnings"): "\n".join(caution.message for caution in report.warnings),
    }


def _distribution(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "count": found.count,
        **{name: round(getattr(found, name), 6) for name in ("minimum", "mean", "p50", "p95", "maximum")},
        "histogram": [[round(low, 6), round(high, 6), count] for low, high, count in found.histogram],
    }


def _histogram(scores: Any) -> None:
    if scores is None:
        write(_("no row was scored"))
        return
    write(
        _("scores: min {minimum:g}  mean {mean:.4g}  median {p50:g}  max {maximum:g}").format(
            minimum=scores.minimum, mean=scores.mean, p50=scores.p50, maximum=scores.maximum
        )
    )
    most = max(count for _low, _high, count in scores.histogram)
    for low, high, count in scores.histogram:
        write(f"{low:8.3g} … {high:8.3g}  {'█' * round(40 * count / most)}{' ' if count else ''}{count}")


def _tell(report: Any, options: argparse.Namespace) -> int:
    from agentic_rl_tui.core.models.kinds import FunctionKind

    if options.output != "table":
        emit(_data(report), options.output)
        return exits.OK if report.is_ok else exits.REJECTED
    facts(
        {
            _("function"): f"{report.classpath.colon} ({report.kind.value})",
            _("status"): report.status.value,
            _("verdict"): _(report.verdict.value) if report.kind is not FunctionKind.ROLLOUT else None,
            _("score"): None if report.score is None else f"{report.score:g}",
            _("scores"): " ".join(f"{score:g}" for score in report.scores) if len(report.scores) > 1 else None,
            _("latency"): _("{latency:.1f} ms, started in {start:.0f} ms").format(
                latency=report.latency_s * 1000, start=report.start_s * 1000
            ),
            _("model calls"): _calls_text(report.model_calls),
            _("trace"): None if report.completeness is None else report.completeness.text,
            _("output"): report.output,
        }
    )
    if report.waterfall is not None and report.waterfall.rows:
        table(
            (_("SHARE"), _("METRIC"), _("VALUE"), _("× METRIC"), _("× SUB"), _("× FUNCTION")),
            [
                (
                    f"{row.contribution:+.4f}", row.metric or row.sub or row.component, f"{row.value:g}",
                    f"{row.metric_weight:g}", f"{row.sub_weight:g}", f"{row.component_weight:g}",
                )
                for row in report.waterfall.rows
            ],
        )  # fmt: skip
    for line in report.lines:
        write(plain(f"{line.stream}: {line.text}"))
    for problem in report.problems:
        print(plain(f"✗ {problem}"), file=sys.stderr)
    if report.error is not None:
        print(plain(f"✗ {report.error.type}: {report.error.message}"), file=sys.stderr)
        traceback = report.error.full_traceback if options.full_traceback else report.error.traceback
        print(as_in_workspace(plain(traceback)), file=sys.stderr)
    for caution in report.warnings:
        print(plain(f"! {caution.message}"), file=sys.stderr)
    return exits.OK if report.is_ok else exits.REJECTED


def _calls_text(calls: Any) -> str | None:
    if not calls:
        return None
    asked, answered = sum(call.prompt_tokens for call in calls), sum(call.completion_tokens for call in calls)
    spent = sum(call.latency_s for call in calls)
    return _("{count}, {asked} + {answered} tokens, {spent:.0f} ms").format(
        count=len(calls), asked=asked, answered=answered, spent=spent * 1000
    )


def _data(report: Any) -> dict[str, Any]:
    return {
        "classpath": report.classpath.dotted,
        "kind": report.kind.value,
        "stage": report.stage.value,
        "status": report.status.value,
        "verdict": report.verdict.value,
        "score": report.score,
        "scores": list(report.scores),
        "metrics": dict(report.metrics),
        "sub_rewards": [
            {
                "name": sub.name, "weight": sub.weight, "score": sub.score, "status": sub.status,
                "error": sub.error.message if sub.error else None,
            }
            for sub in report.sub_results
        ],
        "latency_s": round(report.latency_s, 6),
        "model_calls": [
            {
                "model": call.model, "prompt_tokens": call.prompt_tokens, "completion_tokens": call.completion_tokens,
                "latency_s": call.latency_s, "error": call.error,
            }
            for call in report.model_calls
        ],
        "trace": None if report.completeness is None else {
            **report.completeness.record(), "spans": [span.record() for span in report.spans],
        },
        "output": report.output,
        "problems": [str(problem) for problem in report.problems],
        "error": None if report.error is None else f"{report.error.type}: {report.error.message}",
        "traceback": None if report.error is None else report.error.traceback,
        "printed": [f"{line.stream}: {line.text}" for line in report.lines],
        "warnings": [caution.message for caution in report.warnings],
    }  # fmt: skip
