"""Brings the catalogues in step with the sources: new texts come in untranslated, texts that are gone leave.

python -m agentic_rl_tui.core.locale.update
"""

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from agentic_rl_tui.core.i18n import DOMAIN, LANGUAGES

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
SOURCES = ("app", "core")
MARKS = {"_": (0,), "N_": (0,), "ngettext": (0, 1), "pgettext": (0, 1)}
"""Which arguments of which calls are texts."""
LEFT_OUT = ("built-in",)
_HEADER = "# Texts of agentic-rl-tui. Written by `python -m agentic_rl_tui.core.locale.update`; fill in each msgstr."


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something wrong with one translated text."""

    text: str
    wrong: str


class _Lean(Catalog):
    """A catalogue whose head has only what readers need: the dates and versions of tools would change it each time."""

    @property  # type: ignore[misc]  # Babel's setter is for reading files
    def mime_headers(self) -> list[tuple[str, str]]:
        return [("Content-Type", "text/plain; charset=utf-8"), ("Plural-Forms", self.plural_forms)]


def languages() -> tuple[str, ...]:
    """Every language that needs a catalogue."""
    return tuple(code for code in LANGUAGES if code != "en")


def path_of(code: str, ending: str = "po") -> Path:
    return FOLDER / code / "LC_MESSAGES" / f"{DOMAIN}.{ending}"


def extract() -> Catalog:
    """Every marked text of the sources with the files it stands in."""
    found = Catalog(domain=DOMAIN)
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            if not set(LEFT_OUT).intersection(path.parts):
                # A line number would change the catalogue with every edit of a file.
                place = (path.relative_to(ROOT).as_posix(), 0)
                for text, context in marked(path.read_text(encoding="utf-8")):
                    found.add(text, locations=[place], context=context)
    return found


def marked(source: str) -> Iterator[tuple[str | tuple[str, ...], str | None]]:
    """Every marked text of a source, with its plural where it has one, and its context where it needs one.

    Read from the syntax tree: Babel goes by the tokens, and before Python 3.12 a whole f-string is one of them, so
    that the marks inside would be lost.
    """
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        places = MARKS.get(_called(node.func), ())
        texts = [node.args[place] for place in places if place < len(node.args)]
        known = tuple(text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str))
        if _called(node.func) == "ngettext" and len(known) == 2:
            yield known, None
        elif _called(node.func) == "pgettext" and len(known) == 2:
            yield known[1], known[0]
        else:
            yield from ((text, None) for text in known if text)


def _called(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def read(code: str) -> Catalog:
    """The catalogue as it is written, an empty one where there is none."""
    path = path_of(code)
    if not path.exists():
        return Catalog(locale=code, domain=DOMAIN)
    with path.open("rb") as file:
        return read_po(file, locale=code, domain=DOMAIN)


def merged(code: str) -> Catalog:
    """The texts of the sources with the translations of the catalogue."""
    known = read(code)
    fresh = Catalog(locale=code, domain=DOMAIN, header_comment=_HEADER, fuzzy=False)
    for message in sorted((message for message in extract() if message.id), key=_place):
        old = known.get(message.id, message.context)
        translation = old.string if old is not None else None
        fresh.add(message.id, translation, locations=_files(message), context=message.context)
    return fresh


def _place(message: Message) -> tuple[str, str]:
    return _files(message)[0][0], f"{message.id}{message.context or ''}"


def _files(message: Message) -> list[tuple[str, int]]:
    return [(name, 0) for name in sorted({name for name, _line in message.locations})]


def po_text(catalogue: Catalog) -> str:
    """The catalogue as text, without the dates and versions of tools that Babel puts into its head."""
    sink = BytesIO()
    write_po(sink, catalogue, width=110, include_lineno=False, omit_header=True)
    head = (
        f'{_HEADER}\nmsgid ""\nmsgstr ""\n"Language: {catalogue.locale_identifier}\\n"\n'
        f'"MIME-Version: 1.0\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
        f'"Plural-Forms: {catalogue.plural_forms}\\n"\n\n'
    )
    return head + sink.getvalue().decode("utf-8").strip() + "\n"


def mo_bytes(text: str, code: str) -> bytes:
    """The compiled form of a catalogue; the same text gives the same bytes."""
    catalogue = read_po(BytesIO(text.encode("utf-8")), locale=code, domain=DOMAIN)
    lean = _Lean(locale=code, domain=DOMAIN)
    for message in catalogue:
        if message.id and _is_translated(message):
            lean.add(message.id, message.string, context=message.context)
    sink = BytesIO()
    write_mo(sink, lean)
    return sink.getvalue()


def untranslated(catalogue: Catalog) -> Iterator[str]:
    for message in catalogue:
        if message.id and not _is_translated(message):
            yield _first(message.id)


def flaws(catalogue: Catalog) -> Iterator[Flaw]:
    """Translations that would lose a value, break a line or draw what the source does not."""
    for message in catalogue:
        if not message.id or not _is_translated(message):
            continue
        sources = message.id if isinstance(message.id, (tuple, list)) else (message.id,)
        texts = _texts(message)
        wanted = [_fields(source) for source in sources]
        for text in texts:
            if _fields(text) not in wanted:
                yield Flaw(_first(message.id), f"{text!r} has other placeholders")
            for edge in ("\n", " "):
                is_odd = text.startswith(edge) != sources[0].startswith(edge)
                if is_odd or text.endswith(edge) != sources[0].endswith(edge):
                    yield Flaw(_first(message.id), f"{text!r} begins or ends otherwise")


def _fields(text: str) -> frozenset[str]:
    """The placeholders with their formats; a text with a lone brace has itself."""
    try:
        return frozenset(f"{name}:{form}" for _before, name, form, _turn in string.Formatter().parse(text) if name)
    except ValueError:
        return frozenset(re.findall(r"\{[^{}]*\}", text))


def _texts(message: Message) -> tuple[str, ...]:
    """The translation, or one for each plural form."""
    found = message.string if isinstance(message.string, (tuple, list)) else (message.string,)
    return tuple(text or "" for text in found)


def _is_translated(message: Message) -> bool:
    return all(_texts(message))


def _first(text: "str | tuple[str, ...] | list[str]") -> str:
    return text if isinstance(text, str) else text[0]


def main() -> None:
    for code in languages():
        catalogue = merged(code)
        text = po_text(catalogue)
        path_of(code).parent.mkdir(parents=True, exist_ok=True)
        path_of(code).write_text(text, encoding="utf-8")
        path_of(code, "mo").write_bytes(mo_bytes(text, code))
        missing = list(untranslated(catalogue))
        print(f"{path_of(code)}: {len(catalogue)} texts, {len(missing)} without a translation")
        for flaw in flaws(catalogue):
            print(f"  {flaw.text!r}: {flaw.wrong}")


if __name__ == "__main__":
    main()
