"""Everything about a job that can be found out on this machine before anything is sent, check by check."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.package_plan import PackagePlan
    from agentic_rl_tui.core.jobfile import FunctionSpec, JobDocument

OK, WARNING, ERROR = "ok", "warning", "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """path is relative to the job file's folder where it lies below it; line and col count from 1, 0 for none."""

    severity: str
    path: str
    line: int
    col: int
    message: str
    advice: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True)
class Check:
    """state: ``running``, ``ok``, ``warning`` or ``error``. More findings than are kept are counted in `hidden`."""

    name: str
    label: str
    state: str = "running"
    detail: str = ""
    findings: tuple[Finding, ...] = ()
    hidden: int = 0
    seconds: float = 0.0
    share: float | None = None

    @property
    def blocks(self) -> bool:
        return self.state == ERROR


OnCheck = Callable[[Check], None]
_MOST_FINDINGS = 50


def preflight(
    document: "JobDocument",
    *,
    secrets: tuple[str, ...] = (),
    on_check: OnCheck | None = None,
    cancel: threading.Event | None = None,
) -> tuple[Check, ...]:
    """Check the job file, its data sets, its functions and their packages. Blocking; never raises ArlError.

    on_check hears of each check when it starts, moves and ends. `cancel` ends the run at the next step; what was
    found until then is returned.
    """
    tell = on_check or (lambda _: None)
    stop = cancel or threading.Event()
    done: list[Check] = []
    for begin, run in _checks(document, secrets, stop):
        if stop.is_set():
            break
        tell(begin)
        started = time.monotonic()
        try:
            check = run(tell)
        except ArlError as error:
            finding = Finding(ERROR, begin.label, 0, 0, error.message, error.advice or "")
            check = replace(begin, state=ERROR, findings=(finding,))
        check = replace(check, seconds=time.monotonic() - started, share=None)
        tell(check)
        done.append(check)
    return tuple(done)


Run = Callable[[OnCheck], Check]


def _checks(document: "JobDocument", secrets: tuple[str, ...], cancel: threading.Event) -> Iterator[tuple[Check, Run]]:
    yield _paired(Check("jobfile", document.path.name), lambda begin, _: _job_file(begin, document))
    job = document.job
    if job is None:
        return
    base = job.workspace_dir
    limit = job.training.hyper_parameters.get("max_prompt_length")
    names = dict.fromkeys(data.file_name for data in job.datasets if data.file_name and not data.file_id)
    for name in names:
        begin = Check(f"data:{name}", name)
        yield _paired(begin, lambda begin, tell: _data(begin, base, limit, tell, cancel))
    for package in _packages(document, secrets):
        words = ", ".join(spec.name or spec.type.value for spec in package.specs)
        yield _paired(Check(f"package:{package.workspace}", words), package)


def _packages(document: "JobDocument", secrets: tuple[str, ...] = ()) -> "Iterator[_Package]":
    """What is sent of the functions: one package for each folder with its own requirements."""
    job = document.job
    if job is None:
        return
    sources: dict[tuple[Path, str], list[FunctionSpec]] = {}
    for spec in job.functions:
        if not spec.entity_id:
            sources.setdefault(_source(job.workspace_dir, spec), []).append(spec)
    for (workspace, requirements), specs in sources.items():
        yield _Package(job.workspace_dir, workspace, requirements, specs, secrets)


def planned_packages(document: "JobDocument") -> "Iterator[tuple[PackagePlan, Path]]":
    """Each package as it would be sent, with the place of its requirements; those that cannot be planned are left
    out, since their check tells why.
    """
    for package in _packages(document):
        try:
            plan, _findings = package.plan()
        except ArlError:
            continue
        yield plan, package.workspace / package.requirements


def _paired(begin: Check, run: Callable[[Check, OnCheck], Check]) -> tuple[Check, Run]:
    return begin, lambda tell: run(begin, tell)


def _job_file(begin: Check, document: "JobDocument") -> Check:
    findings = [
        Finding(item.severity.value, document.path.name, item.line, item.col, item.message, item.why)
        for item in document.diagnostics
        if item.severity.value != "info"
    ]
    return _judged(begin, findings, _(document.scenario) if document.scenario else "")


def _data(begin: Check, base: Path, limit: object, tell: OnCheck, cancel: threading.Event) -> Check:
    from agentic_rl_tui.core.datasets import check_file

    def move(done: int, total: int) -> None:
        tell(replace(begin, share=done / total if total else None))

    longest = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
    report = check_file(base / begin.label, max_prompt_length=longest, progress=move, cancel=cancel)
    findings = [
        Finding(item.severity.value, begin.label, item.line, item.col, item.message, item.fix)
        for item in report.problems
        if item.severity.value != "info"
    ]
    check = _judged(
        begin, findings, ngettext("{count} row", "{count} rows", report.rows).format(count=f"{report.rows:,}")
    )
    return replace(check, hidden=max(0, report.errors + report.warnings - len(check.findings)))


def _source(base: Path, spec: "FunctionSpec") -> tuple[Path, str]:
    code = spec.fcmodel
    workspace = base / (code.zipdir or "./")
    named = base / code.requirements_path
    inside = workspace / code.requirements_path
    chosen = inside if not named.is_file() and inside.is_file() else named
    return workspace, os.path.relpath(chosen, workspace)


@dataclass(frozen=True, slots=True)
class _Package:
    base: Path
    workspace: Path
    requirements: str
    specs: "list[FunctionSpec]"
    secrets: tuple[str, ...]

    def __call__(self, begin: Check, _tell: OnCheck) -> Check:
        plan, findings = self.plan()
        return package_check(begin, plan, findings)

    def plan(self) -> "tuple[PackagePlan, list[Finding]]":
        """Raises ArlError."""
        from agentic_rl_tui.core.functions import package
        from agentic_rl_tui.core.models.processors import BadClassPath

        functions = []
        findings = []
        for spec in self.specs:
            try:
                functions.append((spec.type, spec.fcmodel.parsed_classpath()))
            except BadClassPath as error:
                findings.append(Finding(ERROR, spec.name or spec.type.value, 0, 0, str(error)))
        extra = [self.base / name for spec in self.specs for name in spec.fcmodel.extra_files]
        plan = package.plan(
            self.workspace,
            functions=functions,
            extra_files=extra,
            requirements=self.requirements,
            secrets=self.secrets,
        )
        return plan, findings


def package_check(begin: Check, plan: "PackagePlan", findings: "list[Finding] | None" = None) -> Check:
    """A plan of a package as a check."""
    found = list(findings or ())
    found += [
        Finding(item.severity.value, item.path, item.line, item.col, item.message, item.advice)
        for item in plan.problems
        if item.severity.value != "info"
    ]
    return _judged(
        begin,
        found,
        ngettext("{count} file, {size:,} bytes", "{count} files, {size:,} bytes", len(plan.entries)).format(
            count=len(plan.entries), size=plan.total_bytes
        ),
    )


def _judged(begin: Check, findings: list[Finding], detail: str) -> Check:
    ranked = sorted(findings, key=lambda item: item.severity != ERROR)
    state = ERROR if any(item.severity == ERROR for item in findings) else WARNING if findings else OK
    hidden = max(0, len(findings) - _MOST_FINDINGS)
    return replace(begin, state=state, detail=detail, findings=tuple(ranked[:_MOST_FINDINGS]), hidden=hidden)
