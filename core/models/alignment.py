"""The rollouts of a group beside each other: turns that answer to each other on one line, and where they part."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_MOST_TURNS = 240
"""Longer conversations are put side by side by their numbers: comparing each with each would take too long."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; arguments as JSON with sorted keys where they are JSON, so that order and spaces do not count."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as far as two rollouts are compared by it."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()

    @property
    def kind(self) -> tuple[str, ...]:
        """What makes two turns answer to each other: who speaks, and which tools are called."""
        return (self.role, *(call.name for call in self.calls))


Slots = tuple[tuple[int | None, ...], ...]
"""For each line, the turn of each rollout that stands on it; None where a rollout has none there."""


def turns_of(record: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The turns of a stored rollout. Anything that is no message is passed over."""
    messages = record.get("messages")
    if not isinstance(messages, list):
        return ()
    return tuple(_turn(message) for message in messages if isinstance(message, Mapping))


def prompt_of(record: Mapping[str, Any]) -> str:
    """What the rollout was asked: the last thing a user said before the first answer."""
    asked = ""
    for turn in turns_of(record):
        if turn.role == "assistant":
            break
        if turn.role == "user":
            asked = turn.text
    return asked


def text_of(content: Any) -> str:
    """The text of a message's content: itself, or the text parts of a list, or what it is as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, Mapping) for part in content):
        texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
        if len(texts) == len(content):
            return "\n".join(texts)
    return json.dumps(content, ensure_ascii=False, indent=2, default=str)


def _turn(message: Mapping[str, Any]) -> Turn:
    calls = message.get("tool_calls")
    found = [_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    return Turn(str(message.get("role", "?")), text_of(message.get("content")), tuple(found))


def _call(call: Mapping[str, Any]) -> Call:
    function = call.get("function")
    place = function if isinstance(function, Mapping) else call
    arguments = place.get("arguments", "")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return Call(str(place.get("name", "?")), str(arguments))
    return Call(str(place.get("name", "?")), json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str))


def shared_prefix(rollouts: Sequence[Sequence[Turn]]) -> int:
    """How many turns all rollouts begin with alike."""
    shortest = min(map(len, rollouts), default=0)
    for place in range(shortest):
        if any(turns[place] != rollouts[0][place] for turns in rollouts):
            return place
    return shortest


def first_difference(one: Sequence[Turn], other: Sequence[Turn]) -> int | None:
    """The first turn in which two rollouts differ; None where they are the same to the end."""
    shorter = min(len(one), len(other))
    for place in range(shorter):
        if one[place] != other[place]:
            return place
    return None if len(one) == len(other) else shorter


def first_difference_in_text(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def align(rollouts: Sequence[Sequence[Turn]]) -> Slots:
    """Every turn of every rollout on a line, in order; turns that answer to each other share one.

    Who speaks must be the same on a line. The same tools called weigh most, the same words a little more.
    """
    if not rollouts:
        return ()
    begin = shared_prefix(rollouts)
    lines: list[list[int | None]] = [[place] * len(rollouts) for place in range(begin)]
    if max(map(len, rollouts)) > _MOST_TURNS:
        rest = max(map(len, rollouts)) - begin
        by_number = [[begin + k if begin + k < len(turns) else None for turns in rollouts] for k in range(rest)]
        return tuple(map(tuple, lines + _split_by_role(by_number, rollouts)))
    profile: list[list[int | None]] = []
    for number, turns in enumerate(rollouts):
        profile = _with(profile, number, rollouts, turns, begin)
    return tuple(map(tuple, lines + profile))


def _split_by_role(lines: list[list[int | None]], rollouts: Sequence[Sequence[Turn]]) -> list[list[int | None]]:
    """Lines on which more than one role stands, as one line a role."""
    out: list[list[int | None]] = []
    for line in lines:
        roles = dict.fromkeys(rollouts[n][place].role for n, place in enumerate(line) if place is not None)
        out += [
            [p if p is not None and rollouts[n][p].role == role else None for n, p in enumerate(line)] for role in roles
        ]
    return out


def _with(
    profile: list[list[int | None]],
    number: int,
    rollouts: Sequence[Sequence[Turn]],
    turns: Sequence[Turn],
    begin: int,
) -> list[list[int | None]]:
    """The lines with one rollout more, which is number `number`."""
    known = [[rollouts[n][place] for n, place in enumerate(line[:number]) if place is not None] for line in profile]
    own = turns[begin:]
    pairs = _best_pairs([({t.role for t in k}, {t.kind for t in k}, set(k)) for k in known], own)
    count = len(rollouts)
    out: list[list[int | None]] = []
    line_at = turn_at = 0
    for line, turn in [*pairs, (len(profile), len(own))]:
        out += profile[line_at:line]
        for place in range(turn_at, turn):
            fresh: list[int | None] = [None] * count
            fresh[number] = begin + place
            out.append(fresh)
        if line < len(profile):
            both = list(profile[line])
            both[number] = begin + turn
            out.append(both)
        line_at, turn_at = line + 1, turn + 1
    return out


def _best_pairs(
    lines: Sequence[tuple[set[str], set[tuple[str, ...]], set[Turn]]], turns: Sequence[Turn]
) -> list[tuple[int, int]]:
    """Which line each turn should stand on, rising in both, so that the sum of how well they fit is greatest."""
    rows, columns = len(lines), len(turns)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    kinds = [turn.kind for turn in turns]
    for row in range(rows - 1, -1, -1):
        roles, shapes, same = lines[row]
        here, below = best[row], best[row + 1]
        for column in range(columns - 1, -1, -1):
            found = max(below[column], here[column + 1])
            turn = turns[column]
            if turn.role in roles:
                fit = 1 + 3 * (kinds[column] in shapes) + (turn in same)
                found = max(found, below[column + 1] + fit)
            here[column] = found
    pairs = []
    row = column = 0
    while row < rows and column < columns:
        roles, shapes, same = lines[row]
        turn = turns[column]
        fit = 1 + 3 * (kinds[column] in shapes) + (turn in same)
        if turn.role in roles and best[row][column] == best[row + 1][column + 1] + fit:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return pairs


def differs(line: Sequence[int | None], rollouts: Sequence[Sequence[Turn]]) -> bool:
    """Whether the rollouts are not all the same on a line."""
    if None in line:
        return True
    first = rollouts[0][line[0] or 0]
    return any(turns[place or 0] != first for turns, place in zip(rollouts, line, strict=True))
