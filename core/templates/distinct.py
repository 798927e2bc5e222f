"""Made-up rows that are all different: no two of them alike or nearly so."""

import random
from collections.abc import Callable, Iterator, Sequence

_NEAR = 0.75

Made = tuple[str, str]
"""A question and its solution."""

Kind = Callable[[random.Random], Made]


def distinct(kinds: Sequence[Kind], seed: int) -> Iterator[Made]:
    """Endless (question, solution) pairs of all kinds; the same seed gives the same ones."""
    rng = random.Random(seed)
    kept: list[frozenset[tuple[str, ...]]] = []
    while True:
        question, solution = kinds[rng.randrange(len(kinds))](rng)
        words = question.split()
        shingles = frozenset(zip(words, words[1:], words[2:], strict=False))
        if any(len(shingles & other) >= _NEAR * len(shingles | other) for other in kept):
            continue
        kept.append(shingles)
        yield question, solution
