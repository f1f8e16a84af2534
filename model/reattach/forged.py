"""Forged ids: cursors that no server issued, made in the likeness of those that it did.

The probe presents them, and ``reattach.strategies`` draws from them. An id in the standard's own grammar is taken apart
and put together wrongly; of any other id only this is assumed, that a number at its end may count.
"""

import random
import re
from collections.abc import Sequence

from reattach.machine.cursor import Presence, format_event_id, parse_cursor

LONG = 4_000
"""Characters of a very long cursor: long, and still inside the header limits of common servers."""


def malformed(good: str) -> list[tuple[str, ...]]:
    """Headers that are no cursor, made from one that is."""
    stem, digits = _split_number(good)
    number = digits or "7"
    return [
        ("",),
        ("x",),
        ("null",),
        ("0",),
        ("-1",),
        (f"{stem}+{number}",),
        (f"{stem}-{number}",),
        (f"{good} 0",),
        (f"{stem}0{number}",),
        (f"{stem}{number}_0",),
        (f"{stem}{_other_digits(number)}",),
        (f"{stem}{number}.0",),
        (f"{stem}{'9' * LONG}",),
        (f'"{good}"',),
        (f"{good},{good}",),
        (good, good),
        (f"{good}%00",),
        ("é",),
    ]


def unissued(ids: Sequence[str], others: Sequence[str], rng: random.Random) -> list[str]:
    """Cursors in the form of these ids that name no event; ``ids`` and ``others`` are two streams of one session."""
    newest, other = parse_cursor((ids[-1],)), parse_cursor((others[-1],))
    cursors = [similar(ids[-1], rng)]
    if newest.presence is Presence.PRESENT and other.presence is Presence.PRESENT:
        last = max(newest.seq, other.seq)
        cursors += [
            format_event_id(newest.tag, newest.stream, last + 1),
            format_event_id(newest.tag, newest.stream, last + 1_000_000),
            format_event_id(newest.tag, newest.stream, other.seq),
            format_event_id(newest.tag, other.stream, newest.seq),
            format_event_id(newest.tag, other.stream + 1_000, newest.seq),
        ]
    else:
        stem, number = _split_number(ids[-1])
        highest = max(int(_split_number(one)[1] or "0") for one in (*ids, *others))
        if number and len(number) < 16:
            cursors += [f"{stem}{highest + 1}", f"{stem}{highest + 1_000_000}"]
        else:
            cursors += [f"{ids[-1]}1", f"{ids[-1]}_9999999"]
    known = {*ids, *others}
    return [cursor for cursor in dict.fromkeys(cursors) if cursor not in known]


def following(ids: Sequence[str], by: int) -> str | None:
    """The id that lies ``by`` events after the newest of ``ids``, if they count; None if they do not seem to."""
    if len(ids) < 2:
        return None
    (stem, number), (other, before) = _split_number(ids[-1]), _split_number(ids[-2])
    if not number or not before or stem != other or int(number) != int(before) + 1:
        return None
    return f"{stem}{int(number) + by}"


def between(ids: Sequence[str], others: Sequence[str]) -> list[str]:
    """A cursor of the stream of ``ids`` with the seq of an event of ``others`` that lies between two of its own.

    A server that only compares seqs takes it for a position. None in another grammar, or if none lies between.
    """
    own, foreign = [parse_cursor((one,)) for one in ids], [parse_cursor((one,)) for one in others]
    if not own or any(cursor.presence is not Presence.PRESENT for cursor in (*own, *foreign)):
        return []
    amid = [cursor.seq for cursor in foreign if own[0].seq < cursor.seq < own[-1].seq]
    return [format_event_id(own[0].tag, own[0].stream, amid[len(amid) // 2])] if amid else []


def misused(ids: Sequence[str], others: Sequence[str], which: int) -> tuple[str, ...]:
    """The headers of one of all these bad cursors: malformed, or never issued."""
    bad = [*malformed(ids[-1]), *((cursor,) for cursor in unissued(ids, others, random.Random(which)))]
    return bad[which % len(bad)]


def similar(text: str, rng: random.Random) -> str:
    """A random text of the same shape: digits for digits, hex for hex, letters for letters, the rest as it is."""
    hexadecimal = all(character in "0123456789abcdefABCDEF-" for character in text)
    drawn = []
    for character in text:
        if character.isdigit():
            pool = "0123456789abcdef" if hexadecimal and not text.isdigit() else "0123456789"
        elif character.isascii() and character.isalpha():
            pool = "abcdef" if hexadecimal else "abcdefghijklmnopqrstuvwxyz"
            pool = pool.upper() if character.isupper() else pool
        else:
            pool = character
        drawn.append(rng.choice(pool))
    return "".join(drawn)


def _split_number(text: str) -> tuple[str, str]:
    """A text as what comes before its last run of digits, and that run if it ends the text."""
    match = re.search(r"[0-9]+\Z", text)
    return (text[: match.start()], match.group()) if match else (text, "")


def _other_digits(number: str) -> str:
    """The same number in Arabic-Indic digits, which ``int`` reads and nothing should."""
    return "".join(chr(0x0660 + int(digit)) for digit in number)
