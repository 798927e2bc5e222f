"""Data sets: checked on this machine, then sent several at once."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentic_rl_tui.core.client.files import Files
from agentic_rl_tui.core.client.relay import Relay
from agentic_rl_tui.core.models.errors import ArlError, ConfigError, InputError, UploadError
from agentic_rl_tui.core.sdk.body import ReadyDataset
from agentic_rl_tui.core.sdk.components import Dataset
from agentic_rl_tui.core.sdk.events import Note
from agentic_rl_tui.core.sdk.steps import Step, Steps

if TYPE_CHECKING:
    from agentic_rl_tui.core.datasets import DatasetReport

AT_ONCE = 3


class Uploaded(NamedTuple):
    """File ids in the order the data sets were given; ids that were given already are among them."""

    training_ids: list[str]
    validation_ids: list[str]


@dataclass(frozen=True, slots=True)
class Uploader:
    """base is the folder that relative names start from."""

    files: Files
    base: Path

    async def check(self, datasets: Sequence[Dataset], steps: Steps, *, force: bool = False) -> None:
        """Look at every file that would be sent; nothing is sent. Raises for the first that must not be.

        force: problems inside a file become notes; a missing, empty or too large file is refused all the same.
        """
        for data in datasets:
            if (lack := data.missing()) is not None:
                raise InputError(f"a {data.type} data set of source {data.data_source_type.value} needs {lack}")
        for name in self._names(datasets):
            path = self.files.checked(self.base / name)
            async with steps.step(f"check:{name}", f"check {name}") as step:
                report = await self._report(path, _bytes_of(step))
                step.detail = f"{report.rows:,} rows"
                if report.warnings or (report.errors and force):
                    step.detail += f", {report.errors} errors, {report.warnings} warnings"
                if not report.is_ok and not force:
                    raise _bad_rows(name, report)

    async def upload(self, datasets: Sequence[Dataset], steps: Steps) -> list[ReadyDataset]:
        """Send what has no id yet, each file once. Raises UploadError holding the ids of what did arrive."""
        for data in datasets:
            if data.type not in ("training", "validation"):
                steps.send(
                    Note(f"{data.file_name or data.file_id}: data sets of type {data.type} take no part in a job")
                )
        names = self._names(datasets)
        gate = asyncio.Semaphore(AT_ONCE)
        ids: dict[str, str] = {}
        errors: list[tuple[str, ArlError]] = []

        async def send(name: str) -> None:
            async with gate:
                try:
                    async with steps.step(f"upload:{name}", f"upload {name}") as step:
                        remote = await self.files.upload(self.base / name, progress=_bytes_of(step))
                        step.detail = ids[name] = remote.file_id
                except ArlError as error:
                    errors.append((name, error))

        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(send(name))
        if errors:
            raise _not_all(errors, ids)
        return [ReadyDataset(data, data.file_id or ids.get(data.file_name or "")) for data in datasets]

    def _names(self, datasets: Sequence[Dataset]) -> list[str]:
        """Names of files to send, each once."""
        wanted = [data for data in datasets if data.needs_upload and data.type in ("training", "validation")]
        return list(dict.fromkeys(data.file_name for data in wanted if data.file_name))

    async def _report(self, path: Path, progress: Callable[[int, int], None]) -> "DatasetReport":
        from agentic_rl_tui.core.datasets import check_file

        cancel = threading.Event()
        relay = Relay(asyncio.get_running_loop(), progress)
        try:
            return await asyncio.to_thread(check_file, path, progress=relay, cancel=cancel)
        except asyncio.CancelledError:
            cancel.set()
            raise
        finally:
            relay.flush()


def _bytes_of(step: Step) -> Callable[[int, int], None]:
    return lambda done, total: step.progress(done, total, "bytes")


def by_use(ready: Sequence[ReadyDataset]) -> Uploaded:
    def ids(kind: str) -> list[str]:
        return [part.file_id for part in ready if part.dataset.type == kind and part.file_id]

    return Uploaded(ids("training"), ids("validation"))


def _bad_rows(name: str, report: "DatasetReport") -> ConfigError:
    problems = tuple(problem for problem in report.problems if problem.severity == "error")
    first = f": {problems[0]}" if problems else ""
    return ConfigError(
        f"{name} has {report.errors} error{'s' if report.errors != 1 else ''}{first}",
        diagnostics=problems,
        advice="Correct the rows, or pass force=True (--force) to send the file as it is.",
        number=2061,
    )


def _not_all(errors: Sequence[tuple[str, ArlError]], ids: dict[str, str]) -> ArlError:
    if len(errors) == 1 and not ids:
        return errors[0][1]
    first = errors[0][1]
    arrived = ", ".join(f"{name} as {file_id}" for name, file_id in ids.items())
    return UploadError(
        "; ".join(f"{name}: {error.message}" for name, error in errors),
        uploaded=dict(ids),
        advice=(f"On the service already: {arrived}; delete them or pass their ids. " if ids else "") + first.advice,
        status=first.status,
        code=first.code,
        request_id=first.request_id,
        method=first.method,
        path=first.path,
    )
