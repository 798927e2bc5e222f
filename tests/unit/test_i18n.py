from collections.abc import Iterator

import pytest

from agentic_rl_tui.core import i18n


@pytest.fixture(autouse=True)
def _back_to_english() -> Iterator[None]:
    yield
    i18n.set_language("en")


@pytest.mark.parametrize(
    ("wanted", "code"),
    [("zh", "zh_CN"), ("zh_CN.UTF-8", "zh_CN"), ("en_GB", "en"), ("C.UTF-8", "en"), ("xx", "en"), ("en", "en")],
)
def test_a_language_is_known_by_any_of_its_names(wanted: str, code: str) -> None:
    assert i18n.set_language(wanted) == code
    assert i18n.language() == code


def test_auto_follows_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert i18n.set_language("auto") == "zh_CN"
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    assert i18n.set_language(None) == "en"


def test_english_texts_are_themselves() -> None:
    i18n.set_language("en")
    assert i18n._("Cancel") == "Cancel"
    assert i18n.ngettext("job", "jobs", 2) == "jobs"
