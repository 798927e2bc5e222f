"""FuncManager: one processor with its parser, run the way a function server runs it."""

from __future__ import annotations

import contextvars
import inspect
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.core.functions.processors.base import AbstractProcessor
from agentic_rl_tui.core.functions.processors.enums import FunctionType
from agentic_rl_tui.core.functions.processors.loading import import_class, instantiate, split
from agentic_rl_tui.core.functions.processors.parsers import PARSERS, BaseRequestParser

if TYPE_CHECKING:
    from concurrent.futures import Executor


class FuncManager:
    """Async `setup` and `process` are awaited on the loop, sync ones run in the executor with a copied context."""

    def __init__(
        self,
        func_type: FunctionType | str,
        processor: AbstractProcessor | None,
        *,
        observe: bool = True,
        executor: Executor | None = None,
    ) -> None:
        self._func_type = FunctionType(func_type)
        self._parser = PARSERS[self._func_type]()
        self._executor = executor
        self.observe = observe
        self.register_processor(processor)

    @classmethod
    def create_from_env(cls, func_type: FunctionType | str, processor_class_path: str) -> FuncManager:
        """Import and construct the class. Raises ImportError or TypeError."""
        return cls(func_type, instantiate(import_class(*split(processor_class_path))))

    @property
    def func_type(self) -> FunctionType:
        return self._func_type

    @property
    def parser(self) -> BaseRequestParser:
        return self._parser

    @property
    def processor(self) -> AbstractProcessor:
        return self._processor

    def set_executor(self, executor: Executor | None) -> None:
        self._executor = executor

    def register_processor(self, processor: AbstractProcessor | None) -> None:
        if processor is None:
            raise ValueError("processor must not be None")
        if not isinstance(processor, AbstractProcessor):
            raise TypeError(f"processor must inherit AbstractProcessor, got {type(processor).__name__}")
        self._processor = processor

    def parses(self, raw: dict[str, Any]) -> Any:
        return self._parser.parse(raw)

    async def setups(self) -> None:
        await self._run(self._processor.setup)

    async def processes(self, input_data: Any) -> Any:
        return await self._run(self._processor.process, input_data)

    async def execute(self, raw: dict[str, Any]) -> Any:
        """Parse a request and process it."""
        return await self.processes(self.parses(raw))

    async def _run(self, method: Any, *args: Any) -> Any:
        if inspect.iscoroutinefunction(method):
            return await method(*args)
        import asyncio

        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: context.run(method, *args))
