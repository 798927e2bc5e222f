import pytest

from agentic_rl_tui.core.models.processors import BadClassPath, ClassPath


@pytest.mark.parametrize(
    "text",
    ["functions.reward.answer.Answer", "functions.reward.answer:Answer", "functions/reward/answer.py:Answer",
     "functions/reward/answer:Answer", " functions.reward.answer.Answer "],
)  # fmt: skip
def test_every_form_names_the_same_class(text: str) -> None:
    path = ClassPath.parse(text)
    assert path == ClassPath("functions/reward/answer.py", "Answer")
    assert path.dotted == "functions.reward.answer.Answer"
    assert path.colon == "functions/reward/answer.py:Answer"
    assert path.module == "functions.reward.answer"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Answer", "names no module"),
        ("functions/reward/answer.py", "no class"),
        ("functions.reward.answer:", "no class name"),
        ("a b.c:D", "names no module"),
        ("../up.py:Answer", "leaves the workspace"),
        ("/abs/a.py:Answer", "leaves the workspace"),
        ("", "names no module"),
        ("a..b.C", "names no module"),
    ],
)
def test_what_names_no_class_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(BadClassPath, match=why):
        ClassPath.parse(text)
