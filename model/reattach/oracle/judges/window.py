"""WIN, and what a declared window makes of CUR-4, CUR-7 and CUR-8."""

from collections.abc import Iterator

from reattach.oracle.bounds import Holding, Judged, holding
from reattach.oracle.declaration import Declaration
from reattach.oracle.evidence import cursor_of, evidence, named, position
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.moments import AGAIN, Delivered, Resolved, Rested
from reattach.oracle.observation import Party
from reattach.oracle.record import SLACK_MS, Bearing, Exchange, Life, Resolution, Run, StreamKind, View, frame_of
from reattach.oracle.verdict import Fault


@judge("CUR-4", "CUR-7", "CUR-8", "WIN-1", "WIN-2", "WIN-5", on=Resolved)
def the_declared_window_decides(run: Run, moment: Resolved) -> Iterator[Judgement]:
    """The answer to a good cursor, where the declaration surely grants it or surely does not."""
    exchange = moment.exchange
    if exchange.bearing is not Bearing.GOOD or exchange.life is not Life.LIVE or not exchange.owner_asks:
        return
    if exchange.resolution not in (Resolution.GRANTED, Resolution.REFUSED):
        return
    judged = holding(run, exchange)
    boundary = run.declaration.window_events is not None and judged.behind - run.declaration.window_events in (0, 1)
    granted = exchange.resolution is Resolution.GRANTED
    match judged.holding, granted:
        case Holding.UNSURE, _:
            return
        case Holding.HELD, True:
            yield Held("CUR-7")
            yield Held("WIN-5")
            if boundary:
                yield Held("CUR-8")
        case Holding.HELD, False:
            yield from _refused(run, moment, judged, boundary)
        case Holding.COUNT | Holding.AGE, False:
            yield Held("CUR-4")
            yield Held("CUR-7")
            yield Held("WIN-1" if judged.holding is Holding.COUNT else "WIN-2")
            if boundary:
                yield Held("CUR-8")
        case _, True:
            if exchange.view is not None:
                exchange.view.beyond = judged.holding.value  # decided when it delivers what should be gone


def _refused(run: Run, moment: Resolved, judged: Judged, boundary: bool) -> Iterator[Judgement]:
    exchange, cursor = moment.exchange, moment.exchange.cursor
    # The seed's listing refuses every cursor when nothing is retained; that is accepted too.
    if cursor is None or judged.maybe_empty or (exchange.rivals and run.declaration.takeover is False):
        return
    what = (
        f"the cursor {position(cursor)} was refused ({exchange.status}), and the declared window holds all that follows"
    )
    shown = evidence(cursor.exchange, exchange, show=(cursor.seen,), last=moment.seen)
    for clause in ("CUR-7", "WIN-5", *(["CUR-8"] if boundary or exchange.newest else [])):
        yield Broken(clause, Fault.GOOD_CURSOR_REFUSED, what, shown)


@judge("WIN-1", "WIN-2", on=Delivered, only=AGAIN)
def nothing_more_is_held(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """The first event after a cursor, delivered although the declared window cannot hold it."""
    view, event = moment.view, moment.event
    if not view.beyond or event is None or moment.first or event.stream is not view.stream:
        return
    if event is not next(view.stream.after(view.cursor), None) or not view.once("WIN"):
        return
    by_count = view.beyond == Holding.COUNT.value
    limit = _size(run.declaration) if by_count else f"{run.declaration.window_ms} ms"
    yield Broken(
        "WIN-1" if by_count else "WIN-2",
        Fault.UNBOUNDED_MEMORY,
        f"{named(event)} was still held, beyond the declared window of {limit}",
        evidence(event.exchange, view.exchange, show=(event.seen, *cursor_of(view)), last=moment.seen),
    )


def _size(declaration: Declaration) -> str:
    """The declared N, and B where it is declared too: either may be what is exceeded."""
    bytes_ = "" if declaration.window_bytes is None else f" and {declaration.window_bytes} bytes"
    return f"{declaration.window_events} events{bytes_}"


@judge("WIN-4", on=Resolved)
def nothing_outlives_its_session(run: Run, moment: Resolved) -> Iterator[Judgement]:
    """A terminated session's cursor, on that session or on another."""
    exchange = moment.exchange
    if exchange.resolution is Resolution.REFUSED and _of_the_dead(run, exchange):
        yield Held("WIN-4")


def _of_the_dead(run: Run, exchange: Exchange) -> bool:
    issued = run.issued_as(exchange.request.cursors[-1])
    return any(event.session.life is Life.TERMINATED for event in issued)


@judge("WIN-4", on=Delivered, only=AGAIN)
def the_dead_deliver_nothing(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """An event of a terminated session, on a request made after its end."""
    view, owned = moment.view, moment.owned
    event = owned if owned is not None else moment.event
    if event is None or not frame_of(moment.seen).has_data or (owned is None and moment.first):
        return
    ended = event.session.ended
    if ended is None or view.exchange.asked.index < ended.index or not view.once("WIN-4"):
        return
    yield Broken(
        "WIN-4",
        Fault.UNBOUNDED_MEMORY,
        f"{named(event)} of a terminated session was still held",
        evidence(event.exchange, event.session.terminator, view.exchange, show=(event.seen,), last=moment.seen),
    )


@judge("WIN-6", on=Rested)
def a_healthy_reader_is_not_overtaken(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A view that was read without pause, while its own stream emitted more than the window holds."""
    view, limit = moment.view, run.declaration.window_events
    exchange = view.exchange
    if limit is None or exchange.pauses or not moment.over or exchange.bad:
        return
    if view.ended_because == "overtaken" and _is_alone(run, view):
        if not _may_have_aged(run, view, moment.seen.at) and view.once("WIN-6"):
            yield Broken(
                "WIN-6",
                Fault.HEALTHY_VIEW_ENDED,
                "a view that was read all the time was ended as overtaken by its own stream",
                evidence(exchange, show=(view.last_word,), last=moment.seen),
            )
    elif exchange.ended_by is Party.SERVER and view.ended_because is None:
        news = [event for event in view.order if event.exchange is exchange]
        if len(news) > limit and view.stream.finished is not None and view.once("WIN-6"):
            yield Held("WIN-6")


def _may_have_aged(run: Run, view: View, at: int) -> bool:
    """Whether the declared age may have taken an event of the stream: a busy machine can keep a reader that long."""
    age = run.declaration.window_ms
    return age is not None and at - view.stream.opener.asked.at >= max(0, age - SLACK_MS)


def _is_alone(run: Run, view: View) -> bool:
    """Whether no other stream of the session can have emitted anything while the view was open."""
    since, session = view.exchange.asked.index, view.stream.session
    if run.chatty or any(stream.kind is StreamKind.UNKNOWN for stream in session.streams):
        return False
    for call in session.calls.values():
        if call is view.stream.call:
            continue
        seen = [session.known(key) for key in call.pushed or ()]
        if any(event is None or event.seen.index > since for event in seen):
            return False
        finished = call.stream.finished if call.stream is not None else None
        if call.stream is not None and (finished is None or finished.index > since):
            return False
    return True
