"""Duplicates inside and between sets."""

import itertools
import json
import random
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.datasets import CheckCanceled, find_leaks
from agentic_rl_tui.core.datasets.shingles import jaccard, row_text, shingles
from agentic_rl_tui.core.models.errors import InputError

WORDS = [
    "the",
    "reward",
    "of",
    "a",
    "rollout",
    "is",
    "what",
    "its",
    "function",
    "says",
    "when",
    "asked",
    "about",
    "every",
    "answer",
    "given",
    "by",
    "some",
    "model",
]


def write(path: Path, texts: list[str], solutions: list[str] | None = None) -> Path:
    rows = [
        {"messages": [{"role": "user", "content": text}], "rollout_extra": {"solution": solution}}
        for text, solution in zip(texts, solutions or [""] * len(texts), strict=True)
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def sentence(seed: int, length: int = 40) -> str:
    source = random.Random(seed)
    return " ".join(f"{source.choice(WORDS)}{source.randrange(1000)}" for _ in range(length))


def test_exact_and_near_rows_are_found_between_and_within(tmp_path: Path) -> None:
    texts = [sentence(number) for number in range(60)]
    near = texts[7].replace(texts[7].split()[20], "changed", 1)
    training = write(tmp_path / "train.jsonl", [*texts, texts[3].upper() + "  ", near], ["1"] * 62)
    validation = write(
        tmp_path / "valid.jsonl",
        [sentence(100), texts[5], texts[9] + " indeed", sentence(100)],
        ["1", "2", "1", "1"],
    )
    report = find_leaks(training, validation)
    assert (report.exact_between, report.near_between, report.exact_within, report.near_within) == (1, 1, 2, 1)
    assert (report.rows, report.unreadable, report.is_clean) == (66, 0, False)
    found = [(str(leak.row), str(leak.other), leak.is_exact, leak.is_between) for leak in report.leaks]
    assert found[:2] == [
        (f"{validation}:2", f"{training}:6", True, True),
        (f"{validation}:3", f"{training}:10", False, True),
    ]
    assert sorted(found[2:]) == [
        (f"{training}:61", f"{training}:4", True, False),
        (f"{training}:62", f"{training}:8", False, False),
        (f"{validation}:4", f"{validation}:1", True, False),
    ]
    assert not report.leaks[0].has_same_solution
    assert report.leaks[1].has_same_solution
    assert str(report.leaks[0]) == f"{validation}:2 is {training}:6, but their solutions differ"
    assert "% like" in str(report.leaks[1])
    assert len(find_leaks(training, validation, max_leaks=2).leaks) == 2


def test_chinese_text_is_compared_by_characters(tmp_path: Path) -> None:
    text = "小明有三个苹果，他又买了五个苹果，后来吃掉了两个，请问小明现在一共还有多少个苹果呢？请写出过程。"
    report = find_leaks(
        write(tmp_path / "a.jsonl", [text, "今天天气很好，我们一起去公园散步吧。"]),
        write(tmp_path / "b.jsonl", [text.replace("还有", "剩"), text.replace("，", ",")]),
    )
    assert [(leak.row.line, leak.other.line, leak.is_exact) for leak in report.leaks if leak.is_between] == [
        (2, 1, True),
        (1, 1, False),
    ]


def test_a_template_does_not_make_rows_alike(tmp_path: Path) -> None:
    template = "Answer the question and surround the answer by three sharps in the form of answer and nothing else. "
    texts = [template + sentence(number, 4) for number in range(150)]
    report = find_leaks(write(tmp_path / "a.jsonl", texts), write(tmp_path / "b.jsonl", [template + sentence(999, 4)]))
    assert report.leaks == ()
    assert report.is_clean


def test_several_files_make_one_set(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", [sentence(1), sentence(2)])
    two = write(tmp_path / "two.jsonl", [sentence(3), sentence(1)])
    report = find_leaks([one, two], [write(tmp_path / "v.jsonl", [sentence(2)])])
    assert (report.exact_within, report.exact_between) == (1, 1)
    assert find_leaks(one).leaks == ()


def test_bad_lines_are_counted_and_passed(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    good = json.dumps({"messages": [{"role": "user", "content": "hello there you"}]})
    path.write_bytes(b"\xef\xbb\xbf" + f"{good}\r\nno\n\n[]\n{{}}\n{good}".encode())
    report = find_leaks(path)
    assert (report.rows, report.unreadable) == (2, 3)
    assert [(leak.row.line, leak.other.line) for leak in report.leaks] == [(6, 1)]


def test_errors_progress_and_cancel(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [sentence(number) for number in range(20)])
    with pytest.raises(InputError, match=r"missing.jsonl cannot be read"):
        find_leaks(path, tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match="makes no sense"):
        find_leaks(path, threshold=80)
    seen: list[tuple[int, int]] = []
    find_leaks(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2 * path.stat().st_size, 2 * path.stat().st_size)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CheckCanceled):
        find_leaks(path, cancel=cancel)


few_words = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=14).map(" ".join)


@given(training=st.lists(few_words, min_size=1, max_size=10), validation=st.lists(few_words, max_size=6, unique=True))
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("threshold", [0.3, 0.8])
def test_nothing_over_the_threshold_is_missed(
    tmp_path_factory: pytest.TempPathFactory, threshold: float, training: list[str], validation: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("leaks")
    report = find_leaks(write(folder / "t.jsonl", training), write(folder / "v.jsonl", validation), threshold=threshold)
    near = {}
    for (line, text), other in itertools.product(enumerate(validation, 1), training):
        similarity = 1.0 if text == other else jaccard(shingles(text), shingles(other))
        if similarity >= threshold:
            near[line] = max(near.get(line, 0.0), similarity)
    assert {leak.row.line: leak.similarity for leak in report.leaks if leak.is_between} == near


def test_text_is_normalised() -> None:
    def text(content: object) -> str | None:
        return row_text({"messages": [{"role": "user", "content": content}]})

    assert text("  ＡＢＣ  x\n") == text([{"type": "text", "text": "abc x"}]) == "abc x"
    assert text("") is None
    assert row_text([]) is None
    assert row_text({"messages": "x"}) is None


def test_the_supplied_sets_are_clean(shared: Path) -> None:
    training, validation = shared / "data/calc_train.jsonl", shared / "data/calc_validation.jsonl"
    # Far below the usual threshold: the most similar pair between them shares less than 0.3 of its pieces.
    report = find_leaks(training, validation, threshold=0.3)
    assert report.is_clean
    assert report.exact_within == 1
    exact = next(leak for leak in report.leaks if leak.is_exact)
    lines = training.read_bytes().splitlines()
    assert lines[exact.row.line - 1] == lines[exact.other.line - 1]
