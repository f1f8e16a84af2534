"""Server-sent events, decoded as the bytes arrive (WHATWG HTML, "Server-sent events", parsing an event stream).

The decoder differs from a browser's in two ways, both because the oracle judges what was sent and not what a page would
see: a block without data is reported (priming is an id with empty data), and so is a comment. An id is what stands in
the block itself; it is not carried over from earlier blocks. A block that the stream ends inside of is never reported.
"""

import re
from collections.abc import Iterator

from attrs import frozen

from reattach.machine.cursor import MAX_INTEGER

MAX_BLOCK = 64 * 1024 * 1024
"""Bytes one event may have. A bound on memory, far above anything a server sends on purpose."""

_DIGITS = 15
"""A ``retry`` of more digits is as good as for ever."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class BlockTooLargeError(Exception):
    """An event stream sent more bytes than an event may have without completing one."""


@frozen
class Event:
    """One complete block. ``end`` counts the bytes of the stream up to the end of the line that completed it."""

    id: str | None
    event: str | None
    retry: int | None
    data: str | None
    """None if the block had no ``data`` field."""
    end: int


@frozen
class CommentLine:
    """One comment; ``text`` is what follows the colon, without the first space."""

    text: str
    end: int


class Decoder:
    """Takes the body of one event stream in pieces of any size; yields events and comments in order."""

    def __init__(self, limit: int = MAX_BLOCK) -> None:
        """``limit`` is the bytes that one event may have."""
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._position = 0
        self._at_start = True
        self._skip_newline = False
        self._id: str | None = None
        self._event: str | None = None
        self._retry: int | None = None
        self._data: list[str] | None = None
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[Event | CommentLine]:
        """Decode the next piece of the body.

        Raises ``BlockTooLargeError`` if a block grows past the limit.
        """
        self._buffer += piece
        if self._at_start:
            if len(self._buffer) < len(_BOM) and _BOM.startswith(self._buffer):
                return
            self._at_start = False
            if self._buffer.startswith(_BOM):
                self._drop(len(_BOM))
        while True:
            if self._skip_newline and self._buffer:
                # The second half of a CRLF whose CR ended the piece before. The line was complete at its CR.
                self._skip_newline = False
                if self._buffer.startswith(b"\n"):
                    self._drop(1)
            match = _LINE_END.search(self._buffer, self._scanned)
            if match is None:
                self._scanned = len(self._buffer)
                if len(self._buffer) > self._limit:
                    raise BlockTooLargeError(f"an event of more than {self._limit} bytes")
                return
            line = bytes(self._buffer[: match.start()])
            self._skip_newline = match.group() == b"\r" and match.end() == len(self._buffer)
            self._drop(match.end())
            yield from self._line(line.decode("utf-8", errors="replace"))

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self._scanned = 0
        self._position += count

    def _line(self, line: str) -> Iterator[Event | CommentLine]:
        if line == "":
            if (self._id, self._event, self._retry, self._data) != (None, None, None, None):
                data = None if self._data is None else "\n".join(self._data)
                yield Event(self._id, self._event, self._retry, data, self._position)
            self._id = self._event = self._retry = self._data = None
            self._size = 0
            return
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if colon and name == "":
            yield CommentLine(value, self._position)
        elif name == "data":
            if self._data is None:
                self._data = []
            self._data.append(value)
            self._size += len(value)
            if self._size > self._limit:
                raise BlockTooLargeError(f"an event of more than {self._limit} bytes")
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._retry = int(value) if len(value) <= _DIGITS else MAX_INTEGER
