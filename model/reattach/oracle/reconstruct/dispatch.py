"""Which observation is entered where."""

from collections.abc import Iterable, Iterator

from attrs import evolve

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
    if type(observation) is FlatFrame or type(observation) is Frame:
        exchange = run.exchanges.get(observation.connection)
        if exchange is None or exchange.end is not None or exchange.view is None:
            run.strays += 1
            return ()
        seen.exchange = exchange
        return take_frame(run, seen, exchange.view)
    return _take(run, seen)


def _take(run: Run, seen: Seen) -> Iterator[Moment]:
    match seen.observation:
        case Request() as request:
            take_request(run, seen, request)
        case Expect() as expect:
            take_expectation(run, seen, expect)
        case Settled() as settled:
            yield from take_settled(run, seen, settled)
        case Restarted():
            take_restarted(run, seen)
        case Printed() | Exited():
            return  # of a client program: the server cannot be judged by them
        case Response() | Body() | Comment() | ReadPaused() | ReadResumed() | Closed() | Quiet() as other:
            exchange = run.exchanges.get(other.connection)
            if exchange is None or exchange.end is not None:
                run.strays += 1
                return
            yield from _went_on(run, evolve(seen, exchange=exchange), exchange, other)
        case _:
            raise ObservationError(f"not an observation: {type(seen.observation).__name__}")


def _went_on(
    run: Run,
    seen: Seen,
    exchange: Exchange,
    other: Response | Body | Comment | ReadPaused | ReadResumed | Closed | Quiet,
) -> Iterator[Moment]:
    match other:
        case Response() as response if exchange.answer is None:
            yield from take_response(run, seen, exchange, response)
        case Body() as body if exchange.answer is not None and exchange.view is None and exchange.body is None:
            yield from take_body(run, seen, exchange, body)
        case Comment() as comment if exchange.view is not None:
            take_comment(exchange.view, seen, comment.text)
        case ReadPaused() if not exchange.paused:
            exchange.pauses.append(Pause(seen))
        case ReadResumed() if exchange.paused:
            exchange.pauses[-1].ended = seen
        case Closed():
            yield from take_closed(run, seen, exchange)
        case Quiet():
            yield from take_quiet(seen, exchange)
        case _:
            run.strays += 1
