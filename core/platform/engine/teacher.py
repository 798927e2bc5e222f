"""A distillation job's teacher behind an OpenAI-compatible server: how likely it finds the policy's own words.

A chat answer has no log-probabilities of a text that is given, so the conversation goes to ``/completions`` as plain
text, which the server is asked to echo.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from agentic_rl_tui.core.platform.engine.endpoint_client import EndpointClient
from agentic_rl_tui.core.platform.engine.options import EndpointOptions
from agentic_rl_tui.core.platform.engine.policy import ModelFault
from agentic_rl_tui.core.platform.engine.wrappers import spoken

_WAYS: tuple[Mapping[str, Any], ...] = (
    {"echo": True, "logprobs": 1, "max_tokens": 0},
    {"echo": True, "logprobs": 1, "max_tokens": 1},
    {"prompt_logprobs": 0, "max_tokens": 1},
)
"""How servers are asked for the log-probabilities of a given text. Some want at least one token of their own."""
_REFUSALS = frozenset({400, 403, 404, 405, 415, 422, 501})
"""Answers that say no to a way, where others say that the server is not well."""
_PROBE = ([{"role": "user", "content": "What is 2 + 2?"}], "2 + 2 is 4")
_GIVE_UP = 5
NO_LOGPROBS = "it returns no log-probabilities of a given text"


@dataclass(frozen=True, slots=True)
class Judgement:
    """logprob: the sum over the tokens of an answer, in nats."""

    logprob: float
    tokens: int

    @property
    def mean(self) -> float:
        return self.logprob / self.tokens


def joined(judgements: Sequence[Judgement]) -> Judgement | None:
    """Several answers as one; None for none."""
    tokens = sum(item.tokens for item in judgements)
    return Judgement(math.fsum(item.logprob for item in judgements), tokens) if tokens else None


class EndpointTeacher:
    """Ask `probe` first. After a few faults in a row a step goes on without it; `begin_step` tries it again."""

    def __init__(
        self,
        options: EndpointOptions,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock_factor: float = 1.0,
    ) -> None:
        self._options = options
        self._client = EndpointClient(options, transport=transport, clock_factor=clock_factor)
        self._gate = asyncio.Semaphore(options.max_connections)
        self._way: Mapping[str, Any] | None = None
        self._faults = 0

    @property
    def title(self) -> str:
        return f"endpoint {self._options.base_url}, model {self._options.model}"

    async def probe(self) -> str | None:
        """Find out how this server gives log-probabilities; the reason in words where it does not."""
        reason = NO_LOGPROBS
        for way in _WAYS:
            try:
                found = await self._ask(way, *_PROBE)
            except ModelFault as fault:
                reason = fault.message
                if fault.status not in _REFUSALS:
                    return reason
            else:
                if found is not None:
                    self._way = way
                    return None
                reason = NO_LOGPROBS
        return reason

    def begin_step(self) -> None:
        self._faults = min(self._faults, _GIVE_UP - 1)

    async def judge(self, messages: Sequence[Mapping[str, Any]], answer: str) -> Judgement | None:
        """How likely the teacher finds an answer to messages; None for an answer without a token. Raises ModelFault."""
        if self._way is None:
            raise RuntimeError("the teacher was not probed")
        if not answer:
            return None
        async with self._gate:
            if self._faults >= _GIVE_UP:
                raise ModelFault(f"passed over after {_GIVE_UP} faults in a row", status=503, kind="server_error")
            try:
                found = await self._ask(self._way, messages, answer)
            except ModelFault:
                self._faults += 1
                raise
        self._faults = 0
        return found

    async def close(self) -> None:
        await self._client.close()

    async def _ask(
        self, way: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], answer: str
    ) -> Judgement | None:
        prompt = as_prompt(messages)
        body = {"model": self._options.model, "prompt": prompt + answer, "temperature": 0, "stream": False, **way}
        return judgement(await self._client.post("completions", body), len(prompt), len(answer))


def as_prompt(messages: Sequence[Mapping[str, Any]]) -> str:
    """A conversation as plain text, up to where the next answer begins.

    It ends in a line feed, which tokens do not reach across, so that the answer begins with a token of its own.
    """
    turns = [f"{message.get('role')}:\n{spoken(message)}\n\n" for message in messages]
    return "".join(turns) + "assistant:\n"


def judgement(document: Mapping[str, Any], prompt: int, answer: int) -> Judgement | None:
    """The log-probabilities of the answer's tokens in a completion; None where it has none.

    prompt and answer are lengths in characters. A token that lies across the border is left out.
    """
    choice = document["choices"][0] if document["choices"] else None
    if not isinstance(choice, Mapping):
        return None
    logprobs = choice.get("logprobs")
    if isinstance(logprobs, Mapping):
        found = _echoed(logprobs, prompt, prompt + answer)
    else:
        found = _of_prompt(choice.get("prompt_logprobs") or document.get("prompt_logprobs"), answer)
    if not found or not all(_is_logprob(value) for value in found):
        return None
    return Judgement(math.fsum(found), len(found))


def _is_logprob(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _echoed(logprobs: Mapping[str, Any], start: int, end: int) -> list[Any]:
    """Of an echoed text: the values whose tokens begin within start..end."""
    tokens, values, offsets = (logprobs.get(name) for name in ("tokens", "token_logprobs", "text_offset"))
    if not isinstance(tokens, list) or not isinstance(values, list):
        return []
    if not isinstance(offsets, list):
        offsets, at = [], 0
        for token in tokens:
            offsets.append(at)
            at += len(str(token))
    return [value for offset, value in zip(offsets, values, strict=False) if _is_between(offset, start, end)]


def _is_between(offset: Any, start: int, end: int) -> bool:
    return isinstance(offset, int) and start <= offset < end


def _of_prompt(entries: Any, answer: int) -> list[Any]:
    """Of log-probabilities by token id: the values of the last tokens that fit into the answer.

    Counted from the end, because the first entry is empty whatever its token was.
    """
    found: list[Any] = []
    left = answer
    for entry in reversed(entries if isinstance(entries, list) else []):
        told = next(iter(entry.values()), None) if isinstance(entry, Mapping) else None
        if not isinstance(told, Mapping):
            break
        left -= len(str(told.get("decoded_token", "")))
        if left < 0:
            break
        found.append(told.get("logprob"))
    return found
