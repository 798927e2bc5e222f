"""Each rule speaks at the right place, and its fix silences it."""

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl_tui.core.jobfile import RULES, Diagnostic, JobDocument, Severity, apply_fix
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ProcessorInfo

Checked = Callable[..., JobDocument]

HYPER = "    algorithm: gspo\n"
OPD = [
    ("type: reinforcement", "type: pg_opd"),
    ("training:\n", "teacher_model: qwen3.5-397b-a17b\ntraining:\n"),
    ("linear", "cosine"),
    ("    kl_loss_coef: 0.002\n", ""),
]


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


CASES: list[tuple[str, list[tuple[str, str]], str | None]] = [
    # rule, changes to the sound file, the text that the fix must lead to (None: there is no fix)
    ("unknown-key", [("timeout: 600", "timout: 600")], "    timeout: 600\n    fcmodel"),
    ("unknown-key", [("learning_rate:", "learnin_rate:")], "    learning_rate: 2.0e-6   # small"),
    ("unknown-key", [("batch_size: 64", "train_batch_size: 64")], "    batch_size: 64"),
    ("unknown-key", [("name: calc-agent", "job_name: calc-agent")], "# A small run\nname: calc-agent"),
    ("unknown-key", [("memory_size: 4096   #", "Memory-Size: 4096   #")], "      memory_size: 4096   # MB"),
    ("unknown-key", [("name: calc-agent", "name: calc-agent\nmode: fast")], None),
    ("unknown-parameter", [(HYPER, HYPER + "    zzz: 1\n")], None),
    ("foreign-key", [("name: calc-agent", "x-note: 1\nname: calc-agent")], None),
    ("wrong-type", [("batch_size: 64", "batch_size: many")], None),
    ("wrong-type", [("batch_size: 64", "batch_size: 6.5")], None),
    ("wrong-type", [("batch_size: 64", "batch_size: [64]")], None),
    ("wrong-type", [("name: calc-agent", "name: 123")], 'name: "123"\n'),
    (
        "wrong-type",
        [("model:\n  name: qwen3.5-9b   # dense", "model: qwen3.5-9b   # dense")],
        "model:\n  name: qwen3.5-9b   # dense",
    ),
    (
        "wrong-type",
        [("      zipdir: ./\n", "      zipdir: ./\n      extra_files: extra/prompt.txt\n")],
        "extra_files: [extra/prompt.txt]",
    ),
    ("out-of-range", [("learning_rate: 2.0e-6", "learning_rate: 2")], None),
    ("out-of-range", [("n_epochs: 1", "n_epochs: 0")], None),
    ("out-of-range", [("timeout: 600", "timeout: -1")], None),
    ("out-of-range", [("kl_loss_coef: 0.002", "kl_loss_coef: .nan")], None),
    ("not-a-choice", [("algorithm: gspo", "algorithm: GSPO")], "algorithm: gspo"),
    ("not-a-choice", [("type: reinforcement", "type: rl")], "type: reinforcement"),
    ("not-a-choice", [("  - type: reward", "  - type: Reward")], "  - type: reward"),
    ("not-a-choice", [("algorithm: gspo", "algorithm: qqqqq")], None),
    ("null-value", [("name: calc-agent", "name:")], "# A small run\nmodel:"),
    ("null-value", [("name: calc-agent", "name: null")], "# A small run\nmodel:"),
    ("name-length", [("name: calc-agent", f"name: {'a' * 300}")], None),
    ("number-as-text", [("2.0e-6", "2e-6")], "learning_rate: 2.0e-6   # small"),
    ("number-as-text", [("batch_size: 64", "batch_size: 1e2")], "batch_size: 100"),
    ("ambiguous-value", [("save_steps: 100", "save_steps: 0100")], "save_steps: 100"),
    ("ambiguous-value", [("max_length: 8192", "max_length: 8_192")], "max_length: 8192"),
    ("ambiguous-value", [("name: calc-agent", "name: 2026-12-01")], 'name: "2026-12-01"'),
    ("ambiguous-value", [("      cpu: 2", "      cpu: 2\n      enable_log: yes")], "enable_log: true"),
    ("ambiguous-value", [('ENABLE_TRAJECTORY: "true"', "ENABLE_TRAJECTORY: off")], 'ENABLE_TRAJECTORY: "off"'),
    ("ambiguous-value", [("save_strategy: epoch", "save_strategy: no")], 'save_strategy: "no"'),
    ("quoted-number", [("batch_size: 64", 'batch_size: "64"')], "batch_size: 64"),
    ("model-missing", [("model:\n  name: qwen3.5-9b   # dense\n", "")], None),
    ("model-unlisted", [("qwen3.5-9b", "llama-70b")], None),
    ("model-unlisted", [("qwen3.5-9b", "Qwen3.5-9B")], "name: qwen3.5-9b   # dense"),
    ("moe-algorithm", [("qwen3.5-9b", "qwen3.5-35b-a3b"), ("algorithm: gspo", "algorithm: grpo")], "algorithm: gspo"),
    (
        "expert-parallel-dense",
        [(HYPER, HYPER + "    expert_model_parallel_size: 2\n")],
        "expert_model_parallel_size: 1",
    ),
    ("parameters-missing", [("    n_epochs: 1\n", "")], "    lr_warmup_steps: -1\n    n_epochs: 1\n    batch_size: 64"),
    ("mini-batch", [("ppo_mini_batch_size: 8", "ppo_mini_batch_size: 513")], "ppo_mini_batch_size: 512"),
    ("rows-batch", [("batch_size: 64", "batch_size: 1000")], "batch_size: 512"),
    (
        "gpu-product",
        [(HYPER, HYPER + "    n_gpus_training: 6\n    tensor_model_parallel_size: 4\n")],
        "n_gpus_training: 8",
    ),
    ("gpu-inference", [(HYPER, HYPER + "    inference_tensor_parallel_size: 3\n")], None),
    ("prompt-length", [("max_prompt_length: 1024", "max_prompt_length: 8192")], "max_prompt_length: 2048"),
    ("lr-high", [("2.0e-6", "5.0e-5")], "learning_rate: 5.0e-6   # small"),
    ("lr-zero", [("2.0e-6", "0")], "learning_rate: 2.0e-6   # small"),
    ("epochs-many", [("n_epochs: 1", "n_epochs: 10")], "n_epochs: 3"),
    ("kl-zero", [("0.002", "0")], "kl_loss_coef: 0.001"),
    ("kl-dapo", [("algorithm: gspo", "algorithm: dapo")], "kl_loss_coef: 0.0"),
    ("rollouts-one", [("n_rollouts: 8", "n_rollouts: 1")], "n_rollouts: 8"),
    ("length-large", [("max_length: 8192", "max_length: 32768")], "max_length: 8192"),
    ("eval-never", [("eval_steps: 1", "eval_steps: 50")], "eval_steps: 1"),
    ("eval-often", [("n_epochs: 1", "n_epochs: 9")], "eval_steps: 6"),
    ("save-never", [("save_strategy: epoch", "save_strategy: steps")], "save_steps: 3"),
    (
        "save-often",
        [
            ("save_strategy: epoch", "save_strategy: steps"),
            ("save_steps: 100", "save_steps: 2"),
            ("eval_steps: 1", "eval_steps: 4"),
        ],
        None,
    ),
    ("units-few", [("mtu_capacity: 24", "mtu_capacity: 8")], None),
    (
        "teacher-missing",
        [("type: reinforcement", "type: pg_opd"), ("linear", "cosine"), ("    kl_loss_coef: 0.002\n", "")],
        "teacher_model: qwen3.5-27b\n\nfunctions:",
    ),
    ("teacher-type", [*OPD, ("type: pg_opd", "type: reinforcement")], "type: pg_opd"),
    ("teacher-family", [*OPD, ("qwen3.5-397b-a17b", "qwen3-235b-a22b")], "teacher_model: qwen3.5-27b"),
    ("teacher-weak", [*OPD, ("qwen3.5-397b-a17b", "qwen3.5-9b")], "teacher_model: qwen3.5-27b"),
    ("teacher-unlisted", [*OPD, ("qwen3.5-397b-a17b", "qwen3.5-399b-a17b")], "teacher_model: qwen3.5-397b-a17b"),
    ("student-unlisted", [*OPD, ("name: qwen3.5-9b", "name: qwen3.5-14b")], None),
    ("opd-algorithm", [*OPD, ("algorithm: gspo", "algorithm: grpo")], "algorithm: gspo"),
    ("opd-scheduler", [*OPD, ("cosine", "linear")], "lr_scheduler_type: cosine"),
    ("opd-save", [*OPD, ("save_strategy: epoch", 'save_strategy: "no"')], 'save_strategy: "epoch"'),
    ("opd-kl", [*OPD[:3]], None),
    ("opd-keys", [(HYPER, HYPER + "    opd_teacher_nnodes: 1\n")], None),
    (
        "rollout-missing",
        [
            ("  - type: rollout\n    name: rollout-1", "  - type: group_reward\n    name: rollout-1"),
            ("functions.rollout.agent.CalcRollout", "functions.reward.group.Ranking"),
        ],
        (
            "  - type: rollout\n    name: rollout-2\n    timeout: 600\n    fcmodel:\n      zipdir: ./\n"
            "      classpath: functions.rollout.agent.CalcRollout"
        ),
    ),
    (
        "rollout-several",
        [
            (
                "  - type: reward",
                (
                    "  - type: rollout\n    fcmodel:\n      classpath: "
                    "functions.rollout.agent.CalcRollout\n    runtime: {memory_size: 4096, disk_size: 512}\n"
                    "  - type: reward"
                ),
            )
        ],
        'ENABLE_TRAJECTORY: "true"\n  # 答案是否正确\n  - type: reward',
    ),
    (
        "type-missing",
        [("  - type: reward\n    name: reward-1", "  - name: reward-1")],
        "  - type: reward\n    name: reward-1",
    ),
    ("name-twice", [("name: reward-1", "name: rollout-1")], "name: rollout-1-2"),
    ("class-missing", [("    fcmodel:\n      classpath: functions/reward/answer.py:AnswerReward\n", "")], None),
    ("classpath-form", [("functions/reward/answer.py:AnswerReward", "functions/reward/answer.py")], None),
    (
        "classpath-colon",
        [("functions/reward/answer.py:AnswerReward", "functions.reward.answer:AnswerReward")],
        "classpath: functions.reward.answer.AnswerReward",
    ),
    (
        "class-file",
        [("functions.rollout.agent.CalcRollout", "functions.agent.CalcRollout")],
        "classpath: functions.rollout.agent.CalcRollout",
    ),
    (
        "class-unknown",
        [("answer.py:AnswerReward", "answer.py:AnswerRewards")],
        "classpath: functions.reward.answer.AnswerReward",
    ),
    ("class-kind", [("functions/reward/answer.py:AnswerReward", "functions.reward.group.Ranking")], None),
    ("class-abstract", [("functions/reward/answer.py:AnswerReward", "functions.reward.base.BaseReward")], None),
    ("weight-unused", [("timeout: 600", "timeout: 600\n    weight: 1.0")], "    timeout: 600\n    fcmodel:"),
    ("weight-zero", [("weight: 1.0", "weight: 0")], None),
    ("weight-negative", [("weight: 1.0", "weight: -1")], None),
    ("metric-unknown", [("correct: 0.7", "corect: 0.7")], "      correct: 0.7"),
    ("metric-unknown", [("format: 0.3", "format: 0.3\n      beauty: 1")], None),
    ("requirements-missing", [("./requirements.txt", "./other.txt")], None),
    ("extra-missing", [("      zipdir: ./\n", "      zipdir: ./\n      extra_files: [no.txt]\n")], None),
    ("path-outside", [("zipdir: ./", "zipdir: ../other")], None),
    ("memory-small", [("memory_size: 4096   #", "memory_size: 4   #")], "memory_size: 4096   # MB"),
    ("memory-low", [("memory_size: 4096   #", "memory_size: 1024   #")], "memory_size: 4096   # MB"),
    ("disk-small", [("disk_size: 512", "disk_size: 10")], "disk_size: 512"),
    ("runtime-default", [("      disk_size: 512\n", "")], "disk_size: 512"),
    ("capacity-order", [("max_capacity: 60", "max_capacity: 20")], "max_capacity: 30"),
    ("capacity-order", [("min_capacity: 30", "min_capacity: 31")], "min_capacity: 30"),
    (
        "threshold-percent",
        [("memory_scale_threshold: 0.6", "memory_scale_threshold: 60")],
        "memory_scale_threshold: 0.6",
    ),
    (
        "throughput",
        [
            ("concurrency: 30", "concurrency: 1"),
            ("capacity: 30\n", "capacity: 2\n"),
            ("min_capacity: 30", "min_capacity: 2"),
        ],
        "      capacity: 11\n",
    ),
    ("secret", [('ENABLE_TRAJECTORY: "true"', "OPENAI_API_KEY: abcdef123456")], None),
    ("secret", [('ENABLE_TRAJECTORY: "true"', "OTHER: sk-abcdef123456")], None),
    ("training-data-missing", [("  - type: training\n    file_name: ./data/train.jsonl\n", "")], None),
    ("validation-missing", [("  - type: validation\n    file_name: ./data/valid.jsonl\n", "")], None),
    ("testing-unused", [("datasets:\n", "datasets:\n  - type: testing\n    file_id: f\n")], None),
    ("file-missing", [("./data/valid.jsonl", "./data/vlid.jsonl")], None),
    ("file-type", [("./data/valid.jsonl", "./requirements.txt"), ("datasets:", "datasets:")], None),
    (
        "file-both",
        [("file_name: ./data/valid.jsonl", "file_name: ./data/valid.jsonl\n    file_id: f")],
        "  - type: validation\n    file_id: f",
    ),
    ("source-empty", [("    file_name: ./data/valid.jsonl\n", "")], None),
    (
        "source-mismatch",
        [("file_name: ./data/valid.jsonl", "download_url: http://x/y.jsonl\n    data_source_type: file_id")],
        "data_source_type: download_url",
    ),
    (
        "source-mismatch",
        [("file_name: ./data/valid.jsonl", "data_source_type: oss_mount\n    mount_storage:\n      bucket: b")],
        None,
    ),
    ("data-shared", [("./data/valid.jsonl", "data/train.jsonl")], None),
    ("yaml-duplicate", [("n_epochs: 1", "n_epochs: 2\n    n_epochs: 1")], "lr_warmup_steps: -1\n    n_epochs: 1"),
    ("yaml-tag", [("name: calc-agent", "name: !secret calc-agent")], None),
    ("yaml-key", [("name: calc-agent", "name: calc-agent\n[a]: 1")], None),
    ("yaml-merge", [("  hyper_parameters:\n", "  hyper_parameters:\n    <<: 3\n")], None),
]


def rule_of(document: JobDocument, rule: str) -> Diagnostic:
    found = [item for item in document.diagnostics if item.rule == rule]
    assert found, [str(item) for item in document.diagnostics]
    return found[0]


def test_the_sound_file_has_nothing_to_say(checked: Checked, sound: str) -> None:
    document = checked(sound)
    assert document.diagnostics == ()
    assert document.is_ok
    assert document.scenario == "RL"


@pytest.mark.parametrize(("rule", "changes", "result"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_rule(checked: Checked, sound: str, rule: str, changes: list[tuple[str, str]], result: str | None) -> None:
    text = edited(sound, *changes)
    before = checked(text)
    problem = rule_of(before, rule)
    line = text.splitlines()[problem.line - 1]
    assert text[problem.start : problem.end] == line[problem.col - 1 : problem.end_col - 1]
    assert problem.file == "ws/job.yaml"
    assert RULES[rule].source in problem.why
    assert problem.message.endswith((".", "?"))
    if result is None:
        assert problem.fix is None
        return
    assert problem.fix is not None
    fixed = apply_fix(text, problem.fix)
    assert result in fixed
    after = checked(fixed)
    assert counts(after)[rule] == counts(before)[rule] - 1
    assert all(counts(after)[other] <= counts(before)[other] for other in RULES)


def counts(document: JobDocument) -> dict[str, int]:
    return {rule: sum(item.rule == rule for item in document.diagnostics) for rule in RULES}


@pytest.mark.parametrize(
    ("changes", "rule", "place"),
    [
        ([("2.0e-6", "2e-6")], "number-as-text", (52, 20, 24)),
        ([("timeout: 600", "timout: 600")], "unknown-key", (9, 5, 11)),
        ([("qwen3.5-9b", "Qwen3.5-9B")], "model-unlisted", (4, 9, 19)),
        ([("name: calc-agent", "name: 训练 # x\nx y: 1")], "unknown-key", (3, 1, 4)),
        ([("\ndatasets:", "\nextra: 1\ndatasets:")], "unknown-key", (41, 1, 6)),
    ],
)
def test_places_are_counted_from_one(
    checked: Checked, sound: str, changes: list[tuple[str, str]], rule: str, place: tuple[int, int, int]
) -> None:
    problem = rule_of(checked(edited(sound, *changes)), rule)
    assert (problem.line, problem.col, problem.end_col) == place


def test_all_problems_are_told_at_once(checked: Checked, sound: str) -> None:
    text = edited(
        sound,
        ("timeout: 600", "timout: 600"),
        ("algorithm: gspo", "algorithm: GSPO"),
        ("2.0e-6", "2e-6"),
        ("ppo_mini_batch_size: 8", "ppo_mini_batch_size: 9999"),
        ("./data/valid.jsonl", "./nowhere.jsonl"),
        ("memory_size: 4096   #", "memory_size: 4   #"),
    )
    rules = [item.rule for item in checked(text).diagnostics]
    assert rules == ["unknown-key", "memory-small", "file-missing", "not-a-choice", "number-as-text", "mini-batch"]


def test_reward_missing_speaks_of_the_rollouts_own_score(checked: Checked, sound: str) -> None:
    start = sound.index("  # 答案")
    text = sound[:start] + sound[sound.index("\ndatasets:") :]
    problem = rule_of(checked(text), "reward-missing")
    assert "AgentOutput.reward_score" in problem.message
    assert problem.fix is not None
    fixed = checked(apply_fix(text, problem.fix))
    assert fixed.is_ok
    assert fixed.job is not None
    assert fixed.job.rewards[0].fcmodel.classpath == "functions.reward.answer.AnswerReward"


def test_without_facts_nothing_is_said_of_files_and_classes(sound: str, checked: Checked) -> None:
    text = edited(sound, ("./data/train.jsonl", "./no.jsonl"), ("CalcRollout", "Nothing"))
    assert checked(text, facts=None).diagnostics == ()


def test_classes_are_left_alone_until_somebody_has_looked(sound: str, checked: Checked, facts: Any) -> None:
    facts.known = None
    text = edited(sound, ("agent.CalcRollout", "agent.Nothing"))
    assert checked(text).diagnostics == ()


def test_a_group_reward_is_a_reward(checked: Checked, sound: str, facts: Any) -> None:
    facts.known = (*facts.known, ProcessorInfo(FunctionKind.GROUP_REWARD, "G", "functions/reward/answer.py", 1))
    text = edited(
        sound,
        ("  - type: reward", "  - type: group_reward"),
        ("    reward_metric_weight:\n      correct: 0.7\n      format: 0.3\n", ""),
        ("answer.py:AnswerReward", "answer.py:G"),
    )
    assert checked(text).diagnostics == ()


def test_a_metric_weight_of_a_group_reward_is_never_sent(checked: Checked, sound: str) -> None:
    text = edited(sound, ("  - type: reward", "  - type: group_reward"))
    problem = rule_of(checked(text), "weight-unused")
    assert problem.fix is not None
    assert "reward_metric_weight" not in apply_fix(text, problem.fix)


def test_registered_functions_need_no_class(checked: Checked, sound: str) -> None:
    text = edited(
        sound, ("    fcmodel:\n      classpath: functions/reward/answer.py:AnswerReward\n", "    entity_id: rw-1\n")
    )
    assert checked(text).diagnostics == ()


def test_a_class_inside_zipdir_is_looked_up_there(checked: Checked, sound: str) -> None:
    text = edited(
        sound,
        ("zipdir: ./\n      classpath: functions.rollout.agent", "zipdir: functions\n      classpath: rollout.agent"),
    )
    assert checked(text).diagnostics == ()


def test_secrets_are_not_repeated(checked: Checked, sound: str) -> None:
    text = edited(sound, ('ENABLE_TRAJECTORY: "true"', "OPENAI_API_KEY: sk-abcdef123456"))
    problem = rule_of(checked(text), "secret")
    assert "sk-abcdef" not in problem.message + problem.why


@pytest.mark.parametrize("value", ["${OPENAI_API_KEY}", "<your key>", "xxxxxxxx", "your-api-key-here"])
def test_stand_ins_for_secrets_are_no_secrets(checked: Checked, sound: str, value: str) -> None:
    assert checked(edited(sound, ('ENABLE_TRAJECTORY: "true"', f"OPENAI_API_KEY: '{value}'"))).diagnostics == ()


def test_an_empty_hyper_parameter_is_told_apart_from_a_missing_one(checked: Checked, sound: str) -> None:
    problems = checked(edited(sound, ("n_epochs: 1", "n_epochs:"))).diagnostics
    assert [(item.rule, item.severity) for item in problems] == [("null-value", Severity.WARNING)]


def test_a_foreign_hyper_parameter_is_passed_on_without_its_prefix(checked: Checked, sound: str) -> None:
    document = checked(edited(sound, (HYPER, HYPER + "    x-clip_high: 0.28\n")))
    assert document.diagnostics == ()
    assert document.job is not None
    assert document.job.training.hyper_parameters["clip_high"] == 0.28


def test_every_rule_is_documented() -> None:
    for rule in RULES.values():
        assert rule.title
        assert rule.why.endswith(".")
        assert rule.source
        assert rule.date == "2026-12-01"


def test_every_rule_has_a_case() -> None:
    elsewhere = {
        "encoding", "byte-order-mark", "line-ends", "yaml-syntax", "yaml-tab", "yaml-empty", "yaml-documents",
        "yaml-mapping", "yaml-alias", "yaml-depth", "reward-missing", "list-length", "override",
    }  # fmt: skip
    assert {case[0] for case in CASES} | elsewhere == set(RULES)
