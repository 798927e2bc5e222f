"""Rules about the model, the teacher, and what OPD takes."""

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.catalog import MODELS, billions_of, family_of, listed, teachers_of
from agentic_rl_tui.core.jobfile.context import Context
from agentic_rl_tui.core.jobfile.diagnostics import Fix
from agentic_rl_tui.core.jobfile.names import closest
from agentic_rl_tui.core.jobfile.tree import Path

_TYPE: Path = ("training", "type")
_TEACHER: Path = ("teacher_model",)
_HYPER: Path = ("training", "hyper_parameters")


def is_opd(context: Context) -> bool:
    training = context.values.get("training")
    kind = training.get("type") if isinstance(training, dict) else None
    return bool(context.values.get("teacher_model")) or kind == "pg_opd"


def check_model(context: Context, *, is_opd: bool) -> None:
    """The base model; whether it is one that OPD is offered for is told with the teacher."""
    name = context.model_name
    if name is None:
        path: Path = ("model", "name")
        if not context.is_filled(path) and not (context.is_filled(("model",)) and "model" not in context.values):
            context.report_at("model-missing", path, _("model.name is not set."))
        return
    if is_opd or listed(name):
        return
    guess = closest(name, MODELS) if name.lower() != name or "_" in name else None
    fix = context.fix(_("Write {text}").format(text=guess), context.set(("model", "name"), guess)) if guess else None
    context.model_guess = guess
    known = ", ".join(model.name for model in MODELS.values() if "rl" in model.uses)
    context.report_at(
        "model-unlisted",
        ("model", "name"),
        _("{name} is none of the listed models: {known}.").format(name=name, known=known),
        fix=fix,
    )


def check_opd(context: Context) -> None:
    """The teacher and the hyper-parameters of an OPD job."""
    teacher = context.values.get("teacher_model")
    if not teacher:
        _check_no_teacher(context)
    else:
        if context.has(_TYPE) and context.values.get("training", {}).get("type") == "reinforcement":
            fix = context.fix(_("Set training.type to pg_opd"), context.set(_TYPE, "pg_opd"))
            message = _("teacher_model makes this job OPD although training.type says reinforcement.")
            context.report_at("teacher-type", _TYPE, message, fix=fix)
        _check_pair(context, str(teacher))
    _check_parameters(context)


def _teacher_fix(context: Context, student: str | None, *, than: str | None = None) -> Fix | None:
    """Name the smallest listed teacher of the student."""
    base = listed(student) if student else None
    choices = [name for name in teachers_of(base.name) if name != than] if base else []
    return (
        context.fix(_("Set teacher_model to {name}").format(name=choices[0]), context.set(_TEACHER, choices[0]))
        if choices
        else None
    )


def _check_no_teacher(context: Context) -> None:
    if context.is_filled(_TEACHER) and "teacher_model" not in context.values:
        return
    fix = _teacher_fix(context, context.model_name)
    message = _("training.type is pg_opd, but there is no teacher_model.")
    context.report_at("teacher-missing", _TYPE, message, fix=fix)


def _check_pair(context: Context, teacher: str) -> None:
    student = context.model_name
    if student is None:
        return
    base = listed(student)
    offered = teachers_of(base.name) if base else ()
    if family_of(teacher) != family_of(student):
        message = _("{teacher} is of another family than {student} ({family}).").format(
            teacher=teacher, student=student, family=family_of(student)
        )
        context.report_at("teacher-family", _TEACHER, message, fix=_teacher_fix(context, student))
        return
    size, own = billions_of(teacher), billions_of(student)
    if teacher == student or (size is not None and own is not None and size <= own):
        message = _("{teacher} is not stronger than {student}.").format(teacher=teacher, student=student)
        context.report_at("teacher-weak", _TEACHER, message, fix=_teacher_fix(context, student, than=teacher))
    elif offered and teacher not in offered:
        guess = closest(teacher, offered)
        fix = context.fix(_("Write {text}").format(text=guess), context.set(_TEACHER, guess)) if guess else None
        message = _("{teacher} is none of the teachers of {student}: {offered}.").format(
            teacher=teacher, student=student, offered=", ".join(offered)
        )
        context.report_at("teacher-unlisted", _TEACHER, message, fix=fix)
    if not offered:
        students = ", ".join(model.name for model in MODELS.values() if "student" in model.uses)
        context.report_at(
            "student-unlisted",
            ("model", "name"),
            _("OPD is offered for {students}; not for {student}.").format(students=students, student=student),
        )


def _check_parameters(context: Context) -> None:
    hyper = context.hyper
    if hyper.get("algorithm") not in (None, "gspo"):
        fix = context.fix(_("Set algorithm to gspo"), context.set((*_HYPER, "algorithm"), "gspo"))
        context.report_at(
            "opd-algorithm",
            (*_HYPER, "algorithm"),
            _("OPD does not take {name}.").format(name=hyper["algorithm"]),
            fix=fix,
        )
    if hyper.get("lr_scheduler_type") == "linear":
        fix = context.fix(_("Set lr_scheduler_type to cosine"), context.set((*_HYPER, "lr_scheduler_type"), "cosine"))
        context.report_at(
            "opd-scheduler",
            (*_HYPER, "lr_scheduler_type"),
            _("OPD does not take {name}.").format(name="linear"),
            fix=fix,
        )
    if hyper.get("save_strategy") == "no":
        fix = context.fix(_("Set save_strategy to epoch"), context.set((*_HYPER, "save_strategy"), "epoch"))
        context.report_at(
            "opd-save", (*_HYPER, "save_strategy"), _("OPD does not take {name}.").format(name="no"), fix=fix
        )
