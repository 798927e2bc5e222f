"""What is wrong or doubtful in a workspace, with the place where a person mends it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """ERROR: the function cannot work on the service. WARNING: it may not do what its author thinks."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """path is relative to the workspace, with ``/``; line and col count from 1, 0 where there is no place in the file.

    rule is a stable id, advice one sentence that says what to do.
    """

    path: str
    line: int
    col: int
    message: str
    rule: str = ""
    severity: Severity = Severity.ERROR
    advice: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path
