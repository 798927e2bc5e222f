"""Creating a job exactly once, whatever happens to the answer."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.client.jobs import Jobs
from agentic_rl_tui.core.client.retry import RetryPolicy
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, Conflict, TimedOut
from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.core.sdk.journal import Intent, Journal

LOOKS = 3
SENDS = 3


def unique_name(name: str) -> str:
    """The name with eight hex digits, by which the job is found again."""
    return f"{name}-{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class Submission:
    job: Job
    adopted: bool


class Submitter:
    """Writes the intent down, sends it, and looks the name up after every outcome that is not known."""

    def __init__(self, jobs: Jobs, journal: Journal, *, scope: str, retry: RetryPolicy) -> None:
        self._jobs = jobs
        self._journal = journal
        self._scope = scope
        self._retry = retry

    async def resume(self, fingerprint: str) -> tuple[Intent | None, Job | None]:
        """An earlier submission of the same job that was broken off, and its job where the service has it.

        The intent is held by the caller from here on: pass it to `submit`, or settle or release it.
        """
        intent = self._journal.claim(scope=self._scope, fingerprint=fingerprint)
        if intent is None:
            return None, None
        try:
            job = await self._look_up(intent)
        except BaseException:
            intent.release()
            raise
        if job is not None:
            intent.settle()
        return intent, job

    async def submit(
        self, body: Mapping[str, Any], *, fingerprint: str, intent: Intent | None = None, is_exact_name: bool = False
    ) -> Submission:
        """Create the job that `body` names. Raises the last error; where the outcome stays open, the intent stays too.

        is_exact_name: the name may have been used before; it is refused when it was.
        """
        name = str(body["job_name"])
        if intent is not None:
            name = intent.job_name
        elif is_exact_name and await self._jobs.find(name) is not None:
            raise Conflict(
                _("there is a job called {name!r} already").format(name=name), advice=_("Choose another name.")
            )
        intent = intent or self._journal.begin(name, scope=self._scope, fingerprint=fingerprint)
        try:
            return await self._send({**body, "job_name": name}, intent)
        finally:
            intent.release()

    async def _send(self, body: Mapping[str, Any], intent: Intent) -> Submission:
        for attempt in range(1, SENDS + 1):
            try:
                job = await self._jobs.create(body)
            except ArlError as error:
                if not error.outcome_unknown:
                    intent.settle()
                    raise
                found = await self._settled(intent, error, attempt)
                if found is not None:
                    intent.settle()
                    return Submission(found, adopted=True)
                if attempt == SENDS or _may_still_come(error):
                    raise _open(error, intent.job_name) from error
            else:
                intent.settle()
                return Submission(job, adopted=False)
        raise AssertionError("unreachable")

    async def _settled(self, intent: Intent, error: ArlError, attempt: int) -> Job | None:
        """Look several times: what the service took may reach its list a little later."""
        for look in range(1, LOOKS + 1):
            try:
                job = await self._look_up(intent)
            except ArlError as failure:
                raise _open(failure, intent.job_name) from error
            if job is not None:
                return job
            if look < LOOKS:
                await self._retry.sleep(self._retry.wait_s(look + attempt - 1))
        return None

    async def _look_up(self, intent: Intent) -> Job | None:
        return await self._jobs.find(intent.job_name, made_after=intent.created_at)


def _may_still_come(error: ArlError) -> bool:
    """The service may still be working on the request, so that sending it again could make a second job."""
    return isinstance(error, TimedOut) or error.status in (408, 504)


def _open(error: ArlError, name: str) -> ArlError:
    """The same error with the one thing to do about it."""
    error.advice = (
        _(
            "Whether {name} was created is not known. Submit the same job again: it is looked up by its name and "
            "adopted if it exists."
        ).format(name=name)
        + f" {error.advice}"
    ).strip()
    error.outcome_unknown = True
    return error
