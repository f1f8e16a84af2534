"""DEL: nothing twice, nothing lost, nothing astray, in one order, live, and to an end."""

from collections.abc import Iterable, Iterator

from reattach.oracle.evidence import by_numbers, cursor_of, evidence, expectation_of, named, position
from reattach.oracle.gaps import Gap, compare, gap_of, has_basis, is_in_doubt
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.moments import (
    AGAIN,
    ELSEWHERE,
    LISTENS,
    RESPONSE,
    RESUMED,
    CallSettled,
    Delivered,
    Reordered,
    Rested,
)
from reattach.oracle.observation import Party
from reattach.oracle.record import (
    LIVE_MS,
    PROMPT_MS,
    Call,
    Event,
    Exchange,
    Run,
    Seen,
    Stream,
    StreamKind,
    View,
    frame_of,
)
from reattach.oracle.verdict import Fault, Kind


def is_own(moment: Delivered) -> bool:
    """Whether a message of the view's own stream was delivered."""
    return moment.event is not None and moment.event.stream is moment.view.stream and frame_of(moment.seen).has_data


# DEL-1: nothing twice


@judge("DEL-1", on=Delivered, only=AGAIN)
def nothing_comes_twice(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """A message that the view had delivered, or that lies at or before its cursor."""
    event, view = moment.event, moment.view
    if event is None or not is_own(moment):
        return
    anchor = view.cursor.anchor if view.cursor is not None else None
    if moment.already:
        what = f"{named(event)} came twice on one connection"
    elif anchor is not None and not moment.first and event.rank <= anchor.rank:
        where = "the event of the cursor" if event is view.cursor else "an event before the cursor"
        what = f"the resumption from {position(view.cursor)} delivered {where} again ({named(event)})"
    else:
        return
    view.once("DEL-1")
    known_by_id = frame_of(moment.seen).id == event.id
    yield Broken(
        "DEL-1",
        Fault.DUPLICATE_DELIVERY,
        what if known_by_id else what + by_numbers(event),
        evidence(
            view.stream.opener, event.exchange, view.exchange, show=(event.seen, *cursor_of(view)), last=moment.seen
        ),
    )


@judge("DEL-1", on=Rested, only=RESUMED)
def nothing_came_twice(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A resumption that delivered something, or had the chance to, and repeated nothing."""
    view = moment.view
    if view.resumed and (view.order or view.exchange.had_its_say) and view.once("DEL-1"):
        yield Held("DEL-1")


# DEL-2, ATT-4: nothing lost


@judge("DEL-2", "ATT-4", on=Rested, only=RESUMED)
def nothing_is_skipped(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A granted resumption, when it has been quiet or is over."""
    view = moment.view
    if not view.resumed or not view.order:
        return
    gap = gap_of(view, view.cursor)
    if gap is not None:
        if not is_in_doubt(gap, moment):
            yield from _skipped(view, gap)
    elif has_basis(view, view.cursor) and view.once("DEL-2 held"):
        yield Held("DEL-2")


@judge("DEL-2", on=Reordered)
def nothing_was_skipped(run: Run, moment: Reordered) -> Iterator[Judgement]:
    """Earlier resumptions, when another one shows that there was more between two events."""
    for view in moment.inserted[0].stream.views:
        if view is not moment.view and view.resumed and view.order:
            gap = gap_of(view, view.cursor)
            if gap is not None and any(event in moment.inserted for event in gap.known):
                yield from _skipped(view, gap)


def _skipped(view: View, gap: Gap) -> Iterator[Judgement]:
    if view.once("DEL-2"):
        yield Broken("DEL-2", Fault.SILENT_GAP, _loss(view, gap), _loss_evidence(view, gap))
    if "ATT-4" in view.judged or gap.known:
        return
    for other in view.stream.views:
        twice = gap_of(other, other.cursor) if other is not view and other.resumed else None
        if twice is not None and set(twice.keys) & set(gap.keys):
            view.judged.add("ATT-4")
            yield Broken(
                "ATT-4",
                Fault.SILENT_GAP,
                f"{_list(gap.keys)} came on no resumption, though two of them delivered what follows",
                _loss_evidence(view, gap),
            )
            return


def _loss(view: View, gap: Gap) -> str:
    came = "which another resumption delivers" if gap.known else "which never came on it"
    ground = by_numbers(gap.after) if gap.counted else ""
    what = f"delivered {named(gap.after)} without {_list(gap.keys)}, {came}"
    return f"the resumption from {position(view.cursor)} {what}{ground}"


def _loss_evidence(view: View, gap: Gap) -> tuple[Seen, ...]:
    before = [event for event in view.order if event.rank < gap.after.rank][-1:]
    last = view.delivered.get(gap.after.seq, gap.after.seen)
    cursor = view.cursor
    return evidence(
        view.stream.opener,
        cursor.exchange if cursor is not None else None,
        view.exchange,
        show=(
            *cursor_of(view),
            *expectation_of(view),
            *(view.delivered.get(event.seq, event.seen) for event in before),
            *(event.seen for event in gap.known[:2]),
        ),
        last=last,
    )


def _list(keys: tuple[str, ...]) -> str:
    return ", ".join(keys[:4]) + (f" and {len(keys) - 4} more" if len(keys) > 4 else "")


@judge("DEL-1", "DEL-2", "DEL-8", "ATT-4", on=CallSettled)
def a_followed_call_is_whole(run: Run, moment: CallSettled) -> Iterator[Judgement]:
    """A call that was cut and resumed until the server had no more."""
    call, last = moment.call, moment.last
    stream = call.stream
    if stream is None or not any(view.resumed for view in stream.views):
        return
    comparison = compare(call)
    if comparison is None:
        return
    if comparison.complete:
        yield Held("DEL-2")
        if any(_was_cut(view, stream) for view in stream.views):
            yield Held("ATT-4")
    for gap in comparison.inner:
        view = gap.after.exchange.view
        if call.origin == "metamorphic" and view is not None and view.resumed and view.once("DEL-2"):
            yield Broken("DEL-2", Fault.SILENT_GAP, _loss(view, gap), _loss_evidence(view, gap))
    for event in comparison.extra:
        view = event.exchange.view
        if view is not None and view.resumed and view.once("DEL-1 extra"):
            yield Broken(
                "DEL-1",
                Fault.DUPLICATE_DELIVERY,
                f"{named(event)} came once more than when the call is left alone",
                evidence(stream.opener, view.exchange, show=cursor_of(view), last=event.seen),
            )
    if comparison.tail and last is not None and last.view is not None:
        yield from _lost_tail(call, last.view, comparison.tail, moment.seen)


def _was_cut(view: View, stream: Stream) -> bool:
    end = view.exchange.end
    return (
        end is not None
        and (stream.finished is None or end.index < stream.finished.index)
        and not (view.exchange.ended_by is Party.SERVER and view.exchange.ended_cleanly)
    )


def _lost_tail(call: Call, view: View, tail: tuple[str, ...], seen: Seen) -> Iterator[Judgement]:
    exchange, stream = view.exchange, call.stream
    if stream is None or not view.resumed or view.stream is not stream or view.ended_because is not None:
        return
    shown = (*cursor_of(view), *expectation_of(view), exchange.rested)
    parts = (stream.opener, view.cursor.exchange if view.cursor is not None else None, exchange)
    if exchange.quiet is not None and exchange.ended_by is not Party.SERVER:
        if view.once("DEL-8 broken"):
            yield Broken(
                "DEL-8",
                Fault.DEAF_AFTER_RESUME,
                f"the resumed view stayed open and silent, and {_list(tail)} never came",
                evidence(*parts, show=shown, last=exchange.quiet),
            )
    elif exchange.ended_by is Party.SERVER and exchange.ended_cleanly and exchange.end is not None:
        what = f"the resumption from {position(view.cursor)} was ended by the server, and {_list(tail)} never came"
        shown_loss = evidence(*parts, show=shown, last=exchange.end)
        if view.once("DEL-2"):
            yield Broken("DEL-2", Fault.SILENT_GAP, what, shown_loss)
        nothing_since = not any(other.resumed and other.order for other in stream.views)
        if nothing_since and len([other for other in stream.views if other.resumed]) > 1 and view.once("ATT-4"):
            yield Broken(
                "ATT-4", Fault.SILENT_GAP, f"after the cut nothing of the call came any more: {_list(tail)}", shown_loss
            )


@judge("DEL-2", "DEL-8", "ATT-4", on=CallSettled)
def followed_pushes_are_whole(run: Run, moment: CallSettled) -> Iterator[Judgement]:
    """Messages pushed on the standalone stream, when a resumption of it is the last thing that was read."""
    call, session = moment.call, moment.call.session
    view = moment.last.view if moment.last is not None else None
    if session is None or not call.pushed or view is None or view.stream.kind is not StreamKind.STANDALONE:
        return
    missing = tuple(key for key in call.pushed if session.known(key) is None)
    if not view.resumed or view.cursor is None:
        return
    if not missing:
        yield Held("DEL-2")
        if view.cursor.exchange is not view.exchange:
            yield Held("ATT-4")
        return
    asked = call.exchange.asked
    if view.cursor.seen.index > asked.index or any(s is not view.stream for s in session.standalone):
        return  # they may lie before the cursor, or belong to a later listener
    exchange, granted = view.exchange, view.exchange.answer
    pushed = call.stream.finished if call.stream is not None else call.exchange.answer
    last = exchange.quiet or (exchange.end if exchange.had_its_say else None)
    if last is None or (pushed is not None and last.index < pushed.index):
        return  # it may not have been pushed by then, or be on its way
    parts = (call.exchange, view.cursor.exchange, exchange)
    shown = (*cursor_of(view), call.push_expectation, exchange.rested)
    if exchange.quiet is not None and granted is not None and asked.index > granted.index:
        if view.once("DEL-8 broken"):
            yield Broken(
                "DEL-8",
                Fault.DEAF_AFTER_RESUME,
                f"the resumed standalone view stayed open and silent, and {_list(missing)} never came",
                evidence(*parts, show=shown, last=exchange.quiet),
            )
    elif view.once("DEL-2"):
        yield Broken(
            "DEL-2",
            Fault.SILENT_GAP,
            f"the resumption from {position(view.cursor)} never brought {_list(missing)}, pushed after the cursor",
            evidence(*parts, show=shown, last=last),
        )


# DEL-3, DEL-4, DEL-5, CUR-1: nothing astray


@judge("DEL-3", "DEL-4", "CUR-1", on=Delivered)
def streams_are_apart(run: Run, moment: Delivered) -> Iterable[Judgement]:
    """A message that an earlier delivery places on a stream."""
    event, view = moment.event, moment.view
    if event is None or not frame_of(moment.seen).has_data or view.stream.kind is StreamKind.UNKNOWN:
        return ()
    if event.stream is not view.stream:
        return _astray(event, moment)
    session, held = view.stream.session, _NOTHING
    if view.cursor is not None and session.has_messages_beside(view.stream) and not _is_misplaced(moment):
        held = _OF_ITS_STREAM
    if moment.first and (event.number or event.response) and session.is_viewed_beside(view.stream):
        held += _ON_ONE_STREAM
    return held


_NOTHING: tuple[Held, ...] = ()
_OF_ITS_STREAM = (Held("DEL-3"),)
_ON_ONE_STREAM = (Held("DEL-4"),)


def _astray(event: Event, moment: Delivered) -> Iterator[Judgement]:
    view = moment.view
    shown = evidence(
        event.stream.opener,
        event.exchange,
        view.exchange,
        show=(event.seen, *cursor_of(view)),
        last=moment.seen,
    )
    if view.resumed:
        what = f"the resumption from {position(view.cursor)} delivered {named(event)}, which is of another stream"
        yield Broken("DEL-3", Fault.CROSS_STREAM_REPLAY, what, shown)
    elif view.stream.kind is event.stream.kind is StreamKind.STANDALONE and not _has_view(event.stream):
        what = f"a GET without a cursor was given {named(event)}, which an earlier view had been given"
        yield Broken("CUR-1", Fault.REPLAY_FROM_START, what, shown)
    else:
        yield Broken("DEL-4", Fault.BROADCAST, f"{named(event)} was sent on two streams", shown)


def _has_view(stream: Stream) -> bool:
    return any(True for _ in stream.open_views())


def _is_misplaced(moment: Delivered) -> bool:
    """Whether a message first came on the stream of a request that did not cause it."""
    mine, owner, event = moment.stream.call, moment.owner_call, moment.event
    if mine is None or owner is None or owner is mine or event is None or not moment.first:
        return False
    return event.key not in (owner.pushed or ())


@judge("DEL-3", on=Delivered, only=ELSEWHERE)
def messages_come_to_their_request(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """A message that the request which caused it places on a stream."""
    event, view = moment.event, moment.view
    if event is None or not frame_of(moment.seen).has_data or not _is_misplaced(moment) or moment.owner_call is None:
        return
    yield Broken(
        "DEL-3",
        Fault.RESPONSE_ON_WRONG_STREAM if event.response and not view.resumed else Fault.CROSS_STREAM_REPLAY,
        f"{named(event)}, which another request caused, came on the stream of this one",
        evidence(moment.owner_call.exchange, view.exchange, show=cursor_of(view), last=moment.seen),
        # The text says only that what comes before a response should relate to its request.
        Kind.AGAINST_SHOULD if not view.resumed and not event.response else None,
    )


@judge("CUR-1", on=Rested, only=LISTENS)
def fresh_views_have_no_history(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A plain GET, after an earlier standalone view of the session was given something."""
    view = moment.view
    exchange = view.exchange
    if exchange.method != "GET" or exchange.resumes or view.stream.kind is not StreamKind.STANDALONE:
        return
    if exchange.ended_by is Party.CLIENT and not view.order and exchange.rested is None:
        return
    earlier = (s for s in view.stream.session.standalone if s is not view.stream and s.messages)
    if all(event.stream is view.stream for event in view.order) and any(True for _ in earlier) and view.once("CUR-1"):
        yield Held("CUR-1")


@judge("DEL-5", on=Delivered, only=RESPONSE | AGAIN)
def responses_keep_to_their_stream(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """A response."""
    event, view = moment.event, moment.view
    if event is None or not event.response or not frame_of(moment.seen).has_data or view.exchange.bad:
        return
    if view.stream.kind is StreamKind.UNKNOWN:
        return
    owner = view.stream.session.calls.get(event.key.removeprefix("response:"))
    if view.exchange.method == "POST" and not view.exchange.resumes:
        if owner is not None and owner is view.stream.call:
            yield Held("DEL-5")
        return
    if view.resumed and (owner is None or owner.stream is view.stream):
        if owner is not None:
            yield Held("DEL-5")
        return
    if owner is None and event.key in ("response:None", "response:null"):
        return  # an error that answers no request: a refusal within the stream
    where = f"the resumption from {position(view.cursor)}, of another stream" if view.resumed else "a plain GET"
    yield Broken(
        "DEL-5",
        Fault.RESPONSE_ON_WRONG_STREAM,
        f"the response to a POST came on {where}",
        evidence(owner.exchange if owner is not None else None, view.exchange, show=cursor_of(view), last=moment.seen),
    )


# DEL-6: one order


@judge("DEL-6", on=Delivered)
def the_order_is_one(run: Run, moment: Delivered) -> Iterable[Judgement]:
    """A message after another on one view, where a number or an earlier delivery says which comes first."""
    event, previous, view = moment.event, moment.previous, moment.view
    if event is None or previous is None or not is_own(moment) or moment.already or previous.stream is not view.stream:
        return ()
    ordered = _in_order(view, previous, event, moment.first)
    if ordered is None:
        return ()
    if ordered:
        return _ORDERED
    anchor = view.cursor.anchor if view.cursor is not None else None
    if not moment.first and anchor is not None and event.rank <= anchor.rank:
        return ()  # a duplicate, not a disorder
    return (_disorder(moment, previous, event),)


_ORDERED = (Held("DEL-6"),)


def _disorder(moment: Delivered, previous: Event, event: Event) -> Broken:
    view = moment.view
    ground = by_numbers(event) if moment.first else ""
    return Broken(
        "DEL-6",
        Fault.OUT_OF_ORDER,
        f"{named(event)} came after {named(previous)}, which comes later in the stream{ground}",
        evidence(
            view.stream.opener,
            event.exchange,
            view.exchange,
            show=(*cursor_of(view), *expectation_of(view), event.seen, view.delivered.get(previous.seq)),
            last=moment.seen,
        ),
    )


def _in_order(view: View, one: Event, other: Event, first: bool) -> bool | None:
    call = view.stream.call
    if call is not None and call.place(one) >= 0 and call.place(other) >= 0:
        return call.place(one) < call.place(other)
    if one.number is not None and other.number is not None and one.number.label == other.number.label:
        return one.number.n < other.number.n
    return None if first else one.rank < other.rank


@judge("DEL-6", on=Reordered)
def the_order_was_one(run: Run, moment: Reordered) -> Iterator[Judgement]:
    """A view that was not resumed, when a resumption shows that it had left something out."""
    event = moment.inserted[0]
    for view in event.stream.views:
        if view.resumed or view is moment.view or view.last is None or view.last.rank < event.rank or view.floor:
            continue
        if event.seq not in view.delivered and event.message and view.order[0].rank < event.rank:
            after = next(other for other in view.order if other.rank > event.rank)
            if view.exchange.pauses or not view.once("DEL-6 reordered"):
                continue  # a slow reader that was moved forward: IDL-3
            yield Broken(
                "DEL-6",
                Fault.OUT_OF_ORDER,
                f"{named(after)} was first sent without {named(event)}, which a resumption delivers before it",
                evidence(
                    view.exchange,
                    moment.view.exchange,
                    show=(view.delivered.get(after.seq), event.seen, *cursor_of(moment.view)),
                    last=moment.seen,
                ),
            )


# DEL-7, DEL-9: to an end


@judge("DEL-7", "DEL-9", on=Rested)
def finished_streams_end(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A view of a request's stream after the last response, or after the request was cancelled."""
    view, exchange = moment.view, moment.view.exchange
    call, finished = view.stream.call, view.stream.finished
    if view.stream.kind is not StreamKind.REQUEST or call is None:
        return
    if finished is None:
        yield from _after_cancellation(moment, call)
        return
    here = finished.raw.connection == exchange.number
    earlier = view.resumed and finished.index < exchange.asked.index
    if not here and not earlier:
        return
    clause = "DEL-7" if here else "DEL-9"
    if exchange.ended_by is Party.SERVER:
        delivered = here or any(event.response for event in view.order) or _is_past_response(view)
        if delivered and view.once(clause):
            yield Held(clause)
    elif not moment.over and view.once(clause):
        what = (
            "the response was delivered and the body did not end"
            if here
            else f"the finished stream was resumed from {position(view.cursor)} and the body did not end"
        )
        yield Broken(
            clause,
            Fault.STREAM_NOT_ENDED,
            what,
            evidence(
                view.stream.opener,
                exchange,
                show=(*cursor_of(view), finished, view.last_word),
                last=moment.seen,
            ),
        )


def _is_past_response(view: View) -> bool:
    anchor = view.cursor.anchor if view.cursor is not None else None
    return anchor is not None and anchor.response


def _after_cancellation(moment: Rested, call: Call) -> Iterator[Judgement]:
    view, cancelled = moment.view, call.cancelled
    if cancelled is None or cancelled.index > moment.seen.index:
        return
    if view.exchange.ended_by is Party.SERVER:
        if view.once("DEL-7"):
            yield Held("DEL-7")
    elif not moment.over and view.once("DEL-7"):
        yield Broken(
            "DEL-7",
            Fault.STREAM_NOT_ENDED,
            "the request was cancelled, and its stream neither ended nor brought a response",
            evidence(view.exchange, _exchange_of(view, cancelled), last=moment.seen),
        )


def _exchange_of(view: View, seen: Seen) -> Exchange | None:
    return view.stream.session.exchanges.get(seen.observation.connection)


# DEL-8: live


@judge("DEL-8", on=Delivered, only=RESUMED)
def resumed_views_are_live(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """A new event on a resumed view some time after the grant; or elsewhere, where a resumed view was silent."""
    event, view = moment.event, moment.view
    answer = view.exchange.answer
    if event is None or not moment.first or not is_own(moment) or answer is None:
        return
    if view.resumed and moment.seen.at >= answer.at + LIVE_MS and view.once("DEL-8 held"):
        yield Held("DEL-8")
    if not view.resumed or moment.seen.at > answer.at + PROMPT_MS:
        return
    silent = view.stream.silent
    if not silent:
        return
    # Of the others it will not show any more, unless they are quiet again.
    view.stream.silent = [other for other in silent if _is_quiet_since(other, view)]
    for other in sorted(silent, key=lambda other: other.exchange.asked.index):
        if _is_deaf(other, view) and other.once("DEL-8 broken") and other.exchange.rested is not None:
            yield Broken(
                "DEL-8",
                Fault.DEAF_AFTER_RESUME,
                f"the view resumed from {position(other.cursor)} stayed silent, and {named(event)} came on the next",
                evidence(
                    view.stream.opener,
                    other.exchange,
                    view.exchange,
                    show=(*cursor_of(other), other.exchange.rested),
                    last=moment.seen,
                ),
            )


def _is_quiet_since(view: View, later: View) -> bool:
    """Whether the silence of a view came after a later resumption was asked for."""
    return view.exchange.quiet is not None and view.exchange.quiet.index > later.exchange.asked.index


def _is_deaf(view: View, later: View) -> bool:
    """Whether a resumed view was open and silent until a later resumption was asked for."""
    exchange, quiet = view.exchange, view.exchange.quiet
    if not view.resumed or quiet is None or exchange.ended_by is Party.SERVER or view.ended_because is not None:
        return False
    if _is_quiet_since(view, later):
        return False
    taken = view.successor.exchange.answer if view.successor is not None else None
    return taken is None or taken.index > quiet.index
