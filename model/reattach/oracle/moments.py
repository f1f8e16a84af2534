"""What the record reports to the judges as it grows: one moment for each thing that something can be decided by."""

from typing import ClassVar, TypeAlias

import msgspec

from reattach.oracle.record import Call, Event, Exchange, Life, Seen, Session, Stream, View

Trait: TypeAlias = int
"""A set of what may be special about a moment, as bits. Judges say for which of it they are asked."""

RESUMED, BAD, SESSIONLESS = 1, 2, 4
"""The view has a cursor that is known; one that is bad; or is in a revision without sessions."""
AGAIN, BARE, RESPONSE, FIRST_FRAME, ELSEWHERE = 8, 16, 32, 64, 128
"""No first delivery; perhaps without a message; a response; the first frame; of another call of the session."""
HELD_UP, TAKEN_OVER, TERMINATED, PAUSED = 256, 512, 1024, 2048
"""The exchange was silent beside a slow reader; the view has a successor; the session has ended; the view was not read
for a while, or was ended with a reason."""
LISTENS, DELETES, OPENS, NAMELESS = 1 << 12, 1 << 13, 1 << 14, 1 << 15
"""The request is GET, DELETE, or initialize; or it names no session."""
NOT_LIVE, STRANGER, FOLLOWS, LEFT_ALONE = 1 << 16, 1 << 17, 1 << 18, 1 << 19
"""Its session was not known to live, or another principal opened it; it comes after a refused or bad cursor; or its
session had surely been left alone, or was not found."""
UNFINISHED, ASKS_FOR_MORE = 1 << 20, 1 << 21
"""The view is not over, or its call not answered; the request asks for a stream from a cursor."""
ALL = (1 << 22) - 1


def _of_view(view: View) -> Trait:
    exchange = view.exchange
    return (
        (RESUMED if view.cursor is not None else 0)
        | (BAD if exchange.bad else 0)
        | (0 if exchange.has_resumption else SESSIONLESS)
    )


def _of_request(exchange: Exchange) -> Trait:
    request, traits = exchange.request, 0
    if request.method != "POST":
        traits = LISTENS if request.method == "GET" else DELETES
    if request.rpc_method == "initialize":
        traits |= OPENS
    if request.session is None:
        traits |= NAMELESS
    return traits if exchange.has_resumption else traits | SESSIONLESS


class Answered(msgspec.Struct, frozen=True, eq=False):
    """A status line arrived. The record is as it was before; what the answer changes comes after the judges."""

    exchange: Exchange
    seen: Seen

    @property
    def traits(self) -> Trait:
        """What is not as it is of nearly all answers."""
        exchange = self.exchange
        traits = _of_request(exchange)
        if exchange.life is not Life.LIVE:
            traits |= NOT_LIVE
        if not exchange.owner_asks:
            traits |= STRANGER
        if exchange.follows is not None:
            traits |= FOLLOWS
        if exchange.held_up_by is not None:
            traits |= HELD_UP
        if exchange.idle_ms is not None or exchange.status == 404:
            traits |= LEFT_ALONE
        return traits


class Resolved(msgspec.Struct, frozen=True, eq=False):
    """A resumption request has its answer, or will not get one. The judges see it once per request."""

    exchange: Exchange
    seen: Seen
    traits: ClassVar[Trait] = ALL


class Explained(msgspec.Struct, frozen=True, eq=False):
    """A request that was not answered by an event stream is over, with its body if there was one."""

    exchange: Exchange
    seen: Seen

    @property
    def traits(self) -> Trait:
        """What is not as it is of nearly all requests."""
        return _of_request(self.exchange) | (ASKS_FOR_MORE if self.exchange.resumes else 0)


class Delivered(msgspec.Struct, eq=False):
    """An event with or without a message came on a view, and is in the record now."""

    view: View
    seen: Seen
    event: Event | None
    """The event it is; None if it belongs to another session, or only restates a position or ends a view."""
    first: bool = False
    """Whether it is the first delivery of the event in its session."""
    previous: Event | None = None
    """The message delivered before it on the view."""
    position: Event | None = None
    """The view's position before it."""
    already: bool = False
    """Whether the view had delivered the event before."""
    collides: Event | None = None
    """Another event that has the same id."""
    owner: Session | None = None
    """The other session that it belongs to."""
    owned: Event | None = None
    """The event of the other session that it is, if it was delivered there."""
    owner_exchange: Exchange | None = None
    """The request of the other session that caused it, or on which it came."""
    owner_call: Call | None = None
    """The call of this session that asked for its series or is answered by it, if exactly one did."""
    restates: bool = False
    """Whether it has no message and the id of the cursor or of the view's position."""

    @property
    def stream(self) -> Stream:
        """The stream that the view is of."""
        return self.view.stream

    @property
    def traits(self) -> Trait:
        """What is not as it is of nearly all deliveries."""
        view, event, owner = self.view, self.event, self.owner_call
        exchange, stream = view.exchange, view.stream
        traits = 0 if view.ordinary else _of_view(view)
        if not self.first:
            traits |= AGAIN
        if event is None or not event.message or not self.first:
            traits |= BARE
        elif event.response:
            traits |= RESPONSE
        if exchange.first_frame is self.seen:
            traits |= FIRST_FRAME
        if owner is not None and owner is not stream.call:
            traits |= ELSEWHERE
        if exchange.held_up_by is not None:
            traits |= HELD_UP
        if view.successor is not None:
            traits |= TAKEN_OVER
        if stream.session.ended is not None:
            traits |= TERMINATED
        return traits


class Rested(msgspec.Struct, frozen=True, eq=False):
    """A view is over, or was quiet. More than once per view, if it was quiet before it ended."""

    view: View
    seen: Seen

    @property
    def over(self) -> bool:
        """Whether the exchange has ended."""
        return self.view.exchange.end is not None

    @property
    def traits(self) -> Trait:
        """What is not as it is of nearly all views."""
        view = self.view
        exchange, call = view.exchange, view.stream.call
        traits = 0 if view.ordinary else _of_view(view)
        if exchange.request.method == "GET":
            traits |= LISTENS
        if exchange.end is None or (call is not None and not call.answered):
            traits |= UNFINISHED
        if exchange.pauses or view.ended_because is not None:
            traits |= PAUSED
        if view.successor is not None:
            traits |= TAKEN_OVER
        if view.stream.session.ended is not None:
            traits |= TERMINATED
        return traits


class Unanswered(msgspec.Struct, frozen=True, eq=False):
    """A request got no answer: quiet, or the connection ended."""

    exchange: Exchange
    seen: Seen
    traits: ClassVar[Trait] = ALL


class CallSettled(msgspec.Struct, frozen=True, eq=False):
    """A driver has finished following a call, or the pushes that it made."""

    call: Call
    last: Exchange | None
    seen: Seen
    traits: ClassVar[Trait] = ALL


class Reordered(msgspec.Struct, frozen=True, eq=False):
    """Events first delivered on ``view`` turned out to lie before others that were known: a known one followed."""

    view: View
    seen: Seen
    inserted: tuple[Event, ...]
    traits: ClassVar[Trait] = ALL


Moment: TypeAlias = Answered | Resolved | Explained | Delivered | Rested | Unanswered | CallSettled | Reordered
