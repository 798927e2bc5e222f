"""What surrounds the program, line by line, with what to do about it. No key is ever shown."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from agentic_rl_tui.core.i18n import LANGUAGES, _, language
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.paths import config_dir, private_dir, state_dir
from agentic_rl_tui.core.sdk.health import Health
from agentic_rl_tui.core.settings import Settings
from agentic_rl_tui.core.version import __version__

OK, NOTE, WRONG = "ok", "note", "wrong"
GLYPHS = {OK: "✓", NOTE: "!", WRONG: "✗"}
_LIBRARIES = ("textual", "httpx", "pydantic", "openai")
_SMALLEST = (80, 24)
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


@dataclass(frozen=True, slots=True)
class Sight:
    """One thing that was looked at. advice says what to do, where there is something to do."""

    state: str
    what: str
    found: str
    advice: str = ""


def versions() -> Iterator[Sight]:
    yield Sight(OK, "agentic-rl-tui", __version__)
    yield Sight(
        OK,
        "Python",
        _("{version} on {system} {machine}").format(
            version=platform.python_version(), system=platform.system(), machine=platform.machine()
        ),
    )
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Sight(WRONG, name, _("not installed"), _("Install agentic-rl-tui again with its dependencies."))
    yield Sight(OK, _("libraries"), ", ".join(found))
    yield Sight(OK, _("language"), LANGUAGES[language()])


def terminal(environment: Mapping[str, str]) -> Iterator[Sight]:
    name = environment.get("TERM", "")
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        yield Sight(
            NOTE, _("terminal"), _("stdin or stdout is none"), _("The full-screen app needs one; verbs do not.")
        )
    elif name in ("", "dumb"):
        yield Sight(WRONG, _("terminal"), name or _("TERM is not set"), _("Set TERM, for example to xterm-256color."))
    else:
        columns, lines = shutil.get_terminal_size()
        is_small = columns < _SMALLEST[0] or lines < _SMALLEST[1]
        advice = _("Make the window at least {columns}×{lines}.").format(columns=_SMALLEST[0], lines=_SMALLEST[1])
        yield Sight(NOTE if is_small else OK, _("terminal"), f"{name}, {columns}×{lines}", advice if is_small else "")
    is_full = environment.get("COLORTERM", "") in ("truecolor", "24bit")
    advice = "" if is_full else _("Set COLORTERM=truecolor if the terminal can; ssh and tmux often lose it.")
    yield Sight(OK if is_full else NOTE, _("colors"), environment.get("COLORTERM") or _("COLORTERM is not set"), advice)
    encoding = (sys.stdout.encoding or "").lower()
    is_utf8 = encoding.replace("-", "") == "utf8"
    advice = "" if is_utf8 else _("Set LANG to a UTF-8 locale such as C.UTF-8 or zh_CN.UTF-8.")
    yield Sight(OK if is_utf8 else NOTE, _("encoding"), encoding, advice)


def folders(settings: Settings) -> Iterator[Sight]:
    yield _writable(_("state directory"), state_dir())
    yield _settings_file(config_dir() / "config.toml", settings)
    is_there = settings.workspace.is_dir()
    yield Sight(OK if is_there else WRONG, _("workspace"), str(settings.workspace), "" if is_there else _("Make it."))


def _settings_file(path: Path, settings: Settings) -> Sight:
    """Whether others on this machine can read keys that lie in it."""
    what = _("settings file")
    if not path.exists():
        return Sight(OK, what, _("{path}, not there").format(path=path))
    has_keys = any(profile.stored_key is not None for profile in settings.profiles.values())
    if has_keys and path.stat().st_mode & 0o077:
        advice = _("It holds a key and others can read it: chmod 600 {path}").format(path=path)
        return Sight(WRONG, what, str(path), advice)
    return Sight(OK, what, str(path))


def _writable(what: str, path: Path) -> Sight:
    try:
        private_dir(path)
        with tempfile.TemporaryFile(dir=path):
            pass
        free = shutil.disk_usage(path).free
    except OSError as error:
        return Sight(
            WRONG,
            what,
            _("{what}: {detail}").format(what=path, detail=error.strerror),
            _("Free it, or set AGENTIC_RL_STATE_DIR to another one."),
        )
    is_full = free < 1 << 30
    advice = _("Less than 1 GiB is free; jobs and logs need room.") if is_full else ""
    return Sight(
        NOTE if is_full else OK, what, _("{path}, {free:.1f} GiB free").format(path=path, free=free / (1 << 30)), advice
    )


def proxies(environment: Mapping[str, str]) -> Iterator[Sight]:
    found = {name: environment.get(name) or environment.get(name.lower()) for name in _PROXIES}
    named = {name: urlsplit(url) for name, url in found.items() if url}
    if not named:
        yield Sight(OK, _("proxy"), _("none"))
    for name, parts in named.items():
        # Addresses of proxies hold passwords: only the host is shown.
        is_usable = bool(parts.hostname) and parts.scheme in ("http", "https", "socks5", "socks5h")
        advice = "" if is_usable else _("Write it as http://host:port.")
        yield Sight(OK if is_usable else WRONG, name, f"{parts.scheme}://{parts.hostname or '?'}", advice)


def key_and_endpoint(settings: Settings, given: str | None) -> Iterator[Sight]:
    profile = settings.profile
    yield Sight(
        OK,
        _("profile"),
        _("{name}: {address}, {origin}").format(name=profile.name, address=profile.base_url, origin=_(profile.origin)),
    )
    try:
        secret = settings.api_key(given)
    except ArlError as error:
        yield Sight(WRONG, _("API key"), error.message, error.advice)
        return
    if secret is None:
        advice = ""
        if os.environ.get(profile.api_key_env):
            advice = _("{name} is set; use it with --profile dashscope.").format(name=profile.api_key_env)
        yield Sight(NOTE if advice else OK, _("API key"), _("the local platform needs none"), advice)
        return
    host = urlsplit(profile.base_url).hostname or ""
    is_plain = profile.base_url.startswith("http://") and host not in ("localhost", "127.0.0.1", "::1")
    advice = _("The key travels unencrypted; use https.") if is_plain else ""
    if host.endswith("aliyuncs.com") and not secret.reveal().startswith("sk-"):
        advice = _("Keys of this service begin with sk-; this may be another one's.")
    yield Sight(NOTE if advice else OK, _("API key"), _("from {origin}").format(origin=secret.origin), advice)


def service(health: Health) -> Sight:
    advice = {
        "unauthorized": _("The key does not belong to this endpoint: keys are valid in the region that made them."),
        "unreachable": _("Check the network, the base URL and the proxy."),
        "failing": _("The service has a fault; try again later."),
    }
    state = OK if health.is_ok else NOTE if health.state == "stopped" else WRONG
    found = health.state
    if health.detail:
        found = _("{what}: {detail}").format(what=health.state, detail=health.detail)
    return Sight(state, _("service"), found, advice.get(health.state, ""))
