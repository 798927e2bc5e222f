"""Server-sent events: the standard's cases, and any split of the bytes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.core.client.sse import ServerEvent, SseParser
from agentic_rl_tui.core.models import errors

STREAM = (
    b"id:1\nevent:result\ndata:first event\n\n"
    b":heartbeat\n\n"
    b'id: 2\r\nevent: result\r\ndata: {"step":\r\ndata:  2}\r\n\r\n'
    b"retry: 3000\rdata: \xe6\x95\xb0\r\r"
    b"event: nothing\n\n"
    b"data\n\n"
)
EVENTS = [
    ServerEvent("result", "first event", "1"),
    ServerEvent("result", '{"step":\n 2}', "2"),
    ServerEvent("message", "数", "2", 3000),
    ServerEvent("message", "", "2", 3000),
]


def parse(*chunks: bytes) -> list[ServerEvent]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


def test_standard_cases():
    assert parse(STREAM) == EVENTS


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_split_gives_the_same_events(cuts):
    places = [0, *sorted(cuts), len(STREAM)]
    assert parse(*(STREAM[a:b] for a, b in itertools.pairwise(places))) == EVENTS


def test_byte_order_mark_is_dropped():
    assert parse(b"\xef\xbb\xbfdata: x\n\n") == [ServerEvent("message", "x")]


def test_last_block_without_a_blank_line_is_kept():
    assert parse(b"data: a\n\ndata: b\n") == [ServerEvent("message", "a"), ServerEvent("message", "b")]


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(noise):
    for event in parse(noise):
        assert isinstance(event.data, str)


def answer(service, content: bytes, kind: str = "text/event-stream") -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
    service.fail("stream", times=9, raw=head.encode() + content)


async def collect(client) -> list[ServerEvent]:
    return [event async for event in client.jobs.stream("ft-1")]


async def test_stream_of_a_job(service, client):
    answer(service, STREAM)
    assert await collect(client) == EVENTS
    assert service.seen[0].header("accept") == "text/event-stream"


@pytest.mark.parametrize("name", [b"event:error", b"event: error"])
async def test_error_event_is_raised_with_its_payload(service, client, name):
    payload = b'data: {"code": "Throttling", "message": "too fast", "request_id": "q1"}\n\n'
    answer(service, b"data: fine\n\n" + name + b"\n" + payload)
    events = client.jobs.stream("ft-1")
    assert (await anext(events)).data == "fine"
    with pytest.raises(errors.RateLimited, match="too fast") as caught:
        await anext(events)
    assert caught.value.request_id == "q1"


async def test_json_instead_of_a_stream_is_one_event(service, client):
    answer(service, b'{"output": {}}', "application/json")
    assert await collect(client) == [ServerEvent("message", '{"output": {}}')]


async def test_stream_that_breaks_off_is_an_error(service, client):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 900\r\n\r\n"
    service.fail("stream", raw=head + b"data: a\n\n")
    with pytest.raises(errors.BadResponse, match="cut off"):
        await collect(client)
