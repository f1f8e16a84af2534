"""The network between one client and the server, as far as resumption can tell.

A connection is one HTTP exchange. Its response is a FIFO of a header, a greeting, an interval of events and a trailer.
The interval is two integers: in flight are *all* events of its stream with ``taken < seq <= sent``; that the network
keeps their order and drops none from the middle is its assumption. A cut loses what is in flight, and each side learns
of it in its own time: the server believes in a connection as long as it has a view on it, the client as long as it
reads it. Requests are delivered in any order, and late.
"""

from enum import Enum
from typing import TypeAlias

from attrs import evolve, frozen

from reattach.machine.cursor import ABSENT, Cursor
from reattach.machine.decision import Reason


class Verb(Enum):
    """What a request asks for."""

    INITIALIZE = "initialize"
    CALL = "call"
    LISTEN = "listen"
    RESUME = "resume"
    DELETE = "delete"


@frozen
class Request:
    """A request on its way. ``handle`` is the client's own number for the stream it is about."""

    verb: Verb
    session: str = ""
    handle: int = 0
    cursor: Cursor = ABSENT


@frozen
class Nothing:
    """No item is there to be read."""


@frozen
class Initialized:
    """The answer to initialize: the session's name."""

    session: str


@frozen
class Attached:
    """The headers of an event stream."""


@frozen
class Refused:
    """An explicit refusal."""

    reason: Reason


@frozen
class Deleted:
    """The session is terminated as asked."""


@frozen
class Primed:
    """An id without a message."""

    cursor: Cursor


@frozen
class Positioned:
    """The stated position of a re-attached view (ATT-1)."""

    cursor: Cursor


@frozen
class Retry:
    """How long to wait before reconnecting, in milliseconds (CLI-4). The servers of the model do not send it."""

    ms: int


@frozen
class Delivered:
    """An event, without an id if its cursor is ABSENT; ``final`` if it is the response to its stream's request."""

    cursor: Cursor
    final: bool


@frozen
class ResumptionRequired:
    """The view was ended because it could not go on without a gap (IDL-3)."""


@frozen
class Ended:
    """The body ended as HTTP says."""


@frozen
class Aborted:
    """The connection was reset."""


Item: TypeAlias = (
    Nothing
    | Initialized
    | Attached
    | Refused
    | Deleted
    | Primed
    | Positioned
    | Retry
    | Delivered
    | ResumptionRequired
    | Ended
    | Aborted
)


@frozen
class Exchange:
    """One HTTP exchange as the network sees it."""

    connection: int
    client: int
    request: Request
    delivered: bool = False
    """Whether the server has the request."""
    session: str = ""
    stream: int = 0
    """What its view reads, once it carries one."""
    header: Item = Nothing()
    greeting: Item = Nothing()
    taken: int = 0
    sent: int = 0
    trailer: Item = Nothing()
    reachable: bool = True
    """Whether bytes still arrive at the client."""


def cut(exchange: Exchange) -> Exchange:
    """The connection breaks: what is in flight is lost, and nothing more arrives. Neither side knows yet."""
    return evolve(
        exchange, header=Nothing(), greeting=Nothing(), sent=exchange.taken, trailer=Nothing(), reachable=False
    )


def answered(exchange: Exchange, header: Item, trailer: Item) -> Exchange:
    """The whole answer is on its way, if the connection still is."""
    arrived = evolve(exchange, delivered=True)
    return evolve(arrived, header=header, trailer=trailer) if exchange.reachable else arrived


def attached(exchange: Exchange, session: str, stream: int, position: int) -> Exchange:
    """The headers of an event stream are on their way; events after ``position`` will follow."""
    viewed = evolve(exchange, delivered=True, session=session, stream=stream, taken=position, sent=position)
    return evolve(viewed, header=Attached()) if exchange.reachable else viewed
