"""Texts that were typed and not saved, kept on the side so that a crash or a lost terminal does not lose them."""

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from agentic_rl_tui.core.paths import private_dir, state_dir
from agentic_rl_tui.core.textfile import write_atomic

_KEPT = 50


@dataclass(frozen=True, slots=True)
class Draft:
    """base_digest: SHA-256 of the file that was edited; saved_s: seconds since the epoch."""

    path: Path
    text: str
    base_digest: str
    saved_s: float


class Drafts:
    """One draft a file, below one directory that only its owner can read."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root if root is not None else state_dir() / "drafts"

    def _place(self, path: Path) -> Path:
        return self.root / f"{hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:32]}.json"

    def keep(self, path: Path, text: str, base_digest: str) -> None:
        """Raises OSError when the disk refuses."""
        private_dir(self.root)
        entry = {"path": str(path.absolute()), "text": text, "base": base_digest, "at": time.time()}
        place = self._place(path)
        place.touch(mode=0o600)
        write_atomic(place, json.dumps(entry).encode())
        self._forget_oldest()

    def find(self, path: Path) -> Draft | None:
        """The draft of a file; None where there is none or it cannot be read."""
        try:
            entry = json.loads(self._place(path).read_bytes())
            return Draft(Path(entry["path"]), str(entry["text"]), str(entry["base"]), float(entry["at"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def drop(self, path: Path) -> None:
        self._place(path).unlink(missing_ok=True)

    def _forget_oldest(self) -> None:
        places = sorted(self.root.glob("*.json"), key=lambda place: place.stat().st_mtime_ns, reverse=True)
        for place in places[_KEPT:]:
            place.unlink(missing_ok=True)
