"""Where somebody was when the program ended: place, filter, order, cursor, open job. One small file a workspace."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_rl_tui.core.settings import Settings

_VERSION = 1
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class View:
    """order: a column and whether from high to low. cursor, job: ids; tab: of the open job."""

    place: str = ""
    filter: str = ""
    order: tuple[str, bool] | None = None
    cursor: str = ""
    job: str = ""
    tab: str = ""


class BrokenView(ValueError):
    """The file holds something else; it was set aside as `kept_as`."""

    def __init__(self, kept_as: Path) -> None:
        super().__init__(str(kept_as))
        self.kept_as = kept_as


def view_path(settings: "Settings") -> Path:
    from agentic_rl_tui.core.paths import state_dir

    profile = settings.profile
    place = f"{settings.workspace}\n{profile.name}\n{profile.base_url}\n{profile.workspace_id or ''}"
    return state_dir() / "views" / f"{hashlib.sha256(os.fsencode(place)).hexdigest()[:16]}.json"


def read_view(path: Path) -> View:
    """The usual view where nothing is kept. Raises BrokenView once: the broken file is moved out of the way."""
    try:
        raw = path.read_bytes()
    except OSError:
        return View()
    try:
        return _view(json.loads(raw))
    except (ValueError, KeyError, TypeError, AttributeError):
        kept_as = path.with_suffix(".broken")
        try:
            os.replace(path, kept_as)
        except OSError:
            kept_as = path
        raise BrokenView(kept_as) from None


def _view(kept: Mapping[str, Any]) -> View:
    if kept["version"] != _VERSION:
        return View()
    texts = {name: str(kept[name])[:_LONGEST] for name in ("place", "filter", "cursor", "job", "tab")}
    order = kept["order"]
    return View(**texts, order=None if order is None else (str(order[0]), bool(order[1])))


def write_view(path: Path, view: View) -> None:
    """Replace the file as a whole. Raises OSError."""
    from agentic_rl_tui.core.paths import private_dir
    from agentic_rl_tui.core.textfile import write_atomic

    private_dir(path.parent)
    if not path.exists():
        path.touch(mode=0o600)
    write_atomic(path, json.dumps({"version": _VERSION, **asdict(view)}, ensure_ascii=False).encode())
