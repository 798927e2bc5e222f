"""The endpoint policy: another OpenAI-compatible server answers. Nothing is learned; the job is an evaluation."""

from typing import Any

import httpx
import orjson
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from agentic_rl_tui.core.models.redact import redact
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

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 20.0
_OWN_FIELDS = frozenset({"model", "stream", "stream_options"})


class _Passing(ModelFault):
    """A fault that another try may not meet. retry_after_s is the server's wish."""

    def __init__(self, message: str, status: int, retry_after_s: float | None = None) -> None:
        super().__init__(message, status=status, kind="server_error" if status >= 500 else "rate_limit_error")
        self.retry_after_s = retry_after_s


class EndpointPolicy:
    """Forwards calls with the endpoint's own key and model name; the rollout's key never leaves the machine."""

    def __init__(
        self,
        options: EndpointOptions,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock_factor: float = 1.0,
    ) -> None:
        self._clock_factor = clock_factor
        redact.add(options.api_key)
        self.name = options.model
        self._options = options
        headers = {"Authorization": f"Bearer {options.api_key}"} if options.api_key else {}
        self._client = httpx.AsyncClient(
            base_url=options.base_url.rstrip("/") + "/",
            headers=headers,
            timeout=options.timeout_s,
            limits=httpx.Limits(max_connections=options.max_connections),
            transport=transport,
        )

    async def answer(self, request: ModelRequest, place: Place, call: tuple[object, ...]) -> ModelReply:  # noqa: ARG002
        body = {key: value for key, value in request.raw.items() if key not in _OWN_FIELDS}
        if not body:
            body = {"messages": request.messages}
            if request.tools:
                body["tools"] = request.tools
            if request.max_tokens is not None:
                body["max_tokens"] = request.max_tokens
        body["model"] = self._options.model
        body.setdefault("temperature", place.temperature)
        retrying = AsyncRetrying(
            stop=stop_after_attempt(max(1, self._options.attempts)),
            wait=lambda state: _wait(state) / self._clock_factor,
            retry=retry_if_exception(lambda error: isinstance(error, _Passing)),
            reraise=True,
        )
        document: dict[str, Any] = await retrying(self._post, orjson.dumps(body))
        return _reply(document, self._options.model, request)

    async def close(self) -> None:
        await self._client.aclose()

    async def _post(self, body: bytes) -> dict[str, Any]:
        try:
            response = await self._client.post(
                "chat/completions", content=body, headers={"Content-Type": "application/json"}
            )
        except httpx.TimeoutException:
            limit = self._options.timeout_s
            raise _Passing(f"the endpoint did not answer within {limit:g} s", 504) from None
        except httpx.HTTPError as error:
            raise _Passing(redact(f"the endpoint cannot be reached: {error}"), 502) from error
        if response.status_code in _RETRIED:
            raise _Passing(_told(response), response.status_code, _retry_after(response))
        if response.status_code != 200:
            raise ModelFault(_told(response), status=response.status_code, kind="upstream_error")
        try:
            document = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            raise _Passing("the endpoint's answer is no JSON", 502) from None
        if not isinstance(document, dict) or not isinstance(document.get("choices"), list):
            raise ModelFault("the endpoint's answer has no choices", status=502, kind="upstream_error")
        return document


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, _Passing) and error.retry_after_s is not None:
        return min(error.retry_after_s, _LONGEST_WAIT_S)
    return wait_exponential_jitter(initial=0.5, max=8.0)(state)


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def _told(response: httpx.Response) -> str:
    try:
        document = orjson.loads(response.content)
        message = document["error"]["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = response.text[:300]
    return redact(f"the endpoint answered HTTP {response.status_code}: {message}")


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
