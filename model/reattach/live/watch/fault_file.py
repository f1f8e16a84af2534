"""Faults from a TOML file: sentences, tables, or both.

faults = ["cut the third view after two events", "drop Last-Event-ID"]

[[fault]]
do = "answer"
to = "reconnect"
times = 2
status = 503
"""

import tomllib
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TypeVar

from attrs import asdict, field, frozen
from cattrs import Converter
from cattrs.errors import BaseValidationError

from reattach.io.trace import first_reason, strict_converter
from reattach.live.watch.fault import Do, Fault, FaultError, To, make_fault
from reattach.live.watch.sentence import read_sentence

MOST_FAULTS = 1_000
Item = TypeVar("Item")


@frozen(kw_only=True)
class Table:
    """A ``[[fault]]``: what ``make_fault`` takes, under the names that files use. None: not said."""

    do: Do
    to: To | None = None
    from_: int | None = None
    times: int | None = None
    after_events: int | None = None
    inside: bool = False
    ms: int | None = None
    status: int | None = None
    header: str | None = None


@frozen(kw_only=True)
class _Document:
    faults: list[str] = field(factory=list)
    fault: list[dict[str, object]] = field(factory=list)


def read_faults(path: Path) -> tuple[Fault, ...]:
    """The faults of a file: the sentences first. Raises FaultError, which names the file and the place in it."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise FaultError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise FaultError(f"{path}: cannot be read: {error.strerror or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise FaultError(f"{path}: not TOML: {error}") from None
    try:
        document = _CONVERTER.structure(given, _Document)
    except BaseValidationError as error:
        raise FaultError(f"{path}: {first_reason(error)}") from None
    if len(document.faults) + len(document.fault) > MOST_FAULTS:
        raise FaultError(f"{path}: more than {MOST_FAULTS} faults")
    sentences = [_at(path, f"faults[{n}]", partial(read_sentence, text)) for n, text in _places(document.faults)]
    tables = [_at(path, f"fault[{n}]", partial(_of_table, table)) for n, table in _places(document.fault)]
    return (*sentences, *tables)


def _places(items: list[Item]) -> Iterator[tuple[int, Item]]:
    return enumerate(items, start=1)


def _at(path: Path, place: str, read: Callable[[], Fault]) -> Fault:
    try:
        return read()
    except FaultError as error:
        raise FaultError(f"{path}: {place}: {error}") from None


def _of_table(given: dict[str, object]) -> Fault:
    names = {"from": "from_"}
    try:
        table = _CONVERTER.structure({names.get(key, key): value for key, value in given.items()}, Table)
    except BaseValidationError as error:
        raise FaultError(first_reason(error).replace("from_", "from")) from None
    said = asdict(table)
    return make_fault(said.pop("do"), begin=said.pop("from_"), after=said.pop("after_events"), **said)


def _enum(value: object, cls: type[Enum]) -> Enum:
    values = [member.value for member in cls]
    if value not in values:
        raise ValueError(f"one of {', '.join(values)} is needed")
    return cls(value)


def _make_converter() -> Converter:
    converter = strict_converter()
    converter.register_structure_hook_func(lambda cls: isinstance(cls, type) and issubclass(cls, Enum), _enum)
    converter.register_structure_hook_func(lambda cls: cls == dict[str, object], lambda value, _: _table(value))
    return converter


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a table is needed")
    return value


_CONVERTER = _make_converter()
