import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.models.errors import Rejected
from agentic_rl_tui.core.platform import multipart
from agentic_rl_tui.core.platform.multipart import FormReader, Part

BOUNDARY = "b0undary"
CONTENT_TYPE = f"multipart/form-data; boundary={BOUNDARY}"


def form(*parts: tuple[str, bytes]) -> bytes:
    body = b""
    for disposition, content in parts:
        body += f"--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode() + content + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


async def chunks(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


class Places:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = 0

    def __call__(self) -> Path:
        self.count += 1
        return self.root / f"part-{self.count}"


async def read(root: Path, body: bytes, *, size: int = 7, limit: int = 1 << 20) -> list[Part]:
    reader = FormReader(CONTENT_TYPE, new_path=Places(root), max_file_bytes=limit)
    return await reader.read(chunks(body, size))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(content=st.binary(max_size=300), size=st.integers(1, 400))
async def test_any_content_arrives_whole(tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int) -> None:
    root = tmp_path_factory.mktemp("form")
    body = form(
        ('name="descriptions"', b"d"), ('name="files"; filename="a.jsonl"', content), ('name="purpose"', b"fine-tune")
    )
    parts = await read(root, body, size=size)
    assert [(part.name, part.filename, bytes(part.value)) for part in parts] == [
        ("descriptions", None, b"d"),
        ("files", "a.jsonl", b""),
        ("purpose", None, b"fine-tune"),
    ]
    stored = parts[1]
    assert stored.path is not None
    assert stored.path.read_bytes() == content
    assert (stored.size, stored.md5) == (len(content), hashlib.md5(content).hexdigest())


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("big%20int.jsonl", "big int.jsonl"),
        ("uni-%E6%95%B0.jsonl", "uni-数.jsonl"),
        ("quote%22.jsonl", 'quote".jsonl'),
        ("uni-数.jsonl", "uni-数.jsonl"),
    ],
)
async def test_names_are_decoded(folder: Path, raw: str, name: str) -> None:
    (part,) = await read(folder, form((f'name="files"; filename="{raw}"', b"x")))
    assert part.filename == name


async def test_a_file_over_the_limit_is_read_but_not_kept(folder: Path) -> None:
    body = form(('name="files"; filename="big"', b"x" * 5000), ('name="files"; filename="small"', b"y"))
    big, small = await read(folder, body, size=512, limit=1000)
    assert (big.path, big.size) == (None, 5000)
    assert small.path is not None
    assert small.path.read_bytes() == b"y"
    assert [path.name for path in folder.iterdir()] == [small.path.name]


async def test_large_files_are_written_as_they_come(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "_FLUSH_BYTES", 1000)
    content = bytes(range(256)) * 100
    (part,) = await read(folder, form(('name="files"; filename="f"', content)), size=300)
    assert part.path is not None
    assert part.path.read_bytes() == content


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no form at all",
        form(('name="files"; filename="a"', b"x"))[:-10],
        form(('name="purpose"', b"x" * 70_000)),
        form(*[('name="purpose"', b"x")] * 1001),
    ],
)
async def test_a_bad_form_is_refused(folder: Path, body: bytes) -> None:
    with pytest.raises(Rejected):
        await read(folder, body, size=4096)


@pytest.mark.parametrize("content_type", ["", "application/json", "multipart/form-data", "multipart/mixed; boundary=x"])
def test_other_content_types_are_refused(folder: Path, content_type: str) -> None:
    with pytest.raises(Rejected, match="multipart"):
        FormReader(content_type, new_path=Places(folder), max_file_bytes=1)


async def test_what_was_received_can_be_discarded(folder: Path) -> None:
    reader = FormReader(CONTENT_TYPE, new_path=Places(folder), max_file_bytes=100)
    with pytest.raises(Rejected):
        await reader.read(chunks(form(('name="files"; filename="a"', b"x"))[:-6], 9))
    assert list(folder.iterdir()) != []
    reader.discard()
    assert list(folder.iterdir()) == []
