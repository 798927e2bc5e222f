from agentic_rl_tui.core.models.status import ACTIVE, MOVES, TERMINAL, JobStatus, sources


def test_no_job_leaves_a_terminal_status() -> None:
    assert not TERMINAL & MOVES.keys()


def test_every_active_status_can_end() -> None:
    for status in ACTIVE:
        assert _reachable(status) & TERMINAL


def test_a_cancelled_job_was_asked_to_cancel_or_never_ran() -> None:
    assert sources(JobStatus.CANCELED) == {JobStatus.PENDING, JobStatus.QUEUING, JobStatus.CANCELING}


def _reachable(status: JobStatus) -> set[JobStatus]:
    seen: set[JobStatus] = set()
    frontier = [status]
    while frontier:
        for target in MOVES.get(frontier.pop(), frozenset()):
            if target not in seen:
                seen.add(target)
                frontier.append(target)
    return seen
