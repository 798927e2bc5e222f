"""Server-sent events, parsed as the standard says."""

import codecs
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name (``message`` unless the server named it), its data lines joined by newlines, its id."""

    event: str
    data: str
    id: str | None = None
    retry_ms: int | None = None


class SseParser:
    """Bytes in, events out; any split of the bytes gives the same events.

    Lines end with LF, CR or CRLF; one space after the colon is dropped; comments are heartbeats and give nothing;
    a block without data gives nothing. An unfinished block at the end is dropped, except through `close`.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._first = True
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None
        self._retry_ms: int | None = None

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        self._text += self._decoder.decode(chunk)
        if self._first and self._text:
            self._text = self._text.removeprefix("\ufeff")
            self._first = False
        events: list[ServerEvent] = []
        while (line := self._line()) is not None:
            event = self._take(line)
            if event is not None:
                events.append(event)
        return events

    def close(self) -> list[ServerEvent]:
        """The event of a last block that has data but no blank line after it: servers that close early send one."""
        rest, self._text = self._text, ""
        if rest.strip("\r\n"):
            self._take(rest.rstrip("\r\n"))
        event = self._dispatch()
        return [event] if event is not None else []

    def _line(self) -> str | None:
        ends = [place for place in (self._text.find("\n"), self._text.find("\r")) if place >= 0]
        if not ends:
            return None
        end = min(ends)
        after = end + 1
        if self._text[end] == "\r":
            if after == len(self._text):
                return None  # the LF of a CRLF may still come
            if self._text[after] == "\n":
                after += 1
        line, self._text = self._text[:end], self._text[after:]
        return line

    def _take(self, line: str) -> ServerEvent | None:
        if not line:
            return self._dispatch()
        if line.startswith(":"):
            return None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._event = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isdigit():
                self._retry_ms = int(value)
        return None

    def _dispatch(self) -> ServerEvent | None:
        data, name = self._data, self._event
        self._data, self._event = [], ""
        if not data:
            return None
        return ServerEvent(name.strip() or "message", "\n".join(data), self._id, self._retry_ms)
