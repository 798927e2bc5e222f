import asyncio
import threading

import pytest

from agentic_rl_tui.core.sdk.register import to_the_end


async def test_a_cancelled_caller_waits_for_the_thread_it_started() -> None:
    started, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        may_end.wait(10)
        ended.set()

    task = asyncio.create_task(to_the_end(work))
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
