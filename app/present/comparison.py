"""Two jobs against each other, as the lines of a difference. Imports no widget: the command line prints them too."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.app.present.kinds import kind_word
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.textfile import unified

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.compare import DataChange, FunctionChange, JobComparison
    from agentic_rl_tui.core.sdk.origins import Data

Line = tuple[str, int, int, str]
"""A sign (``-``, ``+``, a space, ``@`` for lines left out, ``=`` for a title), two line numbers, the text."""

_HASH = 10
_STATES = {
    "same": N_("the same"),
    "changed": N_("changed"),
    "added": N_("only in the new job"),
    "removed": N_("only in the old job"),
    "unknown": N_("not known here"),
}


def comparison_lines(found: "JobComparison", *, with_source: bool = True) -> Iterator[Line]:
    yield _title(_("SETTINGS"))
    for change in found.settings:
        if not change.is_added:
            yield "-", 0, 0, f"{_clean(change.key)}: {_value(change.old)}"
        if not change.is_removed:
            yield "+", 0, 0, f"{_clean(change.key)}: {_value(change.new)}"
    if not found.settings:
        yield _same(_("no setting differs"))
    yield from _blank(_title(_("CODE")))
    for function in found.functions:
        yield from _function(function)
    if not found.functions:
        yield _same(_("not known here"))
    for file in found.files if with_source else ():
        yield from _blank(_title(_clean(file.path)))
        for tag, old, new, text in unified(file.old or "", file.new or ""):
            yield tag, old, new, _clean(text)
    yield from _blank(_title(_("DATA")))
    for data in found.data:
        yield from _data(data)
    if not found.data:
        yield _same(_("no data set"))


def comparison_text(found: "JobComparison", *, with_source: bool = True) -> str:
    lines = []
    for tag, _old, _new, text in comparison_lines(found, with_source=with_source):
        lines.append(text if tag == "=" else "  ⋯" if tag == "@" else f"{tag} {text}".rstrip())
    return "\n".join(lines)


def comparison_title(found: "JobComparison") -> str:
    old, new = (_clean(job.job_name or job.job_id) for job in (found.old, found.new))
    return _("{old} → {new}").format(old=old, new=new)


def summary(found: "JobComparison") -> str:
    """How much differs, on one line."""
    if found.is_same:
        return _("Nothing differs")
    count = len(found.settings)
    parts = [ngettext("{count} setting", "{count} settings", count).format(count=count)]
    count = len(found.files)
    parts.append(ngettext("{count} source file", "{count} source files", count).format(count=count))
    count = sum(data.state not in ("same", "unknown") for data in found.data)
    parts.append(ngettext("{count} data set", "{count} data sets", count).format(count=count))
    return _("Different: {parts}").format(parts=" · ".join(parts))


def _title(text: str) -> Line:
    return "=", 0, 0, text


def _same(text: str) -> Line:
    return " ", 0, 0, text


def _blank(line: Line) -> Iterator[Line]:
    yield " ", 0, 0, ""
    yield line


def _function(change: "FunctionChange") -> Iterator[Line]:
    name = f"{kind_word(change.kind)} {_clean(change.name)}"
    if change.state == "changed":
        yield "-", 0, 0, f"{name}  {change.old[:_HASH]}"
        yield "+", 0, 0, f"{name}  {change.new[:_HASH]}"
    else:
        tag = {"added": "+", "removed": "-"}.get(change.state, " ")
        known = (change.new or change.old)[:_HASH]
        yield tag, 0, 0, f"{name}  {known}  {_(_STATES[change.state])}".replace("    ", "  ")


def _data(change: "DataChange") -> Iterator[Line]:
    if change.state == "changed" and change.old is not None and change.new is not None:
        yield "-", 0, 0, _data_facts(change.use, change.old)
        yield "+", 0, 0, _data_facts(change.use, change.new)
        return
    tag = {"added": "+", "removed": "-"}.get(change.state, " ")
    known = change.new or change.old
    if known is not None:
        yield tag, 0, 0, f"{_data_facts(change.use, known)}  {_(_STATES[change.state])}"


def _data_facts(use: str, data: "Data") -> str:
    rows = ""
    if data.rows is not None:
        rows = "  " + ngettext("{count:,} row", "{count:,} rows", data.rows).format(count=data.rows)
    digest = f"  {data.digest[:_HASH]}" if data.digest else ""
    return f"{_clean(use)}  {_clean(data.name)}{rows}{digest}"


def _value(value: Any) -> str:
    return _clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _clean(text: str) -> str:
    return redact(plain(str(text), keep_newlines=False))
