"""What a server that keeps to its declared window surely still holds, or surely does not.

What was emitted, and when, is not on the wire; between emission and delivery lies the network. So there are two
histories, one in which as much as possible was emitted after the cursor and as early as possible, and one in which as
little and as late as possible. Each is played to the machine itself, which then decides on the cursor. Where the two
decisions agree, every history agrees.

Not seen are messages on a standalone stream that nobody listens to. A server that is seen to send such unasked is not
held to granting anything; one that does it only while nobody listens is taken to send none.
"""

from enum import Enum

from attrs import define, evolve, frozen

from reattach.machine.cursor import Cursor, Presence
from reattach.machine.policy import Policy
from reattach.machine.session import Session as Machine
from reattach.machine.transition import (
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Opened,
    OpenStream,
    Resume,
    open_session,
    step,
)
from reattach.oracle.declaration import Declaration
from reattach.oracle.record import SLACK_MS, Call, Event, Exchange, Run, Session, Stream, StreamKind

_TAG = "x" * 22
_NEVER = 2**52
"""Milliseconds, events or bytes that no run reaches."""
UNBOUNDED = Policy(
    window_events=_NEVER,
    window_ms=_NEVER,
    window_bytes=_NEVER,
    stall_ms=_NEVER - 1,
    absence_ms=_NEVER,
    open_streams=_NEVER,
    sessions=_NEVER,
)
_MOST = 20_000
"""The longest history that is played."""


class Holding(Enum):
    """What is sure of what follows a cursor."""

    HELD = "held"
    """All of it is held, whatever happened."""
    COUNT = "evicted by count or bytes"
    AGE = "evicted by age"
    UNSURE = "unsure"


@frozen
class Judged:
    """What a declared window says of one cursor."""

    holding: Holding
    behind: int = -1
    """How many messages the session has emitted since the cursor; -1 if that is not sure."""
    maybe_empty: bool = False
    """Whether the window may hold nothing at all."""


@frozen
class _Unseen:
    """The sizes in bytes of messages that may have been emitted and were not seen."""

    mine: tuple[int, ...] = ()
    """On the stream of the cursor."""
    others: tuple[int, ...] = ()


_NOTHING = _Unseen()


@frozen
class _Story:
    """What may have been emitted, and when, from a cursor on."""

    cursor: Event
    born: int
    """Milliseconds: when the event of the cursor was emitted."""
    after: tuple[tuple[Event, int], ...]
    """What was emitted after it, and when; in order."""
    unseen: _Unseen = _NOTHING
    finished: bool = False
    """Whether the stream is finished after that, and so is forgotten with its last event."""


@define
class _History:
    """A history, being played to the machine: the stream of the cursor, and all others as one."""

    policy: Policy
    session: Machine
    now: int
    stream: int = 0
    seq: int = 0

    def open(self, connection: int) -> int:
        done = step(self.policy, self.session, self.now, OpenStream(connection))
        assert isinstance(done.result, Opened)
        self.seq = done.result.position
        self.session = step(self.policy, done.session, self.now, Disconnect(connection)).session
        return done.result.stream

    def emit(self, stream: int, at: int, size: int) -> int:
        self.now = max(self.now, at)
        done = step(self.policy, self.session, self.now, Emit(stream, size, None))
        self.session = done.session
        return done.result.seq if isinstance(done.result, Emitted) else 0

    def finish(self) -> None:
        self.session = step(self.policy, self.session, self.now, Finish(self.stream)).session

    def grants(self, seq: int, at: int) -> bool:
        cursor = Cursor(Presence.PRESENT, _TAG, self.stream, seq)
        return isinstance(step(self.policy, self.session, max(self.now, at), Resume(9, cursor)).result, Opened)


def holding(run: Run, exchange: Exchange) -> Judged:
    """What the declaration says of a good cursor that an exchange presents."""
    cursor, session = exchange.cursor, exchange.session
    if cursor is None or session is None or session.restarted or not _is_declared(run.declaration):
        return Judged(Holding.UNSURE)
    fewest = _surely_after(session, cursor, exchange)
    kindest = _Story(cursor, cursor.seen.at, tuple((event, event.seen.at) for event in fewest))
    if not _granted(_policy(run.declaration, events=True), kindest, exchange.asked.at):
        return Judged(Holding.COUNT, _exactly(session, cursor, exchange, len(fewest)))
    if not _granted(_policy(run.declaration, age=SLACK_MS), kindest, exchange.asked.at):
        return Judged(Holding.AGE)
    # What a stream that a guessed cursor opened is still to send, nobody knows: not even whose stream it is.
    unsure = run.chatty or cursor.stream.kind is StreamKind.UNKNOWN
    unseen = None if unsure else _unseen(session, cursor)
    if unseen is None or run.declaration.window_events is None or run.declaration.window_ms is None:
        return Judged(Holding.UNSURE)
    most = _possibly_after(session, cursor, exchange)
    born = _emitted_at_earliest(cursor)
    after = tuple((event, _emitted_at_earliest(event)) for event in most)
    harshest = _Story(cursor, born, after, unseen, finished=_may_be_finished(cursor.stream))
    answered = exchange.answer.at if exchange.answer is not None else exchange.asked.at
    strict = _policy(run.declaration, events=True, age=-SLACK_MS)
    if strict.window_ms <= 0 or not _granted(strict, harshest, answered):
        return Judged(Holding.UNSURE)
    return Judged(
        Holding.HELD,
        len(most) if len(most) == len(fewest) and unseen == _NOTHING else -1,
        maybe_empty=not most and unseen == _NOTHING and answered - born > strict.window_ms,
    )


def _is_declared(declaration: Declaration) -> bool:
    return any(
        value is not None for value in (declaration.window_events, declaration.window_ms, declaration.window_bytes)
    )


def _policy(declaration: Declaration, *, events: bool = False, age: int | None = None) -> Policy:
    """The declared limits that are asked for; the others are out of reach."""
    policy = UNBOUNDED
    if events and declaration.window_events is not None:
        policy = evolve(policy, window_events=declaration.window_events)
    if events and declaration.window_bytes is not None:
        policy = evolve(policy, window_bytes=declaration.window_bytes)
    if age is not None and declaration.window_ms is not None:
        policy = evolve(policy, window_ms=declaration.window_ms + age)
    return policy


def _granted(policy: Policy, story: _Story, at: int) -> bool:
    """Whether the machine grants the story's cursor at ``at`` milliseconds."""
    history = _History(policy, open_session(_TAG, "", story.born), story.born)
    elsewhere = history.open(1)
    history.stream = history.open(2)
    seq = history.seq
    if story.cursor.message:
        seq = history.emit(history.stream, story.born, story.cursor.size)
    # What was not seen of the cursor's own stream comes before all that is of others: so it is evicted soonest.
    mine = [(event.size, when) for event, when in story.after if event.stream is story.cursor.stream]
    others = [(event.size, when) for event, when in story.after if event.stream is not story.cursor.stream]
    for size, when in [*mine, *((size, story.born) for size in story.unseen.mine)]:
        history.emit(history.stream, when, size)
    if story.finished:
        history.finish()
    for size, when in [*others, *((size, story.born) for size in story.unseen.others)]:
        history.emit(elsewhere, when, size)
    return history.grants(seq, at)


def _surely_after(session: Session, cursor: Event, exchange: Exchange) -> list[Event]:
    """The messages that were surely emitted after the one that follows the cursor, and that one."""
    mine = [event for event in cursor.stream.after(cursor) if event.seen.index < exchange.asked.index]
    if not mine:
        return []
    first = mine[0]
    others = [
        event
        for stream in session.streams
        if stream is not cursor.stream and stream.kind is StreamKind.REQUEST
        and stream.opener.asked.index > first.seen.index
        for event in stream.messages
        if event.seen.index < exchange.asked.index
    ]  # fmt: skip
    return sorted([*mine, *others], key=lambda event: event.seen.index)[:_MOST]


def _possibly_after(session: Session, cursor: Event, exchange: Exchange) -> list[Event]:
    """The messages of the session that may have been emitted after the cursor; those of its stream first."""
    opened = cursor.stream.opener.asked.index
    others = [
        event
        for stream in session.streams
        if stream is not cursor.stream
        for event in stream.messages
        if event.seen.index > opened
    ]
    return [*cursor.stream.after(cursor), *others][:_MOST]


def _exactly(session: Session, cursor: Event, exchange: Exchange, fewest: int) -> int:
    most = len(_possibly_after(session, cursor, exchange))
    return most if _unseen(session, cursor) == _NOTHING and most == fewest else -1


def _unseen(session: Session, cursor: Event) -> _Unseen | None:
    """The sizes of messages that may have been emitted and were not seen; None if nobody knows how many."""
    if session.forgotten or session.forgotten_calls:
        return None
    size = 2 * max((event.size for event in session.events.values()), default=0) + 1_024
    mine = others = 0
    for call in {id(call): call for call in session.calls.values()}.values():
        pushed = sum(1 for key in call.pushed or () if session.known(key) is None)
        mine += pushed if cursor.stream.kind is StreamKind.STANDALONE else 0
        others += pushed if cursor.stream.kind is not StreamKind.STANDALONE else 0
        if call.stream is None and call.answered:
            continue
        if call.expected is None or call.origin != "numbered":
            if not _is_whole(call):
                return None
            continue
        missing = sum(1 for key in call.expected if session.known(key) is None)
        mine += missing if call.stream is cursor.stream else 0
        others += missing if call.stream is not cursor.stream else 0
    return _Unseen((size,) * mine, (size,) * others)


def _is_whole(call: Call) -> bool:
    """Whether a call of which nothing is known beforehand was read from its first event to its response."""
    stream = call.stream
    return call.answered and stream is not None and len(stream.views) == 1


def _may_be_finished(stream: Stream) -> bool:
    """Whether a stream may be finished, and so forgotten with its last event: a call's, or a replaced listener's."""
    if stream.kind is StreamKind.REQUEST:
        return True
    others = (other for other in stream.session.streams if other is not stream)
    opened = stream.opener.asked.index
    return any(other.kind is not StreamKind.REQUEST and other.opener.asked.index > opened for other in others)


def _emitted_at_earliest(event: Event) -> int:
    """Milliseconds: the earliest time at which an event can have been emitted, that of the request that caused it."""
    label = event.number.label if event.number is not None else None
    call = event.session.claimant(label) if label is not None else None
    if call is not None:
        return call.exchange.asked.at
    if event.stream.kind is StreamKind.REQUEST:
        return event.stream.opener.asked.at
    opener = event.session.opener
    return opener.asked.at if opener is not None else event.stream.opener.asked.at
