"""From a request's JSON object to the input model of a kind."""

from typing import Any, ClassVar

from agentic_rl_tui.core.functions.processors.enums import FunctionType
from agentic_rl_tui.core.functions.processors.models import BaseDataModel, GroupRewardInput, RewardInput, RolloutInput


class BaseRequestParser:
    model: ClassVar[type[BaseDataModel]] = BaseDataModel

    def parse(self, raw: dict[str, Any]) -> Any:
        """Raises pydantic's ValidationError."""
        return self.model(**raw)


class RolloutRequestParser(BaseRequestParser):
    model = RolloutInput


class RewardRequestParser(BaseRequestParser):
    model = RewardInput


class GroupRewardRequestParser(BaseRequestParser):
    model = GroupRewardInput


PARSERS: dict[FunctionType, type[BaseRequestParser]] = {
    FunctionType.ROLLOUT: RolloutRequestParser,
    FunctionType.REWARD: RewardRequestParser,
    FunctionType.GROUP_REWARD: GroupRewardRequestParser,
}
