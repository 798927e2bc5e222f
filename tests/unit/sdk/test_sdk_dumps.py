"""Files of rollouts: the forms of several writers, hostile lines, and the index beside a naive reader."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.present.rollouts import export_lines
from agentic_rl_tui.core.datasets import CheckCanceled
from agentic_rl_tui.core.models.errors import InputError, NotFound
from agentic_rl_tui.core.sdk import dumps
from agentic_rl_tui.core.sdk.dumpfields import heads, looks_like_rollouts, quick_head, records
from agentic_rl_tui.core.sdk.dumps import Dump, DumpChanged, is_dump, open_dump

ASKED = {"role": "user", "content": "6*7?"}
SAID = {"role": "assistant", "content": "42"}


def ours(step: int, sample: int, rollout: int, reward: float | None, **more: Any) -> dict[str, Any]:
    talk = [ASKED, {"role": "assistant", "content": f"{step} {sample} {rollout}"}]
    row = {"step": step, "phase": "train", "sample": sample, "rollout": rollout, "reward": reward}
    return row | {"advantage": 0.5, "ground_truth": 42, "messages": talk, "scores": []} | more


@pytest.fixture
def dump_of(tmp_path: Path) -> Iterator[Any]:
    opened: list[Dump] = []

    def write(rows: Iterable[Any], name: str = "dump.jsonl") -> Dump:
        path = tmp_path / name
        lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        path.write_bytes(b"\n".join(lines) + b"\n")
        opened.append(open_dump(path))
        return opened[-1]

    yield write
    for dump in opened:
        dump.close()


def test_what_was_exported_comes_back_as_it_was(dump_of: Any) -> None:
    group = [ours(3, 7, n, n / 4) for n in range(4)]
    lines = [line.encode() for line in export_lines(group)]
    dump = dump_of(reversed(lines))
    assert dump.page(step=3, sample=7)["rollouts"] == group
    assert dump.page()["steps"] == [
        {"step": 3, "phase": "train", "rollouts": 4, "failed_rollouts": 0, "failed_rewards": 0, "reward_mean": 0.375}
    ]
    assert dump.bounds() == (0.0, 0.75)


def test_failures_are_no_zeros(dump_of: Any) -> None:
    broken = ours(1, 0, 1, None, failure={"message": "boom"}, messages=None)
    dump = dump_of([ours(1, 0, 0, 0.0), broken, ours(1, 0, 2, None), ours(2, 0, 0, 1.0, phase="validation")])
    (sample,) = dump.page(step=1)["samples"]
    assert sample == {
        "sample": 0,
        "rollouts": 3,
        "rewards": [0.0, None, None],
        "reward_mean": 0.0,
        "failed_rollouts": 1,
        "failed_rewards": 1,
    }
    assert [(item["step"], item["phase"]) for item in dump.page()["steps"]] == [(1, "train"), (2, "validation")]
    assert dump.page(step=2, phase="validation")["samples"][0]["rewards"] == [1.0]


@pytest.mark.parametrize(
    ("row", "rewards", "answers"),
    [
        # verl
        ({"input": "6*7?", "output": "42", "gts": "42", "score": 1.0, "step": 5, "acc": True}, [1.0], ["42"]),
        # TRL
        ({"step": 5, "prompt": "6*7?", "completion": "42", "reward": 1, "advantage": 0.7}, [1.0], ["42"]),
        ({"step": 5, "prompt": [ASKED], "completion": [SAID], "rewards": {"a": 0.5, "b": 0.25}}, [0.75], ["42"]),
        # verifiers
        (
            {"step": 5, "example_id": 3, "prompt": [ASKED], "completion": [SAID], "answer": "42", "reward": 0.5},
            [0.5],
            ["42"],
        ),
        # a group a line
        ({"step": 5, "prompt": "6*7?", "responses": ["42", "41"], "rewards": [1, 0]}, [1.0, 0.0], ["42", "41"]),
        (
            {"step": 5, "messages": [ASKED], "completions": [[SAID], [SAID]], "score": [1, None]},
            [1.0, None],
            ["42"] * 2,
        ),
        ({"global_step": 5.0, "messages": [ASKED, SAID], "score": True, "uid": "ab"}, [1.0], ["42"]),
    ],
)
def test_rows_of_other_writers(dump_of: Any, row: dict[str, Any], rewards: list[Any], answers: list[str]) -> None:
    assert looks_like_rollouts(row)
    dump = dump_of([row])
    (sample,) = dump.page(step=5)["samples"]
    assert sample["rewards"] == rewards
    group = dump.page(step=5, sample=sample["sample"])["rollouts"]
    assert [item["reward"] for item in group] == rewards
    assert [item["messages"] for item in group] == [[ASKED, {"role": "assistant", "content": text}] for text in answers]
    assert [item["rollout"] for item in group] == list(range(len(rewards)))


def test_what_else_a_writer_tells_stays_and_an_export_reads_back_alike(dump_of: Any) -> None:
    row = {"input": "6*7?", "output": "42", "gts": "42", "score": 0.5, "step": 5, "acc": False, "note": "x"}
    dump = dump_of([row, row | {"output": "43", "score": 0.0}])
    group = dump.page(step=5, sample=0)["rollouts"]
    assert group[0]["note"] == "x"
    assert group[0]["ground_truth"] == "42"
    again = dump_of([line.encode() for line in export_lines(group)], "again.jsonl")
    assert again.page(step=5, sample=0)["rollouts"] == group


def test_equal_prompts_are_a_group_where_nobody_named_one(dump_of: Any) -> None:
    rows = [{"prompt": f"q{n % 2}", "completion": f"a{n}", "reward": n} for n in range(6)]
    dump = dump_of(rows)
    page = dump.page(step=0)
    assert [(item["sample"], item["rewards"]) for item in page["samples"]] == [(0, [0, 2, 4]), (1, [1, 3, 5])]


def test_samples_with_words_get_the_numbers_after_those_with_numbers(dump_of: Any) -> None:
    rows = [{"uid": "x", "prompt": "p", "completion": "a", "reward": 1}, ours(0, 4, 0, 1.0)]
    assert [item["sample"] for item in dump_of(rows).page(step=0)["samples"]] == [4, 5]


def test_the_same_rollout_twice_gets_numbers_of_its_own(dump_of: Any) -> None:
    dump = dump_of([ours(1, 0, 0, 1.0), ours(1, 0, 0, 1.0)])
    assert [item["rollout"] for item in dump.page(step=1, sample=0)["rollouts"]] == [0, 1]


def test_hostile_lines_are_counted_named_and_passed_over(
    dump_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "LONGEST_LINE", 4096)
    lines = [
        b"\xef\xbb\xbf" + json.dumps(ours(1, 0, 0, 1.0)).encode() + b"\r",
        b"",
        b'{"step": 1',
        b"[1, 2]",
        b'{"a":' * 3000 + b"1" + b"}" * 3000,
        b"[" * 2000 + b"]" * 2000,
        json.dumps({"messages": [ASKED], "ground_truth": 42}).encode(),
        json.dumps(ours(1, 0, 1, float("nan"))).encode(),
        json.dumps({"prompt": "\ud800", "completion": "\udfff", "reward": 10**400, "step": -1}).encode(),
        b'{"prompt": "\xff", "completion": "\xff", "reward": "high", "step": true, "sample": {"a": 1}}',
        b'"' + b"x" * 10_000 + b'"',
        json.dumps(ours(1, 0, 2, 0.0)).encode(),
    ]
    dump = dump_of(lines)
    assert [item.line for item in dump.unread] == [3, 4, 5, 6, 7, 11]
    assert dump.unread_count == 6
    assert len(dump) == 5
    assert [r["reward"] for r in dump.page(step=1, sample=0)["rollouts"]] == [1.0, None, 0.0]
    for item in dump.page(step=0)["samples"]:
        for record in dump.page(step=0, sample=item["sample"])["rollouts"]:
            json.dumps(record, ensure_ascii=False).encode()


def test_a_file_without_rollouts_is_refused_by_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps({"messages": [ASKED]}) + "\n")
    assert not is_dump(path)
    with pytest.raises(InputError) as error:
        open_dump(path)
    assert "train.jsonl:1" in str(error.value.advice)
    path.write_text("")
    for bad in (path, tmp_path / "gone.jsonl", tmp_path):
        assert not is_dump(bad)
        with pytest.raises(InputError):
            open_dump(bad)


def test_what_is_not_there_is_said(dump_of: Any) -> None:
    dump = dump_of([ours(1, 0, 0, 1.0)])
    for asked in ({"step": 2}, {"step": 1, "phase": "validation"}, {"step": 1, "sample": 9}):
        with pytest.raises(NotFound):
            dump.page(**asked)


def test_a_file_that_changed_is_told(dump_of: Any) -> None:
    dump = dump_of([ours(1, 0, 0, 1.0), ours(1, 1, 0, 1.0)])
    with dump.path.open("r+b") as file:
        file.truncate(40)
    with pytest.raises(DumpChanged):
        dump.page(step=1, sample=1)


def test_opening_tells_how_far_it_is_and_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "_TOLD_EVERY", 1000)
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps(ours(1, n, 0, 1.0)) + "\n" for n in range(100)))
    told: list[tuple[int, int]] = []
    stop = threading.Event()

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 3:
            stop.set()

    with pytest.raises(CheckCanceled):
        open_dump(path, progress=progress, cancel=stop)
    assert len(told) == 3
    assert told == sorted(told)
    assert {total for _done, total in told} == {path.stat().st_size}


# The index beside a naive reader

_rewards = st.one_of(st.none(), st.floats(-10, 10), st.integers(-3, 3), st.just(float("nan")))
_texts = st.sampled_from(["a", "b", "奖励", ""])
_own = st.builds(
    ours,
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 4),
    _rewards,
    phase=st.sampled_from(["train", "validation", "val"]),
)
_failed = st.builds(ours, st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.none(), failure=st.just("boom"))
_foreign = st.fixed_dictionaries(
    {"prompt": _texts, "completion": _texts, "score": _rewards},
    optional={"step": st.integers(-1, 3), "uid": st.one_of(st.integers(0, 3), _texts)},
)
_groups = st.fixed_dictionaries(
    {"prompt": _texts, "responses": st.lists(_texts, min_size=1, max_size=3), "rewards": st.lists(_rewards, max_size=3)}
)
_junk = st.sampled_from([b"", b"{", b"null", b'{"messages": []}', b"\xff\xfe"])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.one_of(_own, _failed, _foreign, _groups, _junk), max_size=25))
def test_the_index_agrees_with_reading_everything(tmp_path: Path, rows: list[Any]) -> None:
    path = tmp_path / "any.jsonl"
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    naive: dict[tuple[int, str], dict[int | bytes, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if isinstance(row, dict):
            for head, record in zip(heads(row), records(row), strict=True):
                naive[head.step, head.phase][head.sample].append(record)
    if not naive:
        with pytest.raises(InputError):
            open_dump(path)
        return
    with open_dump(path) as dump:
        steps = dump.page()["steps"]
        assert [(item["step"], item["phase"]) for item in steps] == sorted(naive)
        for step in steps:
            place = {"step": step["step"], "phase": step["phase"]}
            groups = naive[step["step"], step["phase"]]
            assert step["rollouts"] == sum(map(len, groups.values()))
            pages = [dump.page(**place, sample=item["sample"]) for item in dump.page(**place)["samples"]]
            found = sorted(_told(page["rollouts"]) for page in pages)
            assert found == sorted(_told(group) for group in groups.values())
            for number, group in groups.items():
                if isinstance(number, int):
                    assert _told(dump.page(**place, sample=number)["rollouts"]) == _told(group)


def _told(group: list[Any]) -> list[str]:
    return sorted(json.dumps([item["messages"], item["reward"]], sort_keys=True) for item in group)


@settings(max_examples=150, deadline=None)
@given(row=st.one_of(_own, _failed, _foreign, _groups), more=st.sampled_from([{}, {"responses": ["x"]}, {"step": 1.0}]))
def test_the_quick_look_never_says_anything_else(row: dict[str, Any], more: dict[str, Any]) -> None:
    row = row | more
    quick = quick_head(json.dumps(row).encode())
    assert quick is None or [quick] == list(heads(row))


def test_the_quick_look_takes_what_we_write() -> None:
    assert quick_head(json.dumps(ours(1, 2, 3, 0.5)).encode()) is not None


# The command line


def test_the_verb_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "saved.jsonl"
    rows = [json.dumps(ours(step, sample, n, float(n))) for step in (1, 2) for sample in (0, 1) for n in (0, 1)]
    path.write_text("\n".join([*rows, "{"]) + "\n")
    assert main(["trajectories", str(path)]) == exits.OK
    out, err = capsys.readouterr()
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [["1", "train", "4"], ["2", "train", "4"]]
    assert "saved.jsonl:9:" in err
    assert main(["trajectories", str(path), "--step", "2"]) == exits.OK
    assert "6*7?" in capsys.readouterr().out
    assert main(["trajectories", str(path), "--step", "2", "--sample", "1", "-o", "json"]) == exits.OK
    page = json.loads(capsys.readouterr().out)
    assert [item["reward"] for item in page["rollouts"]] == [0.0, 1.0]
    assert main(["trajectories", str(path), "--step", "9"]) != exits.OK
    assert main(["trajectories", str(tmp_path / "gone.jsonl")]) != exits.OK
