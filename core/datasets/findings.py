"""What the scan of a range found, in a form that processes can hand over."""

from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

from agentic_rl_tui.core.datasets.measure import Spread

MAX_NAMES = 200
MAX_LONG_ROWS = 200


class Options(NamedTuple):
    """What to look for. measure_every: texts are measured in every n-th block; 1 measures all rows.

    keep: at most so many problems of each rule get a place.
    """

    keep: int = 200
    max_prompt_length: int | None = None
    measure_every: int = 1


class Findings:
    """What was found in one range. Line numbers count from 1 inside the range; `merge` moves them.

    full: rules of which earlier ranges hold enough, so that these problems are only counted.
    """

    def __init__(self, keep: int, full: Collection[str] = ()) -> None:
        self.keep = keep
        self.full = full
        self.lines = 0
        self.rows = 0
        self.counts: dict[str, int] = {}
        self.kept: dict[str, list[tuple[int, int, str, str]]] = {}
        self.turns = Spread()
        self.chars = Spread()
        self.tokens = Spread()
        self.roles: Counter[str] = Counter()
        self.keys: Counter[str] = Counter()
        self.long_count = 0
        self.long_rows: list[tuple[int, int]] = []
        self.longest = (0, 0, 0)
        """The longest line that is a row: its bytes, characters, tokens."""

    def wants(self, rule: str) -> bool:
        """Count one more problem of a rule; whether its place is wanted."""
        count = self.counts.get(rule, 0)
        self.counts[rule] = count + 1
        return count < self.keep and rule not in self.full

    def add(self, line: int, rule: str, col: int, path: str, message: str) -> None:
        if self.wants(rule):
            self.put(line, rule, col, path, message)

    def put(self, line: int, rule: str, col: int, path: str, message: str) -> None:
        self.kept.setdefault(rule, []).append((line, col, path, message))

    def merge(self, other: "Findings") -> None:
        """Append the findings of the range that follows."""
        for rule, count in other.counts.items():
            self.counts[rule] = self.counts.get(rule, 0) + count
        for rule, problems in other.kept.items():
            mine = self.kept.setdefault(rule, [])
            room = self.keep - len(mine)
            mine += [(line + self.lines, col, path, message) for line, col, path, message in problems[: max(room, 0)]]
        room = MAX_LONG_ROWS - len(self.long_rows)
        self.long_rows += [(line + self.lines, tokens) for line, tokens in other.long_rows[:room]]
        self.long_count += other.long_count
        self.lines += other.lines
        self.rows += other.rows
        for mine_spread, spread in zip(self._spreads(), other._spreads(), strict=True):
            mine_spread.merge(spread.pack())
        for names, more in ((self.roles, other.roles), (self.keys, other.keys)):
            for name, count in more.items():
                if name in names or len(names) < MAX_NAMES:
                    names[name] += count
        if other.longest[0] > self.longest[0]:
            self.longest = other.longest

    def _spreads(self) -> tuple[Spread, Spread, Spread]:
        return self.turns, self.chars, self.tokens

    def pack(self) -> tuple[Any, ...]:
        """All of it in types that marshal knows."""
        spreads = [spread.pack() for spread in self._spreads()]
        numbers = (self.lines, self.rows, self.long_count)
        return numbers, self.counts, self.kept, spreads, dict(self.roles), dict(self.keys), self.long_rows, self.longest

    @classmethod
    def unpack(cls, keep: int, packed: tuple[Any, ...]) -> "Findings":
        self = cls(keep)
        numbers, self.counts, self.kept, spreads, roles, keys, self.long_rows, self.longest = packed
        self.lines, self.rows, self.long_count = numbers
        for spread, values in zip(self._spreads(), spreads, strict=True):
            spread.merge(values)
        self.roles.update(roles)
        self.keys.update(keys)
        return self
