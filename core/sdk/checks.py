"""The soundness of a whole workspace, part by part; parts that did not change are not looked at again."""

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.sdk.preflight import ERROR, OK, WARNING, Check, Finding, package_check
from agentic_rl_tui.core.workspaces import job_files

if TYPE_CHECKING:
    from agentic_rl_tui.core.datasets import DatasetReport
    from agentic_rl_tui.core.functions.discovery import Discovery
    from agentic_rl_tui.core.jobfile import JobDocument
    from agentic_rl_tui.core.models.processors import ProcessorInfo

_KEPT = 50
OnCheck = Callable[[Check], None]


@dataclass
class WorkspaceChecker:
    """Checks one workspace again and again. Names: ``:functions``, ``:package``, ``:leaks``, or a file's path."""

    root: Path
    reports: "dict[Path, tuple[tuple[int, int], DatasetReport]]" = field(default_factory=dict)
    _discovery: "Discovery | None" = None
    _leaks: tuple[object, Check] | None = None

    def run(self, on_check: OnCheck, cancel: threading.Event) -> tuple[Check, ...]:
        """All checks, in the order in which they are of use. Blocking; stops early once `cancel` is set."""
        done = []
        for check in self._checks(cancel):
            if cancel.is_set():
                break
            on_check(check)
            done.append(check)
        return tuple(done)

    def _checks(self, cancel: threading.Event) -> Iterator[Check]:
        from agentic_rl_tui.core.functions.discovery import discover
        from agentic_rl_tui.core.jobfile import DiskFacts, load

        self._discovery = self._discovery.refresh() if self._discovery is not None else discover(self.root)
        infos = [info for info in self._discovery.processors if not info.is_abstract]
        findings = [
            Finding(item.severity.value, item.path, item.line, item.col, item.message, item.advice)
            for item in self._discovery.problems
        ]
        if infos or findings:
            yield replace(
                _judged(
                    ":functions",
                    ngettext("{count} function", "{count} functions", len(infos)).format(count=len(infos)),
                    findings,
                ),
                label=_("functions"),
            )
        facts = DiskFacts(self.root, self._discovery.processors)
        documents = []
        for path in job_files(self.root):
            try:
                document = load(path, facts=facts)
            except ArlError as error:
                yield _judged(path.name, "", [Finding(ERROR, path.name, 0, 0, error.message)])
                continue
            if is_job(document):
                documents.append(document)
                yield _job_check(path, document)
        if infos and not cancel.is_set():
            yield self._package(infos)
        for path in data_sets(self.root, documents):
            if cancel.is_set():
                return
            yield self._data(path, cancel)
        yield from self._leak_check(documents, cancel)

    def _package(self, infos: "list[ProcessorInfo]") -> Check:
        from agentic_rl_tui.core.functions import package

        begin = Check(":package", _("package"))
        try:
            pairs = [(info.kind, info.classpath) for info in infos]
            plan = package.plan(self.root, functions=pairs, discovery=self._discovery)
        except ArlError as error:
            return replace(begin, state=ERROR, findings=(Finding(ERROR, ".", 0, 0, error.message, error.advice or ""),))
        return package_check(begin, plan)

    def _data(self, path: Path, cancel: threading.Event) -> Check:
        from agentic_rl_tui.core.datasets import CheckCanceled, check_file

        name = _name(self.root, path)
        try:
            facts = path.stat()
            key = (facts.st_mtime_ns, facts.st_size)
            known = self.reports.get(path)
            report = known[1] if known is not None and known[0] == key else check_file(path, cancel=cancel)
            self.reports[path] = (key, report)
        except CheckCanceled:
            return Check(name, name, "running")
        except (OSError, ArlError) as error:
            return _judged(name, "", [Finding(ERROR, name, 0, 0, str(error))])
        findings = [
            Finding(item.severity.value, name, item.line, item.col, _at(item.json_path, item.message), item.fix)
            for item in report.problems
            if item.severity.value != "info"
        ]
        check = _judged(
            name, ngettext("{count} row", "{count} rows", report.rows).format(count=f"{report.rows:,}"), findings
        )
        return replace(check, hidden=max(0, report.errors + report.warnings - len(check.findings)))

    def _leak_check(self, documents: "list[JobDocument]", cancel: threading.Event) -> Iterator[Check]:
        from agentic_rl_tui.core.datasets import CheckCanceled, find_leaks

        for document in documents:
            job = document.job
            if job is None:
                continue
            sets = [
                [
                    self.root / data.file_name
                    for data in group
                    if data.file_name and (self.root / data.file_name).is_file()
                ]
                for group in (job.training_datasets, job.validation_datasets)
            ]
            if not all(sets):
                continue
            key = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for group in sets for path in group)
            if self._leaks is not None and self._leaks[0] == key:
                yield self._leaks[1]
                return
            try:
                report = find_leaks(sets[0], sets[1], max_leaks=_KEPT, cancel=cancel)
            except (CheckCanceled, ArlError):
                return
            findings = [
                Finding(
                    WARNING, _name(self.root, leak.row.file), leak.row.line, 1, str(leak).replace(f"{self.root}/", "")
                )
                for leak in report.leaks
                if leak.is_between
            ]
            count = report.exact_between + report.near_between
            check = _judged(
                ":leaks",
                ngettext(
                    "{count} validation row is in the training data",
                    "{count} validation rows are in the training data",
                    count,
                ).format(count=count)
                if count
                else "",
                findings,
            )
            check = replace(check, label=_("leaks"), hidden=max(0, count - len(check.findings)))
            self._leaks = (key, check)
            yield check
            return


def is_job(document: "JobDocument") -> bool:
    """Whether a YAML file is meant as a job at all."""
    job = document.job
    if job is None:
        return "job" in document.path.name
    return bool(job.functions or job.datasets or job.model.name or job.teacher_model)


def data_sets(root: Path, documents: "Iterable[JobDocument]") -> list[Path]:
    """The data files that jobs name, then those that lie at the top or in ``data``."""
    found: dict[Path, None] = {}
    for document in documents:
        for data in document.job.datasets if document.job is not None else ():
            if data.file_name and (root / data.file_name).is_file():
                found[(root / data.file_name).resolve()] = None
    for path in [*sorted(root.glob("*.jsonl")), *sorted((root / "data").glob("*.jsonl"))]:
        found.setdefault(path.resolve(), None)
    return list(found)


def _job_check(path: Path, document: "JobDocument") -> Check:
    findings = [
        Finding(item.severity.value, path.name, item.line, item.col, item.message, item.why)
        for item in document.diagnostics
        if item.severity.value != "info"
    ]
    return _judged(path.name, _(document.scenario) if document.scenario else "", findings)


def _at(place: str, message: str) -> str:
    return f"{place}: {message}" if place else message


def _name(root: Path, path: Path) -> str:
    resolved = root.resolve()
    return path.relative_to(resolved).as_posix() if path.is_relative_to(resolved) else str(path)


def _judged(name: str, detail: str, findings: list[Finding]) -> Check:
    ranked = sorted(findings, key=lambda item: item.severity != ERROR)
    state = ERROR if any(item.severity == ERROR for item in findings) else WARNING if findings else OK
    hidden = max(0, len(findings) - _KEPT)
    return Check(name, name, state, detail, tuple(ranked[:_KEPT]), hidden)


def signature(root: Path, skipped: frozenset[str], *, most: int = 50_000) -> int:
    """A number that changes when any file below a folder is written, added or removed. Hidden folders do not count."""
    import os

    seen = 0
    count = 0
    pending = [os.fspath(root)]
    while pending and count < most:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.name in skipped or entry.name.startswith("."):
                        continue
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    facts = entry.stat(follow_symlinks=False)
                    seen ^= hash((entry.path, facts.st_mtime_ns, facts.st_size))
        except OSError:
            # A folder that vanished while it was read makes the next look different, which is all that is needed.
            seen ^= 1
    return seen
