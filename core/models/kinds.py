"""Kinds of functions. Apart from the other models, since programs that start often need no more than these."""

from enum import StrEnum


class FunctionKind(StrEnum):
    ROLLOUT = "rollout"
    REWARD = "reward"
    GROUP_REWARD = "group_reward"

    @property
    def route(self) -> str:
        """The last part of the registration path: ``create/<route>``."""
        return self.value.replace("_", "-")

    @property
    def entity_field(self) -> str:
        """The key of the entity id in a registration answer."""
        return f"{self.value}_id"

    @property
    def prefix(self) -> str:
        """What entity and instance ids of this kind start with."""
        return {"rollout": "ro", "reward": "rw", "group_reward": "grw"}[self.value]
