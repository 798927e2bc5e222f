"""Jobs and log lines of quick answers, as the models of the whole client would write them; None where unsure.

The order of fields is the models' own; a test holds the two to each other.
"""

from agentic_rl_tui.core.client import quick

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

TEXTS = "text"
FIELDS = {
    "job_id": TEXTS, "job_name": TEXTS, "status": "status", "model": TEXTS, "base_model": TEXTS,
    "finetuned_output": TEXTS, "training_file_ids": "ids", "validation_file_ids": "ids", "hyper_parameters": "object",
    "training_type": TEXTS, "teacher_model": TEXTS, "create_time": TEXTS, "end_time": TEXTS, "creator": TEXTS,
    "user_identity": TEXTS, "modifier": TEXTS, "group": TEXTS, "workspace_id": TEXTS, "usage": "any", "code": TEXTS,
    "message": TEXTS, "progress": "progress",
}  # fmt: skip
PROGRESS = {
    "phase": str, "step": int, "total_steps": int, "rewards": list, "validation": float, "policy": str,
}  # fmt: skip
_PROGRESS_DEFAULTS: "dict[str, Any]" = {"phase": "", "step": 0, "rewards": []}


class Unsure(ValueError):
    """A value that only the models know how to take."""


def job(to: quick.Address, job_id: str) -> "dict[str, Any] | None":
    if not quick.is_plain_id(job_id):
        return None
    output = quick.ask(to, f"/fine-tunes/{job_id}")
    try:
        return None if output is None else job_data({"job_id": job_id, **output})
    except Unsure:
        return None


def jobs(to: quick.Address, page_no: int, page_size: int) -> "dict[str, Any] | None":
    """``jobs``, ``page_no``, ``page_size`` and ``total``."""
    if page_no < 1 or not 1 <= page_size <= 100:
        return None
    asked = {"page_no": page_no, "page_size": page_size}
    output = quick.ask(to, "/fine-tunes" + quick.query(asked))
    if output is None:
        return None
    numbers = {**asked, "total": 0} | {name: output[name] for name in (*asked, "total") if name in output}
    rows = output.get("jobs")
    if not isinstance(rows, list) or any(type(number) is not int for number in numbers.values()):
        return None
    try:
        return {"jobs": [job_data(row) for row in rows if isinstance(row, dict) and row.get("job_id")], **numbers}
    except Unsure:
        return None


def lines(to: quick.Address, job_id: str, offset: int, count: int) -> "tuple[list[str], int] | None":
    """Lines of a log and how many there are in all."""
    if not quick.is_plain_id(job_id):
        return None
    output = quick.ask(to, f"/fine-tunes/{job_id}/logs" + quick.query({"offset": offset, "line": count}))
    logs, total = (output or {}).get("logs"), (output or {}).get("total")
    if not isinstance(logs, list) or type(total) is not int or any(type(line) is not str for line in logs):
        return None
    return logs, total


def job_data(raw: "dict[str, Any]") -> "dict[str, Any]":
    """Known fields in their order, then the others as they came; fields without a value are left out.

    Raises Unsure.
    """
    known = {name: _value(kind, raw.get(name)) for name, kind in FIELDS.items()}
    others = {name: value for name, value in raw.items() if name not in FIELDS}
    return {name: value for name, value in {**known, **others}.items() if value is not None}


def _value(kind: str, value: "Any") -> "Any":
    if kind == "any":
        return value
    if kind == TEXTS and type(value) in (int, float, bool):
        return str(value)
    if kind == TEXTS and (value is None or type(value) is str):
        return value
    if kind == "status" and (value is None or type(value) is str):
        return "UNKNOWN" if value is None else value
    if kind == "object" and (value is None or type(value) is dict):
        return value or {}
    if kind == "ids" and (value is None or (type(value) is list and all(type(part) in _ID_TYPES for part in value))):
        return value or []
    if kind == "progress" and (value is None or type(value) is dict):
        return None if value is None else _progress(value)
    raise Unsure(kind)


_ID_TYPES = (str, type(None))


def _progress(raw: "dict[str, Any]") -> "dict[str, Any]":
    shown = {}
    for name, kind in PROGRESS.items():
        value = raw.get(name, _PROGRESS_DEFAULTS.get(name))
        if value is None and name not in _PROGRESS_DEFAULTS:
            continue
        if kind is list:
            value = [_number(part) for part in value] if type(value) is list else _unsure(name)
        elif kind is float:
            value = _number(value)
        elif type(value) is not kind:
            _unsure(name)
        shown[name] = value
    others = {name: value for name, value in raw.items() if name not in PROGRESS and value is not None}
    return {**shown, **others}


def _number(value: "Any") -> float:
    return float(value) if type(value) in (int, float) else _unsure("number")


def _unsure(what: str) -> "Any":
    raise Unsure(what)
