"""Which observation is entered where."""

from collections.abc import Callable, Iterable
from typing import Any

from reattach.oracle.flat import FlatFrame
from reattach.oracle.moments import (
    Moment,
)
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Exited,
    Expect,
    Frame,
    Printed,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Restarted,
    Settled,
)
from reattach.oracle.reconstruct.answers import take_body, take_response
from reattach.oracle.reconstruct.endings import take_closed, take_expectation, take_quiet, take_restarted, take_settled
from reattach.oracle.reconstruct.errors import ObservationError
from reattach.oracle.reconstruct.events import take_comment, take_frame
from reattach.oracle.reconstruct.requests import take_request
from reattach.oracle.record import (
    Exchange,
    Pause,
    Run,
    Seen,
)


def take(run: Run, seen: Seen) -> Iterable[Moment]:
    """Enter one observation into the record and report the moments it brings. Raises ObservationError.

    Those of a frame are there at once. The others come as the record grows, so they have to be taken one by one.
    """
    observation = seen.raw
    kind = type(observation)
    enter = _OF_AN_EXCHANGE.get(kind)
    if enter is not None or kind is FlatFrame or kind is Frame:
        exchange = run.exchanges.get(observation.connection)
        if exchange is None or exchange.end is not None:
            run.strays += 1
            return ()
        seen.exchange = exchange
        if exchange.session is not None:
            exchange.session.touched += 1
        if enter is not None:
            return enter(run, seen, exchange, observation)
        if exchange.view is None:
            run.strays += 1
            return ()
        return take_frame(run, seen, exchange.view)
    match observation:
        case Request():
            take_request(run, seen, observation)
        case Expect():
            take_expectation(run, seen, observation)
        case Settled():
            return take_settled(run, seen, observation)
        case Restarted():
            take_restarted(run)
        case Printed() | Exited():
            pass  # of a client program: the server cannot be judged by them
        case _:
            raise ObservationError(f"not an observation: {kind.__name__}")
    return ()


_MOST_PAUSES = 256
"""So many of one exchange are remembered."""


def _response(run: Run, seen: Seen, exchange: Exchange, response: Response) -> Iterable[Moment]:
    return take_response(run, seen, exchange, response) if exchange.answer is None else _stray(run)


def _body(run: Run, seen: Seen, exchange: Exchange, body: Body) -> Iterable[Moment]:
    expected = exchange.answer is not None and exchange.view is None and exchange.body is None
    return take_body(run, seen, exchange, body) if expected else _stray(run)


def _comment(run: Run, seen: Seen, exchange: Exchange, comment: Comment) -> Iterable[Moment]:
    if exchange.view is None:
        return _stray(run)
    take_comment(exchange.view, seen, comment.text)
    return ()


def _paused(run: Run, seen: Seen, exchange: Exchange, _: ReadPaused) -> Iterable[Moment]:
    if exchange.paused:
        return _stray(run)
    exchange.pauses = (*exchange.pauses[-_MOST_PAUSES + 1 :], Pause(seen))
    return ()


def _read_on(run: Run, seen: Seen, exchange: Exchange, _: ReadResumed) -> Iterable[Moment]:
    if not exchange.paused:
        return _stray(run)
    exchange.pauses[-1].ended = seen
    return ()


def _quiet(run: Run, seen: Seen, exchange: Exchange, _: Quiet) -> Iterable[Moment]:
    return take_quiet(seen, exchange)


def _stray(run: Run) -> Iterable[Moment]:
    run.strays += 1
    return ()


_OF_AN_EXCHANGE: dict[type, Callable[[Run, Seen, Exchange, Any], Iterable[Moment]]] = {
    Response: _response,
    Body: _body,
    Comment: _comment,
    ReadPaused: _paused,
    ReadResumed: _read_on,
    Closed: take_closed,
    Quiet: _quiet,
}
"""What is entered where, of what comes on an exchange that is not over; but for frames."""
