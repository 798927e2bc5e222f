"""Data on stdout: tables for people, JSON and YAML for programs. All three hold the same facts."""

import argparse
import re
import sys

from agentic_rl_tui.app.language import cells
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_UNSHOWN = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Controls and direction overrides that a terminal obeys and JSON writers leave as they are."""
FORMATS = ("table", "json", "yaml")


def output_argument(parser: argparse.ArgumentParser, default: str = "table") -> None:
    parser.add_argument(
        "-o", "--output-format", "--output", dest="output", choices=FORMATS, default=default, metavar="FORMAT",
        help=_("table, json or yaml; default: {default}").format(default=default),
    )  # fmt: skip


def emit(data: "Any", form: str) -> None:
    """Print plain data as JSON or YAML. Keys keep their order; text stays readable in any script."""
    import json

    text = json.dumps(data, ensure_ascii=False, indent=2) if form == "json" else _yaml(data)
    # Only texts in quotes hold such characters, and both formats read the same escape there.
    write(_UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def answer(text: str, data: "Any", form: str) -> None:
    """What was done: a sentence for people, the same facts for programs."""
    if form == "table":
        write(text)
    else:
        emit(data, form)


def _yaml(data: "Any") -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes texts in which something is to be escaped."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = '"' if _UNSHOWN.search(value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(data, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=120)
    return written.rstrip("\n")


def write(text: str) -> None:
    """One block of text to stdout, secrets masked. Characters that the terminal's encoding lacks are replaced."""
    from agentic_rl_tui.core.models.redact import redact

    try:
        _put(redact(text) + "\n")
    except BrokenPipeError:
        raise
    except OSError as error:
        from agentic_rl_tui.core.models.errors import ArlError

        sys.stdout = None  # what is left in its buffer would be tried again when the process ends
        raise ArlError(_("stdout cannot be written: {reason}").format(reason=error.strerror or error)) from error


def _put(shown: str) -> None:
    stream = sys.stdout
    try:
        stream.write(shown)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(shown.encode(encoding, "replace").decode(encoding))
    stream.flush()


def table(columns: "Sequence[str]", rows: "Sequence[Sequence[str]]") -> None:
    """Columns aligned by terminal cells; text from outside is made harmless. No borders, so that `awk` can read it."""
    cleaned = [[plain(cell, keep_newlines=False).replace("\t", " ") for cell in row] for row in rows]
    cell_len = _measure([*columns, *(cell for row in cleaned for cell in row)])
    widths = [
        max(cell_len(heading), *(cell_len(row[place]) for row in cleaned)) if cleaned else cell_len(heading)
        for place, heading in enumerate(columns)
    ]
    for row in (list(columns), *cleaned):
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        write("  ".join(padded).rstrip())


def _measure(texts: "Sequence[str]") -> "Callable[[str], int]":
    """What counts terminal cells: for texts without wide characters the builtin does, and costs no import."""
    if all(text.replace("–", "").isascii() for text in texts):
        return len
    from rich.cells import cell_len

    return cell_len


def facts(pairs: "Mapping[str, Any]") -> None:
    """One ``key  value`` line each, empty values left out."""
    import json

    shown = {key: value for key, value in pairs.items() if value not in (None, "", [], {}, ())}
    width = max(map(cells, shown), default=0)
    for key, value in shown.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines = plain(text).split("\n")
        write(f"{key}{' ' * (width - cells(key))}  {lines[0]}".rstrip())
        for line in lines[1:]:
            write(f"{'':<{width}}  {line}".rstrip())
