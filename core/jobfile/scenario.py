"""The ways a job can learn: reinforcement, and four forms of OPD by which functions it has."""

from dataclasses import dataclass

from agentic_rl_tui.core.i18n import N_
from agentic_rl_tui.core.jobfile.model import JobFile

RL = N_("RL")
OPD_TEACHER = N_("OPD: teacher only")
OPD_REWARD = N_("OPD: teacher + reward")
OPD_ROLLOUT = N_("OPD: teacher + rollout")
OPD_ALL = N_("OPD: teacher + rollout + reward")


@dataclass(frozen=True, slots=True)
class Scenario:
    """trajectories and task_reward say where they come from, in words."""

    name: str
    has_teacher: bool
    has_rollout: bool
    has_reward: bool
    trajectories: str
    task_reward: str


_PLATFORM, _CUSTOM, _NONE = N_("made by the service"), N_("from your rollout"), N_("none")

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(RL, False, True, True, _CUSTOM, N_("your rewards")),
        Scenario(OPD_TEACHER, True, False, False, _PLATFORM, _NONE),
        Scenario(OPD_REWARD, True, False, True, _PLATFORM, N_("your rewards")),
        Scenario(OPD_ROLLOUT, True, True, False, _CUSTOM, _NONE),
        Scenario(OPD_ALL, True, True, True, _CUSTOM, N_("your rewards")),
    )
}


def name_of(*, is_opd: bool, has_rollout: bool, has_reward: bool) -> str:
    """The scenario; RL is named so even where it lacks a function it needs."""
    if not is_opd:
        return RL
    return {
        (False, False): OPD_TEACHER,
        (False, True): OPD_REWARD,
        (True, False): OPD_ROLLOUT,
        (True, True): OPD_ALL,
    }[(has_rollout, has_reward)]


def scenario_of(job: JobFile) -> Scenario:
    return SCENARIOS[
        name_of(
            is_opd=job.is_opd,
            has_rollout=job.rollout is not None,
            has_reward=bool(job.rewards or job.group_rewards),
        )
    ]
