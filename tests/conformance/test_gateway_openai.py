"""The real openai client against the gateway, over a real port."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import openai
import pydantic
import pytest
import uvicorn

from agentic_rl_tui.core.platform.engine import Gateway
from agentic_rl_tui.core.platform.engine.policy import Place
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.engine.session import Session

Connect = Callable[[Session], openai.AsyncOpenAI]
ROW = Row.of(
    0,
    {
        "messages": [
            {
                "role": "user",
                "content": "In the form of ### ANSWER: <answer> ###. A box holds 12 pens. How many are in 7 boxes?",
            }
        ],
        "rollout_extra": {"solution": "84"},
    },
)
CALCULATOR: Any = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Evaluate an expression",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
            "additionalProperties": False,
        },
    },
}
MESSAGES: Any = ROW.messages


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    listener = socket.create_server(("127.0.0.1", 0))
    gateway.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(gateway.app, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    async with httpx.AsyncClient() as probe:
        await probe.get(f"{gateway.model_url}/models")
    yield gateway
    server.should_exit = True
    await task
    listener.close()


@pytest.fixture
async def connect(gateway: Gateway) -> AsyncIterator[Connect]:
    """Gives a client with the key of a session; all share one pool of connections, as in an agent."""
    async with openai.AsyncOpenAI(base_url=gateway.model_url, api_key="set per rollout", max_retries=0) as base:
        yield lambda session: base.with_options(api_key=session.key)


@pytest.fixture
def session(gateway: Gateway) -> Session:
    return gateway.open(PracticePolicy(), Place(ROW, (1, "train", 1, 0, 0, 1)))


@pytest.fixture
def client(connect: Connect, session: Session) -> openai.AsyncOpenAI:
    return connect(session)


async def test_a_completion(client: openai.AsyncOpenAI, session: Session) -> None:
    completion = await client.chat.completions.create(model="practice", messages=MESSAGES, temperature=0.7, seed=3)
    assert completion.object == "chat.completion"
    assert completion.model == "practice"
    choice = completion.choices[0]
    assert choice.finish_reason == "stop"
    assert isinstance(choice.message.content, str)
    assert completion.usage is not None
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    assert len(session.calls) == 1
    assert session.calls[0].answers == [{"role": "assistant", "content": choice.message.content}]


async def test_a_stream_says_the_same_as_a_completion(gateway: Gateway, connect: Connect) -> None:
    policy = PracticePolicy()
    for rollout in range(12):
        place = Place(ROW, (1, rollout))
        whole, streamed = gateway.open(policy, place), gateway.open(policy, place)
        tools = [CALCULATOR] if rollout % 2 else openai.NOT_GIVEN
        completion = await connect(whole).chat.completions.create(model="m", messages=MESSAGES, tools=tools)
        async with connect(streamed).chat.completions.stream(
            model="m", messages=MESSAGES, tools=tools, stream_options={"include_usage": True}
        ) as stream:
            kinds = [event.type async for event in stream]
            joined = await stream.get_final_completion()
        message, again = completion.choices[0].message, joined.choices[0].message
        assert (again.content or "") == (message.content or "")
        assert joined.choices[0].finish_reason == completion.choices[0].finish_reason
        assert joined.usage == completion.usage
        for call, twin in zip(message.tool_calls or (), again.tool_calls or (), strict=True):
            assert (call.id, call.function.name, call.function.arguments) == (
                twin.id,
                twin.function.name,
                twin.function.arguments,
            )
        assert "chunk" in kinds
        assert streamed.calls[0].streamed


async def test_raw_chunks_follow_the_protocol(client: openai.AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="m", messages=MESSAGES, stream=True, n=2, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert all(chunk.usage is None for chunk in chunks[:-1])
    ends = [choice for chunk in chunks for choice in chunk.choices if choice.finish_reason is not None]
    assert [choice.index for choice in ends] == [0, 1]
    plain = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    assert all(chunk.choices for chunk in [chunk async for chunk in plain])


async def test_the_tool_loop_of_an_agent(gateway: Gateway, connect: Connect) -> None:
    policy = PracticePolicy()
    answered = called = 0
    for rollout in range(30):
        session = gateway.open(policy, Place(ROW, (5, rollout)))
        messages = list(MESSAGES)
        client = connect(session)
        for _ in range(4):
            completion = await client.chat.completions.create(model="m", messages=messages, tools=[CALCULATOR])
            choice = completion.choices[0]
            messages.append(choice.message.model_dump(exclude_none=True))
            if not choice.message.tool_calls:
                answered += choice.message.content == "### ANSWER: 84 ###"
                break
            assert choice.finish_reason == "tool_calls"
            assert choice.message.content is None
            for call in choice.message.tool_calls:
                called += 1
                arguments = json.loads(call.function.arguments)
                assert list(arguments) == ["expression"]
                result = str(eval(arguments["expression"]))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        gateway.close(session)
    assert called > 5
    assert answered > 0


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "calculator"}}])
async def test_a_forced_tool_is_called(client: openai.AsyncOpenAI, choice: Any) -> None:
    for number in range(8):
        completion = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "x" * number or "y"}],
            tools=[{"type": "function", "function": {"name": "other"}}, CALCULATOR],
            tool_choice=choice,
        )
        calls = completion.choices[0].message.tool_calls
        assert calls
        assert calls[0].function.name == "calculator"
    nothing = await client.chat.completions.create(model="m", messages=MESSAGES, tools=[CALCULATOR], tool_choice="none")
    assert nothing.choices[0].message.tool_calls is None


class Verdict(pydantic.BaseModel):
    reasoning: str
    answer: str


async def test_structured_output_parses(client: openai.AsyncOpenAI) -> None:
    completion = await client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Verdict)
    assert isinstance(completion.choices[0].message.parsed, Verdict)


async def test_limits(client: openai.AsyncOpenAI) -> None:
    reasons = []
    for number in range(20):
        messages: Any = [{"role": "user", "content": "what? " * (number + 1)}]
        completion = await client.chat.completions.create(model="m", messages=messages, max_completion_tokens=2)
        assert completion.usage is not None
        assert completion.usage.completion_tokens <= 2
        reasons.append(completion.choices[0].finish_reason)
        stopped = await client.chat.completions.create(model="m", messages=messages, stop=[" "])
        assert " " not in (stopped.choices[0].message.content or "")
    assert "length" in reasons


async def test_errors_are_the_clients_own_classes(
    gateway: Gateway, client: openai.AsyncOpenAI, session: Session
) -> None:
    with pytest.raises(openai.BadRequestError) as bad:
        await client.chat.completions.create(model="m", messages=[])
    assert bad.value.param == "messages"
    with pytest.raises(openai.NotFoundError):
        await client.embeddings.create(model="m", input="x")
    with pytest.raises(openai.NotFoundError) as missing:
        await client.models.retrieve("gpt-5")
    assert missing.value.code == "model_not_found"
    assert [model.id async for model in await client.models.list()] == ["practice"]
    gateway.close(session)
    with pytest.raises(openai.AuthenticationError) as refused:
        await client.chat.completions.create(model="m", messages=MESSAGES)
    assert refused.value.code == "invalid_api_key"
    assert session.key not in str(refused.value)


async def test_many_rollouts_at_once_stay_apart(gateway: Gateway, connect: Connect) -> None:
    policy = PracticePolicy()

    async def one(number: int) -> tuple[str, str]:
        session = gateway.open(policy, Place(ROW, (9, number)))
        completion = await connect(session).chat.completions.create(model="m", messages=MESSAGES)
        gateway.close(session)
        return completion.choices[0].message.content or "", str(session.calls[0].answers[0]["content"])

    for answer, noted in await asyncio.gather(*(one(number) for number in range(32))):
        assert answer == noted
