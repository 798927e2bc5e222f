"""The platform as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from agentic_rl_tui.core.platform import wire
from agentic_rl_tui.core.platform.faults import FaultInjector
from agentic_rl_tui.core.platform.guard import TokenGuard
from agentic_rl_tui.core.platform.options import PlatformOptions
from agentic_rl_tui.core.platform.routes import files, functions, jobs, local, traces, trigger
from agentic_rl_tui.core.platform.service import Platform


class RequestIds:
    """Gives every answer the header ``x-request-id``, with the id that its body carries."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A state of its own for each request: servers share one between requests.
        scope["state"] = dict(scope.get("state") or {})

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-request-id"] = wire.request_id(Request(scope))
            await send(message)

        await self._app(scope, receive, send_with_id)


class Split:
    """Hands calls of functions to an application of their own, all else to the other."""

    def __init__(self, app: ASGIApp, functions: ASGIApp) -> None:
        self._app = app
        self._functions = functions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_call = scope["type"] == "http" and scope["path"].startswith(trigger.PREFIX)
        await (self._functions if is_call else self._app)(scope, receive, send)


def make_app(platform: Platform) -> ASGIApp:
    """The routes of a platform that somebody else starts and stops."""
    app = _starlette()
    app.state.platform = platform
    return _with_faults(app, platform.options)


def build_app(root: Path, *, token: str | None = None, **settings: Any) -> ASGIApp:
    """An application that starts a platform on `root` with its lifespan. settings are those of `Platform`."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        platform = Platform(root, **settings)
        app.state.platform = platform
        await platform.start()
        try:
            yield
        finally:
            await platform.stop()

    options = settings.get("options") or PlatformOptions()
    app = _with_faults(_starlette(lifespan), options)
    return app if token is None else TokenGuard(app, token)


@asynccontextmanager
async def running_app(root: Path, *, token: str | None = None, **settings: Any) -> AsyncIterator[ASGIApp]:
    """A started platform's application, for ``httpx.ASGITransport``, which runs no lifespan."""
    platform = Platform(root, **settings)
    await platform.start()
    try:
        app = make_app(platform)
        yield app if token is None else TokenGuard(app, token)
    finally:
        await platform.stop()


def _with_faults(app: Starlette, options: PlatformOptions) -> ASGIApp:
    # uvicorn and starlette call the same things by different types.
    behind_proxies: Any = ProxyHeadersMiddleware
    whole = Split(behind_proxies(RequestIds(app)), trigger.TriggerApp(lambda: app.state.platform))
    return FaultInjector(whole, options.faults, wait_s=options.wait_s) if options.faults.rules else whole


def _starlette(lifespan: Any = None) -> Starlette:
    app = Starlette(
        routes=[*functions.routes, *files.routes, *jobs.routes, *local.routes, *traces.routes],
        exception_handlers={HTTPException: wire.http_exception},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app
