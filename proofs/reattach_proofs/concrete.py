"""The exhaustive concrete explorer of one session: the promises, asked of every step from the initial state on.

The proofs ask each claim of ``promises`` of an arbitrary session; this file asks the very same claims of every session
that a few inputs lead to, with ordinary numbers. It knows every event the session ever had, held or not, so what the
proofs say of any event is asked of each. It goes breadth first, so the first claim that is broken is broken by as few
inputs as can break one within the bounds.

States that differ only in when they happen count as one: no rule looks at a time but by its distance to another. What
lies further back than every budget, by more than any mutant adds to one, counts as just that far.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import TypeAlias

from attrs import evolve, frozen

from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import Session, Stream, find_stream, is_viewed
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Depart,
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Input,
    Opened,
    OpenStream,
    Resume,
    Step,
    Terminate,
    Write,
    advance,
    open_session,
    react,
    step,
)
from reattach.machine.window import NO_ENTRY, Entry
from reattach_proofs import promises
from reattach_proofs.explorer import Explored, Space, explore
from reattach_proofs.promises import Claim

TAG = "T"
FOREIGN_TAG = "U"


@frozen
class Passed:
    """Time went by: so many milliseconds at once. Negative: somebody has an older clock."""

    ms: int


@frozen
class PassedInTwo:
    """Time went by, and somebody looked in between."""

    soon: int
    late: int


@frozen
class Later:
    """Time went by, and the input that tells of it is taken in the same step."""

    ms: int
    given: Input


Moment: TypeAlias = Passed | PassedInTwo | Later | Input
"""What happens to a session: time, an input at its present, or the one and then the other."""


@frozen
class Bounds:
    """How far one session is explored."""

    policy: Policy
    streams: int = 2
    """Streams ever opened, the standalone one it begins with included."""
    events: int = 3
    views: int = 3
    """Views ever given."""
    sizes: tuple[int, ...] = (1,)
    """Bytes of messages."""
    ms: tuple[int, ...] = ()
    """The amounts by which time may pass."""
    requests: int = 0
    """Requests that may be unanswered at once."""
    endings: bool = True
    """Whether the session may be terminated."""
    mode: Mode = Mode.REATTACH


@frozen
class Recorded:
    """A session, and what it does not remember: every event it ever had."""

    session: Session
    events: tuple[Entry, ...] = ()
    views: int = 0

    def entry(self, seq: int) -> Entry:
        """The event with this seq; its stream is 0 if there is none."""
        for event in self.events:
            if event.seq == seq:
                return event
        return evolve(NO_ENTRY, seq=seq)


@frozen
class Happened:
    """One thing that happened, and what came of it."""

    given: Moment
    step: Step


def explore_session(bounds: Bounds, theorem: str = "", limit: int = 1_000_000) -> Explored[Recorded, Happened]:
    """Every session within the bounds, up to the first claim (of one theorem, if it is named) that is broken."""

    def each_claim_holds(before: Recorded, happened: Happened, after: Recorded) -> bool:
        return next(broken(bounds.policy, before, happened, after, theorem), None) is None

    return explore(space(bounds), each=(each_claim_holds,), limit=limit)


def space(bounds: Bounds) -> Space[Recorded, Happened]:
    """All that can happen to one session within the bounds."""
    opened = Recorded(open_session(TAG, "", 0, bounds.mode))

    def steps(before: Recorded) -> Iterator[tuple[Happened, Recorded]]:
        for given in _moments(bounds, before):
            yield happen(bounds.policy, before, given)

    policy = bounds.policy
    far = max(policy.window_ms, policy.heartbeat_ms, policy.stall_ms + policy.absence_ms) + 4
    return Space(opened, steps, lambda recorded: _key(recorded, far))


def happen(policy: Policy, before: Recorded, given: Moment) -> tuple[Happened, Recorded]:
    """What comes of one moment, and the session and its record after it."""
    session = before.session
    if not session.alive:
        assert not isinstance(given, Passed | PassedInTwo | Later)
        return Happened(given, step(policy, session, session.now, given)), before
    match given:
        case Passed(ms) | PassedInTwo(_, ms):
            taken = advance(policy, session, session.now + ms)
        case Later(ms, late):
            taken = step(policy, session, session.now + ms, late)
        case _:
            taken = react(policy, session, given)
    events, views = before.events, before.views
    if isinstance(taken.result, Emitted) and isinstance(given, Emit):
        events = (*events, _event(before, given, taken, taken.result))
    if isinstance(taken.result, Opened):
        views += 1
    return Happened(given, taken), Recorded(taken.session, events, views)


def _event(before: Recorded, given: Emit, taken: Step, emitted: Emitted) -> Entry:
    """The event as the window got it; if it does not hold it, as it ought to be."""
    for entry in taken.session.window.held:
        if entry.seq == emitted.seq and entry not in before.events:
            return entry
    window = before.session.window
    prev = find_stream(before.session, emitted.stream).last
    return Entry(
        emitted.seq, emitted.stream, prev, before.session.now, window.count + 1, window.size, given.size, given.message
    )


def broken(policy: Policy, before: Recorded, happened: Happened, after: Recorded, theorem: str = "") -> Iterator[Claim]:
    """The claims (of one theorem, if it is named) that do not hold of one step."""
    for claim in claims(policy, before, happened, after):
        if theorem in ("", claim.theorem) and not claim.holds():
            yield claim


def claims(policy: Policy, before: Recorded, happened: Happened, after: Recorded) -> Iterator[Claim]:
    """All that is promised of one step, of every event there is."""
    old, given, taken = before.session, happened.given, happened.step
    if isinstance(given, PassedInTwo):
        soon = advance(policy, old, old.now + given.soon)
        yield from promises.composed_claims(taken, soon, advance(policy, soon.session, old.now + given.late))
        return
    if isinstance(given, Later):
        timed = advance(policy, old, old.now + given.ms)
        reacted = react(policy, timed.session, given.given) if timed.session.alive else None
        yield from promises.stepped_claims(timed, reacted, taken)
        return
    if not old.alive:
        assert not isinstance(given, Passed)
        yield from promises.dead_claims(given, taken)
        return
    for any in after.events or (NO_ENTRY,):
        if isinstance(given, Passed):
            yield from promises.time_claims(policy, old, old.now + given.ms, taken, any)
        else:
            yield from promises.step_claims(policy, old, given, taken, after, any)
        if taken.session.alive:
            others = after.events if isinstance(given, Emit) else (any,)
            for other in others or (any,):
                yield from promises.invariant_claims(policy, taken.session, after, any, other)
    for ending in taken.endings:
        if isinstance(given, Resume):
            yield from promises.old_view_claims(policy, taken, ending.connection)


def _moments(bounds: Bounds, before: Recorded) -> Iterator[Moment]:
    session = before.session
    if session.alive:
        yield from (Passed(ms) for ms in bounds.ms)
        yield from (PassedInTwo(soon, late) for late in bounds.ms for soon in range(1, late))
        if bounds.ms:
            yield Passed(-1)
            yield from (Later(ms, Write(carrier)) for ms in bounds.ms for carrier in range(1, before.views + 1))
    yield from _inputs(bounds, before)


def _inputs(bounds: Bounds, before: Recorded) -> Iterator[Input]:
    session, connection = before.session, before.views + 1
    if before.views < bounds.views:
        if session.opened < bounds.streams:
            yield OpenStream(connection)
        if session.opened < bounds.streams or not session.listened:
            yield Resume(connection, ABSENT)
        yield from (Resume(connection, cursor) for cursor in _cursors(session))
    if len(before.events) < bounds.events:
        for number in range(session.opened + 2):
            yield from (Emit(number, size, None) for size in bounds.sizes)
    yield from (Finish(number) for number in range(1, session.opened + 1))
    for carrier in range(1, connection):
        yield from (Write(carrier), Accepted(carrier), Disconnect(carrier))
    if session.requests < bounds.requests:
        yield Arrive()
    if bounds.requests > 0:
        yield Depart()
    if bounds.endings:
        yield Terminate()


def _cursors(session: Session) -> Iterator[Cursor]:
    """Every cursor there could be: on each stream and on one too many, up to one too far; another session's; none."""
    for number in range(1, session.opened + 2):
        for seq in range(1, session.window.next + 1):
            yield Cursor(Presence.PRESENT, TAG, number, seq)
    yield Cursor(Presence.PRESENT, FOREIGN_TAG, 1, 1)
    yield MALFORMED


def _key(recorded: Recorded, far: int) -> Hashable:
    session = recorded.session
    window = session.window

    def ago(at: int) -> int:
        return max(at - session.now, -far)

    def of_entry(entry: Entry) -> Hashable:
        return (entry.seq, entry.stream, entry.prev, ago(entry.at), entry.count, entry.start, entry.size)

    return (
        session.alive,
        ago(session.seen),
        session.opened,
        session.standalone,
        session.listened,
        session.requests,
        (window.low, window.next, window.count, window.size),
        tuple([of_entry(entry) for entry in window.held]),
        tuple([_stream_key(stream, ago) for stream in session.streams]),
        tuple([of_entry(entry) for entry in recorded.events]),
        recorded.views,
    )


def _stream_key(stream: Stream, ago: Callable[[int], int]) -> Hashable:
    view = stream.view
    carried = (view.connection, view.position, view.greeting, view.outstanding, view.reads)
    times = (ago(view.since), ago(view.wrote))
    return (
        stream.number,
        stream.kind,
        stream.first,
        stream.last,
        stream.finished,
        is_viewed(stream) and (carried, times),
    )


# What is explored


POLICY = Policy(
    window_events=2,
    window_ms=4,
    window_bytes=3,
    stall_ms=2,
    absence_ms=3,
    open_streams=2,
    sessions=2,
    heartbeat_ms=2,
    retry_ms=1,
)
"""Numbers that every limit and every budget is reached with in a few steps."""

SCOPES: dict[str, Bounds] = {
    "events": Bounds(POLICY, streams=2, events=3, views=3, sizes=(1, 3, 4)),
    "streams": Bounds(POLICY, streams=3, events=1, views=3),
    "time": Bounds(POLICY, streams=2, events=1, views=2, ms=(1, 3), requests=1),
    "replay": Bounds(POLICY, streams=2, events=3, views=2, mode=Mode.REPLAY),
    "rate": Bounds(evolve(POLICY, stall_reads=2), streams=1, events=2, views=1, ms=(1, 2)),
}
"""What is explored: each about something, and as small as that allows."""
