"""Writing single settings into the user's own file, with everything else in it left as it is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentic_rl_tui.core import paths
from agentic_rl_tui.core.folders import USER_FILE
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.textfile import write_atomic

_MARK = b"\xef\xbb\xbf"


def prefer(key: str, value: Any, *, path: Path | None = None) -> Path:
    """Set a dotted key (``tui.theme``) in the user's file, or take it away for None; comments and order stay.

    Raises ConfigError when the file is no TOML or the disk refuses; then it is as it was.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = path if path is not None else paths.config_dir() / USER_FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with paths.locked(path.with_name(f".{path.name}.lock")):
            raw = path.read_bytes() if path.exists() else b""
            mark = _MARK if raw.startswith(_MARK) else b""
            document = tomlkit.parse(raw.removeprefix(mark).decode("utf-8"))
            _set(document, _steps(key), value)
            if not path.exists():
                path.touch(mode=0o600)
            elif key.endswith("api_key") and value is not None:
                path.chmod(0o600)
            write_atomic(path.resolve(), mark + tomlkit.dumps(document).encode())
    except OSError as error:
        text = _("{path} cannot be written: {reason}").format(path=path, reason=error.strerror or error)
        raise ConfigError(text) from error
    except (TOMLKitError, UnicodeDecodeError, TypeError) as error:
        text = _("{path} is not valid TOML: {reason}").format(path=path, reason=error)
        raise ConfigError(text, advice=_("Correct the file by hand; it was not changed.")) from error
    return path


def _steps(key: str) -> list[str]:
    """Ids of actions are names with a dot, ``keys."jobs.cancel"``; every other dot leads into a table."""
    first, _dot, rest = key.partition(".")
    return [first, rest] if first == "keys" and rest else key.split(".")


def _set(document: Any, steps: list[str], value: Any) -> None:
    import tomlkit

    table, names = _found(document, steps)
    for name in names[:-1]:
        if value is None:
            return
        table[name] = tomlkit.table()
        table = table[name]
    if value is None:
        table.pop(names[-1], None)
    else:
        table[names[-1]] = value


def _found(table: Any, steps: list[str]) -> tuple[Any, list[str]]:
    """The deepest table on the way that is there, and what is left of the way; a name may hold dots either way."""
    names = ".".join(steps).split(".")
    for length in range(len(names), 0, -1):
        name = ".".join(names[:length])
        if name not in table:
            continue
        if length == len(names):
            return table, [name]
        if isinstance(table[name], Mapping):
            rest = names[length:]
            return _found(table[name], [".".join(rest)] if length < len(names) and len(steps) == 2 else rest)
    if names[0] in table:
        raise TypeError(f"{names[0]} is no table")
    return table, steps
