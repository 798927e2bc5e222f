"""What we call sound, the service's own client reads; what it refuses, we have told before."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.jobfile import (
    SCENARIOS,
    JobDocument,
    apply_edits,
    fix_all,
    preset_edits,
    presets_for,
    switch_scenario,
)

pytestmark = pytest.mark.conformance

Checked = Callable[..., JobDocument]
CHECKOUT = Path(__file__).resolve().parents[3]
READ = """
import json, sys
import yaml
from dashscope.finetune.reinforcement.common.model import TuningModel
answers = []
for text in json.load(sys.stdin):
    try:
        job = TuningModel.model_validate(yaml.safe_load(text))
        answers.append({"name": job.name, "training": job.training.model_dump(mode="json")})
    except Exception as error:
        answers.append({"error": f"{type(error).__name__}: {error}"})
print("ANSWERS" + json.dumps(answers))
"""
REFUSALS = {
    "unknown-key", "foreign-key", "wrong-type", "null-value", "not-a-choice", "out-of-range", "ambiguous-value",
    "yaml-syntax", "yaml-tag", "yaml-key", "yaml-empty", "yaml-mapping", "yaml-documents",
}  # fmt: skip


@pytest.fixture(scope="session")
def official() -> Callable[[list[str]], list[dict[str, Any]]]:
    """Reads texts with the service's client, in its own interpreter."""
    default = CHECKOUT / ".cache" / "peers" / "dashscope-2.0.2" / "bin" / "python"
    python = Path(os.environ.get("AGENTIC_RL_TEST_DASHSCOPE", default))
    if not python.exists():
        pytest.skip(f"no interpreter with dashscope at {python}")

    def read(texts: list[str]) -> list[dict[str, Any]]:
        done = subprocess.run(
            [python, "-c", READ], input=json.dumps(texts), capture_output=True, text=True, timeout=120, check=True
        )
        answers: list[dict[str, Any]] = json.loads(done.stdout.partition("ANSWERS")[2])
        return answers

    return read


def test_everything_we_write_is_read(official: Any, checked: Checked, facts: Any, sound: str) -> None:
    texts = [sound]
    for name in SCENARIOS:
        text = apply_edits(sound, switch_scenario(sound, name, facts=facts))
        texts.append(text)
        texts += [preset_edits(checked(text), preset.name).text for preset in presets_for(checked(text))]
    texts += [fix_all(checked(text)) for text in ("{}\n", "name: x\n", "functions: null\n", "training:\n  type: rl\n")]
    for text, answer in zip(texts, official(texts), strict=True):
        assert "error" not in answer, text
        job = checked(text).job
        assert job is not None
        assert answer["training"]["type"] == job.training.type
        assert answer["training"]["hyper_parameters"] == job.training.hyper_parameters


def test_what_is_refused_was_told_before(official: Any, checked: Checked, sound: str) -> None:
    changes = [
        ("name: calc-agent", "name: 7"), ("name: calc-agent", "name:"), ("name: calc-agent", "name: yes"),
        ("name: calc-agent", "name: 2026-12-01"), ("name: calc-agent", "mode: x\nname: a"), ("model:", "modell:"),
        ("  name: qwen3.5-9b", "  id: qwen3.5-9b"), ("timeout: 600", "timeout: 1.5"), ("timeout: 600", "timeout: x"),
        ("type: rollout", "type: agent"), ("type: rollout", "type:"), ("cpu: 2", "cpu: two"),
        ("memory_size: 4096   #", "memory_size: 4.5   #"), ("memory_size: 4096   #", "memory: 4   #"),
        ("zipdir: ./", "zipdir: 3"), ("zipdir: ./", "zipdir:"), ("correct: 0.7", "correct: much"),
        ("weight: 1.0", "weight: heavy"), ("  - type: training", "  - type: train"), ("datasets:", "datasets: 3\nx:"),
        ("file_name: ./data/train.jsonl", "file: ./data/train.jsonl"), ("type: reinforcement", "type: pg-opd"),
        ("  hyper_parameters:\n", "  hyper_parameters: 3\n  y:\n"), ("training:", "training: null\nz:"),
        ("      env:\n", "      env: null\n      other:\n"),
        ("    fcmodel:\n      zipdir", "    fcmodel: a\n    b:\n      c"),
        ("  resources:\n", "  resources:\n  more:\n"), ("name: calc-agent", "observability: null\nname: x"),
    ]  # fmt: skip
    texts = [sound.replace(old, new, 1) for old, new in changes]
    for text, answer in zip(texts, official(texts), strict=True):
        told = {item.rule for item in checked(text).diagnostics}
        if "error" in answer:
            assert told & REFUSALS, (text, answer)
