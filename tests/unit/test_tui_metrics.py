"""Numbers out of log lines, and the charts made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.app.present.metrics import MetricBook, charts
from agentic_rl_tui.core.models.metrics import parse_metrics, step_of


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{'step': 3, 'critic/rewards/mean': 0.41}", {"step": 3, "critic/rewards/mean": 0.41}),
        ("2026-12-01 21:00:00,123 - INFO - {'step': 3, 'loss': 1e-05}", {"step": 3, "loss": 1e-05}),
        ('{"step": 3, "reward/mean": 0.5, "note": "x", "ok": true}', {"step": 3, "reward/mean": 0.5}),
        ("{'step': 1, 'a': {'b': 2, 'c': {'d': 3}}}", {"step": 1, "a/b": 2, "a/c/d": 3}),
        ("{'step': 1, 'kl': nan, 'x': inf, 'y': -inf, 'z': 2}", {"step": 1, "z": 2}),
        ("{'step': 1, 'r': np.float64(0.25), 'n': np.int64(3)}", {"step": 1, "r": 0.25, "n": 3}),
        (
            "step:3 - critic/rewards/mean:0.41 - actor/lr:1e-06",
            {"step": 3, "critic/rewards/mean": 0.41, "actor/lr": 1e-06},
        ),
        ("(TaskRunner pid=1) step:12 - a/b:-0.5 - c:nan", {"step": 12, "a/b": -0.5}),
    ],
)
def test_numbers_are_found(line: str, found: dict[str, float]) -> None:
    assert parse_metrics(line) == found


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no numbers here",
        "{'a': 'b'}",
        "{broken",
        "}{",
        "{__import__('os').system('true')}",
        "{'x': __import__('os')}",
        "step: nothing",
        "{" * 3000 + "}" * 3000,
        "x" * 300_000,
        "{'a': 1}" + " " * 300_000,
    ],
)
def test_anything_else_gives_nothing(line: str) -> None:
    assert parse_metrics(line) is None


@given(st.text(alphabet=st.sampled_from("{}[]()'\":,.0123456789eE+-naif step"), max_size=80))
def test_no_line_raises(line: str) -> None:
    parse_metrics(line)


def test_the_step_goes_by_several_names() -> None:
    assert step_of({"training/global_step": 7.0}) == 7
    assert step_of({"loss": 1.0}) is None


def test_a_line_seen_twice_counts_once() -> None:
    book = MetricBook()
    line = "{'step': 1, 'critic/rewards/mean': 0.4}"
    assert book.feed([line, line])
    assert book.series["critic/rewards/mean"].values == [0.4]


def test_validation_without_a_step_belongs_to_the_step_before() -> None:
    book = MetricBook()
    book.feed(["{'step': 8, 'critic/rewards/mean': 0.4}", "{'validation/data/reward/mean@1': 0.3}"])
    assert book.series["validation/data/reward/mean@1"].steps == [8]


def test_a_users_own_print_of_a_dict_makes_no_chart() -> None:
    book = MetricBook()
    assert not book.feed(["{'apples': 3}"])
    assert charts(book) == ()


def test_charts_name_training_and_validation_and_each_reward() -> None:
    book = MetricBook()
    for step in range(1, 4):
        values = {
            "step": step,
            "critic/rewards/mean": step / 10,
            "trajectory/zero_variance_share": 0.5,
            "trace/reward_metrics/answer/reward_score/avg": 0.2,
            "trace/reward_metrics/style/reward_score/avg": 0.3,
            "trajectory/failed_rollouts": 0,
        }
        book.feed([repr(values), "{'validation/data/reward/mean@1': 0.25}"])
    found = {chart.title: chart for chart in charts(book)}
    assert [curve.label for curve in found["Reward"].curves] == ["training", "validation"]
    assert found["Reward"].last == 0.3
    assert [curve.label for curve in found["Each reward"].curves] == ["answer", "style"]
    assert (found["Groups without spread"].low, found["Groups without spread"].high) == (0.0, 1.0)
    assert "Failures" not in found
