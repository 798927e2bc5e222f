"""Spans find their place however user code spreads its work, and leave the worker however it ends."""

import os
import subprocess
import sys
from typing import Any

import pytest

from agentic_rl_tui.core.functions.calls import CallStatus

WAYS = {
    "gather": "await asyncio.gather(later('a'), later('b'))",
    "tasks": "async with asyncio.TaskGroup() as group: [group.create_task(later(x)) for x in 'ab']",
    "to_thread": "await asyncio.to_thread(note, 'a'); await asyncio.to_thread(note, 'b')",
    "run_in_executor": """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, note, "a")
        await loop.run_in_executor(POOL, note, "b")
    """,
    "submit and map": "POOL.submit(note, 'a').result(); list(POOL.map(note, 'b'))",
    "a thread": "joined(threading.Thread(target=note, args=('a',)), threading.Thread(target=note, args=('b',)))",
    "a thread of a class": "joined(Own('a'), threading.Timer(0, note, ('b',)))",
    "a thread in a pool": "POOL.submit(lambda: joined(Own('a'), Own('b'))).result()",
    "a loop in a thread": "await asyncio.to_thread(lambda: asyncio.run(later('a'))); note('b')",
    "back on the loop": """
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(later("a"), loop).result())
        note("b")
    """,
    "a generator": "[x for x in each('ab')]",
    "an asynchronous generator": "[x async for x in each_later('ab')]",
}
CODE = """
POOL = ThreadPoolExecutor(1)

@observe_tool
def note(word): return word

async def later(word):
    await asyncio.sleep(0)
    return note(word)

def each(words):
    for word in words:
        yield note(word)

async def each_later(words):
    for word in words:
        yield await later(word)

def joined(*threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

class Own(threading.Thread):
    def __init__(self, word):
        super().__init__()
        self.word = word

    def run(self):
        note(self.word)

class R(AbstractRolloutProcessor):
    @observe_processor
    async def process(self, input):
        way = input.rollout_extra["way"]
        await WAYS[way]()
        return done(input)
"""


def ways() -> str:
    """Each as an asynchronous function, in a table by its name."""
    lines = []
    for place, body in enumerate(WAYS.values()):
        lines.append(f"async def way_{place}():")
        lines += [f"    {line.strip()}" for line in body.strip().splitlines()]
    table = ", ".join(f"{name!r}: way_{place}" for place, name in enumerate(WAYS))
    return "\n".join([*lines, f"WAYS = {{{table}}}"])


@pytest.mark.parametrize("at_once", [False, True], ids=["in turn", "at once"])
async def test_every_way_to_spread_work_keeps_the_context(run: Any, at_once: bool) -> None:
    """In turn, a pool's thread made by the first is used by all; at once, nobody's context helps a neighbour."""
    found = await run(
        CODE + ways(), *({"way": way} for way in WAYS), at_once=at_once, concurrency=len(WAYS) if at_once else 1
    )
    for number, (way, one) in enumerate(zip(WAYS, found, strict=True)):
        assert one.result.is_ok, (way, one.result.error)
        assert one.tree() == [
            ("invoke_agentic_rl", ""),
            ("invoke_rollout R", "invoke_agentic_rl"),
            ("execute_tool note", "invoke_rollout R"),
            ("execute_tool note", "invoke_rollout R"),
        ], way
        assert len({span.trace_id for span in one.spans}) == 1, way
        assert {span.attributes["bailian.agentic_rl.rollout_id"] for span in one.spans} == {f"r{number}"}, way
        assert one.completeness.cautions == (), way
        assert sorted(span.attributes["gen_ai.tool.call.result"] for span in one.of("TOOL")) == ["a", "b"], way


ENDS = """
import signal, time

@observe_tool
def fine(): return "kept"

@observe_tool
def fatal(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(3)
    time.sleep(60)

class R(AbstractRolloutProcessor):
    @observe_processor
    def process(self, input):
        client = sync_client(input.model_resource)
        trace_client(client)
        client.chat.completions.create(model="practice", messages=ASK)
        fine()
        fatal(input.rollout_extra["how"])
"""


@pytest.mark.parametrize("how", ["kill", "abort", "exit", "hang"])
async def test_whatever_ends_the_worker_leaves_what_it_had(run: Any, how: str) -> None:
    """Also the tool that did it, which was begun an instant before."""
    (found,) = await run(ENDS, {"how": how}, timeout_s=5.0 if how == "hang" else 30.0)
    assert found.result.status is (CallStatus.TIMEOUT if how == "hang" else CallStatus.DIED)
    assert [name for name, _ in found.tree()] == [
        "invoke_agentic_rl",
        "invoke_rollout R",
        "chat practice",
        "execute_tool fine",
        "execute_tool fatal",
    ]
    assert [span.status for span in found.spans] == ["ERROR", "ERROR", "OK", "OK", "ERROR"]
    assert found.of("TOOL")[0].attributes["gen_ai.tool.call.result"] == "kept"
    assert found.of("TOOL")[1].attributes["agentic_rl.unfinished"] == found.spans[0].message
    assert found.completeness.text == "LLM 1/1, tools 2/2"
    assert found.completeness.linked == 1


async def test_children_of_the_worker_end_as_they_did(run: Any) -> None:
    """What flushes before an end belongs to the worker alone: a child that exits neither waits nor writes."""
    (found,) = await run(
        """
import multiprocessing

@observe_tool
def note(word): return word

def child(): note("lost")

class R(AbstractRolloutProcessor):
    @observe_processor
    def process(self, input):
        note("a")
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(20)
        assert process.exitcode == 0, process.exitcode
        pid = os.fork()
        if pid == 0:
            note("lost too")
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        note("b")
        return done(input)
"""
    )
    assert found.result.is_ok, found.result.error
    assert [span.attributes["gen_ai.tool.call.result"] for span in found.of("TOOL")] == ["a", "b"]


def test_ids_without_a_span_go_into_threads_too() -> None:
    """A script of one's own has no call around it, only the ids that it gave."""
    script = """
import threading
from concurrent.futures import ThreadPoolExecutor
from agentic_rl_tui.core.tracing.api import observe_tool, rollout_context

@observe_tool
def told():
    from opentelemetry import trace
    print(trace.get_current_span().attributes.get("bailian.agentic_rl.rollout_id"))

with rollout_context(rollout_id="r7"):
    with ThreadPoolExecutor() as pool:
        pool.submit(told).result()
    thread = threading.Thread(target=told)
    thread.start()
    thread.join()
"""
    environment = {**os.environ, "ENABLE_TRAJECTORY": "true"}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.split() == ["r7", "r7"]
