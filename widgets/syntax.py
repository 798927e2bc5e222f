"""What the words of one line are, told by the line alone: for files too long to be parsed at each key."""

import re
from collections.abc import Iterator

_MOST = 2_000
"""Characters of a line that are looked at; what is behind them stays plain."""

_TEXT = r"\"(?:[^\"\\]|\\.)*\"?"
_NUMBER = r"[-+]?(?:0[xob][0-9a-fA-F_]+|\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)"

_YAML = re.compile(
    rf"""
      (?P<comment>(?:(?<=\s)|^)\#.*)
    | (?P<yaml_field>(?:"[^"\\]*"|'[^']*'|[^\s\#:,\[\]{{}}"'&*!|>%@`-][^\#:,\[\]{{}}]{{0,200}}?)(?=\s*:(?:\s|$)))
    | (?P<string>{_TEXT}|'(?:[^']|'')*'?)
    | (?P<type>[&*][\w.-]+|!\S+)
    | (?P<punctuation_special>---|\.\.\.)
    | (?P<punctuation_bracket>[\[\]{{}}])
    | (?P<punctuation_delimiter>,|[:|>?-](?=[\s+-]|$))
    | (?P<number>{_NUMBER}(?=\s*(?:$|[,\]}}\#])))
    | (?P<boolean>(?:[Tt]rue|[Ff]alse)(?=\s*(?:$|[,\]}}\#])))
    | (?P<constant_builtin>(?:null|~)(?=\s*(?:$|[,\]}}\#])))
    | (?P<plain>[^\s,\[\]{{}}\#:](?:[^,\[\]{{}}\#:]|:(?=\S)|(?<=\S)\#)*)
    """,
    re.VERBOSE,
)
_JSON = re.compile(
    rf"""
      (?P<json_label>"(?:[^"\\]|\\.)*"(?=\s*:))
    | (?P<string>{_TEXT})
    | (?P<number>{_NUMBER})
    | (?P<boolean>true|false)
    | (?P<json_null>null)
    | (?P<punctuation_bracket>[\[\]{{}}])
    | (?P<punctuation_delimiter>[,:])
    """,
    re.VERBOSE,
)
_PYTHON = re.compile(
    rf"""
      (?P<comment>\#.*)
    | (?P<string>[rbfuRBFU]{{0,2}}(?:\"\"\".*?(?:\"\"\"|$)|'''.*?(?:'''|$)|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))
    | (?P<keyword>\b(?:def|class|return|if|elif|else|for|while|in|not|and|or|is|import|from|as|with|try|except|finally
        |raise|yield|async|await|lambda|pass|break|continue|global|nonlocal|assert|del|match|case)\b)
    | (?P<constant_builtin>\b(?:None|True|False|self|cls)\b)
    | (?P<function>(?<=def\ )\w+|(?<=class\ )\w+|@[\w.]+|\b[A-Za-z_]\w*(?=\())
    | (?P<number>\b{_NUMBER})
    | (?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE,
)
_TABLES = {"yaml": _YAML, "json": _JSON, "python": _PYTHON}
_NAMES = {"plain": "string", "name": ""}


def tokens(language: str | None, line: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, name) of the words that have a colour; names are those of the highlighting of short files."""
    table = _TABLES.get(language or "")
    if table is None:
        return
    for match in table.finditer(line[:_MOST]):
        kind = match.lastgroup or ""
        name = _NAMES.get(kind, kind.replace("_", ".", 1) if kind in _DOTTED else kind)
        if name:
            yield match.start(), match.end(), name


_DOTTED = frozenset(
    {
        "yaml_field",
        "json_label",
        "json_null",
        "constant_builtin",
        "punctuation_special",
        "punctuation_bracket",
        "punctuation_delimiter",
    }
)
