"""The files of a dump: one, or a folder in which a trainer wrote one for each step."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ENDINGS = (".jsonl", ".ndjson")
_MOST_FILES = 50_000
_STEP = re.compile(r"(?:(?:.*[-_.])?(?:step|iter|iteration|rollouts?|train|val|valid|validation|eval)[-_.]?)?(\d{1,9})")
_VALIDATION = re.compile(r"(?:val|valid|validation|eval|evaluation)(?:[-_.\d].*)?")
_INNER = re.compile(r"(?:train|training|rollouts?|generations?|samples?|(?:global_?)?step)(?:[-_.\d].*)?")


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file of rollouts. step and phase: what its place says of rows that say nothing themselves."""

    path: Path
    name: str
    step: int = 0
    phase: str = "train"

    @property
    def is_told(self) -> bool:
        """Whether its name alone says that it belongs to a dump."""
        return self.step > 0 or self.phase != "train" or self.path.stem == "0"


def files_of(path: Path) -> list[DumpFile]:
    """The file itself; of a folder its files and those of inner folders named for steps or phases. Raises OSError."""
    if not path.is_dir():
        return [DumpFile(path, path.name)]
    folder_phase = "validation" if _VALIDATION.fullmatch(path.name.lower()) else "train"
    found = [_file(Path(entry), path, folder_phase) for entry in _entries(path)]
    return sorted(found, key=lambda file: (file.step, file.name))


def is_stepwise(path: Path) -> bool:
    """Whether a folder holds files of several steps by their names; one that cannot be read does not."""
    try:
        return _is_stepwise(path, path.stat().st_mtime_ns)
    except OSError:
        return False


@lru_cache(maxsize=64)
def _is_stepwise(path: Path, _changed_ns: int) -> bool:
    """Asked at every move of a cursor: a folder is read again only when something came or went."""
    names = [entry.name for entry in os.scandir(path)]
    stems = [Path(name).stem.lower() for name in names if name.lower().endswith(ENDINGS)]
    return sum(_STEP.fullmatch(stem) is not None for stem in stems) > 1


def _entries(folder: Path) -> Iterator[str]:
    count = 0
    inner = [folder]
    for here in inner:
        with os.scandir(here) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                name = entry.name.lower()
                if entry.is_dir():
                    if here is folder and (_INNER.fullmatch(name) or _VALIDATION.fullmatch(name)):
                        inner.append(Path(entry.path))
                elif name.endswith(ENDINGS) and entry.is_file():
                    count += 1
                    if count > _MOST_FILES:
                        return
                    yield entry.path


def _file(path: Path, root: Path, folder_phase: str) -> DumpFile:
    name = path.relative_to(root)
    words = [part.lower() for part in (*name.parts[:-1], path.stem)]
    steps = [int(found[1]) for word in words if (found := _STEP.fullmatch(word)) is not None]
    is_validation = any(_VALIDATION.fullmatch(word) for word in words)
    phase = "validation" if is_validation else folder_phase
    return DumpFile(path, name.as_posix(), steps[-1] if steps else 0, phase)
