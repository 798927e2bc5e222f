"""What belongs into a package by name: the service's patterns, caches, secrets, and the user's ``.agenticignore``."""

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from agentic_rl_tui.core.i18n import _

IGNORE_FILE = ".agenticignore"
SETTINGS_FILE = "agentic-rl.toml"
START_SCRIPT = "start.sh"

DEFAULT_PATTERNS = (
    ".git", ".gitignore", ".DS_Store", ".vscode", ".Python", ".env", ".venv", ".idea", "__pycache__",
    "*.swp", "*.egg", "*.egg-info", "*.pyc", "*.md", "*.log", "*.tmp", "*.bak",
    "build", "develop-eggs", ".eggs", "test", "tests", "tmp", "temp", "data",
)  # fmt: skip
"""What the service's own client leaves out, by base name at any depth."""

CACHE_DIRS = frozenset(
    {
        "venv", "node_modules", "site-packages", ".hg", ".svn", ".cache", ".mypy_cache", ".ruff_cache",
        ".pytest_cache", ".hypothesis", ".tox", ".nox", ".ipynb_checkpoints", ".pytype", ".pyre",
    }
)  # fmt: skip
"""Directories that hold nothing a function needs and that the service's own client would upload."""

_SECRET_FILES = (
    ".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.ovpn",
    ".netrc", "_netrc", ".pypirc", ".npmrc", ".git-credentials", ".htpasswd", ".pgpass",
    "kubeconfig", "credentials", "credentials.*", "secret.*", "secrets.*", "*_secret.*", "*_secrets.*",
    "api_key", "api_key.*", "apikey", "apikey.*", "service_account*.json", "service-account*.json", "*.tfstate",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
)  # fmt: skip
_SECRET_DIRS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker"})
_SSH_KEY = re.compile(r"id_\w+")
_CODE_SUFFIXES = (".py", ".pyi", ".pyx", ".so", ".c", ".h")


class LeftOutRule(StrEnum):
    """Why something is not in the package."""

    PATTERN = "pattern"
    CACHE = "cache"
    IGNORE_FILE = "ignore file"  # no text: a word of the JSON output
    SECRET = "secret"
    TOO_BIG = "too big"
    LINK = "link"
    SPECIAL = "special"
    UNREADABLE = "unreadable"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why one path is left out, in words for a person."""

    rule: LeftOutRule
    reason: str


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of an ignore file."""

    text: str
    line: int
    is_negated: bool
    is_dir_only: bool
    regex: re.Pattern[str]


class IgnoreRules:
    """The lines of an ignore file, with the meaning they have for git; the last one that matches wins."""

    def __init__(self, rules: Sequence[IgnoreRule] = ()) -> None:
        self._rules = tuple(reversed(rules))

    @classmethod
    def parse(cls, text: str) -> "IgnoreRules":
        rules = []
        for number, raw in enumerate(text.splitlines(), start=1):
            line = raw.rstrip()
            if not line or line.startswith("#"):
                continue
            is_negated = line.startswith("!")
            body = line[1:] if is_negated else line.removeprefix("\\")
            is_dir_only = body.endswith("/")
            body = body.rstrip("/")
            if body:
                rules.append(IgnoreRule(line, number, is_negated, is_dir_only, _compile(body)))
        return cls(rules)

    def match(self, path: str, *, is_dir: bool) -> IgnoreRule | None:
        """The rule that decides on `path` (relative, with ``/``), None when no line speaks of it."""
        for rule in self._rules:
            if (is_dir or not rule.is_dir_only) and rule.regex.fullmatch(path):
                return rule
        return None


def _compile(pattern: str) -> re.Pattern[str]:
    """A pattern with a slash before its end is anchored at the root; one without matches a name at any depth."""
    is_anchored = "/" in pattern
    parts = pattern.removeprefix("/").split("/")
    regex = "" if is_anchored else "(?:.*/)?"
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part == "**":
            regex += ".*" if is_last else "(?:.*/)?"
        else:
            regex += _glob(part) + ("" if is_last else "/")
    try:
        return re.compile(regex, re.DOTALL)
    except re.error:  # a character class like [z-a] or [!]: it means itself
        return re.compile(("" if is_anchored else "(?:.*/)?") + re.escape("/".join(parts)), re.DOTALL)


def _glob(part: str) -> str:
    """One path component: ``*`` and ``?`` do not cross a slash."""
    translated = ""
    index = 0
    while index < len(part):
        char = part[index]
        closing = part.find("]", index + 2) if char == "[" else -1
        if closing > 0:
            inner = part[index + 1 : closing]
            translated += f"[^{_class(inner[1:])}]" if inner[0] in "!^" else f"[{_class(inner)}]"
            index = closing
        elif char == "\\" and index + 1 < len(part):
            index += 1
            translated += re.escape(part[index])
        else:
            translated += {"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char))
        index += 1
    return translated


def _class(inner: str) -> str:
    """The inside of a character class: only a hyphen between two characters has a meaning there."""
    escaped = re.sub(r"([\\\[&~|])", r"\\\1", inner)
    first, rest = ("\\-", escaped[1:]) if escaped.startswith("-") else ("", escaped)
    return first + rest.replace("--", r"-\-")


class NameRules:
    """Decides by name alone. `patterns` are fnmatch patterns on the base name, for files and directories."""

    def __init__(self, patterns: Iterable[str] = DEFAULT_PATTERNS, ignore: IgnoreRules | None = None) -> None:
        self._ignore = ignore or IgnoreRules()
        self._exact: set[str] = set()
        globs = []
        for pattern in patterns:
            if any(char in pattern for char in "*?["):
                globs.append(pattern)
            else:
                self._exact.add(pattern)
        self._globs = [(pattern, re.compile(fnmatch.translate(pattern)).match) for pattern in globs]
        any_glob = "|".join(fnmatch.translate(pattern) for pattern in globs)
        self._any_glob = re.compile(any_glob).match if globs else None

    def decide(self, path: str, name: str, *, is_dir: bool) -> tuple[Verdict | None, IgnoreRule | None]:
        """(why it is left out or None, the ignore rule that kept it against the other rules or None)."""
        asked = self._ignore.match(path, is_dir=is_dir)
        if asked is not None and not asked.is_negated:
            text = f"{IGNORE_FILE}:{asked.line} {asked.text!r}"
            return Verdict(LeftOutRule.IGNORE_FILE, text), None
        if not is_dir and path in (IGNORE_FILE, SETTINGS_FILE):
            return Verdict(LeftOutRule.PATTERN, _("belongs to this program, not to the function")), None
        verdict = self._by_name(name, is_dir=is_dir)
        if asked is not None:
            return None, (asked if verdict is not None else None)
        return verdict, None

    def _by_name(self, name: str, *, is_dir: bool) -> Verdict | None:
        if looks_secret(name, is_dir=is_dir):
            return Verdict(LeftOutRule.SECRET, _("the name looks like that of a secret"))
        if name in self._exact or (self._any_glob is not None and self._any_glob(name)):
            pattern = name if name in self._exact else next(text for text, match in self._globs if match(name))
            return Verdict(LeftOutRule.PATTERN, _("default pattern {pattern!r}").format(pattern=pattern))
        if is_dir and name in CACHE_DIRS:
            return Verdict(LeftOutRule.CACHE, _("{name} is a cache or an environment").format(name=name))
        return None


@lru_cache(maxsize=1)
def _secret_files() -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in _SECRET_FILES))


def looks_secret(name: str, *, is_dir: bool = False) -> bool:
    """Whether a file or directory of this name usually holds keys. Code never counts: ``id_map.py`` is a module."""
    if is_dir:
        return name in _SECRET_DIRS or name.startswith(".env")
    if name.endswith(_CODE_SUFFIXES):
        return False
    return _secret_files().match(name.lower()) is not None or _SSH_KEY.fullmatch(name) is not None
