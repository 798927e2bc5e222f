"""What the job under the cursor is about, below the table where there is room."""

from textual.containers import Horizontal, Vertical
from textual.reactive import reactive

from agentic_rl_tui.app.present.jobs import JobRow
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.area import AreaChart
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Fact, Facts, Note, Section


class JobPeek(Vertical):
    """In: `row`. Never takes the focus."""

    row: reactive[JobRow | None] = reactive[JobRow | None](None, init=False, repaint=False)

    def on_mount(self) -> None:
        self.set_class(self.row is None, "-empty")

    async def watch_row(self, row: JobRow | None) -> None:
        self.set_class(row is None, "-empty")
        if row is None:
            return
        if not self.children:
            # Made with the first job: an empty place has no need of them, and the first frame comes sooner.
            columns = Horizontal(AreaChart(), Note(), Facts(id="jobs-peek-facts"), id="jobs-peek-columns")
            await self.mount(Heading(id="jobs-peek-title"), columns)
        self._show(row)

    def _show(self, row: JobRow) -> None:
        title = self.query_one(Heading)
        title.title = row.name
        title.facts = ((row.look.label, row.look.style),)
        curve = self.query_one(AreaChart)
        reason = self.query_one(Note)
        curve.values = row.rewards
        curve.color = "$fill" if row.is_active else "$quiet"
        curve.share = row.step / row.total_steps if row.step and row.total_steps else 1.0
        curve.ends = ("1", str(row.total_steps or len(row.rewards)))
        curve.display = len(row.rewards) > 1 and not row.reason
        reason.display = not curve.display
        reason.lines = (((row.reason, "$ink"),),) if row.reason else (((_("No reward yet"), "$faint"),),)
        self.query_one(Facts).sections = (Section("", tuple(_facts(row))),)


def _facts(row: JobRow) -> list[Fact]:
    steps: list[Span] = [(f"{row.step or 0}", "$ink"), (_(" of {total}").format(total=row.total_steps), "$muted")]
    facts = [
        Fact(_("id"), row.job_id),
        Fact(_("model"), row.model or "–"),
        Fact(_("kind"), row.kind),
        Fact(_("steps"), steps if row.total_steps else "–"),
        Fact(_("age"), row.age),
    ]
    if row.rewards:
        facts.append(Fact(_("reward"), [(f"{row.rewards[-1]:.3f}", "$ink bold")]))
        facts.append(Fact(_("first"), f"{row.rewards[0]:.3f}"))
        facts.append(Fact(_("best"), f"{max(row.rewards):.3f}"))
    return facts
