"""Spans of model calls, whatever makes the call: a client, a function, a block of code. Results are never replaced."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from agentic_rl_tui.core.tracing import messages as forms
from agentic_rl_tui.core.tracing.messages import Joined, Message, field
from agentic_rl_tui.core.tracing.payload import PREVIEW_CHARS, cut, dump_fast, plain_data
from agentic_rl_tui.core.tracing.recorder import GENAI_SCOPE, UNFINISHED, Recorder, current, fail, recorder, succeed

Mapper = Callable[["Invocation", Any], None]
STREAMED, FIRST_TOKEN, CHUNKS = "agentic_rl.stream", "agentic_rl.stream.first_token_s", "agentic_rl.stream.chunks"
_MANY = 2_000
_NO_CONTENT = frozenset({"no_content", "none", "false", "0", "no"})


def _shows_content() -> bool:
    """Messages are kept unless somebody asked for spans without them."""
    wish = os.environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "")
    return wish.strip().lower() not in _NO_CONTENT


class Invocation:
    """One model call under way. User code may set any attribute; those named here end up on the span."""

    def __init__(self, *, request_model: Any = None, provider: str | None = None, input_messages: Any = None) -> None:
        self.request_model = request_model
        self.provider = provider
        self.input_messages: Any = input_messages or []
        self.output_messages: list[Any] = []
        self.response_model_name: Any = None
        self.response_id: Any = None
        self.finish_reasons: list[str] = []
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.attributes: dict[str, Any] = {}
        self.span: Any = None
        self.is_incremental = False
        self._began = 0.0
        self._begun_with: Any = None

    # Life

    def begin(self, made: Recorder) -> None:
        self._began = time.perf_counter()
        self._begun_with = self.input_messages
        given: dict[str, Any] = {"gen_ai.span.kind": "LLM", "gen_ai.operation.name": "chat"}
        if self.request_model:
            given["gen_ai.request.model"] = str(self.request_model)
        if self.provider:
            given["gen_ai.provider.name"] = self.provider
        if self.input_messages and _shows_content():
            given["gen_ai.input.messages"] = _shown(self.input_messages)
        self.span = made.start(GENAI_SCOPE, self._name(), "CLIENT", given)

    def _name(self) -> str:
        return f"chat {self.request_model}" if self.request_model else "chat"

    def end(self, error: BaseException | None = None) -> None:
        span = self.span
        if span is None or not span.is_recording():
            return
        if self._name() != span.name:
            span.update_name(self._name())
        span.set_attributes({key: value for key, value in self._answer().items() if value not in (None, "", [])})
        if error is None:
            succeed(span)
        else:
            fail(span, error)
        span.end()

    def _answer(self) -> dict[str, Any]:
        total = None
        if self.input_tokens is not None and self.output_tokens is not None:
            total = self.input_tokens + self.output_tokens
        found = {
            "gen_ai.request.model": str(self.request_model) if self.request_model else None,
            "gen_ai.provider.name": self.provider,
            "gen_ai.response.model": str(self.response_model_name) if self.response_model_name else None,
            "gen_ai.response.id": str(self.response_id) if self.response_id else None,
            "gen_ai.response.finish_reasons": [str(reason) for reason in self.finish_reasons if reason],
            "gen_ai.usage.input_tokens": self.input_tokens,
            "gen_ai.usage.output_tokens": self.output_tokens,
            "gen_ai.usage.total_tokens": total,
            **{str(key): value for key, value in self.attributes.items()},
        }
        if _shows_content():
            if self.input_messages and self.input_messages is not self._begun_with:
                found["gen_ai.input.messages"] = _shown(self.input_messages)
            found["gen_ai.output.messages"] = _shown(self.output_messages) if self.output_messages else None
        return found

    # What the answer says

    def take(self, result: Any) -> None:
        """Read an answer in any known form."""
        answer = forms.unwrap_openai_completion(result)
        self.output_messages = forms.anything_to_output_messages(answer)
        self._take_facts(answer)

    def _take_facts(self, answer: Any) -> None:
        self.response_model_name = field(answer, "model") or self.response_model_name
        self.response_id = field(answer, "id") or field(answer, "request_id") or self.response_id
        self._take_usage(field(answer, "usage") or field(answer, "usage_metadata"))
        self.finish_reasons = [item["finish_reason"] for item in self.output_messages if item.get("finish_reason")]
        code, error = field(answer, "status_code"), field(answer, "error")
        if isinstance(code, int) and code >= 400:
            self._refused(field(answer, "code") or code, field(answer, "message"))
        elif error is not None and field(answer, "status") == "failed":
            self._refused(field(error, "code"), field(error, "message"))

    def _refused(self, code: Any, message: Any) -> None:
        """An answer that came and says that there is none."""
        if self.span is not None:
            from opentelemetry.trace import Status, StatusCode

            self.span.set_status(Status(StatusCode.ERROR, cut(f"{code}: {message}", 4096)))
            self.span.set_attribute("error.type", str(code))

    def _take_usage(self, usage: Any) -> None:
        for names, target in ((("prompt_tokens", "input_tokens"), "input_tokens"),
                              (("completion_tokens", "output_tokens"), "output_tokens")):  # fmt: skip
            for name in names:
                value = field(usage, name)
                if isinstance(value, int):
                    setattr(self, target, value)

    def take_stream(self, joined: Joined) -> None:
        self.attributes[CHUNKS] = joined.chunks
        self.output_messages = joined.messages()
        self._take_facts(joined.last if joined.last is not None else joined.facts)

    def first_token(self) -> None:
        self.attributes[FIRST_TOKEN] = round(time.perf_counter() - self._began, 6)


def _shown(messages: Any) -> str:
    if _is_plain(messages):
        return cut(dump_fast(messages), PREVIEW_CHARS)
    return cut(dump_fast(plain_data(messages, depth=10, items=_MANY, chars=PREVIEW_CHARS)), PREVIEW_CHARS)


def _is_plain(messages: Any) -> bool:
    """Whether there is nothing but text, in which no key can hold a secret and nothing has to be bounded."""
    if not isinstance(messages, list) or len(messages) > _MANY:
        return False
    for message in messages:
        parts = message.get("parts") if isinstance(message, dict) else None
        if not isinstance(parts, list) or len(parts) > _MANY:
            return False
        for part in parts:
            content = part.get("content") if isinstance(part, dict) else None
            if not isinstance(content, str) or part.get("type") not in ("text", "reasoning"):
                return False
            if len(content) > PREVIEW_CHARS:
                return False
    return True


def run_llm(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    invocation: Invocation,
    mapper: Mapper | None = None,
) -> Any:
    """Call `fn` in a span and give back exactly what it gave: an answer, an awaitable, a stream."""
    made = recorder()
    if made is None:
        return fn(*args, **kwargs)
    invocation.begin(made)
    try:
        with current(invocation.span):
            result = fn(*args, **kwargs)
    except BaseException as error:
        invocation.end(error)
        raise
    if inspect.isawaitable(result):
        return _awaited(result, invocation, mapper)
    return _finish(result, invocation, mapper)


async def _awaited(awaitable: Any, invocation: Invocation, mapper: Mapper | None) -> Any:
    try:
        with current(invocation.span):
            result = await awaitable
    except BaseException as error:
        invocation.end(error)
        raise
    return _finish(result, invocation, mapper)


def _finish(result: Any, invocation: Invocation, mapper: Mapper | None) -> Any:
    stream = _watched(result, invocation)
    if stream is not None:
        invocation.attributes[STREAMED] = True
        return stream
    try:
        invocation.take(result)
        if mapper is not None:
            mapper(invocation, result)
    except Exception as error:
        invocation.attributes["agentic_rl.unread"] = f"the answer could not be read: {type(error).__name__}: {error}"
    invocation.end()
    return result


def _watched(result: Any, invocation: Invocation) -> Any:
    """The stream to hand to the user; None for what is no stream. An SDK's own stream object stays the same object."""
    inner = result
    if field(result, "_iterator") is None and callable(field(result, "parse")) and _is_raw_stream(result):
        inner = result.parse()
    iterator = field(inner, "_iterator")
    if hasattr(iterator, "__anext__"):
        inner._iterator = _AsyncWatch(iterator, invocation)
        return result
    if hasattr(iterator, "__next__"):
        inner._iterator = _Watch(iterator, invocation)
        return result
    if inspect.isasyncgen(result):
        return _async_parts(_AsyncWatch(result, invocation, is_lazy=True))
    if inspect.isgenerator(result):
        return _parts(_Watch(result, invocation, is_lazy=True))
    return None


def _is_raw_stream(result: Any) -> bool:
    """Whether a raw response holds a stream; its own `parse` keeps what it made, so the user gets the same one."""
    return bool(field(result, "_is_sse_stream") or field(result, "_stream"))


def _parts(watch: _Watch) -> Iterator[Any]:
    try:
        yield from watch
    finally:
        watch.close()


async def _async_parts(watch: _AsyncWatch) -> AsyncIterator[Any]:
    try:
        async for part in watch:
            yield part
    finally:
        await watch.aclose()


class _Taps:
    """is_lazy: a generator makes its call when it is first asked for a part, which must happen in the span too."""

    def __init__(self, iterator: Any, invocation: Invocation, *, is_lazy: bool = False) -> None:
        self._inside: Callable[[], AbstractContextManager[Any]] = (
            (lambda: current(invocation.span)) if is_lazy else nullcontext
        )
        self._iterator = iterator
        self._invocation = invocation
        self._joined = Joined(is_incremental=invocation.is_incremental)
        self._has_content = False
        self._is_over = False

    def _took(self, chunk: Any) -> None:
        try:
            self._joined.add(chunk)
            if not self._has_content and self._joined.has_content:
                self._has_content = True
                self._invocation.first_token()
        except Exception as error:
            self._invocation.attributes["agentic_rl.unread"] = f"a chunk could not be read: {type(error).__name__}"

    def _over(self, error: BaseException | None = None, *, is_whole: bool = True) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._invocation.take_stream(self._joined)
        if not is_whole:
            self._invocation.attributes[UNFINISHED] = "the stream was left before its end"
        self._invocation.end(error)

    def __del__(self) -> None:
        self._over(is_whole=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_iterator"], name)


class _Watch(_Taps):
    """Iterates for the user and looks on."""

    def __iter__(self) -> _Watch:
        return self

    def __next__(self) -> Any:
        try:
            with self._inside():
                chunk = next(self._iterator)
        except StopIteration:
            self._over()
            raise
        except BaseException as error:
            self._over(error)
            raise
        self._took(chunk)
        return chunk

    def close(self) -> None:
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()
        self._over(is_whole=False)


class _AsyncWatch(_Taps):
    def __aiter__(self) -> _AsyncWatch:
        return self

    async def __anext__(self) -> Any:
        try:
            with self._inside():
                chunk = await self._iterator.__anext__()
        except StopAsyncIteration:
            self._over()
            raise
        except BaseException as error:
            self._over(error)
            raise
        self._took(chunk)
        return chunk

    async def aclose(self) -> None:
        close = getattr(self._iterator, "aclose", None)
        if close is not None:
            await close()
        self._over(is_whole=False)


def input_of(messages: Any) -> list[Message]:
    """Never raises: what cannot be read is left out."""
    try:
        return forms.openai_chat_messages_to_input_messages(messages)
    except Exception:
        return []
