import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.text import plain


@contextmanager
def told_on_interrupt(what: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C ends this program only: say what goes on without it, and how to get back to it."""
    import asyncio

    try:
        yield
    except asyncio.CancelledError:
        print(f"\n{plain(what())}", file=sys.stderr, flush=True)
        raise


def job_goes_on(job_id: str) -> str:
    return _("job {job_id} goes on; watch it with: agentic-rl-tui logs {job_id} --follow").format(job_id=job_id)
