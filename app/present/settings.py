"""Settings, profiles and keys as rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.app.keymap import by_id, check_keymap, effective, user_keys
from agentic_rl_tui.app.keynames import key_labels
from agentic_rl_tui.app.scopes import SCOPES
from agentic_rl_tui.core.i18n import LANGUAGES, _, pgettext
from agentic_rl_tui.core.known import GROUPS, KNOWN, Known, in_force, shown, wanted
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Cell, Span
from agentic_rl_tui.widgets.columns import Column

if TYPE_CHECKING:
    from agentic_rl_tui.core.settings import Settings

_UNITS = {"s": "s", "bytes": "B", "days": "d"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of any of the three lists. origin is "" where nobody set anything."""

    key: str
    name: str
    value: str
    origin: str
    group: str
    meaning: str
    note: str = ""
    style: str = "$ink"

    @property
    def is_set(self) -> bool:
        return bool(self.origin)

    def holds(self, words: str) -> bool:
        text = f"{self.key} {self.name} {self.value} {self.meaning} {self.group}".casefold()
        return all(word in text for word in words.casefold().split())


def setting_rows(settings: "Settings") -> tuple[Row, ...]:
    return tuple(_setting(known, settings) for known in KNOWN)


def _setting(known: Known, settings: "Settings") -> Row:
    value, origin = in_force(known, settings.values, settings.origins)
    text = plain(shown(value), keep_newlines=False)
    if known.key == "language":
        text = LANGUAGES.get(text, text)
    if known.unit and text:
        text = f"{_amount(value)} {_UNITS[known.unit]}"
    is_free = value is None
    if known.key in settings.values and not origin:
        origin = _("the start of the program")
    return Row(
        known.key,
        known.key,
        text or _("not set"),
        origin,
        _(GROUPS[known.group]),
        _(known.meaning),
        wanted(known),
        "$faint" if is_free else "$ink",
    )


def _amount(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def profile_rows(settings: "Settings", checked: Mapping[str, str], given: str | None = None) -> tuple[Row, ...]:
    """checked: what the last check of a profile's connection found. given: a key named at the start."""
    rows = []
    for name, profile in sorted(settings.profiles.items(), key=lambda item: (not item[1].is_local, item[0])):
        key, key_origin = _key(replace(settings, profile_name=name), given)
        in_use = name == settings.profile_name
        rows.append(
            Row(
                name,
                plain(name, keep_newlines=False),
                key,
                _(profile.origin),
                _("in use") if in_use else "",
                str(profile.socket) if profile.is_local else plain(profile.base_url, keep_newlines=False),
                checked.get(name, ""),
                "$accent" if in_use else "$ink",
            )
        )
        rows[-1] = replace(rows[-1], value=f"{key}  {key_origin}".strip())
    return tuple(rows)


def _key(settings: "Settings", given: str | None) -> tuple[str, str]:
    """The key as it may be shown, and where it comes from: argument, then environment, then profile."""
    try:
        secret = settings.api_key(given)
    except ArlError as error:
        return _("no key that can be used"), error.message
    if secret is None:
        return _("needs none"), ""
    return str(secret), _("from {origin}").format(origin=secret.origin)


def key_rows(settings: "Settings") -> tuple[Row, ...]:
    mine = user_keys(settings.values)
    return tuple(
        Row(
            action.id,
            _(action.label),
            key_labels(keys) or _("no key"),
            settings.origins.get(f"keys.{action.id}", _("yours")) if action.id in mine else "",
            _(SCOPES.get(action.scope, action.scope)),
            action.meaning,
            _("as made: {keys}").format(keys=key_labels(action.keys)) if action.id in mine else "",
        )
        for action, keys in effective(mine)
    )


def new_problems(settings: "Settings", action_id: str, keys: str) -> tuple[str, ...]:
    """What would be wrong if an action had these keys and is not wrong already."""
    mine = user_keys(settings.values)
    before = set(check_keymap(mine))
    return tuple(problem for problem in check_keymap({**mine, action_id: keys}) if problem not in before)


def action_title(action_id: str) -> str:
    action = by_id(action_id)
    return action_id if action is None else action.meaning


def _value(row: Row, _width: int) -> Cell:
    return [(row.value, row.style if row.style != "$ink" else "$accent" if row.is_set else "$ink")]


def _source(row: Row, _width: int) -> Cell:
    return [(row.origin or _("default"), "$muted" if row.origin else "$faint")]


def _muted(text: str) -> Cell:
    return [(text, "$muted")]


def setting_columns() -> tuple[Column[Row], ...]:
    return (
        Column("name", _("SETTING"), lambda row, _width: [(row.name, "$ink")], 24, 30),
        Column("value", _("VALUE"), _value, 16, 30),
        Column("origin", _("FROM"), _source, 10, 24, fold=2),
        Column("meaning", _("MEANS"), lambda row, _width: _muted(row.meaning), 30, 90, fold=1),
    )


def profile_columns() -> tuple[Column[Row], ...]:
    return (
        Column("name", _("PROFILE"), lambda row, _width: [(row.name, row.style)], 12, 20),
        Column("used", "", lambda row, _width: [(row.group, "$accent")], 7),
        Column("url", _("ADDRESS"), lambda row, _width: _muted(row.meaning), 24, 60, fold=2),
        Column("key", pgettext("of an account", "KEY"), lambda row, _width: [(row.value, "$ink")], 20, 60),
        Column("check", _("CONNECTION"), lambda row, _width: [(row.note or "–", "$ink")], 14, 50, fold=1),
    )


def key_columns() -> tuple[Column[Row], ...]:
    return (
        Column("keys", _("KEYS"), _value, 12, 20),
        Column("scope", _("WHERE"), lambda row, _width: _muted(row.group), 14, 22, fold=1),
        Column("does", _("DOES"), lambda row, _width: [(row.meaning, "$ink")], 30, 70),
        Column("id", _("ACTION"), lambda row, _width: [(row.key, "$faint")], 20, 26, fold=2),
    )


def detail(row: Row, tab: str) -> tuple[tuple[Span, ...], ...]:
    """Everything about the row under the cursor, for screens too narrow for all columns."""
    lines: list[tuple[Span, ...]] = [((row.key, "$accent bold"), ("  ", ""), (row.meaning, "$ink"))]
    value: list[Span] = [(row.value, "$ink")]
    if tab != "profiles":
        value += [("  ", ""), (row.origin or _("default"), "$muted")]
    lines.append(tuple(value))
    if row.note:
        lines.append(((row.note, "$muted"),))
    return tuple(lines)


def matching(rows: Iterable[Row], words: str) -> tuple[Row, ...]:
    return tuple(row for row in rows if row.holds(words))
