"""Two jobs against each other: settings, code and data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.core.sdk.clone import values_of_job

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import KeyChange
    from agentic_rl_tui.core.sdk.facade import AgenticRL
    from agentic_rl_tui.core.sdk.origins import Code, Data, Origin, Sources

_UNCOMPARED = ("name", "datasets")
"""Names always differ, and data sets are compared by their content."""


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """state: ``same``, ``changed``, ``added``, ``removed``, or ``unknown`` where the code of one side is not known."""

    kind: str
    name: str
    state: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One source file; a side that lacks it is None."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class DataChange:
    """state as in FunctionChange; a side that has no such data set is None."""

    use: str
    state: str
    old: "Data | None"
    new: "Data | None"


@dataclass(frozen=True, slots=True)
class JobComparison:
    """settings holds the changed keys only. unknown: the jobs that were not submitted from this machine, of whose
    code and data nothing is known here.
    """

    old: Job
    new: Job
    settings: "tuple[KeyChange, ...]"
    functions: tuple[FunctionChange, ...]
    files: tuple[FileChange, ...]
    data: tuple[DataChange, ...]
    unknown: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        states = [part.state for part in self.functions] + [part.state for part in self.data]
        return not self.settings and not self.files and all(state == "same" for state in states)


async def compare(client: "AgenticRL", old_id: str, new_id: str) -> JobComparison:
    """Compare two jobs of this account. Raises NotFound."""
    import asyncio

    old, new = await asyncio.gather(client.get(old_id), client.get(new_id))
    origins = client.session.origins()
    return await asyncio.to_thread(
        comparison, old, new, origins.get(old.job_id), origins.get(new.job_id), origins.sources
    )


def comparison(
    old: Job, new: Job, of_old: "Origin | None", of_new: "Origin | None", sources: "Sources"
) -> JobComparison:
    both = of_old is not None and of_new is not None
    before, after = (of_old, of_new) if both else (None, None)
    functions = tuple(_functions(of_old.functions if of_old else (), of_new.functions if of_new else (), both=both))
    return JobComparison(
        old,
        new,
        tuple(_settings(values_of_job(old, before), values_of_job(new, after))),
        functions,
        tuple(_files(functions, sources)),
        tuple(_data(_datasets(old, before), _datasets(new, after))),
        tuple(job.job_id for job, origin in ((old, of_old), (new, of_new)) if origin is None),
    )


def _settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> "Iterator[KeyChange]":
    from agentic_rl_tui.core.jobfile import JobFile, diff
    from agentic_rl_tui.core.sdk.body import numbers

    before, after = (
        JobFile.model_validate({key: numbers(value) for key, value in side.items() if key not in _UNCOMPARED})
        for side in (old, new)
    )
    return (change for change in diff(before, after) if not change.key.startswith(_UNCOMPARED))


def _functions(old: "tuple[Code, ...]", new: "tuple[Code, ...]", *, both: bool) -> Iterator[FunctionChange]:
    before = {(code.kind, code.name): code for code in old}
    after = {(code.kind, code.name): code for code in new}
    for key in [*before, *(key for key in after if key not in before)]:
        one, other = before.get(key), after.get(key)
        sources = (one.source if one else "", other.source if other else "")
        if not both:
            state = "unknown"
        elif one is None or other is None:
            state = "added" if one is None else "removed"
        elif not all(sources):
            state = "unknown"
        else:
            state = "same" if one.classpath == other.classpath and sources[0] == sources[1] else "changed"
        yield FunctionChange(*key, state, *sources)


def _files(functions: tuple[FunctionChange, ...], sources: "Sources") -> Iterator[FileChange]:
    """Functions of one workspace share their files, so each pair of packages is looked at once."""
    pairs = dict.fromkeys((change.old, change.new) for change in functions if change.state == "changed")
    told = set()
    for pair in pairs:
        before, after = (sources.texts(source) for source in pair)
        if before is None or after is None or pair[0] == pair[1]:
            continue
        for path in sorted(before.keys() | after.keys()):
            change = FileChange(path, before.get(path), after.get(path))
            if change.old != change.new and change not in told:
                told.add(change)
                yield change


def _datasets(job: Job, origin: "Origin | None") -> "tuple[Data, ...]":
    if origin is not None:
        return origin.datasets
    from agentic_rl_tui.core.sdk.origins import Data

    uses = (("training", job.training_file_ids), ("validation", job.validation_file_ids))
    return tuple(Data(use, file_id, file_id) for use, ids in uses for file_id in ids if file_id)


def _data(old: "tuple[Data, ...]", new: "tuple[Data, ...]") -> Iterator[DataChange]:
    for use in dict.fromkeys(data.use for data in (*old, *new)):
        before = [data for data in old if data.use == use]
        after = [data for data in new if data.use == use]
        for number in range(max(len(before), len(after))):
            one = before[number] if number < len(before) else None
            other = after[number] if number < len(after) else None
            yield DataChange(use, _data_state(one, other), one, other)


def _data_state(one: "Data | None", other: "Data | None") -> str:
    if one is None or other is None:
        return "added" if one is None else "removed"
    if one.digest and other.digest:
        return "same" if one.digest == other.digest else "changed"
    if one.file_id and other.file_id:
        return "same" if one.file_id == other.file_id else "unknown"
    return "unknown" if one.name == other.name else "changed"
