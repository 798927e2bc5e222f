"""How the answer is given: marked as asked, and not buried in words. A decorated reward with two parts."""

from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor,
    Reward,
    RewardInput,
    RewardOutput,
    aggregate_func,
    reward_func,
    sub_reward_func,
)

from functions.reward.answer import extract, final_text

SHORT = 400
LONG = 2000


@reward_func("style")
class StyleReward(AbstractRewardProcessor):
    @sub_reward_func("marked", sub_weight=0.7)
    def marked(self, input: RewardInput) -> RewardOutput:
        found = extract(final_text(input.agent_output.messages)) is not None
        return RewardOutput(reward=Reward(reward_score=float(found)))

    @sub_reward_func("brief", sub_weight=0.3)
    async def brief(self, input: RewardInput) -> RewardOutput:
        """1 up to SHORT characters, falling to 0 at LONG. An empty answer is not brief, it is missing."""
        length = len(final_text(input.agent_output.messages).strip())
        score = 0.0 if length == 0 else min(1.0, max(0.0, (LONG - length) / (LONG - SHORT)))
        return RewardOutput(reward=Reward(reward_score=score, reward_metrics={"characters": float(length)}))

    @aggregate_func
    def aggregate(self, sub_rewards: dict[str, RewardOutput]) -> RewardOutput:
        return RewardOutput(
            reward=Reward(
                reward_score=self.get_total(sub_rewards),
                reward_metrics=self.get_reward_metrics(sub_rewards),
            ),
        )
