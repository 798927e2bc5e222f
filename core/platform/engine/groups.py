"""One group: the rollouts of a data row, their scores, how far each beat the others."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl_tui.core.platform.engine.advantages import GroupStats, group_advantages
from agentic_rl_tui.core.platform.engine.functions import Function, JobFunctions
from agentic_rl_tui.core.platform.engine.gateway import Gateway
from agentic_rl_tui.core.platform.engine.policy import Decision, ModelFault, ModelRequest, Place, Policy
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.engine.scoring import (
    Failure,
    Score,
    combine,
    group_scores_of,
    numbers,
    own_score,
    score_of,
)
from agentic_rl_tui.core.platform.engine.session import Draft, Session, message_of
from agentic_rl_tui.core.platform.engine.teacher import EndpointTeacher, Judgement, joined

_PRINTED_CHARS = 4_000


@dataclass(slots=True)
class Outcome:
    """One rollout. agent_output, calls and drafts are dropped once the trajectory is on disk.

    judged is what a teacher says of all answers of the policy, unjudged why it says nothing of some.
    """

    sample: int
    rollout: int
    rollout_id: str
    attempt: int = 1
    agent_output: dict[str, Any] | None = None
    failure: Failure | None = None
    scores: list[Score] = field(default_factory=list)
    decisions: tuple[Decision, ...] = ()
    calls: list[dict[str, Any]] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    judged: Judgement | None = None
    unjudged: list[Failure] = field(default_factory=list)
    turns: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_cut: bool = False
    rollout_metrics: Mapping[str, float] = field(default_factory=dict)
    rollout_s: float = 0.0
    reward_s: float = 0.0
    printed: str = ""
    reward: float | None = None
    advantage: float | None = None

    def record(self, phase: str, step: int, truth: Any) -> dict[str, Any]:
        """The trajectory as it is stored."""
        output = self.agent_output or {}
        record: dict[str, Any] = {
            "step": step,
            "phase": phase,
            "sample": self.sample,
            "rollout": self.rollout,
            "rollout_id": self.rollout_id,
            "attempt": self.attempt,
            "reward": self.reward,
            "advantage": self.advantage,
            "ground_truth": truth,
            "messages": output.get("messages"),
            "rollout_extra": output.get("rollout_extra"),
            "rollout_metrics": dict(self.rollout_metrics),
            "scores": [score.record() for score in self.scores],
            "calls": self.calls,
            "strategies": [decision.name for decision in self.decisions],
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "timings": {"rollout_s": round(self.rollout_s, 6), "reward_s": round(self.reward_s, 6)},
        }
        if self.failure is not None:
            record["failure"] = self.failure.record()
        if self.judged is not None:
            record["teacher"] = {"logprob": round(self.judged.logprob, 6), "tokens": self.judged.tokens}
        if self.printed:
            record["printed"] = self.printed[:_PRINTED_CHARS]
        return record


@dataclass(slots=True)
class Group:
    row: Row
    outcomes: list[Outcome]
    stats: GroupStats

    def drop_texts(self) -> None:
        """Forget what is only needed on disk; counts and scores stay."""
        for outcome in self.outcomes:
            outcome.agent_output = None
            outcome.calls = []
            outcome.drafts = []


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """What all groups of a job have in common.

    uses_own_score: a rollout's reward_score is its reward, for jobs without reward functions.
    """

    job_id: str
    seed: int
    max_length: int
    max_tokens: int
    attempts: int = 2
    uses_own_score: bool = False
    timer: Callable[[], float] = time.perf_counter


class GroupRunner:
    """Makes groups. Failures of users' functions never raise; they stand in the outcomes."""

    def __init__(
        self,
        functions: JobFunctions,
        gateway: Gateway,
        policy: Policy,
        settings: GroupSettings,
        teacher: EndpointTeacher | None = None,
    ) -> None:
        self._teacher = teacher
        self._functions = functions
        self._gateway = gateway
        self._policy = policy
        self._settings = settings
        self._own_gate = asyncio.Semaphore(functions.slots)

    async def run(self, row: Row, *, phase: str, step: int, size: int, temperature: float) -> Group:
        """phase is ``train`` or ``validation``; temperature is what the gateway uses where a call names none."""
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(self._one(row, phase, step, number, temperature)) for number in range(size)]
        outcomes = [task.result() for task in running]
        # A validation group has one member, whom a comparison with nobody would only flatter.
        if self._functions.group_rewards and (phase == "train" or not self._functions.rewards):
            await self._score_group(row, outcomes)
        for outcome in outcomes:
            if outcome.failure is None and outcome.scores:
                outcome.reward = combine(outcome.scores)
        stats = group_advantages([outcome.reward for outcome in outcomes])
        for outcome, advantage in zip(outcomes, stats.advantages, strict=True):
            outcome.advantage = advantage
        return Group(row, outcomes, stats)

    async def _one(self, row: Row, phase: str, step: int, rollout: int, temperature: float) -> Outcome:
        rollout_id = f"{phase}-{step}-{row.index}-{rollout}"
        outcome = Outcome(row.index, rollout, rollout_id)
        began = self._settings.timer()
        if self._functions.rollout is None:
            await self._generate(row, outcome, phase, step, temperature)
        else:
            await self._call_rollout(self._functions.rollout, row, outcome, phase, step, temperature)
        outcome.rollout_s = self._settings.timer() - began
        if outcome.failure is None:
            began = self._settings.timer()
            await self._score(row, outcome)
            outcome.reward_s = self._settings.timer() - began
            if self._teacher is not None:
                await self._judge(self._teacher, outcome)
        return outcome

    def _open(self, place: Place) -> Session:
        return self._gateway.open(self._policy, place, keeps_drafts=self._teacher is not None)

    def _place(self, row: Row, outcome: Outcome, phase: str, step: int, temperature: float, attempt: int) -> Place:
        # Validation draws the same at every evaluation, so that a change of its mean comes from the policy alone.
        drawn_at = step if phase == "train" else 0
        path = (self._settings.seed, phase, drawn_at, row.index, outcome.rollout, attempt)
        return Place(row, path, temperature, self._settings.max_length)

    async def _generate(self, row: Row, outcome: Outcome, phase: str, step: int, temperature: float) -> None:
        """The platform's own rollout: one answer to the row's messages."""
        session = self._open(self._place(row, outcome, phase, step, temperature, 1))
        request = ModelRequest(row.messages, row.tools or [], max_tokens=self._settings.max_tokens)
        try:
            async with self._own_gate:
                reply = await self._gateway.ask(session, request)
        except ModelFault as fault:
            outcome.failure = Failure("raised", "ModelFault", fault.message)
        else:
            messages = [*row.messages, message_of(reply.completions[0])]
            outcome.agent_output = {
                "messages": messages,
                "rollout_extra": row.rollout_extra,
                "rollout_metrics": {},
                "reward_score": None,
            }
        finally:
            self._gateway.close(session)
        self._take_session(outcome, session)

    async def _call_rollout(
        self, function: Function, row: Row, outcome: Outcome, phase: str, step: int, temperature: float
    ) -> None:
        sessions: list[Session] = []

        def payload(attempt: int) -> dict[str, Any]:
            for old in sessions:
                self._gateway.close(old)
            session = self._open(self._place(row, outcome, phase, step, temperature, attempt))
            sessions.append(session)
            return self._rollout_payload(row, outcome, session, temperature, attempt)

        try:
            result, outcome.attempt = await function.call_again(payload, self._settings.attempts)
        finally:
            for session in sessions:
                self._gateway.close(session)
        self._take_session(outcome, sessions[-1])
        outcome.printed = result.printed
        if not result.is_ok:
            outcome.failure = Failure.of(result)
            return
        agent_output = (result.output or {}).get("agent_output")
        if not isinstance(agent_output, dict):
            outcome.failure = Failure("invalid_output", "NoAgentOutput", "it answered without an agent_output")
            return
        outcome.agent_output = agent_output
        outcome.rollout_metrics = numbers(agent_output.get("rollout_metrics"))

    def _take_session(self, outcome: Outcome, session: Session) -> None:
        outcome.decisions = tuple(session.decisions)
        outcome.drafts = session.drafts
        outcome.calls = [call.record() for call in session.calls]
        outcome.turns = len(session.calls)
        outcome.prompt_tokens = session.prompt_tokens
        outcome.completion_tokens = session.completion_tokens
        outcome.is_cut = session.is_cut

    def _rollout_payload(
        self, row: Row, outcome: Outcome, session: Session, temperature: float, attempt: int
    ) -> dict[str, Any]:
        return {
            "func_type": "rollout",
            "messages": row.messages,
            "tools": row.tools,
            "ground_truth": row.truth,
            "rollout_extra": row.rollout_extra,
            "sampling_params": {
                "temperature": temperature,
                "top_p": 1.0,
                "max_tokens": self._settings.max_tokens,
            },
            "model_resource": {
                "model_name": self._policy.name,
                "base_url": self._gateway.model_url,
                "api_key": session.key,
            },
            "request_metadata": self._metadata(outcome, attempt),
        }

    def _metadata(self, outcome: Outcome, attempt: int) -> dict[str, str]:
        return {
            "job_id": self._settings.job_id,
            "sample_id": str(outcome.sample),
            "rollout_id": outcome.rollout_id,
            "attempt_id": str(attempt),
        }

    async def _score(self, row: Row, outcome: Outcome) -> None:
        if not self._functions.has_rewards:
            if self._settings.uses_own_score:
                outcome.scores.append(own_score(outcome.agent_output or {}))
            return
        payload = {
            "func_type": "reward",
            "agent_output": outcome.agent_output,
            "ground_truth": row.truth,
            "request_metadata": self._metadata(outcome, outcome.attempt),
        }

        async def score(function: Function) -> Score:
            result, attempts = await function.call_again(lambda _: payload, self._settings.attempts)
            return score_of(function.name, function.weight, result, attempts=attempts)

        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(score(function)) for function in self._functions.rewards]
        outcome.scores += [task.result() for task in running]

    async def _judge(self, teacher: EndpointTeacher, outcome: Outcome) -> None:
        found = []
        for messages, answer in outcome.drafts:
            try:
                said = await teacher.judge(messages, answer)
            except ModelFault as fault:
                outcome.unjudged.append(Failure("unjudged", "unjudged", fault.message))
            else:
                found += [] if said is None else [said]
        outcome.judged = joined(found)

    async def _score_group(self, row: Row, outcomes: list[Outcome]) -> None:
        alive = [outcome for outcome in outcomes if outcome.failure is None]
        if not alive:
            return
        payload = {
            "func_type": "group_reward",
            "agent_outputs": [outcome.agent_output for outcome in alive],
            "ground_truth": row.truth,
            "request_metadata": self._metadata(alive[0], alive[0].attempt),
        }

        async def score(function: Function) -> list[Score]:
            result, attempts = await function.call_again(lambda _: payload, self._settings.attempts)
            return group_scores_of(function.name, function.weight, result, len(alive), attempts=attempts)

        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(score(function)) for function in self._functions.group_rewards]
        for task in running:
            for outcome, given in zip(alive, task.result(), strict=True):
                outcome.scores.append(given)
