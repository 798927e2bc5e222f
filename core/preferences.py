"""Writing single settings into the user's own file, with everything else in it left as it is."""

import fcntl
import os
from pathlib import Path
from typing import Any

from agentic_rl_tui.core import paths
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.textfile import write_atomic

USER_FILE = "config.toml"


def prefer(key: str, value: Any, *, path: Path | None = None) -> Path:
    """Set a dotted key (``tui.theme``) in the user's file, or take it away for None; comments and order stay.

    Raises ConfigError when the file is no TOML or the disk refuses; then it is as it was.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = path if path is not None else paths.config_dir() / USER_FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            text = path.read_text("utf-8-sig") if path.exists() else ""
            document = tomlkit.parse(text)
            _set(document, key.split("."), value)
            if not path.exists():
                path.touch(mode=0o600)
            write_atomic(path.resolve(), tomlkit.dumps(document).encode())
        finally:
            os.close(handle)
    except OSError as error:
        text = _("{path} cannot be written: {reason}").format(path=path, reason=error.strerror or error)
        raise ConfigError(text) from error
    except (TOMLKitError, UnicodeDecodeError, TypeError) as error:
        text = _("{path} is not valid TOML: {reason}").format(path=path, reason=error)
        raise ConfigError(text, advice=_("Correct the file by hand; it was not changed.")) from error
    return path


def _set(document: Any, steps: list[str], value: Any) -> None:
    import tomlkit

    table = document
    for step in steps[:-1]:
        if step not in table:
            if value is None:
                return
            table[step] = tomlkit.table()
        table = table[step]
    if value is None:
        table.pop(steps[-1], None)
    else:
        table[steps[-1]] = value
