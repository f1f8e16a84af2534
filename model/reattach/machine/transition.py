"""What may happen to a session: one input, one step.

The rules of this file:

* Every step begins with ``advance`` to ``max(now, session.now)``, which applies age, stalls and absence, so that no
  order of inputs can dodge a budget. What a budget ends, it ends *at its deadline*, whoever looks and however late:
  advancing to t2 is the same as advancing to t1 and then to t2.
* A view pulls. The transport asks for the next thing to write (``Write``) and reports that it was taken (``Accepted``).
  At most one write is outstanding per view; there is no other queue (IDL-2).
* Every step is total. What cannot be done is answered by a ``Refuse``, by ``NoView`` or by ``Gone``, never by an
  exception, and leaves the session as ``advance`` left it.
"""

from enum import Enum
from typing import TypeAlias

from attrs import evolve, frozen

from reattach.machine.cursor import Cursor
from reattach.machine.decision import Reason, Reattach, Refuse, Replay, decide_cursor
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import (
    NO_VIEW,
    Greeting,
    Session,
    Stream,
    StreamKind,
    View,
    absence_deadline,
    count_open,
    find_stream,
    find_viewed,
    is_behind,
    is_forgotten,
    is_occupied,
    is_viewed,
    mark_of,
    stall_deadline,
    with_stream,
)
from reattach.machine.window import Window

# Inputs


@frozen
class Tick:
    """Time passed."""


@frozen
class Arrive:
    """An HTTP request of the session arrived: a sign of its client."""


@frozen
class Depart:
    """An HTTP request that had arrived was answered in full, or became a stream with a view."""


@frozen
class OpenStream:
    """A POST is to be answered by a stream of its own, on this connection."""

    connection: int


@frozen
class Resume:
    """A GET (or POST) asks for a view, with a cursor or without."""

    connection: int
    cursor: Cursor


@frozen
class Emit:
    """The server has a message for a stream; stream 0 means the one that receives what belongs to no request."""

    stream: int
    size: int
    message: object


@frozen
class Write:
    """The transport of this connection asks what to write next."""

    connection: int


@frozen
class Accepted:
    """The transport of this connection has taken the last write."""

    connection: int


@frozen
class Disconnect:
    """The connection is gone, as far as the server can see."""

    connection: int


@frozen
class Finish:
    """The stream will carry nothing more: its response was emitted, or its request was cancelled."""

    stream: int


@frozen
class Terminate:
    """The session is over: DELETE, or the server's own wish."""


Input: TypeAlias = (
    Tick | Arrive | Depart | OpenStream | Resume | Emit | Write | Accepted | Disconnect | Finish | Terminate
)

# Results


@frozen
class Done:
    """The input was taken; there is nothing more to say."""


@frozen
class Gone:
    """The session is terminated; on the wire the same as one that never was (SES-2)."""


@frozen
class NoView:
    """The connection carries no view: it was ended, taken over, or never was one."""


@frozen
class Opened:
    """The connection now carries a view of ``stream``, from ``position`` on."""

    stream: int
    position: int


@frozen
class Emitted:
    """The message is event ``seq`` of ``stream``."""

    stream: int
    seq: int


@frozen
class Wait:
    """Not yet: the event would push out one that its own stream's reader, inside its budget, has still to be given."""


@frozen
class Idle:
    """Nothing to write now. The heartbeat is due at ``until`` (milliseconds) if nothing comes before."""

    until: int


@frozen
class WriteGreeting:
    """Write the view's greeting: ``seq`` of ``stream`` as its id, and no message."""

    greeting: Greeting
    stream: int
    seq: int


@frozen
class WriteEvent:
    """Write this event."""

    stream: int
    seq: int
    message: object


@frozen
class WriteHeartbeat:
    """Write a comment, which moves no cursor."""


@frozen
class WriteEnd:
    """The stream is finished and all of it is written: end the body. The view is gone."""


@frozen
class WriteOvertaken:
    """What the view should be given next has left the window: say so and end the body. The view is gone (IDL-3)."""

    stream: int
    position: int


Written: TypeAlias = WriteGreeting | WriteEvent | WriteHeartbeat | WriteEnd | WriteOvertaken | Idle | NoView
Result: TypeAlias = Done | Gone | Opened | Refuse | Emitted | Wait | Written


class Cause(Enum):
    """Why the server ends a view that its transport did not ask to end."""

    STALLED = "stalled"
    TAKEN_OVER = "taken-over"
    TERMINATED = "terminated"


@frozen
class Ending:
    """The environment must abort this connection's transport now."""

    connection: int
    cause: Cause
    stream: int
    position: int


@frozen
class Step:
    """What one input did: the session after it, the answer, and the views it ended."""

    session: Session
    result: Result = Done()
    endings: tuple[Ending, ...] = ()


# Transitions


def open_session(tag: str, principal: str, now: int, mode: Mode = Mode.REATTACH) -> Session:
    """A new session with its standalone stream. That ``tag`` is fresh is the environment's business."""
    born = Window().allotted()
    standalone = Stream(number=1, kind=StreamKind.STANDALONE, first=1, last=1, finished=False)
    return Session(tag, principal, now, now, born, (standalone,), opened=1, standalone=1, listened=False, mode=mode)


def step(policy: Policy, session: Session, now: int, given: Input) -> Step:
    """One step of the session: time first, then the input. Total and deterministic (MOD-1)."""
    before = advance(policy, session, now)
    if not before.session.alive:
        return evolve(before, result=Gone())
    after = react(policy, before.session, given)
    return evolve(after, endings=before.endings + after.endings)


def advance(policy: Policy, session: Session, now: int) -> Step:
    """Let time reach ``now``: age evicts (WIN-2), stalled views end (IDL-1), an absent client's session too (IDL-4)."""
    if not session.alive or now <= session.now:
        return Step(session)
    window = session.window
    aged = evolve(session, now=now, window=window.trimmed(window.first_since(now - policy.window_ms)))
    awake, endings = _end_stalled(policy, aged)
    if not is_occupied(awake) and now >= absence_deadline(policy, awake):
        return Step(_terminated(evolve(awake, now=absence_deadline(policy, awake))), Done(), endings)
    return Step(_without_forgotten(awake), Done(), endings)


def react(policy: Policy, session: Session, given: Input) -> Step:
    """The input alone, at a living session's own present."""
    after = _react(policy, session, given)
    return evolve(after, session=_without_forgotten(after.session))


def _react(policy: Policy, session: Session, given: Input) -> Step:
    match given:
        case Arrive():
            return Step(evolve(session, requests=session.requests + 1, seen=session.now))
        case Depart():
            return Step(evolve(session, requests=max(0, session.requests - 1), seen=session.now))
        case OpenStream(connection):
            return _open_stream(policy, session, connection)
        case Resume(connection, cursor):
            return _resume(policy, session, connection, cursor)
        case Emit(stream, size, message):
            return _emit(policy, session, stream, size, message)
        case Write(connection):
            return _write(policy, session, connection)
        case Accepted(connection):
            return _accepted(policy, session, connection)
        case Disconnect(connection):
            return _disconnect(session, find_viewed(session, connection))
        case Finish(stream):
            return _finish(session, find_stream(session, stream))
        case Terminate():
            return Step(_terminated(session), Done(), _endings_of(session))
    return Step(session)  # Tick: whatever time does, ``advance`` has done


def _open_stream(policy: Policy, session: Session, connection: int) -> Step:
    if count_open(session) >= policy.open_streams:
        return Step(session, Refuse(Reason.STREAMS_EXHAUSTED))  # WIN-3
    return _born(session, StreamKind.REQUEST, connection)


def _resume(policy: Policy, session: Session, connection: int, cursor: Cursor) -> Step:
    seen = evolve(session, seen=session.now)
    match decide_cursor(seen, cursor):
        case Refuse() as refusal:
            return Step(seen, refusal)  # the session, and any view it has, lives on (CUR-10)
        case Reattach(number, position):
            return _attached(seen, find_stream(seen, number), connection, position, Greeting.POSITION)
        case Replay(number, position):
            return _attached(seen, find_stream(seen, number), connection, position, Greeting.NOTHING)
    return _listen(policy, seen, connection)  # Fresh


def _listen(policy: Policy, session: Session, connection: int) -> Step:
    current = find_stream(session, session.standalone)
    if not session.listened:
        # Early pushes are not lost, as far as the window reaches.
        return _attached(session, current, connection, mark_of(session, current), Greeting.PRIMING)
    if is_viewed(current) and count_open(session) >= policy.open_streams:
        return Step(session, Refuse(Reason.STREAMS_EXHAUSTED))  # WIN-3: the stream before stays open while it is read
    # Two listeners never evict each other: the stream before is finished, and its reader gets what it is owed.
    born = _born(with_stream(session, evolve(current, finished=True)), StreamKind.STANDALONE, connection)
    return evolve(born, session=evolve(born.session, standalone=born.session.opened))


def _born(session: Session, kind: StreamKind, connection: int) -> Step:
    """A new stream with a view. Its birth takes a seq, which the priming shows and no event has."""
    number, seq = session.opened + 1, session.window.next
    stream = Stream(number, kind, first=seq, last=seq, finished=False)
    grown = evolve(
        session, window=session.window.allotted(), streams=(*session.streams, stream), opened=number, seen=session.now
    )
    return _attached(grown, stream, connection, seq, Greeting.PRIMING)


def _attached(session: Session, stream: Stream, connection: int, position: int, greeting: Greeting) -> Step:
    """Give the stream a view that starts strictly after ``position``. An old view gets nothing more (ATT-2)."""
    view = View(connection, position, greeting, outstanding=False, since=session.now, reads=0, wrote=session.now)
    ended = (_ending(stream, Cause.TAKEN_OVER),) if is_viewed(stream) else ()
    # However it was reached: what this view is given, no later fresh view is given again (CUR-1).
    heard = evolve(session, listened=session.listened or stream.number == session.standalone)
    return Step(with_stream(heard, evolve(stream, view=view)), Opened(stream.number, position), ended)


def _emit(policy: Policy, session: Session, number: int, size: int, message: object) -> Step:
    stream = find_stream(session, session.standalone if number == 0 else number)
    if stream.finished:  # NO_STREAM is finished too
        return Step(session, Refuse(Reason.STREAM_FINISHED))
    if size > policy.window_bytes:
        return Step(session, Refuse(Reason.MESSAGE_TOO_LARGE))  # it could never be held (WIN-1)
    window = session.window
    low = max(
        window.first_counted(window.count + 2 - policy.window_events),  # at most N with the new one (WIN-1)
        window.first_starting(window.size + size - policy.window_bytes),  # at most B bytes with it (WIN-1)
    )
    if is_viewed(stream):
        owed = window.successor(stream.number, stream.view.position)
        if owed.seq != 0 and owed.seq < low:
            return Step(session, Wait())  # its own reader is inside its budget (WIN-6); others' are told (IDL-3)
    seq = window.next
    grown = evolve(session, window=window.trimmed(low).appended(stream.number, stream.last, session.now, size, message))
    changed = evolve(stream, last=seq)
    if is_viewed(stream) and not is_behind(stream):
        changed = evolve(changed, view=evolve(stream.view, since=session.now, reads=0))  # behind from now on
    return Step(with_stream(grown, changed), Emitted(stream.number, seq))


def _write(policy: Policy, session: Session, connection: int) -> Step:
    stream = find_viewed(session, connection)
    if stream.number == 0:
        return Step(session, NoView())
    view = stream.view
    if view.outstanding:
        return Step(session, Idle(stall_deadline(policy, stream)))  # one at a time (IDL-2)
    if view.greeting is not Greeting.NOTHING:
        greeted = _written(session, stream, evolve(view, greeting=Greeting.NOTHING))
        return Step(greeted, WriteGreeting(view.greeting, stream.number, view.position))
    if view.position < stream.last:
        owed = session.window.successor(stream.number, view.position)
        if owed.seq == 0 or owed.prev != view.position:  # never skipped forward (IDL-3)
            return Step(_without_view(session, stream), WriteOvertaken(stream.number, view.position))
        moved = _written(session, stream, evolve(view, position=owed.seq))
        return Step(moved, WriteEvent(stream.number, owed.seq, owed.message))
    if stream.finished:
        return Step(_without_view(session, stream), WriteEnd())  # DEL-7, DEL-9
    if session.now >= view.wrote + policy.heartbeat_ms:
        quiet = evolve(view, since=session.now, reads=0)  # the comment is what it may now leave unread
        return Step(_written(session, stream, quiet), WriteHeartbeat())
    return Step(session, Idle(view.wrote + policy.heartbeat_ms))


def _written(session: Session, stream: Stream, view: View) -> Session:
    return with_stream(session, evolve(stream, view=evolve(view, outstanding=True, wrote=session.now)))


def _accepted(policy: Policy, session: Session, connection: int) -> Step:
    stream = find_viewed(session, connection)
    if not stream.view.outstanding:  # NO_STREAM's is not either
        return Step(session, NoView())
    taken = evolve(stream.view, outstanding=False, reads=stream.view.reads + 1)
    if taken.reads >= policy.stall_reads:
        taken = evolve(taken, since=session.now, reads=0)  # progress, at the rate the policy asks for
    return Step(with_stream(session, evolve(stream, view=taken)))


def _disconnect(session: Session, stream: Stream) -> Step:
    if stream.number == 0:
        return Step(session, NoView())  # ended by us before; no new sign of the client
    return Step(_without_view(session, stream))


def _finish(session: Session, stream: Stream) -> Step:
    if stream.finished or stream.number == session.standalone:
        return Step(session, Refuse(Reason.STREAM_FINISHED))
    return Step(with_stream(evolve(session, seen=session.now), evolve(stream, finished=True)))


def _without_view(session: Session, stream: Stream) -> Session:
    """Take the view away. The stream, and the call behind it, go on (ATT-4)."""
    return with_stream(evolve(session, seen=session.now), evolve(stream, view=NO_VIEW))


def _end_stalled(policy: Policy, session: Session) -> tuple[Session, tuple[Ending, ...]]:
    endings: tuple[Ending, ...] = ()
    for stream in session.streams:
        if is_behind(stream) and session.now >= stall_deadline(policy, stream):
            endings = (*endings, _ending(stream, Cause.STALLED))
            # Seen at the deadline, not at the present: a late look must not lengthen the client's absence budget.
            ended = evolve(session, seen=max(session.seen, stall_deadline(policy, stream)))
            session = with_stream(ended, evolve(stream, view=NO_VIEW))
    return session, endings


def _terminated(session: Session) -> Session:
    """Nothing is left but the fact, which the server then drops too (SES-4, WIN-4)."""
    return evolve(session, alive=False, window=Window(), streams=(), requests=0)


def _without_forgotten(session: Session) -> Session:
    kept = tuple(stream for stream in session.streams if not is_forgotten(session, stream))
    return session if len(kept) == len(session.streams) else evolve(session, streams=kept)


def _endings_of(session: Session) -> tuple[Ending, ...]:
    return tuple(_ending(stream, Cause.TERMINATED) for stream in session.streams if is_viewed(stream))


def _ending(stream: Stream, cause: Cause) -> Ending:
    return Ending(stream.view.connection, cause, stream.number, stream.view.position)
