"""Where a JSON path lies in a text that a person edits."""

import json
import re

_STEP = re.compile(r"\.([^\W\d]\w*)|\[(\d+)\]|\[(\"(?:[^\"\\]|\\.)*\")\]")
_SPACE = re.compile(r"[ \t\r\n]*")


def line_of(text: str, path: str) -> tuple[int, int, int]:
    """(line, first column, column after the last), all from 0, of the key or value that a path like ``$.a[0]`` names.

    A path that leads nowhere gives the nearest place that exists. The text must be sound JSON.
    """
    steps: list[str | int] = []
    for name, index, quoted in _STEP.findall(path):
        steps.append(int(index) if index else json.loads(quoted) if quoted else name)
    start, end = _walk(text, steps)
    line = text.count("\n", 0, start)
    column = start - (text.rfind("\n", 0, start) + 1)
    stop = text.find("\n", start)
    last = min(end, len(text) if stop < 0 else stop)
    return line, column, column + max(1, last - start)


def _walk(text: str, steps: list[str | int]) -> tuple[int, int]:
    position = _skip(text, 0)
    place = (position, position + 1)
    for step in steps:
        found = _child(text, position, step)
        if found is None:
            return place
        place, position = found
    return place


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _child(text: str, position: int, step: str | int) -> tuple[tuple[int, int], int] | None:
    """(place of the key or item, where its value begins) inside the object or array at `position`."""
    opener = text[position : position + 1]
    if opener not in ("{", "["):
        return None
    decoder = json.JSONDecoder()
    position = _skip(text, position + 1)
    number = 0
    while position < len(text) and text[position] not in "}]":
        key_start, key_end, key = position, position, number
        name: str | int = key
        if opener == "{":
            name, key_end = decoder.raw_decode(text, position)
            position = _skip(text, _skip(text, key_end) + 1)
        _, end = decoder.raw_decode(text, position)
        if name == step:
            return ((key_start, key_end) if opener == "{" else (position, end)), position
        number += 1
        position = _skip(text, end)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
    return None
