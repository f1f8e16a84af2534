"""Recordings: observations as JSON Lines.

The first line is a header, ``{"schema": "reattach-trace/1", ...}``; every other line is one observation, tagged by
``type``, in the order in which the recorder consumed them. Fields that have their default are left out. Text is ASCII
with JSON escapes, so that a recording can be shown on a terminal and passed through any tool. The format is a contract:
spec/13-recordings.md says what it means, spec/schema/trace-1.schema.json how a line looks.

Recordings are read a line at a time, plain or packed with gzip, and come from anyone. So a line has bounds (bytes,
depth, numbers), and what JSON readers quietly overlook is an error: a repeated key, a number that no double holds.
"""

import gzip
import json
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from enum import Enum
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

from attrs import field, fields, frozen, has, resolve_types
from cattrs import Converter, ForbiddenExtraKeysError, transform_error
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, override

from reattach.io.files import write_atomically
from reattach.io.plain import plain, shorten
from reattach.io.quick import quick_lines, quick_object, quick_reader
from reattach.io.redact import Redactor
from reattach.machine.cursor import MAX_INTEGER
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.flat import FlatFrame
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Exited,
    Expect,
    Frame,
    Json,
    Observation,
    Printed,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Restarted,
    Settled,
    Vantage,
)

SCHEMA = "reattach-trace/1"

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes a line may have when unpacked: a bound on memory, far above what a recorder writes on purpose."""
DEEPEST = 100
"""How deep arrays and objects of a line may be nested: whatever is read is also written, by recursion."""

GZIP = b"\x1f\x8b"
"""How what is packed with gzip begins."""
_LONGEST_REASON = 300
_BUFFER = 64 * 1024
"""Bytes of a file that are read at a time."""

TYPES: dict[str, type[Observation]] = {
    "request": Request,
    "response": Response,
    "body": Body,
    "frame": Frame,
    "comment": Comment,
    "read-paused": ReadPaused,
    "read-resumed": ReadResumed,
    "closed": Closed,
    "quiet": Quiet,
    "expect": Expect,
    "settled": Settled,
    "restarted": Restarted,
    "printed": Printed,
    "exited": Exited,
}
"""The observations by their tag in a recording."""

_TAGS = {cls: tag for tag, cls in TYPES.items()}
assert set(_TAGS) == set(get_args(Observation))


@frozen(kw_only=True)
class TraceHeader:
    """What a recording says about itself. Empty or None: not known, or does not apply."""

    vantage: Vantage = Vantage.CLIENT
    target: str = ""
    server: str = ""
    """The name and version that the server gives itself."""
    revision: str = ""
    profile: str = ""
    seed: int | None = None
    stimulus: str = ""
    declaration: Declaration = NOTHING_DECLARED
    complete: bool = False
    """Whether it has everything that passed between the server and all of its clients since before the first session
    was opened. Only then is what it does not show known not to have been."""
    experiment: str = ""
    """The probe's experiment that this was cut out of."""
    parameters: dict[str, object] = field(factory=dict)
    """The experiment's parameters. With its name they show the same again."""
    clause: str = ""
    """The clause of the finding that this shows."""
    fault: str = ""
    summary: str = ""


@frozen
class Entry:
    """One line of a recording."""

    observation: Observation
    experiment: str = ""
    """The probe's experiment during which it was recorded."""


@frozen
class Trace:
    """A whole recording."""

    header: TraceHeader
    entries: tuple[Entry, ...]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The observations, in order."""
        return tuple(entry.observation for entry in self.entries)


@frozen
class TraceError(Exception):
    """A recording cannot be read."""

    path: Path
    line: int
    """1 is the first; 0: the file as a whole."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


def write_trace(path: Path, header: TraceHeader, entries: Iterable[Entry], redactor: Redactor) -> None:
    """Write a recording whole, without secrets. Raises OutputError."""
    write_atomically(path, "".join(f"{line}\n" for line in trace_lines(header, entries, redactor)))


def trace_lines(header: TraceHeader, entries: Iterable[Entry], redactor: Redactor) -> Iterator[str]:
    """The lines of a recording, without secrets."""
    first = redactor.value({"schema": SCHEMA, **_CONVERTER.unstructure(header)})
    yield json.dumps(first)
    for entry in entries:
        line = observation_to_json(redactor.observation(entry.observation))
        if entry.experiment:
            line["experiment"] = redactor.text(entry.experiment)
        yield json.dumps(line)


def read_trace(path: Path) -> Trace:
    """Read a recording whole. Raises TraceError, which names the file and the line."""
    with open_trace(path) as (header, entries):
        return Trace(header, tuple(entry for _, entry in entries))


@contextmanager
def open_trace(path: Path) -> Iterator[tuple[TraceHeader, Iterator[tuple[int, Entry]]]]:
    """A recording's header, and its other lines with their numbers, each read when it is asked for.

    Raises TraceError, which names the file and the line; also when a line is asked for.
    """
    with closing(_lines(path)) as lines:
        header = _first_of(path, lines)
        yield header, ((number, entry_of(path, number, json_object(path, number, line))) for number, line in lines)


@contextmanager
def open_flat(path: Path) -> Iterator[tuple[TraceHeader, Iterator[tuple[int, Observation | FlatFrame, str]]]]:
    """The same for the oracle: the lines' numbers, observations and experiments; frames flat, where that is certain."""
    with closing(_lines(path)) as lines:
        yield _first_of(path, lines), _flat(path, lines)


def _flat(path: Path, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Observation | FlatFrame, str]]:
    read = line_reader()
    for number, line in lines:
        quick = read(line)
        if quick is not None:
            yield number, quick[0], quick[1]
        else:
            entry = entry_of(path, number, json_object(path, number, line))
            yield number, entry.observation, entry.experiment


def _first_of(path: Path, lines: Iterator[tuple[int, bytes]]) -> TraceHeader:
    number, first = next(lines, (0, b""))
    if not first:
        raise TraceError(path, 0, "empty: a recording begins with its header")
    return header_of(path, number, json_object(path, number, first))


def observation_to_json(observation: Observation) -> dict[str, Json]:
    """One observation as the JSON object of its line. Not redacted."""
    return {"type": _TAGS[type(observation)], **_CONVERTER.unstructure(observation)}


def header_of(path: Path, number: int, line: dict[str, Any]) -> TraceHeader:
    """The header that a line is; takes the line apart. Raises TraceError."""
    if line.pop("schema", None) != SCHEMA:
        raise TraceError(path, number, f'the first line must have "schema": "{SCHEMA}"')
    return _structure(path, number, line, TraceHeader)


def entry_of(path: Path, number: int, line: dict[str, Any]) -> Entry:
    """The observation that a line is; takes the line apart. Raises TraceError."""
    experiment = line.pop("experiment", "")
    if not isinstance(experiment, str):
        raise TraceError(path, number, "experiment: a string is needed")
    tag = line.pop("type", None)
    if tag is None and "schema" in line:
        raise TraceError(path, number, "a second header: a recording has one, on its first line")
    if not isinstance(tag, str) or tag not in TYPES:
        raise TraceError(path, number, f"type: one of {', '.join(TYPES)} is needed")
    observation = _QUICK[tag](line) or _structure(path, number, line, TYPES[tag])
    return Entry(observation, experiment)


Structured = TypeVar("Structured")


def _structure(path: Path, number: int, line: dict[str, Any], cls: type[Structured]) -> Structured:
    try:
        return _CONVERTER.structure(line, cls)
    except BaseValidationError as error:
        raise TraceError(path, number, first_reason(error)) from None


def first_reason(error: BaseValidationError) -> str:
    """The first thing that does not fit, with the key it stands under."""
    reason, _, where = transform_error(error, format_exception=_reason)[0].partition(" @ ")
    return shorten(plain(f"{where.removeprefix('$').lstrip('.')}: {reason}".removeprefix(": ")), _LONGEST_REASON)


def _reason(exception: BaseException, type: type | None) -> str:
    if isinstance(exception, KeyError):
        return "missing"
    if isinstance(exception, ForbiddenExtraKeysError):
        return f"unknown key: {', '.join(sorted(exception.extra_fields))}"
    if isinstance(exception, TypeError | AttributeError):  # cattrs takes for granted that a list is one
        return f"{'a table' if type is not None and has(type) else 'a list'} is needed"
    return str(exception)


def _lines(path: Path) -> Generator[tuple[int, bytes], None, None]:
    """The lines that are not blank, with their numbers."""
    number = blank = 0
    try:
        with BufferedReader(FileIO(path), _BUFFER) as file:
            packed = file.peek(len(GZIP)).startswith(GZIP)  # by what is in it: a name says nothing
            lines = gzip.GzipFile(fileobj=file) if packed else file
            readline = lines.readline
            while line := readline(LONGEST_LINE + 1):
                number += 1
                if not line.isspace() and len(line) <= LONGEST_LINE:
                    blank = 0
                    yield number, line
                    continue
                blank = blank + len(line) if line.isspace() else 0
                if len(line) > LONGEST_LINE or blank > LONGEST_LINE:
                    what = "blank" if blank else "a line of"
                    raise TraceError(path, number, f"{what} more than {LONGEST_LINE} bytes")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(path, number + 1, f"not whole gzip: {error}") from None
    except OSError as error:
        raise TraceError(path, 0, f"cannot be read: {error.strerror or error}") from error


def json_object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """The JSON object on a line, read strictly. Raises TraceError."""
    quick = quick_object(line, DEEPEST)
    return quick if quick is not None else strict_object(path, number, line)


def strict_object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """The same, with what is wrong. Raises TraceError."""
    try:
        text = line.decode("utf-8")
        value = _DECODER.decode(text)
    except UnicodeDecodeError:
        raise TraceError(path, number, "not UTF-8") from None
    except json.JSONDecodeError as error:
        raise TraceError(path, number, f"not JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise TraceError(path, number, f"not JSON: {shorten(plain(str(error)), _LONGEST_REASON)}") from None
    except RecursionError:
        raise TraceError(path, number, f"nested deeper than {DEEPEST}") from None
    if not isinstance(value, dict):
        raise TraceError(path, number, "not a JSON object")
    if text.count("[") + text.count("{") > DEEPEST and is_too_deep(value):
        raise TraceError(path, number, f"nested deeper than {DEEPEST}")
    return value


def is_too_deep(value: dict[str, Any] | list[Any]) -> bool:
    """Whether a JSON value is nested deeper than ``DEEPEST``."""
    level = [value]
    for _ in range(DEEPEST):
        inner = (each for one in level for each in (one.values() if isinstance(one, dict) else one))
        level = [each for each in inner if isinstance(each, dict | list)]
        if not level:
            return False
    return True


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is beyond every double")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)} is there twice")
    return value


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique_keys)


def strict_converter() -> Converter:
    """A converter that coerces nothing and accepts no key it does not know."""
    converter = Converter(forbid_extra_keys=True, omit_if_default=True)
    for cls, name in ((int, "an integer"), (str, "a string"), (bool, "true or false")):
        converter.register_structure_hook(cls, _exactly(name, cls))
    converter.register_structure_hook(str | int | None, _exactly("a string, an integer or null", str, int, type(None)))
    converter.register_structure_hook_func(lambda cls: cls == tuple[str, ...], _strings)
    return converter


def _exactly(name: str, *classes: type) -> Any:
    def structure(value: object, _: object) -> object:
        if type(value) not in classes:
            raise ValueError(f"{name} is needed")
        return value

    return structure


def _strings(value: object, _: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of strings is needed")
    return tuple(value)


def _table(value: object, _: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("an object is needed")
    return value


def _enum(value: object, cls: type[Enum]) -> Enum:
    values = [member.value for member in cls]
    if value not in values:
        raise ValueError(f"one of {', '.join(values)} is needed")
    return cls(value)


def _natural(value: object, cls: object) -> int | None:
    """Times, sizes and the like: what every JSON reader keeps exact, and arithmetic cannot choke on."""
    if value is None and cls is not int:
        return None
    if type(value) is not int or not 0 <= value <= MAX_INTEGER:
        raise ValueError("an integer from 0 to 2^53 - 1 is needed")
    return value


def _make_converter() -> Converter:
    converter = strict_converter()
    converter.register_structure_hook_func(lambda cls: isinstance(cls, type) and issubclass(cls, Enum), _enum)
    # A payload is JSON already. Its type names itself, so it is taken from where it is used.
    payload = fields(resolve_types(Frame)).payload.type
    converter.register_structure_hook_func(lambda cls: cls == payload, lambda value, _: value)
    converter.register_unstructure_hook_func(lambda cls: cls == payload, lambda value: value)
    converter.register_structure_hook_func(lambda cls: cls == dict[str, object], _table)
    for observation in TYPES.values():
        numbers = [each.name for each in fields(resolve_types(observation)) if each.type in (int, int | None)]
        bounded = {name: override(struct_hook=_natural) for name in numbers}
        structure = make_dict_structure_fn(observation, converter, _cattrs_forbid_extra_keys=True, **bounded)  # type: ignore[arg-type]
        converter.register_structure_hook(observation, structure)
    return converter


_CONVERTER = _make_converter()
line_reader = quick_lines(TYPES, MAX_INTEGER, DEEPEST)
"""Makes a reader of lines: a line's observation and its experiment, a frame flat; None if that is not certain."""
_QUICK = {tag: quick_reader(cls, MAX_INTEGER) for tag, cls in TYPES.items()}
