"""Reading the rollouts of a job in the background, for the tab that shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from textual import work
from textual.message import Message

from agentic_rl_tui.app.screens.job_panes import JobPane
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError

if TYPE_CHECKING:
    from agentic_rl_tui.app.screens.base import PlaceScreen
    from agentic_rl_tui.app.tui import ArlApp

_MOST_EXPLAINED = 512
_BATCH = 8


@dataclass(frozen=True, slots=True)
class Place:
    """A step of a phase, or one sample of it."""

    phase: str
    step: int
    sample: int | None = None


class RolloutReader(JobPane):
    """Asks the platform and posts what came; the newest request of a kind wins."""

    @dataclass
    class StepsCame(Message):
        page: dict[str, Any] | None

    @dataclass
    class SamplesCame(Message):
        place: Place
        page: Mapping[str, Any]

    @dataclass
    class GroupCame(Message):
        place: Place
        page: Mapping[str, Any]

    @dataclass
    class GroupsRead(Message):
        place: Place
        pages: Mapping[int, Mapping[str, Any]]

    def __init__(self, job_id: str) -> None:
        super().__init__(id="trajectories")
        self.job_id = job_id

    @property
    def arl(self) -> "ArlApp":
        return cast("ArlApp", self.app)

    async def ask(self, purpose: str, label: str, *, text: str, hint: str) -> None:
        await cast("PlaceScreen", self.screen).prompt.ask(purpose, label, text=text, hint=hint)

    @property
    def is_ready(self) -> bool:
        """Whether there is somebody to ask yet."""
        return self.arl.backend is not None

    async def steps_page(self) -> dict[str, Any] | None:
        backend = self.arl.backend
        return None if backend is None else await backend.trajectories(self.job_id)

    async def place_page(self, place: Place) -> Mapping[str, Any] | None:
        backend = self.arl.backend
        if backend is None:
            return None
        return await backend.trajectories(self.job_id, step=place.step, sample=place.sample, phase=place.phase)

    async def _page(self, place: Place) -> Mapping[str, Any]:
        return await self.place_page(place) or {}

    @work(exclusive=True, group="trajectories.steps", exit_on_error=False)
    async def load(self) -> None:
        """Read the steps again; deeper levels stay as they are."""
        if not self.is_ready:
            return
        try:
            page = await self.steps_page()
        except ArlError as error:
            self._fail(error)
        else:
            self.post_message(self.StepsCame(page))

    @work(exclusive=True, group="trajectories.load", exit_on_error=False)
    async def read_samples(self, place: Place) -> None:
        try:
            page = await self._page(place)
        except ArlError as error:
            self._fail(error)
        else:
            self.post_message(self.SamplesCame(place, page))

    @work(exclusive=True, group="trajectories.load", exit_on_error=False)
    async def read_group(self, place: Place) -> None:
        try:
            page = await self._page(place)
        except ArlError as error:
            self._fail(error)
        else:
            self.post_message(self.GroupCame(place, page))

    @work(exclusive=True, group="trajectories.explain", exit_on_error=False)
    async def explain(self, place: Place, samples: Sequence[int]) -> None:
        """Read whole groups for their prompts and causes, a few at a time, until another step is shown."""
        pages: dict[int, Mapping[str, Any]] = {}
        wanted = samples[:_MOST_EXPLAINED]
        for number, sample in enumerate(wanted, 1):
            try:
                pages[sample] = await self._page(Place(place.phase, place.step, sample))
            except ArlError:
                # The samples are on the screen already; what breaks here is told when one is opened.
                return
            if number % _BATCH == 0 or number == len(wanted):
                self.post_message(self.GroupsRead(place, pages))
                pages = {}

    @work(exclusive=True, group="trajectories.load", exit_on_error=False)
    async def turn(self, place: Place, steps: Sequence[int], *, is_sample: bool) -> None:
        """Go to the first of `steps`, or to the first of them in which the sample of `place` comes up."""
        try:
            for step in steps:
                there = Place(place.phase, step)
                page = await self._page(there)
                if not is_sample:
                    self.post_message(self.SamplesCame(there, page))
                    return
                if any(item.get("sample") == place.sample for item in page.get("samples") or ()):
                    target = Place(place.phase, step, place.sample)
                    self.post_message(self.GroupCame(target, await self._page(target)))
                    return
        except ArlError as error:
            self._fail(error)
            return
        if is_sample:
            self.arl.refuse(_("Sample {sample} comes up in no other step that way").format(sample=place.sample))
        else:
            self.arl.refuse(_("There is no other step that way"))

    def stop_turning(self) -> None:
        """Give up looking for the next step with a sample."""
        self.workers.cancel_group(self, "trajectories.load")

    def read_now(self, place: Place) -> Mapping[str, Any]:
        """A group, for a thread that writes it: waits for the answer of the app's own loop. Raises ArlError."""
        page: Mapping[str, Any] = self.arl.call_from_thread(self._page, place)
        return page

    def _fail(self, error: ArlError) -> None:
        self.arl.fail(error, _("read the trajectories"))
