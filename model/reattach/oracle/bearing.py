"""What a cursor means to the session it is presented to, as far as the record can tell.

Good is what the session was given. For everything else the question is which clause it falls under. An id in the
standard's own grammar is read by the machine's parser; of other ids only this much is assumed: that one which ends in a
number may belong to a series whose members differ in that number alone.
"""

import re
from itertools import pairwise

from attrs import frozen

from reattach.machine.cursor import MAX_INTEGER, Cursor, Presence, parse_cursor
from reattach.oracle.record import Bearing, Event, Run, Session, StreamKind

IN_FLIGHT = 4_096
"""How far beyond the newest id that was read one may lie that the server has sent."""

_SERIES = re.compile(r"(.*?)(0|[1-9][0-9]*)\Z", re.DOTALL)
_RUN = re.compile(r"[0-9A-Za-z]{8,}")


@frozen
class Known:
    """A cursor and the event that it names, if this session was given one."""

    bearing: Bearing
    event: Event | None = None


def bearing_of(run: Run, session: Session, cursors: tuple[str, ...]) -> Known:
    """Classify the ``Last-Event-ID`` headers of a request made under ``session``."""
    if not cursors:
        return Known(Bearing.NONE)
    if len(cursors) > 1 or cursors[0] == "":
        return Known(Bearing.MALFORMED)
    cursor = cursors[0]
    event = session.event_with(cursor)
    if event is not None:
        return Known(Bearing.UNKNOWN if event.ambiguous else Bearing.GOOD, None if event.ambiguous else event)
    if not run.complete or session.opener is None or session.forgotten or session.restarted:
        return Known(Bearing.UNKNOWN)  # it may have been issued where the record does not reach
    parsed = parse_cursor(cursors)
    if parsed.presence is Presence.PRESENT:
        return Known(_own_grammar(run, session, cursor, parsed))
    if any(other.session is not session for other in run.issued_as(cursor)):
        return Known(Bearing.FOREIGN)
    return Known(_in_series(session, cursor))


def _own_grammar(run: Run, session: Session, cursor: str, parsed: Cursor) -> Bearing:
    newest = 0
    for known in session.events:
        other = parse_cursor((known,))
        if other.presence is Presence.PRESENT and other.tag == parsed.tag:
            newest = max(newest, other.seq)
    if newest == 0:
        foreign = any(other.session is not session for other in run.issued_as(cursor))
        return Bearing.FOREIGN if foreign or session.events else Bearing.MALFORMED
    if session.stream_of_seq(parsed.seq) not in (None, parsed.stream):
        return Bearing.MISMATCH
    return _guessed(session, parsed.seq, newest)


def _guessed(session: Session, number: int, newest: int) -> Bearing:
    """What an id of the right form is that was not given. While something is in flight it may yet be: not judged."""
    if number > newest + IN_FLIGHT:
        return Bearing.AHEAD
    if any(stream.kind is StreamKind.REQUEST and stream.finished is None for stream in session.streams):
        return Bearing.UNKNOWN
    return Bearing.AHEAD if number > newest else Bearing.MISMATCH


def _in_series(session: Session, cursor: str) -> Bearing:
    match = _SERIES.match(cursor)
    if match is None or len(match.group(2)) > 16 or int(match.group(2)) > MAX_INTEGER:
        return Bearing.MALFORMED
    stem, number = match.group(1), int(match.group(2))
    members = []
    for known in session.events:
        other = _SERIES.match(known)
        if other is not None and other.group(1) == stem and len(other.group(2)) <= 16:
            members.append(int(other.group(2)))
    if len(members) < 2:
        return Bearing.MALFORMED
    return _guessed(session, number, max(members))


def is_distinctive(event_id: str) -> bool:
    """Whether an id is so made that two sessions do not come up with it by counting.

    True if some run of eight letters and digits changes between the two at least three times, as random ids do.
    """
    return any(sum(a.isdigit() != b.isdigit() for a, b in pairwise(run)) >= 3 for run in _RUN.findall(event_id))
