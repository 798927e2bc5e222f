"""The places of the app by name, key and title."""

PLACES = (
    ("workspace", "1", "Workspace"),
    ("functions", "2", "Functions"),
    ("jobfile", "3", "Job file"),
    ("jobs", "4", "Jobs"),
    ("traces", "5", "Traces"),
)


def place_name(name: str | None) -> str | None:
    """A place by the name somebody typed: ``job-file`` and ``jobfile`` are the same."""
    plain = (name or "").replace("-", "").replace("_", "").replace(" ", "").lower()
    return next((place for place, _, _ in PLACES if place == plain), None)
