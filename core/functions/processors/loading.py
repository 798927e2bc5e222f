"""From a class's name to a running instance, with errors that name the step that failed."""

import importlib
from typing import Any

from agentic_rl_tui.core.functions.processors.base import AbstractProcessor


def split(path: str) -> tuple[str, str]:
    module, dot, name = path.rpartition(".")
    if not dot or not module or not name:
        raise ImportError(f"Invalid class path '{path}'. Expected 'module.submodule.ClassName'")
    return module, name


def import_class(module: str, name: str) -> type[Any]:
    """Import the class. Raises ImportError; what else the module raises while it is imported comes through."""
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"Module import failed: '{module}' - {error}") from error
    found = getattr(loaded, name, None)
    if not isinstance(found, type):
        raise ImportError(f"Class '{name}' not found in '{module}'")
    return found


def instantiate(cls: type[Any], base: type[Any] = AbstractProcessor) -> Any:
    """Construct a processor without arguments. Raises TypeError when it is no processor or its constructor fails."""
    path = f"{cls.__module__}.{cls.__qualname__}"
    if not issubclass(cls, base):
        parents = tuple(parent.__name__ for parent in cls.__mro__[1:])
        raise TypeError(f"Class '{path}' must inherit {base.__name__}, got: {parents}")
    try:
        return cls()
    except Exception as error:
        raise TypeError(f"Instantiation failed for '{path}': {error}") from error
