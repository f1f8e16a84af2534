"""MOD: every resumption request gets one decision, and the answer shows which."""

from collections.abc import Iterator

from reattach.oracle.evidence import cursor_of, evidence, position
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.moments import BAD, LISTENS, RESUMED, Answered, Delivered, Resolved, Rested
from reattach.oracle.record import Bearing, Life, Resolution, Run, frame_of
from reattach.oracle.verdict import Fault


@judge("MOD-1", on=Answered, only=LISTENS)
def a_plain_get_is_decided(run: Run, moment: Answered) -> Iterator[Judgement]:
    """A GET without a cursor: fresh, or refused."""
    exchange = moment.exchange
    if exchange.method != "GET" or exchange.request.cursors or not exchange.has_resumption:
        return
    if exchange.view is not None or 400 <= exchange.status < 500:
        yield Held("MOD-1")


@judge("MOD-1", on=Resolved)
def a_resumption_is_decided(run: Run, moment: Resolved) -> Iterator[Judgement]:
    """Refused, or not answered at all."""
    exchange = moment.exchange
    if exchange.resolution in (Resolution.REFUSED, Resolution.UNSUPPORTED):
        yield Held("MOD-1")
    elif exchange.bearing is Bearing.GOOD and exchange.life is Life.LIVE:
        parts = (exchange.cursor.exchange if exchange.cursor is not None else None, exchange)
        what = f"the resumption from {position(exchange.cursor)}"
        if exchange.resolution is Resolution.HUNG:
            shown = evidence(*parts, last=moment.seen)
            yield Broken("MOD-1", Fault.BAD_CURSOR_HANG, f"{what} got no answer", shown)
        elif exchange.resolution is Resolution.CRASHED:
            answer = f"HTTP {exchange.status}" if exchange.status else "a broken connection"
            shown = evidence(*parts, last=moment.seen)
            yield Broken("MOD-1", Fault.BAD_CURSOR_CRASH, f"{what} was answered with {answer}", shown)


@judge("MOD-1", on=Delivered, only=RESUMED)
def a_grant_shows(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """A position stated, or a message of the stream."""
    view = moment.view
    told = view.stated is not None or (moment.event is not None and frame_of(moment.seen).has_data)
    if view.resumed and told and view.once("MOD-1"):
        yield Held("MOD-1")


@judge("MOD-1", on=Rested, only=RESUMED | BAD)
def a_grant_is_not_silent(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A resumption that was answered with a stream that says nothing."""
    view, exchange = moment.view, moment.view.exchange
    if not exchange.resumes or exchange.bearing is Bearing.UNKNOWN or exchange.life is not Life.LIVE:
        return
    if not view.silent or not exchange.had_its_say:
        return
    if view.stated is not None or view.ended_because is not None:
        if view.once("MOD-1"):
            yield Held("MOD-1")
    elif view.once("MOD-1"):
        yield Broken(
            "MOD-1",
            Fault.POSITION_NOT_STATED if view.resumed else Fault.BAD_CURSOR_SILENT,
            "a resumption was answered with an event stream that shows nothing: re-attached, fresh, or lost?",
            evidence(*(event.exchange for event in [view.cursor] if event), exchange, show=cursor_of(view),
                     last=moment.seen),
        )  # fmt: skip
