"""The places of the app by name, key and title."""

from agentic_rl_tui.core.i18n import N_

PLACES = (
    ("workspace", "1", N_("Workspace")),
    ("functions", "2", N_("Functions")),
    ("jobfile", "3", N_("Job file")),
    ("jobs", "4", N_("Jobs")),
    ("traces", "5", N_("Traces")),
)


def place_name(name: str | None) -> str | None:
    """A place by the name somebody typed: ``job-file`` and ``jobfile`` are the same."""
    plain = (name or "").replace("-", "").replace("_", "").replace(" ", "").lower()
    return next((place for place, _key, _title in PLACES if place == plain), None)


def first_place(wanted: str | None, last: str | None) -> str:
    """Where the app begins: where somebody asks for, then where it was left."""
    return place_name(wanted) or place_name(last) or "jobs"
