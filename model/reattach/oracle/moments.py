"""What the record reports to the judges as it grows: one moment for each thing that something can be decided by."""

from typing import TypeAlias

from attrs import define, frozen

from reattach.oracle.record import Call, Event, Exchange, Seen, Session, Stream, View

Trait: TypeAlias = int
"""A set of what may be special about a delivery or a view, as bits. Judges say for which of it they are asked."""

RESUMED, BAD, SESSIONLESS = 1, 2, 4
"""The view has a cursor that is known; one that is bad; or is in a revision without sessions."""
AGAIN, BARE, RESPONSE, FIRST_FRAME, ELSEWHERE = 8, 16, 32, 64, 128
"""No first delivery; perhaps without a message; a response; the first frame; of another call of the session."""
HELD_UP, TAKEN_OVER, TERMINATED, PAUSED = 256, 512, 1024, 2048
"""The exchange was silent beside a slow reader; the view has a successor; the session has ended; the view was not read
for a while, or was ended with a reason."""
ALL = 4095


def _of_view(view: View) -> Trait:
    exchange = view.exchange
    return (
        (RESUMED if view.cursor is not None else 0)
        | (BAD if exchange.bad else 0)
        | (0 if exchange.has_resumption else SESSIONLESS)
    )


@frozen
class Answered:
    """A status line arrived. The record is as it was before; what the answer changes comes after the judges."""

    exchange: Exchange
    seen: Seen


@frozen
class Resolved:
    """A resumption request has its answer, or will not get one. The judges see it once per request."""

    exchange: Exchange
    seen: Seen


@frozen
class Explained:
    """A request that was not answered by an event stream is over, with its body if there was one."""

    exchange: Exchange
    seen: Seen


@define(eq=False)
class Delivered:
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


@frozen
class Rested:
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
        traits = 0 if view.ordinary else _of_view(view)
        if view.exchange.pauses or view.ended_because is not None:
            traits |= PAUSED
        if view.successor is not None:
            traits |= TAKEN_OVER
        if view.stream.session.ended is not None:
            traits |= TERMINATED
        return traits


@frozen
class Unanswered:
    """A request got no answer: quiet, or the connection ended."""

    exchange: Exchange
    seen: Seen


@frozen
class CallSettled:
    """A driver has finished following a call, or the pushes that it made."""

    call: Call
    last: Exchange | None
    seen: Seen


@frozen
class Reordered:
    """Events first delivered on ``view`` turned out to lie before others that were known: a known one followed."""

    view: View
    seen: Seen
    inserted: tuple[Event, ...]


Moment: TypeAlias = Answered | Resolved | Explained | Delivered | Rested | Unanswered | CallSettled | Reordered
