"""What is wrong in the workspace, looked at again whenever a file changes, with the repairs there are."""

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import on, work
from textual.message import Message

from agentic_rl_tui.app.present.columns import titled
from agentic_rl_tui.app.present.preflight import LOOKS
from agentic_rl_tui.app.present.workspace import SKIPPED
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.workspace_preview import WorkspacePreview
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.cells import Cell, Span, clip_path
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.diff import DiffLine
from agentic_rl_tui.widgets.panels import Note
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.datasets import DatasetReport
    from agentic_rl_tui.core.datasets import Fix as DataFix
    from agentic_rl_tui.core.sdk.checks import WorkspaceChecker
    from agentic_rl_tui.core.sdk.preflight import Check, Finding

WATCH_EVERY_S = 2.0
_LONGEST_PLACE = 18
"""Cells of a place on a narrow screen."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    finding: "Finding"
    check: str
    number: int

    @property
    def key(self) -> str:
        return f"{self.check}:{self.number}:{self.finding.place}"


def _place(row: FindingRow, width: int) -> Cell:
    return [(clip_path(_clean(row.finding.place), width), "$muted")]


def _message(row: FindingRow, _width: int) -> Cell:
    glyph, style = LOOKS.get(row.finding.severity, LOOKS["info"])
    return [(f"{glyph} ", style), (_clean(row.finding.message), "$ink"), (f"  {_clean(row.finding.advice)}", "$faint")]


def _clean(text: str) -> str:
    return redact(plain(text, keep_newlines=False))


FINDING_COLUMNS: tuple[Column[FindingRow], ...] = (
    Column("place", N_("WHERE"), _place, 8, 30),
    Column("message", N_("PROBLEM"), _message, 24, 160),
)


def _columns_for(rows: list[FindingRow]) -> tuple[Column[FindingRow], ...]:
    """Places in the cells that they need: the rest is for what is wrong."""
    place, message = titled(FINDING_COLUMNS)
    widest = max((cell_len(_clean(row.finding.place)) for row in rows), default=0)
    widest = max(place.width, min(widest, place.limit or widest))
    return replace(place, width=min(widest, _LONGEST_PLACE), limit=widest), message


class WorkspaceChecks(WorkspacePreview):
    @dataclass
    class CheckDone(Message):
        check: "Check"
        turn: int

    @dataclass
    class AllChecked(Message):
        names: frozenset[str]
        turn: int

    @dataclass
    class FilesChanged(Message):
        root: Path

    @dataclass
    class RepairsPlanned(Message):
        path: Path
        fixes: "tuple[DataFix, ...]"
        lines: tuple[str, ...]

    @dataclass
    class RepairFailed(Message):
        error: ArlError

    def __init__(self) -> None:
        super().__init__()
        self.checks: dict[str, Check] = {}
        self._checker: WorkspaceChecker | None = None
        self._check_turn = 0
        self._check_stop = threading.Event()
        self._signature: int | None = None
        self._states: dict[str, str] = {}

    @property
    def findings(self) -> "Table[FindingRow]":
        return self.query_one("#workspace-findings", Table)

    def on_mount(self) -> None:
        if self.arl.options.is_polling:
            self.set_interval(WATCH_EVERY_S, self.watch_files)

    def state_of(self, name: str) -> str:
        known = self._states.get(name, "")
        if known:
            return known
        is_function = name in self._by_path or name == "requirements.txt"
        return "ok" if is_function and ":package" in self.checks else ""

    def _gather_states(self) -> None:
        """The worst that was found of each file; the verdict of a check of its own comes first."""
        self._states = {}
        for check in self.checks.values():
            for finding in check.findings:
                if self._states.get(finding.path) != "error":
                    self._states[finding.path] = finding.severity
        self._states.update({name: check.state for name, check in self.checks.items() if not name.startswith(":")})

    # Looking

    def check_all(self) -> None:
        from agentic_rl_tui.core.sdk.checks import WorkspaceChecker

        self._check_stop.set()
        self._check_stop = threading.Event()
        self._check_turn += 1
        if self._checker is None or self._checker.root != self.root:
            self._checker = WorkspaceChecker(self.root)
            self.checks = {}
        self._check_all(self._checker, self._check_turn, self._check_stop)

    @work(thread=True, exclusive=True, group="workspace.check", exit_on_error=False)
    def _check_all(self, checker: "WorkspaceChecker", turn: int, stop: threading.Event) -> None:
        done = checker.run(lambda check: self._tell_check(check, turn), stop)
        if not stop.is_set():
            self.post_message(self.AllChecked(frozenset(check.name for check in done), turn))

    def _tell_check(self, check: "Check", turn: int) -> None:
        self.post_message(self.CheckDone(check, turn))

    @on(CheckDone)
    def _check_done(self, event: CheckDone) -> None:
        if event.turn == self._check_turn:
            self.checks[event.check.name] = event.check
            self.show_checks()

    @on(AllChecked)
    def _all_checked(self, event: AllChecked) -> None:
        if event.turn == self._check_turn:
            self.checks = {name: check for name, check in self.checks.items() if name in event.names}
            self.show_checks()

    def watch_files(self) -> None:
        if self.is_current and self.app.app_focus:
            self._watch_files(self.root, self._signature)

    @work(thread=True, exclusive=True, group="workspace.watch", exit_on_error=False)
    def _watch_files(self, root: Path, known: int | None) -> None:
        from agentic_rl_tui.core.sdk.checks import signature

        now = signature(root, SKIPPED)
        self._signature = now
        if known is not None and now != known:
            self.post_message(self.FilesChanged(root))

    @on(FilesChanged)
    def _files_changed(self, event: FilesChanged) -> None:
        if event.root == self.root:
            self.look_again()
            self.check_all()
            self.forget_preview()

    def show_checks(self) -> None:
        rows = [
            FindingRow(finding, check.name, number)
            for check in self.checks.values()
            for number, finding in enumerate(check.findings)
        ]
        rows.sort(key=lambda row: row.finding.severity != "error")
        self.findings.set_columns(_columns_for(rows))
        self.findings.items = tuple(rows)
        self.findings.display = bool(rows)
        heading = self.query_one("#checks-heading", Heading)
        heading.title = _("Checks")
        errors = sum(row.finding.severity == "error" for row in rows)
        warnings = len(rows) - errors
        facts: list[Span] = []
        if errors:
            facts.append(
                (ngettext("✗ {count} error", "✗ {count} errors", errors).format(count=errors) + "  ", "$failed")
            )
        if warnings:
            facts.append(
                (ngettext("! {count} warning", "! {count} warnings", warnings).format(count=warnings) + "  ", "$warn")
            )
        hidden = sum(check.hidden for check in self.checks.values())
        if hidden:
            facts.append((_("and {count} more").format(count=f"{hidden:,}") + "  ", "$muted"))
        sound = [f"✓ {_clean(check.label)}  " for check in self.checks.values() if check.state == "ok"]
        heading.facts = (*facts, ("".join(sound), "$succeeded"))
        self._gather_states()
        self.tree_changed()

    @on(Table.Highlighted, "#workspace-findings")
    def show_finding(self) -> None:
        """The whole of the finding under the cursor, while the cursor is among them: its row is often cut."""
        note = self.query_one("#workspace-finding", Note)
        row = self.findings.current
        note.display = row is not None and self.findings.has_focus
        if row is not None:
            advice = _clean(row.finding.advice)
            message = ((_clean(row.finding.message), "$ink"),)
            note.lines = (message, ((f"→ {advice}", "$muted"),)) if advice else (message,)

    # Acting

    def action_checks(self) -> None:
        if self.findings.items:
            self.findings.focus()
        else:
            self.arl.say(_("Nothing is wrong as far as the checks tell"))

    @on(Table.Opened, "#workspace-findings")
    def _go_to_finding(self) -> None:
        row = self.findings.current
        if row is None:
            return
        path = self.root / row.finding.path
        if row.check.endswith((".yaml", ".yml")):
            self.open_job_file_at(path, row.finding.line)
        elif path.is_file():
            self._move_to = path
            self._open.update(
                parent for parent in path.parents if parent.is_relative_to(self.root) and parent != self.root
            )
            self.look_again()
            self.preview(path, row.finding.line)

    def open_job_file_at(self, path: Path, line: int) -> None:
        from agentic_rl_tui.app.screens.jobfile import JobFileScreen

        self.arl.open_job_file(path)
        screen = self.app.screen
        if isinstance(screen, JobFileScreen):
            screen.start_at(path, line)

    def action_fix(self) -> None:
        row = self.findings.current
        if row is None:
            self.arl.refuse(_("There is nothing to fix"))
            return
        if row.check.endswith((".yaml", ".yml")):
            self.open_job_file_at(self.root / row.finding.path, row.finding.line)
            return
        known = self._checker.reports.get((self.root / row.finding.path).resolve()) if self._checker else None
        if known is None:
            self.arl.refuse(_("This is mended by hand: enter goes there, e edits"))
        else:
            self._plan_repairs(known[1])

    @work(thread=True, exclusive=True, group="workspace.fix", exit_on_error=False)
    def _plan_repairs(self, report: "DatasetReport") -> None:
        from agentic_rl_tui.core.datasets import plan_fixes, preview

        try:
            fixes = tuple(plan_fixes(report))
            lines = tuple(preview(fixes, 40)) if fixes else ()
        except ArlError as error:
            self.post_message(self.RepairFailed(error))
            return
        self.post_message(self.RepairsPlanned(report.path, fixes, lines))

    @on(RepairFailed)
    def _repair_failed(self, event: RepairFailed) -> None:
        self.arl.fail(event.error, _("repair the data set"))

    @on(RepairsPlanned)
    def _show_repairs(self, event: RepairsPlanned) -> None:
        if not event.fixes:
            self.arl.refuse(_("No safe repair is known for this; e edits the file"))
            return
        lines = [_diff_line(text) for text in event.lines]
        reasons = [((f"{fix.label}  ", "$ink"), (_places(fix.count), "$muted")) for fix in event.fixes]

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._repair(event.path, event.fixes)

        title = _("Repair {name}").format(name=event.path.name)
        self.app.push_screen(Difference(title, "", "", lines=lines, reasons=reasons, yes=_("Apply")), answered)

    @work(thread=True, exclusive=True, group="workspace.fix", exit_on_error=False)
    def _repair(self, path: Path, fixes: "tuple[DataFix, ...]") -> None:
        from agentic_rl_tui.core.datasets import apply

        try:
            apply(fixes, path, overwrite=True)
        except ArlError as error:
            self.post_message(self.RepairFailed(error))
            return
        self.post_message(self.FilesChanged(self.root))


def _places(count: int) -> str:
    return ngettext("{count} place", "{count} places", count).format(count=f"{count:,}")


def _diff_line(text: str) -> DiffLine:
    if text.startswith("@@"):
        return DiffLine(" ", 0, 0, text.strip("@ "))
    return DiffLine(text[:1], 0, 0, plain(text[1:], keep_newlines=False))
