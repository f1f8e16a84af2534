"""Ends, silence, and what a driver says of a call."""

from collections.abc import Iterator

from reattach.oracle.message import (
    label_of_key,
)
from reattach.oracle.moments import (
    CallSettled,
    Explained,
    Moment,
    Resolved,
    Rested,
    Unanswered,
)
from reattach.oracle.observation import (
    Closed,
    Expect,
    Party,
    Settled,
)
from reattach.oracle.reconstruct.answers import note_cancellation, note_refusal
from reattach.oracle.reconstruct.owners import enter_claim
from reattach.oracle.record import (
    Exchange,
    Resolution,
    Run,
    Seen,
    Session,
    shows_life,
)


def end_exchange(run: Run, seen: Seen, exchange: Exchange, closed: Closed) -> None:
    """Note the end of an exchange, whatever it means."""
    exchange.end, exchange.ended_by, exchange.ended_cleanly = seen, closed.by, closed.clean
    run.unended.pop(exchange.number, None)
    run.ended.append(exchange)
    session = exchange.session
    if session is not None:
        session.open.pop(exchange.number, None)
    if session is not None and exchange.owner_asks and shows_life(run, exchange):
        # When the server ended what was not read for a while, nobody can say: it may have long before the client did.
        session.last_sign = None if exchange.pauses else max(session.last_sign or seen.at, seen.at)
    if exchange.view is not None:
        exchange.view.steady = None


def take_closed(run: Run, seen: Seen, exchange: Exchange, closed: Closed) -> Iterator[Moment]:
    """Enter the end of an exchange."""
    end_exchange(run, seen, exchange, closed)
    if exchange.view is not None:
        yield Rested(exchange.view, seen)
        if exchange.view.stream.session.doubts:
            yield from _doubts(exchange.view.stream.session)
    elif exchange.answer is None:
        if exchange.resumes and exchange.resolution is None and exchange.ended_by is Party.SERVER:
            exchange.resolution = Resolution.CRASHED
            note_refusal(exchange)
            yield Resolved(exchange, seen)
        yield Unanswered(exchange, seen)
    elif not exchange.explained:
        exchange.explained = True
        note_cancellation(exchange)
        yield Explained(exchange, seen)


def _doubts(session: Session) -> Iterator[Moment]:
    """What was in doubt while a view of the session had not rested, to be judged again."""
    doubts, session.doubts = session.doubts, []
    yield from doubts


def take_quiet(seen: Seen, exchange: Exchange) -> Iterator[Moment]:
    """Enter a silence, on a view or before any answer."""
    if exchange.view is not None:
        exchange.quiet = exchange.rested = seen
        if exchange.view.resumed and exchange.view not in exchange.view.stream.silent:
            exchange.view.stream.silent.append(exchange.view)
        yield Rested(exchange.view, seen)
        yield from _doubts(exchange.view.stream.session)
    elif exchange.answer is None:
        exchange.hung = seen
        if exchange.resumes and exchange.resolution is None:
            exchange.resolution = Resolution.HUNG
            note_refusal(exchange)
            yield Resolved(exchange, seen)
        yield Unanswered(exchange, seen)


def take_expectation(run: Run, seen: Seen, expect: Expect) -> None:
    """Enter what a driver knows of a call."""
    exchange = run.exchanges.get(expect.connection)
    if exchange is None:
        if len(run.early) < 64:
            run.early.setdefault(expect.connection, []).append(seen)
            del run.early[expect.connection][:-8]
        return
    call = exchange.call
    if call is None:
        run.strays += 1
        return
    seen.exchange = exchange
    if exchange.session is not None:
        exchange.session.touched += 1
    keys = expect.keys[-run.horizon :] if len(expect.keys) > run.horizon else expect.keys
    if expect.standalone:
        call.pushed = keys
        call.push_expectation = seen
    else:
        call.expected, call.origin, call.expectation = keys, expect.origin, seen
        call.pace_ms = expect.pace_ms
        if expect.origin == "numbered" and len(set(keys)) == len(keys):
            call.places = {key: place for place, key in enumerate(keys)}
    if expect.origin == "numbered":
        some = {key.rstrip("0123456789") if key[-1:].isdigit() else key: key for key in keys}  # one of each series
        for label in {label_of_key(key) for key in some.values()} - {None}:
            enter_claim(run, str(label), call)


def take_settled(run: Run, seen: Seen, settled: Settled) -> Iterator[Moment]:
    """Enter that a driver has finished with a call."""
    exchange = run.exchanges.get(settled.connection)
    if exchange is None or exchange.call is None:
        run.strays += 1
        return
    exchange.call.settled = seen
    yield CallSettled(exchange.call, run.exchanges.get(settled.last), seen)


def take_restarted(run: Run) -> None:
    """Enter that the server was restarted: it may have forgotten every session and event from before."""
    for session in run.sessions.values():
        session.restarted = True
        session.refused = None
    run.restarts += 1
