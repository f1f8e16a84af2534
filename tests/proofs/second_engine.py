"""A few properties of the decision and of the budgets as CrossHair reads them: a docstring says what must come out.

CrossHair shares nothing with the executor of the proofs but the functions that are looked at, and Z3.
"""

from attrs import evolve

from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Reason, Reattach, Refuse, decide_cursor
from reattach.machine.policy import Policy
from reattach.machine.session import NO_VIEW, Session, Stream, StreamKind, View, is_behind, mark_of, stall_deadline
from reattach.machine.transition import advance
from reattach.machine.window import Entry, Window


def session_of(first: int, second: int, third: int, low: int, next: int) -> Session:
    """A stream that was born at 1 and sent three events, of which those before ``low`` have left the window."""
    seqs = (first, second, third)
    entries = zip(seqs, (1, *seqs[:-1]), range(1, 4), strict=True)
    held = tuple(Entry(seq, 1, prev, 0, count, 0, 0, None) for seq, prev, count in entries if seq >= low)
    stream = Stream(1, StreamKind.STANDALONE, first=1, last=third, finished=False)
    return Session("tag", "", 0, 0, Window(held, low, next, 3, 0), (stream,), opened=1, standalone=1, listened=True)


def granted_iff_lossless(first: int, second: int, third: int, low: int, at: int) -> bool:
    """A cursor that was sent is granted iff no event after it has left the window (CUR-7).

    pre: 1 < first < second < third
    pre: low == first or low == second or low == third or low == third + 1
    pre: at in (1, first, second, third)
    post: __return__
    """
    session = session_of(first, second, third, low, third + 1)
    decision = decide_cursor(session, Cursor(Presence.PRESENT, "tag", 1, at))
    any_lost = any(at < seq < low for seq in (first, second, third))
    if any_lost:
        return isinstance(decision, Refuse) and decision.reason is Reason.CURSOR_OUT_OF_WINDOW
    return decision == Reattach(1, at)


def never_granted_unless_sent(first: int, second: int, third: int, low: int, at: int) -> bool:
    """A cursor that the stream never sent is refused, each with its reason (CUR-4, CUR-5, CUR-6).

    pre: 1 < first < second < third
    pre: low == first or low == second or low == third or low == third + 1
    pre: at not in (1, first, second, third)
    post: __return__
    """
    session = session_of(first, second, third, low, third + 1)
    decision = decide_cursor(session, Cursor(Presence.PRESENT, "tag", 1, at))
    if not isinstance(decision, Refuse):
        return False
    mark = mark_of(session, session.streams[0])
    if at > third:
        return decision.reason is Reason.CURSOR_AHEAD
    return decision.reason is (Reason.CURSOR_OUT_OF_WINDOW if at < mark else Reason.CURSOR_MISMATCH)


def ended_only_when_stalled(since: int, stall_ms: int, now: int, position: int) -> bool:
    """A view that is behind is ended iff it made no progress for longer than its budget (IDL-1).

    pre: stall_ms > 0 and now >= since >= 0
    pre: position == 1 or position == 2
    post: __return__
    """
    policy = evolve(Policy(), stall_ms=stall_ms, window_ms=now + 1, absence_ms=now + 1)
    view = View(7, position, NO_VIEW.greeting, outstanding=False, since=since, reads=0, wrote=since)
    stream = Stream(1, StreamKind.STANDALONE, first=1, last=2, finished=False, view=view)
    window = Window((Entry(2, 1, 1, since, 1, 0, 0, None),), 2, 3, 1, 0)
    session = Session("tag", "", since, since, window, (stream,), opened=1, standalone=1, listened=True)
    ended = bool(advance(policy, session, now).endings)
    return (
        ended
        == (is_behind(stream) and now - since > stall_ms)
        == (is_behind(stream) and now >= stall_deadline(policy, stream))
    )
