"""The inductive invariant of a session, said about one event at a time.

A whole history has no fixed shape, but what is true of it is true of *each* of its events, or of each two. So the
invariant is a handful of predicates over a session and one arbitrary event (or two): the proofs follow one event that
could be any, and the random tests check every event there was. ``entry`` and ``other`` are any events the session ever
emitted, held or not; ``before`` is the entry whose seq is ``entry.prev``, or NO_ENTRY if that is the stream's birth.

Conjunctions are written as ``and`` chains and implications as ``not a or b``, which is how they read best symbolically.
"""

from collections.abc import Callable, Iterator
from functools import partial

from reattach.machine.policy import Policy
from reattach.machine.session import (
    Greeting,
    Session,
    Stream,
    StreamKind,
    absence_deadline,
    holds_nothing,
    is_behind,
    is_forgotten,
    is_occupied,
    is_viewed,
    stall_deadline,
)
from reattach.machine.window import Entry

# Of the session's own numbers


def the_numbers_are_in_range(policy: Policy, session: Session) -> bool:
    """Counters are never negative, low never passes next, nothing was seen in the future."""
    window = session.window
    return (
        window.low >= 1
        and window.low <= window.next
        and window.count >= 0
        and window.size >= 0
        and session.requests >= 0
        and session.seen <= session.now
    )


def a_stream_lies_in_its_session(policy: Policy, session: Session, stream: Stream) -> bool:
    """Born before next, and its last event too."""
    return stream.first >= 1 and stream.first <= stream.last and stream.last < session.window.next


def a_view_lies_on_its_stream(policy: Policy, session: Session, stream: Stream) -> bool:
    """Its position is between the stream's birth and its last event; its clocks are not in the future."""
    view = stream.view
    return not is_viewed(stream) or (
        stream.first <= view.position
        and view.position <= stream.last
        and view.reads >= 0
        and view.reads < policy.stall_reads
        and view.since <= session.now
        and view.wrote <= session.now
        and (view.greeting is Greeting.NOTHING or not view.outstanding)
    )


def a_view_is_within_its_stall_budget(policy: Policy, session: Session, stream: Stream) -> bool:
    """Nothing outlives it (IDL-1)."""
    return not is_behind(stream) or session.now < stall_deadline(policy, stream)


def a_session_is_within_its_absence_budget(policy: Policy, session: Session) -> bool:
    """A session of which nothing is open has not been without its client for longer than the budget (IDL-4)."""
    return is_occupied(session) or session.now < absence_deadline(policy, session)


def a_known_stream_is_of_use(policy: Policy, session: Session, stream: Stream) -> bool:
    """It is unfinished, or read, or something of it is held (WIN-3)."""
    return not is_forgotten(session, stream)


def unfinished_streams_are_within_the_limit(policy: Policy, session: Session) -> bool:
    """No more than the policy allows (WIN-3)."""
    unfinished = 0
    for stream in session.streams:
        if not stream.finished:
            unfinished += 1
    return unfinished <= policy.open_streams


def pushes_have_a_stream(policy: Policy, session: Session) -> bool:
    """The named standalone stream exists and is unfinished; every other standalone stream is finished."""
    found = False
    for stream in session.streams:
        if stream.number == session.standalone:
            found = stream.kind is StreamKind.STANDALONE and not stream.finished
        elif stream.kind is StreamKind.STANDALONE and not stream.finished:
            return False
    return found


# Of single seqs


def low_is_an_event_or_next(session: Session, at_low: Entry) -> bool:
    """The window begins with an event that is held, unless it is empty."""
    return session.window.low == session.window.next or at_low.stream != 0


def a_birth_is_no_event(stream: Stream, at_first: Entry) -> bool:
    """The seq that priming shows never names an event (EVT-6)."""
    return at_first.stream == 0


def a_stream_ends_in_an_event_of_its_own(stream: Stream, at_last: Entry) -> bool:
    """Its last seq is an event of it, unless it never had one."""
    return stream.last == stream.first or at_last.stream == stream.number


# Of one event


def is_emitted(session: Session, entry: Entry) -> bool:
    """Whether the entry is an event of this session so far."""
    return entry.stream != 0 and entry.seq >= 1 and entry.seq < session.window.next


def an_event_is_numbered(policy: Policy, session: Session, entry: Entry) -> bool:
    """After its predecessor, counted and measured within the session's totals, in the past (EVT-2)."""
    window = session.window
    return (
        entry.prev >= 1
        and entry.prev < entry.seq
        and entry.count >= 1
        and entry.count <= window.count
        and entry.size >= 0
        and entry.start >= 0
        and entry.start + entry.size <= window.size
        and entry.at <= session.now
        and entry.stream >= 1
        and entry.stream <= session.opened
    )


def an_event_lies_on_its_stream(policy: Policy, session: Session, entry: Entry) -> bool:
    """Not before the stream's birth, not after its last (CUR-5)."""
    for stream in session.streams:
        if entry.stream == stream.number:
            return stream.first <= entry.prev and entry.seq <= stream.last
    return True


def a_held_event_is_within_the_limits(policy: Policy, session: Session, entry: Entry) -> bool:
    """From it on there are at most N events and B bytes (WIN-1), and it is no older than T (WIN-2)."""
    window = session.window
    return entry.seq < window.low or (
        window.count - entry.count < policy.window_events
        and window.size - entry.start <= policy.window_bytes
        and session.now - entry.at <= policy.window_ms
    )


def a_held_events_stream_is_known(policy: Policy, session: Session, entry: Entry) -> bool:
    """A stream is not forgotten while something of it is held."""
    if entry.seq < session.window.low:
        return True
    return any(entry.stream == stream.number for stream in session.streams)


def no_view_stands_before_an_event_and_after_its_predecessor(policy: Policy, session: Session, entry: Entry) -> bool:
    """A view's position is a seq of its own stream."""
    for stream in session.streams:
        if is_viewed(stream) and entry.stream == stream.number:
            return stream.view.position <= entry.prev or entry.seq <= stream.view.position
    return True


def a_predecessor_is_of_the_same_stream(session: Session, entry: Entry, before: Entry) -> bool:
    """``prev`` is an event of the same stream, or the stream's birth."""
    for stream in session.streams:
        if entry.stream == stream.number:
            return entry.prev == stream.first or before.stream == entry.stream
    return True


# Of two events


def two_events_are_in_order(entry: Entry, other: Entry) -> bool:
    """A later seq was emitted no earlier, and is counted and measured after (EVT-2, DEL-6)."""
    return not entry.seq < other.seq or (
        entry.at <= other.at and entry.count < other.count and entry.start + entry.size <= other.start
    )


def nothing_lies_between_an_event_and_its_predecessor(entry: Entry, other: Entry) -> bool:
    """Of two events of one stream, the earlier is at or before the later's ``prev``."""
    return not (entry.seq < other.seq and entry.stream == other.stream) or entry.seq <= other.prev


# All of it

Named = tuple[str, Callable[[], bool]]
"""A predicate of the invariant, by name, ready to be asked."""

Lookup = Callable[[int], Entry]
"""Gives the event with a seq, held or not; its stream is 0 if that seq is no event."""


def of_session(policy: Policy, session: Session, events: Lookup) -> Iterator[Named]:
    """What holds of the session and of each of its streams."""
    for of_all in (
        the_numbers_are_in_range,
        a_session_is_within_its_absence_budget,
        unfinished_streams_are_within_the_limit,
        pushes_have_a_stream,
    ):
        yield of_all.__name__, partial(of_all, policy, session)
    yield _named(low_is_an_event_or_next, session, events(session.window.low))
    for stream in session.streams:
        for of_stream in (
            a_stream_lies_in_its_session,
            a_view_lies_on_its_stream,
            a_view_is_within_its_stall_budget,
            a_known_stream_is_of_use,
        ):
            yield of_stream.__name__, partial(of_stream, policy, session, stream)
        yield _named(a_birth_is_no_event, stream, events(stream.first))
        yield _named(a_stream_ends_in_an_event_of_its_own, stream, events(stream.last))


def of_event(policy: Policy, session: Session, entry: Entry, before: Entry) -> Iterator[Named]:
    """What holds of one event."""
    for of_one in (
        an_event_is_numbered,
        an_event_lies_on_its_stream,
        a_held_event_is_within_the_limits,
        a_held_events_stream_is_known,
        no_view_stands_before_an_event_and_after_its_predecessor,
    ):
        yield of_one.__name__, partial(of_one, policy, session, entry)
    yield _named(a_predecessor_is_of_the_same_stream, session, entry, before)


def of_two(entry: Entry, other: Entry) -> Iterator[Named]:
    """What holds of two events."""
    yield _named(two_events_are_in_order, entry, other)
    yield _named(nothing_lies_between_an_event_and_its_predecessor, entry, other)


def _named(predicate: Callable[..., bool], *about: object) -> Named:
    return predicate.__name__, partial(predicate, *about)


# What the theorems speak of


def is_lossless(session: Session, stream: Stream, position: int, entry: Entry) -> bool:
    """That ``entry`` is no reason to refuse ``position``: not of the stream, not after it, or still held (CUR-7)."""
    return entry.stream != stream.number or entry.seq <= position or session.window.low <= entry.seq


def is_emptied(session: Session, stream: Stream) -> bool:
    """Whether a stream that was finished and unread has nothing left in the session's window, and so is forgotten."""
    return stream.finished and not is_viewed(stream) and holds_nothing(session, stream)
