"""Comparing the rollouts of a group: alignment, first difference, causes of no spread, the reward's parts."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.core.models import alignment
from agentic_rl_tui.core.models.alignment import (
    Turn,
    align,
    differs,
    first_difference,
    first_difference_in_text,
    prompt_of,
    shared_prefix,
    turns_of,
)
from agentic_rl_tui.core.models.groups import Cause, Spread, bounds, judge, spread_of
from agentic_rl_tui.core.models.waterfall import waterfall


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": json.dumps(arguments)}}]}


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def record(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"messages": list(messages), "reward": 0.0, **fields}


BEGIN = (said("system", "s"), said("user", "q"))

turns = st.builds(Turn, st.sampled_from(["user", "assistant", "tool"]), st.sampled_from(["a", "b", "c"]))
groups = st.lists(st.lists(turns, max_size=9).map(tuple), min_size=1, max_size=5)


@given(groups)
def test_every_turn_stands_on_one_line_in_its_order(rollouts: list[tuple[Turn, ...]]) -> None:
    lines = align(rollouts)
    for number, own in enumerate(rollouts):
        assert [line[number] for line in lines if line[number] is not None] == list(range(len(own)))
    for line in lines:
        roles = {rollouts[number][place].role for number, place in enumerate(line) if place is not None}
        assert len(roles) == 1


@given(groups)
def test_lines_before_the_first_difference_are_the_same(rollouts: list[tuple[Turn, ...]]) -> None:
    begin = shared_prefix(rollouts)
    lines = align(rollouts)
    assert not any(differs(line, rollouts) for line in lines[:begin])
    found = [place for a in rollouts for b in rollouts if (place := first_difference(a, b)) is not None]
    assert min(found, default=None) == (None if not found else begin)


@given(st.integers(0, 20), st.integers(2, 8))
def test_the_mark_is_on_the_turn_where_rollouts_part(k: int, count: int) -> None:
    rollouts = [
        tuple(Turn("assistant" if i % 2 else "user", "same" if i < k else f"{number}.{i}") for i in range(24))
        for number in range(count)
    ]
    assert shared_prefix(rollouts) == k
    assert {first_difference(a, b) for a in rollouts for b in rollouts if a is not b} == {k}
    lines = align(rollouts)
    assert next(place for place, line in enumerate(lines) if differs(line, rollouts)) == k


def test_tool_calls_are_lined_up_and_a_missing_one_leaves_a_gap() -> None:
    rollouts = [
        turns_of(record(*BEGIN, call("calc", x=1), said("tool", "1"), said("assistant", "one"))),
        turns_of(record(*BEGIN, said("assistant", "two"))),
        turns_of(record(*BEGIN, call("find", q="x"), said("tool", "?"), call("calc", x=2), said("tool", "2"))),
    ]
    lines = align(rollouts)
    assert lines[:2] == ((0, 0, 0), (1, 1, 1))
    calc = next(line for line in lines if line[0] == 2)
    assert calc[2] == 4
    answer = next(line for line in lines if line[0] == 4)
    assert answer[1] == 2


def test_very_long_conversations_are_put_side_by_side_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_MOST_TURNS", 3)
    rollouts = [tuple(Turn("user" if i % 3 else "tool", str(i + n)) for i in range(5 + n)) for n in range(2)]
    lines = align(rollouts)
    for number, own in enumerate(rollouts):
        assert [line[number] for line in lines if line[number] is not None] == list(range(len(own)))


def test_order_and_spaces_of_arguments_do_not_count() -> None:
    one = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"a":1, "b": 2}'}}]}
    two = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"b":2,"a":1}'}}]}
    assert turns_of(record(one)) == turns_of(record(two))


@pytest.mark.parametrize(
    "messages",
    [None, "text", [1, None, "x"], [{"content": None}], [{"tool_calls": [None, {"function": 3}]}], [{"content": {}}]],
)
def test_anything_stored_can_be_compared(messages: Any) -> None:
    assert isinstance(turns_of({"messages": messages}), tuple)
    assert prompt_of({"messages": messages}) == ""


def test_the_prompt_is_the_last_question_before_the_first_answer() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "第一"}, {"type": "text", "text": "题"}]}
    assert prompt_of(record(said("user", "old"), parts, said("assistant", "a"), said("user", "more"))) == "第一\n题"


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_texts_part_where_the_first_character_differs(begin: str, one: str, other: str) -> None:
    a, b = begin + one, begin + other
    found = first_difference_in_text(a, b)
    assert found >= len(begin) or a[:found] == b[:found]
    assert a[:found] == b[:found]
    assert found == min(len(a), len(b)) or a[found] != b[found]


def test_a_group_without_spread_is_told_by_where_it_lies() -> None:
    assert spread_of([1.0, 1.0], 0.0, 1.0) is Spread.ALL_MAX
    assert spread_of([0.0, 0.0], 0.0, 1.0) is Spread.ALL_MIN
    assert spread_of([0.5, 0.5, None], 0.0, 1.0) is Spread.ALL_OTHER
    assert spread_of([0.5, 0.6], 0.0, 1.0) is Spread.SPREAD
    assert spread_of([0.5, None], 0.0, 1.0) is Spread.UNUSABLE
    assert spread_of([1.0, 1.0], 1.0, 1.0) is Spread.ALL_OTHER
    assert bounds([[None, 0.25], [1.0]]) == (0.25, 1.0)
    assert bounds([[None]]) == (0.0, 0.0)


RAISED = {"scores": [{"name": "r", "score": 0.0, "sub_results": [{"name": "s", "error": {"type": "KeyError"}}]}]}


@pytest.mark.parametrize(
    ("rewards", "fields", "low", "high", "cause"),
    [
        ([1.0, 1.0], {}, 0.0, 1.0, Cause.TOO_EASY),
        ([0.0, 0.0], {}, 0.0, 1.0, Cause.TOO_HARD),
        ([0.4, 0.4], {}, 0.0, 1.0, Cause.SAME_VALUE),
        ([0.4, 0.4], {}, 0.4, 0.4, Cause.CONSTANT),
        ([0.0, 0.0], RAISED, 0.0, 1.0, Cause.ZERO_BY_EXCEPTION),
        ([0.1, 0.9], {}, 0.0, 1.0, None),
        ([None, None], {"failure": {"kind": "raised"}}, 0.0, 1.0, Cause.ROLLOUTS_FAILED),
        ([None, None], {}, 0.0, 1.0, Cause.REWARDS_FAILED),
        ([1.0], {}, 0.0, 1.0, Cause.ONE_ROLLOUT),
    ],
)
def test_the_likely_cause(
    rewards: list[float | None], fields: dict[str, Any], low: float, high: float, cause: Cause | None
) -> None:
    records = [
        record(*BEGIN, said("assistant", f"answer {number}"), **{**fields, "reward": reward})
        for number, reward in enumerate(rewards)
    ]
    facts = judge(rewards, low, high, records=records)
    assert facts.cause is cause
    assert facts.prompt == "q"


def test_rollouts_that_say_the_same_are_the_cause_themselves() -> None:
    records = [record(*BEGIN, said("assistant", "same"), reward=1.0)] * 3
    assert judge([1.0] * 3, 0.0, 1.0, records=records).cause is Cause.IDENTICAL


def test_failures_are_never_counted_as_zeros() -> None:
    records = [
        record(*BEGIN, reward=0.0),
        record(*BEGIN, said("assistant", "x"), **{**RAISED, "reward": 0.0}),
        record(reward=None, failure={"kind": "timeout"}),
        record(*BEGIN, reward=None),
    ]
    facts = judge([0.0, 0.0, None, None], 0.0, 1.0, records=records)
    assert (facts.scored, facts.zeros, facts.zeros_by_exception) == (2, 2, 1)
    assert (facts.failed_rollouts, facts.failed_rewards) == (1, 1)


scores = st.fixed_dictionaries(
    {
        "name": st.text(max_size=5),
        "weight": st.floats(-5, 5),
        "score": st.floats(-10, 10),
    },
    optional={
        "sub_results": st.lists(
            st.fixed_dictionaries({"name": st.text(max_size=5), "weight": st.floats(-3, 3), "score": st.floats(-9, 9)})
        )
    },
)


@given(st.lists(scores, min_size=1, max_size=5))
def test_the_parts_add_up_to_the_reward(given_scores: list[dict[str, Any]]) -> None:
    whole = math.fsum(abs(score["weight"]) for score in given_scores)
    parts = waterfall({"scores": given_scores})
    top = [part for part in parts if part.depth == 0]
    if whole == 0:
        assert all(part.share is None for part in parts)
        return
    reward = math.fsum(score["weight"] * score["score"] for score in given_scores) / whole
    assert math.fsum(part.share or 0.0 for part in top) == pytest.approx(reward, abs=1e-9)
    at = -1
    below: dict[int, list[float]] = {}
    for part in parts:
        at += part.depth == 0
        if part.depth:
            below.setdefault(at, []).append(part.share or 0.0)
    for number, shares in below.items():
        assert math.fsum(shares) == pytest.approx(top[number].share, abs=1e-5)


def test_a_failed_reward_has_no_share_and_says_why() -> None:
    (one, two) = waterfall(
        {
            "scores": [
                {"name": "a", "weight": 1.0, "score": None, "error": {"type": "KeyError", "message": "'x'"}},
                {"name": "b", "weight": 1.0, "value": 0.5},
            ]
        }
    )
    assert (one.value, one.share, one.error) == (None, None, "KeyError: 'x'")
    assert (two.value, two.share) == (0.5, None)
