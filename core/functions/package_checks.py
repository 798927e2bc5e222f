"""The checks of a plan against the code of its functions: imports, requirements, the class itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentic_rl_tui.core.functions.discovery import Discovery, SourceIndex
from agentic_rl_tui.core.functions.package_graph import ImportGraph, follow
from agentic_rl_tui.core.functions.package_plan import PackagePlan, requirements_text
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.functions.requirements import check, distributions, read
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

Function = tuple[FunctionKind | None, ClassPath]
"""A function as the job names it; without a kind, that of the class counts."""


def checked(plan: PackagePlan, *, functions: Sequence[Function], discovery: Discovery | None) -> PackagePlan:
    """The plan with why each file is needed, and with the problems that only the code can tell.

    Without functions, every processor of the workspace is looked at; what is wrong with one of them is then a warning,
    since nobody said that it will be used.
    """
    index = SourceIndex(plan.workspace) if discovery is None else discovery.index
    problems: list[SourceProblem] = []
    if functions:
        for kind, classpath in functions:
            problems += _check_class(plan, index, kind, classpath)
        roots = [(classpath.path, f"holds {classpath.class_name}") for _, classpath in functions]
    else:
        found = (discovery or index.scan()).processors
        roots = [(info.path, f"holds {info.class_name}") for info in found if plan.entry(info.path) is not None]
        problems += _check_left_out(plan, [info.path for info in found])
    graph = follow(plan, index, [*_packages(plan, roots), *roots])
    reasons = graph.reasons
    entries = tuple(
        replace(entry, reason=reasons[entry.path]) if entry.path in reasons else entry for entry in plan.entries
    )
    problems += graph.problems if functions else map(_as_warning, graph.problems)
    problems += _check_requirements(plan, graph)
    ordered = sorted({*plan.problems, *problems}, key=lambda item: (item.path, item.line, item.col, item.rule))
    return replace(plan, entries=entries, problems=tuple(ordered))


def _as_warning(problem: SourceProblem) -> SourceProblem:
    return replace(problem, severity=Severity.WARNING) if problem.severity is Severity.ERROR else problem


def _packages(plan: PackagePlan, roots: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The ``__init__.py`` files that importing a root runs first."""
    for path, _ in roots:
        parts = path.split("/")[:-1]
        for length in range(1, len(parts) + 1):
            init = "/".join([*parts[:length], "__init__.py"])
            if plan.entry(init) is not None:
                yield init, f"package of {path}"


def _check_class(
    plan: PackagePlan, index: SourceIndex, kind: FunctionKind | None, classpath: ClassPath
) -> Iterator[SourceProblem]:
    path = classpath.path
    left = plan.why_left_out(path) if (plan.workspace / path).is_file() else None
    if left is not None:
        message = f"holds {classpath.class_name}, but is not in the package: {left.reason}"
        yield SourceProblem(path, 0, 0, message, "class-left-out", advice="Move the file, or rename its directory.")
        return
    if index.syntax_problem(path) is not None:
        return  # following the imports tells where
    info = index.explain(classpath, ()).info
    if info is None:
        resolution = index.scan().resolve(classpath)
        meant = f"Perhaps {' or '.join(resolution.suggestions)} is meant." if resolution.suggestions else ""
        yield SourceProblem(path, 0, 0, resolution.message, "class-missing", advice=meant)
        return
    place = (info.path, info.line, 1)
    if kind is not None and info.kind is not kind:
        message = f"{info.class_name} is a {info.kind.value} and cannot be registered as {kind.value}"
        yield SourceProblem(*place, message, "kind-mismatch", advice=f"Register it with type {info.kind.value}.")
    if info.is_abstract:
        message = f"{info.class_name} has no process and no @reward_func, so it cannot be made"
        yield SourceProblem(*place, message, "abstract-class", advice="Write its process method.")


def _check_left_out(plan: PackagePlan, paths: Sequence[str]) -> Iterator[SourceProblem]:
    for path in dict.fromkeys(paths):
        if plan.entry(path) is None and (left := plan.why_left_out(path)) is not None:
            message = f"holds a function, but is not in the package: {left.reason}"
            yield SourceProblem(path, 0, 0, message, "class-left-out", Severity.WARNING, "Move it if it is needed.")


def _check_requirements(plan: PackagePlan, graph: ImportGraph) -> Iterator[SourceProblem]:
    found = read(requirements_text(plan), plan.requirements)
    imported = []
    by_name = {path.rpartition("/")[2].removesuffix(".py"): path for path in _modules(plan)}
    for item in graph.third_party.values():
        here = by_name.get(item.module.split(".")[0])
        if here is None or found.names & set(distributions(item.module)):
            imported.append(item)
            continue
        module = here.removesuffix(".py").replace("/", ".")
        message = f"imports {item.module}, which is {here} in the workspace; only the root is searched on the service"
        yield SourceProblem(item.path, item.line, item.col, message, "import-path", advice=f"Import it as {module}.")
    yield from check(found, imported, uses_tracing=graph.uses_tracing)


def _modules(plan: PackagePlan) -> Iterator[str]:
    """Module files below the root; a package counts under the name of its directory."""
    for entry in plan.entries:
        if entry.path.endswith("/__init__.py"):
            yield entry.path.removesuffix("/__init__.py")
        elif entry.path.endswith(".py") and "/" in entry.path:
            yield entry.path
