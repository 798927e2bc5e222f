"""What jobs were made of, remembered on the machine that submitted them: settings, code and data.

A service tells little of a job afterwards. What is kept here makes it possible to clone a job, to open the file it
came from, and to compare two of them down to the code.
"""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.core.client.log import logger
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.paths import private_dir, state_dir
from agentic_rl_tui.core.sdk.body import ReadyDataset
from agentic_rl_tui.core.textfile import write_atomic

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.plan import JobPlan
    from agentic_rl_tui.core.sdk.register import Prepared

_VERSION = 1
_MOST_JOBS = 500
_MOST_SOURCES = 40
_LARGEST_SOURCE_BYTES = 20 << 20
_LARGEST_TEXT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Code:
    """One function of a job. source: the hash of the files it was packaged with, "" where nothing was packaged."""

    kind: str
    name: str
    classpath: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Data:
    """One data set of a job. digest: SHA-256 of the file as it was sent, "" where it was not a file of this machine."""

    use: str
    name: str
    file_id: str = ""
    digest: str = ""
    size: int = 0
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """job_file: empty where the job was made by code. values: the job as a job file has it, without values of
    environment variables, whose names are in `left_out`.
    """

    job_id: str
    base: str
    job_file: str
    text_digest: str
    values: Mapping[str, Any]
    functions: tuple[Code, ...] = ()
    datasets: tuple[Data, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def path(self) -> Path | None:
        return Path(self.job_file) if self.job_file else None

    def unchanged_text(self) -> str | None:
        """The text of the job file where it still is what was submitted."""
        try:
            raw = Path(self.job_file).read_bytes() if self.job_file else b""
            is_same = bool(raw) and hashlib.sha256(raw).hexdigest() == self.text_digest
            return raw.decode("utf-8") if is_same else None
        except (OSError, UnicodeDecodeError):
            return None


class Origins:
    """One small file a job, below one folder an account. What cannot be read counts as not known."""

    def __init__(self, scope: str, root: Path | None = None) -> None:
        root = root if root is not None else state_dir()
        self.folder = root / "origins" / hashlib.sha256(scope.encode()).hexdigest()[:12]
        self.sources = Sources(root / "sources")

    def _place(self, job_id: str) -> Path:
        return self.folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', job_id)[:120]}.json"

    def put(self, origin: Origin) -> None:
        """Raises OSError."""
        private_dir(self.folder)
        text = redact(json.dumps({"version": _VERSION, **asdict(origin)}, ensure_ascii=False, default=str))
        place = self._place(origin.job_id)
        place.touch(mode=0o600)
        write_atomic(place, text.encode("utf-8", "replace"))
        _forget_oldest(self.folder.glob("*.json"), _MOST_JOBS)

    def get(self, job_id: str) -> Origin | None:
        try:
            kept = json.loads(self._place(job_id).read_bytes())
            if kept.pop("version") != _VERSION or kept["job_id"] != job_id:
                return None
            functions = tuple(Code(**item) for item in kept.pop("functions"))
            datasets = tuple(Data(**item) for item in kept.pop("datasets"))
            left_out = tuple(map(str, kept.pop("left_out")))
            return Origin(**kept, functions=functions, datasets=datasets, left_out=left_out)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def drop(self, job_id: str) -> None:
        self._place(job_id).unlink(missing_ok=True)


class Sources:
    """The packaged files of the last submissions, by the hash of their content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, prepared: "Iterable[Prepared]") -> None:
        """Raises OSError, PackageError where a file changed since it was packaged."""
        from agentic_rl_tui.core.functions import package

        for part in prepared:
            plan = part.package
            if plan is None or plan.estimated_bytes > _LARGEST_SOURCE_BYTES:
                continue
            place = self.folder / f"{plan.content_hash}.zip"
            if place.exists():
                place.touch()
                continue
            private_dir(self.folder)
            package.write(replace(plan, script=None), place)
            place.chmod(0o600)
        _forget_oldest(self.folder.glob("*.zip"), _MOST_SOURCES)

    def texts(self, source: str) -> dict[str, str] | None:
        """Every file as text, a large or binary one as a line with its hash; None where the source is not kept."""
        try:
            with zipfile.ZipFile(self.folder / f"{source}.zip") as archive:
                return {info.filename: _text(archive, info) for info in archive.infolist() if not info.is_dir()}
        except (OSError, zipfile.BadZipFile):
            return None


def _text(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    if info.file_size <= _LARGEST_TEXT_BYTES:
        raw = archive.read(info)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return f"{info.file_size:,} bytes, sha256 {hashlib.sha256(raw).hexdigest()}\n"
    return f"{info.file_size:,} bytes, crc32 {info.CRC:08x}\n"


def _forget_oldest(places: Iterable[Path], most: int) -> None:
    known = list(places)
    if len(known) > most:
        known.sort(key=lambda place: place.stat().st_mtime_ns, reverse=True)
        for place in known[most:]:
            place.unlink(missing_ok=True)


def remember(
    origins: Origins,
    job_id: str,
    plan: "JobPlan",
    prepared: "Sequence[Prepared]",
    datasets: Sequence[ReadyDataset],
    rows: Mapping[str, int],
) -> None:
    """Write down what a job was made of. A disk that refuses costs the memory alone, never the submission."""
    from agentic_rl_tui.core.models.errors import PackageError

    try:
        origins.put(origin_of(job_id, plan, prepared, datasets, rows))
        origins.sources.keep(prepared)
    except (OSError, PackageError) as error:
        logger.warning("what %s was made of is not kept: %s", job_id, error)


def origin_of(
    job_id: str,
    plan: "JobPlan",
    prepared: "Sequence[Prepared]",
    datasets: Sequence[ReadyDataset],
    rows: Mapping[str, int],
) -> Origin:
    values, left_out = values_of(plan)
    document = plan.document
    sources = {id(part.component): part.package.content_hash if part.package is not None else "" for part in prepared}
    return Origin(
        job_id=job_id,
        base=str(plan.base.absolute()),
        job_file=str(document.path.absolute()) if document is not None else "",
        text_digest=_digest(document.path) if document is not None else "",
        values=values,
        functions=tuple(
            Code(part.type.value, part.label, part.fcmodel.classpath or part.label, sources.get(id(part), ""))
            for part in plan.functions
        ),
        datasets=tuple(_data(plan, part, rows) for part in datasets),
        left_out=left_out,
    )


def _data(plan: "JobPlan", ready: ReadyDataset, rows: Mapping[str, int]) -> Data:
    data = ready.dataset
    name = data.file_name or data.download_url or ready.file_id or ""
    path = plan.path(data.file_name) if data.file_name else None
    size = path.stat().st_size if path is not None and path.is_file() else 0
    digest = _digest(path) if path is not None else ""
    return Data(data.type, name, ready.file_id or data.file_id or "", digest, size, rows.get(name))


def _whole(value: Any) -> Any:
    """Numbers without a fraction as they are usually written."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def values_of(plan: "JobPlan") -> tuple[dict[str, Any], tuple[str, ...]]:
    """A plan as the mapping of a job file, and the environment variables whose values were left out."""
    left_out: list[str] = []
    functions = []
    for part in plan.functions:
        values = part.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
        values["type"] = part.type.value
        values |= {key: _whole(values[key]) for key in ("timeout", "runtime") if key in values}
        variables = (values.get("runtime") or {}).get("env") or {}
        left_out += variables
        if variables:
            values["runtime"]["env"] = dict.fromkeys(variables, "")
        functions.append({"type": values.pop("type"), **values})
    datasets = [
        {"type": data.type, **data.model_dump(mode="json", exclude_none=True, exclude={"type"})}
        for data in plan.datasets
    ]
    training: dict[str, Any] = {"type": plan.training_type, "hyper_parameters": dict(plan.hyper_parameters)}
    if plan.resources:
        training["resources"] = dict(plan.resources)
    job: dict[str, Any] = {"name": plan.name, "model": {"name": plan.model}}
    if plan.teacher_model:
        job["teacher_model"] = plan.teacher_model
    job |= {"functions": functions, "datasets": datasets, "training": training}
    plain: dict[str, Any] = json.loads(json.dumps(job, default=str))
    return plain, tuple(dict.fromkeys(left_out))
