"""Whole diagnosis of a job file: ours against PyYAML alone and the service's own loader.

    python tests/bench/jobfile_check.py [--rounds 15]

Times are medians of processor time in ms, rounds interleaved; ratios are what to compare between machines. Ours reads
the values, checks every rule, and (second line) asks facts about files and classes; the others only read the values.
The service's loader takes part where .cache/peers/dashscope-2.0.2/bin/python below the checkout, or
AGENTIC_RL_TEST_DASHSCOPE, has it.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from agentic_rl_tui.core.jobfile import DiskFacts, check, complete, describe, fix_all, outline, set_value
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ProcessorInfo

CHECKOUT = Path(__file__).resolve().parents[2]
HEAD = """\
name: bench
model:
  name: qwen3.5-9b
functions:
"""
FUNCTION = """\
  - type: {kind}
    name: {kind}-{number}   # one of many
    timeout: 120
    fcmodel:
      zipdir: ./
      classpath: functions.{kind}.module.Processor
      requirements_path: ./requirements.txt
    runtime:
      cpu: 2
      memory_size: 4096
      disk_size: 512
      concurrency: 30
      capacity: 30
      max_capacity: 60
      min_capacity: 30
      memory_scale_threshold: 0.6
      concurrency_scale_threshold: 0.6
      env:
        ENABLE_TRAJECTORY: "false"
"""
TAIL = """\
datasets:
  - type: training
    file_name: ./train.jsonl
  - type: validation
    file_name: ./valid.jsonl
training:
  type: reinforcement
  hyper_parameters:
    algorithm: gspo
    kl_loss_coef: 0.002
    learning_rate: 2e-6
    batch_size: 64
    n_rollouts: 8
    ppo_mini_batch_size: 8
  resources: {charge_type: mtu_postpaid, mtu_spec_code: MTU4, mtu_capacity: 24}
"""
OFFICIAL = """
import statistics, sys, time
from dashscope.finetune.reinforcement.common.model import TuningModel
for path, rounds in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    times = []
    for _ in range(rounds):
        start = time.process_time()
        TuningModel.load_from_yaml(path)
        times.append(time.process_time() - start)
    print(statistics.median(times) * 1e3)
"""


def job_text(functions: int) -> str:
    blocks = [FUNCTION.format(kind="rollout", number=1)]
    blocks += [FUNCTION.format(kind="reward", number=number) for number in range(1, functions)]
    return HEAD + "".join(blocks) + TAIL


def medians(deeds: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in deeds}
    for _ in range(rounds):
        for name, deed in deeds.items():
            start = time.process_time()
            deed()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(values) * 1e3 for name, values in times.items()}


def official(paths: list[Path], rounds: int) -> list[float] | None:
    python = Path(os.environ.get("AGENTIC_RL_TEST_DASHSCOPE", CHECKOUT / ".cache/peers/dashscope-2.0.2/bin/python"))
    if not python.exists():
        return None
    arguments = [part for path in paths for part in (str(path), str(rounds))]
    done = subprocess.run([python, "-c", OFFICIAL, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"the service's loader did not run: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return [float(line) for line in done.stdout.split()[-len(paths) :]]


def workspace(folder: Path) -> DiskFacts:
    (folder / "requirements.txt").touch()
    for name in ("train.jsonl", "valid.jsonl"):
        (folder / name).write_text('{"messages": []}\n' * 1000)
    infos = []
    for kind in (FunctionKind.ROLLOUT, FunctionKind.REWARD):
        path = folder / "functions" / kind.value / "module.py"
        path.parent.mkdir(parents=True)
        path.touch()
        infos.append(ProcessorInfo(kind, "Processor", path.relative_to(folder).as_posix(), 1))
    return DiskFacts(folder, infos)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        facts = workspace(folder)
        sizes = {"small": job_text(2), "5,000 lines": job_text(260)}
        paths = []
        for text in sizes.values():
            path = folder / f"{len(paths)}.yaml"
            path.write_text(text)
            paths.append(path)
        peers = official(paths, max(3, rounds // 5)) or [None, None]
        for (label, text), path, peer in zip(sizes.items(), paths, peers, strict=True):
            report(label, text, path, peer, facts, rounds)


def report(label: str, text: str, path: Path, peer: float | None, facts: DiskFacts, rounds: int) -> None:
    lines = text.count("\n")
    middle = lines // 2
    found = medians(
        {
            "PyYAML pure SafeLoader": lambda: yaml.load(text, yaml.SafeLoader),
            "PyYAML CSafeLoader": lambda: yaml.load(text, yaml.CSafeLoader),
            "ours: whole check": lambda: check(text, path=path),
            "ours: with facts": lambda: check(text, path=path, facts=facts),
            "ours: complete": lambda: complete(text, middle, 5, facts),
            "ours: describe": lambda: describe(text, middle, 5),
            "ours: outline": lambda: outline(text),
            "ours: set one value": lambda: set_value(text, ("training", "hyper_parameters", "batch_size"), 32),
            "ours: fix all": lambda: fix_all(check(text, path=path, facts=facts)),
        },
        rounds,
    )
    if peer is not None:
        found = {"dashscope TuningModel.load_from_yaml": peer} | found
    base = found["PyYAML pure SafeLoader"]
    print(f"\n{label}: {lines} lines")
    for name, value in found.items():
        beside = f"{value / peer:8.3f} x the service's" if peer else ""
        print(f"  {name:<40}{value:10.2f} ms{value / base:8.3f} x pure {beside}")


if __name__ == "__main__":
    main()
