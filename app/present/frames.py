"""Tracebacks of tries: a run uses a copy of the package, people know their files by the names in the workspace."""

import re

_COPY = re.compile(r'"[^"\n]*[/\\]agentic-rl-try-[^/\\"\n]+[/\\]package[/\\]')


def as_in_workspace(traceback: str) -> str:
    """The frames with the places of the files in the workspace."""
    return _COPY.sub('"', traceback)
