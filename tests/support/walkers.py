"""What the tests that drive the platform with command lines and other clients have in common."""

import json
import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

FUNCTIONS = """
import asyncio
from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor, AbstractRolloutProcessor, AgentOutput, Reward, RewardInput, RewardOutput,
    RolloutInput, RolloutOutput,
)

class Slow(AbstractRolloutProcessor):
    async def process(self, input_data: RolloutInput) -> RolloutOutput:
        await asyncio.sleep(0.2)
        return RolloutOutput(agent_output=AgentOutput(messages=[{"role": "assistant", "content": "hi"}]))

class One(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        return RewardOutput(reward=Reward(reward_score=1.0))
"""
JOB = """
name: slow
model: {name: qwen3.5-9b}
functions:
- {type: rollout, name: slow, timeout: 60, fcmodel: {zipdir: ./, classpath: fns.Slow}}
- {type: reward, name: one, timeout: 60, fcmodel: {zipdir: ./, classpath: fns.One}}
datasets:
- {type: training, data_source_type: file_id, file_name: ./train.jsonl}
training: {type: reinforcement, hyper_parameters: {batch_size: 2, n_epochs: 200, n_rollouts: 2}}
"""
ROW = {"messages": [{"role": "user", "content": "hi"}], "rollout_extra": {"solution": "hi"}}


def peer(version: str) -> Path:
    """Where an interpreter with that version of the official client lies, if it is there."""
    return CHECKOUT / ".cache" / "peers" / f"dashscope-{version}" / "bin" / "python"


def write_slow_workspace(folder: Path) -> None:
    """A job of some minutes, for those who cancel it."""
    folder.mkdir()
    (folder / "fns.py").write_text(FUNCTIONS)
    (folder / "requirements.txt").write_text("")
    (folder / "job.yaml").write_text(JOB)
    (folder / "train.jsonl").write_text((json.dumps(ROW) + "\n") * 8)


def environment(home: Path, url: str, token: str) -> dict[str, str]:
    """All that a user's shell has to set to reach a platform."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1",
        "DASHSCOPE_HTTP_BASE_URL": url,
        "DASHSCOPE_API_KEY": token,
    }
