"""Exceptions of user code as something that can be sent and shown."""

from __future__ import annotations

import os
import traceback

_RUNTIME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIMIT_CHARS = 64 * 1024


def describe(error: BaseException, package_dir: str) -> dict[str, str]:
    """Type, message, the traceback cut to files of the package, and the whole one."""
    try:
        message = str(error)
    except Exception as broken:
        message = f"<{type(broken).__name__} while the message was made>"
    try:
        whole = traceback.TracebackException.from_exception(error)
        full = _text(whole)
        _cut(whole, package_dir)
        own = _text(whole)
    except Exception as broken:
        full = own = f"the traceback cannot be shown: {type(broken).__name__}: {broken}"
    message = message[:_LIMIT_CHARS]
    return {"type": type(error).__name__, "message": message, "traceback": own, "full_traceback": full}


def problem(kind: str, message: str) -> dict[str, str]:
    """A fault that is no exception of user code."""
    return {"type": kind, "message": message, "traceback": "", "full_traceback": ""}


def _text(error: traceback.TracebackException) -> str:
    text = "".join(error.format())
    if len(text) > _LIMIT_CHARS:
        half = _LIMIT_CHARS // 2
        text = f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
    return text


def _cut(error: traceback.TracebackException | None, package_dir: str, seen: set[int] | None = None) -> None:
    """Drop the frames outside the package, in causes too. Without one inside, only the runtime's own frames go."""
    seen = set() if seen is None else seen
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.stack = traceback.StackSummary.from_list(_own(error.stack, package_dir) or _foreign(error.stack))
    for other in (error.__cause__, error.__context__, *(getattr(error, "exceptions", None) or ())):
        _cut(other, package_dir, seen)


def _own(stack: traceback.StackSummary, package_dir: str) -> list[traceback.FrameSummary]:
    inside = os.path.join(package_dir, "")
    libraries = ("/site-packages/", "/dist-packages/")
    return [
        frame
        for frame in stack
        if frame.filename.startswith(inside) and not any(x in frame.filename for x in libraries)
    ]


def _foreign(stack: traceback.StackSummary) -> list[traceback.FrameSummary]:
    return [frame for frame in stack if not frame.filename.startswith(_RUNTIME)]
