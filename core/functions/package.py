"""Function packages: `plan` says what would be sent and why, `write` makes the archive, `unpack` opens one."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentic_rl_tui.core.functions.package_collect import (
    Collector,
    environment_limit,
    environment_patterns,
    estimate_archive,
)
from agentic_rl_tui.core.functions.package_plan import (
    LIMIT_BYTES,
    LeftOut,
    PackageEntry,
    PackagePlan,
    requirements_text,
)
from agentic_rl_tui.core.functions.package_rules import LeftOutRule
from agentic_rl_tui.core.functions.package_zip import CHUNK_BYTES, Progress, ZipSink, shrinks, too_large
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.discovery import Discovery
    from agentic_rl_tui.core.functions.package_checks import Function
    from agentic_rl_tui.core.functions.package_unpack import UnpackLimits

__all__ = [
    "LIMIT_BYTES",
    "LeftOut",
    "LeftOutRule",
    "PackageEntry",
    "PackageInfo",
    "PackagePlan",
    "Severity",
    "SourceProblem",
    "plan",
    "requirements_text",
    "unpack",
    "write",
]

_ESTIMATE_SLACK = 1.25


@dataclass(frozen=True, slots=True)
class PackageInfo:
    """A written archive. bytes is its size; the hashes are those of its plan."""

    path: Path
    bytes: int
    content_hash: str
    archive_hash: str


def plan(
    workspace: Path,
    *,
    kind: FunctionKind | None = None,
    classpath: ClassPath | None = None,
    functions: "Sequence[Function]" = (),
    extra_files: Sequence[str | Path] = (),
    requirements: str = "requirements.txt",
    secrets: Iterable[str] = (),
    patterns: Sequence[str] | None = None,
    limit_bytes: int | None = None,
    discovery: "Discovery | None" = None,
    check: bool = True,
) -> PackagePlan:
    """Decide what is sent. With a classpath the plan is that of one function and holds its start script.

    functions: the functions that will share the package, for the checks alone; `PackagePlan.for_function` makes the
    plan of each. Reads every file once and writes nothing. secrets: keys in plain text; a file that holds one is left
    out. patterns: replaces the default patterns, as FC_ZIP_EXCLUDE_PATTERNS does. limit_bytes: of the archive, by
    default FC_OSS_FILE_SIZE_WARNING or 200 MiB. check: follow the imports of the functions and compare them with the
    requirements; `discovery` spares a second look at the workspace. Raises PackageError when the workspace is no
    directory, or so large that it cannot be one.
    """
    if not workspace.is_dir():
        raise PackageError(
            _("{workspace} is no directory").format(workspace=workspace),
            advice=_("Name the workspace that holds the functions."),
        )
    root = workspace.absolute()
    limit = environment_limit() if limit_bytes is None else limit_bytes
    collector = Collector(
        root, patterns=environment_patterns() if patterns is None else patterns, secrets=secrets, limit_bytes=limit
    )
    collector.collect()
    for file in extra_files:
        collector.add_extra(Path(file))
    entries = tuple(sorted(collector.entries.values(), key=lambda entry: entry.path))
    estimate = estimate_archive(root, entries, sum(entry.size for entry in entries), limit)
    made = PackagePlan(
        root,
        entries,
        tuple(sorted(collector.left_out, key=lambda item: item.path)),
        tuple(collector.problems),
        limit_bytes=limit,
        requirements=requirements,
        estimate=estimate,
    )
    if check:
        # Imported here: without checks a package is made before the parser of requirements would be loaded.
        from agentic_rl_tui.core.functions.package_checks import checked

        one = () if classpath is None else ((kind, classpath),)
        made = checked(made, functions=(*one, *functions), discovery=discovery)
    return made if kind is None or classpath is None else made.for_function(kind, classpath)


def write(plan: PackagePlan, destination: Path, *, progress: Progress | None = None) -> PackageInfo:
    """Write the archive of `plan` to `destination`; equal plans give equal bytes.

    progress may raise to cancel. Raises PackageError when the archive is over the limit or a file changed since it
    was planned; then nothing is left behind, and a file that stood at `destination` is untouched.
    """
    if plan.estimated_bytes > plan.limit_bytes * _ESTIMATE_SLACK:
        raise too_large(plan.estimated_bytes, plan.limit_bytes)
    done, total = 0, plan.total_bytes
    try:
        with ZipSink(destination, limit_bytes=plan.limit_bytes) as sink:
            for entry in plan.all_entries:
                for read in _add(sink, plan.workspace, entry):
                    done += read
                    if progress is not None:
                        progress(done, total)
        size = sink.size
    except OSError as error:
        where = error.filename or destination
        raise PackageError(
            _("the package cannot be written: {where}: {error}").format(where=where, error=error.strerror or error)
        ) from error
    return PackageInfo(destination, size, plan.content_hash, plan.archive_hash)


def _add(sink: ZipSink, workspace: Path, entry: PackageEntry) -> Iterator[int]:
    """Add one entry; yields the numbers of bytes as they are read."""
    if entry.content is not None:
        sink.add(entry.path, entry.content, is_executable=entry.is_executable)
        yield entry.size
        return
    source = entry.origin or os.path.join(workspace, entry.path)
    try:
        handle = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise _changed(entry) from error
    try:
        facts = os.fstat(handle)
        if (facts.st_size, facts.st_mtime_ns) != (entry.size, entry.mtime_ns):
            raise _changed(entry)
        if entry.size <= CHUNK_BYTES:
            data = os.read(handle, entry.size)
            if len(data) != entry.size:
                raise _changed(entry)
            sink.add(entry.path, data, is_executable=entry.is_executable)
            yield entry.size
        else:
            yield from _add_large(sink, handle, entry)
    finally:
        os.close(handle)


def _add_large(sink: ZipSink, handle: int, entry: PackageEntry) -> Iterator[int]:
    is_worth_it = shrinks(handle, entry.size)
    with sink.stream(entry.path, entry.size, shrinks=is_worth_it, is_executable=entry.is_executable) as add:
        left = entry.size
        while left:
            chunk = os.read(handle, min(CHUNK_BYTES, left))
            if not chunk:
                raise _changed(entry)
            add(chunk)
            left -= len(chunk)
            yield len(chunk)


def _changed(entry: PackageEntry) -> PackageError:
    return PackageError(
        _("{path} changed while the package was made").format(path=entry.path),
        advice=_("Let the files come to rest and try again."),
    )


def unpack(zip_path: Path, destination: Path, *, limits: "UnpackLimits | None" = None) -> None:
    """Unpack an archive safely: see `package_unpack.unpack`, which raises PackageError naming the bad member."""
    from agentic_rl_tui.core.functions import package_unpack

    package_unpack.unpack(zip_path, destination, limits=limits)
