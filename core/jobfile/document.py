"""Checking a job file: text in, the job and everything that is wrong with it out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.blocks import starting_values
from agentic_rl_tui.core.jobfile.check_data import check_data
from agentic_rl_tui.core.jobfile.check_functions import check_functions, collect_functions
from agentic_rl_tui.core.jobfile.check_opd import check_model, check_opd, is_opd
from agentic_rl_tui.core.jobfile.check_training import check_training
from agentic_rl_tui.core.jobfile.context import Context
from agentic_rl_tui.core.jobfile.diagnostics import Diagnostic, Fix, Severity, TextEdit
from agentic_rl_tui.core.jobfile.facts import RememberedFacts, WorkspaceFacts
from agentic_rl_tui.core.jobfile.model import JobFile
from agentic_rl_tui.core.jobfile.overrides import lay_over
from agentic_rl_tui.core.jobfile.scenario import scenario_of
from agentic_rl_tui.core.jobfile.tree import MappingNode, SyntaxProblem, parse, uncollected
from agentic_rl_tui.core.jobfile.values import DROP
from agentic_rl_tui.core.jobfile.walk import Walker
from agentic_rl_tui.core.models.errors import ConfigError

_LONE_LF = re.compile(r"(?<!\r)\n")
_ALL_BREAKS = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class JobDocument:
    """A checked job file. job is None when the text has no readable structure.

    Values that could not be read are left out of the job; `is_ok` says whether it may be used. training_rows is
    None where the facts do not know every training file.
    """

    path: Path
    text: str
    job: JobFile | None
    diagnostics: tuple[Diagnostic, ...]
    scenario: str = ""
    training_rows: int | None = None
    facts: WorkspaceFacts | None = field(default=None, repr=False, compare=False)
    overrides: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

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
            _("The job file {path} cannot be read: {error}.").format(path=path, error=error),
            advice=_("Check the path and its permissions."),
            number=1001,
        ) from error
    text, problem = decode(raw)
    return _check(text, path, facts, overrides, problem)


def decode(raw: bytes) -> tuple[str, tuple[int, str] | None]:
    """The text of a file, and (offset, sentence) where it is not UTF-8. Bytes that fit nowhere become U+FFFD."""
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if raw.startswith(mark):
            return raw.decode(encoding, "replace"), (0, _("The file is UTF-16; save it as UTF-8."))
    try:
        return raw.decode("utf-8"), None
    except UnicodeDecodeError as error:
        offset = len(raw[: error.start].decode("utf-8"))
        byte = raw[error.start]
        return raw.decode("utf-8", "replace"), (
            offset,
            _("Byte 0x{byte:02x} is no UTF-8; save the file as UTF-8.").format(byte=byte),
        )


def check(
    text: str,
    *,
    path: Path,
    facts: WorkspaceFacts | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> JobDocument:
    """Check a text as the content of the file `path`, which is not read. Never raises for anything in the text.

    overrides win over the file: keys of the schema (nested, or dotted like ``training.hyper_parameters.n_epochs``)
    and the names of the command line's options (job_name, training_files, reward_classpaths, …).
    """
    with uncollected():
        return _check(text, Path(path), facts, overrides, None)


def _check(
    text: str,
    path: Path,
    facts: WorkspaceFacts | None,
    overrides: Mapping[str, Any] | None,
    encoding_problem: tuple[int, str] | None,
) -> JobDocument:
    source = parse(text)
    context = Context(source, source.root, path, None if facts is None else RememberedFacts(facts))
    if encoding_problem is not None:
        offset, message = encoding_problem
        context.report("encoding", (offset, offset + 1), message)
    _check_text(context)
    for problem in source.problems:
        _report_syntax(context, problem)
    if overrides:
        context.root = lay_over(context, overrides)
    context.values = Walker(context).read()
    has_structure = isinstance(context.root, MappingNode) and source.is_whole
    job = None
    if has_structure:
        _check_meaning(context)
        job = _job(context)
    context.diagnostics.sort(key=lambda item: (item.start, item.severity.rank))
    scenario = scenario_of(job).name if job else ""
    return JobDocument(path, text, job, tuple(context.diagnostics), scenario, context.training_rows, facts, overrides)


def recheck(document: JobDocument, text: str) -> JobDocument:
    """The document with another text, checked with the same facts and overrides."""
    return _check(text, document.path, document.facts, document.overrides, None)


def _check_meaning(context: Context) -> None:
    """The rules that look at several values together."""
    opd = is_opd(context)
    name = context.values.get("name")
    if isinstance(name, str) and not 1 <= len(name) <= 256:
        context.report_at(
            "name-length",
            ("name",),
            _("The name has {count} characters; 1 to 256 are allowed.").format(count=len(name)),
        )
    check_data(context)
    context.expected = starting_values(context.hyper, is_opd=opd, rows=context.training_rows) | context.hyper
    context.functions = collect_functions(context)
    check_model(context, is_opd=opd)
    if opd:
        check_opd(context)
    check_training(context, is_opd=opd)
    check_functions(context, is_opd=opd)


def _check_text(context: Context) -> None:
    text = context.source.text
    if context.source.shift:
        fix = Fix(_("Remove the byte order mark"), (TextEdit(0, 1, ""),))
        context.report("byte-order-mark", (0, 1), _("The file begins with a byte order mark."), fix=fix)
    if "\r\n" in text:
        lone = _LONE_LF.search(text)
        if lone:
            newline = context.source.newline()
            edits = tuple(
                TextEdit(match.start(), match.end(), newline)
                for match in _ALL_BREAKS.finditer(text)
                if match[0] != newline
            )
            fix = Fix(_("Make all line ends alike"), edits)
            message = _("Some lines end in CRLF and some in LF.")
            context.report("line-ends", (lone.start(), lone.end()), message, fix=fix)


def _report_syntax(context: Context, problem: SyntaxProblem) -> None:
    place = (problem.start, problem.end)
    message = _("{problem}.").format(problem=problem.message[:1].upper() + problem.message[1:])
    if problem.kind == "tab":
        text = context.source.text[problem.start : problem.end]
        fix = Fix(_("Indent with spaces"), (TextEdit(problem.start, problem.end, text.replace("\t", "  ")),))
        context.report("yaml-tab", place, message, fix=fix)
    elif problem.kind == "empty":
        context.report("yaml-empty", place, message)
    elif problem.kind == "documents":
        context.report("yaml-documents", place, message)
    else:
        context.report("yaml-syntax", place, message)


def _job(context: Context) -> JobFile | None:
    """The job of all values that could be read."""
    values = dict(context.values)
    values["functions"] = [{**view.values, "type": view.kind} for view in context.functions]
    values["datasets"] = [data for data in values.get("datasets") or [] if data is not DROP]
    try:
        return JobFile.model_validate({**values, "workspace_dir": context.path.parent})
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_context=False):
            place = tuple(step for step in problem["loc"] if isinstance(step, (str, int)))
            context.report_at("wrong-type", place, f"{'.'.join(map(str, place))}: {problem['msg']}.")
        return None
