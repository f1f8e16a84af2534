"""Recordings: observations as JSON Lines.

The first line is a header, ``{"schema": "reattach-trace/1", ...}``; every other line is one observation, tagged by
``type``, in the order in which the recorder consumed them. Fields that have their default are left out. Text is ASCII
with JSON escapes, so that a recording can be shown on a terminal and passed through any tool.
"""

import json
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

from attrs import field, fields, frozen, resolve_types
from cattrs import Converter, ForbiddenExtraKeysError, transform_error
from cattrs.errors import BaseValidationError

from reattach.io.files import write_atomically
from reattach.io.redact import Redactor
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Expect,
    Frame,
    Json,
    Observation,
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
    """Read a recording. Raises TraceError, which names the file and the line."""
    lines = _json_lines(path)
    number, first = next(lines, (0, None))
    if first is None:
        raise TraceError(path, 0, "empty: a recording begins with its header")
    schema = first.pop("schema", None)
    if schema != SCHEMA:
        raise TraceError(path, number, f'the first line must have "schema": "{SCHEMA}"')
    header = _structure(path, number, first, TraceHeader)
    return Trace(header, tuple(_entry(path, number, line) for number, line in lines))


def observation_to_json(observation: Observation) -> dict[str, Json]:
    """One observation as the JSON object of its line. Not redacted."""
    return {"type": _TAGS[type(observation)], **_CONVERTER.unstructure(observation)}


def _entry(path: Path, number: int, line: dict[str, Any]) -> Entry:
    experiment = line.pop("experiment", "")
    if not isinstance(experiment, str):
        raise TraceError(path, number, "experiment: a string is needed")
    tag = line.pop("type", None)
    if not isinstance(tag, str) or tag not in TYPES:
        raise TraceError(path, number, f"type: one of {', '.join(TYPES)} is needed")
    observation: Observation = _structure(path, number, line, TYPES[tag])
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
    return f"{where.removeprefix('$').lstrip('.')}: {reason}".removeprefix(": ")


def _reason(exception: BaseException, type: type | None) -> str:
    if isinstance(exception, KeyError):
        return "missing"
    if isinstance(exception, ForbiddenExtraKeysError):
        return f"unknown key: {', '.join(sorted(exception.extra_fields))}"
    return str(exception)


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.isspace():
                    continue
                value = json.loads(line, parse_constant=_no_constant)
                if not isinstance(value, dict):
                    raise TraceError(path, number, "not a JSON object")
                yield number, value
    except OSError as error:
        raise TraceError(path, 0, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise TraceError(path, number + 1, "not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(path, number, f"not JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


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


def _make_converter() -> Converter:
    converter = strict_converter()
    converter.register_structure_hook_func(lambda cls: isinstance(cls, type) and issubclass(cls, Enum), _enum)
    # A payload is JSON already. Its type names itself, so it is taken from where it is used.
    payload = fields(resolve_types(Frame)).payload.type
    converter.register_structure_hook_func(lambda cls: cls == payload, lambda value, _: value)
    converter.register_unstructure_hook_func(lambda cls: cls == payload, lambda value: value)
    converter.register_structure_hook_func(lambda cls: cls == dict[str, object], _table)
    return converter


_CONVERTER = _make_converter()
