"""The platform as a process: sockets, signals, its own log."""

import asyncio
import contextlib
import gc
import importlib
import json
import logging
import logging.handlers
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from typing import TYPE_CHECKING, Any

import uvicorn
import uvloop

from agentic_rl_tui.core.functions.http_protocol import JoinedHttp
from agentic_rl_tui.core.models.errors import ArlError, PlatformError
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.paths import PlatformPaths
from agentic_rl_tui.core.platform import lock
from agentic_rl_tui.core.platform.guard import TokenGuard, new_request_id, send_json
from agentic_rl_tui.core.platform.health import Identity, health
from agentic_rl_tui.core.platform.options import Listening, PlatformOptions
from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.settings import Settings

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform

_log = logging.getLogger(__name__)

_LOG_BYTES = 2 << 20
_LOG_FILES = 3
_GRACE_S = 3
_KEEP_ALIVE_S = 75
"""Longer than clients keep an idle connection, so that it is never us who closes one just as it is used again."""

AsgiApp = Callable[
    [MutableMapping[str, Any], Callable[..., Awaitable[Any]], Callable[..., Awaitable[Any]]], Awaitable[None]
]


class EnvelopeHttp(JoinedHttp):
    """The protocol of HTTP, whose own refusals have the service's error body too."""

    def send_400_response(self, msg: str) -> None:
        request_id = new_request_id()
        body = json.dumps({"request_id": request_id, "code": "InvalidParameter", "message": msg}).encode()
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


class Server(uvicorn.Server):
    """A uvicorn server among several of one loop: signals are handled once for all, and it sleeps until told to end."""

    def __init__(self, app: AsgiApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                http=EnvelopeHttp,
                proxy_headers=False,
                ws="none",
                interface="asgi3",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._end = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._end.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._end.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class Doors:
    """Servers that run in the background until closed."""

    def __init__(self) -> None:
        self._servers: list[tuple[Server, asyncio.Task[None]]] = []

    def open(self, app: AsgiApp, listener: socket.socket) -> None:
        server = Server(app)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        task.add_done_callback(_told_when_broken)
        self._servers.append((server, task))

    async def close(self) -> None:
        """Stop listening, give requests under way a few seconds, then end them."""
        for server, _ in self._servers:
            server.end()
        await asyncio.gather(*(task for _, task in self._servers), return_exceptions=True)


def _told_when_broken(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("a server ended", exc_info=error)


class Front:
    """Answers health from the first moment and hands all other requests to the application once it is there."""

    def __init__(self, database: Database, identity: Identity) -> None:
        self._database = database
        self._identity = identity
        self._app: asyncio.Future[AsgiApp] = asyncio.get_running_loop().create_future()

    def ready(self, app: AsgiApp) -> None:
        self._app.set_result(app)

    def failed(self) -> None:
        if not self._app.done():
            self._app.cancel()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self._app.done() and scope["type"] == "http" and scope["path"] == "/local/v1/health":
            await send_json(send, 200, {"request_id": new_request_id(), **health(self._database, self._identity)})
            return
        app = self._app.result() if self._app.done() else await asyncio.shield(self._app)
        await app(scope, receive, send)


def run(
    paths: PlatformPaths,
    settings: Settings,
    listening: Listening | None,
    on_ready: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Run a platform until it is told to stop. Raises AlreadyRunning, PlatformError, ConfigError.

    on_ready gets what the platform writes of itself, once its sockets are bound.

    SIGTERM and SIGINT end it in good order, a second one at once; SIGHUP is ignored, since a platform outlives the
    terminal that it was started from.
    """
    options = PlatformOptions.from_settings(settings)
    os.umask(0o077)
    held = lock.InstanceLock(paths)
    try:
        _set_up_logging(paths)
        database = Database(paths.database)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(paths, options, settings, listening, database, on_ready))
    except Exception as error:
        _log.error("%s", error, exc_info=not isinstance(error, ArlError))
        raise
    finally:
        held.release()


async def _serve(
    paths: PlatformPaths,
    options: PlatformOptions,
    settings: Settings,
    listening: Listening | None,
    database: Database,
    on_ready: Callable[[dict[str, Any]], None] | None,
) -> None:
    stop = asyncio.Event()
    _handle_signals(asyncio.get_running_loop(), stop)
    gateway_socket = lock.bind_tcp("127.0.0.1", 0)
    identity = Identity(paths.root, f"http://127.0.0.1:{gateway_socket.getsockname()[1]}/v1")
    front = Front(database, identity)
    doors = Doors()
    state = identity.state()
    if listening is not None:
        tcp = lock.bind_tcp(listening.host, listening.port)
        state["url"] = f"http://{_host_text(listening.host)}:{tcp.getsockname()[1]}/api/v1"
        doors.open(TokenGuard(front, listening.token), tcp)
    doors.open(front, lock.bind_unix(paths))
    lock.write_state(paths, state)
    if on_ready is not None:
        on_ready(state)
    _say(f"listening at {paths.socket}" + (f" and {state['url']}" if listening else ""))
    platform: Platform | None = None
    gateway = Doors()
    try:
        platform = await _load(paths, options, settings, identity, database, stop)
        if platform.gateway_app is not None:
            gateway.open(platform.gateway_app, gateway_socket)
        await platform.start()
        front.ready(_make_app(platform))
        _log.info("ready")
        await stop.wait()
    finally:
        _log.info("stopping")
        front.failed()
        paths.socket.unlink(missing_ok=True)
        if platform is not None:
            platform.begin_stop()
        await doors.close()
        if platform is not None:
            await platform.stop()
        await gateway.close()
        gateway_socket.close()
        paths.pid_file.unlink(missing_ok=True)
        _log.info("stopped")


async def _load(
    paths: PlatformPaths,
    options: PlatformOptions,
    settings: Settings,
    identity: Identity,
    database: Database,
    stop: asyncio.Event,
) -> "Platform":
    """Import the rest in a thread, so that health is answered meanwhile, and put the platform together."""
    await asyncio.to_thread(_import_the_rest)
    from agentic_rl_tui.core.platform.engine import EngineOptions, endpoint_from_settings, teacher_from_settings
    from agentic_rl_tui.core.platform.service import Platform

    return Platform(
        paths.root,
        options=options,
        engine_options=EngineOptions(
            endpoint=endpoint_from_settings(settings),
            teacher=teacher_from_settings(settings),
            clock_factor=options.clock_factor,
        ),
        database=database,
        identity=identity,
        on_stop_request=stop.set,
    )


def _import_the_rest() -> None:
    importlib.import_module("agentic_rl_tui.core.platform.app")
    calm_the_collector()


def calm_the_collector() -> None:
    """Keep the garbage collector's pauses off the event loop.

    A step of some thousand rollouts holds many objects that go without its help. With the usual thresholds it looks at
    all of them and at every module again and again, a tenth of a second at a time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _make_app(platform: "Platform") -> AsgiApp:
    from agentic_rl_tui.core.platform.app import make_app

    return make_app(platform)


def _handle_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def end() -> None:
        if stop.is_set():
            os._exit(1)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)


def _host_text(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _say(text: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"agentic-rl-tui platform: {text}", file=sys.stderr, flush=True)


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def _set_up_logging(paths: PlatformPaths) -> None:
    """Our own log, rotated, with secrets masked in whatever is written, tracebacks included."""
    try:
        handler = logging.handlers.RotatingFileHandler(
            paths.own_log, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8"
        )
    except OSError as error:
        raise PlatformError(f"{paths.own_log} cannot be written: {error.strerror}") from error
    handler.setFormatter(_Redacting("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # A full disk must not make every log line a complaint about itself.
    logging.raiseExceptions = False
    root.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
