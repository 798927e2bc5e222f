"""Counts the model and tool calls that really happen, so that those without a span can be told.

HTTP clients, LangChain's tools and MCP's sessions are looked at where user code has loaded them. What passes through
is not changed, but for one header: a model call made inside its span carries ``traceparent``, by which whoever serves
the model can name the very span.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

from agentic_rl_tui.core.tracing.recorder import peek
from agentic_rl_tui.core.tracing.state import is_on, use

_MARK = "_agentic_rl_watched"
TRACEPARENT = "traceparent"
_ENDS = ("/chat/completions", "/responses", "/text-generation/generation", "/multimodal-generation/generation")
_in_tool: ContextVar[bool] = ContextVar("agentic_rl_in_tool", default=False)


_looks_at_forks = False


def install_in_use() -> None:
    """Look again where calls are traced already: user code may have loaded its client after the first of them."""
    if peek() is not None:
        install()


def install() -> None:
    """Look at what is loaded by now; cheap when everything is watched already."""
    _look_at_forks()
    for name in ("httpx", "httpx2"):
        module = sys.modules.get(name)
        if module is not None:
            for client in ("Client", "AsyncClient"):
                _patch(getattr(module, client, None), "send", _http)
    aiohttp = sys.modules.get("aiohttp.client")
    if aiohttp is not None:
        _patch(getattr(aiohttp, "ClientSession", None), "_request", _aiohttp)
    requests = sys.modules.get("requests.sessions")
    if requests is not None:
        _patch(getattr(requests, "Session", None), "send", _http)
    tools = sys.modules.get("langchain_core.tools.base")
    if tools is not None:
        for method in ("run", "arun"):
            _patch(getattr(tools, "BaseTool", None), method, _tool)
    session = sys.modules.get("mcp.client.session")
    if session is not None:
        _patch(getattr(session, "ClientSession", None), "call_tool", _mcp)


def _look_at_forks() -> None:
    """Pools of processes fork, or have their children started anew, which only ``multiprocessing`` knows of."""
    global _looks_at_forks
    if not _looks_at_forks:
        _looks_at_forks = True
        os.register_at_fork(after_in_parent=use.note_child)
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        _patch(getattr(process, "BaseProcess", None), "start", _start)


def _start(original: Any) -> Any:
    @wraps(original)
    def start(self: Any, *args: Any, **kwargs: Any) -> Any:
        use.note_child()
        return original(self, *args, **kwargs)

    return start


def _patch(cls: Any, method: str, make: Callable[[Any], Any]) -> None:
    original = getattr(cls, "__dict__", {}).get(method)
    if original is not None and not getattr(original, _MARK, False):
        watched = make(original)
        setattr(watched, _MARK, True)
        setattr(cls, method, watched)


def _span_kind() -> str | None:
    """The kind of the span we are in; the vendor's module says it only at the end, so its name has to do."""
    from opentelemetry import trace

    span = trace.get_current_span()
    kind = (getattr(span, "attributes", None) or {}).get("gen_ai.span.kind")
    if kind is None:
        first = str(getattr(span, "name", "")).partition(" ")[0]
        return {"chat": "LLM", "execute_tool": "TOOL"}.get(first)
    return str(kind)


def _http(original: Any) -> Any:
    """For httpx and requests, whose methods of this name are alike."""

    @wraps(original)
    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(request, "method", "") == "POST" and is_on():
            name = _model_call(str(getattr(request, "url", "")))
            if name is not None and TRACEPARENT not in request.headers:
                request.headers[TRACEPARENT] = name
        return original(self, request, *args, **kwargs)

    return send


def _aiohttp(original: Any) -> Any:
    @wraps(original)
    def request(self: Any, method: str, str_or_url: Any, **kwargs: Any) -> Any:
        if method.upper() == "POST" and is_on():
            name = _model_call(str(str_or_url))
            if name is not None:
                given = dict(kwargs.get("headers") or {})
                given.setdefault(TRACEPARENT, name)
                kwargs["headers"] = given
        return original(self, method, str_or_url, **kwargs)

    return request


def _model_call(url: str) -> str | None:
    """Note a request that asks a model; gives the name of the span of the call where there is one."""
    path = url.partition("?")[0].rstrip("/")
    if not path.endswith(_ENDS):
        return None
    is_traced = _span_kind() == "LLM"
    use.note("http", path=path[-60:], traced=is_traced)
    return _traceparent() if is_traced else None


def _traceparent() -> str | None:
    """The current span as the W3C names it."""
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _tool(original: Any) -> Any:
    """One note for a tool call, however its methods call each other."""

    @wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        _note_tool(str(getattr(self, "name", type(self).__name__)), self)
        token = _in_tool.set(True)
        try:
            result = original(self, *args, **kwargs)
        finally:
            _in_tool.reset(token)
        return _inside(result) if hasattr(result, "__await__") else result

    return run


async def _inside(awaitable: Any) -> Any:
    token = _in_tool.set(True)
    try:
        return await awaitable
    finally:
        _in_tool.reset(token)


def _mcp(original: Any) -> Any:
    @wraps(original)
    async def call_tool(self: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        _note_tool(name, None, is_mcp=True)
        return await original(self, name, *args, **kwargs)

    return call_tool


def _note_tool(name: str, tool: Any, *, is_mcp: bool = False) -> None:
    if not is_on() or _in_tool.get():
        return
    from agentic_rl_tui.core.tracing.tools import is_mcp as comes_from_mcp

    is_mcp = is_mcp or (tool is not None and comes_from_mcp(tool))
    use.note("tool", name=name, traced=_span_kind() == "TOOL", mcp=is_mcp)
