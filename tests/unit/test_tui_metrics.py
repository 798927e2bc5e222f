"""Numbers out of log lines, and the charts made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.app.present.metrics import MetricBook, charts, overlaid, reward_bounds, smoothed, step_lines
from agentic_rl_tui.core.models.metrics import parse_metrics, step_of
from agentic_rl_tui.core.models.metrics_book import csv_lines, smooth, step_counts


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
    assert found["Failures"].last == 0
    assert found["Reward"].last == 0.3
    assert [curve.label for curve in found["Each reward"].curves] == ["answer", "style"]
    assert (found["Groups without spread"].low, found["Groups without spread"].high) == (0.0, 1.0)


def book_of(*values: dict[str, float]) -> MetricBook:
    book = MetricBook()
    book.feed(repr(item) for item in values)
    return book


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0, 0.99))
def test_smoothing_stays_between_the_values_and_keeps_a_constant(values: list[float], weight: float) -> None:
    found = smooth(values, weight)
    slack = 1e-6 * max(1.0, *map(abs, values))
    assert all(min(values) - slack <= value <= max(values) + slack for value in found)
    assert smooth([values[0]] * 5, weight) == pytest.approx([values[0]] * 5)
    assert smooth(values, 0.0) == pytest.approx(values)


def test_smoothing_keeps_the_raw_values_beside_it() -> None:
    book = book_of(*({"step": step, "critic/rewards/mean": float(step % 2)} for step in range(6)))
    (chart,) = [smoothed(chart, 0.9) for chart in charts(book)]
    assert list(chart.curves[0].raw) == [0, 1, 0, 1, 0, 1]
    assert max(chart.curves[0].values) < 0.7


def test_counts_of_a_step_keep_failures_apart_from_zeros() -> None:
    book = book_of(
        {
            "step": 3,
            "trajectory/groups": 8,
            "trajectory/zero_variance_groups": 5,
            "trajectory/zero_variance_groups/all_max": 4,
            "trajectory/zero_variance_groups/all_min": 1,
            "trajectory/zero_variance_groups/all_other": 0,
            "trajectory/total": 64,
            "trajectory/scored": 61,
            "trajectory/failed_rollouts": 2,
            "trajectory/failed_rewards": 1,
            "trajectory/zero_by_judgement": 9,
            "trajectory/zero_by_exception": 3,
        }
    )
    counts = step_counts(book, 3)
    assert (counts.flat, counts.all_max, counts.all_min, counts.all_other) == (5, 4, 1, 0)
    assert (counts.failed_rollouts, counts.failed_rewards) == (2, 1)
    assert (counts.zero_by_judgement, counts.zero_by_exception) == (9, 3)
    assert step_counts(book, 4).groups is None
    text = "\n".join("".join(part for part, _ in line) for line in step_lines(book, 3))
    for words in (
        "5 of 8 groups",
        "all max 4",
        "2 rollouts FAILED",
        "1 reward FAILED",
        "9 judged zero",
        "harder prompts",
    ):
        assert words in text


def test_several_jobs_share_the_charts() -> None:
    books = {
        name: book_of(*({"step": step, "critic/rewards/mean": 0.1, "critic/rewards/std": 0.2} for step in range(3)))
        for name in ("one", "two")
    }
    found = {chart.key: chart for chart in overlaid(books)}
    assert [curve.label for curve in found["reward"].curves] == ["one", "two"]
    assert len({curve.token for curve in found["std"].curves}) == 2


def test_a_table_of_numbers_is_read_by_any_program_and_holds_no_formula() -> None:
    import csv

    book = book_of({"step": 1, "=cmd|' /C calc'!A0": 1.0, 'a,"b"/x': 2.0}, {"step": 2, 'a,"b"/x': 2.5})
    rows = list(csv.reader(csv_lines({"job": book})))
    assert rows == [["step", "'=cmd|' /C calc'!A0", 'a,"b"/x'], ["1", "1.0", "2.0"], ["2", "", "2.5"]]
    both = list(csv.reader(csv_lines({"job": book, "-other": book})))
    assert both[0][:2] == ["job", "step"]
    assert [row[0] for row in both[1:]] == ["job", "job", "'-other", "'-other"]


def test_the_rewards_known_of_a_job() -> None:
    assert reward_bounds(MetricBook()) is None
    book = book_of({"step": 1, "critic/rewards/min": 0.1, "critic/rewards/max": 0.9})
    assert reward_bounds(book) == (0.1, 0.9)
