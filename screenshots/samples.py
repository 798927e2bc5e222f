"""Jobs, logs, trajectories and traces to be shown: the same ones at every call."""

import json
import math
import random
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from agentic_rl_tui.core.models.jobs import Job, JobProgress
from agentic_rl_tui.core.tracing.model import Completeness, Counted, Run, Span

ZONE = timezone(timedelta(hours=8))
NOW = datetime(2026, 12, 1, 21, 4, 12, tzinfo=ZONE).astimezone(UTC).timestamp()


def curve(steps: int, start: float, end: float, *, seed: int = 1, noise: float = 0.03) -> tuple[float, ...]:
    """A reward curve that rises like a real one."""
    dice = random.Random(seed)
    span = end - start
    return tuple(
        round(min(1.0, max(0.0, start + span * (1 - math.exp(-3.2 * k / max(1, steps))) + dice.gauss(0, noise))), 4)
        for k in range(steps)
    )


def ago(seconds: float) -> str:
    return datetime.fromtimestamp(NOW - seconds, ZONE).strftime("%Y-%m-%d %H:%M:%S")


def job(number: int, name: str, status: str, age_s: float, **fields: Any) -> Job:
    values: dict[str, Any] = {
        "job_id": f"ft-20261201{2100 - number:04d}-{number * 2654435761 % 2**16:04x}",
        "job_name": name,
        "status": status,
        "model": "qwen3.5-9b",
        "create_time": ago(age_s),
        "training_type": "pg",
        "hyper_parameters": {
            "n_epochs": 2,
            "batch_size": 8,
            "n_rollouts": 8,
            "learning_rate": "2e-6",
            "eval_steps": 16,
            "max_prompt_length": 2048,
            "max_response_length": 4096,
        },
        "training_file_ids": ["file-train-6c1f"],
        "validation_file_ids": ["file-valid-02ab"],
    }
    return Job(**(values | fields))


def progress(
    step: int, total: int, rewards: tuple[float, ...], *, phase: str = "train", valid: float | None = None
) -> JobProgress:
    return JobProgress(phase=phase, step=step, total_steps=total, rewards=rewards, validation=valid)


def sample_jobs() -> list[Job]:
    return [
        job(1, "calc-agent-3f2a", "RUNNING", 252, progress=progress(28, 64, curve(28, 0.31, 0.74), valid=0.66)),
        job(2, "calc-opd-9bc1", "QUEUING", 32, training_type="pg_opd", teacher_model="qwen3.5-plus"),
        job(
            3,
            "calc-agent-11d0",
            "SUCCEEDED",
            7400,
            end_time=ago(6100),
            progress=progress(64, 64, curve(64, 0.28, 0.95, seed=3), valid=0.91),
        ),
        job(
            4,
            "calc-agent-77aa",
            "FAILED",
            9200,
            end_time=ago(9100),
            code="FunctionFailed",
            message="rollout raised: KeyError: 'solution' in functions/rollout/agent.py:41",
            progress=progress(3, 64, (0.31, 0.29, 0.33)),
        ),
        job(
            5,
            "routing-tools-0c4e",
            "SUCCEEDED",
            90000,
            end_time=ago(80000),
            model="qwen3.5-32b",
            training_type="pg_opd",
            progress=progress(120, 120, curve(64, 0.42, 0.81, seed=5), valid=0.79),
        ),
        job(
            6,
            "数学推理-长思维链-b7d2",
            "CANCELED",
            176000,
            end_time=ago(172000),
            model="qwen3.5-plus",
            progress=progress(41, 200, curve(41, 0.12, 0.22, seed=6)),
        ),
        job(
            7,
            "gsm8k-group-reward-51e9",
            "SUCCEEDED",
            262000,
            end_time=ago(250000),
            progress=progress(256, 256, curve(64, 0.2, 0.88, seed=7), valid=0.84),
        ),
        job(
            8,
            "calc-agent-constant-0001",
            "SUCCEEDED",
            350000,
            end_time=ago(349000),
            progress=progress(64, 64, (0.5,) * 64, valid=0.5),
        ),
    ]


def sample_log(steps: int = 28) -> list[str]:
    """A log in the service's form: text lines, and a dict of numbers at every step."""
    dice = random.Random(11)
    rewards = curve(steps, 0.31, 0.74)
    lines = [
        "2026-12-01 21:00:00,104 - INFO - job calc-agent-3f2a starts: RL, practice policy",
        "2026-12-01 21:00:00,391 - INFO - rollout calc-rollout: 1 instance, 8 calls at once",
        "2026-12-01 21:00:00,402 - INFO - reward answer: weight 1.0, 1 instance",
        "2026-12-01 21:00:00,511 - INFO - data: 256 rows to train, 64 to validate; 64 steps of 8 prompts x 8 rollouts",
    ]
    for step in range(1, steps + 1):
        minute, second = divmod(step * 9, 60)
        when = f"2026-12-01 21:{minute:02}:{second:02},{dice.randrange(1000):03}"
        if step % 9 == 4:
            lines.append(f"{when} - WARNING - reward answer: 1 of 64 answers had no '### ANSWER' line, score 0")
        if step == 17:
            lines.append(f"{when} - ERROR - rollout calc-rollout raised TimeoutError after 30.0 s (sample 41), retried")
        values = {
            "step": step,
            "critic/rewards/mean": rewards[step - 1],
            "critic/rewards/std": round(0.36 - step * 0.006 + dice.random() * 0.02, 4),
            "trajectory/zero_variance_share": round(min(0.9, 0.12 + step * 0.011 + dice.random() * 0.05), 4),
            "response_length/mean": round(180 + step * 3.1 + dice.random() * 20, 2),
            "actor/kl_loss": round(step * 0.0021 + dice.random() * 0.004, 5),
            "actor/entropy": round(1.4 - step * 0.021 + dice.random() * 0.02, 4),
            "timing/s/rollout/mean": round(0.12 + dice.random() * 0.02, 4),
            "trajectory/failed_rollouts": int(step == 17),
            "trajectory/groups": 8,
            "trajectory/total": 64,
            "trajectory/scored": 64 - int(step == 17),
            "trajectory/zero_variance_groups": 1 + step // 12,
            "trajectory/zero_variance_groups/all_max": step // 12,
            "trajectory/zero_variance_groups/all_min": 1,
            "trajectory/zero_variance_groups/all_other": 0,
            "trajectory/zero_by_judgement": max(0, 14 - step // 3),
            "trajectory/zero_by_exception": 0,
            "critic/rewards/max": 1.0,
            "critic/rewards/min": 0.0,
            "trace/reward_metrics/answer/reward_score/avg": rewards[step - 1],
            "trace/reward_metrics/style/reward_score/avg": round(min(1.0, rewards[step - 1] * 0.6 + 0.3), 4),
        }
        if step % 16 == 0:
            values["validation/data/reward/mean@1"] = round(rewards[step - 1] - 0.04, 4)
        lines.append(f"{when} - INFO - {values!r}")
    return lines


def sample_traces(job_id: str) -> list[tuple[Run, tuple[Span, ...]]]:
    """Four runs: one whole, one whose tools are not traced, one that timed out, one reward."""
    whole = Completeness(Counted(2, 2), Counted(1, 1))
    untraced = Completeness(Counted(2, 2), Counted(0, 1, ("trace_tool() was never called",)))
    cut = Completeness(Counted(2, 2), Counted(1, 1))
    limit = "timed out: no answer within 30 s"
    return [
        sample_trace(job_id, 4, whole),
        sample_trace(job_id, 3, untraced, tools=False),
        sample_trace(job_id, 2, cut, status="timeout", detail=limit),
        sample_trace("", 1, Completeness(), kind="reward"),
    ]


def sample_trace(
    job_id: str,
    number: int,
    completeness: Completeness,
    *,
    kind: str = "rollout",
    status: str = "ok",
    detail: str = "",
    tools: bool = True,
) -> tuple[Run, tuple[Span, ...]]:
    begin = int((NOW - 60 * (5 - number)) * 1e9)
    trace_id = f"{number * 0x1F2E3D4C5B6A7988:032x}"
    name = "CalcRollout" if kind == "rollout" else "AnswerReward"
    question = [{"role": "user", "parts": [{"type": "text", "content": "How many pens are in 7 boxes of 12?"}]}]
    call = {"type": "tool_call", "id": "call_1", "name": "calculator", "arguments": {"expression": "12 * 7"}}
    answer = [{"role": "assistant", "parts": [call], "finish_reason": "tool_calls"}]

    def span(at_ms: int, for_ms: int, title: str, role: str, parent: int | None, **attributes: Any) -> Span:
        is_late = bool(detail) and parent is None
        return Span(
            trace_id,
            f"{number:08x}{at_ms:08x}",
            None if parent is None else f"{number:08x}{parent:08x}",
            title,
            "CLIENT" if role == "LLM" else "INTERNAL",
            begin + at_ms * 1_000_000,
            begin + (at_ms + for_ms) * 1_000_000,
            {"gen_ai.span.kind": role, **attributes},
            status="ERROR" if is_late else "OK",
            message=detail if is_late else "",
        )

    total = 30_000 if detail else 1_840
    talk = {"gen_ai.request.model": "practice", "gen_ai.provider.name": "openai"}
    asked = talk | {"gen_ai.input.messages": json.dumps(question), "gen_ai.output.messages": json.dumps(answer)}
    told = [
        *question,
        *answer,
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "result": "84"}]},
    ]
    final = [{"role": "assistant", "parts": [{"type": "text", "content": "12 * 7 = 84.\n### ANSWER: 84 ###"}]}]
    asked_again = talk | {"gen_ai.input.messages": json.dumps(told), "gen_ai.output.messages": json.dumps(final)}
    spans = [
        span(0, total, "invoke_agentic_rl", "CHAIN", None),
        span(2, total - 4, f"invoke_{kind} {name}", kind.upper(), 0, **{"input.value": json.dumps({"n": number})}),
    ]
    if kind == "rollout":
        spans.append(span(12, 730, "chat practice", "LLM", 2, **asked, **_streamed(214, 0.18)))
        if tools:
            given = {"gen_ai.tool.name": "calculator", "gen_ai.tool.call.arguments": '{"expression": "12 * 7"}'}
            spans.append(span(760, 41, "execute_tool calculator", "TOOL", 2, **given))
        spans.append(span(820, 980, "chat practice", "LLM", 2, **asked_again, **_streamed(330, 0.24)))
    run = Run.over(
        spans,
        function=name,
        kind=kind,
        source="job" if job_id else "call",
        job_id=job_id,
        rollout_id=f"train-28-31-{number}",
        sample_id="31",
        attempt_id="1",
        status=status,
        detail=detail,
        completeness=completeness,
    )
    return run, tuple(spans)


def _streamed(tokens: int, first_s: float) -> dict[str, Any]:
    return {"gen_ai.usage.total_tokens": tokens, "agentic_rl.stream.first_token_s": first_s}


def sample_trajectories(job_id: str) -> dict[str, dict[str, Any]]:
    dice = random.Random(5)
    rewards = curve(28, 0.31, 0.74)
    steps = [
        {"step": number, "phase": "train", "rollouts": 64, "failed_rollouts": int(number == 17), "reward_mean": mean}
        for number, mean in enumerate(rewards, 1)
    ]
    samples = []
    for sample in range(8):
        scores = [round(min(1.0, max(0.0, dice.gauss(0.75, 0.3))), 2) for _ in range(8)] if sample % 3 else [1.0] * 8
        samples.append(
            {
                "sample": sample * 31 % 256,
                "rewards": scores,
                "reward_mean": sum(scores) / len(scores),
                "is_zero_variance": len(set(scores)) == 1,
            }
        )
    samples[7]["rewards"][3] = None
    samples[7]["failed_rollouts"] = 1
    pages: dict[str, dict[str, Any]] = {job_id: {"steps": steps}}
    pages[f"{job_id}/28"] = {"step": 28, "phase": "train", "samples": samples}
    for item in samples:
        rollouts = [sample_rollout(number, score) for number, score in enumerate(item["rewards"])]
        pages[f"{job_id}/28/{item['sample']}"] = {"step": 28, "sample": item["sample"], "rollouts": rollouts}
    # The second sample came up before, when the policy knew less.
    earlier = [sample_rollout(number, 0.1 * (number % 3)) for number in range(8)]
    fewer = [{**item, "rewards": [0.0, 0.1]} for item in samples[1:3]]
    pages[f"{job_id}/27"] = {"step": 27, "phase": "train", "samples": [samples[0]]}
    pages[f"{job_id}/20"] = {"step": 20, "phase": "train", "samples": fewer}
    pages[f"{job_id}/20/31"] = {"step": 20, "sample": 31, "rollouts": earlier}
    return pages


def sample_rollout(number: int, score: float | None) -> dict[str, Any]:
    """One of a group: some call the tool once, some twice, some not at all; a missing score is a failure."""
    asked = "Salma sorts 2470 candles into 26 boxes and adds 5 to the last. How many are in it?"
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Solve the problem. End with ### ANSWER: … ###"},
        {"role": "user", "content": asked},
    ]

    def call(expression: str, answer: str) -> None:
        arguments = json.dumps({"expression": expression})
        messages.append(
            {"role": "assistant", "tool_calls": [{"function": {"name": "calculator", "arguments": arguments}}]}
        )
        messages.append({"role": "tool", "content": answer})

    if number % 4 == 1:
        call("2470 / 26", "95.0")
    if number % 4 != 3:
        call("2470 / 26 + 5", "100.0")
    right = score is not None and score > 0.5
    said = (
        "2470 / 26 = 95, and 95 + 5 = 100.\n\n### ANSWER: 100 ###" if right else "About 90 in each, I think. 大约 95。"
    )
    messages.append({"role": "assistant", "content": said})
    style = 0.6
    record = {
        "step": 28,
        "rollout": number,
        "rollout_id": f"train-28-31-{number}",
        "reward": score,
        "advantage": None if score is None else round(score - 0.72, 3),
        "completion_tokens": 180 + number * 7,
        "ground_truth": "100",
        "scores": [
            {
                "name": "answer",
                "score": score,
                "weight": 0.8,
                "sub_results": [] if score is None else [
                    {"name": "exact", "weight": 0.7, "score": score},
                    {"name": "shape", "weight": 0.3, "score": score},
                ],
            },
            {"name": "style", "score": style, "weight": 0.2},
        ],
        "messages": messages,
    }  # fmt: skip
    if score is None:
        return {**record, "failure": {"kind": "timeout", "type": "TimeoutError", "message": "no answer within 30 s"}}
    return {**record, "reward": round(0.8 * score + 0.2 * style, 4)}


def failed_log() -> list[str]:
    return [
        *sample_log(3)[:-1],
        "2026-12-01 18:30:10,004 - ERROR - rollout calc-rollout raised KeyError: 'solution' (sample 3, rollout 0)",
        "Traceback (most recent call last):",
        '  File "functions/rollout/agent.py", line 41, in process',
        "    answer = row.rollout_extra['solution']",
        "KeyError: 'solution'",
        "2026-12-01 18:30:12,771 - ERROR - 64 of 64 rollouts failed in step 3; the job stops",
        "##FT_COMPLETE##",
    ]
