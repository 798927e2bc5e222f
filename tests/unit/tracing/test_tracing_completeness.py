"""One rollout for each way in which calls escape tracing: the reason must name it."""

import textwrap
from typing import Any

import pytest

from agentic_rl_tui.core.tracing import reasons

ONE_CALL = "client.chat.completions.create(model='practice', messages=ASK)"

DEFECTS = {
    "trace_client() was never called": f"""
        class R(AbstractRolloutProcessor):
            @observe_processor
            def process(self, input):
                client = sync_client(input.model_resource)
                {ONE_CALL}
                return done(input)
        """,
    "trace_client() was called after the first model call; call it in setup()": f"""
        class R(AbstractRolloutProcessor):
            @observe_processor
            def process(self, input):
                client = sync_client(input.model_resource)
                {ONE_CALL}
                trace_client(client)
                {ONE_CALL}
                return done(input)
        """,
    "trace_client() does not know agent.Wrapped; use @observe_llm": f"""
        class Wrapped:
            def __init__(self, resource): self._inner = sync_client(resource)
            def ask(self):
                client = self._inner
                return {ONE_CALL}

        class R(AbstractRolloutProcessor):
            def process(self, input):
                wrapped = Wrapped(input.model_resource)
                trace_client(wrapped)
                wrapped.ask()
                return done(input)
        """,
    "a copy made by with_options() is one of its own": """
        class R(AbstractRolloutProcessor):
            def process(self, input):
                client = sync_client(input.model_resource)
                trace_client(client)
                client.with_options(timeout=5).chat.completions.create(model="practice", messages=ASK)
                return done(input)
        """,
    "some calls were not made through a traced client": """
        import json, urllib.request

        class R(AbstractRolloutProcessor):
            @observe_processor
            def process(self, input):
                resource = input.model_resource
                trace_client(sync_client(resource))
                request = urllib.request.Request(
                    resource.base_url + "/chat/completions",
                    json.dumps({"model": "practice", "messages": ASK}).encode(),
                    {"Authorization": "Bearer " + resource.api_key.get_secret_value(),
                     "Content-Type": "application/json"},
                )
                urllib.request.urlopen(request).read()
                return done(input)
        """,
}


@pytest.mark.parametrize("reason", DEFECTS)
async def test_a_missing_model_call_has_its_reason(run: Any, reason: str) -> None:
    (found,) = await run(DEFECTS[reason])
    assert found.result.is_ok, found.result.error
    assert found.completeness.llm.total == found.completeness.llm.traced + 1
    assert len(found.completeness.llm.reasons) == 1
    assert found.completeness.llm.reasons[0].endswith(reason)


CHILDREN = {
    "a pool made in setup": """
        from concurrent.futures import ProcessPoolExecutor
        class R(AbstractRolloutProcessor):
            def setup(self):
                self.pool = ProcessPoolExecutor(1)
                self.pool.submit(int).result()
            @observe_processor
            def process(self, input):
                where = input.model_resource.base_url, input.model_resource.api_key.get_secret_value()
                self.pool.submit(ask, *where).result()
                return done(input, {"role": "tool", "content": self.pool.submit(calc, "12 * 7").result()})
        """,
    "a pool made in the call": """
        from concurrent.futures import ProcessPoolExecutor
        class R(AbstractRolloutProcessor):
            @observe_processor
            async def process(self, input):
                where = input.model_resource.base_url, input.model_resource.api_key.get_secret_value()
                with ProcessPoolExecutor(1) as pool:
                    loop = asyncio.get_running_loop()
                    await loop.run_in_executor(pool, ask, *where)
                    said = await loop.run_in_executor(pool, calc, "12 * 7")
                return done(input, {"role": "tool", "content": said})
        """,
    "a process started anew": """
        class R(AbstractRolloutProcessor):
            def process(self, input):
                where = input.model_resource.base_url, input.model_resource.api_key.get_secret_value()
                ask = f"chat.completions.create(model='practice', messages={ASK!r})"
                code = f"import openai; openai.OpenAI(base_url={where[0]!r}, api_key={where[1]!r}).{ask}"
                child = multiprocessing.get_context("spawn").Process(target=exec, args=(code,))
                child.start()
                child.join()
                return done(input, {"role": "tool", "content": "84"})
        """,
    "a fork": """
        class R(AbstractRolloutProcessor):
            def process(self, input):
                where = input.model_resource.base_url, input.model_resource.api_key.get_secret_value()
                child = os.fork()
                if child == 0:
                    ask(*where)
                    calc("12 * 7")
                    os._exit(0)
                os.waitpid(child, 0)
                return done(input, {"role": "tool", "content": "84"})
        """,
}
IN_CHILDREN = """
import multiprocessing

@observe_tool
def calc(expression):
    return "84"

def ask(base_url, key):
    client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)
    trace_client(client)
    return client.chat.completions.create(model="practice", messages=ASK).choices[0].message.content

"""


@pytest.mark.parametrize("way", CHILDREN)
async def test_what_child_processes_call_is_told_of(run: Any, way: str) -> None:
    (found,) = await run(IN_CHILDREN + textwrap.dedent(CHILDREN[way]))
    assert found.result.is_ok, found.result.error
    assert found.completeness.text == f"LLM 0/1, tools 0/1: {reasons.CHILD}"


async def test_a_child_that_asks_no_model_is_no_reason(run: Any) -> None:
    (found,) = await run(
        """
        class R(AbstractRolloutProcessor):
            def process(self, input):
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
                client = sync_client(input.model_resource)
                client.chat.completions.create(model="practice", messages=ASK)
                return done(input)
        """
    )
    assert found.completeness.text == "LLM 0/1, tools 0/0: trace_client() was never called"


async def test_a_function_that_uses_no_tracing_is_not_called_traced(run: Any) -> None:
    (found,) = await run(
        f"""
        import openai
        from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutOutput

        ASK = [{{"role": "user", "content": "What is 12 * 7?"}}]

        class R(AbstractRolloutProcessor):
            def process(self, input):
                resource = input.model_resource
                client = openai.OpenAI(base_url=resource.base_url, api_key=resource.api_key.get_secret_value())
                {ONE_CALL}
                return RolloutOutput(agent_output=AgentOutput(messages=[{{"role": "tool", "content": "84"}}]))
        """,
        head="",
    )
    assert found.result.trace == ()
    text = "LLM 0/1, tools 0/1: trace_client() was never called; trace_tool() was never called"
    assert found.completeness.text == text


async def test_a_thread_made_before_the_call_loses_its_context(run: Any) -> None:
    """Its spans are put below the only call there is, and the loss is told."""
    (found,) = await run(
        """
        class R(AbstractRolloutProcessor):
            def setup(self):
                self.asked, self.answered = queue.Queue(), queue.Queue()
                threading.Thread(target=self.work, daemon=True).start()

            def work(self):
                while True:
                    client = self.asked.get()
                    self.answered.put(client.chat.completions.create(model="practice", messages=ASK))

            @observe_processor
            def process(self, input):
                client = sync_client(input.model_resource)
                trace_client(client)
                self.asked.put(client)
                self.answered.get()
                return done(input)
        """
    )
    assert found.completeness.text == (
        "LLM 1/1, tools 0/0: the context was lost for spans (a thread made before the call?): 1"
    )
    assert found.tree() == [
        ("invoke_agentic_rl", ""),
        ("invoke_rollout R", "invoke_agentic_rl"),
        ("chat practice", "invoke_agentic_rl"),
    ]


async def test_tools_of_any_shape(run: Any) -> None:
    (found,) = await run(
        """
        class Tool:
            def __init__(self, name): self.name = name
            def invoke(self, given): return self.run(given)
            async def ainvoke(self, given): return self.invoke(given)
            def run(self, given): return {"given": given}

        class Node:
            def __init__(self, *tools): self.tools_by_name = {tool.name: tool for tool in tools}

        def plain(x): return x

        class R(AbstractRolloutProcessor):
            async def process(self, input):
                a, b, c, d = (Tool(name) for name in "abcd")
                trace_tool([a, (b,)])
                trace_tool({"c": c}, provider="shop")
                trace_tool(Node(d))
                trace_tool(plain)
                for tool in (a, b, c, d):
                    assert await tool.ainvoke({"x": 1, "token": "t"}) == {"given": {"x": 1, "token": "t"}}
                plain(1)
                return done(input, *[{"role": "tool", "content": "x"}] * 5)
        """
    )
    assert found.result.is_ok, found.result.error
    assert [span.name for span in found.of("TOOL")] == [f"execute_tool {name}" for name in "abcd"]
    assert [span.attributes.get("gen_ai.provider.name") for span in found.of("TOOL")] == [None, None, "shop", None]
    assert found.of("TOOL")[0].attributes["gen_ai.tool.call.arguments"] == '{"x": 1, "token": "******"}'
    assert found.completeness.text == "LLM 0/0, tools 4/5: trace_tool() cannot wrap tool plain; use @observe_tool"


async def test_dashscope_generation_class(run: Any) -> None:
    (found,) = await run(
        """
        class Answer(dict):
            def __getattr__(self, name): return self[name]

        class Generation:
            @classmethod
            def call(cls, model, prompt=None, messages=None, stream=False, **kwargs):
                output = {"choices": [{"message": {"role": "assistant", "content": cls.__name__},
                                       "finish_reason": "stop"}]}
                answer = Answer(status_code=200, request_id="q", output=output,
                                usage={"input_tokens": 3, "output_tokens": 2}, code="", message="")
                if model == "broken":
                    return Answer(status_code=400, request_id="q", output=None, usage=None, code="Bad", message="no")
                return iter_of(answer) if stream else answer

        class Sub(Generation):
            pass

        def iter_of(answer):
            yield answer

        class R(AbstractRolloutProcessor):
            def process(self, input):
                trace_client(Generation)
                trace_client(Generation)
                assert Generation.call("qwen", messages=ASK).status_code == 200
                assert Sub.call(model="qwen", prompt="hi").output["choices"][0]["message"]["content"] == "Sub"
                assert len(list(Generation.call("qwen", messages=ASK, stream=True))) == 1
                Generation.call("broken")
                return done(input)
        """
    )
    assert found.result.is_ok, found.result.error
    spans = found.of("LLM")
    assert [span.name for span in spans] == ["chat qwen"] * 3 + ["chat broken"]
    assert [span.status for span in spans] == ["OK"] * 3 + ["ERROR"]
    assert spans[3].message == "Bad: no"
    assert {span.attributes["gen_ai.provider.name"] for span in spans} == {"dashscope"}
    assert spans[0].attributes["gen_ai.usage.total_tokens"] == spans[2].attributes["gen_ai.usage.total_tokens"] == 5
    assert "hi" in spans[1].attributes["gen_ai.input.messages"]


async def test_an_interpreter_without_opentelemetry_runs_the_function_and_says_so(run: Any) -> None:
    (found,) = await run(
        f"""
        import sys
        sys.modules["opentelemetry"] = None

        @observe_tool
        def calc(x): return x

        class R(AbstractRolloutProcessor):
            @observe_processor
            def process(self, input):
                client = sync_client(input.model_resource)
                trace_client(client)
                {ONE_CALL}
                with rollout_context("other"), genai_llm_span() as call:
                    call.request_model = "m"
                assert run_with_genai_llm_span(calc, 84) == 84
                assert get_tracer() is None and current_trace_id_hex() is None
                return done(input, {{"role": "tool", "content": "84"}})
        """
    )
    assert found.result.is_ok, found.result.error
    assert found.spans == ()
    assert found.completeness.text == (
        "LLM 0/1, tools 0/1: OpenTelemetry is not installed in this interpreter (opentelemetry)"
    )


async def test_a_plain_function_beside_traced_tools(run: Any) -> None:
    (found,) = await run(
        """
        @observe_tool
        def traced(x): return x

        def plain(x): return x

        class R(AbstractRolloutProcessor):
            @observe_processor
            def process(self, input):
                trace_tool(type("Tool", (), {"invoke": lambda self, x: x})())
                return done(input, *[{"role": "tool", "content": str(tool(84))} for tool in (traced, plain)])
        """
    )
    assert found.result.is_ok, found.result.error
    assert found.completeness.text == "LLM 0/0, tools 1/2: tools that are plain functions need @observe_tool"


async def test_a_tool_that_gives_its_result_in_parts(run: Any) -> None:
    """The span lasts until the last part, holds them all, and is current only inside the tool."""
    (found,) = await run(
        """
        @observe_tool
        def inner(x): return x

        @observe_tool
        def counted(n):
            for i in range(n):
                heard = yield inner(i)
                if heard: yield heard
            return "done"

        @observe_tool
        async def streamed(n):
            for i in range(n):
                yield inner(i)

        @observe_tool
        async def broken():
            yield 1
            raise LookupError("no more")

        @observe_tool
        def endless():
            while True: yield "x"

        class R(AbstractRolloutProcessor):
            @observe_processor
            async def process(self, input):
                parts = counted(2)
                assert (next(parts), parts.send("ho"), next(parts)) == (0, "ho", 1)
                inner("outside")
                try: next(parts)
                except StopIteration as stop: assert stop.value == "done"
                assert [part async for part in streamed(2)] == [0, 1]
                try: [part async for part in broken()]
                except LookupError: pass
                left = endless()
                assert next(left) == "x"
                left.close()
                return done(input)
        """
    )
    assert found.result.is_ok, found.result.error
    tools = {span.name.removeprefix("execute_tool "): span for span in found.of("TOOL")}
    assert {name: span.attributes["gen_ai.tool.call.result"] for name, span in tools.items() if name != "inner"} == {
        "counted": '[0, "ho", 1]',
        "streamed": "[0, 1]",
        "broken": "[1]",
        "endless": '["x"]',
    }
    assert tools["broken"].attributes["error.type"] == "LookupError"
    assert tools["endless"].attributes["agentic_rl.unfinished"]
    assert tools["counted"].attributes["agentic_rl.stream.chunks"] == 3
    assert [parent for name, parent in found.tree() if name == "execute_tool inner"] == [
        "execute_tool counted",
        "execute_tool counted",
        "invoke_rollout R",
        "execute_tool streamed",
        "execute_tool streamed",
    ]
