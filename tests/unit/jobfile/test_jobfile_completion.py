"""What an editor offers at a place, says of a key, and lists as outline."""

from typing import Any

import pytest

from agentic_rl_tui.core.jobfile import apply_edits, complete, describe, outline
from agentic_rl_tui.core.jobfile.diagnostics import TextEdit


def at(text: str) -> tuple[str, int, int]:
    """A text with ``▮`` for the cursor, as text, line and column."""
    before, after = text.split("▮")
    line = before.count("\n") + 1
    return before + after, line, len(before) - (before.rfind("\n") + 1) + 1


def labels(text: str, facts: Any = None) -> list[str]:
    return [item.label for item in complete(*at(text), facts)]


def accepted(text: str, label: str, facts: Any = None) -> str:
    """The text after one completion was taken."""
    plain, line, col = at(text)
    chosen = next(item for item in complete(plain, line, col, facts) if item.label == label)
    start = sum(len(row) + 1 for row in plain.split("\n")[: line - 1])
    edit = TextEdit(start + chosen.start_col - 1, start + chosen.end_col - 1, chosen.insert)
    return apply_edits(plain, [edit])


class TestKeys:
    def test_an_empty_file(self) -> None:
        assert labels("▮") == [
            "name", "model", "teacher_model", "functions", "datasets", "training", "observability"
        ]  # fmt: skip

    def test_only_what_is_not_there_yet(self) -> None:
        assert labels("name: x\n▮\ntraining:\n  type: rl\n") == [
            "model", "teacher_model", "functions", "datasets", "observability"
        ]  # fmt: skip

    def test_what_was_begun(self) -> None:
        assert labels("training:\n  hyper_parameters:\n    ppo▮\n") == ["ppo_mini_batch_size"]
        assert labels("training:\n  hyper_parameters:\n    length▮\n") == ["max_length", "max_prompt_length"]

    def test_taking_one(self) -> None:
        text = "training:\n  hyper_parameters:\n    n_ep▮\n    batch_size: 4\n"
        assert accepted(text, "n_epochs") == "training:\n  hyper_parameters:\n    n_epochs: \n    batch_size: 4\n"
        assert accepted("mod▮", "model") == "model:\n  "
        assert accepted("fun▮", "functions") == "functions:\n  - "

    def test_renaming_one_keeps_its_value(self) -> None:
        text = "training:\n  hyper_parameters:\n    n_ep▮och: 4\n"
        assert accepted(text, "n_epochs") == "training:\n  hyper_parameters:\n    n_epochs: 4\n"

    @pytest.mark.parametrize(
        "text",
        [
            "functions:\n  - type: reward\n    run▮",
            "functions:\n- type: reward\n  run▮",
            "functions:\n  -\n    run▮\n",
            "functions:\n  - run▮\n",
            "functions:\n  - fcmodel:\n      classpath: a.b.C\n    run▮\n",
            "functions:\n  # words\n  - type: reward\n\n    # more\n    run▮\n  - type: rollout\n    runtime:\n",
            "a: [1\nfunctions:\n  - type: 'open\n    run▮",
        ],
    )
    def test_inside_a_list_item(self, text: str) -> None:
        assert labels(text) == ["runtime"]

    def test_keys_of_another_item_do_not_count(self) -> None:
        text = "functions:\n  - name: a\n    timeout: 1\n  - type: reward\n    ▮\n  - weight: 1\n"
        assert "timeout" in labels(text)
        assert "weight" in labels(text)
        assert "type" not in labels(text)

    def test_names_of_sub_rewards(self, facts: Any) -> None:
        text = (
            "functions:\n  - type: reward\n    reward_metric_weight:\n      correct: 1\n      ▮\n"
            "    fcmodel:\n      classpath: functions.reward.answer.AnswerReward\n"
        )
        assert labels(text, facts) == ["format"]
        assert "\n      format: 0.5\n" in accepted(text, "format", facts)
        assert labels(text) == []

    def test_names_of_environment_variables(self) -> None:
        assert "ENABLE_TRAJECTORY" in labels("functions:\n  - runtime:\n      env:\n        ▮\n")

    def test_whole_blocks(self, facts: Any) -> None:
        text = "functions:\n  ▮\n"
        assert labels(text, facts)[:2] == ["rollout CalcRollout", "reward AnswerReward"]
        taken = accepted(text, "rollout CalcRollout", facts)
        assert taken.startswith("functions:\n  - type: rollout\n    name: rollout-1\n    timeout: 600\n")
        assert "training data/train.jsonl" in labels("datasets:\n  - ▮\n", facts) or labels("datasets:\n  ▮\n", facts)

    def test_nothing_where_nothing_is_known(self) -> None:
        assert labels("observability:\n  deep:\n    ▮\n") == []
        assert labels("name: x  # wor▮\n") == []


class TestValues:
    @pytest.mark.parametrize(
        ("text", "first"),
        [
            ("training:\n  hyper_parameters:\n    algorithm: ▮\n", ["gspo", "grpo", "dapo"]),
            ("training:\n  hyper_parameters:\n    algorithm:▮\n", ["gspo", "grpo", "dapo"]),
            ("training:\n  hyper_parameters:\n    save_strategy: ▮\n", ["steps", "epoch", '"no"']),
            ("functions:\n  - type: ▮\n", ["rollout", "reward", "group_reward"]),
            ("functions:\n  - type: r▮\n", ["rollout", "reward", "group_reward"]),
            ("functions:\n  - runtime:\n      enable_log: ▮\n", ["true", "false"]),
            ("functions:\n  - runtime:\n      memory_size: ▮\n", ["4096", "8192", "10"]),
            ("training:\n  type: p▮\n", ["pg_opd"]),
            ("training:\n  resources:\n    mtu_spec_code: ▮\n", ["MTU4"]),
        ],
    )
    def test_choices(self, text: str, first: list[str]) -> None:
        assert labels(text)[: len(first)] == first

    def test_a_value_is_replaced_whole(self) -> None:
        text = "training:\n  hyper_parameters:\n    algorithm: gr▮po  # why\n"
        assert accepted(text, "grpo") == "training:\n  hyper_parameters:\n    algorithm: grpo  # why\n"
        text = "training:\n  hyper_parameters:\n    algorithm:▮\n"
        assert accepted(text, "gspo") == "training:\n  hyper_parameters:\n    algorithm: gspo\n"

    def test_numbers_come_with_reasons(self) -> None:
        text, line, col = at("training:\n  hyper_parameters:\n    learning_rate: ▮\n")
        found = {item.label: item.detail for item in complete(text, line, col)}
        assert found["5.0e-6"].startswith("real run: ")

    def test_classes_of_the_functions_kind_come_first(self, facts: Any) -> None:
        text = "functions:\n  - fcmodel:\n      classpath: ▮\n    type: reward\n"
        assert labels(text, facts) == [
            "functions.reward.answer.AnswerReward",
            "functions.reward.group.Ranking",
            "functions.rollout.agent.CalcRollout",
        ]

    def test_files_and_models(self, facts: Any) -> None:
        assert labels("datasets:\n  - file_name: ./data/t▮\n", facts) == ["./data/train.jsonl"]
        assert labels("functions:\n  - fcmodel:\n      requirements_path: ▮\n", facts)[0] == "./requirements.txt"
        assert "qwen3.5-9b" in labels("model:\n  name: ▮\n")
        assert labels("model:\n  name: qwen3.5-27b\nteacher_model: ▮\n") == ["qwen3.5-122b-a10b", "qwen3.5-397b-a17b"]


class TestHelp:
    def test_a_key(self) -> None:
        found = describe(*at("training:\n  hyper_parameters:\n    learning▮_rate: 2e-6\n"))
        assert found is not None
        assert found.path == "training.hyper_parameters.learning_rate"
        assert (found.type, found.range) == ("number", "0 to 1")
        assert "RL wants" in found.meaning
        assert found.source.startswith("help.aliyun.com")

    def test_a_key_of_a_list_item(self) -> None:
        found = describe(*at("functions:\n  - type: reward\n    runtime:\n      memory_size: 4▮\n"))
        assert found is not None
        assert (found.path, found.default) == ("functions[].runtime.memory_size", "10")

    def test_the_section_around_something_unknown(self) -> None:
        found = describe(*at("functions:\n  - runtime:\n      env:\n        MY▮_OWN: 1\n"))
        assert found is not None
        assert found.path == "functions[].runtime.env"

    def test_nothing_at_all(self) -> None:
        assert describe(*at("who: ▮\n")) is None
        assert describe("", 1, 1) is None
        assert describe("", 70, 70) is None


class TestOutline:
    def test_a_sound_file(self, sound: str) -> None:
        tree = {item.label: item for item in outline(sound)}
        assert list(tree) == ["name: calc-agent", "model", "functions", "datasets", "training"]
        assert [(item.label, item.line) for item in tree["functions"].children] == [
            ("rollout rollout-1", 7),
            ("reward reward-1", 26),
        ]
        assert [item.label for item in tree["datasets"].children] == [
            "training ./data/train.jsonl",
            "validation ./data/valid.jsonl",
        ]

    def test_a_broken_one(self) -> None:
        found = outline("name: x\nfunctions:\n  - type: reward\n  - name: [\ntraining:\n")
        assert [(item.label, item.line) for item in found] == [("name: x", 1), ("functions", 2), ("training", 5)]
        assert [item.label for item in found[1].children] == ["type: reward", "name: ["]

    def test_loops_end(self) -> None:
        assert outline("a: &a\n  b: *a\n")[0].children[0].children == ()
