"""How the traces look."""

import gettext
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentic_rl_tui.core import i18n
from agentic_rl_tui.core.models.errors import Unreachable
from agentic_rl_tui.core.tracing.model import Completeness, Counted

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")]
HUGE = [pytest.param((200, 60), id="200x60")]
CHINESE = {
    "Traces": "链路",
    "WHEN": "时间",
    "FUNCTION": "函数",
    "ENDED": "结果",
    "TIME": "耗时",
    "TOOLS": "工具",
    "SPAN": "步骤",
    "TOKENS": "令牌",
    "ok": "成功",
    "timed out": "超时",
    "attempt {number}": "第 {number} 次尝试",
    "{given} → {made} tokens": "{given} → {made} 令牌",
    "LLM {llm}, tools {tools}": "模型 {llm}，工具 {tools}",
    "trace_tool() was never called": "从未调用 trace_tool()",
    "INPUT": "输入",
    "OUTPUT": "输出",
    "ATTRIBUTES": "属性",
    "span {span}   parent {parent}   trace {trace}": "步骤 {span}   上级 {parent}   链路 {trace}",
    "No traces yet": "还没有链路",
}
PLURALS = {
    "{count} run": "{count} 次运行",
    "{count} span": "{count} 个步骤",
    "{count} not fully traced": "{count} 次不完整",
}


@pytest.fixture
def look(look: Callable[..., bool]) -> Callable[..., bool]:
    """The same comparison, begun at the traces."""
    return lambda app, size, *keys: look(app, size, "5", *keys)


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few fixed texts, so that the picture does not change with the words of translators."""

    class Fixed(gettext.NullTranslations):
        def gettext(self, message: str) -> str:
            return CHINESE.get(message, message)

        def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
            return PLURALS.get(msgid1, msgid2)

        def pgettext(self, context: str, message: str) -> str:
            return CHINESE.get(message, message)

    monkeypatch.setattr(i18n._Current, "catalogue", Fixed())


@pytest.mark.parametrize("size", [*SIZES, *HUGE])
def test_runs(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size)


@pytest.mark.parametrize("size", [*SIZES, *HUGE])
def test_one_run(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "enter", "j", "j")


@pytest.mark.parametrize("size", SIZES)
def test_a_run_that_timed_out(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "j", "j", "enter")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", [(), ("enter", "j", "j")], ids=["runs", "run"])
def test_light(look: Any, scenes: Any, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    assert look(scenes.app(scenes.sample_backend(), values={"tui.theme": "light"}), size, *keys)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", [(), ("j", "enter", "j", "j")], ids=["runs", "run"])
def test_chinese(look: Any, scenes: Any, chinese: None, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    """Wide letters in the texts of the app, and in what went through the model."""
    backend = scenes.sample_backend()
    talk = json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": "每箱有多少支蜡烛？请只给出答案。" * 6}]}]
    )
    run, spans = backend.kept_traces[1]
    spans = [replace(span, attributes={**span.attributes, "gen_ai.input.messages": talk}) for span in spans]
    short = Completeness(Counted(2, 2), Counted(0, 1, ("trace_tool() was never called",)))
    backend.kept_traces[1] = (replace(run, function="算术助手", completeness=short), tuple(spans))
    assert look(scenes.app(backend), size, *keys)


@pytest.mark.parametrize("size", [*SIZES, *HUGE])
def test_no_traces(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.FakeBackend()), size)


@pytest.mark.parametrize("size", SIZES)
def test_no_run_matches(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "slash", *"nothing", "enter")


@pytest.mark.parametrize("size", SIZES)
def test_traces_that_cannot_be_read(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    backend = scenes.sample_backend()

    async def refuse(query: dict[str, Any]) -> None:
        raise Unreachable("the local platform does not answer", advice="Run `agentic-rl-tui platform status`.")

    backend.traces = refuse
    assert look(scenes.app(backend), size)
