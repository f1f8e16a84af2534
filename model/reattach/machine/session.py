"""The state of one session: its window, its streams and their views. Only data, and what is derived from it.

A session is durable; a view is not. Everything that a view knows (its position, what it has left unread) can be thrown
away and built again from a cursor, so tearing a view down loses nothing (ATT-4). Two rules keep this file small: what
can be derived is never stored (the mark of a stream, whether it is forgotten, whether a view is behind), and absence is
a tag or a zero, never None, so that each question is a comparison of integers.
"""

from enum import Enum

from attrs import evolve, frozen

from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.window import Window


class StreamKind(Enum):
    """Where a stream comes from."""

    REQUEST = "request"
    """Opened by a POST; carries the messages of that request and ends after its response (DEL-7)."""
    STANDALONE = "standalone"
    """Opened by the session or by a GET; carries what belongs to no request."""


class Greeting(Enum):
    """What a view has still to say before its first event."""

    NOTHING = "nothing"
    PRIMING = "priming"
    """An id with empty data, so that the client has a cursor from the start (EVT-3)."""
    POSITION = "position"
    """The client's own cursor, restated: "you are attached at position P" (ATT-1)."""


@frozen
class View:
    """An attachment of one HTTP response body to a stream."""

    connection: int
    """The HTTP exchange that carries it; 0 in NO_VIEW."""
    position: int
    """The seq of the last event written to it, or the cursor it started from."""
    greeting: Greeting
    outstanding: bool
    """Whether the transport has yet to take the last write. There is no other queue (IDL-2)."""
    since: int
    """Milliseconds: when it fell behind, or last made progress while behind. Means nothing unless it is behind."""
    reads: int
    """Writes accepted since ``since``, fewer than ``Policy.stall_reads``."""
    wrote: int
    """Milliseconds: when something was last written to it; the heartbeat's clock."""


NO_VIEW = View(connection=0, position=0, greeting=Greeting.NOTHING, outstanding=False, since=0, reads=0, wrote=0)


@frozen
class Stream:
    """One logical sequence of events; it outlives its views."""

    number: int
    kind: StreamKind
    first: int
    """The seq of its birth, which its priming shows; no event has it."""
    last: int
    """The seq of its newest event, held or not; ``first`` if it never had one."""
    finished: bool
    view: View = NO_VIEW


NO_STREAM = Stream(number=0, kind=StreamKind.STANDALONE, first=0, last=0, finished=True)
"""Absence of a stream, told by ``number == 0``."""


@frozen
class Session:
    """The durable object. ``now`` is the latest time it was told of; time never goes back."""

    tag: str
    """Random per session, in every event id; not the session id."""
    principal: str
    """Who opened it; empty where the deployment does not authenticate (SES-7)."""
    now: int
    seen: int
    """Milliseconds: the last sign of its client, or the last moment at which something of it was open."""
    window: Window
    streams: tuple[Stream, ...]
    opened: int
    """Streams ever opened; the number of the newest."""
    standalone: int
    """The number of the stream that receives what belongs to no request."""
    listened: bool
    """Whether its first standalone stream ever had a view; until then early pushes wait for the first plain GET."""
    mode: Mode = Mode.REATTACH
    """What resuming means here (MOD-2, MOD-3)."""
    requests: int = 0
    """HTTP requests that have arrived and not been answered in full, streams aside."""
    alive: bool = True


def find_stream(session: Session, number: int) -> Stream:
    """The stream with this number; NO_STREAM if there is none or it is forgotten."""
    for stream in session.streams:
        if stream.number == number:
            return stream
    return NO_STREAM


def find_viewed(session: Session, connection: int) -> Stream:
    """The stream whose view this connection carries; NO_STREAM if it carries none."""
    for stream in session.streams:
        if is_viewed(stream) and stream.view.connection == connection:
            return stream
    return NO_STREAM


def with_stream(session: Session, changed: Stream) -> Session:
    """The session with one stream replaced; the others are the identical objects."""
    return evolve(
        session,
        streams=tuple(changed if stream.number == changed.number else stream for stream in session.streams),
    )


def is_viewed(stream: Stream) -> bool:
    """Whether a view is attached to it."""
    return stream.view.connection != 0


def is_open(stream: Stream) -> bool:
    """Whether it counts against ``Policy.open_streams``: unfinished, or still read (WIN-3)."""
    return not stream.finished or is_viewed(stream)


def mark_of(session: Session, stream: Stream) -> int:
    """The smallest cursor from which nothing of the stream is missing (CUR-8)."""
    oldest = session.window.successor(stream.number, 0)
    return stream.last if oldest.seq == 0 else oldest.prev


def holds_nothing(session: Session, stream: Stream) -> bool:
    """Whether no event of the stream is in the window."""
    return stream.last == stream.first or stream.last < session.window.low


def is_forgotten(session: Session, stream: Stream) -> bool:
    """Whether its record may go: finished, unread and nothing of it held (WIN-3)."""
    return not is_open(stream) and holds_nothing(session, stream)


def is_behind(stream: Stream) -> bool:
    """Whether its view has left something unread: a write not taken, a greeting or an event not written."""
    view = stream.view
    return is_viewed(stream) and (
        view.outstanding or view.greeting is not Greeting.NOTHING or view.position < stream.last
    )


def stall_deadline(policy: Policy, stream: Stream) -> int:
    """The first millisecond at which its view, if it stays behind without progress, is ended (IDL-1)."""
    return stream.view.since + policy.stall_ms + 1


def absence_deadline(policy: Policy, session: Session) -> int:
    """The first millisecond at which the session, if nothing of it is open and no sign comes, is terminated (IDL-4)."""
    return session.seen + policy.absence_ms + 1


def age_deadline(policy: Policy, at: int) -> int:
    """The first millisecond at which an event that was emitted ``at`` is held no longer (WIN-2)."""
    return at + policy.window_ms + 1


def is_occupied(session: Session) -> bool:
    """Whether something of the session is open: a request, a view, an unfinished request stream (IDL-4)."""
    for stream in session.streams:
        if is_viewed(stream) or (stream.kind is StreamKind.REQUEST and not stream.finished):
            return True
    return session.requests > 0


def count_open(session: Session) -> int:
    """How many streams count against ``Policy.open_streams``."""
    total = 0
    for stream in session.streams:
        if is_open(stream):
            total += 1
    return total
