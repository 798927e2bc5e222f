"""Chat completions as they travel: one JSON object, or server-sent chunks."""

from collections.abc import Iterator
from typing import Any

import orjson

from agentic_rl_tui.core.platform.engine.policy import Completion, ModelReply
from agentic_rl_tui.core.platform.engine.practice import pieces_of
from agentic_rl_tui.core.platform.engine.session import message_of

_PIECES_A_CHUNK = 4


def completion_body(reply: ModelReply, reply_id: str, created: int) -> dict[str, Any]:
    return {
        "id": reply_id,
        "object": "chat.completion",
        "created": created,
        "model": reply.model,
        "choices": [
            {
                "index": index,
                "message": {**message_of(completion), "refusal": None},
                "logprobs": None,
                "finish_reason": completion.finish_reason,
            }
            for index, completion in enumerate(reply.completions)
        ],
        "usage": usage(reply),
    }


def usage(reply: ModelReply) -> dict[str, int]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }


def stream_events(reply: ModelReply, reply_id: str, created: int, *, with_usage: bool) -> Iterator[bytes]:
    """The events of a streamed answer, the closing ``[DONE]`` included."""
    head: dict[str, Any] = {
        "id": reply_id,
        "object": "chat.completion.chunk",
        "created": created,
        "model": reply.model,
    }
    if with_usage:
        head["usage"] = None
    for index, completion in enumerate(reply.completions):
        for delta in _deltas(completion):
            yield _event({**head, "choices": [_choice(index, delta, None)]})
        yield _event({**head, "choices": [_choice(index, {}, completion.finish_reason)]})
    if with_usage:
        yield _event({**head, "choices": [], "usage": usage(reply)})
    yield b"data: [DONE]\n\n"


def _deltas(completion: Completion) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if completion.tool_calls else ""}
    pieces = pieces_of(completion.text or "")
    for first in range(0, len(pieces), _PIECES_A_CHUNK):
        yield {"content": "".join(pieces[first : first + _PIECES_A_CHUNK])}
    for place, call in enumerate(completion.tool_calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": place, "id": call.call_id, "type": "function", "function": function}]}
        arguments = pieces_of(call.arguments)
        for first in range(0, len(arguments), _PIECES_A_CHUNK):
            part = "".join(arguments[first : first + _PIECES_A_CHUNK])
            yield {"tool_calls": [{"index": place, "function": {"arguments": part}}]}


def _choice(index: int, delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _event(body: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(body) + b"\n\n"
