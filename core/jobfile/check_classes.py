"""Rules about what a function packages: its class, its files. User code is never imported."""

import re

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.context import Context, FunctionView
from agentic_rl_tui.core.jobfile.diagnostics import Fix
from agentic_rl_tui.core.jobfile.model import package_folder
from agentic_rl_tui.core.jobfile.names import closest
from agentic_rl_tui.core.jobfile.tree import Path
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import BadClassPath, ClassPath, ProcessorInfo

_COLON_FORM = re.compile(r"[^/:]+(?<!\.py):[^/:]+")
_KIND_WORDS = (
    ("group", FunctionKind.GROUP_REWARD),
    ("reward", FunctionKind.REWARD),
    ("rollout", FunctionKind.ROLLOUT),
)


def guess_kind(context: Context, values: dict[str, object]) -> FunctionKind:
    """The kind of a function without type: that of its class, else what its names suggest."""
    model = values.get("fcmodel")
    text = str(model.get("classpath", "")) if isinstance(model, dict) else ""
    info = _find(context, text, _zipdir(model if isinstance(model, dict) else {}))
    if info is not None:
        return info.kind
    words = f"{text} {values.get('name', '')}".lower()
    return next((kind for word, kind in _KIND_WORDS if word in words), FunctionKind.ROLLOUT)


def _find(context: Context, text: str, zipdir: str | None) -> ProcessorInfo | None:
    if context.facts is None or zipdir is None or not text:
        return None
    try:
        return context.facts.find_class(_inside(ClassPath.parse(text), zipdir))
    except BadClassPath:
        return None


def _zipdir(model: dict[str, object]) -> str | None:
    return package_folder(str(model.get("zipdir", "./")))


def _inside(classpath: ClassPath, zipdir: str) -> ClassPath:
    return ClassPath(f"{zipdir}/{classpath.path}", classpath.class_name) if zipdir else classpath


def check_class(context: Context, view: FunctionView) -> None:
    """The class of a function and the files that go with it; nothing for functions registered already."""
    model = view.values.get("fcmodel")
    model = model if isinstance(model, dict) else {}
    if view.values.get("entity_id"):
        return
    path = (*view.path, "fcmodel", "classpath")
    text = model.get("classpath")
    if not text and model.get("filepath") and model.get("classname"):
        text, path = f"{model['filepath']}:{model['classname']}", (*view.path, "fcmodel", "filepath")
    if not text:
        if context.is_filled(path) and "classpath" not in model:
            return
        message = _("{label} names no class: fcmodel.classpath or entity_id is needed.").format(label=view.label)
        context.report_at("class-missing", path if context.has(path) else view.path, message)
        return
    zipdir = _zipdir(model)
    if zipdir is None:
        message = _("{folder} lies outside the folder of the job file.").format(folder=model["zipdir"])
        context.report_at("path-outside", (*view.path, "fcmodel", "zipdir"), message)
    _check_classpath(context, view, path, str(text), zipdir)
    if context.facts is not None and zipdir is not None:
        _check_files(context, view, model, zipdir)


def _check_classpath(context: Context, view: FunctionView, path: Path, text: str, zipdir: str | None) -> None:
    try:
        classpath = ClassPath.parse(text)
    except BadClassPath as error:
        message = str(error)
        message = _("{problem}.").format(problem=message[:1].upper() + message[1:])
        context.report_at("classpath-form", path, message)
        return
    if _COLON_FORM.fullmatch(text.strip()):
        fix = context.fix(_("Write {text}").format(text=classpath.dotted), context.set(path, classpath.dotted))
        message = _("The service's own client cannot read {text}; {dotted} works everywhere.").format(
            text=text, dotted=classpath.dotted
        )
        context.report_at("classpath-colon", path, message, fix=fix)
    if context.facts is None or zipdir is None:
        return
    place = _inside(classpath, zipdir)
    if not context.facts.module_exists(place):
        fix = _other_class(context, view, path, classpath, zipdir)
        context.report_at("class-file", path, _("{path} does not exist.").format(path=place.path), fix=fix)
        return
    if context.facts.processors() is None:
        return
    info = context.facts.find_class(place)
    if info is None:
        fix = _other_class(context, view, path, classpath, zipdir)
        message = _("{path} has no processor class {name}.").format(path=place.path, name=place.class_name)
        context.report_at("class-unknown", path, message, fix=fix)
        return
    _check_info(context, view, path, info)


def _check_info(context: Context, view: FunctionView, path: Path, info: ProcessorInfo) -> None:
    if info.kind is not view.kind:
        message = _("{name} is a {kind}, but the function is a {wanted}.").format(
            name=info.class_name, kind=info.kind.value, wanted=view.kind.value
        )
        context.report_at("class-kind", path, message)
    elif info.is_abstract:
        context.report_at(
            "class-abstract",
            path,
            _("{name} leaves process() to its subclasses.").format(name=info.class_name),
        )
    weights = view.values.get("reward_metric_weight")
    names = [sub.name for sub in info.sub_rewards]
    if not isinstance(weights, dict) or not names or view.kind is not FunctionKind.REWARD:
        return
    for name in weights:
        if name in names:
            continue
        place = (*view.path, "reward_metric_weight", name)
        guess = closest(name, [other for other in names if other not in weights])
        key = context.key(place)
        edits = (
            context.patcher.rename(key, guess) if guess and key is not None and not context.is_given(place) else None
        )
        fix = context.fix(_("Rename to {guess}").format(guess=guess), edits)
        if guess:
            message = _("{owner} has no sub-reward {name!r}; did you mean {guess}?")
        else:
            message = _("{owner} has no sub-reward {name!r}; it has {names}.")
        words = message.format(owner=info.class_name, name=name, guess=guess, names=", ".join(names))
        context.report("metric-unknown", key, words, fix=fix)


def _other_class(context: Context, view: FunctionView, path: Path, wanted: ClassPath, zipdir: str) -> Fix | None:
    """A class of the right kind whose name is the wanted one, or near it."""
    if context.facts is None or path[-1] != "classpath":
        return None
    known = [info for info in context.facts.processors() or () if info.kind is view.kind and not info.is_abstract]
    weights = view.values.get("reward_metric_weight")
    if isinstance(weights, dict):
        known = [
            info for info in known if not info.sub_rewards or set(weights) <= {sub.name for sub in info.sub_rewards}
        ]
    by_text: dict[str, ProcessorInfo] = {}
    for info in known:
        if zipdir and not info.path.startswith(f"{zipdir}/"):
            continue
        own = ClassPath(info.path.removeprefix(f"{zipdir}/") if zipdir else info.path, info.class_name)
        by_text[own.dotted] = info
    same = [text for text, info in by_text.items() if info.class_name == wanted.class_name]
    guess = same[0] if len(same) == 1 else closest(wanted.dotted, by_text)
    return context.fix(_("Write {text}").format(text=guess), context.set(path, guess)) if guess else None


def _check_files(context: Context, view: FunctionView, model: dict[str, object], zipdir: str) -> None:
    assert context.facts is not None
    exists = context.facts.file_exists
    wanted = str(model.get("requirements_path") or "./requirements.txt")
    if not exists(wanted) and not (zipdir and exists(f"{zipdir}/{wanted.removeprefix('./')}")):
        message = _("{wanted} does not exist; {label} needs it to be packaged.").format(wanted=wanted, label=view.label)
        context.report_at("requirements-missing", (*view.path, "fcmodel", "requirements_path"), message)
    extra = model.get("extra_files")
    for index, name in enumerate(extra if isinstance(extra, list) else []):
        if isinstance(name, str) and not exists(name):
            place = (*view.path, "fcmodel", "extra_files", index)
            context.report_at("extra-missing", place, _("{name} does not exist.").format(name=name))
