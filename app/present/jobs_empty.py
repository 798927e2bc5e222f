"""What the place of the jobs says while it has none to show."""

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.cells import Span

Body = tuple[tuple[Span, ...], ...]


def nothing_to_show(*, is_filtered: bool, is_known: bool, is_stale: bool) -> tuple[str, Body]:
    """A fact, and what to do next."""
    if is_filtered:
        return _("No job matches the filter"), (_key("esc", _("clears it")),)
    if is_known:
        rest = ((_("Jobs go on when you leave."), "$faint"),)
        lines = (_key("3", _("open the job file")), _key("f5", _("check it and submit")), (("", ""),), rest)
        return _("No jobs yet"), lines
    if is_stale:
        return _("The platform does not answer"), (_key("!", _("read the error")), _key("^r", _("try again now")))
    return _("Asking the platform …"), ()


def _key(key: str, words: str) -> tuple[Span, ...]:
    lead = f"{key}  " if key == "esc" else f"{key:<4}"
    return ((lead, "$accent bold"), (words, "$muted"))
