"""What the files of a workspace are, from cheap looks at them."""

from dataclasses import dataclass
from pathlib import Path

from agentic_rl_tui.app.present.kinds import kind_word
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.processors import ProcessorInfo

SKIPPED = frozenset({"__pycache__", "node_modules", ".git", ".venv", "venv", ".mypy_cache", ".ruff_cache"})
_PEEK_BYTES = 4096


@dataclass(frozen=True, slots=True)
class FileFacts:
    """glyph and word say what a file is, kind the same for programs; style is the word's."""

    glyph: str
    kind: str = ""
    word: str = ""
    style: str = "$muted"


PLAIN = FileFacts(" ")


def file_facts(path: Path, processors: "tuple[ProcessorInfo, ...]" = ()) -> FileFacts:
    """What one file is. Reads at most its first 4 KB."""
    if processors:
        kinds = dict.fromkeys(kind_word(item.kind.value) for item in processors)
        return FileFacts("ƒ", "functions", " + ".join(kinds), "$accent")
    name = path.name.lower()
    if path.suffix == ".jsonl":
        return FileFacts("≡", "data", _("data"), "$running")
    if name.startswith("requirements") and path.suffix == ".txt":
        return FileFacts("◇", "requirements", _("requirements"))
    if path.suffix in (".yaml", ".yml") and _is_job_file(path):
        return FileFacts("▸", "job", _("job file"), "$succeeded")
    if name == "agentic-rl.toml":
        return FileFacts("◇", "settings", _("settings"))
    return PLAIN


def _is_job_file(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_PEEK_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    keys = {line.partition(":")[0] for line in head.splitlines() if line[:1].isalpha()}
    return len(keys & {"functions", "datasets", "training", "model", "teacher_model"}) >= 2


def is_listed(path: Path) -> bool:
    return path.name not in SKIPPED and not path.name.endswith(".egg-info")
