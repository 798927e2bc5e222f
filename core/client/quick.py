"""One plain GET without the libraries that a whole session needs, for verbs that ask one question and leave.

What it answers is what `Transport` would have answered; whatever is out of the ordinary gives None, and the caller
takes the whole way, which asks again and finds the words for it. Only reading is done here, so asking twice is safe.
"""

import os
import re
import socket
import sys

from agentic_rl_tui.core import sources
from agentic_rl_tui.core.folders import state_folder
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.version import __version__

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CONNECT_S = 3.0
ANSWER_S = 60.0
LOCAL_HOST = "platform.local"
MOST_BYTES = 64 << 20

_URL = re.compile(r"(https?)://([A-Za-z0-9.-]+)(?::([0-9]{1,5}))?((?:/[A-Za-z0-9._~-]+)*)")
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,199}")
_UNREADABLE = re.compile(rb"\\u[dD][89a-fA-F]|NaN|Infinity|[0-9]{19}")
"""What JSON readers disagree on: lone surrogates, numbers that are none, integers beyond 64 bits."""
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_FINE = (None, "", 0, 200, "0", "200", "success", "Success", "SUCCESS", "OK", "ok")


class Address:
    """Where to ask and with which headers. unix is the local platform's socket."""

    __slots__ = ("headers", "host", "path", "port", "scheme", "unix")

    def __init__(self, scheme: str, host: str, port: int, path: str, headers: "dict[str, str]", unix: str = "") -> None:
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.headers = headers
        self.unix = unix


def is_plain_id(text: str) -> bool:
    """Whether an id needs no quoting and no word about what is wrong with it."""
    return _ID.fullmatch(text) is not None and ".." not in text


def address(workspace: str, *, profile: str | None, base_url: str | None, api_key: str | None) -> Address | None:
    """The server that settings name; None where they ask for more than a plain request. Raises ConfigError."""
    found = sources.gather(os.path.abspath(workspace), {"base_url": base_url})
    if "log_level" in found.values or "timeout_s" in found.values:
        return None
    name = sources.chosen_profile(found, profile)
    if name == "local":
        unix = os.path.join(state_folder(), "platform", "platform.sock")
        return _local(unix) if not (api_key or "").strip() and os.path.exists(unix) else None
    table, _origin = sources.profile_tables(found).get(name, ({}, ""))
    key = (api_key or "").strip()
    key = key or os.environ.get(str(table.get("api_key_env", sources.KEY_VARIABLE)), "").strip()
    key = key or str(table.get("api_key") or "").strip()
    parts = _URL.fullmatch(str(table.get("base_url", "")).strip().rstrip("/"))
    if not key or not key.isascii() or not key.isprintable() or " " in key or parts is None:
        return None
    redact.add(key)
    headers = {"Authorization": f"Bearer {key}"}
    if workspace_id := str(table.get("workspace_id") or ""):
        headers["X-DashScope-WorkSpace"] = workspace_id
    scheme, host, port, path = parts.groups()
    found_port = int(port) if port else 443 if scheme == "https" else 80
    return Address(scheme, host, found_port, path, headers) if _is_direct(scheme, host) else None


def _local(unix: str) -> Address:
    return Address("http", LOCAL_HOST, 80, "/api/v1", {}, unix)


def _is_direct(scheme: str, host: str) -> bool:
    """No proxy on the way and no certificates of its own. Elsewhere than on Linux the system may name proxies too."""
    if scheme == "https" and any(os.environ.get(name) for name in _CERTIFICATES):
        return False
    if host == "localhost" or re.fullmatch(r"127(\.[0-9]{1,3}){3}", host):
        return True
    named = any(os.environ.get(name) or os.environ.get(name.lower()) for name in _PROXIES)
    return sys.platform == "linux" and not named


def ask(to: Address, target: str) -> "dict[str, Any] | None":
    """The ``output`` object of a successful answer; None for everything else."""
    try:
        with _connected(to) as link:
            link.sendall(_request(to, target))
            content = _body(_received(link))
        return _output(content)
    except (OSError, ValueError):
        return None  # the whole way finds out what is wrong and says so


def _connected(to: Address) -> socket.socket:
    if to.unix:
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(CONNECT_S)
        link.connect(to.unix)
    else:
        # As bytes: a text would load the tables of international names.
        link = socket.create_connection((to.host.encode(), to.port), CONNECT_S)  # type: ignore[arg-type]
    link.settimeout(ANSWER_S)
    return _secured(link, to.host) if to.scheme == "https" else link


def _secured(link: socket.socket, host: str) -> socket.socket:
    import ssl

    import certifi

    bundle = os.path.join(os.path.dirname(certifi.__file__), "cacert.pem")
    return ssl.create_default_context(cafile=bundle).wrap_socket(link, server_hostname=host)


def _request(to: Address, target: str) -> bytes:
    usual = 443 if to.scheme == "https" else 80
    headers = {
        "Host": to.host if to.port == usual else f"{to.host}:{to.port}",
        "User-Agent": f"agentic-rl-tui/{__version__} (python {sys.version.split()[0]})",
        "Accept": "application/json",
        "Connection": "close",
        **to.headers,
    }
    lines = [f"GET {to.path}{target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _received(link: socket.socket) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := link.recv(1 << 18):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise ValueError("too much for one answer")
    return b"".join(pieces)


def _body(raw: bytes) -> bytes:
    """The body of a 200 that came whole. Raises ValueError for anything else."""
    head, mark, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    if not mark or first.split(" ")[:2][-1] != "200" or not first.startswith("HTTP/1."):
        raise ValueError("no plain success")
    headers = {name.strip().lower(): value.strip() for name, _colon, value in (line.partition(":") for line in lines)}
    if headers.get("content-encoding", "identity") != "identity":
        raise ValueError("packed")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return _joined(body)
    if len(body) != int(headers.get("content-length", "-1")):
        raise ValueError("cut off")
    return body


def _joined(body: bytes) -> bytes:
    pieces: list[bytes] = []
    while True:
        size_line, mark, body = body.partition(b"\r\n")
        size = int(size_line.partition(b";")[0], 16)
        if not mark or len(body) < size:
            raise ValueError("cut off")
        if size == 0:
            return b"".join(pieces)
        pieces.append(body[:size])
        body = body[size + 2 :]


def _output(content: bytes) -> "dict[str, Any] | None":
    import json

    if _UNREADABLE.search(content):
        return None
    body = json.loads(content.decode("utf-8"), parse_float=_finite)
    if not isinstance(body, dict) or "status" in body or body.get("success") is False:
        return None
    output = body.get("output")
    return output if isinstance(output, dict) and body.get("code", body.get("Code")) in _FINE else None


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError("no number")
    return number


def query(values: "Mapping[str, int]") -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in values.items())
