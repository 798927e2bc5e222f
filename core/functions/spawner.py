"""Starting the workers of a pool: by the keeper, or warm from a template that has the user's module imported."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable
from typing import Any

from agentic_rl_tui.core.functions.keeper import KeeperLink, KeeperProcess
from agentic_rl_tui.core.functions.output import OnOutput
from agentic_rl_tui.core.functions.spec import WorkerSpec
from agentic_rl_tui.core.functions.stacks import own_stack
from agentic_rl_tui.core.functions.workers import Worker
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import FunctionFailed

_LAST_LINES = 20
_INTERPRETER_S = 60.0
_INTERPRETER_ADVICE = N_("Install it in that environment, or let the function run with another interpreter.")


class _Died(Exception):
    """A worker died before it was ready."""

    def __init__(self, reason: str, output: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output


class Spawner:
    """Out: workers that are set up. on_free and on_end: see Worker."""

    def __init__(
        self,
        spec: WorkerSpec,
        on_output: OnOutput | None,
        on_free: Callable[[Worker], None],
        on_end: Callable[[Worker], None],
    ) -> None:
        self._spec = spec
        self._config = spec.config()
        self._on_output = on_output
        self._on_free = on_free
        self._on_end = on_end
        self._keeper = KeeperProcess(spec.python, spec.package_dir, spec.env, spec.kind.value)
        self._keeper_starts = asyncio.Lock()
        self._root: KeeperLink | None = None
        self._template: tuple[Worker, KeeperLink] | None = None
        self._slots = itertools.count(1)

    @property
    def processors(self) -> str:
        """Whose processor API the workers use: ``own`` or ``real``; empty before the first is started."""
        return self._keeper.processors

    async def stop(self) -> None:
        """End every process, whoever started it."""
        if self._template is not None:
            self._template[1].close()
            self._template = None
        await self._keeper.stop()

    async def start_worker(self) -> Worker:
        """Raises FunctionFailed when a step fails, or the worker dies in it twice."""
        for attempt in (1, 2):
            try:
                worker, message = await self._spawn("worker")
            except _Died as death:
                if attempt == 2:
                    raise self._death(death) from None
                continue
            if message["op"] == "failed":
                raise _failure(self._spec.name, message)
            worker.is_async = message["is_async"]
            return worker
        raise AssertionError("unreachable")

    async def start_template(self) -> None:
        """Have one process import the module, to fork the workers from; do without where it cannot be forked."""
        if sys.platform != "linux":
            return
        try:
            worker, message = await self._spawn("template")
        except _Died:
            return
        if message["op"] == "failed":
            raise _failure(self._spec.name, message)
        if message["forkable"]:
            link = worker.as_control()
            await link.open()
            self._template = worker, link

    async def _spawn(self, role: str) -> tuple[Worker, dict[str, Any]]:
        """A new process and its first message. Raises _Died, FunctionFailed."""
        link = await self._link()
        slot = next(self._slots)
        worker = Worker(link, slot, role, self._config, self._on_output, self._on_free, self._on_end)
        try:
            await self._forked(worker)
            async with asyncio.timeout(self._spec.setup_timeout_s):
                message = await asyncio.shield(worker.ready)
        except TimeoutError:
            where = own_stack(await worker.where(), self._config["package_dir"])
            worker.kill(_("it was not ready in time"))
            raise FunctionFailed(
                _("import and setup took longer than {limit:g} s").format(limit=self._spec.setup_timeout_s),
                kind="timeout",
                traceback=where or None,
                advice=_("Make setup faster, or raise its limit."),
            ) from None
        except asyncio.CancelledError:
            worker.kill(_("the function was stopped"))
            raise
        if message is None:
            assert worker.exit is not None
            if not link.is_open and self._keeper.failure:
                raise FunctionFailed(self._keeper.failure, kind="died", advice=_(_INTERPRETER_ADVICE))
            raise _Died(worker.exit.describe(), worker.tail.last(_LAST_LINES) or self._keeper.last_words())
        return worker, message

    async def _forked(self, worker: Worker) -> None:
        """The interpreter's own start is no part of the function's setup. Raises FunctionFailed."""
        try:
            async with asyncio.timeout(_INTERPRETER_S):
                await asyncio.shield(worker.forked)
        except TimeoutError:
            worker.kill(_("the interpreter did not start"))
            told = _("the interpreter did not start within {limit:g} s").format(limit=_INTERPRETER_S)
            raise FunctionFailed(told, kind="timeout") from None

    async def _link(self) -> KeeperLink:
        """What forks the next worker; the keeper is started again if it is gone."""
        if self._template is not None and self._template[1].is_open:
            return self._template[1]
        async with self._keeper_starts:
            if self._root is None or not self._root.is_open:
                self._template = None
                await self._keeper.stop()
                self._root = await self._keeper.start()
            return self._root

    def _death(self, death: _Died) -> FunctionFailed:
        tail = _("\nIts last output:\n{output}").format(output=death.output) if death.output else ""
        return FunctionFailed(
            _("{file} could not be started: {reason}.{tail}").format(
                file=self._spec.name, reason=death.reason, tail=tail
            ),
            kind="died",
        )


def _failure(name: str, message: dict[str, Any]) -> FunctionFailed:
    error = message["error"]
    doing = {"import": _("importing it"), "construct": _("constructing it"), "setup": _("its setup")}[message["stage"]]
    return FunctionFailed(
        _("{name} could not be started: {doing} failed with {error}: {message}").format(
            name=name, doing=doing, error=error["type"], message=error["message"]
        ),
        kind="raised",
        traceback=error["traceback"] or error["full_traceback"] or None,
    )
