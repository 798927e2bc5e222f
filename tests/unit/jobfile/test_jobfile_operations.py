"""Overrides, scenarios, presets, differences, prices and meaning."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.jobfile import (
    PRESETS,
    SCENARIOS,
    CannotEdit,
    DatasetSpec,
    DiskFacts,
    FcModel,
    FunctionSpec,
    JobDocument,
    Price,
    Severity,
    Unknown,
    add_function,
    apply_edits,
    check,
    diff,
    estimate,
    fix_all,
    load_prices,
    meaning,
    preset_edits,
    presets_for,
    remove_function,
    remove_value,
    set_value,
    switch_scenario,
)
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.functions import FunctionKind

Checked = Callable[..., JobDocument]


class TestJob:
    def test_the_job_of_the_sound_file(self, checked: Checked, sound: str) -> None:
        job = checked(sound).job
        assert job is not None
        assert job.name == "calc-agent"
        assert job.model.name == "qwen3.5-9b"
        assert job.rollout is not None
        assert job.rollout.timeout == 600
        assert job.rollout.runtime is not None
        assert job.rollout.runtime.env == {"ENABLE_TRAJECTORY": "true"}
        assert [reward.reward_metric_weight for reward in job.rewards] == [{"correct": 0.7, "format": 0.3}]
        assert job.group_rewards == []
        assert [data.file_name for data in job.training_datasets] == ["./data/train.jsonl"]
        assert job.training.hyper_parameters["learning_rate"] == 2e-6
        assert job.training_type == "reinforcement"
        assert not job.is_opd
        assert job.workspace_dir == Path("ws")
        assert job.resolve("./data/train.jsonl") == Path("ws/data/train.jsonl")

    @pytest.mark.parametrize("spelling", ["2e-6", '"2e-6"', "2.0e-6", "0.000002"])
    def test_a_learning_rate_is_a_number_however_it_is_spelt(self, checked: Checked, sound: str, spelling: str) -> None:
        job = checked(sound.replace("2.0e-6", spelling)).job
        assert job is not None
        assert job.training.hyper_parameters["learning_rate"] == 2e-6

    def test_values_that_cannot_be_read_are_left_out(self, checked: Checked, sound: str) -> None:
        job = checked(sound.replace("timeout: 600", "timeout: soon")).job
        assert job is not None
        assert job.rollout is not None
        assert job.rollout.timeout is None

    def test_a_teacher_makes_opd_of_any_type(self, checked: Checked, sound: str) -> None:
        job = checked(f"teacher_model: qwen3.5-27b\n{sound}").job
        assert job is not None
        assert job.is_opd
        assert job.training_type == "pg_opd"


class TestOverrides:
    def test_they_win_over_the_file(self, checked: Checked, sound: str) -> None:
        document = checked(
            sound,
            overrides={
                "job_name": "other",
                "model": "qwen3.5-35b-a3b",
                "hyper_parameters": {"batch_size": "128", "n_epochs": 2},
                "training.hyper_parameters.n_rollouts": 4,
                "resources": '{"mtu_capacity": 48}',
                "teacher_model": None,
            },
        )
        assert document.job is not None
        assert document.job.name == "other"
        assert document.job.model.name == "qwen3.5-35b-a3b"
        hyper = document.job.training.hyper_parameters
        assert (hyper["batch_size"], hyper["n_epochs"], hyper["n_rollouts"], hyper["max_length"]) == (128, 2, 4, 8192)
        assert document.job.training.resources["mtu_capacity"] == 48
        assert document.job.training.resources["mtu_spec_code"] == "MTU4"

    def test_they_are_checked_like_the_file_and_not_fixed_in_it(self, checked: Checked, sound: str) -> None:
        document = checked(sound, overrides={"hyper_parameters": {"batch_size": 2000, "algorithm": "GSPO"}})
        found = {item.rule: item for item in document.diagnostics}
        assert set(found) == {"rows-batch", "not-a-choice"}
        assert "(given outside the file)" in found["rows-batch"].message
        assert found["rows-batch"].fix is None
        assert found["not-a-choice"].fix is None
        assert found["rows-batch"].line == sound[: sound.index("batch_size: 64")].count("\n") + 1

    def test_the_tree_of_the_text_stays_as_it_is(self, checked: Checked, sound: str) -> None:
        document = checked(sound.replace("2.0e-6", "2e-6"), overrides={"n_epochs": 1, "training": {"type": "rl"}})
        fix = next(item.fix for item in document.diagnostics if item.rule == "number-as-text")
        assert fix is not None
        assert apply_edits(document.text, fix.edits) == sound

    def test_models_of_the_sdk_are_values(self, checked: Checked, sound: str) -> None:
        document = checked(
            sound,
            overrides={
                "functions": [
                    FunctionSpec(
                        type=FunctionKind.ROLLOUT,
                        name="r",
                        fcmodel=FcModel(classpath="functions.rollout.agent.CalcRollout"),
                    ),
                    FunctionSpec(type=FunctionKind.REWARD, entity_id="rw-1"),
                ],
                "datasets": (DatasetSpec(file_name="./data/train.jsonl"), DatasetSpec(type="validation", file_id="f")),
            },
        )
        assert document.is_ok
        assert document.job is not None
        assert [spec.name for spec in document.job.functions] == ["r", None]
        assert document.job.rewards[0].entity_id == "rw-1"

    def test_a_job_can_be_made_of_options_alone(self, checked: Checked) -> None:
        document = checked(
            "{}",
            overrides={
                "model": "qwen3.5-9b",
                "training_files": ["data/train.jsonl"],
                "validation_files": ["data/valid.jsonl"],
                "rollout_classpath": "functions.rollout.agent.CalcRollout",
                "reward_classpaths": "functions/reward/answer.py:AnswerReward",
                "rollout_runtime": '{"cpu": 2, "memory_size": 4096, "disk_size": 512}',
                "reward_weights": "0.5",
                "reward_metric_weights": '[{"correct": 1.0}]',
                "workspace_dir": "./",
            },
        )
        assert [item.rule for item in document.errors] == []
        assert document.job is not None
        assert document.job.rollout is not None
        assert document.job.rollout.runtime is not None
        assert document.job.rollout.runtime.memory_size == 4096
        assert document.job.rewards[0].reward_metric_weight == {"correct": 1.0}
        assert document.job.rewards[0].weight == 0.5
        assert [data.type for data in document.job.datasets] == ["training", "validation"]

    def test_lists_of_another_length_are_told(self, checked: Checked, sound: str) -> None:
        document = checked(sound, overrides={"reward_runtimes": [{"cpu": 2}, {"cpu": 4}]})
        assert [item.rule for item in document.errors] == ["list-length"]
        assert document.errors[0].message == "2 values of runtime for 1 functions of type reward."

    def test_runtimes_go_to_the_functions_of_their_kind(self, checked: Checked, sound: str) -> None:
        job = checked(sound, overrides={"reward_runtimes": [{"cpu": 7}], "rollout_timeout": 30}).job
        assert job is not None
        assert job.rewards[0].runtime is not None
        assert (job.rewards[0].runtime.cpu, job.rewards[0].runtime.capacity) == (7, 30)
        assert job.rollout is not None
        assert (job.rollout.timeout, job.rollout.runtime and job.rollout.runtime.cpu) == (30, 2)

    @pytest.mark.parametrize(
        ("overrides", "words"),
        [
            ({"hyper_parameters": "{"}, "no JSON"),
            ({"functions.7.name": "x"}, "no item 7"),
            ({"model": object()}, "object is no value"),
        ],
    )
    def test_misfits_are_told(self, checked: Checked, sound: str, overrides: dict[str, Any], words: str) -> None:
        errors = checked(sound, overrides=overrides).errors
        assert [item.rule for item in errors] == ["override"]
        assert words in errors[0].message

    def test_an_unknown_option_is_an_unknown_key(self, checked: Checked, sound: str) -> None:
        assert [item.rule for item in checked(sound, overrides={"tempo": 3}).errors] == ["unknown-key"]


class TestScenarios:
    @pytest.mark.parametrize(
        ("name", "rollout", "reward"),
        [
            ("OPD: teacher only", False, False),
            ("OPD: teacher + reward", False, True),
            ("OPD: teacher + rollout", True, False),
            ("OPD: teacher + rollout + reward", True, True),
        ],
    )
    def test_there_and_back(
        self, checked: Checked, facts: Any, sound: str, name: str, rollout: bool, reward: bool
    ) -> None:
        text = apply_edits(sound, switch_scenario(sound, name, facts=facts))
        document = checked(text)
        assert document.is_ok
        assert document.scenario == name
        assert document.job is not None
        assert document.job.teacher_model == "qwen3.5-27b"
        assert (document.job.rollout is not None, bool(document.job.rewards)) == (rollout, reward)
        assert ("functions:" in text) == (rollout or reward)
        for comment in ("# A small run", "# dense", "# small"):
            assert comment in text
        back = apply_edits(text, switch_scenario(text, "RL", facts=facts))
        again = checked(back)
        assert again.scenario == "RL"
        assert again.is_ok
        assert again.job is not None
        assert again.job.training.type == "reinforcement"

    def test_every_scenario_is_reachable_from_every_other(self, checked: Checked, facts: Any, sound: str) -> None:
        for first in SCENARIOS:
            text = apply_edits(sound, switch_scenario(sound, first, facts=facts))
            for second in SCENARIOS:
                switched = checked(apply_edits(text, switch_scenario(text, second, facts=facts)))
                assert switched.scenario == second
                assert switched.is_ok

    def test_switching_to_where_one_is_changes_nothing(self, facts: Any, sound: str) -> None:
        assert switch_scenario(sound, "RL", facts=facts) == ()

    def test_values_that_opd_does_not_take_are_changed(self, checked: Checked, sound: str) -> None:
        text = sound.replace("gspo", "grpo").replace("save_strategy: epoch", 'save_strategy: "no"')
        document = checked(apply_edits(text, switch_scenario(text, "OPD: teacher + rollout")))
        assert document.is_ok

    def test_a_teacher_can_be_named(self, checked: Checked, sound: str) -> None:
        edits = switch_scenario(sound, "OPD: teacher only", teacher="qwen3.5-122b-a10b")
        job = checked(apply_edits(sound, edits)).job
        assert job is not None
        assert job.teacher_model == "qwen3.5-122b-a10b"

    @pytest.mark.parametrize(
        ("text", "target", "words"),
        [
            ("name: x\n", "RL", "needs a rollout"),
            ("name: x\n", "OPD: teacher only", "No teacher is listed"),
            ("name: x\n", "PPO", "no scenario"),
            ("a: [\n", "RL", "syntax"),
            ("functions:\n  - name: f\n", "OPD: teacher only", "No teacher"),
        ],
    )
    def test_what_is_missing_is_named(self, text: str, target: str, words: str) -> None:
        with pytest.raises(CannotEdit, match=words):
            switch_scenario(text, target)

    def test_a_function_without_type_is_not_guessed_away(self, sound: str) -> None:
        text = sound.replace("  - type: reward\n    name", "  - name")
        with pytest.raises(CannotEdit, match="Function 2 has no usable type"):
            switch_scenario(text, "OPD: teacher only")


class TestFunctionBlocks:
    def test_adding_one(self, checked: Checked, sound: str) -> None:
        block = {"fcmodel": {"classpath": "functions.reward.group.Ranking"}, "type": "group_reward", "name": "rank",
                 "runtime": {"memory_size": 4096, "disk_size": 512}}  # fmt: skip
        text = apply_edits(sound, add_function(sound, block))
        assert (
            "      capacity: 30\n  - type: group_reward\n    name: rank\n    fcmodel:\n"
            "      classpath: functions.reward.group.Ranking\n    runtime:\n" in text
        )
        assert checked(text).diagnostics == ()

    def test_removing_one_and_all(self, sound: str) -> None:
        text = apply_edits(sound, remove_function(sound, 0))
        assert "type: rollout" not in text
        assert "# 答案是否正确\n  - type: reward" in text
        assert "functions" not in apply_edits(text, remove_function(text, 0)).replace("functions/", "")


class TestPresets:
    @pytest.mark.parametrize("name", ["quick check", "real run", "MoE"])
    def test_a_preset_fits_and_keeps_the_rest(self, checked: Checked, sound: str, name: str) -> None:
        plan = preset_edits(checked(sound), name)
        assert apply_edits(sound, plan.edits) == plan.text
        document = checked(plan.text)
        assert document.is_ok
        assert [item.rule for item in document.diagnostics if item.severity is not Severity.INFO] == []
        assert document.job is not None
        assert set(PRESETS[name].values) <= set(document.job.training.hyper_parameters)
        assert "   # small" in plan.text
        assert all(change.reason for change in plan.changes)
        assert preset_edits(document, name).edits == ()

    @pytest.mark.parametrize("name", ["OPD quick", "OPD real"])
    def test_presets_of_opd(self, checked: Checked, sound: str, name: str) -> None:
        text = apply_edits(sound, switch_scenario(sound, "OPD: teacher + reward"))
        document = checked(preset_edits(checked(text), name).text)
        assert document.is_ok
        assert [preset.name for preset in presets_for(document)] == ["OPD quick", "OPD real"]

    def test_values_follow_the_number_of_rows(self, checked: Checked, sound: str, facts: Any) -> None:
        facts.row_counts["data/train.jsonl"] = 100
        changes = {change.key: change for change in preset_edits(checked(sound), "real run").changes}
        assert "batch_size" not in changes
        assert changes["n_epochs"].new == 3
        assert changes["learning_rate"].old == 2e-6
        facts.row_counts["data/train.jsonl"] = 20_000
        changes = {change.key: change for change in preset_edits(checked(sound), "real run").changes}
        assert changes["batch_size"].new == 128
        assert changes["eval_steps"].new == 31
        assert "468–471" in changes["eval_steps"].reason

    def test_a_preset_makes_missing_sections(self, checked: Checked) -> None:
        plan = preset_edits(checked("name: x\n"), "quick check")
        assert plan.text.startswith("name: x\ntraining:\n  hyper_parameters:\n    algorithm: gspo\n")
        assert "learning_rate: 2.0e-6\n" in plan.text

    def test_refusals(self, checked: Checked, sound: str) -> None:
        with pytest.raises(CannotEdit, match="no preset"):
            preset_edits(checked(sound), "fast")
        with pytest.raises(CannotEdit, match="is for an OPD job"):
            preset_edits(checked(sound), "OPD real")
        with pytest.raises(CannotEdit, match="broken syntax"):
            preset_edits(checked("a: ["), "quick check")

    def test_the_offer_depends_on_the_model(self, checked: Checked, sound: str) -> None:
        assert [preset.name for preset in presets_for(checked(sound))] == ["quick check", "real run"]
        moe = checked(sound.replace("qwen3.5-9b", "qwen3.5-35b-a3b"))
        assert [preset.name for preset in presets_for(moe)] == ["quick check", "MoE"]
        assert presets_for(checked("a: [")) == ()


class TestDifference:
    def test_only_changed_keys(self, checked: Checked, sound: str) -> None:
        other = (
            sound.replace("n_epochs: 1", "n_epochs: 3")
            .replace("    timeout: 600\n", "")
            .replace("      cpu: 2\n", "      cpu: 2\n      enable_log: true\n")
            .replace("./data/valid.jsonl", "./data/train.jsonl")
        )
        assert [str(change) for change in diff(checked(sound), checked(other))] == [
            "functions[rollout-1].timeout: - 600",
            "datasets[validation].file_name: ./data/valid.jsonl → ./data/train.jsonl",
            "training.hyper_parameters.n_epochs: 1 → 3",
            "functions[rollout-1].runtime.enable_log: + True",
        ]

    def test_spelling_and_order_are_no_difference(self, checked: Checked, sound: str) -> None:
        lines = sound.replace("2.0e-6", "0.000002").replace("# small", "# tiny")
        assert diff(checked(sound), checked(lines)) == []

    def test_functions_are_matched_by_name(self, checked: Checked, sound: str) -> None:
        start, end = sound.index("  - type: rollout"), sound.index("  # 答案")
        swapped = (
            sound[:start]
            + sound[end : sound.index("\ndatasets")]
            + sound[start:end]
            + sound[sound.index("\ndatasets") :]
        )
        assert diff(checked(sound), checked(swapped)) == []

    def test_broken_files_are_refused(self, checked: Checked, sound: str) -> None:
        with pytest.raises(ConfigError, match="broken syntax"):
            diff(checked(sound), checked("a: ["))


class TestPrice:
    def test_units_times_price_times_hours(self, checked: Checked, sound: str) -> None:
        job = checked(sound).job
        assert job is not None
        price = estimate(job, hours=1.5)
        assert isinstance(price, Price)
        assert price.per_hour == 984
        assert price.total == 1476
        assert str(price) == "1,476.00 CNY for 1.5 h"
        assert "24 x MTU4 at 41 CNY an hour" in price.basis
        assert price.date == "2026-12-01"

    def test_part_minutes_are_billed_whole(self, checked: Checked, sound: str) -> None:
        job = checked(sound).job
        assert job is not None
        price = estimate(job, hours=1 / 3600)
        assert isinstance(price, Price)
        assert price.total == pytest.approx(16.4)

    def test_without_hours_there_is_no_total(self, checked: Checked, sound: str) -> None:
        job = checked(sound).job
        assert job is not None
        price = estimate(job)
        assert isinstance(price, Price)
        assert price.total is None
        assert str(price) == "984.00 CNY an hour"

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("MTU4", "MTU9", "No price of MTU9"),
            ("mtu_postpaid", "mtu_monthly", "MTU4 with mtu_monthly"),
            ("    mtu_capacity: 24\n", "", "says nothing of mtu_capacity"),
        ],
    )
    def test_unknown_is_unknown(self, checked: Checked, sound: str, old: str, new: str, words: str) -> None:
        job = checked(sound.replace(old, new)).job
        assert job is not None
        price = estimate(job, hours=1)
        assert isinstance(price, Unknown)
        assert words in price.reason
        assert str(price) == "unknown"

    def test_a_users_own_price_file_wins(self, checked: Checked, sound: str, tmp_path: Path) -> None:
        own = tmp_path / "config" / "prices.toml"
        own.parent.mkdir()
        own.write_text(
            '[[unit]]\ncode = "MTU4"\ncharge_types = ["mtu_postpaid"]\nper_hour = 10\ncurrency = "CNY"\n'
            'billed_by = "hour"\nsource = "contract"\ndate = "2027-01-01"\n'
        )
        job = checked(sound).job
        assert job is not None
        price = estimate(job, hours=2)
        assert isinstance(price, Price)
        assert (price.total, price.source) == (480, "contract")

    @pytest.mark.parametrize(
        "text",
        [
            "[[unit]]\ncode = 1",
            "x =",
            "unit = 3",
            (
                '[[unit]]\ncode = "a"\ncharge_types = []\nper_hour = 0\ncurrency = ""\nbilled_by = ""\n'
                'source = ""\ndate = ""'
            ),
        ],
    )
    def test_a_bad_price_file_is_named(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "prices.toml"
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"prices\.toml cannot be used"):
            load_prices(path)

    def test_a_missing_price_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"no\.toml"):
            load_prices(tmp_path / "no.toml")


class TestMeaning:
    def test_numbers_of_a_run(self, checked: Checked, sound: str) -> None:
        found = meaning(checked(sound), hours=1)
        assert found.scenario.name == "RL"
        assert (found.training_rows, found.validation_rows) == (1000, 100)
        assert str(found.steps) == "15–16"
        assert found.samples_per_step == 512
        assert found.rollouts_total == (7680, 8192)
        rollout, reward = found.functions
        assert (rollout.calls_at_once, rollout.calls_needed, rollout.is_fast_enough) == (900, 11, True)
        assert rollout.info is not None
        assert (rollout.info.path, rollout.info.line) == ("functions/rollout/agent.py", 12)
        assert reward.weight == 1.0
        assert str(found.price) == "984.00 CNY for 1 h"

    def test_what_is_not_known_is_none(self, checked: Checked) -> None:
        found = meaning(checked("name: x\n", facts=None))
        assert (found.steps, found.rollouts_total, found.samples_per_step, found.training_rows) == (None,) * 4
        assert isinstance(found.price, Unknown)

    def test_a_faster_step_needs_more(self, checked: Checked, sound: str) -> None:
        assert meaning(checked(sound), step_seconds=0.5).functions[0].is_fast_enough is False

    def test_broken_text_has_no_meaning(self, checked: Checked) -> None:
        with pytest.raises(ConfigError):
            meaning(checked("a: ["))


class TestDiskFacts:
    def test_rows_are_counted_and_counted_again_after_a_change(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(b'{"a": 1}\n\n{"a": 2}\r\n{"a": 3}')
        facts = DiskFacts(tmp_path)
        assert facts.rows("./a.jsonl") == 3
        path.write_bytes(b'{"a": 1}\n')
        assert facts.rows("./a.jsonl") == 1
        assert facts.rows("no.jsonl") is None

    def test_files_are_listed_without_hidden_ones(self, tmp_path: Path) -> None:
        for name in ("data/a.jsonl", ".git/config", "src/__pycache__/x.pyc", "src/m.py"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        facts = DiskFacts(tmp_path)
        assert facts.files() == ["data/a.jsonl", "src/m.py"]
        assert facts.file_exists("./data/a.jsonl")
        assert not facts.file_exists("data")
        assert not facts.file_exists("bad\0name")
        assert facts.processors() is None


def test_fix_all_makes_the_guides_sample_runtime_usable(tmp_path: Path) -> None:
    text = (
        "functions:\n  - type: rollout\n    weight: 1\n    runtime: {cpu: 2, memory_size: 4, disk_size: 20960, "
        "concurrency: 2, env: {}, capacity: 5}\ntraining:\n  type: pg-opd\n  hyper_parameters:\n"
        "    learning_rate: 2e-6  # Lernrate\n    batch_size: '128'\n"
    )
    fixed = fix_all(check(text, path=tmp_path / "job.yaml"))
    assert "memory_size: 4096, disk_size: 20960" in fixed
    assert "learning_rate: 2.0e-6  # Lernrate\n" in fixed
    assert "batch_size: 128\n" in fixed
    assert "type: pg_opd\n" in fixed
    assert "weight" not in fixed


def test_setting_keeps_quotes_and_removing_keeps_neighbours() -> None:
    text = "a: 'x'  # one\nb:\n  - 1\n  - 2  # two\n"
    assert apply_edits(text, set_value(text, ("a",), "y")) == "a: 'y'  # one\nb:\n  - 1\n  - 2  # two\n"
    assert apply_edits(text, remove_value(text, ("b", 0))) == "a: 'x'  # one\nb:\n  - 2  # two\n"


class TestAnchors:
    TEXT = "r: &m\n  cpu: 1\ns:\n  <<: *m\n  k: 1\nu: *m # same\nl: &l # list\n- 1\n- 2\nv: *l\n"

    @pytest.mark.parametrize(
        ("path", "value", "old", "new"),
        [
            (("r",), {"q": 1}, "r: &m\n  cpu: 1\n", "r: &m\n  q: 1\n"),
            (("u",), 7, "u: *m # same", "u: 7 # same"),
            (("s", "cpu"), 3, "  k: 1\n", "  k: 1\n  cpu: 3\n"),
            (("l",), [7], "- 1\n- 2\n", "- 7\n"),
            (("l", 2), 3, "- 2\n", "- 2\n- 3\n"),
        ],
    )
    def test_setting(self, path: tuple[Any, ...], value: Any, old: str, new: str) -> None:
        assert apply_edits(self.TEXT, set_value(self.TEXT, path, value)) == self.TEXT.replace(old, new)

    def test_an_anchor_that_is_used_is_not_taken_away(self) -> None:
        for change in (lambda: remove_value(self.TEXT, ("r",)), lambda: set_value(self.TEXT, ("r",), 1)):
            with pytest.raises(CannotEdit, match="anchor &m"):
                change()

    def test_an_alias_can_go(self) -> None:
        assert apply_edits(self.TEXT, remove_value(self.TEXT, ("u",))) == self.TEXT.replace("u: *m # same\n", "")

    def test_complex_keys_are_left_alone(self) -> None:
        text = "? a\n: 1\n? b\n: 2\n"
        for change in (
            lambda: set_value(text, ("a",), 3),
            lambda: remove_value(text, ("b",)),
            lambda: set_value(text, ("c",), 3),
        ):
            with pytest.raises(CannotEdit, match="complex key"):
                change()


def test_a_duplicate_whose_anchor_is_used_has_no_fix(checked: Checked) -> None:
    problem = next(
        item
        for item in checked("name: &n x\nname: y\nteacher_model: *n\n").diagnostics
        if item.rule == "yaml-duplicate"
    )
    assert problem.fix is None
