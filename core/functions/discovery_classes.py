"""Turns a class of the workspace into what is known of it as a processor, and says what is doubtful about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from agentic_rl_tui.core.functions.discovery_resolve import BASES, ClassRef, Resolver, SdkName
from agentic_rl_tui.core.functions.discovery_source import Decorator, Method
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ProcessorInfo, SubReward

_DEMOS = frozenset(name for name in BASES if name.startswith("Demo"))

_RULES: dict[str, tuple[Severity, str]] = {
    "no-kind": (Severity.WARNING, N_("Inherit the rollout, reward or group reward base class of the SDK.")),
    "undefined-base": (Severity.ERROR, N_("Import it from dashscope.finetune.reinforcement.")),
    "decorator-needs-call": (Severity.ERROR, N_("Write the decorator with parentheses.")),
    "decorator-takes-no-call": (Severity.ERROR, "Write @aggregate_func."),
    "weight-not-a-number": (Severity.ERROR, N_("Write the number without quotes.")),
    "init-arguments": (Severity.ERROR, N_("Give every argument a default, or read settings in setup().")),
    "private-sub": (Severity.WARNING, N_("Give the method a name without a leading underscore.")),
    "duplicate-sub": (Severity.WARNING, N_("Give each sub-reward its own name.")),
    "process-replaced": (Severity.WARNING, N_("Remove it, or move its work into a sub-reward or the aggregate.")),
    "several-aggregates": (Severity.WARNING, N_("Keep one @aggregate_func.")),
    "no-subs": (Severity.WARNING, N_("Decorate methods with @sub_reward_func().")),
    "subs-without-reward-func": (Severity.WARNING, N_('Put @reward_func("…") above the class.')),
    "missing-super-init": (Severity.WARNING, N_("Call super().__init__() first.")),
}


class _Place(Protocol):
    @property
    def line(self) -> int: ...
    @property
    def col(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _Owned:
    """A method and the class that defines it."""

    owner: ClassRef
    method: Method


class ClassReader:
    """Reads one class: `info` is None when it is no processor."""

    def __init__(self, resolver: Resolver, ref: ClassRef) -> None:
        self._resolver = resolver
        self._ref = ref
        self.problems: list[SourceProblem] = []
        line = resolver.ancestors(ref)
        self._classes = [item for item in line if isinstance(item, ClassRef)]
        self._sdk = [item for item in line if isinstance(item, SdkName) and item.name in BASES]
        self._methods = self._collect_methods() if self._sdk else {}
        self.info = self._read() if self._sdk else None

    def _collect_methods(self) -> dict[str, _Owned]:
        """What each attribute name leads to, after overriding."""
        methods: dict[str, _Owned] = {}
        for owner in reversed(self._classes):
            for name in owner.source.attributes:
                methods.pop(name, None)
            for name, method in owner.source.methods.items():
                methods[name] = _Owned(owner, method)
        return methods

    def _read(self) -> ProcessorInfo | None:
        kind = next((kind for item in self._sdk if (kind := BASES[item.name]) is not None), None)
        if kind is None:
            self._report("no-kind", _("inherits AbstractProcessor itself, which makes no kind of function"))
            return None
        if not self._sdk[0].is_certain and not self._is_bound(self._sdk[0].name):
            self._report(
                "undefined-base",
                _("{file} is neither imported nor defined in this file").format(file=self._sdk[0].name),
            )
        decorated = next((ref for ref in self._classes if self._reward_func(ref)), None)
        process = self._process(decorated)
        aggregates = [name for name, owned in sorted(self._methods.items()) if self._is_aggregate(owned, name)]
        source = self._ref.source
        info = ProcessorInfo(
            kind,
            source.name,
            self._ref.module.path,
            source.line,
            is_async=process is True or (isinstance(process, _Owned) and process.method.is_async),
            has_setup="setup" in self._methods,
            docstring=source.docstring,
            sub_rewards=tuple(self._subs()),
            has_aggregate=bool(aggregates),
            is_abstract=process is None or self._has_abstract(process),
        )
        self._check(info, decorated, aggregates)
        self._check_init(info, decorated)
        return info

    def _is_bound(self, name: str) -> bool:
        """Whether the class that names an SDK base by an unclear route at least imports that name."""
        for ref in self._classes:
            heads = {text.split(".")[0] for text in ref.source.bases if text.rpartition(".")[2] == name}
            module = ref.module
            if heads:
                return bool(module.stars) or bool(heads & {*module.bindings, *module.values, *module.classes})
        return True

    def _process(self, decorated: ClassRef | None) -> _Owned | bool | None:
        """The user's method, True for the generated one, False for one that is not in the source, None for none."""
        for ref in self._classes:
            if ref is decorated:
                return True
            if "process" in ref.source.methods:
                return _Owned(ref, ref.source.methods["process"])
            if "process" in ref.source.attributes:
                return False
        return False if any(item.name in _DEMOS for item in self._sdk) else None

    def _has_abstract(self, process: _Owned | bool) -> bool:
        return any(
            item.name.rpartition(".")[2] == "abstractmethod"
            for name, owned in self._methods.items()
            if not (name == "process" and process is True)
            for item in owned.method.decorators
        )

    def _sdk_decorator(self, ref: ClassRef, decorators: tuple[Decorator, ...], name: str) -> Decorator | None:
        for item in decorators:
            target = self._resolver.name(ref.module, item.name)
            if target.name == name if isinstance(target, SdkName) else target is None and item.name == name:
                return item
        return None

    def _reward_func(self, ref: ClassRef) -> bool:
        found = self._sdk_decorator(ref, ref.source.decorators, "reward_func")
        if found is not None and not found.is_call and ref is self._ref:
            self._report("decorator-needs-call", _("@reward_func needs parentheses and an id"), found)
        return found is not None

    def _subs(self) -> Iterator[SubReward]:
        """In the order in which the SDK collects them: by attribute name; of equal names the last one counts."""
        by_name: dict[str, SubReward] = {}
        for name, owned in sorted(self._methods.items()):
            found = self._sdk_decorator(owned.owner, owned.method.decorators, "sub_reward_func")
            if found is None or not self._is_run(name, owned, found):
                continue
            sub = self._sub(owned, found)
            if (first := by_name.get(sub.name)) is not None:
                message = _("sub-reward {file!r} replaces the one of {method} in line {line}").format(
                    file=sub.name, method=first.method, line=first.line
                )
                self._report("duplicate-sub", message, owned.method if owned.owner is self._ref else None)
            by_name[sub.name] = sub
        yield from by_name.values()

    def _is_run(self, name: str, owned: _Owned, decorator: Decorator) -> bool:
        is_own = owned.owner is self._ref
        if not decorator.is_call:
            if is_own:
                self._report("decorator-needs-call", _("@sub_reward_func needs parentheses"), decorator)
            return False
        if name.startswith("_"):
            if is_own:
                message = _("{name} is never run: names that start with _ are skipped").format(name=name)
                self._report("private-sub", message, owned.method)
            return False
        return True

    def _sub(self, owned: _Owned, decorator: Decorator) -> SubReward:
        owner, method, resolver = owned.owner, owned.method, self._resolver
        arguments = dict(zip(("name", "sub_weight"), decorator.args, strict=False)) | dict(decorator.keywords)
        name = method.name
        weight: float | None = 1.0
        if "name" in arguments:
            name = resolver.text(owner.module, owner.source, arguments["name"]) or method.name
        if "sub_weight" in arguments:
            weight = resolver.number(owner.module, owner.source, arguments["sub_weight"])
            text = resolver.text(owner.module, owner.source, arguments["sub_weight"])
            if text is not None and owner is self._ref:
                message = _("the weight of {file} is the text {text!r}, not a number").format(
                    file=method.name, text=text
                )
                self._report("weight-not-a-number", message, decorator)
        return SubReward(name, method.name, weight, method.is_async, method.line)

    def _is_aggregate(self, owned: _Owned, name: str) -> bool:
        found = self._sdk_decorator(owned.owner, owned.method.decorators, "aggregate_func")
        if found is not None and found.is_call and owned.owner is self._ref:
            self._report("decorator-takes-no-call", _("@aggregate_func takes no parentheses"), found)
        return found is not None and not name.startswith("_")

    def _check(self, info: ProcessorInfo, decorated: ClassRef | None, aggregates: list[str]) -> None:
        own = self._ref.source.methods
        if decorated is self._ref and "process" in own:
            self._report("process-replaced", _("@reward_func replaces this process; it never runs"), own["process"])
        if len(aggregates) > 1:
            message = _("has {count} aggregates; only {last} runs").format(count=len(aggregates), last=aggregates[-1])
            self._report("several-aggregates", message, own.get(aggregates[-1]))
        if decorated is not None and not info.sub_rewards:
            self._report("no-subs", _("has @reward_func but no sub-reward, so every score is 0"))
        if decorated is None and info.sub_rewards and info.is_abstract:
            self._report("subs-without-reward-func", _("has sub-rewards but neither @reward_func nor process"))

    def _check_init(self, info: ProcessorInfo, decorated: ClassRef | None) -> None:
        init = self._ref.source.methods.get("__init__")
        if init is None:
            return
        if init.required_arguments:
            message = _("the service makes the class without arguments; this __init__ needs some")
            self._report("init-arguments", message, init)
        if info.kind is FunctionKind.REWARD and not init.calls_base_init:
            effect = _("every score is 0") if decorated else _("the helpers of the base class do not work")
            self._report(
                "missing-super-init",
                _("__init__ does not call super().__init__(), so {effect}").format(effect=effect),
                init,
            )

    def _report(self, rule: str, message: str, place: _Place | None = None) -> None:
        where: _Place = place or self._ref.source
        severity, told = _RULES[rule]
        advice = _(told)
        text = f"{self._ref.source.name}: {message}"
        self.problems.append(SourceProblem(self._ref.module.path, where.line, where.col, text, rule, severity, advice))
