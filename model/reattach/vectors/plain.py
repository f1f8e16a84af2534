"""Policies, inputs and answers of the machine as plain data, and back."""

import re
from enum import Enum
from typing import Any, get_args

from attrs import asdict, fields_dict

from reattach.machine.cursor import Cursor, Presence, format_event_id, parse_cursor
from reattach.machine.decision import Refuse, status_of
from reattach.machine.policy import Policy
from reattach.machine.transition import Ending, Input, Result, Resume
from reattach.vectors.vector import Plain

TAG, FOREIGN_TAG = "this-session-tag-00001", "other-session-tag-0001"
"""The tag of the session that a vector is about, and that of another."""

_INPUTS: dict[str, Any] = {}


def name_of(kind: type) -> str:
    """The name of an input or an answer in a vector: ``OpenStream`` is ``open-stream``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__).lower()


_INPUTS.update({name_of(kind): kind for kind in get_args(Input)})


def policy_from(plain: Plain) -> Policy:
    """The policy of a vector."""
    return Policy(**plain)


def headers_of(cursor: Cursor) -> list[str]:
    """``Last-Event-ID`` headers that are parsed to this cursor."""
    if cursor.presence is Presence.ABSENT:
        return []
    return [format_event_id(cursor.tag, cursor.stream, cursor.seq) if cursor.presence is Presence.PRESENT else ""]


def input_to_plain(given: Input) -> Plain:
    """An input, with a cursor as the headers that hold it."""
    if isinstance(given, Resume):
        return {"input": "resume", "connection": given.connection, "last_event_id": headers_of(given.cursor)}
    return {"input": name_of(type(given)), **{name: getattr(given, name) for name in fields_dict(type(given))}}


def input_from(plain: Plain) -> Input:
    """The input that a step of a vector names; its other keys are not looked at."""
    kind = _INPUTS[plain["input"]]
    if kind is Resume:
        return Resume(plain["connection"], parse_cursor(tuple(plain["last_event_id"])))
    given: Input = kind(**{name: plain[name] for name in fields_dict(kind)})
    return given


def refusal_to_plain(policy: Policy, refusal: Refuse) -> Plain:
    """A refusal, with its status, and with what is held of the stream where the cursor names one."""
    plain: Plain = {"reason": refusal.reason.value, "status": status_of(policy, refusal.reason)}
    if refusal.stream != 0:
        plain["held"] = {"stream": refusal.stream, "mark": refusal.mark, "last": refusal.last}
    return plain


def result_to_plain(policy: Policy, result: Result) -> Plain:
    """An answer of the machine to an input."""
    plain = {"result": name_of(type(result))}
    return plain | (refusal_to_plain(policy, result) if isinstance(result, Refuse) else _fields(result))


def ending_to_plain(ending: Ending) -> Plain:
    """A view that the server ends."""
    return _fields(ending)


def _fields(value: Any) -> Plain:
    return asdict(value, value_serializer=lambda _, __, inner: inner.value if isinstance(inner, Enum) else inner)
