"""Data sets: checked on this machine, then sent several at once."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentic_rl_tui.core.client.files import Files
from agentic_rl_tui.core.client.relay import Relay
from agentic_rl_tui.core.i18n import _, ngettext
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
    """base is the folder that relative names start from. rows: what the checks counted, by name."""

    files: Files
    base: Path
    rows: dict[str, int] = field(default_factory=dict)

    async def check(self, datasets: Sequence[Dataset], steps: Steps, *, force: bool = False) -> None:
        """Look at every file that would be sent; nothing is sent. Raises for the first that must not be.

        force: problems inside a file become notes; a missing, empty or too large file is refused all the same.
        """
        for data in datasets:
            if (lack := data.missing()) is not None:
                raise InputError(
                    _("a {type} data set of source {source} needs {lack}").format(
                        type=data.type, source=data.data_source_type.value, lack=lack
                    )
                )
        for name in self._names(datasets):
            path = self.files.checked(self.base / name)
            async with steps.step(f"check:{name}", _("check {name}").format(name=name)) as step:
                report = await self._report(path, _bytes_of(step))
                self.rows[name] = report.rows
                step.detail = _("{rows:,} rows").format(rows=report.rows)
                if report.warnings or (report.errors and force):
                    step.detail = _("{rows:,} rows, {errors} errors, {warnings} warnings").format(
                        rows=report.rows, errors=report.errors, warnings=report.warnings
                    )
                if not report.is_ok and not force:
                    raise _bad_rows(name, report)

    async def upload(self, datasets: Sequence[Dataset], steps: Steps) -> list[ReadyDataset]:
        """Send what has no id yet, each file once. Raises UploadError holding the ids of what did arrive."""
        for data in datasets:
            if data.type not in ("training", "validation"):
                steps.send(
                    Note(
                        _("{file_name}: data sets of type {type} take no part in a job").format(
                            file_name=data.file_name or data.file_id, type=data.type
                        )
                    )
                )
        names = self._names(datasets)
        gate = asyncio.Semaphore(AT_ONCE)
        ids: dict[str, str] = {}
        errors: list[tuple[str, ArlError]] = []

        async def send(name: str) -> None:
            async with gate:
                try:
                    async with steps.step(f"upload:{name}", _("upload {name}").format(name=name)) as step:
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
    told = ngettext("{name} has {count} error", "{name} has {count} errors", report.errors)
    told = told.format(name=name, count=report.errors)
    if problems:
        told = _("{what}: {detail}").format(what=told, detail=problems[0])
    return ConfigError(
        told,
        diagnostics=problems,
        advice=_("Correct the rows, or pass force=True (--force) to send the file as it is."),
        number=2061,
    )


def _arrived(ids: dict[str, str], advice: str) -> str:
    if not ids:
        return advice
    files = ", ".join(_("{name} as {file_id}").format(name=name, file_id=file_id) for name, file_id in ids.items())
    return f"{_('On the service already: {files}; delete them or pass their ids.').format(files=files)} {advice}"


def _not_all(errors: Sequence[tuple[str, ArlError]], ids: dict[str, str]) -> ArlError:
    if len(errors) == 1 and not ids:
        return errors[0][1]
    first = errors[0][1]
    return UploadError(
        "; ".join(f"{name}: {error.message}" for name, error in errors),
        uploaded=dict(ids),
        advice=_arrived(ids, first.advice),
        status=first.status,
        code=first.code,
        request_id=first.request_id,
        method=first.method,
        path=first.path,
    )
