"""Bad cursors: malformed, ahead, of another stream, never issued, evicted; and none at all."""

import asyncio
import random
import re
from collections.abc import Sequence

from reattach.live.bench import Bench, Call
from reattach.live.client import Session
from reattach.live.experiments.registry import Need, Parameters, experiment, integer
from reattach.live.experiments.sessions import similar
from reattach.machine.cursor import Presence, format_event_id, parse_cursor

_NEEDS = [Need.SESSIONS, Need.STIMULUS]

LONG = 4_000
"""Characters of a very long cursor: long, and still inside the header limits of common servers."""

HANGS = 3
"""After so many requests without any answer, an experiment stops trying further cursors."""


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


@experiment("malformed-cursors", "CUR-2", "CUR-9", "CUR-10", "GET-1", "MOD-1", needs=_NEEDS)
async def malformed_cursors(bench: Bench, _: Parameters) -> None:
    """Cursors that are none, beside a running call and an open listener that must not suffer."""
    session, finished = await _with_finished_call(bench)
    if not finished.ids:
        return
    bystander = await bench.call(session, count=40, interval_ms=40)
    await _try(bench, session, malformed(finished.ids[-1]))
    await bench.ping(session)
    await bystander.follow()
    await finished.resume(finished.ids[0])
    await finished.follow()


@experiment("unissued-cursors", "CUR-2", "CUR-5", "CUR-6", "CUR-9", "CUR-10", "MOD-1", needs=_NEEDS)
async def unissued_cursors(bench: Bench, _: Parameters) -> None:
    """Well-formed cursors that were never issued: ahead by one and by many, of another stream, of no stream."""
    session, finished = await _with_finished_call(bench)
    other = await bench.call(session, count=3)
    await other.follow()
    if not finished.ids or not other.ids:
        return
    await _try(bench, session, [(cursor,) for cursor in unissued(finished.ids, other.ids, bench.rng)])
    await bench.ping(session)
    at_once = [await bench.call(session, count=6, interval_ms=10) for _ in range(2)]
    await asyncio.gather(*(call.follow() for call in at_once))
    await _try(bench, session, [(cursor,) for cursor in between(at_once[0].message_ids, at_once[1].message_ids)])
    await bench.ping(session)


def between(ids: Sequence[str], others: Sequence[str]) -> list[str]:
    """A cursor of the stream of ``ids`` with the seq of an event of ``others`` that lies between two of its own.

    A server that only compares seqs takes it for a position. None in another grammar, or if none lies between.
    """
    own, foreign = [parse_cursor((one,)) for one in ids], [parse_cursor((one,)) for one in others]
    if not own or any(cursor.presence is not Presence.PRESENT for cursor in (*own, *foreign)):
        return []
    amid = [cursor.seq for cursor in foreign if own[0].seq < cursor.seq < own[-1].seq]
    return [format_event_id(own[0].tag, own[0].stream, amid[len(amid) // 2])] if amid else []


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


def misused(ids: Sequence[str], others: Sequence[str], which: int) -> tuple[str, ...]:
    """The headers of one of all these bad cursors: malformed, or never issued."""
    bad = [*malformed(ids[-1]), *((cursor,) for cursor in unissued(ids, others, random.Random(which)))]
    return bad[which % len(bad)]


@experiment("flooded-cursors", "CUR-4", "CUR-9", "DEL-2", "EVT-1", needs=[Need.SESSIONS, Need.NUMBERED])
async def flooded_cursors(bench: Bench, _: Parameters) -> None:
    """A call that sends far more than most servers hold, then resumed from its first events and from recent ones."""
    session = await bench.session()
    call = await bench.call(session, count=700)
    await call.follow()
    ids = call.ids
    for position in (0, 1, len(ids) // 2, len(ids) - 3):
        if 0 <= position < len(ids):
            view = await session.listen(ids[position])
            await bench.until_answered(view, call)
            await view.cut()
    await bench.ping(session)


def _two_of_many(rng: random.Random) -> Sequence[Parameters]:
    return [{"earlier": rng.randrange(1, 5)}, {"earlier": rng.randrange(5, 9)}]


@experiment("earlier-cursor", "DEL-1", "DEL-2", "EVT-4", "DEL-6", needs=_NEEDS, plan=_two_of_many)
async def earlier_cursor(bench: Bench, parameters: Parameters) -> None:
    """A running call, cut, is resumed from some events before the last one read: the client lost its newest state."""
    earlier = integer(parameters, "earlier")
    session = await bench.session()
    call = await bench.call(session, count=20, interval_ms=25)
    await call.events(10)
    await call.post.cut()
    if len(call.ids) > earlier:
        await call.resume(call.ids[-1 - earlier])
    await call.follow(to_the_end=False)


async def _with_finished_call(bench: Bench) -> tuple[Session, Call]:
    session = await bench.session()
    await session.listen()
    call = await bench.call(session, count=3)
    await call.follow()
    return session, call


async def _try(bench: Bench, session: Session, headers: Sequence[tuple[str, ...]]) -> None:
    """A GET with each of these, one after the other, each looked at until it is refused, over or quiet."""
    hangs = 0
    for cursors in headers:
        view = await session.listen(*cursors)
        hangs += view.head is None
        await bench.look(view)
        if hangs == HANGS:
            bench.note(f"{bench.client.experiment}: stopped after {HANGS} cursors that got no answer")
            return


def _split_number(text: str) -> tuple[str, str]:
    """A text as what comes before its last run of digits, and that run if it ends the text."""
    match = re.search(r"[0-9]+\Z", text)
    return (text[: match.start()], match.group()) if match else (text, "")


def _other_digits(number: str) -> str:
    """The same number in Arabic-Indic digits, which ``int`` reads and nothing should."""
    return "".join(chr(0x0660 + int(digit)) for digit in number)
