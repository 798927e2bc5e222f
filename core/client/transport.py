"""One way to the service: address, key, proxies, retries, limits and errors of every request."""

import asyncio
import ipaddress
import json as jsonlib
import os
import platform
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from agentic_rl_tui.core.client import answers, failures, sender
from agentic_rl_tui.core.client.log import logger
from agentic_rl_tui.core.client.multipart import FileBody
from agentic_rl_tui.core.client.plain import through_kernel
from agentic_rl_tui.core.client.retry import RetryPolicy
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError, ConfigError, InputError, Unreachable
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.settings import Profile, Settings
from agentic_rl_tui.core.version import __version__

LOCAL_HOST = "platform.local"
CONNECT_S = 10.0
ANSWER_S = 60.0
"""Limit of an ordinary call where HTTP_REQUEST_TIMEOUT sets none."""
WORK_S = 600.0
"""Limit of a call that makes the service work: building, loading, calling a function, creating a job."""
USER_AGENT = f"agentic-rl-tui/{__version__} (python {platform.python_version()})"

_LIMITS = httpx.Limits(max_connections=32, max_keepalive_connections=8, keepalive_expiry=20.0)
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,199}")


@dataclass(frozen=True, slots=True)
class Request:
    """What to send. `target` is a path below the base URL, ``//path`` below the host, or a whole URL.

    token: None sends the profile's key, "" sends no authorisation, any other text is sent as the bearer token.
    body: a large one, read from disk while it is sent; it brings its own headers.
    """

    method: str
    target: str
    query: Mapping[str, Any] | None = None
    json: Any = None
    content: bytes | None = None
    body: FileBody | None = None
    headers: Mapping[str, str] | None = None
    token: str | None = None
    limit_s: float | None = None
    idle_s: float | None = None
    """Limit of every single read and write instead of one on the whole call: for large bodies."""


def checked_id(value: str, what: str = N_("id")) -> str:
    """An id that may stand in a path, percent-encoded. Raises InputError for anything that could leave its place."""
    text = value.strip() if isinstance(value, str) else ""
    if not _ID.fullmatch(text) or ".." in text:
        raise InputError(
            _("{value!r} is no {what}").format(value=value, what=_(what)),
            advice=_("Ids hold letters, digits, '-', '_', '.' and ':' only; copy it from a list."),
        )
    return quote(text, safe="")


class Transport:
    """Sends requests of one profile. Makes no connection before the first request; usable from one loop at a time.

    on_missing_platform starts the local platform; it is awaited once per request that finds none. http replaces the
    network in tests.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        api_key: str | None = None,
        retry: RetryPolicy | None = None,
        on_missing_platform: Callable[[], Awaitable[object]] | None = None,
        http: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self.retry = retry or RetryPolicy()
        self._api_key = api_key
        self._on_missing_platform = on_missing_platform
        self._http = http
        self._clients: dict[tuple[str, str], httpx.AsyncClient] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def profile(self) -> Profile:
        return self.settings.profile

    async def call(
        self, request: Request, *, idempotent: bool | None = None, retry: RetryPolicy | None = None
    ) -> answers.Answer:
        """Send and read a JSON answer; idempotent calls (GET, PUT and DELETE unless told otherwise) are repeated."""
        policy = self._policy(request, idempotent, retry)

        async def once() -> answers.Answer:
            return answers.read(await self._send(request))

        return await policy.run(once, notice=self._notice(request))

    async def settle(self, request: Request, *, done: type[ArlError]) -> answers.Answer | None:
        """Send something that may be repeated but succeeds only once; None where an earlier attempt had succeeded.

        `done` is what the service says to the second of two equal requests: NotFound to a delete, for one. It counts
        as success when the answer to an attempt before it was lost, and is raised otherwise.
        """
        is_lost = False

        async def once() -> answers.Answer | None:
            nonlocal is_lost
            try:
                return answers.read(await self._send(request))
            except ArlError as error:
                if is_lost and isinstance(error, done):
                    return None
                is_lost = is_lost or error.outcome_unknown
                raise

        return await self.retry.run(once, notice=self._notice(request))

    async def raw(
        self, request: Request, *, idempotent: bool | None = None, retry: RetryPolicy | None = None
    ) -> httpx.Response:
        """Send and return the read response whatever its status; only transport failures raise."""
        policy = self._policy(request, idempotent, retry)
        return await policy.run(lambda: self._send(request), notice=self._notice(request))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[httpx.Response]:
        """A response whose body is read as it comes. An error status raises the matching ArlError."""
        async with AsyncExitStack() as stack:
            response = await self._with_platform(lambda: self._open(request, stack))
            if not response.is_success:
                try:
                    await response.aread()
                except httpx.HTTPError as error:
                    raise self.translated(error, response.request, request) from error
                answers.read(response)
            yield response

    async def close(self) -> None:
        """Close every connection. The transport may be used again; it then connects anew."""
        clients, self._clients = self._clients, {}
        if self._loop is asyncio.get_running_loop():
            for client in clients.values():
                await client.aclose()

    def url(self, target: str) -> str:
        """The whole URL of a target."""
        if "://" in target:
            return target
        base = self.profile.base_url
        if target.startswith("//"):
            parts = urlsplit(base)
            return f"{parts.scheme}://{parts.netloc}{target[1:]}"
        return base + target

    def limit(self, request: Request) -> float:
        return request.limit_s if request.limit_s is not None else self.seconds("timeout_s", ANSWER_S)

    def seconds(self, key: str, default: float) -> float:
        """A limit from the settings. Raises ConfigError naming the place that set an unusable one."""
        value = self.settings.get(key)
        if value is None:
            return default
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = 0.0
        if not 0 < number < float("inf"):
            origin = self.settings.origins.get(key, "settings")
            raise ConfigError(
                _("{value!r} from {origin} is no time limit").format(value=value, origin=origin),
                advice=_("Give seconds greater than 0."),
            )
        return number

    def work_limit(self) -> float:
        return self.seconds("timeout_s", WORK_S)

    def _policy(self, request: Request, idempotent: bool | None, retry: RetryPolicy | None) -> RetryPolicy:
        safe = request.method in ("GET", "PUT", "DELETE", "HEAD") if idempotent is None else idempotent
        policy = retry or self.retry
        return policy if safe else policy.only_unsent()

    def _notice(self, request: Request) -> Callable[[ArlError, int, float], None]:
        def tell(error: ArlError, attempt: int, wait_s: float) -> None:
            what = f"{request.method} {request.target}"
            logger.info("%s failed (attempt %d): %s; next in %.1f s", what, attempt, error.message, wait_s)

        return tell

    async def _send(self, request: Request) -> httpx.Response:
        return await self._with_platform(lambda: self._exchange(request))

    async def _with_platform(self, send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        """Run `send`; where it finds no local platform, start one and run it again."""
        try:
            return await send()
        except _NoPlatform as missing:
            if self._on_missing_platform is None:
                raise missing.error from missing
        await self._on_missing_platform()
        try:
            return await send()
        except _NoPlatform as missing:
            raise missing.error from missing

    async def _exchange(self, request: Request) -> httpx.Response:
        client = self._client(self.url(request.target))
        limit_s = None if request.idle_s is not None else self.limit(request)
        body = request.body
        built = self._build(request, client)
        try:
            async with asyncio.timeout(limit_s):
                if body is None:
                    response = await client.send(built)
                elif self._http is not None:
                    response = await client.send(self._build(request, client, _read(body)))
                else:
                    response = await sender.send(self._sending(request, built, client), body)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise self._failure(error, built, request) from error
        logger.debug("%s %s -> %s", request.method, redact(str(built.url)), response.status_code)
        return response

    def _sending(self, request: Request, built: httpx.Request, client: httpx.AsyncClient) -> sender.Exchange:
        """How a large body gets there: past TLS and proxies the kernel can send the file by itself."""
        way, scheme = self._way(built.url)
        if way != "outside" and scheme == "http":
            limit_s = request.idle_s if request.idle_s is not None else self.limit(request)
            unix = self._socket if way == "unix" else None
            return through_kernel(built, idle_s=limit_s, connect_s=min(CONNECT_S, limit_s), unix=unix)
        return sender.through_httpx(
            lambda: self._connect_sync(way, scheme), lambda chunks: self._build(request, client, chunks)
        )

    async def _open(self, request: Request, stack: AsyncExitStack) -> httpx.Response:
        client = self._client(self.url(request.target))
        built = self._build(request, client)
        try:
            response = await client.send(built, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failure(error, built, request) from error
        stack.push_async_callback(response.aclose)
        return response

    def _failure(self, error: Exception, built: httpx.Request, request: Request) -> Exception:
        translated = self.translated(error, built, request)
        if isinstance(error, httpx.ConnectError) and self._is_unix(built.url):
            assert isinstance(translated, Unreachable)
            translated.advice = _("Start it with `agentic-rl-tui serve`, or see `agentic-rl-tui platform status`.")
            return _NoPlatform(translated)
        return translated

    def translated(self, error: Exception, built: httpx.Request, request: Request) -> ArlError:
        limit_s = request.idle_s if request.idle_s is not None else self.limit(request)
        is_outside = self._way(built.url)[0] == "outside"
        proxy = failures.proxy_for(built.url) if is_outside else None
        return failures.from_httpx(error, built, limit_s=limit_s, connect_s=min(CONNECT_S, limit_s), proxy=proxy)

    def _build(
        self,
        request: Request,
        client: httpx.AsyncClient,
        chunks: Iterator[bytes] | AsyncIterator[bytes] | None = None,
    ) -> httpx.Request:
        url = self.url(request.target)
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json", **(request.headers or {})}
        if request.body is not None:
            headers |= request.body.headers
        if request.token is None:
            secret = self.settings.api_key(self._api_key)
            if secret is not None:
                headers["Authorization"] = f"Bearer {secret.reveal()}"
            if self.profile.workspace_id:
                headers["X-DashScope-WorkSpace"] = self.profile.workspace_id
        elif request.token:
            redact.add(request.token)
            headers["Authorization"] = f"Bearer {request.token}"
        content: bytes | Iterator[bytes] | AsyncIterator[bytes] | None = chunks or request.content
        if request.json is not None:
            content = _encoded(request.json)
            headers["Content-Type"] = "application/json; charset=utf-8"
        limit_s = request.idle_s if request.idle_s is not None else self.limit(request)
        try:
            return client.build_request(
                request.method,
                url,
                params=dict(request.query) if request.query else None,
                headers=headers,
                content=content,
                timeout=httpx.Timeout(limit_s, connect=min(CONNECT_S, limit_s), pool=None),
            )
        except (httpx.InvalidURL, UnicodeEncodeError, ValueError) as error:
            raise InputError(
                _("the request to {url} cannot be built: {error}").format(url=redact(url), error=error)
            ) from error

    def _client(self, url: str) -> httpx.AsyncClient:
        """The client for where `url` points, kept while this loop runs."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._clients.clear()
            self._loop = loop
        way = self._way(httpx.URL(url))
        client = self._clients.get(way)
        if client is None:
            client = self._clients[way] = self._connect(*way)
        return client

    def _way(self, url: httpx.URL) -> tuple[str, str]:
        """How to get there: the local socket, loopback past every proxy, or outside; and the scheme."""
        if self._is_unix(url):
            return "unix", url.scheme
        return "direct" if is_loopback(url.host) else "outside", url.scheme

    def _connect(self, way: str, scheme: str) -> httpx.AsyncClient:
        if self._http is not None:
            return httpx.AsyncClient(transport=self._http, trust_env=False)
        if way == "unix":
            socket = httpx.AsyncHTTPTransport(uds=str(self._socket), limits=_LIMITS, verify=False, trust_env=False)
            return httpx.AsyncClient(transport=socket, trust_env=False)
        with _readable_settings():
            return httpx.AsyncClient(trust_env=way == "outside", verify=_trusted(scheme), limits=_LIMITS)

    def _connect_sync(self, way: str, scheme: str) -> httpx.Client:
        """A client for one request sent from a thread."""
        with _readable_settings():
            return httpx.Client(trust_env=way == "outside", verify=_trusted(scheme))

    @property
    def _socket(self) -> Path:
        socket = self.profile.socket
        assert socket is not None
        return socket

    def _is_unix(self, url: httpx.URL) -> bool:
        return self.profile.socket is not None and url.host == LOCAL_HOST


class _NoPlatform(Exception):
    """The local platform's socket is not there or nobody listens on it."""

    def __init__(self, error: ArlError) -> None:
        super().__init__(error.message)
        self.error = error


def _trusted(scheme: str) -> ssl.SSLContext | bool:
    """Certificates to trust: SSL_CERT_FILE and SSL_CERT_DIR where set, on loopback too."""
    if scheme == "http":
        return False  # nothing to verify, and reading certificates costs a start 20 ms
    return _context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=4)
def _context(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Read once for each setting: clients come and go within a process. Raises OSError."""
    return httpx.create_ssl_context(trust_env=True)


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _readable_settings() -> Iterator[None]:
    """Raises ConfigError for proxies and certificate files from the environment that cannot be used."""
    try:
        yield
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(
            _("no connection can be set up: {error}").format(error=redact(str(error))),
            advice=_("Check SSL_CERT_FILE, SSL_CERT_DIR, HTTPS_PROXY and HTTP_PROXY."),
        ) from error


async def _read(body: FileBody) -> AsyncIterator[bytes]:
    for chunk in body:
        yield chunk


def _encoded(value: Any) -> bytes:
    try:
        return jsonlib.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise InputError(_("the request cannot be written as JSON: {error}").format(error=error)) from error
