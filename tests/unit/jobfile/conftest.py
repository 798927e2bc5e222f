"""A sound job file, and facts about a workspace that exists only here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentic_rl_tui.core.jobfile import JobDocument, check
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath, ProcessorInfo, SubReward

SOUND = """\
# A small run
name: calc-agent
model:
  name: qwen3.5-9b   # dense

functions:
  - type: rollout
    name: rollout-1
    timeout: 600
    fcmodel:
      zipdir: ./
      classpath: functions.rollout.agent.CalcRollout
      requirements_path: ./requirements.txt
    runtime:
      cpu: 2
      memory_size: 4096   # MB
      disk_size: 512
      concurrency: 30
      capacity: 30
      max_capacity: 60
      min_capacity: 30
      memory_scale_threshold: 0.6
      env:
        ENABLE_TRAJECTORY: "true"
  # 答案是否正确
  - type: reward
    name: reward-1
    weight: 1.0
    timeout: 120
    reward_metric_weight:
      correct: 0.7
      format: 0.3
    fcmodel:
      classpath: functions/reward/answer.py:AnswerReward
    runtime:
      memory_size: 4096
      disk_size: 512
      concurrency: 30
      capacity: 30

datasets:
  - type: training
    file_name: ./data/train.jsonl
  - type: validation
    file_name: ./data/valid.jsonl

training:
  type: reinforcement
  hyper_parameters:
    algorithm: gspo
    kl_loss_coef: 0.002
    learning_rate: 2.0e-6   # small
    lr_scheduler_type: linear
    lr_warmup_steps: -1
    n_epochs: 1
    batch_size: 64
    n_rollouts: 8
    ppo_mini_batch_size: 8
    max_length: 8192
    max_prompt_length: 1024
    eval_steps: 1
    save_steps: 100
    save_strategy: epoch
    save_total_limit: 1
  resources:
    charge_type: mtu_postpaid
    mtu_spec_code: MTU4
    mtu_capacity: 24
"""

PROCESSORS = (
    ProcessorInfo(FunctionKind.ROLLOUT, "CalcRollout", "functions/rollout/agent.py", 12),
    ProcessorInfo(
        FunctionKind.REWARD,
        "AnswerReward",
        "functions/reward/answer.py",
        9,
        sub_rewards=(SubReward("correct", "correct", 0.5, False, 11), SubReward("format", "fmt", 0.5, False, 15)),
    ),
    ProcessorInfo(FunctionKind.GROUP_REWARD, "Ranking", "functions/reward/group.py", 7),
    ProcessorInfo(FunctionKind.REWARD, "BaseReward", "functions/reward/base.py", 3, is_abstract=True),
)


@dataclass
class FakeFacts:
    """Rows by file name without ``./``; every file that is listed exists."""

    known: Sequence[ProcessorInfo] | None = PROCESSORS
    row_counts: dict[str, int] = field(default_factory=lambda: {"data/train.jsonl": 1000, "data/valid.jsonl": 100})
    others: tuple[str, ...] = ("requirements.txt", "extra/prompt.txt")

    def find_class(self, classpath: ClassPath) -> ProcessorInfo | None:
        return next((info for info in self.known or () if info.classpath == classpath), None)

    def module_exists(self, classpath: ClassPath) -> bool:
        return any(info.path == classpath.path for info in self.known or PROCESSORS)

    def file_exists(self, path: str) -> bool:
        return path.removeprefix("./") in self.files()

    def rows(self, path: str) -> int | None:
        return self.row_counts.get(path.removeprefix("./"))

    def processors(self) -> Sequence[ProcessorInfo] | None:
        return self.known

    def files(self) -> Sequence[str]:
        sources = [info.path for info in PROCESSORS]
        return [*self.row_counts, *self.others, *sources]


@pytest.fixture
def sound() -> str:
    return SOUND


@pytest.fixture
def facts() -> FakeFacts:
    return FakeFacts()


@pytest.fixture
def checked(facts: FakeFacts) -> Callable[..., JobDocument]:
    """Checks a text as ``ws/job.yaml`` with the facts of this test."""

    def run(text: str, **more: object) -> JobDocument:
        return check(text, path=Path("ws/job.yaml"), **{"facts": facts, **more})  # type: ignore[arg-type]

    return run
