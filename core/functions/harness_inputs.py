"""Inputs for trying a function: read, built from a data row, and checked against the service's models."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from agentic_rl_tui.core.functions.processors.models import GroupRewardInput, RewardInput, RolloutInput
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.jsonwords import in_words
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.redact import mask

Payload = dict[str, Any]

MODELS: Mapping[FunctionKind, type[BaseModel]] = {
    FunctionKind.ROLLOUT: RolloutInput,
    FunctionKind.REWARD: RewardInput,
    FunctionKind.GROUP_REWARD: GroupRewardInput,
}
DEFAULT_ROLLOUTS = 4
MADE_UP: tuple[str | None, ...] = (None, "I do not know.", "")
"""Answers of made-up rollouts; None stands for the right one."""
_MAX_INPUT_BYTES = 64 << 20
_PLACEHOLDER = re.compile(r"((?:[#*$`|=]+\s*)?(?:[A-Za-z]+:\s*)?)<(?:your )?answer>(\s*[#*$`|=]+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """What is wrong at one place of an input or an answer. path is a JSON path, ``$`` for the whole."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class ModelResource:
    """The endpoint at which a rollout calls the model."""

    model_name: str
    base_url: str
    api_key: str

    def payload(self) -> dict[str, str]:
        return {"model_name": self.model_name, "base_url": self.base_url, "api_key": self.api_key}

    def __repr__(self) -> str:
        return f"ModelResource({self.model_name!r}, {self.base_url!r}, api_key={mask(self.api_key)!r})"


def json_path(parts: Sequence[int | str]) -> str:
    """``$.agent_outputs[0].messages`` for a place given by its keys and indexes."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if re.fullmatch(r"[^\W\d]\w*", part) else f"[{orjson.dumps(part).decode()}]"
    return path


def check_input(kind: FunctionKind, payload: object) -> tuple[SchemaProblem, ...]:
    """Every problem of an input at once, as the service would see it; without the values, which may be secret."""
    if not isinstance(payload, dict):
        return (SchemaProblem("$", _("must be a JSON object, not {json_kind}").format(json_kind=_json_kind(payload))),)
    problems: list[SchemaProblem] = []
    try:
        MODELS[kind].model_validate(payload)
    except ValidationError as error:
        problems += [
            SchemaProblem(json_path(item["loc"]), item["msg"])
            for item in error.errors(include_url=False, include_input=False, include_context=False)
        ]
    told = payload.get("func_type")
    if isinstance(told, str) and told in {known.value for known in FunctionKind} and told != kind.value:
        problems.append(
            SchemaProblem(
                "$.func_type", _("is {told}, but the function is a {value}").format(told=told, value=kind.value)
            )
        )
    return tuple(problems)


def _json_kind(value: object) -> str:
    kinds = {list: _("an array"), str: _("a text"), int: _("a number"), float: _("a number"), bool: _("a boolean")}
    return "null" if value is None else kinds.get(type(value), type(value).__name__)


def load_input(source: Mapping[str, Any] | str | Path) -> Payload:
    """An input from a dictionary, a JSON text, or the path of a JSON file. Raises InputError with line and column."""
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, str) and source.lstrip().startswith(("{", "[", '"')):
        return _parse(source.encode(errors="surrogatepass"), _("the input"))
    path = Path(source).expanduser()
    try:
        if path.stat().st_size > _MAX_INPUT_BYTES:
            raise InputError(_("{path} is larger than {limit} MiB").format(path=path, limit=_MAX_INPUT_BYTES >> 20))
        return _parse(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        advice = _("Give a JSON object, or the path of a file that holds one.")
        raise InputError(
            _("the input {source!r} cannot be read: {reason}").format(source=str(source)[:200], reason=reason),
            advice=advice,
        ) from error


def _parse(raw: bytes, name: str) -> Payload:
    try:
        value = orjson.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InputError(
            _("{name} is no JSON: {msg} in line {lineno}, column {colno}").format(
                name=name, msg=in_words(error.msg), lineno=error.lineno, colno=error.colno
            )
        ) from error
    if not isinstance(value, dict):
        raise InputError(
            _("{name} holds {json_kind}, not a JSON object").format(name=name, json_kind=_json_kind(value))
        )
    return value


def read_rows(path: Path, *, start: int = 0, limit: int | None = None) -> Iterator[tuple[int, Payload]]:
    """(index, row) of a JSONL data file; indexes count the lines that are not blank, from 0. Raises InputError."""
    try:
        with path.open("rb") as file:
            numbered = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
            stop = None if limit is None else start + limit
            for index, (number, line) in itertools.islice(enumerate(numbered), start, stop):
                yield index, _parse(line, f"{path.name}:{number}")
    except OSError as error:
        raise InputError(_("{path} cannot be read: {error}").format(path=path, error=error.strerror)) from error


def read_row(path: Path, index: int) -> Payload:
    """One row by its index from 0. Raises InputError, also when the file has fewer rows."""
    found = next(read_rows(path, start=index, limit=1), None) if index >= 0 else None
    if found is None:
        raise InputError(
            _("{path} has no row {index}").format(path=path, index=index),
            advice=_("Rows count from 0; blank lines do not count."),
        )
    return found[1]


def truth_of(row: Mapping[str, Any]) -> Any:
    """What rewards receive as ground_truth: the row's own, else the solution in its rollout_extra."""
    if row.get("ground_truth") is not None:
        return row["ground_truth"]
    extra = row.get("rollout_extra")
    return extra.get("solution") if isinstance(extra, Mapping) else None


def metadata(row_index: int, rollout: int = 0) -> dict[str, str]:
    return {
        "job_id": "try",
        "sample_id": f"row-{row_index}",
        "rollout_id": f"row-{row_index}-rollout-{rollout}",
        "attempt_id": "0",
    }


def rollout_input(
    row: Mapping[str, Any], resource: ModelResource, *, row_index: int = 0, rollout: int = 0, **sampling: Any
) -> Payload:
    """The input of a rollout for one data row. sampling: temperature, max_tokens and the like."""
    return {
        "func_type": FunctionKind.ROLLOUT.value,
        "messages": row.get("messages"),
        "tools": row.get("tools"),
        "ground_truth": truth_of(row),
        "rollout_extra": row.get("rollout_extra"),
        "sampling_params": {"temperature": 1.0, "max_tokens": 1024, **sampling},
        "model_resource": resource.payload(),
        "request_metadata": metadata(row_index, rollout),
    }


def agent_output(row: Mapping[str, Any], answer: str | None = None) -> dict[str, Any]:
    """A finished rollout as it may look: the row's messages and an answer.

    Without an answer the row's solution is given in the form that its prompt asks for, unless the messages already
    end with the assistant's words.
    """
    messages = row.get("messages")
    talk = list(messages) if isinstance(messages, list) else []
    ends_with_answer = bool(talk) and isinstance(talk[-1], Mapping) and talk[-1].get("role") == "assistant"
    if answer is not None or not ends_with_answer:
        text = _right_answer(talk, truth_of(row)) if answer is None else answer
        talk.append({"role": "assistant", "content": text})
    return {"messages": talk, "rollout_extra": row.get("rollout_extra"), "rollout_metrics": {}, "reward_score": None}


def _right_answer(messages: Sequence[Any], truth: Any) -> str:
    """The solution as the prompt wants it: tags, ``\\boxed{…}``, or a line with ``<answer>`` in it."""
    text = "" if truth is None else str(truth)
    prompt = "\n".join(str(item.get("content") or "") for item in messages if isinstance(item, Mapping))
    if "</answer>" in prompt:
        return f"<answer>{text}</answer>"
    if "\\boxed" in prompt:
        return f"\\boxed{{{text}}}"
    if (found := _PLACEHOLDER.search(prompt)) is not None:
        return f"{found[1]}{text}{found[2] or ''}"
    return text


def reward_input(row: Mapping[str, Any], output: Mapping[str, Any], *, row_index: int = 0, rollout: int = 0) -> Payload:
    """The input of a reward: one finished rollout of a row."""
    return {
        "func_type": FunctionKind.REWARD.value,
        "ground_truth": truth_of(row),
        "request_metadata": metadata(row_index, rollout),
        "agent_output": dict(output),
    }


def group_input(row: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]], *, row_index: int = 0) -> Payload:
    """The input of a group reward: several finished rollouts of one row."""
    return {
        "func_type": FunctionKind.GROUP_REWARD.value,
        "ground_truth": truth_of(row),
        "request_metadata": metadata(row_index),
        "agent_outputs": [dict(output) for output in outputs],
    }


def made_up_outputs(row: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """`count` finished rollouts of a row that differ in worth: right, evasive, empty, and again."""
    return [agent_output(row, MADE_UP[number % len(MADE_UP)]) for number in range(count)]


def row_inputs(
    kind: FunctionKind,
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    *,
    resource: ModelResource | None = None,
    rollouts: int = DEFAULT_ROLLOUTS,
    **sampling: Any,
) -> Iterator[tuple[int, Payload]]:
    """(index, input) for a sweep over rows. Rewards get right, evasive and empty answers in turn.

    Raises InputError for rollouts without a model.
    """
    for index, row in rows:
        if kind is FunctionKind.ROLLOUT:
            yield index, rollout_input(row, needed(resource), row_index=index, **sampling)
        elif kind is FunctionKind.REWARD:
            yield index, reward_input(row, agent_output(row, MADE_UP[index % len(MADE_UP)]), row_index=index)
        else:
            yield index, group_input(row, made_up_outputs(row, rollouts), row_index=index)


def needed(resource: ModelResource | None) -> ModelResource:
    """Raises InputError when there is no model."""
    if resource is None:
        raise InputError(
            _("a rollout calls a model, and no model was given"),
            advice=_("Give a model name, base URL and key."),
        )
    return resource


def masked(payload: Mapping[str, Any]) -> Payload:
    """The input with the model's key masked, for reports."""
    resource = payload.get("model_resource")
    if not isinstance(resource, Mapping) or not isinstance(resource.get("api_key"), str):
        return dict(payload)
    return {**payload, "model_resource": {**resource, "api_key": mask(resource["api_key"])}}
