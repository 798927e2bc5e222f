"""Clients other than the plain chat: the responses API, wrappers around clients, and what nobody can trace."""

import json
from typing import Any

SERVED = """
import httpx, json

ITEMS = [
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "so"}]},
    {"type": "message", "id": "m", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "84", "annotations": []}]},
    {"type": "function_call", "id": "f", "call_id": "c1", "name": "calc", "arguments": '{"x": 1}'},
]

def body(status="completed", **more):
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5,
             "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {"id": "resp", "object": "response", "created_at": 0, "model": "served", "status": status, "output": ITEMS,
            "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], **more}

def events():
    yield {"type": "response.created", "response": body("in_progress", output=[], usage=None), "sequence_number": 0}
    place = {"output_index": 0, "item_id": "m", "content_index": 0}
    item = {**ITEMS[1], "content": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item, "sequence_number": 1}
    part = {"type": "output_text", "text": "", "annotations": []}
    yield {"type": "response.content_part.added", **place, "part": part, "sequence_number": 2}
    yield {"type": "response.output_text.delta", **place, "delta": "84", "logprobs": [], "sequence_number": 3}
    yield {"type": "response.completed", "response": body(), "sequence_number": 4}

seen = []

def serve(request):
    asked = json.loads(request.content)
    seen.append(request.headers.get("traceparent", ""))
    if asked["input"] == "fail":
        failed = body("failed", output=[], error={"code": "server_error", "message": "no"})
        return httpx.Response(200, json=failed)
    if asked["input"] == "refuse":
        return httpx.Response(400, json={"error": {"message": "bad", "type": "invalid", "code": "bad"}})
    if not asked.get("stream"):
        return httpx.Response(200, json=body())
    lines = [f"event: {event['type']}\\ndata: {json.dumps(event)}\\n\\n" for event in events()]
    return httpx.Response(200, text="".join(lines), headers={"content-type": "text/event-stream"})

def clients():
    given = {"base_url": "http://served/v1", "api_key": "k", "max_retries": 0}
    plain = openai.OpenAI(**given, http_client=httpx.Client(transport=httpx.MockTransport(serve)))
    async_ = openai.AsyncOpenAI(**given, http_client=httpx.AsyncClient(transport=httpx.MockTransport(serve)))
    return plain, async_
"""


async def test_the_responses_api_gives_spans(run: Any) -> None:
    (found,) = await run(
        SERVED
        + """
class R(AbstractRolloutProcessor):
    async def process(self, input):
        plain, async_ = clients()
        trace_client(plain)
        trace_client(async_)
        ask = {"model": "big", "input": "12 * 7?", "instructions": "Be short."}
        answer = plain.responses.create(**ask)
        assert isinstance(answer, openai.types.responses.Response) and answer.output_text == "84"
        assert (await async_.responses.create(**ask)).output_text == "84"
        with plain.responses.create(**ask, stream=True) as stream:
            assert isinstance(stream, openai.Stream)
            assert [event.type for event in stream][-1] == "response.completed"
        stream = await async_.responses.create(**ask, stream=True)
        assert [event.type async for event in stream][-1] == "response.completed"
        async with async_.responses.stream(**ask) as stream:
            async for event in stream:
                pass
        raw = plain.responses.with_raw_response.create(**ask)
        assert raw.headers and raw.parse().id == "resp"
        assert plain.responses.parse(**ask).output_text == "84"
        talk = [{"role": "user", "content": "?"}, {"type": "function_call", "call_id": "c1", "name": "calc",
                "arguments": "{}"}, {"type": "function_call_output", "call_id": "c1", "output": "84"}]
        plain.responses.create(model="big", input=talk)
        plain.responses.create(model="big", input="fail")
        try:
            plain.responses.create(model="big", input="refuse")
        except openai.BadRequestError:
            pass
        return done(input, *[{"role": "assistant", "content": name} for name in seen])
"""
    )
    assert found.result.is_ok, found.result.error
    assert found.completeness.text == "LLM 10/10, tools 0/0"
    spans = found.of("LLM")
    assert {span.name for span in spans} == {"chat big"}
    for span in spans[:7]:
        (said,) = json.loads(span.attributes["gen_ai.output.messages"])
        assert said["parts"] == [
            {"type": "reasoning", "content": "so"},
            {"type": "text", "content": "84"},
            {"type": "tool_call", "id": "c1", "name": "calc", "arguments": {"x": 1}},
        ]
        assert said["finish_reason"] == "completed"
        given = json.loads(span.attributes["gen_ai.input.messages"])
        assert [(item["role"], item["parts"][0]["content"]) for item in given] == [
            ("system", "Be short."),
            ("user", "12 * 7?"),
        ]
        assert span.attributes["gen_ai.usage.total_tokens"] == 5
        assert (span.attributes["gen_ai.response.model"], span.attributes["gen_ai.response.id"]) == ("served", "resp")
    for span in spans[2:5]:
        assert span.attributes["agentic_rl.stream.chunks"] == 5
        assert span.attributes["agentic_rl.stream.first_token_s"] > 0
    talk = json.loads(spans[7].attributes["gen_ai.input.messages"])
    assert [item["role"] for item in talk] == ["user", "assistant", "tool"]
    assert talk[2]["parts"] == [{"type": "tool_call_response", "id": "c1", "result": "84"}]
    assert [(span.status, span.attributes.get("error.type")) for span in spans[8:]] == [
        ("ERROR", "server_error"),
        ("ERROR", "BadRequestError"),
    ]
    named = [message["content"] for message in found.result.output["agent_output"]["messages"][1:]]
    assert [name.split("-")[2] for name in named] == [span.span_id for span in spans]


async def test_a_wrapper_is_traced_by_its_clients(run: Any) -> None:
    """LangChain's shape: chat completions in ``client``, everything else through ``root_client``."""
    (found,) = await run(
        SERVED
        + """
class Wrapper:
    def __init__(self, resource):
        self.root_client, self.root_async_client = clients()
        self.client = sync_client(resource).chat.completions
        self.async_client = async_client(resource).chat.completions

class R(AbstractRolloutProcessor):
    async def process(self, input):
        wrapper = Wrapper(input.model_resource)
        trace_client(wrapper)
        trace_client(wrapper)
        wrapper.client.create(model="practice", messages=ASK)
        await wrapper.async_client.create(model="practice", messages=ASK)
        wrapper.root_client.responses.create(model="big", input="?")
        await wrapper.root_async_client.responses.create(model="big", input="?")
        return done(input)
"""
    )
    assert found.result.is_ok, found.result.error
    assert found.completeness.text == "LLM 4/4, tools 0/0"
    assert found.completeness.linked == 2
    assert [span.name for span in found.of("LLM")] == ["chat practice"] * 2 + ["chat big"] * 2


async def test_what_cannot_be_traced_is_left_alone_and_told(run: Any) -> None:
    (found,) = await run(
        """
class Odd:
    __slots__ = ()
    def ask(self): return 42

class Tool:
    def look_up(self): return 43

class R(AbstractRolloutProcessor):
    def process(self, input):
        odd, tool = Odd(), Tool()
        for thing in (odd, None, 7, "text"):
            assert trace_client(thing) is None
        trace_tool([tool])
        assert odd.ask() == 42 and tool.look_up() == 43
        assert vars(tool) == {}
        return done(input)
"""
    )
    assert found.result.is_ok, found.result.error
    assert found.completeness.is_complete
    assert found.completeness.cautions == (
        "trace_client() does not know agent.Odd, builtins.NoneType, builtins.int, builtins.str; use @observe_llm",
        "trace_tool() cannot wrap tool Tool; use @observe_tool",
    )


async def test_a_traceparent_of_the_users_own_is_kept(run: Any) -> None:
    """It names a span that is none of ours, so nothing is linked, and the call counts as traced all the same."""
    (found,) = await run(
        """
class R(AbstractRolloutProcessor):
    def process(self, input):
        client = sync_client(input.model_resource)
        trace_client(client)
        headers = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}
        client.chat.completions.create(model="practice", messages=ASK, extra_headers=headers)
        client.chat.completions.create(model="practice", messages=ASK)
        return done(input)
"""
    )
    assert found.result.is_ok, found.result.error
    assert found.completeness.text == "LLM 2/2, tools 0/0"
    assert found.completeness.linked == found.spans[0].attributes["agentic_rl.model_calls.linked"] == 1
