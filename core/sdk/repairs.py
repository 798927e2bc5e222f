"""What can be put right by itself around a job file: the file, its data sets, the requirements of its functions.

Nothing is written before `Repair.apply`; what would change can be shown first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.textfile import TextFile, write_atomic

if TYPE_CHECKING:
    from agentic_rl_tui.core.datasets import Fix
    from agentic_rl_tui.core.jobfile import JobDocument

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Repair:
    """One file. label says what is done, count at how many places; lines show the change, cut after some."""

    kind: str
    path: Path
    label: str
    count: int
    lines: tuple[str, ...]
    apply: Callable[[], object] = field(repr=False, compare=False)


def repairs(document: "JobDocument") -> tuple[Repair, ...]:
    """Everything that is safe to do, each file at most once. Blocking; files that cannot be read are left out."""
    found = [*_job_file(document), *_data(document), *_requirements(document)]
    return tuple({repair.path: repair for repair in found}.values())


def _job_file(document: "JobDocument") -> Iterator[Repair]:
    from agentic_rl_tui.core.jobfile import fix_all

    text = fix_all(document)
    if text != document.text:
        write = partial(TextFile.read(document.path).save, text)
        yield _rewritten("jobfile", document.path, document.text, text, _("correct the job file"), write)


def _rewritten(kind: str, path: Path, before: str, after: str, label: str, apply: Callable[[], object]) -> Repair:
    name = path.name
    lines = tuple(unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm=""))
    count = sum(line.startswith("@@") for line in lines)
    return Repair(kind, path, label, count, lines, apply)


def _data(document: "JobDocument") -> Iterator[Repair]:
    from agentic_rl_tui.core.datasets import check_file, plan_fixes, preview

    job = document.job
    for name in dict.fromkeys(data.file_name for data in (job.datasets if job else ()) if data.file_name):
        assert job is not None
        path = job.workspace_dir / name
        try:
            fixes = plan_fixes(check_file(path))
            lines = tuple(preview(fixes, _SHOWN)) if fixes else ()
        except (OSError, ArlError):
            continue  # the check of the same file tells of it
        if fixes:
            label = "; ".join(fix.label for fix in fixes)
            write = partial(_apply_data, tuple(fixes), path)
            yield Repair("data", path, label, sum(fix.count for fix in fixes), lines, write)


def _apply_data(fixes: "tuple[Fix, ...]", path: Path) -> None:
    from agentic_rl_tui.core.datasets import apply

    apply(fixes, path, overwrite=True)


def _requirements(document: "JobDocument") -> Iterator[Repair]:
    from agentic_rl_tui.core.sdk.preflight import planned_packages

    for plan, path in planned_packages(document):
        rules = {(problem.rule, problem.line) for problem in plan.problems if problem.path == plan.requirements}
        if not path.exists():
            if ("requirements-missing", 0) in rules:
                lines = (f"+++ {path.name}",)
                yield Repair("requirements", path, _("make the file, empty"), 1, lines, path.touch)
            continue
        try:
            before = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue  # the check of the package tells of it
        after = _mended(before, rules)
        if after != before:
            write = partial(write_atomic, path, after.encode())
            yield _rewritten("requirements", path, before, after, _("correct the requirements"), write)


def _mended(text: str, rules: set[tuple[str, int]]) -> str:
    """Lines that the runtime forbids or wants otherwise; the others and their ends stay."""
    from agentic_rl_tui.core.functions.requirements import PROTOBUF_RANGE, normalize
    from agentic_rl_tui.core.functions.requirements_names import TRACING_PINS

    lines = text.splitlines(keepends=True)
    for rule, number in rules:
        if not 0 < number <= len(lines):
            continue
        line = lines[number - 1]
        ending = line[len(line.rstrip("\r\n")) :]
        if rule == "requirements-dashscope":
            lines[number - 1] = ""
        elif rule == "requirements-protobuf":
            lines[number - 1] = f"protobuf{PROTOBUF_RANGE}{ending}"
        elif rule == "requirements-tracing":
            name = next((name for name in TRACING_PINS if normalize(line).startswith(name)), None)
            lines[number - 1] = line if name is None else f"{name}=={TRACING_PINS[name]}{ending}"
    mended = "".join(lines)
    if ("requirements-tracing", 0) in rules:
        end = "\r\n" if "\r\n" in text else "\n"
        present = {normalize(line.split("==")[0].strip()) for line in lines}
        missing = [f"{name}=={version}{end}" for name, version in TRACING_PINS.items() if name not in present]
        mended += ("" if not mended or mended.endswith("\n") else end) + "".join(missing)
    return mended
