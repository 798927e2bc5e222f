"""Patching model clients in place, recognised by their shape."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any

from agentic_rl_tui.core.tracing import watch
from agentic_rl_tui.core.tracing.llm import Invocation, input_of, run_llm
from agentic_rl_tui.core.tracing.messages import field
from agentic_rl_tui.core.tracing.state import current_call, is_on, is_wanted, use

_log = logging.getLogger("dashscope.finetune.reinforcement")
_MARK = "_agentic_rl_traced"
_INNER = ("client", "async_client", "root_client", "root_async_client")
"""Where wrappers keep their clients; LangChain's has the chat completions in the first two, all else in the others."""
_VIEWS = ("with_raw_response", "with_streaming_response")
"""Properties of OpenAI's resources that keep a reference to the method they wrap."""


def trace_client(client: Any) -> None:
    """Trace every call of a model client from now on. What is not recognised is left alone and reported."""
    if is_wanted() is False:
        return
    use.touch()
    if _trace(client, set()):
        use.clients += 1
        watch.install_in_use()
        if current_call.get():
            use.note("late", what="trace_client")
        return
    name = client.__name__ if isinstance(client, type) else f"{type(client).__module__}.{type(client).__qualname__}"
    use.unsupported.append(name)
    use.note("unsupported", name=name)
    _log.warning("trace_client does not know the client %s: its calls run as they are, without spans", name)


def _trace(client: Any, seen: set[int]) -> bool:
    if client is None or id(client) in seen:
        return False
    seen.add(id(client))
    if isinstance(client, type):
        if not _has_call(client):
            return False
        instrument_dashscope_generation_call(client)
        return True
    resources = _resources(client)
    for resource in resources:
        _patch_resource(resource, "openai")
    if resources:
        return True
    inner = [field(client, name) for name in _INNER]
    return any([_trace(item, seen) for item in inner])  # noqa: C419 - all are to be patched


def _has_call(cls: type) -> bool:
    try:
        static = inspect.getattr_static(cls, "call")
    except AttributeError:
        return False
    return isinstance(static, classmethod | staticmethod)


def _resources(client: Any) -> list[Any]:
    """What has ``create``: the chat completions and responses of a whole client, or the object itself."""
    chat = field(client, "chat")
    if chat is None:
        return [client] if callable(field(client, "create")) else []
    completions = field(chat, "completions")
    if not callable(field(completions, "create")):
        return []
    responses = field(client, "responses")
    return [completions, responses] if callable(field(responses, "create")) else [completions]


def instrument_openai_chat_completions(client: Any, *, provider: str = "openai", handler: Any = None) -> Any:
    """Patch a client or completions resource in place and give it back."""
    del handler
    resources = _resources(client)
    if is_wanted() is not False and resources:
        use.touch()
        use.clients += 1
        for resource in resources:
            _patch_resource(resource, provider)
    return client


def _patch_resource(resource: Any, provider: str) -> None:
    for name in ("create", "parse"):
        original = field(resource, name)
        if callable(original) and not getattr(original, _MARK, False):
            object.__setattr__(resource, name, _traced(original, provider))
    held = getattr(resource, "__dict__", {})
    for view in _VIEWS:
        held.pop(view, None)


def _traced(original: Callable[..., Any], provider: str) -> Callable[..., Any]:
    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_on():
            return original(*args, **kwargs)
        invocation = Invocation(
            request_model=_given(kwargs.get("model")),
            provider=provider,
            input_messages=_asked(kwargs),
        )
        return run_llm(original, args, kwargs, invocation)

    setattr(call, _MARK, True)
    return call


def _asked(kwargs: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a chat completion, or the instructions and input of a response."""
    messages = _given(kwargs.get("messages"))
    if messages is not None:
        return input_of(messages)
    instructions = _given(kwargs.get("instructions"))
    lead = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
    return [*input_of(lead), *input_of(_given(kwargs.get("input")))]


def _given(value: Any) -> Any:
    """None for the marks that SDKs use for arguments left out."""
    return None if type(value).__name__ in ("NotGiven", "Omit") else value


def instrument_dashscope_generation_call(
    generation_cls: Any, *, provider: str = "dashscope", handler: Any = None
) -> Any:
    """Patch the classmethod ``call`` of DashScope's Generation, or of a class like it, and give the class back."""
    del handler
    if is_wanted() is False or not _has_call(generation_cls):
        return generation_cls
    use.touch()
    static = inspect.getattr_static(generation_cls, "call")
    if getattr(static, _MARK, False) or getattr(static.__func__, _MARK, False):
        return generation_cls
    is_bound = isinstance(static, classmethod)
    original = static.__func__

    @wraps(original)
    def call(cls: Any, *args: Any, **kwargs: Any) -> Any:
        bound = MethodType(original, cls) if is_bound else original
        if not is_on():
            return bound(*args, **kwargs)
        model, prompt, messages = _call_arguments(original, cls if is_bound else None, args, kwargs)
        invocation = Invocation(
            request_model=model, provider=provider, input_messages=input_of(messages if messages else prompt)
        )
        invocation.is_incremental = kwargs.get("incremental_output") is True
        return run_llm(bound, args, kwargs, invocation)

    setattr(call, _MARK, True)
    generation_cls.call = classmethod(call)
    return generation_cls


def _call_arguments(original: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """model, prompt and messages, given by place or by name."""
    try:
        lead = () if cls is None else (cls,)
        found = inspect.signature(original).bind_partial(*lead, *args, **kwargs).arguments
    except (TypeError, ValueError):
        found = kwargs
    more = found.get("kwargs") or {}
    model, prompt, messages = (
        found.get(name, kwargs.get(name, more.get(name))) for name in ("model", "prompt", "messages")
    )
    return model, prompt, messages
