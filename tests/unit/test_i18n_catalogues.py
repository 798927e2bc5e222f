"""The catalogues hold every text of the sources, whole, and nothing else."""

import pytest

from agentic_rl_tui.core import i18n
from agentic_rl_tui.core.locale import update

LANGUAGES = update.languages()


@pytest.fixture(scope="module", params=LANGUAGES)
def code(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def merged(code: str) -> update.Catalog:
    return update.merged(code)


def test_the_catalogue_is_in_step_with_the_sources(code: str, merged: update.Catalog) -> None:
    written = update.path_of(code).read_text(encoding="utf-8")
    assert update.po_text(merged) == written, "run `python -m agentic_rl_tui.core.locale.update`"


def test_every_text_is_translated(merged: update.Catalog) -> None:
    assert list(update.untranslated(merged)) == []


def test_no_translation_loses_a_value_or_an_edge(merged: update.Catalog) -> None:
    assert list(update.flaws(merged)) == []


def test_the_compiled_catalogue_is_the_written_one(code: str) -> None:
    written = update.path_of(code).read_text(encoding="utf-8")
    assert update.path_of(code, "mo").read_bytes() == update.mo_bytes(written, code)


def test_a_translation_is_used_and_falls_back_to_the_source(code: str) -> None:
    i18n.set_language(code)
    assert i18n._("Jobs") != "Jobs"
    assert i18n._("no such text") == "no such text"
    assert i18n._("") == ""


@pytest.mark.parametrize(
    ("source", "translation", "wrong"),
    [
        ("{count} jobs", "{cuont} 个任务", "other placeholders"),
        ("{count} jobs", "任务", "other placeholders"),
        ("{share:.1%} done", "完成 {share}", "other placeholders"),
        ("name: ", "名称：", "begins or ends"),
        ("one\n", "一", "begins or ends"),
    ],
)
def test_what_a_translator_can_break_is_found(source: str, translation: str, wrong: str) -> None:
    catalogue = update.Catalog(locale="zh_CN")
    catalogue.add(source, translation)
    (flaw,) = update.flaws(catalogue)
    assert flaw.text == source
    assert wrong in flaw.wrong


@pytest.mark.parametrize(("forms", "missing"), [(("",), ["{count} job"]), (("{count} 个任务",), [])])
def test_plural_texts_need_every_form(forms: tuple[str, ...], missing: list[str]) -> None:
    catalogue = update.Catalog(locale="zh_CN")
    catalogue.add(("{count} job", "{count} jobs"), forms)
    assert list(update.untranslated(catalogue)) == missing
    assert list(update.flaws(catalogue)) == []


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('_("one" " text")', ["one text"]),
        ("f\"{_('inside a template')} {count}\"", ["inside a template"]),
        ('ngettext("{count} job", "{count} jobs", count)', [("{count} job", "{count} jobs")]),
        ('Action("jobs.open", "enter", N_("open"), N_("open the job"))', ["open", "open the job"]),
        ('pgettext("of an account", "KEY")', ["KEY"]),
        ('_(name) + _("") + other("no text")', []),
    ],
)
def test_every_marked_text_of_a_source_is_found(source: str, texts: list[str | tuple[str, ...]]) -> None:
    assert sorted({text for text, _context in update.marked(source)}, key=str) == texts
