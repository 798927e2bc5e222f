import base64
from urllib.parse import quote

import pytest

from agentic_rl_tui.core.models.redact import Redactor, mask

SECRET = "canary/Key+0123456789-ABCDEF"


@pytest.fixture
def redactor() -> Redactor:
    redactor = Redactor()
    redactor.add(SECRET)
    return redactor


@pytest.mark.parametrize("lead", ["", "a", "ab", "abc"])
def test_a_secret_is_found_in_base64_at_every_offset(redactor: Redactor, lead: str) -> None:
    encoded = base64.b64encode(f"{lead}{SECRET}:more".encode()).decode()
    shown = redactor(f"Authorization: Basic {encoded}")
    assert "••••" in shown
    inner = base64.b64encode(SECRET.encode())[8:20].decode() if not lead else None
    assert inner is None or inner not in shown


@pytest.mark.parametrize("form", [SECRET, quote(SECRET, safe="")])
def test_a_secret_is_masked_plain_and_url_encoded(redactor: Redactor, form: str) -> None:
    assert form not in redactor(f"https://host/?key={form}&x=1")


def test_unknown_keys_are_masked_by_their_shape() -> None:
    shown = Redactor()("env sk-0123456789abcdef, Authorization: Bearer abcdefgh12345678, ?Signature=abc%2Fdef&x=1")
    assert "0123456789abcdef" not in shown
    assert "abcdefgh" not in shown
    assert "abc%2Fdef" not in shown
    assert "&x=1" in shown


def test_ordinary_text_stays(redactor: Redactor) -> None:
    text = "task-42 asks for the tokens of step 3; risk-free"
    assert redactor(text) == text


def test_short_texts_are_not_taken_for_secrets() -> None:
    redactor = Redactor()
    redactor.add("a", "", None, "12345")
    assert redactor("a 12345") == "a 12345"


def test_the_mask_keeps_a_tail_of_long_keys_only() -> None:
    assert mask("sk-0123456789abcd") == "••••abcd"
    assert mask("short-one") == "••••"
