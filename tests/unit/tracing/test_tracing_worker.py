"""User code with the tracing names, in a real worker against a real model server."""

import json
from typing import Any

from agentic_rl_tui.core.functions.calls import CallStatus

ROOT, ROLLOUT, CHAT, TOOL = "invoke_agentic_rl", "invoke_rollout R", "chat practice", "execute_tool calc"

WHOLE = """
@observe_tool
def calc(expression: str, api_key: str = "") -> str:
    if expression == "bad":
        raise ValueError("no expression")
    return "84"

class R(AbstractRolloutProcessor):
    @observe_processor
    async def process(self, input):
        client, extra = async_client(input.model_resource), input.rollout_extra
        trace_client(client)
        ask = {"model": input.model_resource.model_name, "messages": ASK}
        answers = await asyncio.gather(*[client.chat.completions.create(**ask) for _ in range(2)])
        assert all(type(answer) is openai.types.chat.ChatCompletion for answer in answers)
        with ThreadPoolExecutor() as pool:
            list(pool.map(calc, ["12 * 7"]))
        await asyncio.to_thread(calc, "1", api_key="sk-abcdefghijkl")
        if extra.get("do") == "hang":
            await asyncio.sleep(60)
        if extra.get("do") == "exit":
            os._exit(3)
        if extra.get("do") == "raise":
            calc("bad")
        return done(input, {"role": "tool", "content": "84"}, {"role": "tool", "content": "84"})
"""


async def test_spans_in_their_documented_form(run: Any) -> None:
    (found,) = await run(WHOLE)
    assert found.result.is_ok
    assert found.completeness.text == "LLM 2/2, tools 2/2"
    assert sorted(found.tree()) == sorted(
        [(ROOT, ""), (ROLLOUT, ROOT), (CHAT, ROLLOUT), (CHAT, ROLLOUT), (TOOL, ROLLOUT), (TOOL, ROLLOUT)]
    )
    for span in found.spans:
        assert span.status == "OK"
        assert span.kind == ("CLIENT" if span.role == "LLM" else "INTERNAL")
        assert span.attributes["bailian.agentic_rl.rollout_id"] == "r0"
        assert span.attributes["bailian.agentic_rl.sample_id"] == "s"
        assert span.attributes["bailian.agentic_rl.attempt_id"] == "1"
    chain, rollout, chat = found.spans[0], found.of("ROLLOUT")[0], found.of("LLM")[0]
    assert chain.scope == rollout.scope == "dashscope.finetune.reinforcement"
    assert chain.attributes["gen_ai.user.query_root_flag"] == 1
    assert chain.attributes["agentic_rl.model_calls.linked"] == found.completeness.linked == 2
    assert chain.attributes["agentic_rl.trace.linked"] == 0
    assert chain.attributes["request_id"] == rollout.attributes["request_id"] == "r0"
    assert rollout.attributes["agentic_rl.result.status"] == "success"
    assert json.loads(rollout.attributes["input.value"])["messages"][0]["role"] == "user"
    assert "sk-rollout" not in rollout.attributes["input.value"]
    assert json.loads(rollout.attributes["output.value"])["status"] == "success"
    assert chat.scope == "opentelemetry.util.genai.handler"
    assert chat.attributes["gen_ai.provider.name"] == "openai"
    assert chat.attributes["gen_ai.request.model"] == chat.attributes["gen_ai.response.model"] == "practice"
    used = [chat.attributes[f"gen_ai.usage.{name}_tokens"] for name in ("input", "output", "total")]
    assert used[0] + used[1] == used[2]
    assert chat.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    (said,) = json.loads(chat.attributes["gen_ai.output.messages"])
    assert said["role"] == "assistant"
    assert said["parts"][0]["type"] == "text"
    arguments = [json.loads(span.attributes["gen_ai.tool.call.arguments"]) for span in found.of("TOOL")]
    assert arguments == [{"expression": "12 * 7"}, {"expression": "1", "api_key": "******"}]
    assert {span.attributes["gen_ai.tool.call.result"] for span in found.of("TOOL")} == {"84"}


async def test_what_ends_badly_keeps_what_it_had(run: Any) -> None:
    raised, hung, died = await run(WHOLE, {"do": "raise"}, {"do": "hang"}, {"do": "exit"}, timeout_s=1.5)
    assert raised.result.status is CallStatus.RAISED
    bad = raised.of("TOOL")[-1]
    assert (bad.status, bad.message, bad.attributes["error.type"]) == (
        "ERROR",
        "ValueError: no expression",
        "ValueError",
    )
    assert [event["name"] for event in bad.events] == ["exception"]
    assert raised.spans[0].message == raised.of("ROLLOUT")[0].message == "ValueError: no expression"
    assert hung.result.status is CallStatus.TIMEOUT
    assert died.result.status is CallStatus.DIED
    for found in (hung, died):
        assert len(found.of("LLM")) == 2
        assert len(found.of("TOOL")) == 2
        assert found.of("ROLLOUT")[0].status == found.spans[0].status == "ERROR"
        assert found.completeness.llm.traced == found.completeness.llm.total == 2
    assert "exit code 3" in died.spans[0].message
    assert died.spans[0].attributes["agentic_rl.unfinished"] == died.spans[0].message


STREAMS = """
class R(AbstractRolloutProcessor):
    async def process(self, input):
        client, plain = async_client(input.model_resource), sync_client(input.model_resource)
        trace_client(client)
        trace_client(client)
        trace_client(plain.chat.completions)
        ask = {"model": "practice", "messages": ASK, "stream": True}
        stream = await client.chat.completions.create(**ask, stream_options={"include_usage": True})
        assert isinstance(stream, openai.AsyncStream)
        texts = [[part.choices[0].delta.content or "" async for part in stream if part.choices]]
        def read():
            with plain.chat.completions.create(**ask) as stream:
                assert isinstance(stream, openai.Stream)
                return [part.choices[0].delta.content or "" for part in stream if part.choices]
        texts.append(await asyncio.to_thread(read))
        async for part in await client.chat.completions.create(**ask):
            break
        raw = await client.chat.completions.with_raw_response.create(model="practice", messages=ASK)
        assert raw.headers and raw.parse().choices
        async with client.chat.completions.stream(model="practice", messages=ASK) as events:
            async for event in events:
                pass
        return done(input, *[{"role": "assistant", "content": "".join(text)} for text in texts])
"""


async def test_streams_are_handed_on_and_traced(run: Any) -> None:
    (found,) = await run(STREAMS)
    assert found.result.is_ok, found.result.error
    assert found.completeness.text == "LLM 5/5, tools 0/0"
    whole, threaded, left, raw, events = found.of("LLM")
    said = [message["content"] for message in found.result.output["agent_output"]["messages"][1:]]
    for span, text in ((whole, said[0]), (threaded, said[1])):
        (message,) = json.loads(span.attributes["gen_ai.output.messages"])
        assert message["parts"] == [{"type": "text", "content": text}]
        assert message["finish_reason"] == "stop"
        assert span.attributes["agentic_rl.stream"] is True
        assert span.attributes["agentic_rl.stream.first_token_s"] > 0
    assert whole.attributes["gen_ai.usage.output_tokens"] > 0
    assert "gen_ai.usage.output_tokens" not in threaded.attributes
    assert left.attributes["agentic_rl.unfinished"]
    assert "agentic_rl.stream" not in raw.attributes
    assert json.loads(raw.attributes["gen_ai.output.messages"])
    assert events.attributes["agentic_rl.stream.chunks"] > 2


async def test_off_costs_no_import_and_says_so(run: Any) -> None:
    code = WHOLE.replace(
        'return done(input, {"role": "tool"', 'import sys\n        return done(input, {"role": "assistant", "content": '
        'str([name for name in sys.modules if name.startswith("opentelemetry")])}, {"role": "tool"'
    )  # fmt: skip
    (found,) = await run(code, env={"ENABLE_TRAJECTORY": "false"})
    assert found.result.output["agent_output"]["messages"][1]["content"] == "[]"
    assert found.spans == ()
    assert found.completeness.text == "LLM 0/2, tools 0/2: tracing is off (ENABLE_TRAJECTORY=false)"


async def test_a_rewards_parts_keep_their_place(run: Any) -> None:
    """Plain sub-rewards run in threads; what they call hangs below their reward all the same."""
    (found,) = await run(
        """
        import functools
        @observe_tool
        def look_up(word): return word

        class R(AbstractRolloutProcessor):
            @trace_processor_span(logical_kind="rollout", capture_io_attributes=False)
            def process(self, input):
                with rollout_context("other"):
                    look_up("a")
                thread = threading.Thread(target=look_up, args=("b",))
                thread.start()
                thread.join()
                @observe_llm(provider="mine")
                def ask(*, model, messages): return "42"
                @observe_llm
                def stream(*, model, prompt):
                    yield "4"
                    yield "2"
                ask(model="own", messages=ASK)
                parts = list(stream(model="own", prompt="hi"))
                with genai_llm_span() as call:
                    call.request_model, call.provider = "hand", "me"
                run_with_genai_llm_span(lambda x: x, "done", request_model="once", input_messages=ASK)
                assert current_trace_id_hex() and get_tracer() is not None and is_tracing_enabled()
                return done(input, {"role": "assistant", "content": "".join(parts)})
        """
    )
    assert found.result.is_ok, found.result.error
    assert found.tree()[2:] == [
        ("execute_tool look_up", ROLLOUT),
        ("execute_tool look_up", ROLLOUT),
        ("chat own", ROLLOUT),
        ("chat own", ROLLOUT),
        ("chat hand", ROLLOUT),
        ("chat once", ROLLOUT),
    ]
    assert found.of("TOOL")[0].attributes["bailian.agentic_rl.rollout_id"] == "other"
    assert "input.value" not in found.of("ROLLOUT")[0].attributes
    said = [json.loads(span.attributes.get("gen_ai.output.messages", "[]")) for span in found.of("LLM")]
    assert [message[0]["parts"][0]["content"] for message in said if message] == ["42", "42", "done"]
    assert found.of("LLM")[1].attributes["agentic_rl.stream.chunks"] == 2
    assert found.of("LLM")[0].attributes["gen_ai.provider.name"] == "mine"
