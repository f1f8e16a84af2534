"""CUR and GET: what a cursor is answered with."""

from collections.abc import Iterator, Mapping

from reattach.oracle.evidence import cursor_of, evidence, issued_of, named, position
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.judges.sessions import ADMISSION, is_being_terminated, is_success
from reattach.oracle.moments import (
    AGAIN,
    ASKS_FOR_MORE,
    BAD,
    FOLLOWS,
    LISTENS,
    NOT_LIVE,
    RESUMED,
    Answered,
    Delivered,
    Explained,
    Resolved,
    Rested,
    Unanswered,
)
from reattach.oracle.observation import Party
from reattach.oracle.record import (
    Bearing,
    Event,
    Exchange,
    Life,
    Resolution,
    Run,
    body_of,
    frame_of,
    may_have_ended,
)
from reattach.oracle.verdict import Fault, Kind

CLAUSES = {
    Bearing.MALFORMED: "CUR-2",
    Bearing.FOREIGN: "CUR-3",
    Bearing.AHEAD: "CUR-5",
    Bearing.MISMATCH: "CUR-6",
}
"""The clause under which each bad cursor falls."""

_A_CURSOR = {
    Bearing.MALFORMED: "a cursor that was never issued",
    Bearing.FOREIGN: "another session's cursor",
    Bearing.AHEAD: "a cursor ahead of the stream",
    Bearing.MISMATCH: "a cursor that names no event of its stream",
}


def reason_of(exchange: Exchange) -> str:
    """The machine-readable reason in the JSON-RPC error of a refusal; "" if there is none."""
    error = error_of(exchange)
    data = error.get("data") if error is not None else None
    reason = data.get("reason") if isinstance(data, Mapping) else None
    return reason if isinstance(reason, str) else ""


def error_of(exchange: Exchange) -> Mapping[str, object] | None:
    """The JSON-RPC error in the body of an answer."""
    body = body_of(exchange)
    error = body.payload.get("error") if body is not None and isinstance(body.payload, Mapping) else None
    return error if isinstance(error, Mapping) else None


def is_conflict(exchange: Exchange) -> bool:
    """Whether a good cursor was refused because of the stream's old connection.

    A refusal for its age cannot concern the newest event; of older ones only the status of a conflict tells.
    """
    if not exchange.rivals or exchange.status == 404 or reason_of(exchange).startswith("cursor-"):
        return False
    return exchange.status == 409 or (exchange.newest and any(view.exchange.is_open for view in exchange.rivals))


def _is_live(exchange: Exchange) -> bool:
    return exchange.session is not None and exchange.life is Life.LIVE and exchange.owner_asks


def _is_repeated(exchange: Exchange) -> bool:
    """Whether it has more than one ``Last-Event-ID`` header, each of which may be good."""
    return len(exchange.request.cursors) > 1


def _named_bad(exchange: Exchange) -> str:
    return "a repeated Last-Event-ID" if _is_repeated(exchange) else _A_CURSOR[exchange.bearing]


# CUR-2, CUR-3, CUR-5, CUR-6: bad cursors are refused


@judge("CUR-2", "CUR-3", "CUR-5", "CUR-6", "CUR-10", on=Resolved)
def bad_cursors_are_refused(run: Run, moment: Resolved) -> Iterator[Judgement]:
    """The answer to a cursor that the session was never given."""
    exchange = moment.exchange
    if not exchange.bad or not _is_live(exchange):
        return
    clause, what = CLAUSES[exchange.bearing], _named_bad(exchange)
    match exchange.resolution:
        case Resolution.REFUSED | Resolution.UNSUPPORTED:
            yield Held(clause)
        case Resolution.CRASHED:
            answer = f"HTTP {exchange.status}" if exchange.status else "a broken connection"
            yield Broken(
                "CUR-10",
                Fault.BAD_CURSOR_CRASH,
                f"{what} was answered with {answer}",
                evidence(exchange, last=moment.seen),
            )
        case Resolution.HUNG:
            yield Broken("CUR-10", Fault.BAD_CURSOR_HANG, f"{what} got no answer", evidence(exchange, last=moment.seen))
        case Resolution.ODD:
            yield Broken(
                clause,
                Fault.BAD_CURSOR_SILENT,
                f"{what} was answered {exchange.status}, neither a stream nor a refusal",
                evidence(exchange, last=moment.seen),
            )
        case _:
            pass


@judge("CUR-2", "CUR-3", "CUR-5", "CUR-6", on=Delivered, only=BAD)
def bad_cursors_get_nothing(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """What comes on a view that was granted to a bad cursor."""
    view, exchange, event = moment.view, moment.view.exchange, moment.event
    if not exchange.bad or not _is_live(exchange) or not frame_of(moment.seen).has_data:
        return
    clause, what = CLAUSES[exchange.bearing], _named_bad(exchange)
    if not view.once("CUR"):
        return
    if view.ended_because is not None or _is_refusal(event):
        yield Held(clause)  # refused within the stream, and explicitly
        return
    if moment.owner is not None:
        fault, answer = Fault.CROSS_SESSION_LEAK, "the events of another session"
    elif event is not None and not moment.first and not _is_repeated(exchange):
        fault, answer = Fault.REPLAY_FROM_START, f"history, from {named(event)} on"
    else:
        fault, answer = Fault.BAD_CURSOR_SILENT, "a stream, as if it were good"
    owned = moment.owned
    yield Broken(
        clause,
        fault,
        f"{what} was answered with {answer}",
        evidence(
            owned.exchange if owned is not None else event.exchange if event is not None else moment.owner_exchange,
            exchange,
            show=(owned.seen if owned is not None else None, *issued_of(run, exchange)),
            last=moment.seen,
        ),
    )


def _is_refusal(event: Event | None) -> bool:
    """Whether a message is an error that answers no request."""
    return event is not None and event.key in ("response:None", "response:null")


@judge("CUR-2", "CUR-3", "CUR-5", "CUR-6", "CUR-10", on=Rested, only=BAD)
def bad_cursors_are_told(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A view that was granted to a bad cursor and brought nothing."""
    view, exchange = moment.view, moment.view.exchange
    if not exchange.bad or not _is_live(exchange) or exchange.ended_by is Party.CLIENT or not view.once("CUR"):
        return
    clause, what = CLAUSES[exchange.bearing], _named_bad(exchange)
    if view.ended_because is not None:
        yield Held(clause)
    elif moment.over and not exchange.ended_cleanly:
        if is_being_terminated(view.stream.session):
            return
        yield Broken(
            "CUR-10",
            Fault.BAD_CURSOR_CRASH,
            f"{what} was answered 200 and then with a broken connection",
            evidence(exchange, last=moment.seen),
        )
    else:
        how = "the end of the body" if moment.over else "silence"
        yield Broken(
            clause,
            Fault.BAD_CURSOR_SILENT,
            f"{what} was answered 200 with an event stream and {how}",
            evidence(exchange, show=issued_of(run, exchange), last=moment.seen),
        )


# CUR-4: cursors that are too old


@judge("CUR-4", on=Rested, only=RESUMED)
def old_cursors_are_not_served_with_scraps(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A good cursor after which this session was given events before, none or not the first of which came now."""
    view, exchange = moment.view, moment.view.exchange
    if not view.resumed or view.ended_because is not None or view.floor or not _is_live(exchange):
        return
    if not view.order and not exchange.had_its_say:
        return
    owed = [event for event in view.stream.after(view.cursor) if event.seen.index < exchange.asked.index]
    if not owed or owed[0].seq in view.delivered or "CUR-4" in view.judged:
        return
    shown = evidence(
        view.stream.opener,
        exchange,
        show=(*cursor_of(view), owed[0].seen),
        last=moment.seen if not view.order else view.delivered.get(view.order[0].seq, moment.seen),
    )
    if not view.order:
        if view.foreign:
            return
        view.judged.add("CUR-4")
        how = "ended" if moment.over else "was silent"
        what = f"the resumption from {position(view.cursor)} {how} without {named(owed[0])}, which follows"
        yield Broken("CUR-4", Fault.BAD_CURSOR_SILENT, what, shown)
    elif all(event.rank > owed[0].rank for event in view.order):
        view.judged.add("CUR-4")
        what = f"the resumption from {position(view.cursor)} began with {named(view.order[0])}, not {named(owed[0])}"
        yield Broken("CUR-4", Fault.REPLAY_FROM_START, what, shown)


@judge("CUR-4", on=Explained, only=ASKS_FOR_MORE)
def old_cursors_are_refused(run: Run, moment: Explained) -> Iterator[Judgement]:
    """A refusal that says by its reason that the cursor is too old."""
    exchange = moment.exchange
    refused = exchange.resumes and exchange.bearing is Bearing.GOOD and exchange.resolution is Resolution.REFUSED
    if refused and reason_of(exchange) == "cursor-out-of-window":
        yield Held("CUR-4")


# CUR-7, undeclared


@judge("CUR-7", on=Explained, only=ASKS_FOR_MORE)
def good_cursors_are_not_refused(run: Run, moment: Explained) -> Iterator[Judgement]:
    """A refused good cursor, where the server has declared no window: allowed, and nothing to rely on."""
    exchange = moment.exchange
    if not exchange.resumes or exchange.bearing is not Bearing.GOOD or exchange.resolution is not Resolution.REFUSED:
        return
    if run.declaration.window_events is not None or not _is_live(exchange) or is_conflict(exchange):
        return
    session, cursor = exchange.session, exchange.cursor
    if session is None or cursor is None or session.restarted:
        return
    behind = _how_far_behind(cursor)
    if not behind:
        return  # nobody knows what followed: the server may have had every reason
    yield Broken(
        "CUR-7",
        Fault.GOOD_CURSOR_REFUSED,
        f"the cursor {position(cursor)}, {behind} behind, was refused ({exchange.status})",
        evidence(cursor.exchange, exchange, show=(cursor.seen,), last=moment.seen),
        Kind.UNDEFINED_AREA,
    )


def _how_far_behind(cursor: Event) -> str:
    """How many events followed a cursor, if that is known: its stream is finished, or what its call sends is."""
    stream, call = cursor.stream, cursor.stream.call
    if stream.finished is not None:
        return f"{sum(1 for _ in stream.after(cursor))} events"
    if call is not None and call.expected is not None:
        return f"at most {len(call.expected) - 1 - max(call.place(cursor.anchor), -1)} events"
    return ""


# CUR-8: the newest event


@judge("CUR-8", on=Delivered, only=AGAIN)
def the_newest_cursor_repeats_nothing(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """A message at or before the newest cursor."""
    view, event = moment.view, moment.event
    cursor = view.cursor
    if cursor is None or event is None or not view.exchange.newest or event.stream is not view.stream:
        return
    anchor = cursor.anchor
    if moment.first or anchor is None or event.rank > anchor.rank or not frame_of(moment.seen).has_data:
        return
    if view.once("CUR-8"):
        yield Broken(
            "CUR-8",
            Fault.DUPLICATE_DELIVERY,
            f"the resumption from the newest event {position(cursor)} delivered {named(event)} again",
            evidence(
                view.stream.opener, event.exchange, view.exchange, show=(event.seen, cursor.seen), last=moment.seen
            ),
        )


@judge("CUR-8", on=Rested, only=RESUMED)
def the_newest_cursor_gives_an_empty_suffix(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A resumption from the newest event that brought new events only, or none."""
    view = moment.view
    if view.resumed and view.exchange.newest and view.exchange.had_its_say and view.once("CUR-8"):
        yield Held("CUR-8")


# CUR-9, CUR-10: and the session lives on


@judge("CUR-9", "CUR-10", on=Answered, only=FOLLOWS)
def the_session_survives(run: Run, moment: Answered) -> Iterator[Judgement]:
    """The first request of the session after a refused or a bad cursor."""
    exchange = moment.exchange
    refused, session = exchange.follows, exchange.session
    if refused is None or session is None or session.restarted or exchange.status in ADMISSION:
        return
    if may_have_ended(run, refused) or may_have_ended(run, exchange) or exchange.status >= 500:
        return
    was_refused = refused.resolution is Resolution.REFUSED
    if exchange.status == refused.status == 404 and run.declaration.absence_ms is None and not refused.bad:
        return  # it was gone by then, it seems: a server that declares no budget may end a session at any time
    if exchange.status == 404:
        yield Broken(
            "CUR-10",
            Fault.BAD_CURSOR_KILLS_SESSION,
            f"after a cursor was answered {refused.status or 'not at all'}, the session itself was unknown",
            evidence(refused, exchange, last=moment.seen),
        )
        return
    if refused.bad and refused.resolution not in (Resolution.CRASHED, Resolution.HUNG):
        yield Held("CUR-10")
    if was_refused and refused.status == 404:
        yield Broken(
            "CUR-9",
            Fault.WRONG_STATUS,
            "a cursor was refused with 404 while the session lives; clients throw the session away",
            evidence(refused, exchange, last=moment.seen),
            Kind.UNDEFINED_AREA if run.declaration.refusal_status == 404 else None,  # given up, and declared so
        )
    elif was_refused:
        yield Held("CUR-9")


@judge("CUR-10", on=Unanswered)
def the_server_survives(run: Run, moment: Unanswered) -> Iterator[Judgement]:
    """The first request after a bad cursor gets no answer."""
    exchange = moment.exchange
    refused = exchange.follows
    if refused is None or not refused.bad or exchange.ended_by is Party.CLIENT or exchange.hung is not None:
        return
    yield Broken(
        "CUR-10",
        Fault.BAD_CURSOR_CRASH,
        "after a bad cursor the server answered nothing more",
        evidence(refused, exchange, last=moment.seen),
    )


# GET-1


@judge("GET-1", on=Answered, only=LISTENS | NOT_LIVE)
def get_gives_a_stream_or_405(run: Run, moment: Answered) -> Iterator[Judgement]:
    """The status line of a GET under a living session."""
    exchange = moment.exchange
    session = exchange.session
    if session is not None and exchange.life is Life.GONE and is_success(exchange.status):
        lost, session.lost = session.lost, None
        if lost is not None and lost.method == "GET" and not lost.resumes:
            yield Broken(
                "GET-1",
                Fault.WRONG_STATUS,
                "a GET was answered 404 while the session lives",
                evidence(lost, exchange, last=moment.seen),
            )
    if exchange.method != "GET" or not _is_live(exchange):
        return
    if exchange.view is not None or exchange.status == 405:
        yield Held("GET-1")
    elif exchange.status < 400:
        response = exchange.response
        kind = response.content_type if response is not None else ""
        yield Broken(
            "GET-1",
            Fault.WRONG_STATUS,
            f"a GET was answered {exchange.status} {kind}".rstrip() + ", neither an event stream nor 405",
            evidence(exchange, last=moment.seen),
        )


@judge("GET-1", on=Explained, only=LISTENS)
def refusals_of_get_are_told(run: Run, moment: Explained) -> Iterator[Judgement]:
    """A GET under a living session that was answered with an error, and its body."""
    exchange, session = moment.exchange, moment.exchange.session
    if exchange.method != "GET" or not _is_live(exchange) or exchange.status < 400 or session is None:
        return
    if exchange.status in (401, 403, 404, 405) or exchange.body is None or exchange.revision is not session.revision:
        return
    if error_of(exchange) is not None:
        yield Held("GET-1")
        return
    if run.terse:
        return  # what the body says may have been left out
    yield Broken(
        "GET-1",
        Fault.WRONG_STATUS,
        f"a GET was refused with {exchange.status} and no JSON-RPC error",
        evidence(exchange, last=moment.seen),
        # The reading that allows an error status asks for a reason in the body; the text says nothing of either.
        None if exchange.status >= 500 and exchange.status != 503 and not exchange.resumes else Kind.UNDEFINED_AREA,
    )
