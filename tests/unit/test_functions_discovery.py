import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.functions import discovery
from agentic_rl_tui.core.functions.discovery import Discovery, Severity, discover, forms
from agentic_rl_tui.core.functions.discovery_source import ModuleSource, parse
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath, ProcessorInfo

Write = Callable[[str, str], Path]

SDK = "from dashscope.finetune.reinforcement import *\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "ws"
    path.mkdir()
    return path


@pytest.fixture
def write(root: Path) -> Write:
    def put(path: str, text: str) -> Path:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file

    return put


def _only(found: Discovery) -> ProcessorInfo:
    [info] = found.processors
    return info


def _rules(found: Discovery) -> list[tuple[str, int]]:
    return [(problem.rule, problem.line) for problem in found.problems]


def test_everything_about_a_decorated_reward(root: Path, write: Write) -> None:
    write(
        "functions/reward/safety.py",
        '''\
        from dashscope.finetune.reinforcement import (
            AbstractRewardProcessor, RewardInput, RewardOutput, aggregate_func, reward_func, sub_reward_func,
        )
        W = 0.25

        @reward_func("SafetyProcessor")
        class Safety(AbstractRewardProcessor):
            """Is it safe?"""

            HALF = 1 / 2

            async def setup(self): ...

            @sub_reward_func("toxicity", sub_weight=0.7)
            def toxicity(self, input): ...

            @sub_reward_func("refusal", -0.3)
            async def z_refusal(self, input): ...

            @sub_reward_func(sub_weight=W)
            def named(self, input): ...

            @sub_reward_func(name="half", sub_weight=-HALF)
            def b(self, input): ...

            @sub_reward_func("odd", sub_weight=len("abc"))
            def c(self, input): ...

            @aggregate_func
            def aggregate(self, subs): ...
        ''',
    )
    found = discover(root)
    info = _only(found)
    assert (info.kind, info.class_name, info.path, info.line) == (
        FunctionKind.REWARD,
        "Safety",
        "functions/reward/safety.py",
        7,
    )
    assert info.docstring == "Is it safe?"
    assert (info.is_async, info.has_setup, info.has_aggregate, info.is_abstract) == (True, True, True, False)
    assert [(sub.name, sub.method, sub.weight, sub.is_async) for sub in info.sub_rewards] == [
        ("half", "b", -0.5, False),
        ("odd", "c", None, False),
        ("named", "named", 0.25, False),
        ("toxicity", "toxicity", 0.7, False),
        ("refusal", "z_refusal", -0.3, True),
    ]
    assert info.sub_rewards[3].line == 15
    assert found.problems == ()


@pytest.mark.parametrize(
    "head",
    [
        "from dashscope.finetune.reinforcement import AbstractRolloutProcessor as Base",
        "from dashscope.finetune import reinforcement as R\nBase = R.AbstractRolloutProcessor",
        "import dashscope.finetune.reinforcement as R\nBase = R.AbstractRolloutProcessor",
        "import dashscope\nBase = dashscope.finetune.reinforcement.component.processor.AbstractRolloutProcessor",
        "from dashscope.finetune.reinforcement import *\nBase = AbstractRolloutProcessor",
        (
            "try:\n    from dashscope.finetune.reinforcement import AbstractRolloutProcessor as Base\n"
            "except ImportError:\n    Base = object"
        ),
        "from my_compat_package import AbstractRolloutProcessor as Base",
    ],
)
def test_ways_to_name_the_base(root: Path, write: Write, head: str) -> None:
    write("r.py", head + "\nclass Mine(Base):\n    async def process(self, input): ...\n")
    info = _only(discover(root))
    assert (info.kind, info.is_async, info.is_abstract) == (FunctionKind.ROLLOUT, True, False)


def test_attribute_and_subscripted_bases(root: Path, write: Write) -> None:
    write(
        "r.py",
        """\
        import dashscope.finetune.reinforcement as R
        class One(Mixin, R.AbstractGroupRewardProcessor[int], metaclass=Meta):
            def process(self, input): ...
        """,
    )
    assert _only(discover(root)).kind is FunctionKind.GROUP_REWARD


def test_inheritance_over_files_and_aliases(root: Path, write: Write) -> None:
    write("lib/__init__.py", "from .base import Base as Exported\n")
    write(
        "lib/base.py",
        SDK
        + """\
class Base(AbstractRewardProcessor):
    def setup(self): ...
    @sub_reward_func("a", sub_weight=2)
    def a(self, input): ...
    @sub_reward_func("b")
    def b(self, input): ...
""",
    )
    write(
        "functions/mid.py",
        """\
        from lib import Exported as E
        class Mid(E):
            def b(self, input): "overridden, so no sub-reward"
        """,
    )
    write(
        "functions/leaf.py",
        """\
        from . import mid as m
        from dashscope.finetune.reinforcement import reward_func
        @reward_func("leaf")
        class Leaf(m.Mid): ...
        """,
    )
    found = discover(root)
    by_name = {info.class_name: info for info in found.processors}
    assert set(by_name) == {"Base", "Mid", "Leaf"}
    leaf = by_name["Leaf"]
    assert [(sub.name, sub.weight) for sub in leaf.sub_rewards] == [("a", 2.0)]
    assert (leaf.has_setup, leaf.is_abstract, leaf.is_async) == (True, False, True)
    assert by_name["Base"].is_abstract
    assert by_name["Mid"].is_abstract


def test_namespace_packages_and_dotted_module_bases(root: Path, write: Write) -> None:
    write("a/b/base.py", SDK + "class Base(AbstractRolloutProcessor):\n    def process(self, input): ...\n")
    write("x.py", "import a.b.base\nclass X(a.b.base.Base): ...\n")
    assert [info.class_name for info in discover(root).processors] == ["Base", "X"]


def test_python_order_of_attribute_lookup(root: Path, write: Write) -> None:
    write(
        "d.py",
        SDK
        + """\
class Top(AbstractRewardProcessor):
    def process(self, input): ...
class Left(Top): ...
class Right(Top):
    async def process(self, input): ...
class Both(Left, Right): ...
""",
    )
    both = discover(root).find(ClassPath.parse("d.Both"))
    assert both is not None
    assert both.is_async


def test_abstract_methods_make_a_class_abstract(root: Path, write: Write) -> None:
    write(
        "d.py",
        SDK
        + """\
import abc
class Shared(AbstractRewardProcessor):
    def process(self, input): ...
    @abc.abstractmethod
    def grade(self): ...
class Done(Shared):
    def grade(self): ...
""",
    )
    assert [(info.class_name, info.is_abstract) for info in discover(root).processors] == [
        ("Shared", True),
        ("Done", False),
    ]


def test_demos_of_the_sdk_are_complete_bases(root: Path, write: Write) -> None:
    write(
        "d.py",
        "from dashscope.finetune.reinforcement.component.demo import DemoRewardProcessor as D\nclass X(D): ...\n",
    )
    assert not _only(discover(root)).is_abstract


def test_user_process_below_a_decorated_parent_wins(root: Path, write: Write) -> None:
    write(
        "d.py",
        SDK
        + """\
@reward_func("p")
class Parent(AbstractRewardProcessor):
    @sub_reward_func()
    def a(self, input): ...
class Child(Parent):
    def process(self, input): ...
""",
    )
    found = discover(root)
    assert [(info.class_name, info.is_async) for info in found.processors] == [("Parent", True), ("Child", False)]
    assert found.problems == ()


def test_doubtful_classes_are_named(root: Path, write: Write) -> None:
    write(
        "d.py",
        SDK
        + """\
@reward_func("p")
class P(AbstractRewardProcessor):
    def __init__(self, size):
        self.size = size
    def process(self, input): ...
    @sub_reward_func("x")
    def a(self, input): ...
    @sub_reward_func("x")
    def b(self, input): ...
    @sub_reward_func("y")
    def _c(self, input): ...
    @sub_reward_func
    def d(self, input): ...
    @sub_reward_func("z", sub_weight="0.5")
    def e(self, input): ...
    @aggregate_func
    def one(self, subs): ...
    @aggregate_func()
    def two(self, subs): ...

class Q(AbstractRewardProcessor):
    @sub_reward_func()
    def a(self, input): ...

@reward_func("r")
class R(AbstractRewardProcessor):
    pass

@reward_func
class S(AbstractRewardProcessor):
    def __init__(self, size=3):
        super().__init__()
    @sub_reward_func()
    def a(self, input): ...

class T(AbstractProcessor):
    pass

class U(AbstractRewardProcessor):
    def process(self, input): ...

class U(AbstractRewardProcessor):
    def process(self, input): ...
""",
    )
    write("e.py", "class V(AbstractRolloutProcessor):\n    def process(self, input): ...\n")
    found = discover(root)
    assert _rules(found) == [
        ("init-arguments", 4),
        ("missing-super-init", 4),
        ("process-replaced", 6),
        ("duplicate-sub", 10),
        ("private-sub", 12),
        ("decorator-needs-call", 13),
        ("weight-not-a-number", 15),
        ("decorator-takes-no-call", 19),
        ("several-aggregates", 20),
        ("subs-without-reward-func", 22),
        ("no-subs", 27),
        ("decorator-needs-call", 30),
        ("no-kind", 37),
        ("duplicate-class", 40),
        ("undefined-base", 1),
    ]
    assert all(problem.advice for problem in found.problems)
    assert found.problems[0].severity is Severity.ERROR
    first = found.find(ClassPath.parse("d.P"))
    assert first is not None
    assert [(sub.name, sub.method) for sub in first.sub_rewards] == [("x", "b"), ("z", "e")]


def test_broken_files_are_problems_with_a_place(root: Path, write: Write) -> None:
    write("bad.py", SDK + "class A(AbstractRewardProcessor):\n    def process(self:\n        pass\n")
    (root / "nul.py").write_bytes(b"class A(AbstractRewardProcessor):\n    x = '\0'\n")
    (root / "latin.py").write_bytes(b"class A(AbstractRewardProcessor):\n    x = '\xe9'\n")
    write("deep.py", "class A(AbstractRewardProcessor):\n    x = " + "(" * 5000 + ")" * 5000 + "\n")
    write("fine.py", SDK + "class B(AbstractRewardProcessor):\n    def process(self, input): ...\n")
    found = discover(root)
    assert [info.class_name for info in found.processors] == ["B"]
    assert [(problem.path, problem.rule) for problem in found.problems] == [
        (path, "syntax-error") for path in ("bad.py", "deep.py", "latin.py", "nul.py")
    ]
    bad = found.problems[0]
    assert (bad.line, bad.place) == (3, "bad.py:3")
    assert bad.col > 1


def test_coding_cookie_and_byte_order_mark(root: Path) -> None:
    body = "class A(AbstractRewardProcessor):\n    '''é'''\n    def process(self, input): ...\n"
    (root / "a.py").write_bytes(("# coding: latin-1\n" + SDK + body).encode("latin-1"))
    (root / "b.py").write_bytes(b"\xef\xbb\xbf" + (SDK + body).encode())
    assert [info.docstring for info in discover(root).processors] == ["é", "é"]


def test_what_is_not_walked(root: Path, write: Write, tmp_path: Path) -> None:
    source = SDK + "class A(AbstractRewardProcessor):\n    def process(self, input): ...\n"
    for path in (
        ".git/a.py",
        "node_modules/a.py",
        "__pycache__/a.py",
        "venv/a.py",
        "my-env/lib/a.py",
        "x.egg-info/a.py",
    ):
        write(path, source)
    write("my-env/pyvenv.cfg", "")
    write("big.py", source + "#" * (1 << 20))
    (root / "loop").symlink_to(root)
    (tmp_path / "elsewhere.py").write_text(source)
    (root / "linked.py").symlink_to(tmp_path / "elsewhere.py")
    (root / "gone.py").symlink_to(tmp_path / "absent.py")
    (root / "dir.py").mkdir()
    found = discover(root)
    assert [info.path for info in found.processors] == ["linked.py"]
    assert [(problem.path, problem.rule) for problem in found.problems] == [("big.py", "file-too-large")]


def test_all_forms_lead_to_the_class_and_back(root: Path, write: Write) -> None:
    write("functions/reward/r.py", SDK + "class A(AbstractRewardProcessor):\n    def process(self, input): ...\n")
    write("functions/all.py", "from functions.reward.r import A as Short\n")
    found = discover(root)
    info = _only(found)
    assert forms(info) == ("functions.reward.r.A", "functions.reward.r:A", "functions/reward/r.py:A")
    for text in (*forms(info), "functions/reward/r:A", "functions.all.Short", "functions/all.py:Short"):
        assert found.resolve(text).info == info, text
        assert found.find(ClassPath.parse(text)) == info


def test_a_class_that_is_not_there_is_explained(root: Path, write: Write) -> None:
    write(
        "functions/reward/r.py",
        SDK + "class CalcReward(AbstractRewardProcessor):\n    def process(self, input): ...\nclass Plain: ...\n",
    )
    write("functions/pack/__init__.py", "from .impl import Inner\n")
    write("functions/pack/impl.py", SDK + "class Inner(AbstractRolloutProcessor):\n    def process(self, i): ...\n")
    write("functions/bad.py", "def (")
    found = discover(root)
    cases = {
        "functions.reward.r.CalcRewrd": (
            "functions/reward/r.py has no class CalcRewrd; it has CalcReward",
            ("functions/reward/r.py:CalcReward",),
        ),
        "functions.reward.r.Plain": (
            "Plain in functions/reward/r.py is no processor: it inherits none of the SDK's",
            (),
        ),
        "functions.rewards.r.CalcReward": (
            "there is no file functions/rewards/r.py in the workspace",
            ("functions/reward/r.py:CalcReward",),
        ),
        "functions.pack.Inner": (
            "functions/pack is a package, and the service looks for the file functions/pack.py",
            ("functions/pack/impl.py:Inner",),
        ),
        "functions/bad.py:X": ("functions/bad.py:1: no valid Python: invalid syntax", ()),
        "nothing": ("'nothing' names no module; expected pkg.module.Class, pkg.module:Class or path/file.py:Class", ()),
    }
    for text, (message, suggestions) in cases.items():
        resolution = found.resolve(text)
        assert resolution.info is None
        assert (resolution.message, resolution.suggestions) == (message, suggestions)


def test_refresh_follows_changes_and_reads_only_those(
    root: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("base.py", SDK + "class Base(AbstractRewardProcessor): ...\n")
    write("leaf.py", "from base import Base\nclass Leaf(Base): ...\n")
    write("other.py", "x = 1\n")
    found = discover(root)
    assert [info.is_abstract for info in found.processors] == [True, True]
    parsed: list[str] = []
    monkeypatch.setattr(
        "agentic_rl_tui.core.functions.discovery.parse", lambda data, path: parsed.append(path) or parse(data, path)
    )
    assert found.refresh() == found
    write("base.py", SDK + "class Base(AbstractRewardProcessor):\n    async def process(self, input): ...\n")
    again = found.refresh()
    assert [(info.class_name, info.is_async) for info in again.processors] == [("Base", True), ("Leaf", True)]
    assert parsed == ["base.py"]
    (root / "leaf.py").unlink()
    write("other.py", "from base import Base\nclass Other(Base): ...\n")
    assert [info.class_name for info in found.refresh().processors] == ["Base", "Other"]


def test_endless_hierarchies_end(root: Path, write: Write) -> None:
    write("a.py", "from b import B\nclass A(B): ...\nclass Self(Self): ...\nX = Y\nY = X\nclass Z(X): ...\n")
    write("b.py", SDK + "from a import A\nclass B(A, AbstractRewardProcessor): ...\n")
    write("c.py", "from c import *\nclass C(Missing, AbstractRewardProcessor): ...\n")
    assert {info.class_name for info in discover(root).processors} >= {"B", "C"}


def test_unreadable_file_does_not_hide_the_others(root: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", SDK + "class A(AbstractRewardProcessor):\n    def process(self, input): ...\n")
    write("b.py", SDK)

    def guarded(path: str, *args: Any, **options: Any) -> Any:
        if path.endswith("b.py"):
            raise PermissionError(13, "Permission denied")
        return open(path, *args, **options)

    monkeypatch.setattr(discovery, "open", guarded, raising=False)
    found = discover(root)
    assert [info.class_name for info in found.processors] == ["A"]
    assert [(problem.path, problem.message) for problem in found.problems] == [
        ("b.py", "cannot be read: Permission denied")
    ]


def test_imports_are_read_with_their_conditions() -> None:
    source = textwrap.dedent(
        """\
        import a.b as c
        from . import d
        from ..e import f
        try:
            import g
        except ImportError:
            g = None
        if TYPE_CHECKING:
            import h
        else:
            import i
        def work():
            with x:
                import j
            match y:
                case 1:
                    import k
        async def more():
            importlib.import_module("l.m")
        if __name__ == "__main__":
            import n
        """
    )
    module = parse(source.encode(), "p/q/r.py")
    assert isinstance(module, ModuleSource)
    assert [(item.level, item.module, item.names, item.line, item.is_optional) for item in module.imports] == [
        (0, "a.b", (), 1, False),
        (1, "", ("d",), 2, False),
        (2, "e", ("f",), 3, False),
        (0, "g", (), 5, True),
        (0, "i", (), 11, False),
        (0, "j", (), 14, False),
        (0, "k", (), 17, False),
        (0, "l.m", (), 19, False),
    ]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_break_discovery(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    root = tmp_path_factory.mktemp("junk")
    (root / "a.py").write_bytes(b"class A(AbstractRewardProcessor):\n    x = 1\n" + junk)
    (root / "b.py").write_bytes(junk)
    assert len(discover(root).processors) <= 1
