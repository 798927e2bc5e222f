"""The base models that the service's pages name, and which teaches which."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A base model that the service's pages name. billions counts all parameters, None where not said."""

    name: str
    family: str
    billions: float | None
    is_moe: bool
    uses: frozenset[str]
    units: int | None = None


def _model(name: str, family: str, billions: float | None, moe: bool, uses: str, units: int | None = None) -> BaseModel:
    return BaseModel(name, family, billions, moe, frozenset(uses.split()), units)


MODELS = {
    model.name: model
    for model in (
        _model("qwen3.5-2b", "qwen3.5", 2, False, "student", 24),
        _model("qwen3.5-4b", "qwen3.5", 4, False, "student", 24),
        _model("qwen3.5-9b", "qwen3.5", 9, False, "rl student", 24),
        _model("qwen3.5-27b", "qwen3.5", 27, False, "student teacher", 24),
        _model("qwen3.5-35b-a3b", "qwen3.5", 35, True, "rl student teacher", 24),
        _model("qwen3.5-122b-a10b", "qwen3.5", 122, True, "teacher"),
        _model("qwen3.5-397b-a17b", "qwen3.5", 397, True, "teacher"),
        _model("qwen3.5-flash-2026-02-23", "qwen3.5", None, True, "rl", 72),
        _model("qwen3.6-flash-2026-04-16", "qwen3.6", None, True, "rl", 72),
    )
}

_SMALL_STUDENTS = ("qwen3.5-2b", "qwen3.5-4b", "qwen3.5-9b")
_LARGE_TEACHERS = ("qwen3.5-122b-a10b", "qwen3.5-397b-a17b")


def teachers_of(student: str) -> tuple[str, ...]:
    """The teachers that the service's pages list for a student, smallest first; empty for students not listed."""
    if student in _SMALL_STUDENTS:
        return ("qwen3.5-27b", "qwen3.5-35b-a3b", *_LARGE_TEACHERS)
    return _LARGE_TEACHERS if student in ("qwen3.5-27b", "qwen3.5-35b-a3b") else ()


_FAMILY = re.compile(r"[a-z]+[0-9]*(?:\.[0-9]+)?")
_BILLIONS = re.compile(r"-([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9])")
_EXPERTS = re.compile(r"-a[0-9]+(?:\.[0-9]+)?b(?![a-z0-9])")


def listed(name: str) -> BaseModel | None:
    """The listed model of this name, or the one that a produced model (``<base>-ft-…``) was trained from."""
    known = MODELS.get(name)
    if known is not None:
        return known
    bases = [model for base, model in MODELS.items() if name.startswith(f"{base}-ft-")]
    return max(bases, key=lambda model: len(model.name), default=None)


def family_of(name: str) -> str:
    """The family, which decides the tokenizer: ``qwen3.5`` for ``qwen3.5-9b``."""
    match = _FAMILY.match(name.lower())
    return match[0] if match else name.lower()


def billions_of(name: str) -> float | None:
    """All parameters in billions, as the name says."""
    match = _BILLIONS.search(name.lower())
    return float(match[1]) if match else None


def is_moe(name: str) -> bool:
    """Whether a model routes between experts, by the list or by its name (``-a3b``: 3 billion active)."""
    known = listed(name)
    return known.is_moe if known else bool(_EXPERTS.search(name.lower()))


def is_dense(name: str) -> bool:
    """True only for models that are known to be dense."""
    known = listed(name)
    return known is not None and not known.is_moe
