"""A line of a recording read quickly, where it is certain that reading it strictly would give the same.

There is one rule, and it stands in ``trace.py``. A library that decodes JSON several times as fast as the standard one
overlooks two of the things that the rule does not: a key that is there twice, and depth. Both are settled by counting,
on the safe side; what is not certain is left to the strict reading, as is everything that the library itself refuses.
So nothing is accepted here that would not be accepted there, and every error is found and worded there.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar, Union

import msgspec
from attrs import NOTHING, AttrsInstance, fields, resolve_types
from msgspec.structs import astuple

from reattach.oracle.flat import FlatFrame

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_format = msgspec.json.format
_LONG = 1_000
"""Bytes from which on it is quicker to compare a line with itself written again than to count colons in both."""


def quick_object(line: bytes, deepest: int) -> dict[str, Any] | None:
    """The JSON object on a line; None if it is not certain that it is one which the strict reading accepts.

    Written again, the value has each key once. So if a key was there twice, there are fewer colons than in the line:
    the key's own is gone, and those within texts are the same, unless one was written as an escape. Nesting takes a
    colon for each object within an object, and a bracket for each list.
    """
    try:
        value = _decode(line)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors, and so is text that is not UTF-8
        return None
    if type(value) is not dict:
        return None
    colons = line.count(b":")
    if colons + line.count(b"[") >= deepest and line.count(b"{") + line.count(b"[") > deepest:
        return None
    if b"\\u003" in line or colons != _encode(value).count(b":"):
        return None
    return value


ReadLine: TypeAlias = Callable[[bytes], tuple[Any, str] | None]


def quick_lines(classes: Mapping[str, type[Any]], greatest: int, deepest: int) -> Callable[[], ReadLine]:
    """Reads a line as one of some attrs classes, by its tag, or as a flat frame, with its experiment; None as above.

    What is returned makes such a reader; each is for one thread, since it writes every line again in the same place.

    The same as ``quick_object`` and ``quick_reader``, all at once: each line is decoded as what it is. Written again,
    it has none of the keys whose value is the default, and the rest once. If that is the line but for spaces, nothing
    was there twice: the quicker question of a long line. And if anything was, or has its default, there are fewer
    colons than in the line: the quicker one of a short line.
    """
    kinds: dict[type, Callable[[Any], Any]] = {}
    for tag, cls in classes.items():
        if tag != "frame":
            more = [("experiment", str, "")]
            line = _flat_class(cls, greatest, more, tag=tag, tag_field="type", omit_defaults=True, gc=False)
            kinds[line] = _maker(cls)
    decode = msgspec.json.Decoder(Union[FlatFrame, *kinds]).decode
    encode_into = msgspec.json.Encoder().encode_into

    def reader() -> ReadLine:
        again = bytearray()

        def read(line: bytes) -> tuple[Any, str] | None:
            try:
                told = decode(line)
                encode_into(told, again)
            except (ValueError, RecursionError):
                return None
            flat = False
            if len(line) < _LONG or _format(line, indent=-1) != again:
                colons = line.count(b":")
                if colons != again.count(b":") or (line.find(b"\\") >= 0 and line.find(b"\\u003") >= 0):
                    return None
                flat = colons < deepest and line.find(b"[") < 0
            if not flat and _may_be_deep(line, deepest):
                return None
            if type(told) is not FlatFrame:
                return kinds[type(told)](told), told.experiment
            if type(told.packed) is not bytes:
                return None  # a key of the line
            told.packed = line if len(line) < 2 * len(again) else bytes(again)
            return told, told.experiment

        return read

    return reader


def _may_be_deep(line: bytes, deepest: int) -> bool:
    """Whether there are brackets enough. (An object within an object takes five bytes: a short line is not asked.)"""
    room = deepest
    for bracket in (b"{", b"["):
        at = line.find(bracket)  # most lines have few, and to find them takes less time than to count them
        while at >= 0 and room >= 0:
            room -= 1
            at = line.find(bracket, at + 1)
    if room >= 0:
        return False
    brackets = line.count(b"[")
    return line.count(b":") + brackets >= deepest and line.count(b"{") + brackets > deepest


def _maker(cls: type[Any]) -> Callable[[Any], Any]:
    """Makes an instance of an attrs class that only keeps what it is given, in half the time that its own way takes."""
    puts = [getattr(cls, each.name).__set__ for each in fields(cls)]

    def make(line: Any) -> Any:
        made = object.__new__(cls)
        for put, value in zip(puts, astuple(line), strict=False):  # what more there is, is not of the class
            put(made, value)
        return made

    return make


def _flat_class(cls: type[Any], greatest: int, more: Sequence[tuple[str, Any, Any]] = (), **options: Any) -> type[Any]:
    """A class for what an attrs class has on a line: integers lie between 0 and ``greatest``, a payload is anything."""
    natural = Annotated[int, msgspec.Meta(ge=0, le=greatest)]
    bounded: dict[Any, Any] = {int: natural, int | None: natural | None}
    shape: list[Any] = []
    for each in fields(resolve_types(cls)):
        kind = bounded.get(each.type, each.type if each.name != "payload" else Any)
        shape.append((each.name, kind) if each.default is NOTHING else (each.name, kind, each.default))
    return msgspec.defstruct(cls.__name__, [*shape, *more], kw_only=True, forbid_unknown_fields=True, **options)


Read = TypeVar("Read", bound=AttrsInstance)


def quick_reader(cls: type[Read], greatest: int) -> Callable[[dict[str, Any]], Read | None]:
    """Makes an instance of an attrs class of a JSON object; None if it is not certain that the object is one.

    Its integers lie between 0 and ``greatest``. Its payload, if it has one, is left as it is.
    """
    flat, make = _flat_class(cls, greatest), _maker(cls)

    def read(line: dict[str, Any]) -> Read | None:
        try:
            made: Read = make(msgspec.convert(line, flat))
        except (ValueError, TypeError):
            return None
        return made

    return read
