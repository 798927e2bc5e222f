"""Numbers out of log lines: a Python dict, a JSON object, or ``step:3 - key:value - …`` inside any text."""

import ast
import json
import math
import re
from typing import Any

_LONGEST = 262_144
_NUMPY = re.compile(r"\bnp\.(?:float|int|uint)\d*\(([^()]*)\)|\b(?:array|tensor)\(([-+0-9.eE]+)[^()]*\)")
_NOT_FINITE = re.compile(r"(?<=[:\[,(])\s*-?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
_DASHED = re.compile(r"\bstep:\s*(\d+)\s+-\s+(.*)")
_PAIR = re.compile(r"([A-Za-z_][\w./@-]*):\s*(-?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|nan|inf))\s*(?:-\s+|$)")


def parse_metrics(line: str) -> dict[str, float] | None:
    """The numbers that a log line carries, None where it carries none.

    Nested objects become ``outer/inner``; texts, truth values and numbers that are not finite are left out. Never
    raises, never runs anything in the line.
    """
    if len(line) > _LONGEST:
        return None
    begin = line.find("{")
    end = line.rfind("}")
    if 0 <= begin < end:
        values = _read(line[begin : end + 1])
        found = _flat(values) if isinstance(values, dict) else {}
        if found:
            return found
    if "step:" in line:
        return _dashed(line)
    return None


def step_of(values: dict[str, float]) -> int | None:
    """The step that a line of metrics belongs to."""
    for name in ("step", "global_step", "training/global_step", "train/step"):
        value = values.get(name)
        if value is not None:
            return int(value)
    return None


def _read(text: str) -> Any:
    plain = _NUMPY.sub(lambda match: match[1] or match[2] or "None", text)
    try:
        return ast.literal_eval(_NOT_FINITE.sub(" None", plain))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _flat(values: dict[Any, Any], prefix: str = "", depth: int = 0) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, bool):
            continue
        if isinstance(value, int | float):
            number = _finite(value)
            if number is not None:
                found[name] = number
        elif isinstance(value, dict) and depth < 8:
            found |= _flat(value, f"{name}/", depth + 1)
    return found


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _dashed(line: str) -> dict[str, float] | None:
    match = _DASHED.search(line)
    if match is None:
        return None
    found = {"step": float(match[1])}
    for name, text in _PAIR.findall(match[2]):
        number = _finite(float(text))
        if number is not None:
            found[name] = number
    return found if len(found) > 1 else None
