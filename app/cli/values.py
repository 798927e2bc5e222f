"""Types of option values that must not cost an import before there is a value."""

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from pathlib import Path


def path(text: str) -> "Path":
    from pathlib import Path

    return Path(text)
