"""Test inputs: an object, JSON text, or a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.jsonwords import in_words


def read_input(given: Mapping[str, Any] | str | Path, *, base: Path) -> dict[str, Any]:
    """The object that `given` is, spells, or names. Raises InputError with the place of a mistake in the JSON."""
    if isinstance(given, Mapping):
        return dict(given)
    text = given.lstrip() if isinstance(given, str) else ""
    if text.startswith(("{", "[")):
        return _parsed(text, _("the input"))
    path = base / given
    try:
        content = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(
            _("the input file {path} cannot be read: {reason}").format(
                path=path, reason=getattr(error, "strerror", None) or error
            ),
            advice=_("Give a JSON object, its text, or the path of a file that holds one."),
        ) from error
    return _parsed(content, str(path))


def kind_of(given: FunctionKind | str | None, payload: Mapping[str, Any]) -> FunctionKind:
    """The kind as told, in any case and with ``-`` or ``_``, else as the payload's func_type says."""
    text = given if given is not None else payload.get("func_type")
    if text is None:
        raise InputError(
            _("the kind of the function is not given"), advice=_("Pass functype: rollout, reward, group_reward.")
        )
    try:
        kind = FunctionKind(str(text).strip().lower().replace("-", "_"))
    except ValueError as error:
        raise InputError(
            _("{text!r} is no kind of function").format(text=text), advice=_("Use rollout, reward or group_reward.")
        ) from error
    stated = payload.get("func_type")
    if stated is not None and str(stated) != kind.value:
        raise InputError(
            _("the input's func_type is {stated!r}, but the function is to be called as {kind}").format(
                stated=stated, kind=kind.value
            )
        )
    return kind


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(
            _("{where} is not JSON: {msg} at line {lineno}, column {colno}").format(
                where=where, msg=in_words(error.msg), lineno=error.lineno, colno=error.colno
            )
        ) from error
    if not isinstance(value, dict):
        raise InputError(_("{where} must hold a JSON object").format(where=where))
    return value
