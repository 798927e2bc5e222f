"""What is known of a processor class without importing it, and the ways to name one."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.kinds import FunctionKind


@dataclass(frozen=True, slots=True)
class SubReward:
    """A method decorated with ``@sub_reward_func``. weight is None where the source does not spell it as a number."""

    name: str
    method: str
    weight: float | None
    is_async: bool
    line: int


@dataclass(frozen=True, slots=True)
class ProcessorInfo:
    """A processor class found in a workspace. path is relative to the workspace, with ``/``; lines count from 1."""

    kind: FunctionKind
    class_name: str
    path: str
    line: int
    is_async: bool = False
    has_setup: bool = False
    docstring: str | None = None
    sub_rewards: tuple[SubReward, ...] = ()
    has_aggregate: bool = False
    is_abstract: bool = False

    @property
    def classpath(self) -> "ClassPath":
        return ClassPath(self.path, self.class_name)


class BadClassPath(ValueError):
    """A text that names no class in any of the three forms."""


_NAME = r"[^\W\d]\w*"
_DOTTED = re.compile(rf"{_NAME}(\.{_NAME})*")


@dataclass(frozen=True, slots=True)
class ClassPath:
    """A class by file and name. path is relative to the package root and ends in ``.py``."""

    path: str
    class_name: str
    text: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: str) -> "ClassPath":
        """Read ``pkg.mod.Class``, ``pkg.mod:Class`` or ``path/file.py:Class`` (``.py`` optional before the colon).

        Raises BadClassPath with a sentence that says which form was expected.
        """
        forms = _("expected pkg.module.Class, pkg.module:Class or path/file.py:Class")
        stripped = text.strip()
        place, colon, name = stripped.rpartition(":")
        if not colon:
            if "/" in stripped or stripped.endswith(".py"):
                raise BadClassPath(_("{text!r} names a file but no class; {forms}").format(text=text, forms=forms))
            place, dot, name = stripped.rpartition(".")
            if not dot or not _DOTTED.fullmatch(place):
                raise BadClassPath(_("{text!r} names no module; {forms}").format(text=text, forms=forms))
            path = place.replace(".", "/") + ".py"
        elif "/" in place or place.endswith(".py"):
            path = place if place.endswith(".py") else place + ".py"
        elif _DOTTED.fullmatch(place):
            path = place.replace(".", "/") + ".py"
        else:
            raise BadClassPath(_("{text!r} names no module; {forms}").format(text=text, forms=forms))
        if not re.fullmatch(_NAME, name):
            raise BadClassPath(_("{name!r} is no class name; {forms}").format(name=name, forms=forms))
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts:
            raise BadClassPath(_("{text!r} leaves the workspace; name a file inside it").format(text=text))
        return cls(str(pure), name, stripped)

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".")

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.class_name}"

    @property
    def colon(self) -> str:
        return f"{self.path}:{self.class_name}"
