"""A JSON reader that knows where everything is; for lines that the fast parser refused or whose places are wanted.

It goes on after faults that leave the structure readable (NaN, lone surrogates, control characters, duplicate keys),
and stops at the first one that does not.
"""

import json
import math
import re
from dataclasses import dataclass, field

from agentic_rl_tui.core.i18n import _

JsonPath = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t\r\n]*+")
_STRING_PIECE = re.compile(r'[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+', re.DOTALL)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u([0-9a-fA-F]{4}))|(\\.?)', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORD = re.compile(r"-?[A-Za-z_][A-Za-z0-9_]*+")
_NAME = re.compile(r"[^\W\d]\w*", re.ASCII)
_LITERALS = frozenset({"true", "false", "null"})
_NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})
_SHOWN_KEY = 40
_SHOWN_PATH = 200
_MAX_DEPTH = 512
_MAX_PLACES = 20_000
"""A row of a million numbers must not cost a million remembered places."""
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null", "nan": "null"}


def show_path(path: JsonPath) -> str:
    """``messages[2].role``; keys that are no plain names in brackets and quotes. Cut in the middle when very long."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _NAME.fullmatch(part) and len(part) <= _SHOWN_KEY:
            text += f".{part}" if text else part
        else:
            text += f"[{show_key(part)}]"
    return text if len(text) <= 2 * _SHOWN_PATH else f"{text[:_SHOWN_PATH]}…{text[-_SHOWN_PATH:]}"


def show_key(key: str) -> str:
    """A text from a file in quotes, without control characters, cut when long."""
    return json.dumps(key if len(key) <= _SHOWN_KEY else f"{key[: _SHOWN_KEY - 1]}…", ensure_ascii=False)


@dataclass(slots=True)
class Fault:
    """kind: syntax, depth, nan, range, surrogate, control, duplicate. index counts characters from 0."""

    kind: str
    index: int
    path: JsonPath
    message: str


@dataclass(slots=True)
class Scan:
    """values and keys give the index where the value, or its key, begins; ends the index after the value.

    is_complete: the line could be read to its end.
    """

    values: dict[JsonPath, int] = field(default_factory=dict)
    keys: dict[JsonPath, int] = field(default_factory=dict)
    ends: dict[JsonPath, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    is_complete: bool = False

    def place(self, path: JsonPath, *, of_key: bool = False) -> int:
        """Where a value or its key begins; of the nearest enclosing value when it is not there."""
        table = self.keys if of_key else self.values
        while path:
            if path in table:
                return table[path]
            path = path[:-1]
            table = self.values
        return self.values.get((), 0)


class _Stop(Exception):
    """The structure is broken from here on."""


@dataclass(slots=True)
class _Open:
    """A container being read. seen is None for an array."""

    path: JsonPath
    seen: dict[str, int] | None
    count: int = 0


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.result = Scan()
        self.stack: list[_Open] = []

    def run(self) -> Scan:
        try:
            self._skip_space()
            self._value(())
            while self.stack:
                self._continue(self.stack[-1])
            self._skip_space()
            if self.at < len(self.text):
                self._stop(self._trailing())
            self.result.is_complete = True
        except _Stop:
            pass
        return self.result

    def _fault(self, kind: str, index: int, path: JsonPath, message: str) -> None:
        self.result.faults.append(Fault(kind, index, path, message))

    def _stop(self, message: str, *, index: int | None = None, path: JsonPath | None = None) -> None:
        if path is None:
            path = self.stack[-1].path if self.stack else ()
        self._fault("syntax", self.at if index is None else index, path, message)
        raise _Stop

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def _trailing(self) -> str:
        if self._peek() in "{[":
            return _("a second value begins here: every row needs its own line")
        if self._peek() in "}]":
            return _("{bracket!r} closes nothing").format(bracket=self._peek())
        if self._peek() == ",":
            return _("a comma after the row; rows are separated by line breaks alone")
        return _("text after the end of the row")

    def _continue(self, open_: _Open) -> None:
        """Read one more member of the innermost container, or its end."""
        self._skip_space()
        char = self._peek()
        closer = "]" if open_.seen is None else "}"
        if char == closer:
            self._close(open_)
            return
        if open_.count:
            if char != ",":
                self._stop(self._no_comma(open_, char))
            comma = self.at
            self.at += 1
            self._skip_space()
            if self._peek() == closer:
                self._stop(_("a comma before {closer!r}").format(closer=closer), index=comma)
        open_.count += 1
        if open_.seen is None:
            self._value((*open_.path, open_.count - 1))
        else:
            self._member(open_, open_.seen)

    def _no_comma(self, open_: _Open, char: str) -> str:
        closer = "]" if open_.seen is None else "}"
        if not char:
            return _("the line ends before {closer!r}; it may be cut off, or the row goes on in the next line").format(
                closer=closer
            )
        if char in "]}":
            return _("{char!r} where {closer!r} was expected").format(char=char, closer=closer)
        return _("a comma or {closer!r} is missing before {shown}").format(closer=closer, shown=self._shown())

    def _shown(self) -> str:
        return repr(self.text[self.at : self.at + 12])

    def _close(self, open_: _Open) -> None:
        self.at += 1
        self.result.ends.setdefault(open_.path, self.at)
        self.stack.pop()

    def _member(self, open_: _Open, seen: dict[str, int]) -> None:
        start = self.at
        if self._peek() != '"':
            self._stop(self._no_key())
        key = self._string(open_.path)
        path = (*open_.path, key)
        if key in seen:
            self._fault(
                "duplicate",
                start,
                path,
                _("the key {key} is here twice, first at column {column}").format(
                    key=show_key(key), column=seen[key] + 1
                ),
            )
        else:
            seen[key] = start
            if len(self.result.keys) < _MAX_PLACES:
                self.result.keys[path] = start
        self._skip_space()
        if self._peek() != ":":
            self._stop(_("a colon is missing after the key {key}").format(key=show_key(key)), path=path)
        self.at += 1
        self._skip_space()
        self._value(path)

    def _no_key(self) -> str:
        char = self._peek()
        if char == "'":
            return _("single quotes; JSON keys and texts stand in double quotes")
        if not char:
            return _("the line ends inside an object; it may be cut off")
        return _("a key in double quotes was expected, not {shown}").format(shown=self._shown())

    def _value(self, path: JsonPath) -> None:
        start = self.at
        values = self.result.values
        if len(values) < _MAX_PLACES:
            # The first of two equal keys keeps its place.
            values.setdefault(path, start)
        char = self._peek()
        if char in ("{", "["):
            if len(self.stack) == _MAX_DEPTH:
                self._fault("depth", start, path, _("nested deeper than {limit} levels").format(limit=_MAX_DEPTH))
                raise _Stop
            self.at += 1
            self.stack.append(_Open(path, {} if char == "{" else None))
            return
        if char == '"':
            self._string(path)
        elif number := _NUMBER.match(self.text, start):
            self._number(number, path)
        else:
            self._word(path)
        if len(self.result.ends) < _MAX_PLACES:
            self.result.ends.setdefault(path, self.at)

    def _number(self, match: re.Match[str], path: JsonPath) -> None:
        self.at = match.end()
        if self.at < len(self.text) and self.text[self.at] in "0123456789.eE+-":
            self._stop(
                _("{text!r} is no JSON number").format(text=self.text[match.start() : self.at + 8]),
                index=match.start(),
                path=path,
            )
        token = match[0]
        if ("e" in token or "E" in token or len(token) > 300) and math.isinf(float(token)):
            self._fault("range", match.start(), path, _("the number {token} is too large").format(token=token[:24]))

    def _word(self, path: JsonPath) -> None:
        match = _WORD.match(self.text, self.at)
        if match is None:
            self._stop(self._no_value(), path=path)
            return
        word = match[0]
        if word in _NOT_FINITE:
            self._fault("nan", self.at, path, _("{word} is no JSON value").format(word=word))
        elif word not in _LITERALS:
            hint = _PYTHON_WORDS.get(word)
            self._stop(
                _("{word} is no JSON value; write {right}").format(word=word, right=hint)
                if hint
                else _("{word} is no JSON value").format(word=word[:24]),
                path=path,
            )
        self.at = match.end()

    def _no_value(self) -> str:
        char = self._peek()
        if not char:
            return _("the line ends where a value was expected; it may be cut off")
        if char == "'":
            return _("single quotes; JSON keys and texts stand in double quotes")
        if char == "/":
            return _("a comment; JSON has none")
        return _("a value was expected, not {shown}").format(shown=self._shown())

    def _string(self, path: JsonPath) -> str:
        """Read a string and return it decoded. Raw control characters are faults, not the end."""
        text = self.text
        start = self.at
        self.at += 1
        while True:
            match = _STRING_PIECE.match(text, self.at)
            assert match is not None
            self.at = match.end()
            char = self._peek()
            if char == '"':
                break
            if not char or char == "\\":
                self._stop(_("a text that does not end; a double quote is missing"), index=start, path=path)
            if char == "\0":
                told = _("a NUL byte in a text")
            else:
                told = _("a raw control character U+{code:04X} in a text").format(code=ord(char))
            self._fault("control", self.at, path, told)
            self.at += 1
        raw = text[start + 1 : self.at]
        self.at += 1
        if "\\" not in raw:
            return raw
        self._check_escapes(raw, start + 1, path)
        decoded: str = json.loads(f'"{raw}"', strict=False)
        return decoded

    def _check_escapes(self, raw: str, offset: int, path: JsonPath) -> None:
        high = -1
        """End of a high surrogate that waits for its low half."""
        for match in _ESCAPE.finditer(raw):
            if match[2] is not None:
                self._stop(
                    _("{escape!r} is no JSON escape").format(escape=match[2]), index=offset + match.start(), path=path
                )
            unit = int(match[1], 16) if match[1] else 0
            is_low = 0xDC00 <= unit <= 0xDFFF
            if high >= 0 and not (is_low and match.start() == high):
                self._lone(offset + high - 6, path)
                high = -1
            if is_low:
                if high < 0:
                    self._lone(offset + match.start(), path)
                high = -1
            elif 0xD800 <= unit <= 0xDBFF:
                high = match.end()
        if high >= 0:
            self._lone(offset + high - 6, path)

    def _lone(self, index: int, path: JsonPath) -> None:
        self._fault(
            "surrogate",
            index,
            path,
            _("{text} is half a character (lone surrogate)").format(text=self.text[index : index + 6]),
        )


def scan(text: str) -> Scan:
    """Read one line, without its line break."""
    return _Scanner(text).run()


def duplicate_keys(text: str) -> bool:
    """Whether any object of a valid JSON text has a key twice; cheaper than a scan."""
    found = False

    def collect(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal found
        row = dict(pairs)
        found = found or len(row) != len(pairs)
        return row

    try:
        json.loads(text, object_pairs_hook=collect)
    except RecursionError:
        return any(fault.kind == "duplicate" for fault in scan(text).faults)
    return found
