"""Writing a template to a directory without ever overwriting what a user has there."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.templates import arithmetic, errands, stories


@dataclass(frozen=True, slots=True)
class Template:
    """A workspace that runs as it is. data() makes the files that are generated rather than kept."""

    name: str
    title: str
    data: Callable[[], dict[str, bytes]]
    job_file: str = "rl-job.yaml"

    def contents(self) -> dict[str, bytes]:
        """Every file by its path inside the workspace."""
        root = files("agentic_rl_tui.core.templates") / "built-in" / self.name
        return dict(sorted({**_walk(root, ""), **self.data()}.items()))


def _walk(folder: Traversable, prefix: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.name == "__pycache__" or entry.name.endswith(".pyc"):
            continue
        if entry.is_dir():
            found |= _walk(entry, f"{prefix}{entry.name}/")
        else:
            found[prefix + entry.name] = entry.read_bytes()
    return found


TEMPLATES = {
    template.name: template
    for template in (
        Template("calc-agent", N_("Arithmetic word problems with a calculator tool"), arithmetic.data_files),
        Template("word-problems", N_("Word problems of several steps, solved without tools"), stories.data_files),
        Template(
            "tool-router",
            N_("Choosing the right tool among ten, learnt from a teacher (OPD)"),
            errands.data_files,
            "opd-job.yaml",
        ),
    )
}


class WorkspaceExists(InputError):
    """The destination holds something already. is_same_template tells whether it looks like an earlier writing."""

    def __init__(self, destination: Path, others: list[str], *, is_same_template: bool) -> None:
        shown = ", ".join(others[:3])
        if len(others) > 3:
            shown = _("{names} and {count} more").format(names=shown, count=len(others) - 3)
        super().__init__(
            _("{destination} already holds {shown}; nothing was written").format(destination=destination, shown=shown),
            advice=_("Name another directory, or open this one with: agentic-rl-tui --workspace DIR"),
        )
        self.is_same_template = is_same_template


def write_workspace(template: Template, destination: Path) -> list[str]:
    """Write every file of a template below `destination` and return their paths.

    The files are first written to a directory of their own and then moved, so that a full disk leaves either the whole
    workspace or none. An empty directory that is there stays the same one: somebody may stand in it, or it is a mount.
    Raises WorkspaceExists, InputError.
    """
    contents = template.contents()
    if destination.is_symlink() or destination.is_file():
        raise InputError(
            _("{destination} is not a directory").format(destination=destination),
            advice=_("Name a directory that does not exist yet."),
        )
    if destination.is_dir() and (present := sorted(entry.name for entry in destination.iterdir())):
        raise WorkspaceExists(
            destination, present, is_same_template=all((destination / path).is_file() for path in contents)
        )
    try:
        is_there = destination.is_dir()
        around = destination if is_there else destination.parent
        around.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=around, prefix=".agentic-rl-") as staging:
            fresh = Path(staging) / "workspace"
            for path, content in contents.items():
                target = fresh / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            if is_there:
                for entry in sorted(fresh.iterdir()):
                    entry.rename(destination / entry.name)
            else:
                fresh.rename(destination)
    except OSError as error:
        raise InputError(
            _("{destination} cannot be written: {reason}").format(destination=destination, reason=error.strerror),
            advice=_("Check the place's permissions and free space."),
        ) from error
    return list(contents)
