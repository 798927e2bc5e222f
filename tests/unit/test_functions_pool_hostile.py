"""What user code may do to its worker, and what is left of it: a named result, a fresh worker, no process."""

import asyncio
import contextlib
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.functions.pool import FunctionPool, OutputLine, WorkerSpec
from agentic_rl_tui.core.models.errors import FunctionFailed
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

HEAD = """
import asyncio, ctypes, os, signal, subprocess, sys, threading, time
from dashscope.finetune.reinforcement import AbstractRewardProcessor, Reward, RewardInput, RewardOutput

def good(score=1.0):
    return RewardOutput(reward=Reward(reward_score=score))

class Base(AbstractRewardProcessor):
    def process(self, input_data):
        if input_data.ground_truth == "good":
            return good()
        return self.evil(input_data)
"""

BAD: dict[str, Any] = {"agent_output": {"messages": [{"role": "assistant", "content": "x"}]}}
GOOD: dict[str, Any] = {**BAD, "ground_truth": "good"}

Opener = Callable[..., contextlib.AbstractAsyncContextManager[FunctionPool]]


@pytest.fixture
def lines() -> list[OutputLine]:
    return []


@pytest.fixture
def opened(tmp_path: Path, lines: list[OutputLine]) -> Opener:
    @asynccontextmanager
    async def open_pool(code: str, *, size: int = 1, **limits: Any) -> AsyncIterator[FunctionPool]:
        folder = tmp_path / "package"
        folder.mkdir(exist_ok=True)
        (folder / "evil.py").write_text(HEAD + textwrap.dedent(code))
        spec = WorkerSpec(folder, FunctionKind.REWARD, ClassPath.parse("evil.py:P"), **limits)
        pool = FunctionPool(spec, size=size, on_output=lines.append)
        try:
            await pool.start()
            yield pool
        finally:
            await pool.stop()

    return open_pool


async def wait_until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - what is awaited happens in other processes
            await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def assert_works(pool: FunctionPool) -> None:
    assert (await pool.call(GOOD)).status is CallStatus.OK


def message(result: CallResult) -> str:
    assert result.error is not None
    return result.error.message


DEATHS = {
    "os._exit": ("os._exit(7)", "exit code 7"),
    "kills itself": ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    "kills its group": ("os.killpg(0, signal.SIGKILL)", "SIGKILL"),
    "terminates itself": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", "SIGTERM"),
    "crashes in native code": ("ctypes.string_at(0)", "SIGSEGV"),
    "aborts": ("os.abort()", "SIGABRT"),
    "alarm": ("signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(60)", "SIGALRM"),
    "exits from a thread": ("threading.Thread(target=lambda: os._exit(3)).start(); time.sleep(60)", "exit code 3"),
    "sys.exit": ("sys.exit(3)", "sys.exit(3)"),
    "exit with text": ("sys.exit('enough')", "sys.exit('enough')"),
}


async def test_every_death_is_reported_with_its_reason_and_the_worker_replaced(opened: Opener) -> None:
    cases = [f"{name!r}: lambda: ({statement.replace('; ', ', ')})" for name, (statement, _) in DEATHS.items()]
    code = f"DEATHS = {{{', '.join(cases)}}}\n" + textwrap.dedent("""
        class P(Base):
            def evil(self, input_data):
                DEATHS[input_data.ground_truth]()
        """)
    async with opened(code) as pool:
        for count, (name, (_, reason)) in enumerate(DEATHS.items(), 1):
            result = await pool.call({**BAD, "ground_truth": name})
            assert result.status is CallStatus.DIED, name
            assert reason in message(result)
            await assert_works(pool)
            assert pool.restarts == count


async def test_exit_in_async_code_and_in_its_tasks(opened: Opener) -> None:
    async with opened("""
        class P(AbstractRewardProcessor):
            async def process(self, input_data):
                if input_data.ground_truth == "good":
                    return good()
                if input_data.ground_truth == "task":
                    asyncio.create_task(self.leave())
                    await asyncio.sleep(60)
                sys.exit(4)
            async def leave(self):
                sys.exit(5)
        """) as pool:
        assert "sys.exit(4)" in message(await pool.call(BAD))
        await assert_works(pool)
        result = await pool.call({**BAD, "ground_truth": "task"})
        assert result.status is CallStatus.DIED
        assert "exit code 5" in message(result)
        await assert_works(pool)


async def test_deep_recursion_is_an_error_of_the_call(opened: Opener) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                return self.evil(input_data)
        """) as pool:
        result = await pool.call(BAD)
        assert result.status is CallStatus.RAISED
        assert result.error is not None
        assert result.error.type == "RecursionError"
        assert "evil.py" in result.error.traceback
        await assert_works(pool)
        assert pool.restarts == 0


async def test_recursion_past_the_stack_is_a_crash_with_a_reason(opened: Opener) -> None:
    async with opened("""
        class Deep:
            def __repr__(self):
                return repr([self])
        class P(Base):
            def evil(self, input_data):
                sys.setrecursionlimit(10**9)
                threading.stack_size(256 * 1024)
                thread = threading.Thread(target=lambda: repr(Deep()))
                thread.start(); thread.join()
        """) as pool:
        result = await pool.call(BAD)
        assert result.status is CallStatus.DIED
        assert "SIGSEGV" in message(result)
        await assert_works(pool)


async def test_an_allocation_over_the_limit_is_a_memory_error(opened: Opener) -> None:
    async with opened(
        """
        class P(Base):
            def evil(self, input_data):
                block = bytearray(1 << 30)
        """,
        memory_limit_bytes=256 << 20,
    ) as pool:
        result = await pool.call(BAD)
        assert result.status is CallStatus.RAISED
        assert result.error is not None
        assert result.error.type == "MemoryError"
        assert "block = bytearray" in result.error.traceback
        await assert_works(pool)
        assert pool.restarts == 0


async def test_memory_used_by_children_counts_too(opened: Opener) -> None:
    async with opened(
        """
        class P(Base):
            def evil(self, input_data):
                children = []
                for _ in range(4):
                    pid = os.fork()
                    if pid == 0:
                        block = bytearray(os.urandom(1) * (60 << 20))
                        time.sleep(60)
                        os._exit(0)
                time.sleep(60)
        """,
        memory_limit_bytes=192 << 20,
    ) as pool:
        result = await pool.call(BAD)
        assert result.status is CallStatus.DIED
        assert "MB of memory, over its limit" in message(result)
        await assert_works(pool)


async def test_a_fork_that_returns_from_process_answers_once(opened: Opener) -> None:
    for kind in ("def", "async def"):
        async with opened(f"""
            class P(AbstractRewardProcessor):
                {kind} process(self, input_data):
                    pid = os.fork()
                    return good(0.0 if pid == 0 else 1.0)
            """) as pool:
            for _ in range(3):
                result = await pool.call(BAD)
                assert result.output is not None
                assert result.output["reward"]["reward_score"] == 1.0
            assert pool.restarts == 0


async def test_daemons_end_with_the_pool(opened: Opener, tmp_path: Path) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                if os.fork() == 0:
                    os.setsid()
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    signal.signal(signal.SIGHUP, signal.SIG_IGN)
                    if os.fork() == 0:
                        os.setsid()
                        with open("daemon.pid", "w") as file:
                            file.write(str(os.getpid()))
                        os.rename("daemon.pid", "daemon")
                        while True:
                            time.sleep(1)
                    os._exit(0)
                return good()
        """) as pool:
        assert (await pool.call(BAD)).is_ok
        daemon = tmp_path / "package" / "daemon"
        await wait_until(daemon.exists)
        pid = int(daemon.read_text())
        assert is_alive(pid)
    assert not is_alive(pid)


async def test_background_jobs_leave_no_zombies(opened: Opener) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                for _ in range(5):
                    subprocess.run(["sh", "-c", "true & sleep 0.001 &"])
                return good()
        """) as pool:
        for _ in range(4):
            assert (await pool.call(BAD)).is_ok
        (keeper,) = _below(os.getpid())
        await wait_until(lambda: len(_below(keeper, deep=True)) == 1)


async def test_jobs_of_one_worker_outlive_the_end_of_another(opened: Opener, tmp_path: Path) -> None:
    async with opened(
        """
        class P(Base):
            def evil(self, input_data):
                if input_data.ground_truth == "die":
                    os._exit(1)
                open(f"in-{os.getpid()}", "w").close()
                while sum(name.startswith("in-") for name in os.listdir()) < 2:
                    time.sleep(0.002)
                subprocess.run("setsid sleep 600 & echo $! > job.$PPID", shell=True)
                return good(os.getpid())
        """,
        size=2,
    ) as pool:
        results = await asyncio.gather(pool.call(BAD), pool.call(BAD))
        pids = [int(result.output["reward"]["reward_score"]) for result in results if result.output]
        jobs = {pid: int((tmp_path / "package" / f"job.{pid}").read_text()) for pid in pids}
        assert all(map(is_alive, jobs.values()))
        await pool.call({**BAD, "ground_truth": "die"})
        await assert_works(pool)
        await wait_until(lambda: sum(map(is_alive, jobs.values())) == 1)
        (kept,) = (pid for pid, job in jobs.items() if is_alive(job))
        assert is_alive(kept)
    assert not any(map(is_alive, jobs.values()))


async def test_what_a_killed_worker_started_dies_with_it(opened: Opener, tmp_path: Path) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                child = subprocess.Popen(["sleep", "600"], start_new_session=True)
                with open("child", "w") as file:
                    file.write(str(child.pid))
                os._exit(1)
        """) as pool:
        assert (await pool.call(BAD)).status is CallStatus.DIED
        await assert_works(pool)
        pid = int((tmp_path / "package" / "child").read_text())
        await wait_until(lambda: not is_alive(pid))


async def test_threads_that_never_end_do_not_keep_a_worker(opened: Opener) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                for _ in range(5):
                    threading.Thread(target=lambda: [time.sleep(1) for _ in iter(int, 1)]).start()
                return good()
        """) as pool:
        assert (await pool.call(BAD)).is_ok
        await assert_works(pool)
        assert pool.restarts == 0


async def test_signal_handlers_do_not_save_a_worker(opened: Opener) -> None:
    async with opened("""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        class P(AbstractRewardProcessor):
            async def process(self, input_data):
                if input_data.ground_truth == "good":
                    return good()
                while True:
                    time.sleep(1)
        """, cancel_grace_s=0.3) as pool:  # fmt: skip
        result = await pool.call(BAD, timeout_s=0.1)
        assert result.status is CallStatus.TIMEOUT
        await assert_works(pool)


async def test_closing_the_standard_streams_harms_only_what_is_printed(opened: Opener) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                os.close(1)
                os.close(2)
                return good(0.5)
        """) as pool:
        result = await pool.call(BAD)
        assert result.output is not None
        assert result.output["reward"]["reward_score"] == 0.5
        await assert_works(pool)


async def test_closing_every_descriptor_is_a_death_with_a_reason(opened: Opener) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                os.closerange(3, 4096)
                return good()
        """) as pool:
        result = await pool.call(BAD)
        assert result.status is CallStatus.DIED
        await assert_works(pool)


async def test_a_megabyte_without_a_line_break_arrives_in_pieces(opened: Opener, lines: list[OutputLine]) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                sys.stdout.write("x" * (1 << 20))
                return good()
        """) as pool:
        result = await pool.call(BAD)
        assert result.is_ok
        assert result.printed.startswith("xxxx")
        assert len(result.printed) < 70_000
        await assert_works(pool)
    pieces = [line.text for line in lines if line.stream == "stdout"]
    assert sum(map(len, pieces)) == 1 << 20
    assert max(map(len, pieces)) <= 16 * 1024


async def test_escape_codes_and_broken_text_pass_as_data(opened: Opener, lines: list[OutputLine]) -> None:
    async with opened(r"""
        class P(Base):
            def evil(self, input_data):
                print("\x1b]0;title\x07\x1b[31mred\x1b[0m")
                print("half a pair: \udcff")
                os.write(1, b"\xff\xfe raw\n")
                os.system("echo from a child; echo to stderr >&2")
                return good()
        """) as pool:
        assert (await pool.call(BAD)).is_ok
        await wait_until(lambda: {line.text for line in lines} >= {"from a child", "to stderr"})
    texts = [line.text for line in lines]
    assert "\x1b]0;title\x07\x1b[31mred\x1b[0m" in texts
    assert "\ufffd\ufffd raw" in texts


ANSWERS = {
    "None": ("None", "process returned None"),
    "number": ("1.0", "process returned float, expected RewardOutput"),
    "the inner model": (
        "Reward(reward_score=1)",
        "process returned Reward, which is no RewardOutput; reward: Field required",
    ),
    "NaN": ("good(float('nan'))", "reward.reward_score: nan is no number that JSON can hold"),
    "infinity": ("good(float('-inf'))", "reward.reward_score: -inf"),
    "boolean": ("good(True)", "reward.reward_score: a boolean is no score"),
    "boolean in a dict": ("{'reward': {'reward_score': True}}", "a boolean is no score"),
    "every problem at once": (
        "{'reward': {'reward_score': 'high', 'reward_metrics': {'a': None}}, 'status': 'fine'}",
        "reward.reward_score: Input should be a valid number & reward_metrics.a & status: Input should be",
    ),
    "not JSON": ("RewardOutput(reward=Reward(reward_score=1), when=time)", "when: module is no JSON"),
    "coroutine": ("asyncio.sleep(0)", "plain def that returned a coroutine"),
    "generator": ("(x for x in ())", "generator"),
    "changed after it was made": ("changed()", "reward.reward_score: Input should be a valid number"),
}


async def test_every_unusable_answer_is_named(opened: Opener) -> None:
    cases = "\n".join(f"        {name!r}: lambda: {answer}," for name, (answer, _) in ANSWERS.items())
    async with opened(f"""
        def changed():
            answer = good()
            answer.reward.reward_score = "much"
            return answer
        ANSWERS = {{
        {cases}
        }}
        class P(Base):
            def evil(self, input_data):
                return ANSWERS[input_data.ground_truth]()
        """) as pool:
        for name, (_, problems) in ANSWERS.items():
            result = await pool.call({**BAD, "ground_truth": name})
            assert result.status is CallStatus.INVALID_OUTPUT, name
            assert result.output is None
            for problem in problems.split(" & "):
                assert problem in message(result)
        await assert_works(pool)
        assert pool.restarts == 0


async def test_errors_that_resist_being_told(opened: Opener) -> None:
    async with opened(r"""
        class Mute(Exception):
            def __str__(self):
                raise ValueError("mute")
        class P(Base):
            def evil(self, input_data):
                if input_data.ground_truth == "mute":
                    raise Mute
                if input_data.ground_truth == "surrogate":
                    raise ValueError("half \udcff")
                if input_data.ground_truth == "surrogate in answer":
                    return RewardOutput(reward=Reward(reward_score=1), note="\udcff")
                if input_data.ground_truth == "itself":
                    loop = {}
                    loop["loop"] = loop
                    return RewardOutput(reward=Reward(reward_score=1), loop=loop)
                if input_data.ground_truth == "deep":
                    deep = []
                    for _ in range(300):
                        deep = [deep]
                    return RewardOutput(reward=Reward(reward_score=1), deep=deep)
                error = ValueError("x" * 1_000_000)
                error.__context__ = error.__cause__ = error
                raise error
        """) as pool:
        results = {
            truth: await pool.call({**BAD, "ground_truth": truth})
            for truth in ("mute", "surrogate", "surrogate in answer", "itself", "deep", "long")
        }
        assert "while the message was made" in message(results["mute"])
        assert message(results["surrogate"]) == "half ?"
        assert "half of a surrogate pair" in message(results["surrogate in answer"])
        assert results["itself"].status is CallStatus.INVALID_OUTPUT
        assert "nested more than 100 levels deep" in message(results["deep"])
        assert results["long"].status is CallStatus.RAISED
        await assert_works(pool)
        assert pool.restarts == 0


async def test_a_sleep_past_the_limit_times_out_and_says_where(opened: Opener) -> None:
    async with opened("""
        class P(Base):
            def evil(self, input_data):
                print("before")
                time.sleep(600)
        """) as pool:
        result = await pool.call(BAD, timeout_s=0.1)
        assert result.status is CallStatus.TIMEOUT
        assert "0.1 s" in message(result)
        assert result.printed == "before\n"
        assert result.error is not None
        assert "in evil" in result.error.traceback
        await assert_works(pool)
        assert pool.restarts == 1


async def test_a_coroutine_that_can_be_canceled_keeps_its_worker(opened: Opener) -> None:
    async with opened("""
        class P(AbstractRewardProcessor):
            async def process(self, input_data):
                if input_data.ground_truth == "good":
                    return good()
                print("waiting")
                await asyncio.sleep(600)
        """) as pool:
        result = await pool.call(BAD, timeout_s=0.1)
        assert result.status is CallStatus.TIMEOUT
        assert result.printed == "waiting\n"
        assert result.error is not None
        assert "await asyncio.sleep(600)" in result.error.traceback
        await assert_works(pool)
        assert pool.restarts == 0


async def test_cancelling_the_caller_reaches_the_coroutine(opened: Opener, lines: list[OutputLine]) -> None:
    async with opened("""
        class P(AbstractRewardProcessor):
            async def process(self, input_data):
                print("begun")
                try:
                    await asyncio.sleep(600)
                finally:
                    print("canceled")
        """) as pool:
        task = asyncio.create_task(pool.call(BAD))
        await wait_until(lambda: lines)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_until(lambda: len(lines) == 2)
        assert [line.text for line in lines] == ["begun", "canceled"]
        assert pool.restarts == 0


async def test_code_that_cancels_every_task_leaves_no_call_without_an_answer(opened: Opener) -> None:
    async with opened(
        """
        class P(AbstractRewardProcessor):
            async def process(self, input_data):
                if input_data.ground_truth == "good":
                    return good()
                for task in asyncio.all_tasks():
                    if task is not asyncio.current_task():
                        task.cancel()
                return good(0.5)
        """,
        concurrency=8,
    ) as pool:
        async with asyncio.timeout(20):
            results = await asyncio.gather(*[pool.call(BAD) for _ in range(8)])
        assert {result.status for result in results} <= {CallStatus.OK, CallStatus.CANCELED, CallStatus.RAISED}
        assert any(result.is_ok for result in results)
        await assert_works(pool)
        assert pool.restarts == 0


async def test_calls_that_a_blocked_loop_never_began_run_elsewhere(opened: Opener, lines: list[OutputLine]) -> None:
    async with opened(
        """
        class P(AbstractRewardProcessor):
            async def process(self, input_data):
                if input_data.ground_truth == "good":
                    return good()
                print("blocking")
                time.sleep(600)
        """,
        concurrency=8,
        cancel_grace_s=0.3,
    ) as pool:
        blocked = asyncio.create_task(pool.call(BAD, timeout_s=0.3))
        await wait_until(lambda: lines)
        others = await asyncio.gather(*[pool.call(GOOD) for _ in range(4)])
        assert [other.status for other in others] == [CallStatus.OK] * 4
        result = await blocked
        assert result.status is CallStatus.TIMEOUT
        assert result.error is not None
        assert "in process" in result.error.traceback
        assert pool.restarts == 1


async def test_other_threads_finish_when_one_call_hangs(opened: Opener, tmp_path: Path) -> None:
    async with opened(
        """
        class P(Base):
            def evil(self, input_data):
                if input_data.ground_truth == "hang":
                    time.sleep(600)
                while not os.path.exists("go"):
                    time.sleep(0.01)
                return good(0.25)
        """,
        concurrency=4,
    ) as pool:
        steady = asyncio.create_task(pool.call(BAD))
        hanging = await pool.call({**BAD, "ground_truth": "hang"}, timeout_s=0.1)
        assert hanging.status is CallStatus.TIMEOUT
        await assert_works(pool)
        (tmp_path / "package" / "go").touch()
        result = await steady
        assert result.output is not None
        assert result.output["reward"]["reward_score"] == 0.25


async def test_calls_under_way_die_with_their_worker(opened: Opener, tmp_path: Path) -> None:
    async with opened(
        """
        class P(Base):
            def evil(self, input_data):
                if input_data.ground_truth == "die":
                    os._exit(9)
                open("waiting", "w").close()
                time.sleep(600)
        """,
        concurrency=2,
    ) as pool:
        waiting = asyncio.create_task(pool.call(BAD))
        await wait_until((tmp_path / "package" / "waiting").exists)
        await pool.call({**BAD, "ground_truth": "die"})
        result = await waiting
        assert result.status is CallStatus.DIED
        assert "exit code 9" in message(result)
        await assert_works(pool)


SETUPS = {
    "raises": ("raise ValueError('no model')", "its setup failed with ValueError: no model"),
    "exits": ("sys.exit(2)", "sys.exit(2) was called in setup"),
    "dies": ("print('about to die', file=sys.stderr); os._exit(6)", "exit code 6"),
}


@pytest.mark.parametrize("name", SETUPS)
async def test_a_setup_that_fails_is_told_at_start(opened: Opener, name: str) -> None:
    statement, reason = SETUPS[name]
    with pytest.raises(FunctionFailed) as failure:
        async with opened(f"""
            class P(Base):
                def setup(self):
                    {statement}
            """):
            pass
    assert reason in failure.value.message
    if name == "dies":
        assert "about to die" in failure.value.message
    if name == "raises":
        assert failure.value.traceback is not None
        assert "in setup" in failure.value.traceback


async def test_a_setup_that_hangs_is_told_with_the_place(opened: Opener) -> None:
    with pytest.raises(FunctionFailed) as failure:
        async with opened(
            """
            class P(Base):
                def setup(self):
                    time.sleep(600)
            """,
            setup_timeout_s=1.5,
        ):
            pass
    assert failure.value.kind == "timeout"
    assert failure.value.traceback is not None
    assert "in setup" in failure.value.traceback


IMPORTS = {
    "syntax": ("class P(Base:\n    pass", "SyntaxError"),
    "missing module": ("import no_such_module_here", "No module named 'no_such_module_here'"),
    "missing class": ("class Other(Base):\n    pass", "Class 'P' not found in 'evil'"),
    "no processor": ("class P:\n    pass", "must inherit AbstractProcessor"),
    "abstract": ("class P(AbstractRewardProcessor):\n    pass", "abstract"),
    "constructor": ("class P(Base):\n    def __init__(self, x):\n        pass", "Instantiation failed"),
    "exits": ("sys.exit(1)", "sys.exit(1) was called while the module was imported"),
}


@pytest.mark.parametrize(("name", "size"), [*((name, 1) for name in IMPORTS), ("missing module", 2), ("exits", 2)])
async def test_code_that_cannot_be_loaded_is_told_at_start(opened: Opener, name: str, size: int) -> None:
    code, reason = IMPORTS[name]
    with pytest.raises(FunctionFailed) as failure:
        async with opened(code, size=size):
            pass
    assert reason in failure.value.message


DAEMON = """
class P(Base):
    def evil(self, input_data):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                with open("daemon.pid", "w") as file:
                    file.write(str(os.getpid()))
                os.rename("daemon.pid", "daemon")
                while True:
                    time.sleep(1)
            os._exit(0)
        return good()
"""


async def test_killing_the_keeper_ends_everything_and_the_pool_recovers(opened: Opener, tmp_path: Path) -> None:
    async with opened(DAEMON, size=2) as pool:
        assert (await pool.call(BAD)).is_ok
        daemon = tmp_path / "package" / "daemon"
        await wait_until(daemon.exists)
        (keeper,) = _below(os.getpid())
        below = [*_below(keeper, deep=True), int(daemon.read_text())]
        assert len(below) >= 4
        os.kill(keeper, signal.SIGKILL)
        await wait_until(lambda: not any(is_alive(pid) for pid in below))
        await assert_works(pool)


@pytest.mark.parametrize("size", [1, 2])
async def test_user_code_may_kill_its_parent(opened: Opener, size: int) -> None:
    async with opened(
        """
        class P(Base):
            def evil(self, input_data):
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(600)
        """,
        size=size,
    ) as pool:
        assert (await pool.call(BAD)).status is CallStatus.DIED
        await asyncio.gather(*[assert_works(pool) for _ in range(2 * size)])
        assert (await pool.call(BAD)).status is CallStatus.DIED
        await assert_works(pool)


PLATFORM = """
import asyncio, sys
from pathlib import Path
from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

async def main():
    spec = WorkerSpec(Path(sys.argv[1]), FunctionKind.REWARD, ClassPath.parse("evil.py:P"))
    async with FunctionPool(spec, size=2) as pool:
        await pool.call({"agent_output": {}})
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_nothing_is_left_when_the_platform_is_killed(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text(HEAD + DAEMON)
    platform = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PLATFORM, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert platform.stdout is not None
    assert await platform.stdout.readline() == b"ready\n"
    await wait_until((tmp_path / "daemon").exists)
    below = [*_below(platform.pid, deep=True), int((tmp_path / "daemon").read_text())]
    assert len(below) >= 4
    platform.kill()
    await platform.wait()
    await wait_until(lambda: not any(is_alive(pid) for pid in below))


def _below(pid: int, *, deep: bool = False) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []  # it ended between the look at its parent and this one
    found = [int(child) for child in children.split()]
    return found + [deeper for child in found if deep for deeper in _below(child, deep=True)]
