"""A job given by options instead of a job file: functions with their names, weights and runtimes, and data sets."""

import argparse
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agentic_rl_tui.app.cli.components import split
from agentic_rl_tui.app.cli.run_arguments import PLURAL
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.jsonwords import in_words
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.sdk.components import (
    AgenticRLFunctionComponent,
    Dataset,
    FunctionComponentModel,
    FunctionComponentRuntime,
)

M = TypeVar("M", bound=BaseModel)


def functions_of(options: argparse.Namespace) -> list[AgenticRLFunctionComponent]:
    """The functions that the options name. Raises ConfigError that names every mistake."""
    reader = _Reader()
    made = [component for kind in FunctionKind for component in _of_kind(options, kind, reader)]
    if reader.problems:
        raise ConfigError(
            _("the functions on the command line cannot be used"),
            diagnostics=tuple(reader.problems),
            advice=_("Lists stand in the order of the functions they belong to, one value each."),
        )
    return made


def datasets_of(options: argparse.Namespace, use: str, base: Path) -> list[Dataset]:
    """The data sets of one use; names count from the workspace, then from the current directory."""
    names = [name for given in getattr(options, f"{use}_files") for name in split(given)]
    return [Dataset(type=use, file_name=_below(base, name)) for name in names]


def _below(base: Path, name: str) -> str:
    """What is sent as the file's name must not tell where the workspace lies on this machine."""
    here = Path.cwd() / name
    if (base / name).exists() and not Path(name).is_absolute():
        return name
    return os.path.relpath(here, base) if here.exists() else name


def _of_kind(options: argparse.Namespace, kind: FunctionKind, reader: "_Reader") -> list[AgenticRLFunctionComponent]:
    option = f"--{kind.value.replace('_', '-')}"
    s = PLURAL[kind]
    paths = [part for given in getattr(options, f"{kind.value}_classpaths") for part in split(given)]
    names = [part for given in getattr(options, f"{kind.value}_names") for part in split(given)]
    count = len(paths) or len(names)
    weights = reader.numbers(f"{option}-weight{s}", getattr(options, f"{kind.value}_weights"))
    runtimes = reader.objects(f"{option}-runtime{s}", getattr(options, f"{kind.value}_runtimes"))
    metrics = (
        reader.objects("--reward-metric-weights", options.reward_metric_weights) if kind is FunctionKind.REWARD else []
    )
    if kind is FunctionKind.ROLLOUT and count > 1:
        reader.problems.append(_("{count} rollouts are named; a job runs one").format(count=count))
    lists: list[tuple[str, list[Any]]] = [
        (f"{option}-weight{s}", weights), (f"{option}-runtime{s}", runtimes), ("--reward-metric-weights", metrics),
    ]  # fmt: skip
    if paths:
        lists.append((f"{option}-name{s}", names))
    for name, values in lists:
        reader.length(name, values, count, kind)
    made = []
    for place in range(count):
        label = paths[place] if paths else names[place]
        runtime = _at(runtimes, place)
        entry = {
            "type": kind,
            "name": _at(names, place) if paths else None,
            "entity_id": None if paths else label,
            "fcmodel": FunctionComponentModel(classpath=label if paths else ""),
            "weight": _at(weights, place),
            "reward_metric_weight": _at(metrics, place),
            "runtime": None
            if runtime is None
            else reader.made(f"{option}-runtime{s}", FunctionComponentRuntime, runtime),
        }
        component = reader.made(label, AgenticRLFunctionComponent, entry)
        if component is not None:
            made.append(component)
    return made


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def no_json(text: str, error: json.JSONDecodeError) -> str:
    """What is wrong with the JSON of an option, and where; the shell often ate its quotes."""
    shown = plain(text if len(text) <= 40 else f"{text[:40]}…", keep_newlines=False)
    return _("{text!r} is no JSON: {why} at character {place}. Put it in single quotes: '{{\"name\": 1}}'").format(
        text=shown, why=in_words(error.msg), place=error.pos + 1
    )


@dataclass
class _Reader:
    """Reads option values and keeps every mistake as one sentence."""

    problems: list[str] = field(default_factory=list)

    def numbers(self, option: str, given: list[str]) -> list[float]:
        numbers = []
        for text in (part for each in given for part in split(each)):
            try:
                numbers.append(float(text))
            except ValueError:
                self.problems.append(_("{option}: {text!r} is no number").format(option=option, text=text))
        return numbers

    def objects(self, option: str, text: str | None) -> list[dict[str, Any]]:
        if text is None:
            return []
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            self.problems.append(f"{option}: {no_json(text, error)}")
            return []
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in values):
            self.problems.append(_("{option} must be an object or a list of objects").format(option=option))
            return []
        return values

    def length(self, option: str, values: list[Any], count: int, kind: FunctionKind) -> None:
        if values and len(values) != count:
            self.problems.append(
                _("{option} has {found} values for {count} {kind} functions").format(
                    option=option, found=len(values), count=count, kind=kind.value.replace("_", " ")
                )
            )

    def made(self, label: str, kind: type[M], values: dict[str, Any]) -> M | None:
        try:
            return kind(**values)
        except ValidationError as error:
            for item in error.errors():
                place = ".".join(map(str, item["loc"]))
                self.problems.append(f"{label}: {place}: {item['msg']}")
            return None
