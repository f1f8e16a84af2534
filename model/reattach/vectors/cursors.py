"""Vectors of the cursor parser: header values in, a cursor out (CUR-2, spec/12-wire.md)."""

from reattach.machine.cursor import MAX_INTEGER, TAG_LENGTHS, Presence, format_event_id, parse_cursor
from reattach.vectors.vector import EXPECT, Case, Kind, Plain

ABOUT = """\
# Vectors of the cursor parser

What a server reads from the `Last-Event-ID` headers of one request; [chapter 12](../../12-wire.md) has the grammar.

| field | meaning |
|---|---|
| `last_event_id` | the values of the headers, as text, one for each header; none is `[]` |
| `expect.presence` | `absent`, `malformed` or `present` |
| `expect.tag`, `expect.stream`, `expect.seq` | the cursor, where it is present; integers up to 2^53 - 1 |

A present cursor, written as `tag.stream.seq`, is the header again. HTTP strips white space around a value, and not
every HTTP library lets other characters than ASCII pass: such a vector is for the parser itself.
"""

TAG = "a" * TAG_LENGTHS[0]

_TAGS = {
    "of every kind of character": "AZaz09_-AZaz09_-AZaz09",
    **{
        f"with the character {ord(character):#04x}": TAG[1:] + character
        for character in ("@", "[", "`", "{", "/", ":", "+", "=", " ", "\x7f", "é")
    },
    **{
        f"of {length} characters": "a" * length
        for length in (TAG_LENGTHS[0] - 1, TAG_LENGTHS[0] + 1, TAG_LENGTHS[-1], TAG_LENGTHS[-1] + 1)
    },
}

_NUMBERS = {
    "zero": "0",
    "two": "2",
    "nine": "9",
    "ten": "10",
    "one below the greatest": str(MAX_INTEGER - 1),
    "the greatest": str(MAX_INTEGER),
    "one above the greatest": str(MAX_INTEGER + 1),
    "of sixteen digits": "9" * 16,
    "of seventeen digits": "1" + "0" * 16,
    "of a thousand digits": "1" * 1_000,
    "empty": "",
    "with a leading zero": "01",
    "with a plus": "+1",
    "with a minus": "-1",
    "with a space before": " 1",
    "with a space after": "1 ",
    "with an underscore": "1_0",
    "with an exponent": "1e1",
    "in base sixteen": "0x1",
    "with the character before the digits": "1/",
    "with the character after the digits": "1:",
    "in Arabic-Indic digits": "\u0661",
    "in fullwidth digits": "\uff11",
    "in superscript": "\u00b2",
    "with a null after": "1\x00",
}

_GOOD = format_event_id(TAG, 1, 1)
_OTHER = format_event_id(TAG, 1, 2)

_WHOLE: dict[str, tuple[str, ...]] = {
    "no header": (),
    "an empty header": ("",),
    "the smallest cursor": (_GOOD,),
    "the greatest cursor": (format_event_id("z" * TAG_LENGTHS[-1], MAX_INTEGER, MAX_INTEGER),),
    "two equal headers": (_GOOD, _GOOD),
    "two headers": (_GOOD, _OTHER),
    "an empty header and a good one": ("", _GOOD),
    "two headers joined by a comma": (f"{_GOOD}, {_OTHER}",),
    "a header in quotes": (f'"{_GOOD}"',),
    "no tag": (".1.1",),
    "no dot": (TAG,),
    "one dot": (f"{TAG}.1",),
    "three dots": (f"{_GOOD}.1",),
    "a dot at the end": (f"{_GOOD}.",),
    "a dot at the beginning": (f".{_GOOD}",),
    "a comma for a dot": (f"{TAG},1.1",),
    "a space before": (f" {_GOOD}",),
    "a line break after": (f"{_GOOD}\n",),
}


def cases() -> tuple[Case, ...]:
    """Each part of the grammar at its boundaries."""
    asked = dict(_WHOLE)
    asked |= {f"a tag {what}": (f"{tag}.1.1",) for what, tag in _TAGS.items()}
    asked |= {f"a stream {what}": (f"{TAG}.{number}.1",) for what, number in _NUMBERS.items()}
    asked |= {f"a seq {what}": (f"{TAG}.1.{number}",) for what, number in _NUMBERS.items()}
    return tuple(
        Case(
            name=what.replace(" ", "-").lower(),
            tests=f"{what[0].upper()}{what[1:]}: {parse_cursor(headers).presence.value}.",
            clauses=("CUR-1",) if not headers else ("CUR-2",),
            question={"last_event_id": list(headers)},
        )
        for what, headers in asked.items()
    )


def answered(question: Plain) -> Plain:
    """What the parser makes of the headers."""
    cursor = parse_cursor(tuple(question["last_event_id"]))
    expected: Plain = {"presence": cursor.presence.value}
    if cursor.presence is Presence.PRESENT:
        expected |= {"tag": cursor.tag, "stream": cursor.stream, "seq": cursor.seq}
    return {**question, EXPECT: expected}


CURSOR = Kind("cursor", ABOUT, cases, answered)
