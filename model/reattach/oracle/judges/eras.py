"""ERA: a revision without sessions has no resumption."""

from collections.abc import Iterator

from reattach.oracle.evidence import evidence
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.judges.sessions import ADMISSION, is_success
from reattach.oracle.moments import SESSIONLESS, Answered, Delivered
from reattach.oracle.record import Run, frame_of
from reattach.oracle.verdict import Fault


@judge("ERA-1", on=Answered, only=SESSIONLESS)
def nothing_of_the_old_remains(run: Run, moment: Answered) -> Iterator[Judgement]:
    """A request under a revision without sessions, to a server that speaks it."""
    exchange, response = moment.exchange, moment.exchange.response
    if exchange.has_resumption or response is None or exchange.status in ADMISSION or not run.speaks_sessionless:
        return
    revision = exchange.revision.value
    shown = evidence(exchange, last=moment.seen)
    if exchange.method in ("GET", "DELETE"):
        if exchange.status == 405:
            yield Held("ERA-1")
        else:
            served = is_success(exchange.status)
            fault = Fault.RESUMPTION_IN_SESSIONLESS_REVISION if served else Fault.WRONG_STATUS
            what = f"{exchange.method} under {revision} was answered {exchange.status}, not 405"
            yield Broken("ERA-1", fault, what, shown)
    elif is_success(exchange.status) and response.session is not None:
        what = f"a session id was issued under {revision}"
        yield Broken("ERA-1", Fault.RESUMPTION_IN_SESSIONLESS_REVISION, what, shown)
    elif is_success(exchange.status):
        yield Held("ERA-1")
    elif exchange.request.session is not None or exchange.request.cursors:
        what = f"a POST under {revision} was answered {exchange.status} for a header that means nothing there"
        yield Broken("ERA-1", Fault.WRONG_STATUS, what, shown)


@judge("ERA-1", on=Delivered, only=SESSIONLESS)
def events_have_no_ids(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """An event under a revision without sessions."""
    exchange = moment.view.exchange
    if exchange.has_resumption:
        return
    if not frame_of(moment.seen).id:
        yield Held("ERA-1")
        return
    yield Broken(
        "ERA-1",
        Fault.RESUMPTION_IN_SESSIONLESS_REVISION,
        f"an event was given an id under {exchange.revision.value}",
        evidence(exchange, last=moment.seen),
    )
