"""What can be typed at a place of a job file, what the key there means, and the outline of the whole."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.jobfile.blocks import function_block
from agentic_rl_tui.core.jobfile.catalog import MODELS, listed, teachers_of
from agentic_rl_tui.core.jobfile.facts import WorkspaceFacts
from agentic_rl_tui.core.jobfile.keys import Key, Kind
from agentic_rl_tui.core.jobfile.places import Place, place_at
from agentic_rl_tui.core.jobfile.presets import PRESETS
from agentic_rl_tui.core.jobfile.render import item_lines
from agentic_rl_tui.core.jobfile.scalars import render_scalar, render_text
from agentic_rl_tui.core.jobfile.schema import key_at
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import BadClassPath, ClassPath, ProcessorInfo

_MODEL_NAME = re.compile(r"^model:[ \t]*(?:#.*)?\r?\n[ \t]+name:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_ENV = {
    "ENABLE_TRAJECTORY": ('"false"', N_("turns tracing off, which saves money on large runs")),
    "LOG_LEVEL": ("INFO", N_("DEBUG, INFO, WARNING, ERROR or CRITICAL")),
    "AGENTIC_RL_FORCE_FLUSH_MODE": ("request", N_("when traces are sent: none, shutdown or request")),
}
_FIXED_VALUES = {
    "charge_type": ("mtu_postpaid",),
    "mtu_spec_code": ("MTU4",),
    "zipdir": ("./",),
    "timeout": ("600", "120"),
    "memory_size": ("4096", "8192"),
    "disk_size": ("512",),
    "cpu": ("2",),
    "concurrency": ("30",),
    "memory_scale_threshold": ("0.6", "0.7"),
    "concurrency_scale_threshold": ("0.6", "0.7"),
}


@dataclass(frozen=True, slots=True)
class Completion:
    """insert replaces the columns start_col to end_col (from 1, the end not included) of the cursor's line."""

    label: str
    insert: str
    detail: str
    start_col: int = 1
    end_col: int = 1


@dataclass(frozen=True, slots=True)
class KeyDoc:
    """Help for one key. range and default are empty where nothing is known."""

    name: str
    path: str
    meaning: str
    type: str
    range: str
    default: str
    source: str


def complete(text: str, line: int, col: int, facts: WorkspaceFacts | None = None) -> list[Completion]:
    """What fits at a cursor, best first. Works in half-typed text; empty where nothing is known."""
    place = place_at(text, line, col)
    own = place.line
    if "#" in own.text[: place.column] and re.search(r"(^|\s)#", own.text[: place.column]):
        return []
    if own.key is not None and own.value_column is not None and place.column > _colon(own.text, own.column):
        return _values(text, place, facts)
    return _keys(place, facts)


def _colon(text: str, column: int) -> int:
    return text.index(":", column)


def _keys(place: Place, facts: WorkspaceFacts | None) -> list[Completion]:
    section = key_at(place.path)
    if section is None:
        return _free_keys(place, facts)
    if section.kind is Kind.LIST:
        return _items(section, place, facts)
    if section.kind in (Kind.VALUES, Kind.NUMBERS):
        return _free_keys(place, facts)
    taken = {sibling.key for sibling in place.siblings()}
    start = min(place.depth, place.column)
    end = _word_end(place.line.text, start)
    has_colon = place.line.key is not None
    options = [
        (name, name if has_colon else _key_text(key, place.depth), _first_sentence(_(key.meaning)))
        for name, key in section.keys.items()
        if name not in taken
    ]
    return _matching(options, place.line.text[start : place.column], start, end)


def _word_end(text: str, start: int) -> int:
    match = re.compile(r"[\w.-]*").match(text, start)
    return match.end() if match else start


def _key_text(key: Key, column: int) -> str:
    pad = " " * (column + 2)
    if key.kind is Kind.LIST:
        return f"{key.name}:\n{pad}- "
    if key.kind in (Kind.SECTION, Kind.VALUES, Kind.NUMBERS):
        return f"{key.name}:\n{pad}"
    return f"{key.name}: "


def _items(section: Key, place: Place, facts: WorkspaceFacts | None) -> list[Completion]:
    """Whole blocks for a list of sections."""
    blocks: list[tuple[str, dict[str, object], str]] = []
    if section.name == "functions":
        for kind in FunctionKind:
            known = [info for info in _processors(facts) if info.kind is kind]
            classes = [info.classpath.dotted for info in known] or [f"functions.{kind.value}.{kind.value}.MyProcessor"]
            for name in classes:
                block: dict[str, object] = function_block(kind.value, name, f"{kind.value}-1")
                blocks.append((f"{kind.value} {name.rpartition('.')[2]}", block, name))
    elif section.name == "datasets":
        files = [name for name in _files(facts) if name.endswith(".jsonl")] or ["data/train.jsonl"]
        for use in ("training", "validation"):
            for name in files:
                block = {"type": use, "data_source_type": "file_id", "file_name": f"./{name}"}
                blocks.append((f"{use} {name}", block, name))
    column = place.line.dashes[0] if place.line.dashes else place.depth
    start = min(column, place.column)
    options = [(label, "\n".join(item_lines(block, column)).lstrip(), detail) for label, block, detail in blocks]
    typed = place.line.text[start : place.column].lstrip("- ")
    return _matching(options, typed, start, max(len(place.line.text.rstrip()), start))


def _free_keys(place: Place, facts: WorkspaceFacts | None) -> list[Completion]:
    """Names inside env and reward_metric_weight."""
    path = place.path
    taken = {sibling.key for sibling in place.siblings()}
    options: list[tuple[str, str, str]] = []
    if path and path[-1] == "env":
        options = [(name, f"{name}: {value}", _(detail)) for name, (value, detail) in _ENV.items()]
    elif path and path[-1] == "reward_metric_weight":
        info = _class_of(place, facts)
        for sub in info.sub_rewards if info else ():
            weight = sub.weight if sub.weight is not None else 1.0
            options.append(
                (
                    sub.name,
                    f"{render_text(sub.name)}: {render_scalar(weight)}",
                    _("sub-reward {method}").format(method=sub.method),
                )
            )
    start = min(place.depth, place.column)
    end = len(place.line.text.rstrip()) if place.line.key is None else _word_end(place.line.text, start)
    free = [option for option in options if option[0] not in taken]
    return _matching(free, place.line.text[start : place.column], start, max(end, start))


def _class_of(place: Place, facts: WorkspaceFacts | None) -> ProcessorInfo | None:
    """The class of the function that a place inside its block belongs to."""
    if facts is None:
        return None
    try:
        return facts.find_class(ClassPath.parse(_sibling_in_item(place, "classpath") or ""))
    except BadClassPath:
        return None


def _sibling_in_item(place: Place, key: str) -> str | None:
    """The value of a key anywhere in the list item around a place."""
    rows = range(len(place.lines))
    first = next((row for row in range(place.row, -1, -1) if _begins_item(place, row)), 0)
    for row in rows[first:]:
        if row > place.row and _begins_item(place, row):
            break
        line = Place(place.lines, row, 0).line
        if line.key == key and line.value:
            return line.value.strip("\"'")
    return None


def _begins_item(place: Place, row: int) -> bool:
    line = Place(place.lines, row, 0).line
    return (bool(line.dashes) and line.key is not None) or (not line.is_blank and line.column == 0 and not line.dashes)


def _values(text: str, place: Place, facts: WorkspaceFacts | None) -> list[Completion]:
    own = place.line
    assert own.key is not None
    assert own.value_column is not None
    start = min(own.value_column, place.column)
    before = own.text[start : place.column]
    rest = re.match(r"[^#]*?(?=\s+#|\s*$)", own.text[start:])
    end = start + (len(rest[0]) if rest else 0)
    path = (*place.path, own.key)
    key = key_at(path)
    options = [(value, value, detail) for value, detail in _options(text, place, path[-2:], key, facts)]
    gap = "" if own.text[:start].endswith((" ", "\t")) else " "
    known = [(label, gap + insert, detail) for label, insert, detail in options]
    return _matching(known, before.strip("\"' "), start, end) or _matching(known, "", start, end)


def _options(
    text: str, place: Place, path: tuple[str | int, ...], key: Key | None, facts: WorkspaceFacts | None
) -> Iterable[tuple[str, str]]:
    name = str(path[-1])
    special = _SPECIAL.get(path) or _SPECIAL.get((name,))
    if key is not None and special is not None:
        return special(text, place, facts)
    if key is None:
        return ()
    if key.kind is Kind.CHOICE:
        return [(_choice(value), key.name) for value in key.choices]
    if key.kind is Kind.BOOL:
        return [("true", ""), ("false", "")]
    found: dict[str, str] = dict.fromkeys(_FIXED_VALUES.get(name, ()), "usual")
    for preset in PRESETS.values():
        if name in preset.values:
            value, reason = preset.values[name]
            found.setdefault(render_scalar(value), f"{preset.name}: {reason}")
    if key.default and key.kind in (Kind.INT, Kind.NUMBER):
        found.setdefault(key.default, _("default"))
    return found.items()


def _choice(value: str) -> str:
    return render_text(value)


def _models(_text: str, _place: Place, _facts: WorkspaceFacts | None) -> list[tuple[str, str]]:
    return [(model.name, _("mixture of experts") if model.is_moe else _("dense")) for model in MODELS.values()]


def _teachers(text: str, _place: Place, _facts: WorkspaceFacts | None) -> list[tuple[str, str]]:
    match = _MODEL_NAME.search(text)
    base = listed(match[1]) if match else None
    names = teachers_of(base.name) if base else ()
    if names:
        return [(name, _("teacher of {name}").format(name=base.name) if base else "") for name in names]
    return [(model.name, "teacher") for model in MODELS.values() if "teacher" in model.uses]


def _classes(_text: str, place: Place, facts: WorkspaceFacts | None) -> list[tuple[str, str]]:
    kind = _sibling_in_item(place, "type")
    known = [info for info in _processors(facts) if not info.is_abstract]
    known.sort(key=lambda info: (info.kind.value != kind, info.path, info.line))
    return [(info.classpath.dotted, f"{info.kind.value}, {info.path}:{info.line}") for info in known]


def _data_files(_text: str, _place: Place, facts: WorkspaceFacts | None) -> list[tuple[str, str]]:
    found = []
    for name in _files(facts):
        if name.endswith((".jsonl", ".ndjson")):
            rows = facts.rows(name) if facts else None
            found.append((f"./{name}", _("{rows} rows").format(rows=rows) if rows is not None else _("data set")))
    return found


def _requirement_files(_text: str, _place: Place, facts: WorkspaceFacts | None) -> list[tuple[str, str]]:
    return [(f"./{name}", "requirements") for name in _files(facts) if name.endswith(".txt")]


_Source = Callable[[str, Place, WorkspaceFacts | None], Sequence[tuple[str, str]]]
_SPECIAL: dict[tuple[str | int, ...], _Source] = {
    ("model", "name"): _models,
    ("teacher_model",): _teachers,
    ("classpath",): _classes,
    ("file_name",): _data_files,
    ("requirements_path",): _requirement_files,
}


def _processors(facts: WorkspaceFacts | None) -> Sequence[ProcessorInfo]:
    return (facts.processors() or ()) if facts is not None else ()


def _files(facts: WorkspaceFacts | None) -> Sequence[str]:
    return facts.files() if facts is not None else ()


def _matching(options: Iterable[tuple[str, str, str]], typed: str, start: int, end: int) -> list[Completion]:
    """The options that contain what was typed; those that begin with it come first."""
    needle = typed.strip().lower()
    ranked = []
    for order, (label, insert, detail) in enumerate(options):
        plain = label.lower()
        if needle in plain:
            ranked.append((not plain.startswith(needle), order, Completion(label, insert, detail, start + 1, end + 1)))
    return [completion for _starts, _order, completion in sorted(ranked, key=lambda item: item[:2])]


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;:])\s|(?<=[。；：])", text, maxsplit=1)[0].rstrip(".;:。；：")


def describe(text: str, line: int, col: int) -> KeyDoc | None:
    """Help for the key of the line under a cursor, or for the section around it; None outside the schema."""
    place = place_at(text, line, col)
    path = (*place.path, place.line.key) if place.line.key is not None else place.path
    while path:
        key = key_at(path)
        if key is not None and key.name:
            shown = ".".join("[]" if isinstance(step, int) else step for step in path).replace(".[]", "[]")
            return KeyDoc(
                key.name, shown, _(key.meaning), _(key.kind.value), key.range_text, _(key.default), key.source
            )
        path = path[:-1]
    return None
