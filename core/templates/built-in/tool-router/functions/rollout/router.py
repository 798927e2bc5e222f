"""An assistant with many tools: it picks the one that fits, sees its result and answers."""

import openai

from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutInput, RolloutOutput
from dashscope.finetune.reinforcement.component.observability import observe_processor, observe_tool, trace_client

from functions.tools import TOOLS, run

MAX_TURNS = 3


@observe_tool
def call_tool(name: str, arguments: str) -> str:
    return run(name, arguments)


class ToolRouter(AbstractRolloutProcessor):
    def setup(self) -> None:
        self._client: openai.AsyncOpenAI | None = None

    def _client_for(self, resource) -> openai.AsyncOpenAI:
        """One connection pool for all rollouts; the key differs from rollout to rollout."""
        if self._client is None:
            self._client = openai.AsyncOpenAI(base_url=resource.base_url, api_key="set-per-rollout", max_retries=2)
        client = self._client.with_options(base_url=resource.base_url, api_key=resource.api_key.get_secret_value())
        trace_client(client)
        return client

    @observe_processor
    async def process(self, input: RolloutInput) -> RolloutOutput:
        sampling = input.sampling_params or {}
        client = self._client_for(input.model_resource)
        messages = list(input.messages)
        calls = 0
        for _turn in range(MAX_TURNS):
            completion = await client.chat.completions.create(
                model=input.model_resource.model_name,
                messages=messages,
                tools=TOOLS,
                temperature=sampling.get("temperature", 1.0),
                max_tokens=sampling.get("max_tokens", 512),
            )
            answer = completion.choices[0].message
            messages.append(answer.model_dump(exclude_none=True, exclude={"annotations"}))
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                calls += 1
                result = call_tool(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return RolloutOutput(
            agent_output=AgentOutput(
                messages=messages,
                rollout_extra=input.rollout_extra,
                rollout_metrics={"tool_calls": float(calls)},
            ),
        )
