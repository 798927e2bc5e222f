"""Reading single values of a job file as what their key stands for."""

import math
import re
from typing import Any

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.jobfile.context import Context
from agentic_rl_tui.core.jobfile.diagnostics import Fix, Severity
from agentic_rl_tui.core.jobfile.keys import Key, Kind
from agentic_rl_tui.core.jobfile.names import closest
from agentic_rl_tui.core.jobfile.scalars import (
    Oddity,
    Reading,
    number_from_text,
    read_plain,
    render_number,
    render_text,
)
from agentic_rl_tui.core.jobfile.tree import GIVEN, IMPLICIT, MappingNode, Node, Path, ScalarNode, SequenceNode, is_null

_STANDARD = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(_STANDARD + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))
_CHOICE_WORDS = {
    "rl": "reinforcement",
    "opd": "pg_opd",
    "distillation": "pg_opd",
    "train": "training",
    "val": "validation",
    "valid": "validation",
    "eval": "validation",
    "test": "testing",
    "agent": "rollout",
    "group": "group_reward",
    "none": "no",
    "never": "no",
    "step": "steps",
    "epochs": "epoch",
    "cosine_with_restarts": "cosine",
    "url": "download_url",
    "oss": "oss_mount",
    "file": "file_id",
}

_DIGITS = re.compile(r"[1-9][0-9]{0,17}").fullmatch

DROP: Any = object()
"""Stands for a value that could not be read."""

_THRESHOLDS = frozenset({"memory_scale_threshold", "concurrency_scale_threshold"})


class ValueReader:
    """Each method gives the value of a node, or DROP with the reason reported."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._seen: set[tuple[str, int]] = set()

    def _report(
        self, rule: str, node: Node, message: str, fix: Fix | None = None, level: Severity | None = None
    ) -> None:
        """Report once a place: an aliased node is read at each of its uses."""
        mark = (rule, id(node))
        if mark not in self._seen:
            self._seen.add(mark)
            self.context.report(rule, node, message, fix=fix, severity=level)

    def _wrong(self, node: Node, key: Key, fix: Fix | None = None) -> Any:
        if key.range_text:
            message = _("{name} must be {kind} ({range}), not {value}.")
        else:
            message = _("{name} must be {kind}, not {value}.")
        words = message.format(name=key.name, kind=_article(key), range=key.range_text, value=_what(node))
        self._report("wrong-type", node, words, fix)
        return DROP

    def _rewrite(self, label: str, node: Node, text: str) -> Fix | None:
        return self.context.fix(label, self.context.rewrite(node, text))

    def _check_tag(self, node: Node) -> None:
        if node.tag not in _PLAIN_TAGS:
            shown = node.tag.replace(_STANDARD, "!!")
            self._report("yaml-tag", node, _("The tag {shown} has no meaning in a job file.").format(shown=shown))

    def _removal(self, path: Path) -> Fix | None:
        return (
            self.context.fix(_("Remove the empty {path}").format(path=path[-1]), self.context.remove(path))
            if path
            else None
        )

    def _null_value(self, node: Node, key: Key, path: Path) -> Any:
        """A written ``null``."""
        if not key.is_nullable:
            self._report("null-value", node, _("{name} is empty.").format(name=key.name), self._removal(path))
        return DROP

    def _reading(self, node: ScalarNode) -> Reading:
        """What a scalar says: quoted ones are text, those from outside are what they are."""
        if node.tag == GIVEN:
            return Reading(node.value)
        if node.tag != IMPLICIT:
            self._check_tag(node)
            if node.tag == _STANDARD + "str":
                return Reading(node.value)
            plain = read_plain(node.value)
            return plain if plain.oddity is not Oddity.FLOAT_AS_TEXT else Reading(plain.value)
        return Reading(node.value) if node.style else read_plain(node.value)

    def _scalar(self, node: ScalarNode, name: str, *, is_text: bool = False) -> Any:
        """A value of no particular type. is_text: an environment variable, which is text in the end."""
        reading = self._reading(node)
        if reading.oddity is None:
            return reading.value
        if reading.oddity is Oddity.FLOAT_AS_TEXT and not is_text:
            text = render_number(float(reading.value))  # type: ignore[arg-type]
            fix = self._rewrite(_("Write {text}").format(text=text), node, text)
            self._report(
                "number-as-text",
                node,
                _("{name}: {value} is text for YAML 1.1.").format(name=name, value=node.value),
                fix,
            )
            return reading.value
        quoted = _quoted(node.value)
        fix = self._rewrite(_("Write {text}").format(text=quoted), node, quoted)
        self._report(
            "ambiguous-value",
            node,
            _("{name}: {value} {difference}; quote it.").format(
                name=name, value=node.value, difference=_disagreement(reading)
            ),
            fix,
        )
        return node.value

    def _text(self, node: Node, key: Key, path: Path) -> Any:
        if not isinstance(node, ScalarNode):
            return self._wrong(node, key)
        reading = self._reading(node)
        value = reading.value
        if isinstance(value, str) and reading.oddity is None:
            return value
        if value is None:
            return self._null_value(node, key, path)
        quoted = _quoted(str(node.value))
        fix = self._rewrite(_("Write {text}").format(text=quoted), node, quoted)
        if reading.oddity is not None:
            self._report(
                "ambiguous-value",
                node,
                _("{name}: {value} {difference}; quote it.").format(
                    name=key.name, value=node.value, difference=_disagreement(reading)
                ),
                fix,
            )
            return node.value
        self._report(
            "wrong-type",
            node,
            _("{name} must be text, not {value}; quote it.").format(name=key.name, value=_what(node)),
            fix,
        )
        return str(node.value)

    def _number(self, node: Node, key: Key, path: Path) -> Any:
        if not isinstance(node, ScalarNode):
            return self._wrong(node, key)
        text = node.value
        if node.tag == IMPLICIT and not node.style and _DIGITS(text):
            value: Any = int(text)
        else:
            value = self._odd_number(node, key, path)
        if value is DROP:
            return DROP
        if key.kind is Kind.INT and isinstance(value, float):
            if not math.isfinite(value) or value != int(value):
                return self._wrong(node, key)
            value = int(value)
        return value if key.holds(value) else self._outside(node, key, value)

    def _odd_number(self, node: ScalarNode, key: Key, path: Path) -> Any:
        """A number that is not simply written in digits."""
        reading = self._reading(node)
        value = reading.value
        if value is None:
            return self._null_value(node, key, path)
        if isinstance(value, bool):
            return self._wrong(node, key)
        if isinstance(value, (int, float)):
            if reading.oddity is not None:
                self._odd_reading(node, key, reading, value)
            return value
        number = number_from_text(value)
        if number is None or (reading.oddity is not None and reading.oddity is not Oddity.UNDERSCORES):
            return self._wrong(node, key)
        fixed = render_number(number)
        fix = self._rewrite(_("Write {text}").format(text=fixed), node, fixed)
        if reading.oddity is Oddity.UNDERSCORES:
            self._report("ambiguous-value", node, _differs(key, value, reading), fix)
        elif node.tag != GIVEN:
            self._report(
                "quoted-number",
                node,
                _("{name} is a number; without quotes it is sent as one.").format(name=key.name),
                fix,
            )
        return number

    def _odd_reading(self, node: Node, key: Key, reading: Reading, value: int | float) -> None:
        if reading.oddity is Oddity.FLOAT_AS_TEXT:
            if key.kind is Kind.INT and float(value).is_integer():
                value = int(value)
            text = render_number(value)
            fix = self._rewrite(_("Write {text}").format(text=text), node, text)
            message = _("{name}: YAML 1.1 reads {value} as text, not as a number; write {text}.").format(
                name=key.name, value=node.value, text=text
            )
            self._report("number-as-text", node, message, fix)
            return
        text = render_number(value)
        fix = self._rewrite(_("Write {text}").format(text=text), node, text)
        self._report("ambiguous-value", node, _differs(key, node.value, reading), fix)

    def _outside(self, node: Node, key: Key, value: int | float) -> Any:
        if key.name in _THRESHOLDS and 1 < value <= 100:
            text = render_number(round(value / 100, 6))
            fix = self._rewrite(_("Write {text}").format(text=text), node, text)
            self._report(
                "threshold-percent",
                node,
                _("{name} is a share from 0 to 1; {value:g} looks like percent.").format(name=key.name, value=value),
                fix,
            )
            return round(value / 100, 6)
        self._report(
            "out-of-range",
            node,
            _("{name} must be {range}; it is {value:g}.").format(name=key.name, range=key.range_text, value=value),
        )
        return DROP

    def _bool(self, node: Node, key: Key, path: Path) -> Any:
        if not isinstance(node, ScalarNode):
            return self._wrong(node, key)
        reading = self._reading(node)
        if isinstance(reading.value, bool):
            return reading.value
        if reading.value is None:
            return self._null_value(node, key, path)
        if reading.oddity is Oddity.BOOLEAN_WORD:
            word = "true" if reading.old else "false"
            fix = self._rewrite(_("Write {text}").format(text=word), node, word)
            self._report("ambiguous-value", node, _differs(key, node.value, reading), fix)
            return bool(reading.old)
        if isinstance(reading.value, str) and reading.value.lower() in ("true", "false"):
            word = reading.value.lower()
            self._wrong(node, key, self._rewrite(_("Write {text}").format(text=word), node, word))
            return word == "true"
        return self._wrong(node, key)

    def _choice(self, node: Node, key: Key, path: Path) -> Any:
        if not isinstance(node, ScalarNode):
            return self._wrong(node, key)
        value = node.value
        if value in key.choices:
            return self._plain_choice(node, key, path)
        if is_null(node):
            return self._null_value(node, key, path)
        word = str(value)
        guess = _CHOICE_WORDS.get(word.strip().lower().replace("-", "_"))
        if guess not in key.choices:
            guess = closest(word, key.choices)
        fix = self._rewrite(_("Write {text}").format(text=guess), node, guess) if guess else None
        if guess:
            message = _("{name} must be {range}, not {value}; did you mean {guess}?")
        else:
            message = _("{name} must be {range}, not {value}.")
        words = message.format(name=key.name, range=key.range_text, value=_shown(word), guess=guess)
        self._report("not-a-choice", node, words, fix)
        return guess or DROP

    def _plain_choice(self, node: ScalarNode, key: Key, path: Path) -> Any:
        """A choice that is spelt right; ``no`` needs quotes, since YAML 1.1 takes it for false."""
        if node.tag == IMPLICIT and not node.style and read_plain(node.value).oddity is Oddity.BOOLEAN_WORD:
            return self._text(node, key, path)
        return node.value


def _what(node: Node) -> str:
    """A value in words, short."""
    if isinstance(node, MappingNode):
        return _("a section")
    if isinstance(node, SequenceNode):
        return _("a list")
    if is_null(node):
        return _("nothing")
    return _shown(str(node.value))


def _shown(text: str) -> str:
    cut = text if len(text) <= 40 else text[:39] + "…"
    return repr(cut)


_ARTICLES = {
    Kind.TEXT: N_("text"),
    Kind.INT: N_("a whole number"),
    Kind.NUMBER: N_("a number"),
    Kind.BOOL: N_("true or false"),
    Kind.CHOICE: N_("one of these"),
    Kind.SECTION: N_("a section of keys"),
    Kind.LIST: N_("a list"),
    Kind.TEXTS: N_("a list of texts"),
    Kind.NUMBERS: N_("names with numbers"),
    Kind.VALUES: N_("names with values"),
    Kind.ANY: N_("a value"),
}


def _article(key: Key) -> str:
    return _(_ARTICLES[key.kind])


def _differs(key: Key, value: object, reading: Reading) -> str:
    told = _("{name}: {value} {difference}.")
    return told.format(name=key.name, value=value, difference=_disagreement(reading))


def _disagreement(reading: Reading) -> str:
    oddity = reading.oddity
    if oddity is Oddity.BOOLEAN_WORD:
        return _("is {value} for YAML 1.1 and text for 1.2").format(value="true" if reading.old else "false")
    if oddity is Oddity.INT_AS_OTHER:
        return _("is {old} for YAML 1.1 and {value} for 1.2").format(old=reading.old, value=reading.value)
    if oddity is Oddity.UNDERSCORES:
        return _("is a number for YAML 1.1 and text for 1.2")
    if oddity is Oddity.BASE_SIXTY:
        return _("counts in sixties for YAML 1.1 and is text for 1.2")
    if oddity is Oddity.DATE:
        return _("is a date for YAML 1.1 and text for 1.2")
    return _("is text for YAML 1.1 and a number for 1.2")


def _quoted(text: str) -> str:
    rendered = render_text(text)
    return rendered if rendered.startswith('"') else f'"{rendered}"'
