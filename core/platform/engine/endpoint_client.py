"""Calls of an OpenAI-compatible server with its own key: tries again what may pass, and tells faults in words."""

from typing import Any

import httpx
import orjson
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.platform.engine.options import EndpointOptions
from agentic_rl_tui.core.platform.engine.policy import ModelFault

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 20.0
_BACKOFF = wait_exponential(multiplier=0.5, max=7.0) + wait_random(0, 1)


class _Passing(ModelFault):
    """A fault that another try may not meet. retry_after_s is the server's wish."""

    def __init__(self, message: str, status: int, retry_after_s: float | None = None) -> None:
        super().__init__(message, status=status, kind="server_error" if status >= 500 else "rate_limit_error")
        self.retry_after_s = retry_after_s


class EndpointClient:
    """One server. clock_factor divides the waits between tries."""

    def __init__(
        self,
        options: EndpointOptions,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock_factor: float = 1.0,
    ) -> None:
        redact.add(options.api_key)
        self._clock_factor = clock_factor
        self._options = options
        headers = {"Authorization": f"Bearer {options.api_key}"} if options.api_key else {}
        self._client = httpx.AsyncClient(
            base_url=options.base_url.rstrip("/") + "/",
            headers=headers,
            timeout=options.timeout_s,
            limits=httpx.Limits(max_connections=options.max_connections),
            transport=transport,
        )

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer's document, which has a list of choices. Raises ModelFault."""
        retrying = AsyncRetrying(
            stop=stop_after_attempt(max(1, self._options.attempts)),
            wait=lambda state: _wait(state) / self._clock_factor,
            retry=retry_if_exception(lambda error: isinstance(error, _Passing)),
            reraise=True,
        )
        document: dict[str, Any] = await retrying(self._post, path, orjson.dumps(body))
        return document

    async def close(self) -> None:
        await self._client.aclose()

    async def _post(self, path: str, body: bytes) -> dict[str, Any]:
        try:
            response = await self._client.post(path, content=body, headers={"Content-Type": "application/json"})
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
    return _BACKOFF(state)


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
