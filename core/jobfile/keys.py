"""How a key of the job file is described: its type, range, default, meaning and source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from agentic_rl_tui.core.i18n import N_, _

TRAINING_PAGE = "help.aliyun.com/zh/model-studio/rl-training-config-monitoring"
OVERVIEW_PAGE = "help.aliyun.com/zh/model-studio/rl-training-overview"
CHECKLIST_PAGE = "help.aliyun.com/zh/model-studio/rl-pre-submission-checklist"
OPD_PAGE = "help.aliyun.com/zh/model-studio, OPD training configuration"
OPD_OVERVIEW_PAGE = "help.aliyun.com/zh/model-studio, OPD training overview"
FUNCTION_PAGE = "help.aliyun.com/zh/model-studio, RL function development"
OBSERVE_PAGE = "help.aliyun.com/zh/model-studio, RL observability"
GUIDE = "Agentic RL user guide"
CLIENT = "dashscope 2.0.2, as measured"


class Kind(StrEnum):
    """What a value must be; the words are shown to users."""

    TEXT = N_("text")
    INT = N_("whole number")
    NUMBER = N_("number")
    BOOL = N_("true or false")
    CHOICE = N_("one of a list")
    SECTION = N_("section")
    LIST = N_("list")
    TEXTS = N_("list of texts")
    NUMBERS = N_("names with numbers")
    VALUES = N_("names with values")
    ANY = N_("anything")


@dataclass(frozen=True, slots=True)
class Key:
    """One key. Limits are inclusive unless `above` (an exclusive lower one) is set.

    is_open: a section that takes keys nobody here knows, since the service ignores them without a word.
    """

    name: str
    kind: Kind
    meaning: str
    default: str = ""
    low: float | None = None
    high: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    keys: Mapping[str, "Key"] = field(default_factory=dict)
    item: "Key | None" = None
    is_open: bool = False
    is_nullable: bool = True
    source: str = GUIDE

    @property
    def range_text(self) -> str:
        """The allowed values in words; empty when anything of the type goes."""
        if self.choices:
            return " | ".join(self.choices)
        if self.above is not None:
            return f"> {_short(self.above)}" + (f", <= {_short(self.high)}" if self.high is not None else "")
        if self.low is not None and self.high is not None:
            return _("{low} to {high}").format(low=_short(self.low), high=_short(self.high))
        if self.low is not None:
            return f">= {_short(self.low)}"
        return ""

    def holds(self, value: float) -> bool:
        """Whether a number lies in the range; NaN never does."""
        if self.low is not None and not value >= self.low:
            return False
        if self.high is not None and not value <= self.high:
            return False
        return not (self.above is not None and not value > self.above) and value == value


def _short(number: float) -> str:
    return f"{number:,.0f}".replace(",", "") if number == int(number) else f"{number:g}"


def table(*keys: Key) -> Mapping[str, Key]:
    return MappingProxyType({key.name: key for key in keys})


def count(name: str, high: int, meaning: str, default: str = "", source: str = TRAINING_PAGE, low: int = 1) -> Key:
    return Key(name, Kind.INT, meaning, default, low=low, high=high, source=source)
