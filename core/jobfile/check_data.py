"""Rules about the data sets of a job."""

from pathlib import PurePath
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.context import Context
from agentic_rl_tui.core.jobfile.tree import Path


def check_data(context: Context) -> None:
    """All rules; sets the number of training rows where every training file's is known."""
    datasets = context.values.get("datasets")
    entries = [(index, data) for index, data in enumerate(datasets or []) if isinstance(data, dict)]
    for index, data in entries:
        _check_entry(context, ("datasets", index), data)
    _check_set(context, [data for _, data in entries], is_readable=len(entries) == len(datasets or []))
    _check_shared(context, entries)
    context.training_rows = _rows(context, [data for _, data in entries if _type(data) == "training"])


def _type(data: dict[str, Any]) -> str:
    return str(data.get("type", "training"))


def _rows(context: Context, training: list[dict[str, Any]]) -> int | None:
    if context.facts is None or not training:
        return None
    total = 0
    for data in training:
        rows = context.facts.rows(data["file_name"]) if data.get("file_name") else None
        if rows is None:
            return None
        total += rows
    return total


def _check_set(context: Context, entries: list[dict[str, Any]], *, is_readable: bool) -> None:
    if not is_readable or (context.is_filled(("datasets",)) and "datasets" not in context.values):
        return
    types = {_type(data) for data in entries}
    if "training" not in types:
        context.report_at("training-data-missing", ("datasets",), _("No data set of type training."))
    elif "validation" not in types:
        context.report_at("validation-missing", ("datasets",), _("No data set of type validation."))


def _check_entry(context: Context, path: Path, data: dict[str, Any]) -> None:
    if _type(data) == "testing":
        context.report_at("testing-unused", (*path, "type"), _("A data set of type testing is never sent."))
    source = data.get("data_source_type", "file_id")
    file_name, file_id = data.get("file_name"), data.get("file_id")
    if file_name:
        _check_file(context, (*path, "file_name"), file_name)
    if source == "file_id":
        if file_name and file_id:
            fix = context.fix(_("Remove file_name"), context.remove((*path, "file_name")), is_safe=False)
            message = _(
                "file_id and file_name are both given: this program sends the id, the service's client the file."
            )
            context.report_at("file-both", (*path, "file_name"), message, fix=fix)
        elif not file_name and not file_id:
            _no_file(context, path, data)
    elif source == "download_url" and not data.get("download_url"):
        rule = "source-mismatch" if file_name or file_id else "source-empty"
        context.report_at(rule, (*path, "data_source_type"), _("The source is download_url, but none is given."))
    elif source == "oss_mount":
        _check_mount(context, path, data)


def _no_file(context: Context, path: Path, data: dict[str, Any]) -> None:
    """A data set of the default source without a file: perhaps it only names another source's place."""
    other = "download_url" if data.get("download_url") else "oss_mount" if data.get("mount_storage") else None
    if other == "oss_mount" and _missing_parts(data):
        other = None
    if other:
        fix = context.fix(_("Write {text}").format(text=other), context.set((*path, "data_source_type"), other))
        message = _("The source is file_id, but only {other} is given.").format(other=other)
        context.report_at("source-mismatch", (*path, "data_source_type"), message, fix=fix)
    elif not context.is_filled((*path, "file_name")) and not context.is_filled((*path, "file_id")):
        context.report_at("source-empty", path, _("The data set names no file."))


def _missing_parts(data: dict[str, Any]) -> list[str]:
    mount = data.get("mount_storage")
    mount = mount if isinstance(mount, dict) else {}
    return [name for name in ("region", "bucket", "file_path") if not mount.get(name)]


def _check_mount(context: Context, path: Path, data: dict[str, Any]) -> None:
    missing = _missing_parts(data)
    if missing:
        message = _("The source is oss_mount, but mount_storage lacks {missing}.").format(missing=", ".join(missing))
        context.report_at("source-mismatch", (*path, "mount_storage"), message)


def _check_file(context: Context, path: Path, name: str) -> None:
    pure = PurePath(name)
    if pure.is_absolute():
        context.report_at("path-outside", path, _("{name} exists only on this machine.").format(name=name))
    if context.facts is not None and not context.facts.file_exists(name):
        context.report_at("file-missing", path, _("{name} does not exist beside the job file.").format(name=name))
    if pure.suffix.lower() not in (".jsonl", ".ndjson"):
        context.report_at("file-type", path, _("{name} does not end in .jsonl.").format(name=name))


def _check_shared(context: Context, entries: list[tuple[int, dict[str, Any]]]) -> None:
    """The same file for training and for validation."""
    training = {place for _, data in entries if _type(data) == "training" for place in _places(data)}
    for index, data in entries:
        if _type(data) != "training":
            for key in ("file_name", "file_id", "download_url"):
                value = data.get(key)
                if value and (key, _normal(value)) in training:
                    message = _("{name} is a training data set as well.").format(name=value)
                    context.report_at("data-shared", ("datasets", index, key), message)


def _places(data: dict[str, Any]) -> list[tuple[str, str]]:
    return [(key, _normal(data[key])) for key in ("file_name", "file_id", "download_url") if data.get(key)]


def _normal(place: str) -> str:
    return place.removeprefix("./")
