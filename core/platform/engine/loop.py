"""The steps of a job: roll out, score, learn, log, evaluate, save."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from agentic_rl_tui.core.models.jobs import JobProgress
from agentic_rl_tui.core.platform import crash
from agentic_rl_tui.core.platform.engine import data, hyper, metrics
from agentic_rl_tui.core.platform.engine.advantages import teacher_advantages
from agentic_rl_tui.core.platform.engine.checkpoints import Checkpoints
from agentic_rl_tui.core.platform.engine.failures import FailureLog
from agentic_rl_tui.core.platform.engine.functions import JobFunctions
from agentic_rl_tui.core.platform.engine.groups import Group, GroupRunner, Outcome
from agentic_rl_tui.core.platform.engine.joblog import JobLogWriter
from agentic_rl_tui.core.platform.engine.learning import LearnSettings, Sample, step_size
from agentic_rl_tui.core.platform.engine.options import EngineOptions
from agentic_rl_tui.core.platform.engine.plan import Plan
from agentic_rl_tui.core.platform.engine.policy import Policy
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy
from agentic_rl_tui.core.platform.engine.report import ReportBook
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.engine.seeds import rng
from agentic_rl_tui.core.platform.engine.teacher import EndpointTeacher
from agentic_rl_tui.core.platform.engine.trajectories import TrajectoryWriter
from agentic_rl_tui.core.platform.ports import JobStore

_SHOWN_REWARDS = 64
# A choice is one decision, not hundreds of tokens, so the usual range of 0.2 would leave it almost no room.
_CLIP_HIGH = {"dapo": 1.2}
_CLIP = 0.8
# In distillation the teacher leads; rewards, where a job has some, only lean on its pull.
_DISTILL_COEF = 0.3
_REWARD_SHARE = 0.12
_TEACHER_SHARE = 0.6


class JobFault(Exception):
    """The job cannot go on for a reason that its user can mend: a code in one word, a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class TrainingLoop:
    """Runs the steps of one job. With a policy that cannot learn it evaluates the same steps.

    teacher: who judges the rollouts of a distillation job; None where the policy holds a practice teacher.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        functions: JobFunctions,
        runner: GroupRunner,
        policy: Policy,
        log: JobLogWriter,
        book: ReportBook,
        writer: TrajectoryWriter,
        checkpoints: Checkpoints,
        failures: FailureLog,
        jobs: JobStore,
        options: EngineOptions,
        teacher: EndpointTeacher | None = None,
    ) -> None:
        self._teacher = teacher
        self._plan = plan
        self._functions = functions
        self._runner = runner
        self._policy = policy
        self._log = log
        self._book = book
        self._writer = writer
        self._checkpoints = checkpoints
        self._failures = failures
        self._jobs = jobs
        self._options = options
        self._seen: tuple[float, float] | None = None
        self._bad_steps = 0
        self._means: list[float] = []
        self._warned: set[str] = set()
        self._validation: float | None = None
        self._validated_step = -1
        learns = self._learner is not None
        # With a policy that learns nothing, the word training may stand nowhere.
        self._phase = "training" if learns else "evaluation"
        self.progress = JobProgress(
            phase="starting", total_steps=plan.total_steps, policy="practice" if learns else "endpoint"
        )

    @property
    def _learner(self) -> PracticePolicy | None:
        return self._policy if isinstance(self._policy, PracticePolicy) else None

    async def run(self) -> None:
        """All steps. Raises JobFault when too much of the users' functions fails."""
        plan = self._plan
        await self._evaluate(0)
        order = rng(plan.hyper.seed, "batches")
        batches = data.batches(len(plan.rows), plan.batch_size, plan.hyper.n_epochs, order)
        for step in range(1, plan.total_steps + 1):
            # In a thread, because shuffling a large data set takes longer than the platform may stand still.
            await self._step(step, await asyncio.to_thread(next, batches))
            if self._evaluates(step):
                await self._evaluate(step)
            await self._save(step)

    def _evaluates(self, step: int) -> bool:
        return step % self._plan.hyper.eval_steps == 0 or step == self._plan.total_steps

    async def _step(self, step: int, indices: Sequence[int]) -> None:
        await self._tell(phase=self._phase)
        if step == self._options.fail_at_step:
            raise JobFault("InjectedFault", f"failed at step {step}, as the platform was told to")
        began = self._options.timer()
        rows = await asyncio.to_thread(self._plan.rows.read, indices)
        groups = await self._make_groups(rows, "train", step, self._plan.hyper.n_rollouts)
        crash.point("step.rolled")
        rolled = self._options.timer()
        for group in groups:
            self._widen(group)
        values: dict[str, Any] = {"step": step, "epoch": step * self._plan.batch_size / len(self._plan.rows)}
        values |= await asyncio.to_thread(metrics.step_metrics, groups, self._seen)
        values |= await self._learn(step, groups)
        crash.point("step.learned")
        done = self._options.timer()
        values |= {
            "timing/s/gen": rolled - began,
            "timing/s/update_actor": done - rolled,
            "timing/s/step": done - began,
        }
        common = self._failures.most_common()
        for text in self._failures.take():
            await self._log.warning(f"step {step}: {text}")
        await self._log.metrics(values)
        if self._learner is not None and self._evaluates(step):
            await self._log.info(f"step {step}: the practice policy chose {metrics.choices(groups)}")
        crash.point("step.logged")
        await asyncio.to_thread(self._book.add_step, step, groups, values)
        crash.point("step.noted")
        await self._tell(step=step, reward=values.get("critic/rewards/mean"))
        self._check(step, values, common)
        await self._hints(values)

    async def _make_groups(self, rows: Sequence[Row], phase: str, step: int, size: int) -> list[Group]:
        """All groups of a step, a bounded number at once, each on disk as soon as it is whole."""
        if self._teacher is not None:
            self._teacher.begin_step()
        at_once = max(2, -(-2 * self._functions.slots // size))
        gate = asyncio.Semaphore(at_once)
        temperature = self._plan.hyper.temperature if phase == "train" else self._options.validation_temperature
        done = 0

        async def one(row: Row) -> Group:
            nonlocal done
            async with gate:
                group = await self._runner.run(row, phase=phase, step=step, size=size, temperature=temperature)
                records = [outcome.record(phase, step, row.truth) for outcome in group.outcomes]
                await asyncio.to_thread(self._writer.write, records)
                group.drop_texts()
                done += size
                return group

        async with (
            self._heartbeat(
                lambda: (
                    f"step {step}: {done} of {len(rows) * size} {phase} rollouts done; "
                    f"running now: {self._functions.waited_for()}"
                )
            ),
            asyncio.TaskGroup() as tasks,
        ):
            running = [tasks.create_task(one(row)) for row in rows]
        groups = [task.result() for task in running]
        for group in groups:
            self._note_failures(group)
        return groups

    @contextlib.asynccontextmanager
    async def _heartbeat(self, text: Callable[[], str]) -> AsyncIterator[None]:
        """Say how far a long step is, so that nobody has to guess whether it hangs."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(self._options.heartbeat_s)
                await self._log.info(text())

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    def _note_failures(self, group: Group) -> None:
        for outcome in group.outcomes:
            where = f"sample {outcome.sample} rollout {outcome.rollout}"
            if outcome.failure is not None:
                title = self._functions.rollout.title if self._functions.rollout else "the platform's rollout"
                self._failures.add(title, outcome.failure, where)
            for failure in outcome.unjudged:
                self._failures.add("the teacher", failure, where)
            for score in outcome.scores:
                kind = score.kind.replace("_", " ")
                if score.failure is not None:
                    self._failures.add(f"{kind} {score.name!r}", score.failure, where)
                for sub, failure in score.sub_failures:
                    self._failures.add(f"sub-reward {sub!r} of {kind} {score.name!r}", failure, where)

    async def _learn(self, step: int, groups: Sequence[Group]) -> dict[str, Any]:
        learner = self._learner
        if learner is None:
            return {}
        plan = self._plan
        rate = hyper.learning_rate_at(plan.hyper, step, plan.total_steps)
        kl_coef = 0.0 if plan.is_opd else plan.hyper.kl_loss_coef
        settings = LearnSettings(
            step=step_size(rate),
            kl_coef=kl_coef,
            clip_low=_CLIP,
            clip_high=_CLIP_HIGH.get(plan.hyper.algorithm, _CLIP),
            mini_batch=plan.hyper.ppo_mini_batch_size,
            distill_coef=_DISTILL_COEF if plan.is_opd and self._teacher is None else 0.0,
        )
        samples = [
            Sample(outcome.decisions, advantage)
            for outcome, advantage in self._advantages(groups)
            if self._teaches(outcome)
        ]
        update = await asyncio.to_thread(learner.learn, samples, settings, seed=(plan.hyper.seed, step))
        values = metrics.update_metrics(update, kl_coef=kl_coef, learning_rate=rate, step=settings.step)
        if plan.is_opd:
            values |= metrics.distillation_metrics(groups)
        if self._teacher is not None:
            values |= metrics.teacher_metrics(groups)
        return values

    def _advantages(self, groups: Sequence[Group]) -> list[tuple[Outcome, float]]:
        """Each rollout with how much more or less likely it shall become."""
        share = _REWARD_SHARE if self._plan.is_opd else 1.0
        given = [(outcome, share * (outcome.advantage or 0.0)) for group in groups for outcome in group.outcomes]
        if self._teacher is None:
            return given
        judged = [[item.judged.mean if item.judged else None for item in group.outcomes] for group in groups]
        liked = (advantage for group in teacher_advantages(judged) for advantage in group)
        return [(outcome, sum_ + _TEACHER_SHARE * more) for (outcome, sum_), more in zip(given, liked, strict=True)]

    def _teaches(self, outcome: Outcome) -> bool:
        """A rollout teaches when it is scored; in a distillation job also when it merely went through."""
        return outcome.failure is None and (self._plan.is_opd or outcome.advantage is not None)

    def _widen(self, group: Group) -> None:
        for outcome in group.outcomes:
            if outcome.reward is not None:
                low, high = self._seen or (outcome.reward, outcome.reward)
                self._seen = (min(low, outcome.reward), max(high, outcome.reward))

    def _check(self, step: int, values: dict[str, Any], common: str | None) -> None:
        """Give up when nothing of a step was any good, or more than half of several steps in a row was not."""
        total, failed = values["trajectory/total"], values["trajectory/failed_rollouts"]
        because = f"; most often: {common}" if common else ""
        if failed == total:
            raise JobFault("RolloutFailed", f"all {total} rollouts of step {step} failed{because}")
        if values["trajectory/scored"] == 0 and self._wants_rewards:
            raise JobFault("RewardFailed", f"no rollout of step {step} could be scored{because}")
        lost = total - values["trajectory/scored"] if self._wants_rewards else failed
        self._bad_steps = self._bad_steps + 1 if 2 * lost > total else 0
        if self._bad_steps >= self._options.bad_steps:
            raise JobFault(
                "TooManyFailures",
                f"more than half of the rollouts failed or could not be scored in {self._bad_steps} steps in a row"
                f"{because}",
            )

    @property
    def _wants_rewards(self) -> bool:
        return self._functions.has_rewards or not self._plan.is_opd

    async def _hints(self, values: dict[str, Any]) -> None:
        """Say once what a curve alone would not tell."""
        alive = values["trajectory/total"] - values["trajectory/failed_rollouts"]
        if values["trajectory/no_model_call"] == alive:
            await self._warn_once(
                "no model call",
                "no rollout called the model at model_resource.base_url with model_resource.api_key: "
                "there is nothing to learn from",
            )
        if self._wants_rewards and values["trajectory/zero_variance_share"] > 0.5:
            await self._warn_once(*metrics.zero_variance_hint(values))

    async def _warn_once(self, key: str, text: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            await self._log.warning(text)

    async def _evaluate(self, step: int) -> None:
        """One rollout of every validation row, with the same draws at every evaluation."""
        validation = self._plan.validation
        if validation is None:
            return
        await self._tell(phase="evaluating")
        began = self._options.timer()
        rows = await asyncio.to_thread(validation.read, range(len(validation)))
        groups = await self._make_groups(rows, "validation", step, 1)
        values: dict[str, Any] = {"step": step} | metrics.validation_metrics(groups)
        learner = self._learner
        if self._teacher is not None:
            values |= metrics.teacher_metrics(groups, prefix="validation/")
        elif learner is not None and self._plan.is_opd:
            decisions = [item for group in groups for outcome in group.outcomes for item in outcome.decisions]
            values["validation/distillation/loss"] = learner.distance_to_teacher(decisions)
        values["timing/s/testing"] = self._options.timer() - began
        common = self._failures.most_common()
        for text in self._failures.take():
            await self._log.warning(f"validation at step {step}: {text}")
        await self._log.metrics(values)
        self._validation = values.get("validation/data/reward/mean@1")
        self._validated_step = step
        self._book.add_validation(step, values)
        await self._tell(validation=self._validation)
        failed, total = values["validation/trajectory/failed_rollouts"], values["validation/trajectory/total"]
        if failed == total:
            because = f"; most often: {common}" if common else ""
            raise JobFault("RolloutFailed", f"all {total} rollouts of the validation at step {step} failed{because}")

    async def _save(self, step: int) -> None:
        learner = self._learner
        if learner is None:
            return
        plan = self._plan
        is_final = step == plan.total_steps
        rows, batch = len(plan.rows), plan.batch_size
        ends_epoch = data.epoch_of(step, rows, batch) > data.epoch_of(step - 1, rows, batch)
        wanted = {
            "steps": step % plan.hyper.save_steps == 0,
            "epoch": ends_epoch,
            "no": False,
        }[plan.hyper.save_strategy]
        if not wanted and not is_final:
            return
        saved = await asyncio.to_thread(
            self._checkpoints.save,
            step,
            learner.dump(),
            validation=self._validation if self._validated_step == step else None,
            reward=self._means[-1] if self._means else None,
            now=self._options.now(),
            is_final=is_final,
        )
        crash.point("checkpoint.saved")
        told = "" if saved.validation is None else f", validation reward {saved.validation:.4f}"
        best = " (best so far)" if saved.is_best else ""
        await self._log.info(f"saved checkpoint {saved.name}{told}{best}")

    async def _tell(
        self,
        *,
        phase: str | None = None,
        step: int | None = None,
        reward: float | None = None,
        validation: float | None = None,
    ) -> None:
        """Publish the progress where something changed."""
        if reward is not None:
            self._means.append(reward)
        old = self.progress
        new = JobProgress(
            phase=phase or old.phase,
            step=old.step if step is None else step,
            total_steps=old.total_steps,
            rewards=thinned(self._means, _SHOWN_REWARDS) if reward is not None else old.rewards,
            validation=old.validation if validation is None else validation,
            policy=old.policy,
        )
        if new != old:
            self.progress = new
            await self._jobs.set_progress(self._plan.job.job_id, new)


def thinned(values: Sequence[float], limit: int) -> tuple[float, ...]:
    """At most `limit` of the values, evenly picked, the first and the last among them."""
    if len(values) <= limit:
        return tuple(values)
    last = len(values) - 1
    return tuple(values[round(place * last / (limit - 1))] for place in range(limit))
