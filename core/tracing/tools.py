"""Spans of tool calls: objects patched in place, functions by a decorator."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any

from agentic_rl_tui.core.tracing import payload
from agentic_rl_tui.core.tracing.decorating import decorated, sync_or_async
from agentic_rl_tui.core.tracing.llm import CHUNKS, STREAMED
from agentic_rl_tui.core.tracing.messages import field
from agentic_rl_tui.core.tracing.recorder import GENAI_SCOPE, UNFINISHED, current, fail, recorder, succeed
from agentic_rl_tui.core.tracing.state import current_call, flag, is_on, is_wanted, use

_log = logging.getLogger("dashscope.finetune.reinforcement")
_MARK = "_agentic_rl_traced"
_MOST_PARTS = 200
_METHODS = ("invoke", "ainvoke", "run", "arun")
_running: ContextVar[frozenset[int]] = ContextVar("agentic_rl_tools", default=frozenset())
"""The tools inside whose span we are, so that ``ainvoke`` that calls ``invoke`` yields one span."""


def trace_tool(tools: Any, *, provider: str | None = None) -> None:
    """Trace tools from now on: one, a list or tuple, a mapping by name, or a LangGraph ToolNode."""
    if is_wanted() is False:
        return
    use.touch()
    found = list(_expand(tools))
    known = [tool for tool in found if _patch(tool, provider)]
    use.tools += len(known)
    if known and current_call.get():
        use.note("late", what="trace_tool")
    for tool in found:
        if tool not in known:
            name = tool_name(tool)
            use.unsupported.append(f"tool {name}")
            use.note("unsupported", name=f"tool {name}")
            _log.warning("trace_tool cannot wrap %s: it has no invoke; decorate it with @observe_tool", name)


def _expand(tools: Any) -> Iterable[Any]:
    by_name = field(tools, "tools_by_name")
    if isinstance(by_name, Mapping):
        return by_name.values()
    if isinstance(tools, Mapping):
        return tools.values()
    if isinstance(tools, list | tuple | set | frozenset):
        return [inner for tool in tools for inner in _expand(tool)]
    return [tools]


def tool_name(tool: Any) -> str:
    return str(field(tool, "name") or getattr(tool, "__name__", None) or type(tool).__name__)


def is_mcp(tool: Any) -> bool:
    """Whether a tool was made by langchain-mcp-adapters: its function lives there."""
    for name in ("coroutine", "func"):
        module = getattr(field(tool, name), "__module__", None) or ""
        if module.partition(".")[0] == "langchain_mcp_adapters":
            return True
    return type(tool).__module__.partition(".")[0] == "langchain_mcp_adapters"


def _patch(tool: Any, provider: str | None) -> bool:
    methods = [name for name in _METHODS if callable(getattr(tool, name, None))]
    if isinstance(tool, type) or not {"invoke", "ainvoke"} & set(methods):
        return False
    provider = provider or ("mcp" if is_mcp(tool) else None)
    for name in methods:
        original = getattr(tool, name)
        if getattr(original, _MARK, False):
            continue
        try:
            object.__setattr__(tool, name, _traced_method(tool, original, provider))
        except (AttributeError, TypeError):
            return False
    return True


def _traced_method(tool: Any, original: Callable[..., Any], provider: str | None) -> Callable[..., Any]:
    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_on():
            return original(*args, **kwargs)
        given: Any = args[0] if args else kwargs.get("input", kwargs.get("tool_input"))
        call_id = None
        if isinstance(given, dict) and given.get("type") == "tool_call":
            given, call_id = given.get("args"), given.get("id")
        return run_tool(original, args, kwargs, tool_name(tool), provider, given, key=id(tool), call_id=call_id)

    setattr(call, _MARK, True)
    return call


def observe_tool(_fn: Any = None, *, name: str | None = None, provider: str | None = None, handler: Any = None) -> Any:
    """Trace a plain function, sync or async, as a tool."""
    del handler

    def decorate(fn: Any) -> Any:
        use.touch("observe_tool")
        key, shown = id(fn), name or str(getattr(fn, "__name__", "tool"))

        @wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not is_on():
                return fn(*args, **kwargs)
            return run_tool(fn, args, kwargs, shown, provider, _bound(fn, args, kwargs), key=key)

        return sync_or_async(fn, call)

    return decorated(decorate, _fn)


def _bound(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name; ``self`` is no argument of a tool."""
    try:
        found = dict(inspect.signature(fn).bind_partial(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        found = {**{str(place): value for place, value in enumerate(args)}, **kwargs}
    for name in ("self", "cls"):
        found.pop(name, None)
    return found


def run_tool(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    name: str,
    provider: str | None,
    given: Any,
    *,
    key: int,
    call_id: Any = None,
) -> Any:
    """Call `fn` in a span and give back exactly what it gave. key tells the tool from those around it."""
    inside = _running.get()
    made = recorder()
    if made is None or (key in inside and not flag("AGENTIC_RL_TRACE_TOOL_NO_DEDUP")):
        return fn(*args, **kwargs)
    attributes = {"gen_ai.span.kind": "TOOL", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    attributes["gen_ai.tool.call.arguments"] = payload.arguments(given)
    if provider:
        attributes["gen_ai.provider.name"] = provider
    if call_id:
        attributes["gen_ai.tool.call.id"] = str(call_id)
    span = made.start(GENAI_SCOPE, f"execute_tool {name}", "INTERNAL", attributes)
    token = _running.set(inside | {key})
    try:
        with current(span):
            result = fn(*args, **kwargs)
    except BaseException as error:
        _end(span, None, error)
        raise
    finally:
        _running.reset(token)
    if inspect.isawaitable(result):
        return _awaited(result, span, inside | {key})
    return _finish(result, span, inside | {key})


async def _awaited(awaitable: Any, span: Any, inside: frozenset[int]) -> Any:
    token = _running.set(inside)
    try:
        with current(span):
            result = await awaitable
    except BaseException as error:
        _end(span, None, error)
        raise
    finally:
        _running.reset(token)
    return _finish(result, span, inside)


def _finish(result: Any, span: Any, inside: frozenset[int]) -> Any:
    """A tool that gives its result in parts has done nothing yet: its span ends with its last part."""
    if inspect.isgenerator(result):
        return _parts(result, span, inside)
    if inspect.isasyncgen(result):
        return _async_parts(result, span, inside)
    _end(span, result)
    return result


class _Given:
    """What a tool gave in parts, as far as it is kept."""

    def __init__(self, span: Any, inside: frozenset[int]) -> None:
        self._span = span
        self._inside = inside
        self._parts: list[Any] = []
        self._count = 0

    @contextmanager
    def step(self) -> Iterator[None]:
        """Around the making of one part: the span is current there, and not in the code that takes the part."""
        token = _running.set(self._inside)
        try:
            with current(self._span):
                yield
        finally:
            _running.reset(token)

    def add(self, part: Any) -> None:
        self._count += 1
        if len(self._parts) < _MOST_PARTS:
            self._parts.append(part)

    def end(self, error: BaseException | None = None, *, is_whole: bool = True) -> None:
        self._span.set_attributes({STREAMED: True, CHUNKS: self._count})
        if not is_whole:
            self._span.set_attribute(UNFINISHED, "the tool's parts were left before their end")
        if error is not None:
            self._span.set_attribute("gen_ai.tool.call.result", payload.result(self._parts))
        _end(self._span, self._parts, error)


def _parts(made: Generator[Any, Any, Any], span: Any, inside: frozenset[int]) -> Generator[Any, Any, Any]:
    given = _Given(span, inside)
    go_on: Callable[[], Any] = partial(made.send, None)
    while True:
        try:
            with given.step():
                part = go_on()
        except StopIteration as stop:
            given.end()
            return stop.value
        except BaseException as error:
            given.end(error)
            raise
        given.add(part)
        try:
            go_on = partial(made.send, (yield part))
        except GeneratorExit:
            made.close()
            given.end(is_whole=False)
            raise
        except BaseException as error:
            go_on = partial(made.throw, error)


async def _async_parts(made: AsyncGenerator[Any, Any], span: Any, inside: frozenset[int]) -> AsyncGenerator[Any, Any]:
    given = _Given(span, inside)
    go_on: Callable[[], Awaitable[Any]] = partial(made.asend, None)
    while True:
        try:
            with given.step():
                part = await go_on()
        except StopAsyncIteration:
            given.end()
            return
        except BaseException as error:
            given.end(error)
            raise
        given.add(part)
        try:
            go_on = partial(made.asend, (yield part))
        except GeneratorExit:
            await made.aclose()
            given.end(is_whole=False)
            raise
        except BaseException as error:
            go_on = partial(made.athrow, error)


def _end(span: Any, result: Any, error: BaseException | None = None) -> None:
    if error is not None:
        fail(span, error)
    else:
        span.set_attribute("gen_ai.tool.call.result", payload.result(result))
        if field(result, "status") == "error" and field(result, "tool_call_id") is not None:
            from opentelemetry.trace import Status, StatusCode

            span.set_status(Status(StatusCode.ERROR, payload.cut(payload.result(result), 4096)))
            span.set_attribute("error.type", "ToolError")
        succeed(span)
    span.end()
