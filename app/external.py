"""The user's own editor in the place of ours."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError

if TYPE_CHECKING:
    from agentic_rl_tui.app.tui import ArlApp

_USUAL = ("nano", "vim", "vi")
_TAKE_A_LINE = frozenset({"vi", "vim", "nvim", "nano", "emacs", "kak", "micro", "joe", "ne", "pico"})


def command(path: Path, line: int = 0) -> list[str]:
    """The editor's command line. Raises InputError when there is no editor."""
    wish = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    words = shlex.split(wish) if wish.strip() else []
    if not words:
        found = next((name for name in _USUAL if shutil.which(name)), None)
        if found is None:
            raise InputError(_("no editor is known"), advice=_("Set the environment variable EDITOR."))
        words = [found]
    place = [f"+{line}"] if line and Path(words[0]).name in _TAKE_A_LINE else []
    return [*words, *place, str(path)]


def edit_outside(app: "ArlApp", path: Path, line: int = 0) -> bool:
    """Suspend the app and edit a file; False where that was not possible, which the user is told."""
    try:
        words = command(path, line)
        with app.suspend():
            done = subprocess.run(words, check=False)
    except SuspendNotSupported:
        app.refuse(_("This terminal cannot be handed to another program"))
        return False
    except InputError as error:
        app.fail(error, _("edit {name}").format(name=path.name))
        return False
    except OSError as error:
        reason = _("{name} cannot be started: {reason}").format(name=words[0], reason=error.strerror or error)
        app.fail(
            InputError(reason, advice=_("Set the environment variable EDITOR.")),
            _("edit {name}").format(name=path.name),
        )
        return False
    if done.returncode:
        app.warn(_("The editor ended with code {code}").format(code=done.returncode))
    return True
