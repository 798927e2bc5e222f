"""Applying the fixes of a whole document."""

from agentic_rl_tui.core.jobfile.diagnostics import Fix, apply_edits
from agentic_rl_tui.core.jobfile.document import JobDocument, recheck

_MAX_ROUNDS = 50


def fix_all(document: JobDocument, *, with_advice: bool = False) -> str:
    """The text with every safe fix applied, again and again until none is left.

    with_advice also applies those that are a matter of judgement (learning rates, epochs, capacities).
    """
    seen = {document.text}
    for _ in range(_MAX_ROUNDS):
        fixes = [item.fix for item in document.diagnostics if item.fix and (item.fix.is_safe or with_advice)]
        chosen = _apart(fixes)
        if not chosen:
            break
        text = apply_edits(document.text, [edit for fix in chosen for edit in fix.edits])
        if text in seen:
            break
        seen.add(text)
        document = recheck(document, text)
    return document.text


def _apart(fixes: list[Fix]) -> list[Fix]:
    """Those whose patches neither overlap nor touch an earlier one's: touching ones may not know of each other."""
    taken: list[tuple[int, int]] = []
    chosen = []
    for fix in fixes:
        spans = [(edit.start, edit.end) for edit in fix.edits]
        if all(end < start or stop < begin for begin, end in taken for start, stop in spans):
            taken += spans
            chosen.append(fix)
    return chosen
