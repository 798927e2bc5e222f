"""What the practice policy reads out of a row and how it writes answers."""

import random
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.platform.engine import expressions, numerals, strategies
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.engine.seeds import rng
from agentic_rl_tui.core.platform.engine.strategies import Scene
from agentic_rl_tui.core.platform.engine.wrappers import PLAIN, wanted


def row(solution: Any, question: str = "What is it?", **more: Any) -> Row:
    return Row.of(
        0, {"messages": [{"role": "user", "content": question}], "rollout_extra": {"solution": solution}, **more}
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_000", Fraction(1000)),
        ("1,000", Fraction(1000)),
        ("2/3", Fraction(2, 3)),
        ("(1/4)", Fraction(1, 4)),
        ("75%", Fraction(3, 4)),
        ("-0.5", Fraction(-1, 2)),
        (".5", Fraction(1, 2)),
        (" 12 ", Fraction(12)),
        ("C", None),
        ("12 apples", None),
        ("1/0", None),
        ("", None),
        ("9" * 41, None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, value: Fraction | None) -> None:
    assert numerals.parse(text) == value


def test_numbers_are_found_in_a_sentence() -> None:
    found = [spelling for spelling, _ in numerals.find_all("6.6 minus x (3/2) times, 75° and 1_000 of 30%.")]
    assert found == ["6.6", "(3/2)", "75", "1_000", "30%"]


@settings(max_examples=50, deadline=None)
@given(st.integers(-(10**9), 10**9), st.integers(1, 10**4))
def test_restyled_and_near_answers_are_what_they_say(top: int, bottom: int) -> None:
    value = Fraction(top, bottom)
    spelling = f"{top}/{bottom}"
    for way in numerals.near(value):
        assert numerals.parse(way) is not None
        if abs(value) > 1:
            assert numerals.parse(way) != value
    for way in numerals.restyled(spelling, value):
        assert way != spelling
        again = numerals.parse(way)
        assert again is not None
        assert abs(again - value) <= Fraction(1, 1000) + abs(value) / 1000


@pytest.mark.parametrize(
    ("prompt", "written"),
    [
        ("in the form of ### ANSWER: <answer> ###. Now: 1+1?", "### ANSWER: 5 ###"),
        ("Put it in <answer>...</answer> tags.", "<answer>5</answer>"),
        ("Give the final answer in \\boxed{}.", "\\boxed{5}"),
        ("End with a line #### <number>", "#### 5"),
        ('Reply as {"answer": "..."} only', '{"answer": "5"}'),
        ("Finish with Answer: <value>", "Answer: 5"),
        ("最后写 答案：<数字>", "答案： 5"),
        ("How much is it?", "The answer is 5."),
    ],
)
def test_the_wanted_form_is_read_out_of_the_prompt(prompt: str, written: str) -> None:
    wrapper = wanted(prompt)
    assert wrapper("5") == written
    assert wrapper.asked is (wrapper is not PLAIN)


def test_the_form_in_the_prompt_is_no_number_of_the_question() -> None:
    facts = row("7", "in the form of ### ANSWER: <4 digits> ###. Add 3 and 4.").facts
    assert [spelling for spelling, _ in facts.numbers] == ["3", "4"]
    assert facts.calculation.text == "3 + 4"


@pytest.mark.parametrize("kind", ["12", "2/3", "1_000", "C", "Paris", "", "0.5", "-3", "50%", 7, 2.5, None, {"a": 1}])
def test_every_strategy_can_answer_every_row(kind: Any) -> None:
    facts = row(kind, "Divide 8 by 12. Which of A, B, C?").facts
    for strategy in (*strategies.FIRST, *strategies.AFTER_TOOL):
        if strategy.tool is None:
            text = strategy.text(Scene(facts, rng("x", strategy.name), result="0.6667"))
            assert isinstance(text, str)


class Careful(random.Random):
    """Draws under which the policy never slips."""

    def random(self) -> float:
        return 0.99


def test_working_it_out_in_the_head_slips_more_on_harder_rows() -> None:
    def share(difficulty: float) -> float:
        facts = row("12", "What is 3 times 4?").facts
        facts.difficulty = difficulty
        drawn = [Scene(facts, rng(difficulty, number)).worked_out() for number in range(400)]
        assert set(drawn) <= {"12", *facts.near}
        return sum(answer != "12" for answer in drawn) / len(drawn)

    assert 0.02 < share(-1.0) < 0.12
    assert 0.45 < share(1.0) < 0.65


def test_strategies_do_what_their_names_say() -> None:
    facts = row("12", "In the form of ### ANSWER: <answer> ###. What is 3 times 4?").facts

    def text(name: str) -> str:
        strategy = next(item for item in strategies.FIRST if item.name == name)
        return strategy.text(Scene(facts, Careful()))

    assert text("right_in_form").endswith("### ANSWER: 12 ###")
    assert text("right_in_form_short") == "### ANSWER: 12 ###"
    assert len(text("right_in_form_rambling")) > 5 * len(text("right_in_form"))
    assert re.search(r"### ANSWER: (12\.0|12\.00) ###", text("right_restyled"))
    assert "### ANSWER" not in text("right_other_form")
    assert "12" in text("right_other_form")
    assert text("right_bare") == "12"
    assert "### ANSWER: 12 ###" not in text("near_miss")
    assert "### ANSWER: 12 ###" not in text("wrong")
    assert text("form_without_answer") == "### ANSWER:  ###"
    assert " 12," in text("list_candidates")
    assert text("list_candidates_in_form").count("### ANSWER:") > 3
    assert text("prompt_echo") == facts.question
    assert text("empty") == ""


def test_a_tool_result_is_used_as_it_came() -> None:
    facts = row("2/3", "In the form of ### ANSWER: <answer> ###. Divide 2 by 3.").facts
    strategy = next(item for item in strategies.AFTER_TOOL if item.name == "result_in_form")

    def after(result: str) -> str:
        return strategy.text(Scene(facts, rng(1), result))

    assert after("0.6666666667") == "### ANSWER: 2/3 ###"
    assert after("5") == "### ANSWER: 5 ###"
    assert after("error: no such tool") == "### ANSWER: error: no such tool ###"
    letters = row("C", "Which of A, B, C is 3? In the form of ### ANSWER: <answer> ###.").facts
    assert strategy.text(Scene(letters, rng(1), "3")) == "### ANSWER: C ###"


@pytest.mark.parametrize(
    ("numbers", "target", "text"),
    [
        ([3, 4], 7, "3 + 4"),
        ([3, 4], 12, "3 * 4"),
        ([4, 3], 1, "4 - 3"),
        ([2, 3], Fraction(2, 3), "2 / 3"),
        ([2, 3, 5], 25, "(2 + 3) * 5"),
        ([2], 360, "360"),
        ([], Fraction(1, 3), "1/3"),
        ([Fraction(1, 3), 3], 1, "(1/3) * 3"),
        ([Fraction(13, 2), 2], 13, "6.5 * 2"),
    ],
)
def test_a_calculation_is_found(numbers: list[Any], target: Any, text: str) -> None:
    found = expressions.find([Fraction(number) for number in numbers], Fraction(target))
    assert found.text == text
    assert abs(eval(found.text) - float(target)) < 1e-9


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.fractions(min_value=-100, max_value=100, max_denominator=20), max_size=5),
    st.fractions(max_denominator=9),
)
def test_a_calculation_always_works_out(numbers: list[Fraction], target: Fraction) -> None:
    assert abs(eval(expressions.find(numbers, target).text) - float(target)) < 1e-6
    assert eval(expressions.wrong(numbers, target).text) is not None


def test_every_official_row_is_understood(shared: Path) -> None:
    known = 0
    for index, line in enumerate((shared / "data" / "calc_train_min.jsonl").read_bytes().splitlines()):
        facts = Row.of(index, orjson.loads(line)).facts
        assert facts.wrapper("x") == "### ANSWER: x ###"
        assert facts.value is not None or facts.choice is not None, facts.gold
        for strategy in strategies.FIRST:
            if strategy.tool is None:
                strategy.text(Scene(facts, rng(index)))
        known += 1
    assert known == 128


def test_the_truth_a_reward_gets() -> None:
    assert row("4").truth == "4"
    assert row("4", ground_truth="5").truth == "5"
    assert row("4", ground_truth="5").facts.answer == "5"
    assert Row.of(0, {"messages": []}).truth is None


def test_a_row_that_wants_tool_calls() -> None:
    solution = '{"decision": "tool_call", "tool_calls": [{"name": "refund", "arguments": {"order": 7}}]}'
    facts = row(solution).facts
    assert facts.tool_calls == (("refund", {"order": 7}),)
    assert row('{"decision": "tool_call", "tool_calls": 3}').facts.tool_calls == ()
    assert row('{"tool_calls": [').facts.tool_calls == ()


def test_random_numbers_depend_on_the_place_alone(make_bench: Callable[..., Any]) -> None:
    assert rng(1, "a", 2).random() == rng(1, "a", 2).random()
    assert rng(1, "a", 2).random() != rng(1, "a", 3).random()
