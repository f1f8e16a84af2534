"""HAR 1.2 files read: an entry at a time, whatever else is in them.

A HAR is one JSON document, so it is told from a recording by how it begins, and is read as a stream: what is held at
a time is one entry. It comes from anyone. So an entry has bounds (bytes, depth, numbers), a key that is there twice is
an error, and what is wrong is said with the file and the number of the entry, from 1.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import ijson
from attrs import define, fields_dict, frozen
from cattrs import Converter
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, override
from ijson.common import JSONError, ObjectBuilder

from reattach.io.plain import plain, shorten
from reattach.io.trace import DEEPEST, GZIP, TraceError, first_reason, strict_converter
from reattach.machine.cursor import MAX_INTEGER

LARGEST_ENTRY = 64 * 1024 * 1024
"""Bytes of JSON that an entry may have when unpacked, and what stands between two: a bound on memory."""

_BEGINNING = re.compile(rb'\s*\{\s*"log"\s*:')
_BOM = b"\xef\xbb\xbf"
_LONGEST_BEGINNING = 4_096
_LONGEST_REASON = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@frozen
class HarError(TraceError):
    """A HAR cannot be read; ``line`` is the number of the entry, 0 for the file as a whole."""

    def __str__(self) -> str:
        return f"{self.path}: entry {self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


@frozen(kw_only=True)
class Pair:
    """A header."""

    name: str
    value: str


@frozen(kw_only=True)
class PostData:
    """What a request carried."""

    text: str | None = None
    encoding: str | None = None


@frozen(kw_only=True)
class HarRequest:
    """A request, as far as it matters."""

    method: str
    url: str
    headers: tuple[Pair, ...] = ()
    post_data: PostData | None = None


@frozen(kw_only=True)
class Content:
    """What an answer carried. ``text`` is None if that is not in the file."""

    text: str | None = None
    encoding: str | None = None
    mime_type: str | None = None


@frozen(kw_only=True)
class HarResponse:
    """An answer, as far as it matters. ``status`` is below 100 if none came."""

    status: int
    headers: tuple[Pair, ...] = ()
    content: Content | None = None
    error: str | None = None
    """What broke it, as Chromium's tools and mitmproxy say it."""
    failure: str | None = None
    """The same, as Playwright says it."""
    by_worker: bool | None = None
    """Whether a service worker answered, as Chromium's tools say it. What it asked itself is another entry."""


@frozen(kw_only=True)
class Timings:
    """Milliseconds; -1 and None: not known, or does not apply."""

    wait: float | None = None
    receive: float | None = None


@frozen(kw_only=True)
class HarEntry:
    """A request and its answer."""

    started: float
    """Milliseconds since 1970."""
    time: float | None = None
    """Milliseconds that it took in all; negative or None: not known."""
    request: HarRequest
    response: HarResponse
    timings: Timings | None = None
    from_cache: str | None = None


_KEYS = {
    "started": "startedDateTime",
    "post_data": "postData",
    "mime_type": "mimeType",
    "error": "_error",
    "failure": "_failureText",
    "from_cache": "_fromCache",
    "by_worker": "_fetchedViaServiceWorker",
}
"""How a HAR calls what has another name here."""


@define
class Document:
    """What a HAR says of itself, as far as it has been read."""

    creator: str = ""
    entries: int = 0
    """How many entries were read."""
    complete: bool = False
    """Whether the list of entries was found and read to its end."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if they are packed with gzip. Raises HarError."""
    try:
        with path.open("rb") as file:
            packed = file.peek(len(GZIP)).startswith(GZIP)
            yield gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[misc]  # read and no more
    except OSError as error:
        raise HarError(path, 0, f"cannot be read: {error.strerror or error}") from error


def is_har(path: Path) -> bool:
    """Whether a file begins as a HAR does. What cannot be read is none, and neither is what can be read only once."""
    if not path.is_file():
        return False
    try:
        with opened(path) as file:
            beginning = file.read(_LONGEST_BEGINNING)
    except (HarError, EOFError, zlib.error):
        return False
    return _BEGINNING.match(beginning.removeprefix(_BOM)) is not None


def read_entries(path: Path, document: Document) -> Iterator[tuple[int, HarEntry]]:
    """The entries with their numbers, each read when it is asked for. Raises HarError, also then."""
    with opened(path) as file:
        source = _Source(path, document, file)
        try:
            for number, value in _objects(path, document, source):
                yield number, _structured(path, number, value)
        except JSONError as error:
            what = str(error.args[0] if error.args else error).removeprefix("b'").partition("\\n")[0].partition("\n")[0]
            raise source.error(f"not JSON: {shorten(plain(what.strip()), _LONGEST_REASON)}") from None
        except UnicodeDecodeError:
            raise source.error("not UTF-8") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise source.error(f"not whole gzip: {error}") from None
    if not document.complete:
        raise HarError(path, 0, "log.entries: missing")


@define
class _Source:
    """The bytes as the parser takes them. No more than one entry's worth is taken at a time."""

    path: Path
    document: Document
    file: IO[bytes]
    taken: int = 0
    """Bytes since the last entry."""
    begun: bool = False
    inside: bool = False
    """Whether an entry was begun."""

    def read(self, size: int = -1) -> bytes:
        """What the parser asks for. Raises HarError."""
        piece = self.file.read(size)
        if not self.begun and size:
            self.begun, piece = True, piece.removeprefix(_BOM)
        self.taken += len(piece)
        if self.taken > LARGEST_ENTRY:
            raise self.error(f"more than {LARGEST_ENTRY} bytes")
        return piece

    def error(self, reason: str) -> HarError:
        """What is wrong, with the number of the entry that is being read."""
        within = self.inside or (self.document.entries and not self.document.complete)
        return HarError(self.path, self.document.entries + 1 if within else 0, reason)


class _UniqueKeys(dict[str, Any]):
    """An object that may not have a key twice."""

    def __setitem__(self, key: str, value: object) -> None:
        if key in self:
            raise _TwiceError(key)
        super().__setitem__(key, value)


class _TwiceError(Exception):
    """A key is there twice."""


def _objects(path: Path, document: Document, source: _Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """The elements of ``log.entries``. Everything else is passed over, and nothing of it is held."""
    keys: list[str] = []
    """The key under which each container that is open stands; empty for one in a list."""
    key = ""
    builder: ObjectBuilder | None = None
    seen: set[tuple[str, ...]] = set()
    for event, value in ijson.basic_parse(source, use_float=True):
        here = (*keys[1:], key) if builder is None and len(keys) <= _ENTRY_DEPTH else ()
        if event == "map_key":
            key = value
            if (*keys[1:], key) in _ONCE and builder is None:
                if (*keys[1:], key) in seen:
                    raise source.error(f"the key {key} is there twice")
                seen.add((*keys[1:], key))
        elif builder is None and len(keys) == _ENTRY_DEPTH and tuple(keys[1:]) == _ENTRIES and event != "end_array":
            source.inside = True
            if event != "start_map":
                raise source.error("an object is needed")
            builder = ObjectBuilder(map_type=_UniqueKeys)
        elif here in _SHAPES and event != _SHAPES[here] and not event.startswith("end_"):
            raise source.error(f"{'.'.join(here)}: {_SHOWN[_SHAPES[here]]} is needed")
        elif here == ("log", "creator", "name"):
            document.creator = value
        if builder is not None:
            try:
                builder.event(event, value)
            except _TwiceError as error:
                raise source.error(f"the key {shorten(plain(str(error)), 80)} is there twice") from None
        if event in ("start_map", "start_array"):
            if len(keys) >= DEEPEST:
                raise source.error(f"nested deeper than {DEEPEST}")
            keys.append(key)
            key = ""
        elif event in ("end_map", "end_array"):
            ended, key = tuple(keys[1:]), ""
            keys.pop()
            if builder is not None and len(keys) == _ENTRY_DEPTH:
                document.entries += 1
                source.taken, source.inside = 0, False
                yield document.entries, builder.value
                builder = None
            elif ended == _ENTRIES:
                document.complete = True


_ENTRIES = ("log", "entries")
_ENTRY_DEPTH = 3
"""How many containers are open where the entries stand: the document, the log, and the list."""
_ONCE = (("log",), _ENTRIES, ("log", "creator"), ("log", "creator", "name"))
_SHAPES = {("log",): "start_map", _ENTRIES: "start_array", ("log", "creator", "name"): "string"}
_SHOWN = {"start_map": "an object", "start_array": "a list", "string": "a string"}


def _structured(path: Path, number: int, value: dict[str, Any]) -> HarEntry:
    try:
        return _CONVERTER.structure(value, HarEntry)
    except BaseValidationError as error:
        where, colon, reason = first_reason(error).partition(": ")
        keys = (_KEYS.get(name, name) for name in where.split("."))
        raise HarError(path, number, f"{'.'.join(keys)}{colon}{reason}") from None


def _number(value: object, _: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_INTEGER:
        raise ValueError("a number is needed, within 2^53 - 1")
    return float(value)


def _instant(value: object, _: object) -> float:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise ValueError("a time in ISO 8601 is needed")
    try:
        whole = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        since = (whole - _EPOCH).total_seconds() * 1000
    except OverflowError:
        since = -1
    if since < 0:
        raise ValueError("a time since 1970 is needed")
    return since


def _optional_text(value: object, _: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("a string or null is needed")
    return value


def _optional_truth(value: object, _: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ValueError("true, false or null is needed")
    return value


def _status(value: object, _: object) -> int:
    if type(value) is not int or not -1 <= value <= 999:
        raise ValueError("a status is needed, or 0 or -1 for none")
    return value


def _of_object(cls: type[Any], converter: Converter) -> Callable[[object, type[Any]], Any]:
    """How a JSON object becomes one of a class. A HAR has many keys more, and its makers add their own."""
    renamed: dict[str, Any] = {name: override(rename=_KEYS[name]) for name in fields_dict(cls) if name in _KEYS}
    hooks = {HarEntry: ("started", _instant), HarResponse: ("status", _status)}
    if cls in hooks:
        name, hook = hooks[cls]
        renamed[name] = override(rename=_KEYS.get(name), struct_hook=hook)
    structure = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=False, **renamed)

    def structure_object(value: object, kind: type[Any]) -> Any:
        if not isinstance(value, dict):
            raise ValueError("an object is needed")
        return structure(value, kind)

    return structure_object


def _make_converter() -> Converter:
    converter = strict_converter()
    converter.register_structure_hook_func(lambda cls: cls == float | None, _number)
    converter.register_structure_hook_func(lambda cls: cls == str | None, _optional_text)
    converter.register_structure_hook_func(lambda cls: cls == bool | None, _optional_truth)
    for cls in (Pair, PostData, HarRequest, Content, HarResponse, Timings, HarEntry):
        converter.register_structure_hook(cls, _of_object(cls, converter))
    return converter


_CONVERTER = _make_converter()
