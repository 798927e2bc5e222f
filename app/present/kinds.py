"""The kinds of functions in words."""

from agentic_rl_tui.core.i18n import N_, _

_WORDS = {"rollout": N_("rollout"), "reward": N_("reward"), "group_reward": N_("group reward")}


def kind_word(kind: str) -> str:
    """A kind of the job file as people read it; an unknown one as it is written."""
    return _(_WORDS.get(kind, kind)) if kind else ""
