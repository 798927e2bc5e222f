"""Telling somebody who is not looking that a job has ended or stalled: a command of theirs, a webhook.

Settings, in the user's own file only: a workspace that comes from elsewhere must not be able to start anything::

    [notify]
    command = ["notify-send", "-"]        # gets one JSON object on stdin, runs without a shell
    webhook = "https://…"                 # gets the object as JSON; DingTalk, Feishu and Slack get a text
    timeout_s = 10
"""

import asyncio
import json
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentic_rl_tui.core.folders import USER_FILE
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, ConfigError
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.paths import config_dir

if TYPE_CHECKING:
    import httpx

    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.settings import Settings

TIMEOUT_S = 10.0
LONGEST_S = 120.0
TRIES = 3
RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class Notice:
    """event: ``succeeded``, ``failed``, ``canceled``, ``stalled``. at: seconds since the epoch."""

    event: str
    job_id: str
    job_name: str
    text: str
    status: str = ""
    model: str = ""
    step: int | None = None
    total_steps: int | None = None
    reward: float | None = None
    message: str = ""
    profile: str = ""
    at: float = 0.0

    def payload(self) -> dict[str, Any]:
        """What programs get: no control characters, no secrets."""
        facts = {key: value for key, value in asdict(self).items() if value not in (None, "")}
        return {key: redact(plain(value)) if isinstance(value, str) else value for key, value in facts.items()}


def notice_of(job: "Job", event: str, text: str, *, profile: str, at: float) -> Notice:
    progress = job.progress
    return Notice(
        event,
        job.job_id,
        job.job_name or job.job_id,
        text,
        status=job.status,
        model=job.model or "",
        step=progress.step if progress else None,
        total_steps=progress.total_steps if progress else None,
        reward=progress.rewards[-1] if progress and progress.rewards else None,
        message=job.message or "",
        profile=profile,
        at=at,
    )


@dataclass(frozen=True, slots=True)
class Channels:
    """Where notices go beyond the screen."""

    command: tuple[str, ...] = ()
    webhook: str = ""
    timeout_s: float = TIMEOUT_S

    @property
    def is_empty(self) -> bool:
        return not self.command and not self.webhook


def channels_of(settings: "Settings") -> Channels:
    """Raises ConfigError for values that cannot be used. What a workspace's file says is not listened to."""

    def own(key: str) -> Any:
        is_own = settings.origins.get(key, "").startswith((str(config_dir() / USER_FILE), "environment", "flag"))
        return settings.get(key) if is_own else None

    webhook = str(own("notify.webhook") or "").strip()
    if webhook:
        if urlsplit(webhook).scheme not in ("http", "https"):
            raise ConfigError(_("notify.webhook must begin with http:// or https://"))
        redact.add(webhook)
    return Channels(_command(own("notify.command")), webhook, _timeout(own("notify.timeout_s")))


def _command(value: Any) -> tuple[str, ...]:
    if value is None or value in ("", []):
        return ()
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise ConfigError(_("notify.command cannot be read: {reason}").format(reason=error)) from error
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ConfigError(_("notify.command must be a text or a list of texts"))


def _timeout(value: Any) -> float:
    if value is None:
        return TIMEOUT_S
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return min(float(value), LONGEST_S)
    raise ConfigError(_("notify.timeout_s must be a number above 0"))


async def send(
    notice: Notice,
    channels: Channels,
    *,
    http: "httpx.AsyncBaseTransport | None" = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[tuple[str, ArlError]]:
    """Send to every channel at once; what failed, by the name of the channel. Never raises for a channel."""
    work: list[tuple[str, Awaitable[None]]] = []
    if channels.command:
        work.append(("command", run_command(channels.command, notice, timeout_s=channels.timeout_s)))
    if channels.webhook:
        work.append(("webhook", _post(channels, notice, http, sleep)))
    results = await asyncio.gather(*(task for _name, task in work), return_exceptions=True)
    failed = []
    for (name, _task), result in zip(work, results, strict=True):
        if isinstance(result, ArlError):
            failed.append((name, result))
        elif isinstance(result, BaseException):
            raise result
    return failed


async def run_command(command: Sequence[str], notice: Notice, *, timeout_s: float) -> None:
    """Run without a shell, the notice as JSON on stdin, nothing of its output on the screen. Raises ArlError."""
    name = command[0]
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArlError(
            _("notify.command {name} cannot be started: {reason}").format(name=name, reason=reason)
        ) from error
    raw = json.dumps(notice.payload(), ensure_ascii=False).encode() + b"\n"
    try:
        async with asyncio.timeout(timeout_s):
            _out, told = await process.communicate(raw)
    except TimeoutError as error:
        raise ArlError(
            _("notify.command {name} did not end within {seconds:g} s").format(name=name, seconds=timeout_s)
        ) from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            await process.wait()
    if process.returncode:
        last = plain(told.decode("utf-8", "replace")).strip().splitlines()[-1:] or [""]
        text = _("notify.command {name} ended with {code}: {said}")
        raise ArlError(text.format(name=name, code=process.returncode, said=last[0][:200]))


async def _post(
    channels: Channels,
    notice: Notice,
    http: "httpx.AsyncBaseTransport | None",
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Post, and again after a loss of the connection, a 429 or a 5xx. Raises ArlError."""
    import httpx

    body = _body(channels.webhook, notice)
    host = urlsplit(channels.webhook).hostname or ""
    reason = ""
    async with httpx.AsyncClient(transport=http, timeout=channels.timeout_s, trust_env=True) as client:
        for attempt in range(1, TRIES + 1):
            try:
                answer = await client.post(channels.webhook, json=body)
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
            else:
                if answer.is_success:
                    return
                reason = f"HTTP {answer.status_code}"
                if answer.status_code != 429 and answer.status_code < 500:
                    break
            if attempt < TRIES:
                await sleep(RETRY_S * 2 ** (attempt - 1))
    raise ArlError(_("the webhook at {host} took no notice: {reason}").format(host=host, reason=reason))


def _body(url: str, notice: Notice) -> Mapping[str, Any]:
    """Chat robots want a text in a form of their own; everybody else gets the object."""
    host = urlsplit(url).hostname or ""
    payload = notice.payload()
    text = f"{payload['job_name']}: {payload['text']}"
    if host == "oapi.dingtalk.com":
        return {"msgtype": "text", "text": {"content": text}}
    if host in ("open.feishu.cn", "open.larksuite.com"):
        return {"msg_type": "text", "content": {"text": text}}
    if host == "hooks.slack.com":
        return {"text": text}
    return payload
