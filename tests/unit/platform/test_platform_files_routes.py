import errno
import hashlib
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.platform import multipart
from agentic_rl_tui.core.platform.options import PlatformOptions
from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.platform.store.files import Files

CONTENT = b'{"messages": []}\n' * 20


async def upload(bench: Any, *files: tuple[str, bytes], **fields: str) -> dict[str, Any]:
    answer = await bench.client.post("/api/v1/files", files=[("files", file) for file in files], data=fields)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


async def test_an_uploaded_file_can_be_got_listed_and_deleted(bench: Any) -> None:
    answer = await bench.client.post(
        "/api/v1/files",
        files={"files": ("train.jsonl", CONTENT)},
        data={"purpose": "fine-tune", "descriptions": "first"},
    )
    body = answer.json()
    assert set(body) == {"request_id", "data"}
    assert body["request_id"] == answer.headers["x-request-id"]
    assert body["data"]["failed_uploads"] == []
    (uploaded,) = body["data"]["uploaded_files"]
    assert uploaded["name"] == "train.jsonl"
    file_id = uploaded["file_id"]

    got = (await bench.client.get(f"/api/v1/files/{file_id}")).json()["data"]
    assert got.pop("gmt_create")
    assert got == {
        "file_id": file_id,
        "name": "train.jsonl",
        "size": len(CONTENT),
        "md5": hashlib.md5(CONTENT).hexdigest(),
        "description": "first",
        "purpose": "fine-tune",
    }
    listed = (await bench.client.get("/api/v1/files?page_no=1&page_size=5")).json()["data"]
    assert (listed["total"], listed["page_no"], listed["page_size"]) == (1, 1, 5)
    assert [file["file_id"] for file in listed["files"]] == [file_id]
    path = await bench.platform.files.path(file_id)
    assert path.read_bytes() == CONTENT

    deleted = await bench.client.delete(f"/api/v1/files/{file_id}")
    assert deleted.status_code == 200
    assert set(deleted.json()) == {"request_id"}
    assert not path.exists()
    assert (await bench.client.get(f"/api/v1/files/{file_id}")).status_code == 404
    assert (await bench.client.delete(f"/api/v1/files/{file_id}")).status_code == 404


async def test_several_files_travel_in_one_form(bench: Any) -> None:
    data = await upload(bench, ("a.jsonl", b"a"), ("b.jsonl", b"b"))
    assert [file["name"] for file in data["uploaded_files"]] == ["a.jsonl", "b.jsonl"]
    assert len({file["file_id"] for file in data["uploaded_files"]}) == 2


async def test_lists_are_paged_newest_first(bench: Any) -> None:
    names = [f"{number}.jsonl" for number in range(5)]
    for name in names:
        await upload(bench, (name, b"x"))
    pages = [(await bench.client.get(f"/api/v1/files?page_no={no}&page_size=2")).json()["data"] for no in (1, 2, 3, 4)]
    assert [[file["name"] for file in page["files"]] for page in pages] == [
        ["4.jsonl", "3.jsonl"],
        ["2.jsonl", "1.jsonl"],
        ["0.jsonl"],
        [],
    ]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "a/b.jsonl", "%2e%2e%2fx", "x" * 600])
async def test_names_with_paths_are_refused_one_by_one(bench: Any, name: str) -> None:
    data = await upload(bench, (name, b"x"), ("good.jsonl", b"x"))
    assert [file["code"] for file in data["failed_uploads"]] == ["BadRequest.InvalidName"]
    assert [file["name"] for file in data["uploaded_files"]] == ["good.jsonl"]
    assert len(list(bench.platform.paths.files.iterdir())) == 1


async def test_an_empty_file_is_refused(bench: Any) -> None:
    data = await upload(bench, ("empty.jsonl", b""))
    assert data["uploaded_files"] == []
    assert data["failed_uploads"][0]["code"] == "BadRequest.EmptyFile"
    assert list(bench.platform.paths.files.iterdir()) == []


class TestLimits:
    @pytest.fixture
    def options(self) -> PlatformOptions:
        return PlatformOptions(max_file_bytes=100, max_files=2, max_total_bytes=150)

    async def test_of_one_file(self, bench: Any) -> None:
        data = await upload(bench, ("big", b"x" * 101), ("fits", b"x" * 100))
        assert [file["code"] for file in data["failed_uploads"]] == ["BadRequest.TooLarge"]
        assert [file["name"] for file in data["uploaded_files"]] == ["fits"]

    async def test_of_their_number(self, bench: Any) -> None:
        data = await upload(bench, ("1", b"x"), ("2", b"x"), ("3", b"x"))
        assert [(file["name"], file["code"]) for file in data["failed_uploads"]] == [("3", "BadRequest.TooMany")]

    async def test_of_all_together(self, bench: Any) -> None:
        data = await upload(bench, ("1", b"x" * 90), ("2", b"x" * 90))
        assert [(file["name"], file["code"]) for file in data["failed_uploads"]] == [("2", "BadRequest.TooLarge")]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data; boundary=x", b"--x\r\n"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nd\r\n--x--\r\n',
        ),
    ],
)
async def test_what_is_no_upload_is_a_bad_request(bench: Any, content_type: str, body: bytes) -> None:
    answer = await bench.client.post("/api/v1/files", content=body, headers={"content-type": content_type})
    assert answer.status_code == 400
    assert answer.json()["code"] == "InvalidParameter"
    assert list(bench.platform.paths.files.iterdir()) == []


async def test_a_full_disk_is_told_and_leaves_nothing(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(multipart._Sink, "flush", full)
    answer = await bench.client.post("/api/v1/files", files={"files": ("a", b"x")})
    assert answer.status_code == 500
    assert "disk is full" in answer.json()["message"]
    assert list(bench.platform.paths.files.iterdir()) == []


async def test_a_file_of_an_active_job_cannot_be_deleted(bench: Any) -> None:
    job_id = await bench.create_job()
    file_id = (await bench.client.get(f"/api/v1/fine-tunes/{job_id}")).json()["output"]["training_file_ids"][0]
    refused = await bench.client.delete(f"/api/v1/files/{file_id}")
    assert (refused.status_code, refused.json()["code"]) == (400, "UnsupportedOperation")
    assert job_id in refused.json()["message"]
    await bench.client.post(f"/api/v1/fine-tunes/{job_id}/cancel")
    assert (await bench.client.delete(f"/api/v1/files/{file_id}")).status_code == 200


def test_strays_of_a_killed_platform_are_known(tmp_path: Path, folder: Path) -> None:
    database = Database(tmp_path / "platform.db")
    (folder / ".incoming-1").write_bytes(b"half")
    (folder / "7d5c").write_bytes(b"moved, but its row was never written")
    assert {path.name for path in Files(database, folder).strays()} == {".incoming-1", "7d5c"}
    database.close()
