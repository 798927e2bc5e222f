"""The practice policy learns what rewards prefer, holds to its start, and finds the hack in a careless reward."""

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.platform.engine.advantages import group_advantages
from agentic_rl_tui.core.platform.engine.learning import LearnSettings, Sample, step_size
from agentic_rl_tui.core.platform.engine.policy import ModelRequest, Place
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy, start_tables, teacher_tables
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.engine.softmax import SoftmaxTable, divergence, entropy, pick, probabilities
from agentic_rl_tui.core.platform.engine.strategies import AFTER_TOOL, FIRST

Judge = Callable[[str], float]


async def train(
    policy: PracticePolicy, judge: Judge, kit: Any, *, steps: int = 8, rate: float = 2e-6, **settings: Any
) -> list[float]:
    """Mean rewards of steps of 32 x 8 answers scored by `judge`, which sees the strategy's name."""
    rows = [Row.of(index, raw) for index, raw in enumerate(kit.arithmetic(32))]
    means = []
    for step in range(steps):
        samples: list[Sample] = []
        rewards_of_step = []
        for row in rows:
            decisions = []
            for rollout in range(8):
                place = Place(row, (1, step, row.index, rollout))
                reply = await policy.answer(ModelRequest(row.messages), place, ())
                assert reply.completions[0].decision is not None
                decisions.append(reply.completions[0].decision)
            rewards = [judge(decision.name) for decision in decisions]
            rewards_of_step += rewards
            for decision, advantage in zip(decisions, group_advantages(rewards).advantages, strict=True):
                samples.append(Sample((decision,), advantage or 0.0))
        policy.learn(samples, LearnSettings(step_size(rate), **settings), seed=(1, step))
        means.append(sum(rewards_of_step) / len(rewards_of_step))
    return means


async def test_it_learns_what_pays(kit: Any) -> None:
    policy = PracticePolicy()
    start = policy.chances()
    means = await train(policy, lambda name: float(name.startswith("right_in_form")), kit)
    end = policy.chances()
    assert means[-1] - means[0] > 0.3
    assert sum(chance for name, chance in end.items() if name.startswith("right_in_form")) > 0.6
    assert end["wrong"] < start["wrong"]


async def test_a_careless_reward_makes_it_list_every_number(bench: Any, kit: Any) -> None:
    """`gold in text` pays hedging as much as answering; hedging grows, which an honest reward makes shrink."""

    async def shares(reward: Any) -> tuple[float, float]:
        fresh = type(bench)(bench.artefacts.parent / reward.__name__)
        counted: dict[int, list[bool]] = {}
        ask = fresh.agent()

        async def rollout(payload: dict[str, Any]) -> Any:
            answer = await ask(payload)
            step = int(payload["request_metadata"]["rollout_id"].split("-")[1])
            text = kit.last_text(answer) or ""
            counted.setdefault(step, []).append(text.startswith("It could be any of"))
            return answer

        fresh.artefacts.parent.mkdir()
        await fresh.run(
            fresh.request(
                rollout=rollout, rewards=[reward], rows=kit.arithmetic(96), batch_size=16, n_rollouts=8, n_epochs=2
            )
        )
        means = [sum(values) / len(values) for _, values in sorted(counted.items())]
        return means[0], means[-1]

    hacked, honest = await shares(kit.naive), await shares(kit.strict)
    assert hacked[1] > 5 * hacked[0] > 0
    assert honest[1] < honest[0]


async def test_a_constant_reward_teaches_nothing(kit: Any) -> None:
    policy = PracticePolicy()
    start = policy.chances()
    await train(policy, lambda _: 0.7, kit, kl_coef=0.01)
    assert policy.chances() == pytest.approx(start, abs=1e-12)


async def test_noise_does_not_carry_it_far(kit: Any) -> None:
    policy = PracticePolicy()
    draw = random.Random(3)
    means = await train(policy, lambda _: draw.random(), kit)
    assert abs(means[-1] - means[0]) < 0.1
    assert divergence(list(policy.chances().values()), list(PracticePolicy().chances().values())) < 0.3


async def test_a_strong_kl_holds_it_at_its_start(kit: Any) -> None:
    free, held = PracticePolicy(), PracticePolicy()
    start = list(free.chances().values())
    await train(free, lambda name: float(name == "right_bare"), kit)
    await train(held, lambda name: float(name == "right_bare"), kit, kl_coef=3.0)
    assert divergence(list(held.chances().values()), start) < 0.3 * divergence(list(free.chances().values()), start)


async def test_higher_rates_go_further(kit: Any) -> None:
    moved = []
    for rate in (1e-7, 2e-6, 5e-5):
        policy = PracticePolicy()
        await train(policy, lambda name: float(name == "right_bare"), kit, steps=1, rate=rate)
        moved.append(divergence(list(PracticePolicy().chances().values()), list(policy.chances().values())))
    assert moved[0] < moved[1] < moved[2]
    assert step_size(2e-6) == 4.0
    assert step_size(8e-6) == pytest.approx(8.0)
    assert step_size(0.0) == 0.0


async def test_a_good_reward_teaches_the_use_of_tools(bench: Any, kit: Any) -> None:
    job = await bench.run(
        bench.request(
            rollout=bench.agent(tools=True),
            rewards=[kit.strict],
            rows=kit.arithmetic(96),
            batch_size=16,
            n_rollouts=8,
            n_epochs=2,
        )
    )
    calls = bench.metrics(job, "num_turns/mean")
    assert calls[-1] > calls[0] + 0.3
    assert bench.metrics(job)[-1] > 0.8


async def test_what_is_learned_holds_with_tools_and_without(kit: Any) -> None:
    policy = PracticePolicy()
    before = policy.chances(tools=True)["right_in_form"]
    await train(policy, lambda name: float(name == "right_in_form"), kit)
    assert policy.chances(tools=True)["right_in_form"] > 2 * before


async def test_temperature_zero_always_takes_the_best(kit: Any) -> None:
    policy = PracticePolicy()
    row = Row.of(0, kit.arithmetic(1)[0])
    request = ModelRequest(row.messages, temperature=0.0)
    names, texts = set(), set()
    for rollout in range(20):
        reply = await policy.answer(request, Place(row, (rollout,)), ())
        decision = reply.completions[0].decision
        assert decision is not None
        names.add(decision.name)
        texts.add(reply.completions[0].text)
    assert names == {"near_miss"}
    assert len(texts) == 1
    settings = LearnSettings(4.0)
    update = policy.learn([Sample((decision,), 1.0)], settings, seed=(1,))
    assert update.grad_norm == 0.0


async def test_many_choices_of_one_call_are_drawn_apart(kit: Any) -> None:
    policy = PracticePolicy()
    row = Row.of(0, kit.arithmetic(1)[0])
    reply = await policy.answer(ModelRequest(row.messages, n=40), Place(row, (1,)), ())
    assert len({completion.text for completion in reply.completions}) > 5


def test_dump_and_load_keep_what_was_learned() -> None:
    policy = PracticePolicy()
    policy._tables["first"].weights[0][0] += 1.0
    other = PracticePolicy()
    other.load(policy.dump())
    assert other.chances() == policy.chances()
    other.load({"tables": {"first": {"always": {"right_in_form": math.nan, "no such": 1.0}}, "new": {}}})
    assert other.chances() == policy.chances()


def test_the_teacher_is_better_than_the_start() -> None:
    start, teacher = start_tables()["first"], teacher_tables()["first"]
    allowed = range(len(FIRST))
    place = [item.name for item in FIRST].index("right_in_form")
    before = probabilities(start.logits(((0, 1.0),), allowed))
    after = probabilities(teacher.logits(((0, 1.0),), allowed))
    assert after[place] > 3 * before[place]


def test_names_are_unique_within_a_table() -> None:
    for table in (FIRST, AFTER_TOOL):
        assert len({item.name for item in table}) == len(table)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20), st.floats(0, 5), st.floats(0, 1, exclude_max=True))
def test_softmax_laws(logits: list[float], temperature: float, draw: float) -> None:
    chances = probabilities(logits, temperature)
    assert math.isclose(math.fsum(chances), 1.0, rel_tol=1e-9)
    assert 0 <= entropy(chances) <= math.log(len(logits)) + 1e-9
    assert divergence(chances, chances) == pytest.approx(0, abs=1e-12)
    assert chances[pick(chances, draw)] > 0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(-10, 10)), max_size=12))
def test_advantages_are_centred_and_leave_the_failed_out(rewards: list[float | None]) -> None:
    stats = group_advantages(rewards)
    assert len(stats.advantages) == len(rewards)
    known = [advantage for advantage in stats.advantages if advantage is not None]
    assert len(known) == stats.scored == sum(reward is not None for reward in rewards)
    assert abs(math.fsum(known)) < 1e-3
    if stats.is_zero_variance:
        assert set(known) == {0.0}


def test_advantages_of_a_plain_group() -> None:
    stats = group_advantages([1.0, 0.0, None, 1.0, 0.0])
    assert stats.advantages[2] is None
    assert [round(value, 3) for value in stats.advantages if value is not None] == [1.0, -1.0, 1.0, -1.0]
    flat = group_advantages([0.1 + 0.2, 0.3, 0.3])
    assert flat.is_zero_variance
    assert group_advantages([1.0, None]).is_zero_variance is False


def test_logits_are_linear_in_features() -> None:
    table = SoftmaxTable(["a", "b"], ["always", "x"], [1.0, 1.0], [0.0, 1.0])
    table.weights[1] = [2.0, 0.0]
    assert table.logits(((0, 1.0), (1, 0.5)), (0, 1), shift=0.25) == [1.0, 0.25]
    assert table.logits(((0, 1.0),), (1,), shift=0.0) == [0.0]
