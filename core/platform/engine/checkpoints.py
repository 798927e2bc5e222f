"""Saved states of the practice policy: one small JSON file each, and a table that says which is best."""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.platform import crash

FOLDER, TABLE = "checkpoints", "checkpoints.json"
_OUTPUT = re.compile(r"practice-(?P<base>.+?)-(?P<job>ft-\d{12}-\w+)(?:@step-(?P<step>\d+))?")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """validation is the mean reward measured with exactly these weights, None where none was."""

    step: int
    name: str
    validation: float | None
    reward: float | None
    created_at: float
    is_kept: bool = True
    is_best: bool = False
    is_final: bool = False


class Checkpoints:
    """The checkpoints of one job. At most `limit` are kept, besides the best one."""

    def __init__(self, folder: Path, output: str, limit: int) -> None:
        self._folder = folder
        self._output = output
        self._limit = limit
        self.table: list[Checkpoint] = []

    def save(
        self,
        step: int,
        state: Mapping[str, Any],
        *,
        validation: float | None,
        reward: float | None,
        now: float,
        is_final: bool = False,
    ) -> Checkpoint:
        """Write a state and drop what is over the limit. Saving a step again replaces it."""
        places = self._folder / FOLDER
        places.mkdir(mode=0o700, parents=True, exist_ok=True)
        crash.point("checkpoint.begun")
        write_json(places / f"step-{step}.json", {"step": step, **state})
        crash.point("checkpoint.state")
        entry = Checkpoint(step, f"{self._output}@step-{step}", validation, reward, now, is_final=is_final)
        self.table = [item for item in self.table if item.step != step] + [entry]
        self._mark()
        write_json(self._folder / TABLE, {"output": self._output, "checkpoints": [asdict(item) for item in self.table]})
        return next(item for item in self.table if item.step == step)

    @property
    def best(self) -> Checkpoint | None:
        return next((item for item in self.table if item.is_best), None)

    def _mark(self) -> None:
        known = [item for item in self.table if item.validation is not None and item.is_kept]
        best = max(known, key=lambda item: (item.validation, item.step)).step if known else None
        kept = {item.step for item in [item for item in self.table if item.is_kept][-self._limit :]}
        kept |= {best} if best is not None else set()
        marked = []
        for item in self.table:
            is_kept = item.step in kept
            if not is_kept and item.is_kept:
                (self._folder / FOLDER / f"step-{item.step}.json").unlink(missing_ok=True)
            values = asdict(item) | {"is_kept": is_kept, "is_best": item.step == best}
            marked.append(Checkpoint(**values))
        self.table = marked


def output_name(model: str, job_id: str) -> str:
    """What a job's result is called; the word practice stands in front so that nobody takes it for a model."""
    match = _OUTPUT.fullmatch(model)
    return f"practice-{match['base'] if match else model}-{job_id}"


def load_start(artefacts: Path, model: str) -> dict[str, Any] | None:
    """The state that `model` names as the result of an earlier job, None where it names a base model.

    ``…@step-N`` picks a checkpoint; without it the last one is taken. Raises InputError when it is not here.
    """
    match = _OUTPUT.fullmatch(model)
    if match is None:
        return None
    folder = artefacts / match["job"]
    wanted = int(match["step"]) if match["step"] else None
    found = [item for item in read_table(folder) if item["is_kept"] and wanted in (None, item["step"])]
    if not found:
        raise InputError(
            f"model {model!r} is not on this platform",
            advice="Name the output of a finished job that was not deleted, or a base model.",
        )
    step = max(item["step"] for item in found)
    state: dict[str, Any] = orjson.loads((folder / FOLDER / f"step-{step}.json").read_bytes())
    return state


def read_table(folder: Path) -> list[dict[str, Any]]:
    """The rows of a job's checkpoint table, oldest first; empty where it saved none."""
    try:
        document = orjson.loads((folder / TABLE).read_bytes())
    except FileNotFoundError:
        return []
    rows: list[dict[str, Any]] = document["checkpoints"]
    return rows


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a file as a whole, so that a kill leaves the old or the new one."""
    raw = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str)
    draft = path.with_name(f"{path.name}.new")
    crash.torn("checkpoint.torn", draft.write_bytes, raw)
    draft.write_bytes(raw)
    crash.point("checkpoint.draft")
    os.replace(draft, path)
