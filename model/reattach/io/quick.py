"""A line of a recording read quickly, where it is certain that reading it strictly would give the same.

There is one rule, and it stands in ``trace.py``. A library that decodes JSON several times as fast as the standard one
overlooks two of the things that the rule does not: a key that is there twice, and depth. Both are settled by counting,
on the safe side; what is not certain is left to the strict reading, as is everything that the library itself refuses.
So nothing is accepted here that would not be accepted there, and every error is found and worded there.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any, TypeVar

import msgspec
from attrs import NOTHING, AttrsInstance, fields, resolve_types

from reattach.oracle.flat import FlatFrame

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


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


_FRAMES = (b'{"type": "frame", ', b'{"type":"frame",')


def quick_frame(line: bytes, deepest: int) -> tuple[FlatFrame, str] | None:
    """The frame on a line and its experiment, if it begins by saying that it is one; None also if that is not certain.

    The same as ``quick_object`` and ``quick_reader`` of ``Frame``, but that the payload is written again on its own.
    """
    if not line.startswith(_FRAMES):
        return None
    try:
        value = _decode(line)
        colons = line.count(b":")
        if colons + line.count(b"[") >= deepest and line.count(b"{") + line.count(b"[") > deepest:
            return None
        if b"\\u003" in line or "packed" in value:
            return None
        apart = 2 if "payload" in value else 1  # the colons after "payload" and "type"
        payload = value.pop("payload", None)
        packed = _encode(payload)
        del value["type"]
        if colons != apart + packed.count(b":") + _encode(value).count(b":"):
            return None
        experiment = value.pop("experiment", "")
        value["payload"], value["packed"] = payload, packed
        frame = msgspec.convert(value, FlatFrame)
    except (ValueError, RecursionError):
        return None
    return (frame, experiment) if type(experiment) is str else None


Read = TypeVar("Read", bound=AttrsInstance)


def quick_reader(cls: type[Read], greatest: int) -> Callable[[dict[str, Any]], Read | None]:
    """Makes an instance of an attrs class of a JSON object; None if it is not certain that the object is one.

    Its integers lie between 0 and ``greatest``. Its payload, if it has one, is left as it is.
    """
    natural = Annotated[int, msgspec.Meta(ge=0, le=greatest)]
    bounded: dict[Any, Any] = {int: natural, int | None: natural | None}
    shape = []
    for each in fields(resolve_types(cls)):
        kind = bounded.get(each.type, each.type if each.name != "payload" else Any)
        shape.append((each.name, kind) if each.default is NOTHING else (each.name, kind, each.default))
    flat = msgspec.defstruct(cls.__name__, shape, kw_only=True, forbid_unknown_fields=True)
    names = [each.name for each in fields(cls)]
    values = attrgetter(*names)

    def read(line: dict[str, Any]) -> Read | None:
        try:
            return cls(**dict(zip(names, values(msgspec.convert(line, flat)), strict=True)))
        except (ValueError, TypeError):
            return None

    return read
