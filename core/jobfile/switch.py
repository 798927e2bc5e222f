"""Changing the way a job learns: between RL and the four forms of OPD."""

from collections.abc import Sequence
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.blocks import function_block, starting_values
from agentic_rl_tui.core.jobfile.catalog import listed, teachers_of
from agentic_rl_tui.core.jobfile.diagnostics import apply_edits
from agentic_rl_tui.core.jobfile.edit import CannotEdit, Edits, plain_value
from agentic_rl_tui.core.jobfile.facts import WorkspaceFacts
from agentic_rl_tui.core.jobfile.operations import add_function, edits_between, remove_function, remove_value, set_value
from agentic_rl_tui.core.jobfile.scenario import SCENARIOS, Scenario
from agentic_rl_tui.core.jobfile.steps import calls_per_step
from agentic_rl_tui.core.jobfile.tree import MappingNode, Path, parse
from agentic_rl_tui.core.models.functions import FunctionKind

_HYPER: Path = ("training", "hyper_parameters")
_OPD_VALUES = {"algorithm": "gspo", "lr_scheduler_type": "cosine", "save_strategy": "epoch"}
_NOT_FOR_OPD = {"algorithm": ("grpo", "dapo"), "lr_scheduler_type": ("linear",), "save_strategy": ("no", False)}


def switch_scenario(
    text: str,
    target: str,
    *,
    teacher: str | None = None,
    rollout: str | None = None,
    rewards: Sequence[str] = (),
    facts: WorkspaceFacts | None = None,
) -> Edits:
    """Patches that make a job file one of another scenario (a name of SCENARIOS).

    Blocks that the scenario has no use for are removed; missing ones are added for the classes given, else for the
    first fitting class of the workspace. Comments and everything else stay. Raises CannotEdit when a class or
    teacher is needed and none is known.
    """
    if target not in SCENARIOS:
        raise CannotEdit(
            _("There is no scenario {target!r}.").format(target=target),
            advice=_("One of: {names}.").format(names=", ".join(SCENARIOS)),
        )
    switch = _Switch(text, SCENARIOS[target], facts)
    switch.teacher(teacher)
    switch.functions(FunctionKind.ROLLOUT, [rollout] if rollout else [], wanted=SCENARIOS[target].has_rollout)
    switch.functions(FunctionKind.REWARD, list(rewards), wanted=SCENARIOS[target].has_reward)
    switch.parameters()
    return edits_between(text, switch.text)


class _Switch:
    def __init__(self, text: str, target: Scenario, facts: WorkspaceFacts | None) -> None:
        self.text = text
        self.target = target
        self.facts = facts

    def _values(self) -> dict[str, Any]:
        root = parse(self.text).root
        values = plain_value(root) if isinstance(root, MappingNode) else {}
        return values if isinstance(values, dict) else {}

    def _hyper(self) -> dict[str, Any]:
        training = self._values().get("training")
        hyper = training.get("hyper_parameters") if isinstance(training, dict) else None
        return hyper if isinstance(hyper, dict) else {}

    def _apply(self, edits: Edits) -> None:
        self.text = apply_edits(self.text, edits)

    def teacher(self, given: str | None) -> None:
        if not self.target.has_teacher:
            self._apply(remove_value(self.text, ("teacher_model",)))
            self._apply(set_value(self.text, ("training", "type"), "reinforcement"))
            return
        values = self._values()
        name = given or values.get("teacher_model") or self._listed_teacher(values)
        self._apply(set_value(self.text, ("teacher_model",), name))
        self._apply(set_value(self.text, ("training", "type"), "pg_opd"))

    def _listed_teacher(self, values: dict[str, Any]) -> str:
        model = values.get("model")
        student = model.get("name") if isinstance(model, dict) else None
        base = listed(student) if isinstance(student, str) else None
        teachers = teachers_of(base.name) if base else ()
        if not teachers:
            raise CannotEdit(
                _("No teacher is listed for {student}.").format(student=student or _("a job without a model")),
                advice=_("Name one of the same family that is stronger."),
            )
        return teachers[0]

    def functions(self, kind: FunctionKind, given: list[str], *, wanted: bool) -> None:
        """Make sure that functions of a kind are there, or are not; group rewards count as rewards."""
        kinds = {kind.value} if kind is FunctionKind.ROLLOUT else {"reward", "group_reward"}
        listed_functions = self._values().get("functions")
        blocks = listed_functions if isinstance(listed_functions, list) else []
        types = [block.get("type") if isinstance(block, dict) else None for block in blocks]
        unclear = next((index for index, name in enumerate(types) if name not in set(FunctionKind)), None)
        if unclear is not None:
            raise CannotEdit(
                _("Function {number} has no usable type.").format(number=unclear + 1), advice=_("Give it one first.")
            )
        own = [index for index, name in enumerate(types) if name in kinds]
        if not wanted:
            for index in reversed(own):
                self._apply(remove_function(self.text, index))
        elif not own:
            for classpath in given or [self._class(kind)]:
                self._add(kind, classpath)

    def _class(self, kind: FunctionKind) -> str:
        known = self.facts.processors() if self.facts else None
        fitting = [info for info in known or () if info.kind is kind and not info.is_abstract]
        if not fitting:
            raise CannotEdit(
                _("This scenario needs a {kind} function, and no class is known.").format(kind=kind.value),
                advice=_("Write a {kind} in the workspace, or name its class.").format(kind=kind.value),
            )
        return fitting[0].classpath.dotted

    def _add(self, kind: FunctionKind, classpath: str) -> None:
        blocks = self._values().get("functions")
        taken = (
            {block.get("name") for block in blocks if isinstance(block, dict)} if isinstance(blocks, list) else set()
        )
        name = next(name for name in (f"{kind.value}-{n}" for n in range(1, 10_000)) if name not in taken)
        hyper = self._hyper()
        calls = calls_per_step(kind.value, starting_values(hyper, is_opd=self.target.has_teacher, rows=None) | hyper)
        self._apply(add_function(self.text, function_block(kind.value, classpath, name, calls)))

    def parameters(self) -> None:
        """Hyper-parameters that the target does not take."""
        for key, value in self._hyper().items():
            if not self.target.has_teacher and str(key).startswith("opd_teacher_"):
                self._apply(remove_value(self.text, (*_HYPER, str(key))))
            elif self.target.has_teacher and value in _NOT_FOR_OPD.get(str(key), ()):
                self._apply(set_value(self.text, (*_HYPER, str(key)), _OPD_VALUES[str(key)]))
