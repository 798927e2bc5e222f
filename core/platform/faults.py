"""Faults on purpose, so that a client can be tried against a service on a bad day.

A rule reads ``KIND[@PLACE][:key=value,...]``, for example ``throttle@jobs:times=3,retry_after=1``. Rules come from
``serve --fault`` and from ``rules`` in the table ``[local.faults]``; the same seed gives the same faults.
"""

import asyncio
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agentic_rl_tui.core.models.errors import ArlError, ConfigError
from agentic_rl_tui.core.platform.guard import new_request_id, send_json
from agentic_rl_tui.core.settings import Settings

COMMON = ("times", "share", "after")
"""times: how often at most; share: in which part of the cases; after: how many cases pass first."""

KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "throttle": ("retry_after",),
        "error": ("status",),
        "slow": ("seconds",),
        "cut": (),
        "unhealthy": (),
        "layer-slow": ("seconds",),
        "layer-failed": (),
        "job-fails": ("step",),
        "log-late": ("lines",),
        "log-repeat": ("lines",),
        "quota-full": (),
    }
)
"""Each kind with the keys of its own. The first four take a place; without one they hold everywhere."""

PLACES = ("jobs", "logs", "files", "packages", "layers", "register", "load", "instances", "invoke")

_DEFAULTS = {"status": 503.0, "retry_after": 1.0, "seconds": 1.0, "step": 1.0, "lines": 1.0, "share": 1.0, "after": 0.0}
_MOST = 1e9
_BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType({"status": (400, 599), "share": (0, 1)})
_FRACTIONS = ("share", "seconds", "retry_after")
_PLACED = ("throttle", "error", "slow", "cut")
_ROUTES = (
    ("invoke", re.compile(r"/functions/")),
    ("packages", re.compile(r"/oss/|/api/v1/fine-tunes/generate/")),
    ("layers", re.compile(r"/api/v1/fine-tunes/(create/faas/layer|query/faas/layer)")),
    ("register", re.compile(r"/api/v1/fine-tunes/create/")),
    ("load", re.compile(r"/api/v1/fine-tunes/online/")),
    ("instances", re.compile(r"/api/v1/fine-tunes/(query|delete)/faas/")),
    ("logs", re.compile(r"/api/v1/fine-tunes/[^/]+/(logs|stream)")),
    ("jobs", re.compile(r"/api/v1/fine-tunes")),
    ("files", re.compile(r"/api/v1/files")),
)


@dataclass(slots=True)
class Rule:
    """One fault. seen and used count the cases that it might have struck and those that it did."""

    kind: str
    place: str | None
    values: Mapping[str, float]
    seen: int = 0
    used: int = 0

    def get(self, key: str) -> float:
        return self.values.get(key, _DEFAULTS[key])


def parse(text: str) -> Rule:
    """Read a rule. Raises ConfigError that says what may stand there."""
    head, _, tail = text.strip().partition(":")
    kind, at, place = head.partition("@")
    if kind not in KINDS:
        raise ConfigError(f"there is no fault {kind!r}", advice=f"Known are: {', '.join(KINDS)}.")
    if at and (kind not in _PLACED or place not in PLACES):
        known = f"{', '.join(_PLACED)} at {', '.join(PLACES)}"
        raise ConfigError(f"{text!r}: {kind} cannot be at {place!r}", advice=f"Possible are {known}.")
    values: dict[str, float] = {}
    for part in filter(None, tail.split(",")):
        key, _, value = part.partition("=")
        if key not in (*COMMON, *KINDS[kind]):
            known = ", ".join((*KINDS[kind], *COMMON))
            raise ConfigError(f"{text!r}: {kind} has no {key!r}", advice=f"It takes {known}.")
        if not re.fullmatch(r"\d+(\.\d+)?", value):
            raise ConfigError(f"{text!r}: {key} must be a number, not {value!r}")
        low, high = _BOUNDS.get(key, (0.0, _MOST))
        if not low <= float(value) <= high or (key not in _FRACTIONS and not float(value).is_integer()):
            kind_of = "a number" if key in _FRACTIONS else "a whole number"
            raise ConfigError(f"{text!r}: {key} must be {kind_of} from {low:g} to {high:g}, not {value}")
        values[key] = float(value)
    return Rule(kind, place or None, values)


@dataclass(slots=True)
class Faults:
    """All rules of a platform, and the one source of its chance."""

    rules: list[Rule] = field(default_factory=list)
    seed: int = 0
    _chance: random.Random = field(init=False)
    _struck: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    @classmethod
    def from_settings(cls, settings: Settings) -> "Faults":
        """The rules of ``[local.faults]``. Raises ConfigError."""
        rules = settings.get("local.faults.rules", [])
        seed = settings.get("local.faults.seed", 0)
        if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
            raise ConfigError("local.faults.rules must be a list of texts")
        if not isinstance(seed, int):
            raise ConfigError("local.faults.seed must be a whole number")
        return cls([parse(rule) for rule in rules], seed)

    def take(self, kind: str, place: str | None = None) -> Rule | None:
        """The rule that strikes now, counted as used; None where none does."""
        for rule in self.rules:
            if rule.kind != kind or rule.place not in (None, place):
                continue
            rule.seen += 1
            is_early = rule.seen <= rule.get("after")
            is_used_up = "times" in rule.values and rule.used >= rule.values["times"]
            if is_early or is_used_up or self._chance.random() >= rule.get("share"):
                continue
            rule.used += 1
            return rule
        return None

    def fail_step(self, job_id: str, step: int) -> None:
        """Fail a job, once, when it has come to the step of a rule. Raises ArlError."""
        for rule in self.rules:
            if rule.kind != "job-fails" or step < rule.get("step") or job_id in self._struck:
                continue
            self._struck.add(job_id)
            if self.take("job-fails") is not None:
                raise ArlError(f"a fault on purpose at step {step}", code="InternalError")


class FaultInjector:
    """Strikes requests and answers with the faults that concern the wire."""

    def __init__(self, app: Any, faults: Faults, *, wait_s: Callable[[float], float] = lambda seconds: seconds) -> None:
        self._app = app
        self._faults = faults
        self._wait_s = wait_s

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        place = place_of(scope["path"]) if scope["type"] == "http" else None
        if place is None:
            await self._app(scope, receive, send)
            return
        take = self._faults.take
        if (rule := take("slow", place)) is not None:
            await asyncio.sleep(self._wait_s(rule.get("seconds")))
        if (rule := take("throttle", place)) is not None:
            headers = [
                (b"retry-after", f"{self._wait_s(rule.get('retry_after')):.3f}".rstrip("0").rstrip(".").encode())
            ]
            message = "Requests rate limit exceeded, please try again later."
            await _refuse(send, 429, "Throttling.RateQuota", message, headers)
        elif (rule := take("error", place)) is not None:
            await _refuse(send, int(rule.get("status")), "InternalError", "A fault on purpose.")
        elif scope["path"].endswith("/health") and take("unhealthy") is not None:
            await send_json(send, 200, {"request_id": new_request_id(), "status": "unhealthy"})
        elif take("cut", place) is not None:
            await self._app(scope, receive, _cutting(send))
        else:
            await self._app(scope, receive, send)


class CutOff(ConnectionError):
    """The connection ends in the middle of an answer; what was asked for has been done."""


def _cutting(send: Any) -> Any:
    async def cut(message: Any) -> None:
        if message["type"] == "http.response.body":
            body = message.get("body", b"")
            await send({**message, "body": body[: len(body) // 2], "more_body": True})
            raise CutOff("an answer was cut off on purpose")
        await send(message)

    return cut


async def _refuse(send: Any, status: int, code: str, message: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    body = {"request_id": new_request_id(), "code": code, "message": message}
    await send_json(send, status, body, headers)


def place_of(path: str) -> str | None:
    """What kind of request a path belongs to; None for our own control routes, which no fault strikes."""
    return next((place for place, pattern in _ROUTES if pattern.match(path)), None)
