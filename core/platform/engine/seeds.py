"""Random numbers that depend on where they are drawn, never on when: the order of completion changes nothing."""

import hashlib
import random


def rng(*parts: object) -> random.Random:
    """A generator of its own for one place, e.g. ``rng(seed, step, sample, rollout)``."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(digest))
