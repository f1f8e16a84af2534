"""SES: what a session id means, from its issue to its end."""

from collections.abc import Iterable, Iterator

from reattach.oracle.evidence import evidence, issued_of, named
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.moments import (
    DELETES,
    NAMELESS,
    NOT_LIVE,
    OPENS,
    STRANGER,
    TERMINATED,
    Answered,
    Delivered,
    Rested,
)
from reattach.oracle.observation import Party
from reattach.oracle.record import Exchange, Life, Run, Session, View, drained, may_have_ended
from reattach.oracle.verdict import Fault, Kind

ADMISSION = frozenset({401, 403, 406, 415, 429, 503})
"""Answers that say nothing about the session: the request was not let in, or not now."""


def is_visible(text: str) -> bool:
    """Whether a text is one or more visible ASCII characters, as a header keeps them."""
    return text.isascii() and text.isprintable() and text != "" and " " not in text


def is_success(status: int) -> bool:
    """2xx."""
    return 200 <= status < 300


def is_unsupported(run: Run, exchange: Exchange) -> bool:
    """405 or 501 for a method that the server has not been seen to support."""
    return exchange.status in (405, 501) and exchange.method not in run.accepts


@judge("SES-1", on=Answered, only=OPENS)
def ids_are_visible(run: Run, moment: Answered) -> Iterator[Judgement]:
    """The id in the answer to initialize."""
    exchange, response = moment.exchange, moment.exchange.response
    if exchange.request.rpc_method != "initialize" or response is None or response.session is None:
        return
    if not is_success(response.status) or not exchange.has_resumption:
        return
    if is_visible(response.session):
        yield Held("SES-1")
        return
    yield Broken(
        "SES-1",
        Fault.INVALID_ID,
        "initialize was answered with a session id that is not visible ASCII",
        evidence(exchange, last=moment.seen),
    )


@judge("SES-2", "SES-4", on=Answered, only=NOT_LIVE)
def terminated_sessions_are_gone(run: Run, moment: Answered) -> Iterator[Judgement]:
    """A request sent after the DELETE was answered."""
    exchange, session = moment.exchange, moment.exchange.session
    if session is None or exchange.life is not Life.TERMINATED or not exchange.owner_asks:
        return
    if exchange.status in ADMISSION or is_unsupported(run, exchange):
        return
    if exchange.status == 404:
        yield Held("SES-2")
        yield Held("SES-4")
        return
    what = f"{exchange.method} under a session that DELETE had terminated was answered {exchange.status}, not 404"
    shown = evidence(session.terminator, exchange, last=moment.seen)
    yield Broken("SES-2", Fault.WRONG_STATUS, what, shown)
    if is_success(exchange.status) and exchange.method != "DELETE":
        alive = f"{exchange.method} under a session that DELETE had terminated was served ({exchange.status})"
        yield Broken("SES-4", Fault.SESSION_RESURRECTED, alive, shown)


@judge("SES-4", on=Answered, only=OPENS)
def ids_are_not_issued_again(run: Run, moment: Answered) -> Iterator[Judgement]:
    """An initialize that is given the id of an earlier session, which DELETE or a restart has ended."""
    exchange, earlier = moment.exchange, moment.exchange.reissues
    if earlier is None or moment.seen is not exchange.answer:
        return
    if earlier.terminator is not None:
        how, end = "that DELETE had terminated", earlier.terminator
    elif earlier.restarted and earlier.opener is not None:
        how, end = "from before the server was restarted, whose client was told nothing", earlier.opener
    else:
        return
    yield Broken(
        "SES-4",
        Fault.SESSION_RESURRECTED,
        f"initialize was answered with the id of a session {how}",
        evidence(end, exchange, last=moment.seen),
    )


@judge("SES-4", on=Delivered, only=TERMINATED)
def terminated_sessions_deliver_nothing(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """A message on a view that was open when the session was terminated."""
    exchange, session = moment.view.exchange, moment.stream.session
    if session.ended is None or moment.event is None or not moment.event.message:
        return
    if exchange.life is Life.TERMINATED or not drained(exchange, moment.seen, session.ended):
        return  # what was sent before the DELETE may still be on its way
    yield Broken(
        "SES-4",
        Fault.SESSION_RESURRECTED,
        f"an event came {moment.seen.at - session.ended.at} ms after the DELETE of its session was answered",
        evidence(session.terminator, exchange, last=moment.seen),
    )


@judge("SES-3", on=Answered, only=NAMELESS)
def missing_ids_are_told(run: Run, moment: Answered) -> Iterator[Judgement]:
    """A request other than initialize without a session id, to a server that issues them."""
    exchange = moment.exchange
    if exchange.request.session is not None or exchange.request.rpc_method == "initialize":
        return
    if run.sessions_issued == 0 or not exchange.has_resumption:
        return
    if exchange.status in ADMISSION or is_unsupported(run, exchange):
        return
    if exchange.status == 400:
        yield Held("SES-3")
        return
    yield Broken(
        "SES-3",
        Fault.WRONG_STATUS,
        f"{exchange.method} without a session id was answered {exchange.status}, not 400",
        evidence(exchange, last=moment.seen),
        # A server that serves such a request does not require an id, and the text binds only one that does.
        Kind.UNDEFINED_AREA if is_success(exchange.status) else None,
    )


@judge("SES-5", on=Delivered)
def sessions_are_isolated(run: Run, moment: Delivered) -> Iterable[Judgement]:
    """A message that can be told to be another session's, or this one's."""
    if moment.owner is not None:
        return (_leak(run, moment),)
    return _ISOLATED if moment.owner_call is not None and run.sessions_issued > 1 else ()


_ISOLATED = (Held("SES-5"),)


def _leak(run: Run, moment: Delivered) -> Broken:
    view, owned = moment.view, moment.owned
    asked = f"a resumption with {_whose_cursor(view)}" if view.exchange.request.cursors else "a request with no cursor"
    return Broken(
        "SES-5",
        Fault.CROSS_SESSION_LEAK,
        f"{asked} was given {named(owned) if owned else 'a message'} of another session",
        evidence(
            owned.exchange if owned is not None else moment.owner_exchange,
            *cursor_source(view),
            view.exchange,
            show=(owned.seen if owned is not None else None, *issued_of(run, view.exchange)),
            last=moment.seen,
        ),
    )


def _whose_cursor(view: View) -> str:
    if view.exchange.bad:
        return "another session's cursor"
    return "its own cursor" if view.resumed else "a cursor that may be anyone's"


def cursor_source(view: View) -> tuple[Exchange, ...]:
    """The exchange that gave a view's cursor."""
    return (view.cursor.exchange,) if view.cursor is not None else ()


@judge("SES-6", on=Answered, only=DELETES)
def delete_terminates(run: Run, moment: Answered) -> Iterator[Judgement]:
    """DELETE of a living session."""
    exchange, session = moment.exchange, moment.exchange.session
    if session is None or exchange.method != "DELETE" or exchange.life is not Life.LIVE or not exchange.owner_asks:
        return
    if exchange.status in ADMISSION:
        return
    if exchange.status == 405 or (is_success(exchange.status) and not session.open_at_end):
        yield Held("SES-6")
    elif not is_success(exchange.status) and not (exchange.status == 404 and _may_be_gone(run, exchange, session)):
        yield Broken(
            "SES-6",
            Fault.WRONG_STATUS,
            f"DELETE of a living session was answered {exchange.status}, neither 2xx nor 405",
            evidence(exchange, last=moment.seen),
        )


def _may_be_gone(run: Run, exchange: Exchange, session: Session) -> bool:
    """Whether a session may have ended before its DELETE: a server that declares no budget may end it at any time."""
    undeclared = run.declaration.absence_ms is None
    return undeclared or session.restarted or exchange.follows is not None or may_have_ended(run, exchange)


@judge("SES-6", on=Answered, only=NOT_LIVE)
def what_is_not_there_is_not_served(run: Run, moment: Answered) -> Iterator[Judgement]:
    """A request after a DELETE that was answered 404: one that is served shows that there was a session to end."""
    exchange, session = moment.exchange, moment.exchange.session
    if session is None or session.id is None or exchange.life is not Life.GONE or session.restarted:
        return
    refused = session.lost
    if refused is None or refused.method != "DELETE" or exchange.method == "DELETE" or not exchange.owner_asks:
        return
    if is_success(exchange.status):
        yield Broken(
            "SES-6",
            Fault.WRONG_STATUS,
            f"DELETE of a session was answered 404, and {exchange.method} under it was served ({exchange.status})",
            evidence(refused, exchange, last=moment.seen),
        )


@judge("SES-6", on=Rested, only=TERMINATED)
def delete_ends_the_views(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A view that was open when its session was terminated."""
    view, session = moment.view, moment.view.stream.session
    if session.ended is None or view not in session.open_at_end or moment.seen.index < session.ended.index:
        return
    if view.exchange.ended_by in (Party.SERVER, Party.NETWORK):
        if view.once("SES-6"):
            yield Held("SES-6")
    elif not moment.over and view.once("SES-6"):
        yield Broken(
            "SES-6",
            Fault.STREAM_NOT_ENDED,
            "DELETE was answered with success, and a view of the session stayed open",
            evidence(session.terminator, view.exchange, last=moment.seen),
        )


@judge("SES-7", on=Answered, only=STRANGER)
def principals_are_apart(run: Run, moment: Answered) -> Iterator[Judgement]:
    """A request on a living session from a principal that did not open it."""
    exchange, session = moment.exchange, moment.exchange.session
    if session is None or exchange.owner_asks or exchange.life is not Life.LIVE:
        return
    if session.principal is None or exchange.request.principal is None or exchange.status in (401, 429, 503):
        return
    if is_unsupported(run, exchange):
        return
    if exchange.status == 404 or exchange.status in run.never_statuses.get(exchange.method, ()):
        yield Held("SES-7")
        return
    served = is_success(exchange.status)
    yield Broken(
        "SES-7",
        Fault.PRINCIPAL_CONFUSION if served else Fault.WRONG_STATUS,
        f"{exchange.method} by {exchange.request.principal} on a session of {session.principal} was answered"
        f" {exchange.status}, not as an unknown session is",
        evidence(exchange, last=moment.seen),
    )


@judge("SES-8", on=Answered, only=NOT_LIVE)
def unknown_ids_are_told(run: Run, moment: Answered) -> Iterator[Judgement]:
    """A request under an id that no answer ever carried."""
    exchange = moment.exchange
    if exchange.session is None or exchange.life is not Life.NEVER or run.sessions_issued == 0:
        return
    if exchange.status in ADMISSION or is_unsupported(run, exchange):
        return
    if len(run.never_statuses) < 64:
        run.never_statuses.setdefault(exchange.method, set()).add(exchange.status)
    if exchange.status == 404:
        yield Held("SES-8")
        return
    yield Broken(
        "SES-8",
        Fault.WRONG_STATUS,
        f"{exchange.method} under a session id that was never issued was answered {exchange.status}, not 404",
        evidence(exchange, last=moment.seen),
    )


def is_being_terminated(session: Session) -> bool:
    """Whether a DELETE was answered or is under way: what it brings about may be seen before its answer."""
    under_way = (other for other in session.open_exchanges() if other.request.method == "DELETE")
    return session.ended is not None or session.unfollowed or any(other.answer is None for other in under_way)


def is_anonymous(run: Run, session: Session) -> bool:
    """Whether a session may be several clients that cannot be told apart."""
    return session.id is None and run.anonymous_clients != 1
