"""The verbs that print numbers and rollouts of a job, on a client that answers from memory."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import connect, exits
from agentic_rl_tui.core.client.transport import Request
from agentic_rl_tui.core.models.jobs import LogPage

Captured = pytest.CaptureFixture[str]
ASKED = {"role": "user", "content": "two\nlines \x1b[31m" + "long " * 40}


def rollout(number: int, reward: float | None, *said: str) -> dict[str, Any]:
    messages = [ASKED, *({"role": "assistant", "content": text} for text in said)]
    return {"rollout": number, "reward": reward, "advantage": 0.5, "messages": messages}


GROUPS = {
    7: [rollout(0, 1.0, "same"), rollout(1, 1.0, "same")],
    8: [
        rollout(0, 0.0, "one", "two"),
        {**rollout(1, None, "one"), "failure": {"message": "boom"}},
        rollout(2, 1.0, "x"),
    ],
}
LOG = [
    "INFO starts",
    "{'step': 1, 'critic/rewards/mean': 0.25, 'trajectory/zero_variance_share': 0.5, '=a/b': 1}",
    "{'step': 2, 'critic/rewards/mean': 0.75, 'trajectory/failed_rollouts': 3}",
]


class Answer:
    def __init__(self, body: Any) -> None:
        self.body = body


class Transport:
    def __init__(self, *, is_local: bool) -> None:
        self.profile = type("Profile", (), {"is_local": is_local})()

    async def call(self, request: Request) -> Answer:
        query = dict(request.query or {})
        if "sample" in query:
            return Answer({"step": query["step"], "sample": query["sample"], "rollouts": GROUPS[query["sample"]]})
        if "step" in query:
            samples = [
                {
                    "sample": number,
                    "rewards": [record["reward"] for record in group],
                    "reward_mean": 0.5,
                    "failed_rollouts": sum("failure" in record for record in group),
                }
                for number, group in GROUPS.items()
            ]
            return Answer({"step": query["step"], "samples": samples})
        step = {"step": 1, "phase": "train", "rollouts": 5, "reward_mean": None, "failed_rollouts": 1}
        return Answer({"steps": [step]})


class Client:
    def __init__(self, *, is_local: bool = True) -> None:
        self.transport = Transport(is_local=is_local)

    async def logs(self, _job_id: str, *, offset: int, lines: int) -> LogPage:
        return LogPage(offset=offset, lines=tuple(LOG[offset : offset + min(2, lines)]), total=len(LOG))


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Callable[[Client], None]:
    def use(given: Client) -> None:
        import asyncio

        monkeypatch.setattr(connect, "with_client", lambda _options, work: asyncio.run(work(given)))

    use(Client())
    return use


def rows(capsys: Captured) -> list[list[str]]:
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_numbers_by_step_in_every_form(client: Any, capsys: Captured) -> None:
    assert main(["metrics", "ft-1"]) == exits.OK
    assert rows(capsys) == [
        ["STEP", "REWARD", "NO", "SPREAD", "FAILED"],
        ["1", "0.2500", "50%", "–"],
        ["2", "0.7500", "–", "3"],
    ]
    assert main(["metrics", "ft-1", "-o", "json"]) == exits.OK
    told = json.loads(capsys.readouterr().out)
    assert told["steps"][1] == {"step": 2, "critic/rewards/mean": 0.75, "trajectory/failed_rollouts": 3.0}
    assert main(["metrics", "ft-1", "-o", "csv", "--smooth", "0.5"]) == exits.OK
    header, first, second = capsys.readouterr().out.splitlines()
    assert (
        header == '"step","\'=a/b","critic/rewards/mean","trajectory/failed_rollouts","trajectory/zero_variance_share"'
    )
    assert first == "1,1.0,0.25,,0.5"
    assert second.startswith("2,,0.58333")
    assert main(["metrics", "ft-1", "--smooth", "1"]) == exits.USAGE


def test_steps_samples_with_causes_and_rollouts_with_where_they_part(client: Any, capsys: Captured) -> None:
    assert main(["trajectories", "ft-1"]) == exits.OK
    assert rows(capsys)[1] == ["1", "train", "5", "–", "1", "0"]
    assert main(["trajectories", "ft-1", "--step", "1"]) == exits.OK
    text = capsys.readouterr().out
    assert "\x1b" not in text
    seven, eight = text.splitlines()[1:]
    assert "all max" in seven
    assert "all rollouts say the same" in seven
    assert seven.rstrip().endswith("…")
    assert "two lines" in seven
    assert eight.split()[:4] == ["8", "0.500", "spread", "1"]
    assert main(["trajectories", "ft-1", "--step", "1", "-o", "json"]) == exits.OK
    told = json.loads(capsys.readouterr().out)["samples"]
    assert [item["cause"] for item in told] == ["identical_rollouts", None]
    assert main(["trajectories", "ft-1", "--step", "1", "--sample", "8"]) == exits.OK
    assert [row[:5] for row in rows(capsys)[1:]] == [
        ["0", "0.000", "+0.500", "3", "–"],
        ["1", "–", "+0.500", "2", "3"],
        ["2", "1.000", "+0.500", "2", "2"],
    ]


def test_what_cannot_be_told_is_said(client: Any, capsys: Captured) -> None:
    assert main(["trajectories", "ft-1", "--sample", "8"]) == exits.USAGE
    assert "--step" in capsys.readouterr().err
    client(Client(is_local=False))
    assert main(["trajectories", "ft-1"]) != exits.OK
    assert "only the local platform" in capsys.readouterr().err
