"""Event ids and cursors: the only place where text becomes integers.

An event id is ``TAG.STREAM.SEQ``. TAG is 22 to 32 characters of ``[A-Za-z0-9_-]``, random per session and *not* the
session id, which is a secret and must not travel in logs and cursors. STREAM and SEQ are ``[1-9][0-9]*``, at most
2**53 - 1, so that any language reads them exactly. Nothing else parses (CUR-2): no sign, space, leading zero,
underscore or digit of another script. The id is visible ASCII (EVT-5).
"""

from enum import Enum

from attrs import frozen

MAX_INTEGER = 2**53 - 1
TAG_LENGTHS = range(22, 33)

_DIGITS = frozenset("0123456789")
_TAG_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


class Presence(Enum):
    """What a request says about its position."""

    ABSENT = "absent"
    MALFORMED = "malformed"
    PRESENT = "present"


@frozen
class Cursor:
    """A parsed ``Last-Event-ID``. The integers mean something only if it is present."""

    presence: Presence
    tag: str = ""
    stream: int = 0
    seq: int = 0


ABSENT = Cursor(Presence.ABSENT)
MALFORMED = Cursor(Presence.MALFORMED)


def parse_cursor(headers: tuple[str, ...]) -> Cursor:
    """Read the ``Last-Event-ID`` headers of a request; all of them, since a repeated header is refused (CUR-2)."""
    if len(headers) == 0:
        return ABSENT
    if len(headers) > 1:
        return MALFORMED
    parts = headers[0].split(".")
    if len(parts) != 3:
        return MALFORMED
    tag, stream, seq = parts
    if not _is_tag(tag) or not is_integer(stream) or not is_integer(seq):
        return MALFORMED
    return Cursor(Presence.PRESENT, tag, int(stream), int(seq))


def format_event_id(tag: str, stream: int, seq: int) -> str:
    """The id that goes on the wire for one event of one stream (EVT-1, EVT-5)."""
    return f"{tag}.{stream}.{seq}"


def _is_tag(text: str) -> bool:
    return len(text) in TAG_LENGTHS and _TAG_CHARACTERS.issuperset(text)


def is_integer(text: str) -> bool:
    """Whether a text is a STREAM or a SEQ."""
    # Sixteen digits bound the work before int() sees the text.
    if not 1 <= len(text) <= 16 or text[0] == "0" or not _DIGITS.issuperset(text):
        return False
    return int(text) <= MAX_INTEGER
