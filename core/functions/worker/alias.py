"""Answers ``import dashscope`` with our processor API in an interpreter that lacks the vendor's package.

Only the part that function code uses is there. Every module is made when it is first imported, and every name in it
is looked up when it is first used, so that a name nobody uses costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from agentic_rl_tui.core.functions.worker.alias_names import MODULES, home_of

ROOT = "dashscope"


class _AliasModule(ModuleType):
    """A module whose names live elsewhere."""

    def __getattr__(self, name: str) -> Any:
        home = home_of(self.__name__, name)
        if home is None:
            if name.startswith("__"):
                raise AttributeError(name)
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}. This is a stand-in that holds "
                "dashscope.finetune.reinforcement only; list dashscope in requirements.txt and install it into the "
                "workspace's environment to use the rest of the SDK"
            )
        value = getattr(importlib.import_module(home), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *MODULES.get(self.__name__, ())})


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _AliasModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        names = MODULES[module.__name__]
        if names:
            module.__dict__["__all__"] = list(names)


class AliasFinder(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the protocol of finders
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname not in MODULES:
            return None
        prefix = f"{fullname}."
        is_package = any(name.startswith(prefix) for name in MODULES)
        return ModuleSpec(fullname, _Loader(), is_package=is_package, origin="agentic-rl-tui")


def install() -> None:
    """Answer for ``dashscope`` from here on, before anything on the path."""
    for name in list(_loaded()):
        del sys.modules[name]
    if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, AliasFinder())


def _loaded() -> Iterator[str]:
    return (name for name in sys.modules if name == ROOT or name.startswith(f"{ROOT}."))
