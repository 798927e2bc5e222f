"""How the rewards of a group lie, and why, in words."""

from collections.abc import Mapping

from agentic_rl_tui.core.i18n import N_
from agentic_rl_tui.core.models.groups import Cause, Spread

CAUSES: Mapping[Cause, str] = {
    Cause.ROLLOUTS_FAILED: N_("the rollouts failed"),
    Cause.REWARDS_FAILED: N_("the reward failed"),
    Cause.ONE_ROLLOUT: N_("only one rollout: nothing to compare"),
    Cause.IDENTICAL: N_("all rollouts say the same: no exploration"),
    Cause.ZERO_BY_EXCEPTION: N_("a part of the reward raised"),
    Cause.CONSTANT: N_("the reward always gives the same value"),
    Cause.TOO_EASY: N_("too easy: all get the most"),
    Cause.TOO_HARD: N_("too hard: all get the least"),
    Cause.SAME_VALUE: N_("the reward does not tell them apart"),
}
SPREADS: Mapping[Spread, str] = {
    Spread.SPREAD: N_("spread"),
    Spread.ALL_MAX: N_("all max"),
    Spread.ALL_MIN: N_("all min"),
    Spread.ALL_OTHER: N_("all same"),
    Spread.UNUSABLE: N_("unusable"),
}
