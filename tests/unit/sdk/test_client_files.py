"""Files: what is sent, what is refused before, and what a lost answer leads to."""

import asyncio
import contextlib
import gc
import os
import sys
import threading

import pytest

from agentic_rl_tui.core.client.files import Files
from agentic_rl_tui.core.client.multipart import FileBody, FormBody
from agentic_rl_tui.core.models import errors


@pytest.fixture(params=["direct", "proxy"])
def client(request, service, make_client, monkeypatch):
    """Both ways a body is sent: by the kernel to loopback, and through httpx past a proxy."""
    if request.param == "direct":
        return make_client()
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{service.port}")
    return make_client(base_url="http://service.invalid/api/v1")


@pytest.fixture
def rows(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"messages": []}\n' * 40_000)
    return file


async def test_upload_is_a_form_with_a_known_length(service, client, rows):
    remote = await client.files.upload(rows, description="mine")
    (seen,) = service.requests("POST .*/files")
    assert remote.file_id == "file-1"
    assert remote.size == rows.stat().st_size
    assert [(name, filename) for name, filename, _ in seen.parts()] == [
        ("files", "rows.jsonl"),
        ("purpose", None),
        ("descriptions", None),
    ]
    assert seen.parts()[0][2] == rows.read_bytes()
    assert seen.parts()[1][2] == b"fine-tune"
    assert seen.header("content-length") == str(len(seen.body))
    assert seen.header("transfer-encoding") is None


@pytest.mark.parametrize("name", ["big int.jsonl", "数学题.jsonl", "a&b=c+d%20e.jsonl"])
async def test_names_arrive_as_they_are(service, client, tmp_path, name):
    file = tmp_path / name
    file.write_text("{}\n")
    remote = await client.files.upload(file)
    assert f'filename="{name}"'.encode() in service.seen[0].body
    assert service.files[remote.file_id]["name"] == name


def test_quotes_and_line_breaks_cannot_leave_the_header(tmp_path):
    file = tmp_path / "x"
    file.write_text("{}\n")
    head = next(iter(FormBody(file, name='a"\r\nX-Evil: 1.jsonl')))
    assert head.count(b"\r\n") == 4
    assert b'filename="a%22%0D%0AX-Evil: 1.jsonl"' in head


async def test_progress_grows_to_the_whole_file_on_the_loops_thread(client, rows):
    told = []
    await client.files.upload(rows, progress=lambda done, total: told.append((done, total, threading.get_ident())))
    size = rows.stat().st_size
    assert told[-1][:2] == (size, size)
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
    assert {thread for _, _, thread in told} == {threading.get_ident()}


async def test_size_limit_is_checked_before_sending(service, client, rows, monkeypatch):
    monkeypatch.setenv("DATASETS_FILE_SIZE_WARNING", "1000")
    with pytest.raises(errors.InputError, match="the limit is 1,000") as caught:
        await client.files.upload(rows)
    assert "DATASETS_FILE_SIZE_WARNING" in caught.value.advice
    assert not service.seen


async def test_default_limit_is_one_gib(service, client, tmp_path):
    file = tmp_path / "sparse.jsonl"
    with file.open("wb") as stream:
        stream.truncate((1 << 30) + 1)
    with pytest.raises(errors.InputError, match="1,073,741,824"):
        await client.files.upload(file)
    assert not service.seen


@pytest.mark.parametrize(
    ("make", "words"), [("missing", "does not exist"), ("folder", "is not a file"), ("empty", "is empty")]
)
async def test_what_is_no_file_is_named_before_sending(service, client, tmp_path, make, words):
    path = tmp_path / make
    if make == "folder":
        path.mkdir()
    elif make == "empty":
        path.touch()
    with pytest.raises(errors.InputError, match=words):
        await client.files.upload_many([path])
    assert not service.seen


async def test_refused_upload_is_an_error_with_the_services_reason(service, client, rows):
    failed = {"name": "rows.jsonl", "code": "BadRequest.TooLarge", "message": "file too large"}
    service.fail(
        "POST", status=200, body={"data": {"uploaded_files": [], "failed_uploads": [failed]}, "request_id": "q"}
    )
    with pytest.raises(errors.UploadError, match="file too large") as caught:
        await client.files.upload(rows)
    assert (caught.value.code, caught.value.request_id) == ("BadRequest.TooLarge", "q")
    assert "Split the file" in caught.value.advice


@pytest.mark.parametrize(
    "body", [{"data": {}}, {"data": {"uploaded_files": []}}, {"data": {"uploaded_files": [{"file_id": " "}]}}]
)
async def test_success_without_an_id_is_no_success(service, client, rows, body):
    service.fail("POST", times=9, status=200, body=body)
    with pytest.raises(errors.BadResponse):
        await client.files.upload(rows)


async def test_file_whose_answer_was_lost_is_found_and_not_sent_again(service, client, rows):
    service.fail("POST", after=True, drop=True)
    remote = await client.files.upload(rows)
    assert remote.file_id == "file-1"
    assert len(service.files) == 1
    assert len(service.requests("POST")) == 1


async def test_file_that_never_arrived_is_sent_again(service, client, rows):
    service.fail("POST", drop=True)
    assert (await client.files.upload(rows)).file_id == "file-1"
    assert len(service.files) == 1
    assert len(service.requests("POST")) == 2


@pytest.mark.parametrize("other", [{"size": 3}, {"md5": "0" * 32}, {"md5": ""}, {"name": "other.jsonl"}])
async def test_only_the_very_same_file_is_adopted(service, client, rows, other):
    import hashlib

    content = rows.read_bytes()
    same = {"name": rows.name, "size": len(content), "md5": hashlib.md5(content).hexdigest(), "content": b""}
    service.files["file-old"] = {**same, **other}
    service.fail("POST", drop=True)
    assert (await client.files.upload(rows)).file_id == "file-2"


async def test_timeout_looks_the_file_up(service, client, make_client, rows):
    client = make_client(flags={"upload_timeout_s": "0.5"}, base_url=client.profile.base_url)
    service.fail("POST", after=True, stall=True)
    assert (await client.files.upload(rows)).file_id == "file-1"
    assert len(service.requests("POST")) == 1


async def test_several_files_keep_their_order(service, client, tmp_path):
    files = []
    for number in range(6):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(f'{{"n": {number}}}\n')
        files.append(file)
    remote = await client.files.upload_many(files, at_once=3)
    assert [service.files[item.file_id]["name"] for item in remote] == [file.name for file in files]


async def test_at_most_so_many_at_once(service, client, tmp_path, monkeypatch):
    running, most = 0, 0
    from agentic_rl_tui.core.client.files import Files

    async def slow(self, path, **how):
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        from agentic_rl_tui.core.models.files import RemoteFile

        return RemoteFile(file_id=path.name)

    monkeypatch.setattr(Files, "upload", slow)
    files = [tmp_path / f"{number}.jsonl" for number in range(7)]
    for file in files:
        file.write_text("{}\n")
    await client.files.upload_many(files, at_once=2)
    assert most == 2


async def test_one_failure_tells_what_did_arrive(service, client, tmp_path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text("{}\n")
    bad.write_text("[]\n")
    failed = {"name": "bad.jsonl", "code": "BadRequest", "message": "not for us"}
    service.fail("POST", times=0)
    answer = service.answer

    def choose(seen):
        if b"bad.jsonl" in seen.body:
            return 200, {"data": {"uploaded_files": [], "failed_uploads": [failed]}}
        return answer(seen)

    service.answer = choose
    with pytest.raises(errors.UploadError, match=r"1 of 2 files did not arrive.*not for us") as caught:
        await client.files.upload_many([good, bad])
    assert list(caught.value.uploaded) == [str(good)]
    assert caught.value.uploaded[str(good)] in caught.value.advice


@pytest.mark.parametrize(
    ("raw", "kind", "words"),
    [
        (b'HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"data"', errors.BadResponse, "cut off"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", errors.BadResponse, "does not speak HTTP"),
        (b"", errors.Unreachable, "lost before the answer"),
        (
            b"HTTP/1.1 502 X\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n<html> !",
            errors.ServerError,
            "HTML page",
        ),
    ],
)
async def test_failures_of_an_upload_read_like_all_others(service, client, rows, raw, kind, words):
    service.fail("POST", times=9, raw=raw)
    with pytest.raises(kind, match=words) as caught:
        await client.files.upload(rows)
    assert caught.value.outcome_unknown
    assert caught.value.path == "/api/v1/files"


async def test_answer_in_pieces_is_read(service, client, rows):
    piece = b'{"data": {"uploaded_files": [{"file_id": "file-7"}]}}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    service.fail("POST", raw=head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(piece), piece))
    assert (await client.files.upload(rows)).file_id == "file-7"


async def test_upload_to_a_port_where_nobody_listens(make_client, rows, free_port):
    client = make_client(base_url=f"http://127.0.0.1:{free_port}/api/v1")
    with pytest.raises(errors.Unreachable, match="connection refused"):
        await client.files.upload(rows)


@pytest.mark.parametrize("size", [10, 5_000_000])
async def test_file_that_changes_while_it_is_sent_breaks_the_request(service, client, rows, monkeypatch, size):
    opened = FileBody.opened

    @contextlib.contextmanager
    def changing(self):
        with opened(self) as descriptor:
            os.truncate(rows, size)
            yield descriptor

    monkeypatch.setattr(FileBody, "opened", changing)
    with pytest.raises(errors.InputError, match="changed while it was sent"):
        await client.files.upload(rows)
    assert not service.files


async def test_file_that_is_gone_by_then_is_named(service, client, rows, monkeypatch):
    checked = Files.checked

    def removing(self, path):
        file = checked(self, path)
        monkeypatch.setattr(FormBody, "opened", lambda self: _gone(self))
        return file

    def _gone(body):
        body.path.unlink(missing_ok=True)
        return FileBody.opened(body)

    monkeypatch.setattr(Files, "checked", removing)
    with pytest.raises(errors.InputError, match=r"rows\.jsonl cannot be read"):
        await client.files.upload(rows)


async def test_answer_given_before_the_body_was_read_is_heard(service, client, rows):
    """A server that refuses early closes the connection in the middle of the body."""

    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"code": "BadRequest.TooLarge", "message": "no"}'
        writer.write(
            b"HTTP/1.1 413 X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        await writer.drain()
        while await reader.read(1 << 16):
            pass
        writer.close()

    service.serve = refuse
    with pytest.raises(errors.Rejected, match="no"):
        await client.files.upload(rows)


async def test_cancel_in_the_middle_ends_the_sending_thread(service, client, rows):
    service.fail("POST", stall=True)
    arrived = asyncio.Event()
    service.on_request = lambda seen: arrived.set()
    task = asyncio.create_task(client.files.upload(rows))
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for thread in [thread for thread in threading.enumerate() if thread.name == "upload"]:
        thread.join(5)
        assert not thread.is_alive()


async def test_cancel_at_any_moment_leaves_no_socket_open(service, client, rows, monkeypatch):
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: lost.append(str(told.exc_value)))
    for turns in range(0, 40, 4):
        task = asyncio.create_task(client.files.upload(rows))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    gc.collect()
    # Sockets that the test's own server accepted from a peer already gone are not ours.
    assert not [text for text in lost if f"raddr=('127.0.0.1', {service.port})" in text]


async def test_list_get_delete_and_iter(service, client, tmp_path):
    for number in range(5):
        file = tmp_path / f"{number}.jsonl"
        file.write_text("{}\n")
        await client.files.upload(file)
    page = await client.files.list(page_no=2, page_size=2)
    assert [item.file_id for item in page.files] == ["file-3", "file-2"]
    assert (page.page_no, page.page_size, page.total) == (2, 2, 5)
    assert [item.file_id async for item in client.files.iter(page_size=2)] == [f"file-{n}" for n in (5, 4, 3, 2, 1)]
    found = await client.files.get("file-2")
    assert (found.name, found.size) == ("1.jsonl", 3)
    await client.files.delete("file-2")
    with pytest.raises(errors.NotFound):
        await client.files.get("file-2")


@pytest.mark.parametrize(("page_no", "page_size"), [(0, 10), (-1, 10), (1, 0), (1, 101)])
async def test_pages_that_do_not_exist_are_not_asked_for(service, client, page_no, page_size):
    for resource in (client.files, client.jobs):
        with pytest.raises(errors.InputError, match="cannot be asked for"):
            await resource.list(page_no=page_no, page_size=page_size)
    assert not service.seen
