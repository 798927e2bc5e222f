"""The columns of the jobs: those that were chosen, and choosing others."""

from abc import abstractmethod
from typing import TYPE_CHECKING

from agentic_rl_tui.app.present.jobs import USUAL_COLUMNS, JobRow, every_column, job_columns
from agentic_rl_tui.app.screens.job_marks import JobMarks
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.app.screens.columns import Layout
    from agentic_rl_tui.widgets.columns import Column


class JobsColumns(JobMarks):
    """Subclasses give the `table`."""

    @property
    @abstractmethod
    def table(self) -> Table[JobRow]:
        """The list of jobs."""

    def _chosen_columns(self) -> tuple[str, ...]:
        wish = self.arl.settings.get("tui.jobs_columns")
        return tuple(map(str, wish)) if isinstance(wish, list | tuple) else USUAL_COLUMNS

    def columns(self) -> "tuple[Column[JobRow], ...]":
        return job_columns(self._chosen_columns(), has_curves=not self.arl.is_slow)

    def action_columns(self) -> None:
        from agentic_rl_tui.app.screens.columns import ColumnPicker, Picked

        shown = [column.key for column in self.table.columns]
        known = {column.key: Picked(column.key, column.title, column.key in shown) for column in every_column()}
        keys = [*shown, *(key for key in known if key not in shown)]
        picker = ColumnPicker([known[key] for key in keys], self.table.order, USUAL_COLUMNS)
        self.app.push_screen(picker, self._take_layout)

    def _take_layout(self, layout: "Layout | None") -> None:
        if layout is None:
            return
        self.table.set_columns(job_columns(layout.columns, has_curves=not self.arl.is_slow))
        self.table.order = layout.order
        is_usual = layout.columns == USUAL_COLUMNS
        self._prefer("tui.jobs_columns", None if is_usual else list(layout.columns))

    def _prefer(self, key: str, value: object) -> None:
        if not self.arl.options.keeps_settings:
            return
        try:
            self.arl.prefer(key, value)
        except ArlError as error:
            self.arl.fail(error, _("keep the columns"))
