import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.platform.store import lines
from agentic_rl_tui.core.platform.store.line_cache import LineCache
from agentic_rl_tui.core.platform.store.lines import STRIDE, LineFile

fresh_directories = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
line_texts = st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b""))


def numbered(count: int, first: int = 0) -> list[bytes]:
    return [b"line %d" % number for number in range(first, first + count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.log"


@fresh_directories
@given(
    batches=st.lists(st.lists(line_texts, max_size=600), max_size=4),
    start=st.integers(0, 1500),
    count=st.integers(0, 1500),
)
def test_any_range_reads_as_from_a_list(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[bytes]], start: int, count: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.log"
    file = LineFile(path)
    for batch in batches:
        file.append(batch)
    flat = [line for batch in batches for line in batch]
    assert file.total == len(flat)
    assert file.read(start, count) == flat[start : start + count]
    file.close()
    again = LineFile(path)
    assert (again.total, again.read(start, count)) == (len(flat), flat[start : start + count])
    again.close()


@fresh_directories
@given(cut=st.integers(0, 12_000), index_cut=st.integers(0, 40))
def test_a_file_cut_anywhere_keeps_exactly_its_complete_lines(
    tmp_path_factory: pytest.TempPathFactory, cut: int, index_cut: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.log"
    file = LineFile(path)
    file.append(numbered(1000))
    file.close()
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    index = lines.index_path(path)
    index.write_bytes(index.read_bytes()[:index_cut])
    complete = data[: data.rfind(b"\n") + 1].splitlines()
    again = LineFile(path)
    assert again.total == len(complete)
    again.append([b"after"])
    assert again.read(0, 2000) == [*complete, b"after"]
    again.close()
    third = LineFile(path)
    assert third.read(0, 2000) == [*complete, b"after"]
    third.close()


@pytest.mark.parametrize(
    "index", [b"", b"\xff" * 24, (5).to_bytes(8, "little"), bytes(8) + bytes(8), b"\0" * 8 + b"\x01" * 3]
)
def test_a_useless_index_is_made_anew(path: Path, index: bytes) -> None:
    file = LineFile(path)
    file.append(numbered(3 * STRIDE + 5))
    file.close()
    good = lines.index_path(path).read_bytes()
    lines.index_path(path).write_bytes(index)
    again = LineFile(path)
    assert again.read(2 * STRIDE - 1, 3) == numbered(3, 2 * STRIDE - 1)
    again.close()
    assert lines.index_path(path).read_bytes() == good


def test_a_failed_append_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LineFile(path)
    file.append(numbered(3))
    real_write = os.write

    def short_then_full(descriptor: int, data: bytes) -> int:
        if len(data) > 10:
            return real_write(descriptor, bytes(data)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", short_then_full)
    with pytest.raises(OSError, match="No space"):
        file.append([b"x" * 15])
    monkeypatch.undo()
    assert path.read_bytes() == b"line 0\nline 1\nline 2\n"
    file.append([b"next"])
    assert file.read(0, 10) == [*numbered(3), b"next"]
    file.close()


def test_an_index_that_cannot_grow_is_rebuilt_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LineFile(path)
    real_write = os.write

    def no_index(descriptor: int, data: bytes) -> int:
        if len(data) % 8 == 0 and b"l" not in bytes(data):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_write(descriptor, data)

    monkeypatch.setattr(os, "write", no_index)
    file.append(numbered(STRIDE * 2 + 1))
    monkeypatch.undo()
    file.append(numbered(STRIDE, STRIDE * 2 + 1))
    assert file.read(STRIDE * 2 - 1, 3) == numbered(3, STRIDE * 2 - 1)
    file.close()
    again = LineFile(path)
    assert again.read(STRIDE * 3 - 1, 3) == numbered(2, STRIDE * 3 - 1)
    again.close()


def test_a_read_stops_where_it_would_hold_too_much_but_not_before_one_line(path: Path) -> None:
    file = LineFile(path)
    file.append([b"x" * 1000] * 10)
    assert len(file.read(0, 10, max_bytes=3500)) == 3
    assert len(file.read(0, 10, max_bytes=10)) == 1
    file.close()


def test_a_line_longer_than_a_block_is_read_whole(path: Path) -> None:
    file = LineFile(path)
    long = b"y" * (3 << 18)
    file.append([b"a", long, b"b"])
    assert file.read(1, 1) == [long]
    assert file.read(2, 1) == [b"b"]
    file.close()


def test_a_cache_closes_what_nobody_uses_and_lends_the_rest(tmp_path: Path) -> None:
    cache = LineCache(max_open=2)
    paths = [tmp_path / f"{number}.log" for number in range(4)]
    with cache.using(paths[0]) as held:
        for path in paths[1:]:
            with cache.using(path) as file:
                file.append([b"x"])
        held.append([b"kept"])
        cache.remove(paths[0])
        assert held.read(0, 1) == [b"kept"]
    assert not paths[0].exists()
    with cache.using(paths[0]) as file:
        assert file.total == 0
    cache.close()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ["a"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\rc", ["a", "b", "c"]),
        ("a\n", ["a", ""]),
        ("a\x0bb\u2028c", ["a\x0bb\u2028c"]),
    ],
)
def test_lines_break_at_line_ends_only(text: str, parts: list[str]) -> None:
    assert lines.split_lines(text) == parts
