"""What a row must look like, as rules over a parsed one. Places are added later, to the problems that are kept."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from agentic_rl_tui.core.datasets.jsonscan import JsonPath, show_key
from agentic_rl_tui.core.i18n import N_, _

ROLES = ("system", "user", "assistant", "tool")
_OTHER_ROLES = {"developer": "system", "function": "tool", "human": "user", "gpt": "assistant", "model": "assistant"}
_TOP_KEYS = ("messages", "rollout_extra", "ground_truth", "tools")
_MESSAGE_KEYS = ("role", "content", "tool_calls", "tool_call_id")
_FOREIGN = {
    "conversations": N_("it looks like ShareGPT"),
    "instruction": N_("it looks like Alpaca"),
    "prompt": N_("it looks like a prompt/completion row"),
    "chosen": N_("it looks like a preference row"),
}


NO_EXTRA = N_("the row has no rollout_extra")


class Found(NamedTuple):
    """A problem without its place: that is where the value at `path` begins, or would be.

    of_key: where its key begins.
    """

    rule: str
    path: JsonPath
    message: str
    of_key: bool = False


def check_row(row: Any) -> list[Found]:
    """All problems of one parsed row, in reading order."""
    if type(row) is not dict:
        return [
            Found("not-an-object", (), _("the row is {kind}; every row must be a JSON object").format(kind=_kind(row)))
        ]
    found: list[Found] = []
    renames = mistyped(row, _TOP_KEYS)
    for key, meant in renames.items():
        found.append(
            Found(
                "mistyped-key",
                (key,),
                _("the key {key} is not read; {meant} was meant").format(key=show_key(key), meant=meant),
                True,
            )
        )
    # Under a mistyped key the messages are checked all the same: all problems, not the first.
    name = next((key for key, meant in renames.items() if meant == "messages"), "messages")
    messages = row.get(name)
    if type(messages) is list and messages:
        for place, message in enumerate(messages):
            # Everything an ordinary message must be, tested at once: this runs for millions of them.
            if (
                type(message) is dict
                and len(message) == 2
                and message.get("role") in ROLES[:3]
                and type(message.get("content")) is str
                and message["content"]
            ):
                continue
            found += _check_message(message, (name, place), messages[:place])
    elif name == "messages":
        found.append(_no_messages(row))
    found += _check_extra(row, renames)
    if "tools" in row and not (row["tools"] is None or _is_list_of_objects(row["tools"])):
        found.append(
            Found(
                "tools-type",
                ("tools",),
                _("tools is {kind}; a list of objects is needed").format(kind=_kind(row["tools"])),
            )
        )
    return found


def _no_messages(row: dict[str, Any]) -> Found:
    if "messages" not in row:
        foreign = next((f"; {_(words)}" for key, words in _FOREIGN.items() if key in row), "")
        return Found("messages-missing", ("messages",), _("the row has no messages{foreign}").format(foreign=foreign))
    value = row["messages"]
    if type(value) is list:
        return Found("messages-empty", ("messages",), _("messages is empty"))
    return Found(
        "messages-type", ("messages",), _("messages is {kind}; a list of objects is needed").format(kind=_kind(value))
    )


def _check_extra(row: dict[str, Any], renames: dict[str, str]) -> Iterator[Found]:
    if "extra_params" in row:
        yield Found(
            "extra-params", ("extra_params",), _("extra_params is the older format; it is rollout_extra today"), True
        )
    truth = row.get("ground_truth")
    if "rollout_extra" not in row:
        if "extra_params" not in row and "rollout_extra" not in renames.values():
            yield Found("rollout-extra-missing", ("rollout_extra",), _(NO_EXTRA))
        return
    extra = row["rollout_extra"]
    if type(extra) is not dict:
        kind = _kind(extra)
        yield Found(
            "rollout-extra-type",
            ("rollout_extra",),
            _("rollout_extra is {kind}; an object is needed").format(kind=kind),
        )
    elif is_nothing(truth):
        if "solution" not in extra:
            yield Found(
                "solution-missing",
                ("rollout_extra", "solution"),
                _("there is no rollout_extra.solution and no ground_truth"),
            )
        elif is_nothing(extra["solution"]):
            yield Found("solution-missing", ("rollout_extra", "solution"), _("the solution is empty"))


def is_nothing(value: Any) -> bool:
    """Whether a solution says nothing: 0 and false are answers, an empty text, list or object is none."""
    return value is None or value == "" or value == [] or value == {}


def _check_message(message: Any, path: JsonPath, earlier: list[Any]) -> Iterator[Found]:
    if type(message) is not dict:
        yield Found("message-type", path, _("the message is {kind}; an object is needed").format(kind=_kind(message)))
        return
    renames = mistyped(message, _MESSAGE_KEYS)
    for key, meant in renames.items():
        yield Found(
            "mistyped-key",
            (*path, key),
            _("the key {key} is not read; {meant} was meant").format(key=show_key(key), meant=meant),
            True,
        )
    role = message.get("role")
    if "role" in message:
        yield from _check_role(role, (*path, "role"))
    elif "role" not in renames.values():
        yield Found("role-missing", (*path, "role"), _("the message has no role"))
    if "content" not in renames.values():
        yield from _check_content(message, path, role)
    if "tool_calls" in message:
        yield from _check_calls(message["tool_calls"], (*path, "tool_calls"), role)
    if role == "tool":
        yield from _check_answer(message, path, renames, earlier)


def _check_role(role: Any, path: JsonPath) -> Iterator[Found]:
    if type(role) is not str:
        yield Found("role-type", path, _("role is {kind}; a text is needed").format(kind=_kind(role)))
    elif role not in ROLES:
        meant = _OTHER_ROLES.get(role) or next((known for known in ROLES if is_near(role, known)), None)
        hint = _("; {meant} was perhaps meant").format(meant=meant) if meant else ""
        yield Found("role-unknown", path, _("the role {role} is unknown{hint}").format(role=show_key(role), hint=hint))


def _check_content(message: dict[str, Any], path: JsonPath, role: Any) -> Iterator[Found]:
    calls_tools = role == "assistant" and bool(message.get("tool_calls"))
    if "content" not in message:
        if not calls_tools:
            yield Found("content-missing", (*path, "content"), _("the message has no content"))
        return
    content = message["content"]
    here = (*path, "content")
    if type(content) is str:
        if not content and not calls_tools and role != "tool":
            yield Found("content-empty", here, _("content is empty"))
    elif content is None:
        if not calls_tools:
            yield Found("content-null", here, _("content is null, which only a message with tool_calls may have"))
    elif type(content) is list:
        if not content:
            yield Found("content-empty", here, _("content is an empty list"))
        for place, part in enumerate(content):
            yield from _check_part(part, (*here, place))
    else:
        yield Found(
            "content-type",
            here,
            _("content is {kind}; a text or a list of parts is needed").format(kind=_kind(content)),
        )


def _check_part(part: Any, path: JsonPath) -> Iterator[Found]:
    if type(part) is not dict:
        yield Found("content-part", path, _("the content part is {kind}; an object is needed").format(kind=_kind(part)))
    elif type(part.get("type")) is not str:
        yield Found("content-part", (*path, "type"), _("the content part has no type"))
    elif part["type"] == "text" and type(part.get("text")) is not str:
        yield Found("content-part", (*path, "text"), _("the text part has no text"))


def _check_calls(calls: Any, path: JsonPath, role: Any) -> Iterator[Found]:
    if calls is None:
        return
    if type(calls) is not list or not calls:
        what = _("an empty list") if calls == [] else _kind(calls)
        yield Found("tool-calls-type", path, _("tool_calls is {what}; a list of calls is needed").format(what=what))
        return
    if role != "assistant":
        yield Found("tool-calls-role", path, _("only an assistant message may call tools"), True)
    for place, call in enumerate(calls):
        yield from _check_call(call, (*path, place))


def _check_call(call: Any, path: JsonPath) -> Iterator[Found]:
    if type(call) is not dict:
        yield Found("tool-call", path, _("the tool call is {kind}; an object is needed").format(kind=_kind(call)))
        return
    if type(call.get("id")) is not str or not call["id"]:
        yield Found("tool-call-id", (*path, "id"), _("the tool call has no id"))
    if call.get("type", "function") != "function":
        yield Found("tool-call", (*path, "type"), _("the type of a tool call must be function"))
    function = call.get("function")
    if type(function) is not dict:
        yield Found("tool-call", (*path, "function"), _("the tool call has no function"))
        return
    here = (*path, "function")
    if type(function.get("name")) is not str or not function["name"]:
        yield Found("tool-call", (*here, "name"), _("the function of the tool call has no name"))
    yield from _check_arguments(function, here)


def _check_arguments(function: dict[str, Any], path: JsonPath) -> Iterator[Found]:
    if "arguments" not in function:
        yield Found("tool-arguments", (*path, "arguments"), _("the function of the tool call has no arguments"))
        return
    arguments = function["arguments"]
    here = (*path, "arguments")
    if type(arguments) is not str:
        yield Found(
            "tool-arguments",
            here,
            _("arguments is {kind}; a text that holds JSON is needed").format(kind=_kind(arguments)),
        )
        return
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        yield Found("tool-arguments", here, _("arguments is a text that is no JSON"))
    else:
        if type(value) is not dict:
            yield Found(
                "tool-arguments", here, _("arguments holds {kind}; an object is needed").format(kind=_kind(value))
            )


def _check_answer(
    message: dict[str, Any], path: JsonPath, renames: dict[str, str], earlier: list[Any]
) -> Iterator[Found]:
    answered = message.get("tool_call_id")
    if "tool_call_id" not in message:
        if "tool_call_id" not in renames.values():
            yield Found("tool-call-id", (*path, "tool_call_id"), _("the tool message has no tool_call_id"))
    elif type(answered) is not str or not answered:
        yield Found("tool-call-id", (*path, "tool_call_id"), _("tool_call_id must be a text"))
    elif answered not in _call_ids(earlier):
        yield Found(
            "tool-call-unknown",
            (*path, "tool_call_id"),
            _("no earlier message has a tool call with id {answered}").format(answered=show_key(answered)),
        )


def _call_ids(messages: list[Any]) -> Iterator[Any]:
    for message in messages:
        calls = message.get("tool_calls") if type(message) is dict else None
        for call in calls if type(calls) is list else ():
            if type(call) is dict and type(call.get("id")) is str:
                yield call["id"]


def mistyped(table: dict[str, Any], known: tuple[str, ...]) -> dict[str, str]:
    """Keys that are nearly a known one which is not there itself, each with the one that was meant."""
    found: dict[str, str] = {}
    for key in table:
        meant = _near(key, known)
        if meant is not None and meant not in table and meant not in found.values():
            found[key] = meant
    return found


def row_renames(row: Any) -> dict[JsonPath, str]:
    """The keys of a row that `check_row` calls mistyped or of the older format, with their right names."""
    if type(row) is not dict:
        return {}
    renames: dict[JsonPath, str] = {(key,): meant for key, meant in mistyped(row, _TOP_KEYS).items()}
    if "extra_params" in row and "rollout_extra" not in row and "rollout_extra" not in renames.values():
        renames["extra_params",] = "rollout_extra"
    meant_messages = next((path[0] for path, meant in renames.items() if meant == "messages"), "messages")
    messages = row.get(meant_messages)
    for place, message in enumerate(messages if type(messages) is list else ()):
        if type(message) is dict:
            for key, meant in mistyped(message, _MESSAGE_KEYS).items():
                renames[meant_messages, place, key] = meant
    return renames


_nearness: dict[tuple[str, tuple[str, ...]], str | None] = {}


def _near(key: str, known: tuple[str, ...]) -> str | None:
    if key in known:
        return None
    try:
        return _nearness[key, known]
    except KeyError:
        meant = next((name for name in known if is_near(key, name)), None)
        if len(_nearness) < 4096:
            _nearness[key, known] = meant
        return meant


def is_near(given: str, known: str) -> bool:
    """Whether `given` is a slip of the pen for `known`: case, separators, or one edit (two in a long word)."""
    if abs(len(given) - len(known)) > 2:
        return False
    plain = given.strip().lower().replace("-", "").replace("_", "")
    return plain == known.replace("_", "") or _edits(given.lower(), known) <= (2 if len(known) > 6 else 1)


def _edits(one: str, other: str) -> int:
    """Insertions, deletions, changes and swaps of neighbours between two short words."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        now = [i]
        for j, b in enumerate(other, 1):
            cost = min(row[j] + 1, now[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            now.append(cost)
        before, row = row, now
    return row[-1]


def _is_list_of_objects(value: Any) -> bool:
    return type(value) is list and all(type(item) is dict for item in value)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    names = {
        str: _("a text"),
        int: _("a number"),
        float: _("a number"),
        list: _("a list"),
        dict: _("an object"),
    }
    return names.get(type(value), _("no JSON value"))
