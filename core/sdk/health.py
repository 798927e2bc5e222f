"""How a profile's service is, in one word and one sentence."""

from dataclasses import dataclass

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import AccessDenied, ArlError, AuthError, NoKey, Unreachable
from agentic_rl_tui.core.sdk.session import Session

ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Health:
    """state: ``ok``, ``stopped`` (the local platform does not run), ``unauthorized``, ``unreachable``, ``failing``."""

    state: str
    detail: str = ""
    version: str = ""

    @property
    def is_ok(self) -> bool:
        return self.state == "ok"


async def health_of(session: Session) -> Health:
    """Never starts the local platform and never raises for what it finds."""
    profile = session.settings.profile
    if profile.is_local:
        return await _local(session)
    from agentic_rl_tui.core.client.retry import RetryPolicy
    from agentic_rl_tui.core.client.transport import Request

    request = Request("GET", "/fine-tunes", query={"page_no": 1, "page_size": 1}, limit_s=ANSWER_S)
    try:
        await session.transport.call(request, retry=RetryPolicy(attempts=1))
    except (AuthError, AccessDenied, NoKey) as error:
        return Health("unauthorized", error.message)
    except Unreachable as error:
        return Health("unreachable", error.message)
    except ArlError as error:
        return Health("failing", error.message)
    return Health("ok", profile.base_url)


async def _local(session: Session) -> Health:
    from agentic_rl_tui.core.launch import platform_status

    info = await platform_status(session.settings.platform)
    if info is None:
        return Health("stopped", _("the local platform is not running; the first request starts it"))
    return Health(
        "ok", _("{running} running, {queued} queued").format(running=info.running, queued=info.queued), info.version
    )
