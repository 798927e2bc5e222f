"""The endpoint policy: another OpenAI-compatible server answers. Nothing is learned; the job is an evaluation."""

from typing import Any

import httpx

from agentic_rl_tui.core.platform.engine.endpoint_client import EndpointClient
from agentic_rl_tui.core.platform.engine.options import EndpointOptions
from agentic_rl_tui.core.platform.engine.policy import (
    Completion,
    ModelFault,
    ModelReply,
    ModelRequest,
    Place,
    ToolCall,
)
from agentic_rl_tui.core.platform.engine.practice import estimate_tokens, pieces_of

_OWN_FIELDS = frozenset({"model", "stream", "stream_options"})


class EndpointPolicy:
    """Forwards calls with the endpoint's own key and model name; the rollout's key never leaves the machine."""

    def __init__(
        self,
        options: EndpointOptions,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock_factor: float = 1.0,
    ) -> None:
        self.name = options.model
        self._client = EndpointClient(options, transport=transport, clock_factor=clock_factor)

    async def answer(self, request: ModelRequest, place: Place, call: tuple[object, ...]) -> ModelReply:  # noqa: ARG002
        body = {key: value for key, value in request.raw.items() if key not in _OWN_FIELDS}
        if not body:
            body = {"messages": request.messages}
            if request.tools:
                body["tools"] = request.tools
            if request.max_tokens is not None:
                body["max_tokens"] = request.max_tokens
        body["model"] = self.name
        body.setdefault("temperature", place.temperature)
        return _reply(await self._client.post("chat/completions", body), self.name, request)

    async def close(self) -> None:
        await self._client.close()


def _reply(document: dict[str, Any], model: str, request: ModelRequest) -> ModelReply:
    usage = document.get("usage") or {}
    completions = [_completion(choice) for choice in document["choices"] if isinstance(choice, dict)]
    if not completions:
        raise ModelFault("the endpoint's answer has no choices", status=502, kind="upstream_error")
    told = usage.get("completion_tokens")
    if isinstance(told, int):
        # The server counts over all choices; the shares follow the estimates.
        estimate = sum(completion.tokens for completion in completions) or 1
        shares = [told * completion.tokens // estimate for completion in completions]
        shares[0] += told - sum(shares)
        completions = [
            Completion(item.text, item.tool_calls, item.finish_reason, share)
            for item, share in zip(completions, shares, strict=True)
        ]
    prompt = usage.get("prompt_tokens")
    tokens = prompt if isinstance(prompt, int) else estimate_tokens(request.messages, request.tools)
    return ModelReply(tuple(completions), tokens, model)


def _completion(choice: dict[str, Any]) -> Completion:
    message = choice.get("message") or {}
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        calls.append(ToolCall(str(call.get("id")), str(function.get("name")), str(function.get("arguments") or "{}")))
    text = message.get("content")
    tokens = len(pieces_of(text or "")) + sum(len(pieces_of(call.arguments)) + 8 for call in calls)
    return Completion(text, tuple(calls), choice.get("finish_reason") or "stop", tokens)
