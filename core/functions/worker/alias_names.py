"""Which names each module under ``dashscope`` offers, and which of our modules holds each."""

from __future__ import annotations

_OURS = "agentic_rl_tui.core.functions.processors"
_R = "dashscope.finetune.reinforcement"


def _words(text: str) -> list[str]:
    return text.split()


_BASE_DATA = _words("BaseDataModel TaskStatus ModelProtocol Task Resource ModelResource RequestMetadata AgentOutput")
_DATA = [
    *_BASE_DATA,
    *_words("RewardInput RolloutInput GroupRewardInput Reward RewardOutput RolloutOutput GroupReward"),
    "GroupRewardOutput",
]
_PROCESSORS = _words("AbstractProcessor AbstractRewardProcessor AbstractRolloutProcessor AbstractGroupRewardProcessor")
_DECORATORS = _words(
    "reward_func sub_reward_func aggregate_func RewardProcessorMeta SubRewardFunction AggregateFunction"
)
_HOMES: dict[str, list[str]] = {
    "models": [name for name in _DATA if name not in {"TaskStatus", "ModelProtocol"}],
    "enums": _words("FunctionType TaskStatus ModelProtocol StatusType DatasetsType DataSourceType TrainingType"),
    "base": _PROCESSORS,
    "decorators": _DECORATORS,
    "manager": ["FuncManager"],
    "log": ["logger"],
}
_HOME_OF = {name: f"{_OURS}.{module}" for module, names in _HOMES.items() for name in names}

MODULES: dict[str, list[str]] = {
    "dashscope": [],
    "dashscope.finetune": [],
    _R: sorted(_HOME_OF),
    f"{_R}.common": [],
    f"{_R}.common.log": ["logger"],
    f"{_R}.component": sorted([*_DATA, *_DECORATORS, *_PROCESSORS]),
    f"{_R}.component.data": _DATA,
    f"{_R}.component.data.base_data_model": _BASE_DATA,
}


def home_of(module: str, name: str) -> str | None:
    """Our module that holds a name of theirs; None where the module does not offer it."""
    return _HOME_OF.get(name) if name in MODULES.get(module, ()) else None
