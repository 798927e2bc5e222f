"""The SDK and the local platform of agentic-rl-tui.

Names are resolved on first use: importing this package must stay free of pydantic and httpx, because
``agentic-rl-tui --help`` passes through it.
"""

TYPE_CHECKING = False  # typing itself would be a sixth of the time of `--version`
if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk import AgenticRL as AgenticRL
    from agentic_rl_tui.core.sdk import AgenticRLFunctionComponent as AgenticRLFunctionComponent
    from agentic_rl_tui.core.sdk import DataSourceType as DataSourceType
    from agentic_rl_tui.core.sdk import FunctionComponentModel as FunctionComponentModel
    from agentic_rl_tui.core.sdk import FunctionComponentRuntime as FunctionComponentRuntime
    from agentic_rl_tui.core.sdk import FunctionType as FunctionType
    from agentic_rl_tui.core.sdk import GroupRewardFunctionComponent as GroupRewardFunctionComponent
    from agentic_rl_tui.core.sdk import RewardFunctionComponent as RewardFunctionComponent
    from agentic_rl_tui.core.sdk import RolloutFunctionComponent as RolloutFunctionComponent
    from agentic_rl_tui.core.sdk import TrainingDataset as TrainingDataset
    from agentic_rl_tui.core.sdk import ValidationDataset as ValidationDataset

__all__ = [
    "AgenticRL",
    "AgenticRLFunctionComponent",
    "DataSourceType",
    "FunctionComponentModel",
    "FunctionComponentRuntime",
    "FunctionType",
    "GroupRewardFunctionComponent",
    "RewardFunctionComponent",
    "RolloutFunctionComponent",
    "TrainingDataset",
    "ValidationDataset",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from agentic_rl_tui.core import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
