"""A service on loopback whose answers a test gives."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEPT_BYTES = 1 << 20
_PIECE = 1 << 16
Answer = Callable[[str, str, bytes], tuple[int, Any]]
"""Method, target and the beginning of the body -> status and what is sent as JSON."""


@contextmanager
def json_service(answer: Answer) -> Iterator[str]:
    """Serve until the block ends; gives the address, without a slash at its end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            status, body = answer(self.command, self.path, self._body())
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self._read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self._read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body[:KEPT_BYTES]

        def _read(self, size: int) -> bytes:
            """All of it is read, but only its beginning kept: some bodies are larger than memory should be."""
            kept = bytearray()
            while size > 0 and (piece := self.rfile.read(min(size, _PIECE))):
                size -= len(piece)
                kept += piece[: KEPT_BYTES - len(kept)]
            return bytes(kept)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self.handle_any
            raise AttributeError(name)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
