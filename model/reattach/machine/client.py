"""The client: what it must remember, and what it must tell its application.

Per stream a client keeps a cursor and the one connection it reads. Applying an event and advancing the cursor are one
atomic step (CLI-1); a client that persists the two separately is at-least-once, whatever the server does. Everything
it cannot be sure of it tells its application: nothing is ever sent again in silence (CLI-9, CLI-12).

It is driven by what it sees (``receive``) and by ``follow``, which is asked about a stream whenever it may be time to
come back to it, and waits, resumes or gives up.
"""

from enum import Enum

from attrs import evolve, frozen

from reattach.machine.cursor import ABSENT, Cursor, Presence
from reattach.machine.decision import Reason, status_of
from reattach.machine.network import (
    Aborted,
    Delivered,
    Ended,
    Initialized,
    Item,
    Positioned,
    Primed,
    Refused,
    Request,
    ResumptionRequired,
    Retry,
    Verb,
)
from reattach.machine.policy import Policy
from reattach.machine.session import StreamKind


class Phase(Enum):
    """Where the client stands with its session."""

    MUST_INITIALIZE = "must-initialize"
    INITIALIZING = "initializing"
    CONNECTED = "connected"


class News(Enum):
    """What the application is told."""

    OUTCOME_UNKNOWN = "outcome-unknown"
    """The call behind the stream may or may not have happened; its messages are not complete."""
    GAP = "gap"
    """Messages that belong to no request may have been missed."""
    SESSION_LOST = "session-lost"
    """The session is gone; even with nothing pending (CLI-9)."""


@frozen
class Told:
    """One thing the application was told, about one stream (``handle``) or about the session (0)."""

    news: News
    handle: int = 0


@frozen
class ClientStream:
    """A stream as the client knows it: by its own number, a cursor, and the connection it reads."""

    handle: int
    kind: StreamKind
    connection: int
    """The exchange it reads; 0 while it has none and is to be resumed."""
    cursor: Cursor = ABSENT
    attempts: int = 0
    """Resumptions sent since the last event that was applied (CLI-11)."""
    retry_ms: int = 0
    """How long it waits before it reconnects: the latest ``retry`` that came on it (CLI-4)."""
    ready: int = 0
    """The earliest time at which it is resumed, once its connection is gone."""


@frozen
class Client:
    """All that a client remembers. A stream that is over is not remembered at all (CLI-10)."""

    attempts_limit: int = 3
    memory: int = 0
    """How far back, in seqs, it recognises an event that it has applied; needed only for replay (MOD-3)."""
    phase: Phase = Phase.MUST_INITIALIZE
    session: str = ""
    initializing: int = 0
    """The connection on which it initializes; 0 if it does not."""
    streams: tuple[ClientStream, ...] = ()
    handles: int = 0
    told: tuple[Told, ...] = ()
    longest_wait_ms: int = 300_000
    """The longest ``retry`` that it obeys; for a longer one it tells its application instead of waiting (CLI-4)."""


@frozen
class Received:
    """The client after one item, and whether that was an event and it applied it."""

    client: Client
    applied: bool = False


def find_by_connection(client: Client, connection: int) -> tuple[ClientStream, ...]:
    """The stream that this connection carries, if the client still reads it."""
    return tuple(stream for stream in client.streams if connection != 0 and stream.connection == connection)


def find_by_handle(client: Client, handle: int) -> tuple[ClientStream, ...]:
    """The stream with this handle, if it is not over."""
    return tuple(stream for stream in client.streams if stream.handle == handle)


def reads(client: Client, connection: int) -> bool:
    """Whether the client still listens to this connection at all."""
    return connection != 0 and (connection == client.initializing or len(find_by_connection(client, connection)) > 0)


def initialize(client: Client, connection: int) -> tuple[Client, Request]:
    """Start a session: without a session id, and with no cursor kept from an old one (CLI-3)."""
    return evolve(client, phase=Phase.INITIALIZING, initializing=connection), Request(Verb.INITIALIZE)


def open_stream(client: Client, connection: int, kind: StreamKind) -> tuple[Client, Request]:
    """Make a call, or listen with a plain GET: a stream of its own either way."""
    handle = client.handles + 1
    verb = Verb.CALL if kind is StreamKind.REQUEST else Verb.LISTEN
    grown = evolve(client, handles=handle, streams=(*client.streams, ClientStream(handle, kind, connection)))
    return grown, Request(verb, client.session, handle)


def resume(client: Client, stream: ClientStream, connection: int) -> tuple[Client, Request]:
    """Ask for the stream again with its cursor. From now on the old connection's frames are ignored (CLI-6)."""
    again = evolve(stream, connection=connection, attempts=stream.attempts + 1)
    return _with(client, again), Request(Verb.RESUME, client.session, stream.handle, stream.cursor)


def may_resume(client: Client, stream: ClientStream) -> bool:
    """Whether another attempt is within bounds; if not, the application is told instead (CLI-11)."""
    return (
        stream.cursor.presence is Presence.PRESENT
        and stream.attempts < client.attempts_limit
        and stream.retry_ms <= client.longest_wait_ms
    )


def follow(client: Client, stream: ClientStream, connection: int, now: int) -> tuple[Client, Request | None]:
    """Come back to a stream that has no connection, if it is time to; give it up if that is out of bounds."""
    if stream.connection != 0:
        return client, None
    if not may_resume(client, stream):
        return give_up(client, stream), None
    return resume(client, stream, connection) if now >= stream.ready else (client, None)


def give_up(client: Client, stream: ClientStream) -> Client:
    """Stop following the stream, and say so (CLI-9)."""
    news = News.OUTCOME_UNKNOWN if stream.kind is StreamKind.REQUEST else News.GAP
    return _over(evolve(client, told=(*client.told, Told(news, stream.handle))), stream)


def leave(client: Client) -> tuple[Client, Request]:
    """DELETE the session by the application's own wish; what was pending is told like any loss."""
    return _lose_session(client), Request(Verb.DELETE, client.session)


def refused(status: int) -> Refused:
    """A refusal as a client reads it: 404 is the end of its session (CLI-3), any other leaves it alive (CUR-9)."""
    if status == status_of(Policy(), Reason.SESSION_UNKNOWN):
        return Refused(Reason.SESSION_UNKNOWN)
    return Refused(Reason.CURSOR_OUT_OF_WINDOW)


def receive(client: Client, connection: int, item: Item, now: int = 0) -> Received:
    """Take one item from a connection. What comes on a connection that it no longer reads is ignored (CLI-6)."""
    if not reads(client, connection):
        return Received(client)
    for stream in find_by_connection(client, connection):
        return _receive_on(client, stream, item, now)
    return Received(_receive_session(client, item))


def _receive_session(client: Client, item: Item) -> Client:
    match item:
        case Initialized(session):
            return evolve(client, phase=Phase.CONNECTED, session=session, initializing=0)
        case _:
            return evolve(client, phase=Phase.MUST_INITIALIZE, initializing=0)


def _receive_on(client: Client, stream: ClientStream, item: Item, now: int) -> Received:
    match item:
        case Delivered(cursor, final):
            return _apply(client, stream, cursor, final)
        case Primed(cursor):
            return Received(_with(client, evolve(stream, cursor=_moved(stream, cursor))))
        case Retry(ms):
            return Received(_with(client, evolve(stream, retry_ms=ms)))
        case Positioned(cursor) if cursor != stream.cursor:
            return Received(give_up(client, stream))  # a protocol error (CLI-8)
        case Refused(Reason.SESSION_UNKNOWN):
            return Received(_lose_session(client))  # CLI-3
        case Refused():
            return Received(give_up(client, stream))  # the cursor is dropped, the session kept (CLI-9)
        case Ended() | Aborted() | ResumptionRequired():
            return Received(_detached(client, stream, now))
        case _:
            return Received(client)


def _apply(client: Client, stream: ClientStream, cursor: Cursor, final: bool) -> Received:
    if _is_known(client, stream, cursor):
        return Received(client)
    advanced = _with(client, evolve(stream, cursor=_moved(stream, cursor), attempts=0))  # CLI-1: one atomic step
    return Received(_over(advanced, stream) if final else advanced, True)  # a finished call is never resumed (CLI-10)


def _is_known(client: Client, stream: ClientStream, cursor: Cursor) -> bool:
    """Whether the event was applied before, as far as its memory says (MOD-3)."""
    told_apart = stream.cursor.presence is Presence.PRESENT and cursor.presence is Presence.PRESENT
    return told_apart and stream.cursor.seq - client.memory < cursor.seq <= stream.cursor.seq


def _moved(stream: ClientStream, cursor: Cursor) -> Cursor:
    """The cursor after an event with this id; one without an id moves nothing."""
    return cursor if cursor.presence is Presence.PRESENT else stream.cursor


def _detached(client: Client, stream: ClientStream, now: int) -> Client:
    """The connection is gone; the call is not (CLI-7). Without a cursor there is no way back to it (CLI-9)."""
    if stream.cursor.presence is Presence.ABSENT:
        return give_up(client, stream)
    return _with(client, evolve(stream, connection=0, ready=now + stream.retry_ms))


def _lose_session(client: Client) -> Client:
    for stream in client.streams:
        client = give_up(client, stream)
    return evolve(
        client, phase=Phase.MUST_INITIALIZE, session="", initializing=0, told=(*client.told, Told(News.SESSION_LOST))
    )


def _with(client: Client, changed: ClientStream) -> Client:
    return evolve(
        client, streams=tuple(changed if stream.handle == changed.handle else stream for stream in client.streams)
    )


def _over(client: Client, over: ClientStream) -> Client:
    return evolve(client, streams=tuple(stream for stream in client.streams if stream.handle != over.handle))
