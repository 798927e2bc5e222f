"""A solver without tools: one question, one answer with its reasoning in front of it."""

import openai

from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutInput, RolloutOutput
from dashscope.finetune.reinforcement.component.observability import observe_processor, trace_client

ROLE = {
    "role": "system",
    "content": "You solve word problems. Show each calculation, and end with one line of the form #### <number>.",
}


class StepSolver(AbstractRolloutProcessor):
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
        messages = [ROLE, *input.messages]
        completion = await self._client_for(input.model_resource).chat.completions.create(
            model=input.model_resource.model_name,
            messages=messages,
            temperature=sampling.get("temperature", 1.0),
            max_tokens=sampling.get("max_tokens", 2048),
        )
        choice = completion.choices[0]
        messages.append(choice.message.model_dump(exclude_none=True, exclude={"annotations"}))
        return RolloutOutput(
            agent_output=AgentOutput(
                messages=messages,
                rollout_extra=input.rollout_extra,
                rollout_metrics={"cut_off": float(choice.finish_reason == "length")},
            ),
        )
