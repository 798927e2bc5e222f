"""The spans of a trace in the order in which people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentic_rl_tui.core.tracing.model import Span


def depth_first(spans: Sequence[Span], *, folded: frozenset[str] = frozenset()) -> Iterator[tuple[int, Span]]:
    """Each span with its depth, children after their parent and by their beginning.

    Spans whose parent is not there stand at depth 0. folded: span ids whose children are left out. Rings of spans that
    name each other as parents are broken at their first.
    """
    ids = {span.span_id for span in spans}
    children: dict[str, list[Span]] = {}
    tops: list[Span] = []
    for span in sorted(spans, key=lambda item: (item.start_ns, item.span_id)):
        if span.parent_id in ids and span.parent_id != span.span_id:
            children.setdefault(str(span.parent_id), []).append(span)
        else:
            tops.append(span)
    seen: set[str] = set()
    yield from _walk(tops, children, folded, seen)
    if not folded:
        left = [span for span in spans if span.span_id not in seen]
        while left:
            yield from _walk(left[:1], children, folded, seen)
            left = [span for span in left if span.span_id not in seen]


def _walk(
    tops: Sequence[Span], children: dict[str, list[Span]], folded: frozenset[str], seen: set[str]
) -> Iterator[tuple[int, Span]]:
    stack = [(0, span) for span in reversed(tops)]
    while stack:
        depth, span = stack.pop()
        if span.span_id in seen:
            continue
        seen.add(span.span_id)
        yield depth, span
        if span.span_id not in folded:
            stack += [(depth + 1, child) for child in reversed(children.get(span.span_id, ()))]


def has_children(spans: Sequence[Span]) -> frozenset[str]:
    """Ids of the spans that are a parent."""
    ids = {span.span_id for span in spans}
    return frozenset(str(span.parent_id) for span in spans if span.parent_id in ids)
