"""Which keys differ between two job files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.document import JobDocument
from agentic_rl_tui.core.jobfile.model import JobFile
from agentic_rl_tui.core.models.errors import ConfigError


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key. is_added and is_removed tell an absent value from an empty one."""

    key: str
    old: Any
    new: Any
    is_added: bool = False
    is_removed: bool = False

    def __str__(self) -> str:
        if self.is_added:
            return f"{self.key}: + {self.new}"
        return f"{self.key}: - {self.old}" if self.is_removed else f"{self.key}: {self.old} → {self.new}"


def diff(a: JobFile | JobDocument, b: JobFile | JobDocument) -> list[KeyChange]:
    """The changed keys, dotted, in the order of the file. Functions are matched by name, data sets by type and place.

    Raises ConfigError when one of them has no readable structure.
    """
    old, new = dict(_flatten(_job(a))), dict(_flatten(_job(b)))
    changes = []
    for key in [*old, *(key for key in new if key not in old)]:
        if key not in new:
            changes.append(KeyChange(key, old[key], None, is_removed=True))
        elif key not in old:
            changes.append(KeyChange(key, None, new[key], is_added=True))
        elif old[key] != new[key] or type(old[key]) is not type(new[key]):
            changes.append(KeyChange(key, old[key], new[key]))
    return changes


def _job(source: JobFile | JobDocument) -> Mapping[str, Any]:
    job = source.job if isinstance(source, JobDocument) else source
    if job is None:
        raise ConfigError(_("A job file with broken syntax cannot be compared."), advice=_("Correct its syntax first."))
    return job.model_dump(mode="json", exclude_none=True)


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and (value or not path):
        for key, item in value.items():
            yield from _flatten(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        labels: dict[str, int] = {}
        for item in value:
            label = str(item.get("name") or item.get("type") or "")
            labels[label] = labels.get(label, 0) + 1
            suffix = f" {labels[label]}" if labels[label] > 1 else ""
            yield from _flatten(item, f"{path}[{label}{suffix}]")
    elif value not in ([], {}):
        yield path, value
