"""What the record reports to the judges as it grows: one moment for each thing that something can be decided by."""

from typing import TypeAlias

from attrs import define, frozen

from reattach.oracle.record import Call, Event, Exchange, Seen, Session, Stream, View


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
    def plain(self) -> bool:
        """Whether it is like nearly all: a new message with an id, as one more of a session that goes on as it should.

        Nothing that has to do with a cursor, with the end of a call or a session, or with a second connection of the
        stream. Of such a delivery most judges have nothing to say; those that do say so of themselves.
        """
        event, view = self.event, self.view
        if not self.first or event is None or not view.ordinary or not event.message or event.response or not event.id:
            return False
        exchange, owner = view.exchange, self.owner_call
        return (
            view.successor is None
            and self.collides is None
            and exchange.held_up_by is None
            and exchange.first_frame is not self.seen
            and view.stream.session.ended is None
            and (owner is None or owner is view.stream.call)
        )


@frozen
class Rested:
    """A view is over, or was quiet. More than once per view, if it was quiet before it ended."""

    view: View
    seen: Seen

    @property
    def over(self) -> bool:
        """Whether the exchange has ended."""
        return self.view.exchange.end is not None


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
