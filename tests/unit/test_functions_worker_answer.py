"""Answers of no model, as the vendor's server would pass them on."""

import json
from typing import Any

import pydantic
import pytest

from agentic_rl_tui.core.functions.worker.answer import encode_unchecked


class Model(pydantic.BaseModel):
    """Checked models answer as such, or not at all."""


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("text", {"result": "text"}),
        (3, {"result": 3}),
        (None, {"result": None}),
        (["ä", True], {"result": ["ä", True]}),
        ({"of": "its own"}, {"of": "its own"}),
    ],
)
def test_json_values_are_sent(value: Any, sent: dict[str, Any]) -> None:
    encoded = encode_unchecked(value)
    assert encoded is not None
    assert json.loads(encoded) == sent


@pytest.mark.parametrize("value", [float("nan"), object(), "\ud800", {1: {2}}, Model()])
def test_other_values_are_not(value: Any) -> None:
    assert encode_unchecked(value) is None
