"""What went wrong in users' functions, told once for all that went wrong alike."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agentic_rl_tui.core.platform.engine.scoring import Failure

_VARYING = re.compile(r"0x[0-9a-fA-F]+|\d+")
_MAX_MESSAGE = 2_000
_MAX_TRACEBACK_LINES = 24
_MAX_GROUPS_A_STEP = 20
_WORDS = {
    "raised": "raised",
    "timeout": "ran past its timeout",
    "died": "lost its process",
    "failed": "answered",
    "invalid_output": "gave an answer that cannot be used",
    "invalid_input": "refused its input",
    "canceled": "was cancelled",
    "unjudged": "gave no log-probabilities",
    "sub_reward": "raised inside a sub-reward, which counts as 0 by exception",
}


@dataclass(slots=True)
class _Group:
    function: str
    failure: Failure
    example: str
    count: int = 1


class FailureLog:
    """Collects failures of a step; `take` gives the text for the log, with a traceback the first time only."""

    def __init__(self) -> None:
        self._step: dict[tuple[str, ...], _Group] = {}
        self._known: dict[tuple[str, ...], int] = {}
        self.counts: dict[tuple[str, str, str], int] = {}

    def add(self, function: str, failure: Failure, example: str) -> None:
        """function names what failed in words, example the first place where it did."""
        key = (function, failure.kind, failure.error_type, _VARYING.sub("#", failure.message)[:300])
        if key in self._step:
            self._step[key].count += 1
        else:
            self._step[key] = _Group(function, failure, example)
        short = (function, failure.kind, failure.error_type)
        self.counts[short] = self.counts.get(short, 0) + 1

    def most_common(self) -> str | None:
        """The commonest failure of this step in one sentence."""
        if not self._step:
            return None
        group = max(self._step.values(), key=lambda item: item.count)
        return _sentence(group, limit=300)

    def take(self) -> list[str]:
        """Texts of the failures since the last call, commonest first; each may hold several lines."""
        groups = sorted(self._step.items(), key=lambda item: (-item[1].count, item[0]))
        texts = [self._text(key, group) for key, group in groups[:_MAX_GROUPS_A_STEP]]
        rest = sum(group.count for _, group in groups[_MAX_GROUPS_A_STEP:])
        if rest:
            texts.append(f"and {rest} more failures of {len(groups) - _MAX_GROUPS_A_STEP} other kinds")
        self._step.clear()
        return texts

    def _text(self, key: tuple[str, ...], group: _Group) -> str:
        times = "once" if group.count == 1 else f"{group.count} times"
        before = self._known.get(key, 0)
        self._known[key] = before + group.count
        text = f"{_sentence(group, limit=_MAX_MESSAGE)} ({times}, first at {group.example})"
        if before:
            return f"{text}; {before} times in earlier steps, traceback there"
        return "\n".join([text, *_frames(group.failure.traceback)])


def _sentence(group: _Group, *, limit: int) -> str:
    failure = group.failure
    message = failure.message if len(failure.message) <= limit else f"{failure.message[:limit]}… (cut)"
    what = failure.error_type if failure.error_type != failure.kind else ""
    told = ": ".join(part for part in (what, message) if part)
    return f"{group.function} {_WORDS.get(failure.kind, failure.kind)}: {told}"


def _frames(traceback: str) -> Iterable[str]:
    lines = [f"    {line}" for line in traceback.rstrip().splitlines()]
    if len(lines) <= _MAX_TRACEBACK_LINES:
        return lines
    half = _MAX_TRACEBACK_LINES // 2
    return [*lines[:half], f"    … {len(lines) - 2 * half} lines …", *lines[-half:]]
