"""What is said of gaps in traces: sentences that are kept and counted in English, and how a person is told them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from agentic_rl_tui.core.i18n import N_, _

OFF = N_("tracing is off (ENABLE_TRAJECTORY=false)")
NOT_INSTALLED = N_("OpenTelemetry is not installed in this interpreter ({name})")
BROKEN = N_("tracing failed: {error}")
NOT_SAMPLED = N_("the call was not to be sampled, as its traceparent or OTEL_TRACES_SAMPLER says")
NEVER_CLIENT = N_("trace_client() was never called")
LATE_CLIENT = N_("trace_client() was called after the first model call; call it in setup()")
UNKNOWN_CLIENT = N_("trace_client() does not know {names}; use @observe_llm")
OTHER_CLIENT = N_(
    "calls by another client than the one given to trace_client(); a copy made by with_options() is one of its own"
)
UNTRACED_CLIENT = N_("some calls were not made through a traced client")
CHILD = N_("called in a child process (fork, ProcessPoolExecutor), whose spans cannot be had; use threads")
NEVER_TOOL = N_("trace_tool() was never called")
LATE_TOOL = N_("trace_tool() was called after the first tool call; call it in setup()")
UNKNOWN_TOOL = N_("trace_tool() cannot wrap {names}; use @observe_tool")
MCP_SIDE = N_("a decorator on the MCP server's side has no effect here; trace what get_tools() gives")
OTHER_TOOL = N_("{names} was not given to trace_tool()")
PLAIN_TOOL = N_("tools that are plain functions need @observe_tool")
CONTEXT_LOST = N_("the context was lost for spans (a thread made before the call?): {count}")
LEFT_OPEN = N_("it was open when the call ended")
LEFT_STREAM = N_("the stream was left before its end")
LEFT_PARTS = N_("the tool's parts were left before their end")
FOREIGN = N_("counted from the spans of the file; how many calls there really were is not known")
NEVER_ENDED = N_("nobody ended it")

_ALL = (
    OFF, NOT_INSTALLED, BROKEN, NOT_SAMPLED, NEVER_CLIENT, LATE_CLIENT, UNKNOWN_CLIENT, OTHER_CLIENT, UNTRACED_CLIENT,
    CHILD, NEVER_TOOL, LATE_TOOL, UNKNOWN_TOOL, MCP_SIDE, OTHER_TOOL, PLAIN_TOOL, CONTEXT_LOST, LEFT_OPEN,
    LEFT_STREAM, LEFT_PARTS, FOREIGN, NEVER_ENDED,
)  # fmt: skip


def told(reason: str) -> str:
    """A kept sentence in the language in force; one that nobody knows stays as it is."""
    for template, pattern in _patterns():
        found = pattern.fullmatch(reason)
        if found is not None:
            return _(template).format(**found.groupdict())
    return reason


def all_told(reasons: Iterable[str]) -> list[str]:
    """Each sentence once, in the language in force."""
    return [told(reason) for reason in dict.fromkeys(reasons)]


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """More words first: of two that match, the one that says more was meant."""

    def pattern(template: str) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", template)
        text = "".join(f"(?P<{part}>.*)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
        return re.compile(text, re.DOTALL)

    return tuple((template, pattern(template)) for template in sorted(_ALL, key=len, reverse=True))
