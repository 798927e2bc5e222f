from agentic_rl_tui.core.platform.engine import Gateway
from agentic_rl_tui.core.platform.engine.practice_room import KEEP_S, MOST_OPEN, PracticeRoom

ROW = {"messages": [{"role": "user", "content": "What is 2 + 3?"}], "rollout_extra": {"solution": "5"}}


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _room() -> tuple[Gateway, PracticeRoom, _Clock]:
    gateway, clock = Gateway(base_url="http://127.0.0.1:1"), _Clock()
    return gateway, PracticeRoom(gateway, clock=clock), clock


def _open(room: PracticeRoom) -> str:
    resource = room.open(ROW, index=0, rollout=0, seed=0, temperature=1.0)
    assert resource["base_url"] == "http://127.0.0.1:1/v1"
    return resource["api_key"]


def test_a_key_works_until_it_is_given_back() -> None:
    gateway, room, _ = _room()
    key = _open(room)
    assert gateway.find(key) is not None
    assert room.close(key) == []
    assert gateway.find(key) is None
    assert room.close(key) is None


def test_forgotten_keys_stop_working() -> None:
    gateway, room, clock = _room()
    forgotten = _open(room)
    clock.now = KEEP_S + 1
    fresh = _open(room)
    assert gateway.find(forgotten) is None
    assert gateway.find(fresh) is not None


def test_the_number_of_open_keys_is_bounded() -> None:
    gateway, room, _ = _room()
    first = _open(room)
    for _ in range(MOST_OPEN):
        _open(room)
    assert gateway.open_sessions == MOST_OPEN
    assert gateway.find(first) is None
