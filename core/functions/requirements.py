"""Checks ``requirements.txt`` against what the service needs and what the code imports."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.functions.requirements_names import (
    BROUGHT_ALONG,
    DISTRIBUTIONS,
    PREINSTALLED,
    TRACING_PINS,
)
from agentic_rl_tui.core.i18n import _

if TYPE_CHECKING:
    from packaging.requirements import Requirement as Pep508

REQUIREMENTS_FILE = "requirements.txt"
PROTOBUF_RANGE = ">=4.25.8,<7.0"
_COMMENT = re.compile(r"(^|\s+)#.*$")
_HASHES = re.compile(r"\s--hash[= ]\S+")
_LOCAL = re.compile(r"^(\.{0,2}/|[\w.-]+/|file:)|\.(whl|zip|tar\.gz)$")
_PROTOBUF_PROBES = ("3.20.3", "4.21.12", "4.25.8", "5.29.5", "6.33.6", "7.0.0", "8.0.0")


@dataclass(frozen=True, slots=True)
class ImportedModule:
    """A third-party module that the functions import, at its first place."""

    module: str
    path: str
    line: int
    col: int


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement by its normalized name. specifier is the version part as text."""

    name: str
    specifier: str
    extras: frozenset[str]
    line: int
    text: str


def normalize(name: str) -> str:
    """The form in which the names of distributions are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Requirements:
    """A parsed requirements file. `problems` says what pip would refuse, or the service would not see."""

    def __init__(self, text: str, path: str = REQUIREMENTS_FILE) -> None:
        self.path = path
        self.problems: list[SourceProblem] = []
        self.items: list[Requirement] = []
        for number, line in _logical_lines(text):
            if line.startswith("-"):
                self._option(number, line)
            elif line:
                self._requirement(number, line)
        self.by_name: Mapping[str, Requirement] = {item.name: item for item in self.items}

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.by_name)

    def _option(self, number: int, line: str) -> None:
        option = re.split(r"[\s=]", line, maxsplit=1)[0]
        if option in ("-r", "--requirement", "-c", "--constraint"):
            message = _("{option} names another file, and the service is sent this one alone").format(option=option)
            self._add(number, "requirements-nested", message, Severity.ERROR, _("Copy its lines into this file."))
        elif option in ("-e", "--editable", "-f", "--find-links"):
            message = _("{option} names a place that the service does not have").format(option=option)
            self._add(number, "requirements-local", message, Severity.ERROR, _("Put the code into the workspace."))

    def _requirement(self, number: int, line: str) -> None:
        from packaging.requirements import InvalidRequirement
        from packaging.requirements import Requirement as Parser

        stripped = _HASHES.sub("", line).strip()
        if _LOCAL.search(stripped) and "@" not in stripped:
            message = _("{text!r} is a local file, which the service does not have").format(text=stripped)
            self._add(number, "requirements-local", message, Severity.ERROR, _("Put the code into the workspace."))
            return
        if stripped.startswith(("git+", "http://", "https://")):
            return
        try:
            parsed: Pep508 = Parser(stripped)
        except InvalidRequirement as error:
            message = _("{text!r} is no requirement: {why}").format(text=stripped, why=str(error).splitlines()[0])
            self._add(number, "requirements-syntax", message, Severity.ERROR, _("Write name==version."))
            return
        if parsed.marker is not None and not parsed.marker.evaluate(
            {"platform_system": "Linux", "sys_platform": "linux"}
        ):
            return
        item = Requirement(
            normalize(parsed.name), str(parsed.specifier), frozenset(map(normalize, parsed.extras)), number, stripped
        )
        first = next((known for known in self.items if known.name == item.name), None)
        if first is not None and first.specifier != item.specifier:
            message = _("{file} is listed in line {line} with another version; pip refuses that").format(
                file=item.name, line=first.line
            )
            self._add(number, "requirements-twice", message, Severity.ERROR, _("Keep one of the lines."))
        self.items.append(item)

    def _add(self, line: int, rule: str, message: str, severity: Severity, advice: str) -> None:
        self.problems.append(SourceProblem(self.path, line, 1, message, rule, severity, advice))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number of the first line, text without comments) with continued lines joined."""
    start, joined = 0, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        start = start or number
        if raw.endswith("\\") and not raw.lstrip().startswith("#"):
            joined += raw[:-1].strip() + " "
            continue
        yield start, _COMMENT.sub("", joined + raw).strip()
        start, joined = 0, ""
    if joined:
        yield start, _COMMENT.sub("", joined).strip()


def read(raw: bytes | None, path: str = REQUIREMENTS_FILE) -> Requirements:
    """Parse a file's bytes; None stands for no file. What cannot be read is a problem, not an error."""
    try:
        found = Requirements((raw or b"").decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        found = Requirements("", path)
        line = error.object.count(b"\n", 0, error.start) + 1
        advice = _("Save it as UTF-8.")
        found.problems.append(SourceProblem(path, line, 1, _("is not UTF-8"), "requirements-encoding", advice=advice))
    if raw is None:
        message, advice = _("is missing, and the service needs it"), _("Make it, with one requirement a line.")
        found.problems.append(SourceProblem(path, 0, 0, message, "requirements-missing", advice=advice))
    return found


def check(found: Requirements, imported: Iterable[ImportedModule], *, uses_tracing: bool) -> list[SourceProblem]:
    """Everything doubtful about a requirements file, given what the code imports."""
    problems = list(found.problems)
    problems += _check_dashscope(found)
    problems += _check_protobuf(found)
    if uses_tracing:
        problems += _check_tracing(found)
    problems += _check_imports(imported, found.names)
    return problems


def _check_dashscope(found: Requirements) -> Iterator[SourceProblem]:
    if (item := found.by_name.get("dashscope")) is not None:
        message = _("dashscope is part of the runtime; listing it may replace the version that the service uses")
        yield _problem(found, item, "requirements-dashscope", message, Severity.WARNING, _("Remove the line."))


def _check_protobuf(found: Requirements) -> Iterator[SourceProblem]:
    from packaging.specifiers import SpecifierSet

    item = found.by_name.get("protobuf")
    if item is None:
        return
    wanted, given = SpecifierSet(PROTOBUF_RANGE), SpecifierSet(item.specifier)
    named = [spec.version.removesuffix(".*") for spec in given]
    possible = [version for version in dict.fromkeys((*_PROTOBUF_PROBES, *named)) if given.contains(version)]
    outside = [version for version in possible if not wanted.contains(version)]
    advice = _("Write protobuf{range}.").format(range=PROTOBUF_RANGE)
    if possible and len(outside) == len(possible):
        message = _("protobuf{specifier} is outside of {range}, which the runtime needs").format(
            specifier=item.specifier, range=PROTOBUF_RANGE
        )
        yield _problem(found, item, "requirements-protobuf", message, Severity.ERROR, advice)
    elif outside:
        message = _("protobuf{specifier} allows {outside}; the runtime needs {range}").format(
            specifier=item.specifier, outside=outside[0], range=PROTOBUF_RANGE
        )
        yield _problem(found, item, "requirements-protobuf", message, Severity.WARNING, advice)


def _check_tracing(found: Requirements) -> Iterator[SourceProblem]:
    missing = [f"{name}=={version}" for name, version in TRACING_PINS.items() if name not in found.names]
    if missing:
        yield SourceProblem(
            found.path,
            0,
            0,
            _("the functions use tracing, which does nothing without {packages}").format(packages=", ".join(missing)),
            "requirements-tracing",
            Severity.WARNING,
            _("Add these lines."),
        )
    for name in TRACING_PINS:
        item = found.by_name.get(name)
        if item is not None and not item.specifier.startswith("=="):
            message = _("{name} has no fixed version, so traces may stop when a new one appears").format(name=name)
            advice = _("Write {name}=={version}.").format(name=name, version=TRACING_PINS[name])
            yield _problem(found, item, "requirements-tracing", message, Severity.WARNING, advice)


def _check_imports(imported: Iterable[ImportedModule], names: frozenset[str]) -> Iterator[SourceProblem]:
    for item in imported:
        wanted = distributions(item.module)
        if names & set(wanted):
            continue
        bringers = sorted(name for name in names if BROUGHT_ALONG.get(name, frozenset()) & set(wanted))
        advice = _("Add {name} to {file}.").format(name=wanted[0], file=REQUIREMENTS_FILE)
        if set(wanted) & PREINSTALLED:
            message = _("imports {module}, which is there only because the runtime's SDK brings it").format(
                module=item.module
            )
            severity, rule = Severity.INFO, "requirements-implied"
        elif bringers:
            message = _("imports {module}, which is there only because {bringers} brings it").format(
                module=item.module, bringers=bringers[0]
            )
            severity, rule = Severity.INFO, "requirements-implied"
        else:
            message = _("imports {module}, which no requirement provides").format(module=item.module)
            severity, rule = Severity.WARNING, "requirements-import"
        yield SourceProblem(item.path, item.line, item.col, message, rule, severity, advice)


def is_standard(module: str) -> bool:
    return module.split(".")[0] in sys.stdlib_module_names or module == "__main__"


def distributions(module: str) -> tuple[str, ...]:
    """The distributions that may provide a module, likeliest first."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (known := DISTRIBUTIONS.get(".".join(parts[:length]))) is not None:
            return known
    return (normalize(parts[0]),)


def _problem(
    found: Requirements, item: Requirement, rule: str, message: str, severity: Severity, advice: str
) -> SourceProblem:
    return SourceProblem(found.path, item.line, 1, message, rule, severity, advice)
