"""How a prompt wants its answer written, and other ways to write one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PLACEHOLDER = r"[<\[{(][^<>\[\]{}()\n]{1,40}[>\]})]"
_SHARPS = re.compile(rf"(?P<left>#{{2,5}}\s*[^#<\n]{{0,30}}?)\s*{_PLACEHOLDER}\s*(?P<right>#{{2,5}})")
_TAGS = re.compile(
    r"<(?P<tag>answer|final_answer|final|result|solution)>.{0,60}?</(?P=tag)>", re.DOTALL | re.IGNORECASE
)
_BOXED = re.compile(r"\\boxed\s*\{")
_HASHES = re.compile(rf"(?P<left>#{{4}})\s*(?:{_PLACEHOLDER}|\w+)")
_JSON = re.compile(r"\{\s*\"(?P<key>answer|final_answer|result|solution)\"\s*:")
_PREFIX = re.compile(rf"(?P<left>(?:final answer|answer|答案)\s*[:：=])\s*{_PLACEHOLDER}", re.IGNORECASE)

OTHER_WRAPPERS = (
    ("The answer is **", "**."),
    ("So the result is ", "."),
    ("\\boxed{", "}"),
    ("Answer = ", ""),
)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Text around an answer. asked says whether the prompt asked for it."""

    left: str
    right: str
    asked: bool = True

    def __call__(self, answer: str) -> str:
        return f"{self.left}{answer}{self.right}"


PLAIN = Wrapper("The answer is ", ".", asked=False)


def wanted(prompt: str) -> Wrapper:
    """Read the wanted form out of a prompt; PLAIN where it asks for none."""
    if match := _SHARPS.search(prompt):
        return Wrapper(f"{match['left'].rstrip()} ", f" {match['right']}")
    if match := _TAGS.search(prompt):
        return Wrapper(f"<{match['tag']}>", f"</{match['tag']}>")
    if _BOXED.search(prompt):
        return Wrapper("\\boxed{", "}")
    if match := _JSON.search(prompt):
        return Wrapper(f'{{"{match["key"]}": "', '"}')
    if match := _PREFIX.search(prompt):
        return Wrapper(f"{match['left']} ", "")
    if match := _HASHES.search(prompt):
        return Wrapper(f"{match['left']} ", "")
    return PLAIN


def text_of(message: dict[str, Any]) -> str:
    """The text of a chat message, whose content may be a text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def spoken(message: Mapping[str, Any]) -> str:
    """What a message says: its text, and its tool calls as ``name(arguments)``."""
    calls = [call.get("function") or {} for call in message.get("tool_calls") or ()]
    said = [text_of(dict(message)), *(f"{call.get('name')}({call.get('arguments')})" for call in calls)]
    return "\n".join(part for part in said if part)
