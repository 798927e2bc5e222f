"""The kinds of functions and the phases of a job in words."""

from agentic_rl_tui.core.i18n import N_, _

_WORDS = {"rollout": N_("rollout"), "reward": N_("reward"), "group_reward": N_("group reward")}
_PHASES = {
    "starting": N_("starting"),
    "training": N_("training"),
    "train": N_("train"),
    "evaluating": N_("evaluating"),
    "evaluation": N_("evaluation"),
}


def kind_word(kind: str) -> str:
    """A kind of the job file as people read it; an unknown one as it is written."""
    return _(_WORDS.get(kind, kind)) if kind else ""


def phase_word(phase: str) -> str:
    """What a job is at; an unknown phase as the service calls it."""
    return _(_PHASES.get(phase, phase))
