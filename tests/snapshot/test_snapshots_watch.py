"""How logs, metrics and trajectories of a job look."""

from typing import Any

import pytest

SMALL = [pytest.param((80, 24), id="80x24")]
LARGE = [pytest.param((120, 40), id="120x40")]
HUGE = [pytest.param((200, 60), id="200x60")]
METRICS = ("enter", "right_square_bracket", "right_square_bracket")
SAMPLES = ("enter", "left_square_bracket", "left_square_bracket", "enter")
GROUP = (*SAMPLES, "j", "enter")
TALK = (*GROUP, "right", "enter")


def chinese(scenes: Any) -> Any:
    """The sample platform with Chinese, wide and combining characters in its log and its rollouts."""
    backend = scenes.sample_backend()
    job_id = next(iter(backend.store))
    backend.logs[job_id] = [
        "2026-12-01 21:00:00,104 - INFO - 任务开始：强化学习，练习策略",
        "2026-12-01 21:00:01,000 - INFO - {'step': 1, '奖励/均值': 0.5, 'critic/rewards/mean': 0.31}",
        "2026-12-01 21:07:12,000 - ERROR - 奖励函数 answer 抛出异常：键 solution 不存在 é́ 👩‍🚀 ｆｕｌｌ",
        "Traceback (most recent call last):",
        '  File "奖励/答案.py", line 41, in process',
        "KeyError: 'solution'",
        "2026-12-01 21:07:13,000 - WARNING - 第 1 步：8 组中有 5 组没有差异",
    ]
    for page in backend.trajectory_pages.values():
        for record in page.get("rollouts") or ():
            record["messages"][1]["content"] = (
                "小明有 2470 支蜡烛，平均装进 26 个盒子，再往最后一个盒子里加 5 支。里面有多少支？"
            )
            if record["rollout"] % 2:
                record["messages"][-1]["content"] = "每盒 95 支，再加 5 支，一共 100 支。👩‍🚀\n\n### ANSWER: 100 ###"
    return backend


@pytest.mark.parametrize("size", [*SMALL, *HUGE])
def test_log_of_errors_with_time_gaps(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "l", "v", "v", "number_sign", "g")


@pytest.mark.parametrize("size", SMALL)
def test_log_filtered_by_text(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "l", "ampersand", *"answer", "enter", "w", "g")


@pytest.mark.parametrize("size", SMALL)
def test_log_in_chinese(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(chinese(scenes)), size, "l", "w")


@pytest.mark.parametrize("size", SMALL)
def test_log_raw_without_colours(look: Any, scenes: Any, size: tuple[int, int], monkeypatch: Any) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    backend = scenes.sample_backend()
    job_id = next(iter(backend.store))
    backend.logs[job_id] = ["10 %\r50 %\r\x1b[32m100 %\x1b[0m done", "\x1b]0;title\x07\x1b[2Jplain \u202edrow", "last"]
    assert look(scenes.app(backend), size, "l", "d")


@pytest.mark.parametrize("size", [*SMALL, *HUGE])
def test_metrics_at_a_step(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, *METRICS, "left", "left", "m")


@pytest.mark.parametrize("size", LARGE)
def test_metrics_of_two_jobs(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    backend = scenes.sample_backend()
    backend.logs[list(backend.store)[2]] = scenes.sample_log(12)
    assert look(scenes.app(backend), size, *METRICS, "o", *"11d0", "enter", "L")


@pytest.mark.parametrize("size", SMALL)
def test_metrics_light(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend(), values={"tui.theme": "light"}), size, *METRICS)


@pytest.mark.parametrize("size", LARGE)
def test_metrics_with_16_colours(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend(), values={"tui.theme": "ansi"}), size, *METRICS)


@pytest.mark.parametrize("size", SMALL)
def test_a_dialog_with_16_colours(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend(), values={"tui.theme": "ansi"}), size, "x")


@pytest.mark.parametrize("size", [*SMALL, *LARGE, *HUGE])
def test_samples(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, *SAMPLES)


@pytest.mark.parametrize("size", SMALL)
def test_samples_without_spread(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, *SAMPLES, "f")


@pytest.mark.parametrize("size", HUGE)
def test_group(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, *GROUP, "space", "right", "u")


@pytest.mark.parametrize("size", SMALL)
def test_group_light(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend(), values={"tui.theme": "light"}), size, *GROUP)


@pytest.mark.parametrize("size", LARGE)
def test_group_in_chinese(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(chinese(scenes)), size, *GROUP, "u")


@pytest.mark.parametrize("size", SMALL)
def test_group_without_colours(look: Any, scenes: Any, size: tuple[int, int], monkeypatch: Any) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert look(scenes.app(scenes.sample_backend()), size, *GROUP)


@pytest.mark.parametrize("size", [*SMALL, *LARGE])
def test_conversation(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, *TALK)
