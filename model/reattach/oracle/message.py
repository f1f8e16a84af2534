"""The identity of a JSON-RPC message: when two deliveries are deliveries of one message.

Drivers build ``Expect.keys`` with these functions and the oracle compares with the same ones, so the rules are exact:

``message_key`` (for ``Expect.origin == "numbered"``)
    ``LABEL#N``                a log notification (``notifications/message``) whose ``params.data`` is, contains (to a
                               depth of 4), or is the JSON text of, an object with a text ``label`` and an integer
                               ``n``. Labels are unique per call, so this names one message of one call.
    ``progress:TOKEN:VALUE``   a progress notification; 3.0 counts as 3.
    ``response:ID``            a response, result or error; the id as it stands.
    ``METHOD:DIGEST``          any other notification or request from the server.
    ``message:DIGEST``         anything else, batches included.

``normalised_key`` (for ``Expect.origin == "metamorphic"``) drops what two runs of one call cannot have in common:
    ``#N``                     a numbered log notification, without its label.
    ``progress:VALUE``         a progress notification, without its token.
    ``response:DIGEST``        a response, without its id: the digest is of the normalised result or error.
    otherwise as above, over the normalised message.

A normalised value has no top-level ``id``, no ``progressToken`` and no ``requestId``; members named like times (see
``TIME_NAMES``, ignoring case, ``_`` and ``-``) are emptied; in text, ISO 8601 times and durations (``12 ms``,
``0.3 s``) become ``<time>``. DIGEST is the first 16 hex digits of the SHA-256 of the JSON text with sorted members.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reattach.oracle.observation import Json

TIME_NAMES = frozenset(
    {
        "at", "created", "createdat", "date", "datetime", "duration", "durationms", "elapsed", "elapsedms",
        "epoch", "lastmodified", "latency", "latencyms", "modified", "now", "startedat", "time", "timems",
        "timestamp", "timestampms", "ts", "updated", "updatedat", "uptime",
    }
)  # fmt: skip
"""Member names whose values are times, in lower case without ``_`` and ``-``."""

_DEPTH = 4
_PLAIN = 10**15
_LONGEST_JSON_TEXT = 4_000_000
_NEVER_THE_SAME_TWICE = frozenset({"progressToken", "requestId"})
# Every alternative begins with a digit (D), and says after it what has to stand before it: so digits are looked for.
_TIME = (
    r"D(?:DDD-DD-DD[T ]DD:DD(?::DD(?:\.D+)?)?(?:Z|[+-]DD:?DD)?"
    r"|(?<!\wD)(?:D:DD:DD(?:\.D+)?|D*(?:\.D+)?\s?(?:ms|milliseconds?|s|secs?|seconds?))\b)"
)
_TIME_IN_TEXT = re.compile(_TIME.replace("D", r"\d"))
# The same where every digit has been made a 0, and a space what is one to text and not to bytes: one byte is found many
# times as fast.
_TIME_IN_ZEROS = re.compile(_TIME.replace("D", "0").encode())
_ZEROS = bytes.maketrans(b"123456789\x1c\x1d\x1e\x1f", b"0" * 9 + b" " * 4)


class Numbered(msgspec.Struct, frozen=True):
    """A message that says which of its series it is."""

    label: str
    """The series: the label of a numbered log notification, or ``progress:TOKEN``."""
    n: int


def key_of(number: Numbered) -> str:
    """The ``message_key`` of a message that is numbered."""
    return f"{number.label}:{number.n}" if is_progress(number) else f"{number.label}#{number.n}"


def message_key(payload: Json) -> str:
    """The identity of a message within its session (``Expect.origin == "numbered"``); see the top of this file."""
    number = numbered_log(payload)
    if number is not None:
        return f"{number.label}#{number.n}"
    progress = _progress(payload)
    if progress is not None:
        return f"progress:{progress[0]}:{progress[1]}"
    if is_response(payload):
        return f"response:{response_ids(payload)[0]}"
    return f"{_name(payload)}:{digest(payload)}"


def said(payload: Json) -> tuple[str | None, str | None, Numbered | None, bool]:
    """What tells one message from others, found at once: its ``message_key`` if that names it (``is_identifying``).

    Then the series that the key belongs to (``label_of_key``), its number (``numbered``), and whether it is a response.
    """
    if type(payload) is dict:
        method = payload.get("method")
        if method == "notifications/progress":
            progress = _progress(payload)
            if progress is not None:
                label = f"progress:{progress[0]}"
                return f"{label}:{progress[1]}", label, _counted(label, progress[1]), False
            return None, None, None, False  # named by its digest
        number = numbered_log(payload) if method == "notifications/message" else None
        if number is not None and not number.label.startswith("progress:"):
            return f"{number.label}#{number.n}", number.label, number, False
        if number is None and isinstance(method, str) and not method.startswith(("progress:", "response:")):
            return None, None, None, False
        if method is None and is_response(payload):
            key = f"response:{_text(payload['id'])}"
            return key, label_of_key(key) if "#" in key else None, None, True
    key = message_key(payload)
    return key if is_identifying(key) else None, label_of_key(key), numbered(payload), is_response(payload)


def normalised_key(payload: Json) -> str:
    """The identity of a message between two runs of one call (``Expect.origin == "metamorphic"``)."""
    number = numbered_log(payload)
    if number is not None:
        return f"#{number.n}"
    progress = _progress(payload)
    if progress is not None:
        return f"progress:{progress[1]}"
    return f"{'response' if is_response(payload) else _name(payload)}:{digest(_normalised(payload))}"


def numbered_log(payload: Json) -> Numbered | None:
    """The label and number of a numbered log notification; None if the message is none."""
    if type(payload) is not dict and not isinstance(payload, Mapping):
        return None
    if payload.get("method") != "notifications/message":
        return None
    params = payload.get("params")
    return _find_number(params.get("data"), _DEPTH) if type(params) is dict or isinstance(params, Mapping) else None


def numbered(payload: Json) -> Numbered | None:
    """The series and number of a message that carries one: a numbered log notification or whole-number progress."""
    number = numbered_log(payload)
    if number is not None:
        return number
    progress = _progress(payload)
    return _counted(f"progress:{progress[0]}", progress[1]) if progress is not None else None


def _counted(label: str, value: str) -> Numbered | None:
    return Numbered(label, int(value)) if value.isdigit() and len(value) <= 15 else None


def notification_of(applied: Json) -> Json:
    """What a client program says that it applied, as the notification that it was: whole, or the params of a log."""
    if isinstance(applied, Mapping) and "method" not in applied:
        return {"jsonrpc": "2.0", "method": "notifications/message", "params": applied}
    return applied


def is_progress(number: Numbered) -> bool:
    """Whether a number is a value of progress, which need not grow in steps of one."""
    return number.label.startswith("progress:")


def is_response(payload: Json) -> bool:
    """Whether the message is a single JSON-RPC response, result or error."""
    return (
        (type(payload) is dict or isinstance(payload, Mapping))
        and "method" not in payload
        and "id" in payload
        and ("result" in payload or "error" in payload)
    )


def response_ids(payload: Json) -> tuple[str, ...]:
    """The ids, as text, of the responses that a message is or, as a batch, contains."""
    if type(payload) is dict:
        return (_text(payload["id"]),) if is_response(payload) else ()
    return tuple(_text(message["id"]) for message in _messages(payload) if is_response(message))


def request_ids(payload: Json) -> tuple[str, ...]:
    """The ids, as text, of the JSON-RPC requests that a message is or, as a batch, contains."""
    if type(payload) is dict:
        return (_text(payload["id"]),) if "method" in payload and payload.get("id") is not None else ()
    return tuple(_text(m["id"]) for m in _messages(payload) if "method" in m and m.get("id") is not None)


def labels_claimed(payload: Json) -> tuple[str, ...]:
    """The series that a request can cause: its progress token, and the ``label`` among its tool's arguments."""
    claimed: list[str] = []
    for message in (payload,) if type(payload) is dict else _messages(payload):
        params = _mapping(message.get("params"))
        token, label = (
            _mapping(params.get("_meta")).get("progressToken"),
            _mapping(params.get("arguments")).get("label"),
        )
        if isinstance(token, str | int):
            claimed.append(f"progress:{_text(token)}")
        if isinstance(label, str):
            claimed.append(str(label))
    return tuple(claimed)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if type(value) is dict or isinstance(value, Mapping) else {}  # asking for the type itself is quicker


def label_of_key(key: str) -> str | None:
    """The series that a ``message_key`` belongs to: ``LABEL`` of ``LABEL#N``, ``progress:TOKEN``, else None."""
    if key.startswith("progress:"):
        return key.rpartition(":")[0]
    label, sep, n = key.rpartition("#")
    return label if sep and n.lstrip("-").isdigit() else None


def is_identifying(key: str) -> bool:
    """Whether a ``message_key`` names one message of its session, so that a second delivery is a second delivery.

    Numbered messages and responses do; progress has to grow with every notification; anything else may rightly be said
    twice in the same words.
    """
    return key.startswith("response:") or label_of_key(key) is not None


def digest(payload: Json) -> str:
    """16 hex digits that are the same for the same JSON value."""
    text = _text_quickly(payload)
    if text is None:
        try:
            text = json.dumps(payload, sort_keys=True, separators=(",", ":"), default=_plain).encode()
        except (ValueError, RecursionError, TypeError):
            text = f"beyond JSON: {type(payload).__name__}".encode()
    return hashlib.sha256(text).hexdigest()[:16]


def likeness(payload: Json) -> bytes:
    """Bytes that are the same for the same JSON value: quicker than ``digest``, and no part of any key.

    What is no JSON number is null here, as in many a writer of JSON.
    """
    return (_likeness_of_response(payload)[0] if is_response(payload) else b"") or _likeness(payload)


def likeness_and_normalised_key(payload: Json) -> tuple[bytes, str]:
    """Both of them, for less than one after the other."""
    if is_response(payload):
        alike, normal = _likeness_of_response(payload)
        return alike or _likeness(payload), normal
    return _likeness(payload), normalised_key(payload)


def _likeness_of_response(payload: Json) -> tuple[bytes, str]:
    """If normalising takes nothing from a response but its id, its normalised key and the id say all that it does.

    And that key; else no likeness.
    """
    normalised = _normalised(payload)
    normal = f"response:{digest(normalised)}"
    name = payload["id"] if type(payload) is dict else None
    if type(name) is not str and not (type(name) is int and -_PLAIN < name < _PLAIN):
        return b"", normal
    whole = {member: value for member, value in payload.items() if member != "id"}  # type: ignore[union-attr]
    return f"{normal} {name!r}".encode(errors="surrogatepass") if normalised == whole else b"", normal


def _likeness(payload: Json) -> bytes:
    try:
        return hashlib.sha256(_encode_sorted(payload)).digest()[:16]
    except (ValueError, TypeError, OverflowError, RecursionError):
        return digest(payload).encode()


def _text_quickly(payload: Json) -> bytes | None:
    """The JSON text with sorted members, if it is certain that a quicker writer writes it as the standard one does."""
    try:
        if not _is_written_alike(payload):
            return None
        text: bytes = _encode_sorted(payload)
    except (ValueError, OverflowError, RecursionError):
        return None
    return text if text.isascii() and b"\x7f" not in text else None


def _is_written_alike(value: Json) -> bool:
    """Whether there is nothing in it that JSON writers write in different ways, but for text beyond ASCII."""
    kind = type(value)
    if kind is dict:
        return all(type(name) is str and _is_written_alike(inner) for name, inner in value.items())  # type: ignore
    if kind is list:
        return all(map(_is_written_alike, value))  # type: ignore[arg-type]
    return kind is str or kind is int or kind is bool or value is None


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(type(value).__name__)


_encode_sorted = msgspec.json.Encoder(order="sorted", enc_hook=_plain).encode


def _messages(payload: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(payload, Mapping):
        yield payload
    elif isinstance(payload, Sequence) and not isinstance(payload, str):
        yield from (message for message in payload if isinstance(message, Mapping))


def _text(value: Json) -> str:
    if type(value) is int and -_PLAIN < value < _PLAIN:
        return str(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return str(value)[:200]
    except ValueError:  # an integer of more digits than Python turns into text
        return "beyond text"


def _name(payload: Json) -> str:
    method = payload.get("method") if isinstance(payload, Mapping) else None
    return method if isinstance(method, str) else "message"


def _progress(payload: Json) -> tuple[str, str] | None:
    if type(payload) is not dict and not isinstance(payload, Mapping):
        return None
    if payload.get("method") != "notifications/progress":
        return None
    params = payload.get("params")
    if type(params) is not dict and not isinstance(params, Mapping):
        return None
    token, progress = params.get("progressToken"), params.get("progress")
    if not isinstance(token, str | int) or not isinstance(progress, int | float):
        return None
    return _text(token), _text(progress)


def _find_number(data: Json, depth: int) -> Numbered | None:
    if isinstance(data, str):
        if not data.lstrip().startswith(("{", "[")) or len(data) > _LONGEST_JSON_TEXT:
            return None
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            return None
    if type(data) is dict or isinstance(data, Mapping):
        label, n = data.get("label"), data.get("n")
        if isinstance(label, str) and isinstance(n, int) and not isinstance(n, bool) and abs(n) < 10**15:
            return Numbered(label, n)
        inner: Iterator[Json] = iter(data.values())
    elif isinstance(data, Sequence):
        inner = iter(data)
    else:
        return None
    if depth == 0:
        return None
    for value in inner:
        found = _find_number(value, depth - 1)
        if found is not None:
            return found
    return None


def _normalised(payload: Json) -> Json:
    if isinstance(payload, Mapping):
        payload = {name: value for name, value in payload.items() if name != "id"}
    try:
        return _without_times(payload)
    except RecursionError:
        return None


def _without_times(value: Json) -> Json:
    if isinstance(value, str):
        return _without_times_in_text(value)
    if isinstance(value, Mapping):
        return {
            name: "<time>" if _is_time(name, inner) else _without_times(inner)
            for name, inner in value.items()
            if name not in _NEVER_THE_SAME_TWICE
        }
    if isinstance(value, Sequence):
        return [_without_times(inner) for inner in value]
    return value


def _without_times_in_text(text: str) -> str:
    if not text.isascii():
        return _TIME_IN_TEXT.sub("<time>", text)
    parts, end = [], 0
    for found in _TIME_IN_ZEROS.finditer(text.encode().translate(_ZEROS)):
        parts.append(text[end : found.start()])
        end = found.end()
    return "<time>".join((*parts, text[end:])) if parts else text


def _is_time(name: str, value: Json) -> bool:
    return isinstance(value, str | int | float) and name.lower().replace("_", "").replace("-", "") in TIME_NAMES
