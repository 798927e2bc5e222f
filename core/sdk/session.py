"""What the calls of one client share: settings, key, the way to the service, and where this machine keeps its notes."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from agentic_rl_tui.core.paths import state_dir
from agentic_rl_tui.core.settings import Settings

if TYPE_CHECKING:
    import httpx

    from agentic_rl_tui.core.client.retry import RetryPolicy
    from agentic_rl_tui.core.client.transport import Transport
    from agentic_rl_tui.core.sdk.journal import Journal
    from agentic_rl_tui.core.sdk.origins import Origins
    from agentic_rl_tui.core.sdk.registry import Registry


class Session:
    """One profile with one key. Nothing is connected before the first request."""

    def __init__(
        self,
        settings: Settings,
        *,
        api_key: str | None = None,
        retry: "RetryPolicy | None" = None,
        http: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        self.settings = settings
        self._api_key = api_key
        self._retry = retry
        self._http = http
        self._transport: Transport | None = None

    @property
    def transport(self) -> "Transport":
        """The way to the service; made on first use."""
        if self._transport is None:
            from agentic_rl_tui.core.client.log import set_level
            from agentic_rl_tui.core.client.transport import Transport

            level = self.settings.get("log_level")
            set_level(str(level) if level is not None else None)
            start: Callable[[], Awaitable[object]] | None = self._start if self.settings.profile.is_local else None
            self._transport = Transport(
                self.settings, api_key=self._api_key, retry=self._retry, on_missing_platform=start, http=self._http
            )
        return self._transport

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()

    @asynccontextmanager
    async def scoped(self, api_key: str | None = None, workspace_id: str | None = None) -> AsyncIterator["Transport"]:
        """Our transport, or one for this call with another key or workspace."""
        if api_key is None and workspace_id is None:
            yield self.transport
            return
        settings = self.settings if workspace_id is None else with_workspace(self.settings, workspace_id)
        key = api_key if api_key is not None else self._api_key
        other = Session(settings, api_key=key, retry=self._retry, http=self._http)
        try:
            yield other.transport
        finally:
            await other.close()

    def key(self) -> str | None:
        """The key that requests carry; None where the local platform needs none. Raises NoKey."""
        secret = self.settings.api_key(self._api_key)
        return secret.reveal() if secret is not None else None

    def scope(self) -> str:
        """What tells this account on this service from every other, without the key."""
        key = self.key()
        account = hashlib.sha256(key.encode()).hexdigest()[:16] if key is not None else "-"
        profile = self.settings.profile
        place = str(profile.socket) if profile.is_local else profile.base_url
        return f"{place}|{profile.workspace_id or ''}|{account}"

    def registry(self) -> "Registry":
        """What the local platform holds goes when its state is removed, and so must our memory of it."""
        from agentic_rl_tui.core.sdk.registry import Registry

        home = self.settings.platform.root if self.settings.profile.is_local else state_dir()
        return Registry(home / "registry.json")

    def journal(self) -> "Journal":
        from agentic_rl_tui.core.sdk.journal import Journal

        return Journal(state_dir() / "submissions")

    def origins(self) -> "Origins":
        """What the jobs of this account were made of, as far as they were submitted from here."""
        from agentic_rl_tui.core.sdk.origins import Origins

        return Origins(self.scope())

    async def _start(self) -> object:
        from agentic_rl_tui.core.launch import ensure_platform

        return await ensure_platform(self.settings.platform, workspace=self.settings.workspace)


def with_workspace(settings: Settings, workspace_id: str) -> Settings:
    name = settings.profile_name
    profiles = {**settings.profiles, name: replace(settings.profile, workspace_id=workspace_id)}
    return replace(settings, profiles=profiles)
