"""What this machine has registered: entities by package and class, layers by requirements."""

import json
import os
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.client.log import logger
from agentic_rl_tui.core.paths import locked, private_dir

_KEPT = 500


class Registry:
    """A small JSON file. Keys are made by the caller and hold everything that tells two entries apart.

    A file that cannot be read counts as empty: what it held can always be made again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, key: str) -> str | None:
        entry = self._load().get(key)
        value = entry.get("value") if isinstance(entry, dict) else None
        return value if isinstance(value, str) else None

    def entries(self, prefix: str) -> dict[str, tuple[str, float]]:
        """Everything whose key begins so: key without the prefix -> (value, seconds since the epoch)."""
        found = {}
        for key, entry in self._load().items():
            value = entry.get("value")
            if key.startswith(prefix) and isinstance(value, str):
                found[key.removeprefix(prefix)] = (value, float(entry.get("at", 0.0)))
        return found

    def put(self, key: str, value: str) -> None:
        """Remember; where the disk refuses, the next run does the work again, which is worth a warning only."""
        try:
            with self._locked():
                entries = self._load()
                entries[key] = {"value": value, "at": time.time()}
                if len(entries) > _KEPT:
                    newest = sorted(entries.items(), key=lambda item: -float(item[1].get("at", 0)))
                    entries = dict(newest[:_KEPT])
                self._save(entries)
        except OSError as error:
            logger.warning("%s cannot be written: %s", self.path, error.strerror or error)

    def drop(self, key: str) -> None:
        """Forget one key. Raises OSError."""
        with self._locked():
            entries = self._load()
            if entries.pop(key, None) is not None:
                self._save(entries)

    def forget(self, values: Iterable[str]) -> int:
        """Drop every entry with one of these values; how many there were. Raises OSError."""
        unwanted = set(values)
        with self._locked():
            entries = self._load()
            kept = {key: entry for key, entry in entries.items() if entry.get("value") not in unwanted}
            if len(kept) != len(entries):
                self._save(kept)
        return len(entries) - len(kept)

    def _load(self) -> dict[str, dict[str, Any]]:
        try:
            entries = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(entries, dict):
            return {}
        return {key: entry for key, entry in entries.items() if isinstance(entry, dict)}

    def _save(self, entries: dict[str, dict[str, Any]]) -> None:
        draft = self.path.with_suffix(f".{os.getpid()}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(entries, stream)
        draft.replace(self.path)

    def _locked(self) -> AbstractContextManager[None]:
        private_dir(self.path.parent)
        return locked(self.path.with_suffix(".lock"))
