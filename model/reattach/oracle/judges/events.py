"""EVT: event ids, and what an event without a message does."""

from collections.abc import Iterable, Iterator

from reattach.machine.revision import TRAITS
from reattach.oracle.evidence import cursor_of, evidence, named, position
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.judges.sessions import is_anonymous, is_visible
from reattach.oracle.message import is_progress
from reattach.oracle.moments import BARE, FIRST_FRAME, RESUMED, Delivered, Reordered
from reattach.oracle.record import Event, Exchange, Run, Seen, View, frame_of
from reattach.oracle.verdict import Fault


@judge("EVT-1", "EVT-4", on=Delivered)
def an_id_is_one_event(run: Run, moment: Delivered) -> Iterable[Judgement]:
    """An event with an id. Restating a position is no event, and does not come here."""
    event, frame = moment.event, frame_of(moment.seen)
    if event is None or not frame.id or is_anonymous(run, moment.view.stream.session):
        return ()
    if moment.collides is not None:
        return (_given_twice(moment, event, moment.collides, frame.id),)
    if moment.first:
        return _UNIQUE if moment.view.stream.session.has_several_ids() else ()
    return _THE_SAME if event.id == frame.id and event.message and frame.has_data else ()


_UNIQUE = (Held("EVT-1"),)
_THE_SAME = (Held("EVT-4"),)


def _given_twice(moment: Delivered, event: Event, other: Event, name: str) -> Broken:
    view = moment.view
    again = view.resumed and other.stream is event.stream
    return Broken(
        "EVT-4" if again else "EVT-1",
        Fault.ID_CHANGED_MEANING if again else Fault.ID_NOT_UNIQUE,
        f"id {name} came with another message than before"
        if again
        else f"id {name} was given to two events of one session",
        evidence(other.exchange, view.exchange, show=(other.seen,), last=moment.seen),
    )


@judge("EVT-2", on=Delivered)
def seqs_increase(run: Run, moment: Delivered) -> Iterable[Judgement]:
    """A new event whose id can be read as a number: in the standard's grammar, or a whole number."""
    event, before = moment.event, moment.position
    if event is None or not moment.first or event.id is None or moment.collides is not None:
        return ()
    tag, stream, seq = event.numbers
    if seq < 0:
        return ()
    if stream and moment.view.stream.session.stream_of_seq(seq) not in (None, stream):
        what = f"seq {seq} was given to events of two streams"
        return (Broken("EVT-2", Fault.ID_NOT_UNIQUE, what, evidence(moment.view.exchange, last=moment.seen)),)
    if before is None or before.id is None:
        return ()
    old_tag, _, old_seq = before.numbers
    if old_seq < 0 or old_tag != tag:
        return ()
    if seq > old_seq:
        return _INCREASED
    what = f"a new event came with seq {seq} after one of the same stream with seq {old_seq}"
    shown = evidence(before.exchange, moment.view.exchange, show=(before.seen,), last=moment.seen)
    return (Broken("EVT-2", Fault.OUT_OF_ORDER, what, shown),)


_INCREASED = (Held("EVT-2"),)


@judge("EVT-3", on=Delivered, only=FIRST_FRAME)
def priming_comes_first(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """The first event of a request's stream, on a server that gives ids."""
    exchange = moment.view.exchange
    frame = frame_of(moment.seen)
    if exchange.first_frame is not moment.seen or exchange.call is None or not frame.id:
        return
    if exchange.request.rpc_method == "initialize" or not TRAITS[exchange.revision].priming:
        return
    if frame.has_data:
        yield Broken(
            "EVT-3",
            Fault.PRIMING_MISSING,
            "the first event on the stream of a POST had a message; a cut before it leaves no cursor",
            evidence(exchange, last=moment.seen),
        )
    else:
        yield Held("EVT-3")


@judge("EVT-5", on=Delivered)
def ids_survive_a_header(run: Run, moment: Delivered) -> Iterable[Judgement]:
    """Any id."""
    name = frame_of(moment.seen).id
    if not name:
        return ()
    if is_visible(name):
        return _VISIBLE
    what = "an event id is not visible ASCII and does not come back from a header as it went out"
    return (Broken("EVT-5", Fault.INVALID_ID, what, evidence(moment.view.exchange, last=moment.seen)),)


_VISIBLE = (Held("EVT-5"),)


@judge("EVT-6", on=Delivered, only=BARE)
def bare_ids_jump_over_nothing(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """An event without a message that names a later event of the stream than the view has come to."""
    event, view = moment.event, moment.view
    if event is None or frame_of(moment.seen).has_data or event.stream is not view.stream or moment.first:
        return
    skipped = [
        later
        for later in view.stream.after(moment.position)
        if later.rank <= event.rank and later.seq not in view.delivered
    ]
    if skipped and view.resumed:
        yield Broken(
            "EVT-6",
            Fault.PRIMING_SKIPS_EVENTS,
            f"an event without a message moved the cursor over {named(skipped[0])}, which the view had not delivered",
            evidence(skipped[0].exchange, view.exchange, show=(skipped[0].seen, *cursor_of(view)), last=moment.seen),
        )


@judge("EVT-6", on=Delivered, only=RESUMED)
def nothing_is_missing_after_a_bare_id(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """The first message on a view that was resumed from an event without a message."""
    view, event, cursor = moment.view, moment.event, moment.view.cursor
    if cursor is None or cursor.message or event is None or not event.message or event.stream is not view.stream:
        return
    if len(view.order) != 1 or view.bare_first:
        return
    known = list(view.stream.after(cursor.anchor))
    if event not in known:
        return
    skipped = known[: known.index(event)]
    if not skipped:
        if _follows(view, cursor.anchor, event):
            yield Held("EVT-6")
    elif _was_jumped_over(view, skipped[0]) and view.once("EVT-6"):
        yield _jumped(view, skipped[0], (), moment.seen)


def _was_jumped_over(view: View, event: Event) -> bool:
    """Whether a view lacks an event because its cursor, a bare id, lies behind it.

    Only what was stored when the view was asked for tells: what it lacks of later events, the view itself may have
    lost. So the first message that it delivered must have been known before. And what the server has sent after the
    bare id was not jumped over by it.
    """
    cursor = view.cursor
    if cursor is None or cursor.message or view.bare_first or not view.order or view.floor:
        return False
    replayed = view.order[0].seen.index < view.exchange.asked.index
    anchored = cursor.anchor is None or cursor.anchor.rank < event.rank
    return replayed and anchored and event.rank < min(cursor.rank, view.order[0].rank)


def _follows(view: View, anchor: Event | None, event: Event) -> bool:
    """Whether an event is known to be the next one after another, as far as numbers tell."""
    call, before, number = view.stream.call, anchor.number if anchor is not None else None, event.number
    if call is not None and call.places:
        return call.place(event) == call.place(anchor) + 1
    if before is not None and number is not None and before.label == number.label and not is_progress(number):
        return number.n == before.n + 1
    return True


def _jumped(view: View, event: Event, others: tuple[Exchange, ...], seen: Seen) -> Broken:
    cursor = view.cursor
    assert cursor is not None
    anchor = cursor.anchor
    return Broken(
        "EVT-6",
        Fault.PRIMING_SKIPS_EVENTS,
        f"the id {position(cursor)} came without a message and moved the cursor over {named(event)}, which another"
        " resumption delivers",
        evidence(
            *([anchor.exchange] if anchor is not None else []),
            cursor.exchange,
            event.exchange,
            view.exchange,
            *others,
            show=(
                cursor.seen,
                anchor.seen if anchor is not None else None,
                event.seen,
                view.delivered.get(view.order[0].seq),
            ),
            last=seen,
        ),
    )


@judge("EVT-6", on=Reordered)
def inserted_events_were_not_jumped_over(run: Run, moment: Reordered) -> Iterator[Judgement]:
    """Events that an earlier resumption was not given, because its cursor was a bare id behind them."""
    for event in moment.inserted:
        for view in event.stream.views:
            lacks = event.message and view is not moment.view and event.seq not in view.delivered
            if lacks and _was_jumped_over(view, event) and view.once("EVT-6"):
                yield _jumped(view, event, (moment.view.exchange,), moment.seen)
