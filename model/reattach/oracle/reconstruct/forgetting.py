"""The bounds of the record: what is dropped when there is more of it than the horizon."""

from collections.abc import Mapping

from attrs import evolve

from reattach.oracle.observation import (
    Body,
    Frame,
    Request,
)
from reattach.oracle.record import (
    Life,
    Run,
    Session,
)

KEPT_BYTES = 4_096
"""The largest message that the record keeps whole; of a larger one it keeps what names it."""


def prune(run: Run, session: Session | None) -> None:
    """Drop what is beyond the horizon."""
    while len(run.exchanges) > run.horizon:
        number = next((n for n, e in run.exchanges.items() if not e.is_open), None)
        if number is None:
            break
        run.exchanges.pop(number)
    while len(run.sessions) > run.horizon:
        name = next((n for n, s in run.sessions.items() if s.life is not Life.LIVE), next(iter(run.sessions)))
        _forget_session(run, run.sessions.pop(name))
    while len(run.claims) > run.horizon:
        run.claims.pop(next(iter(run.claims)))
    while len(run.asked_ids) > run.horizon:
        run.asked_ids.pop(next(iter(run.asked_ids)))
    if session is None:
        return
    while len(session.exchanges) > run.horizon:
        number = next((n for n, e in session.exchanges.items() if not e.is_open), next(iter(session.exchanges)))
        session.open.pop(number, None)
        session.exchanges.pop(number).forget()
    while len(session.calls) > run.horizon:
        session.calls.pop(next(iter(session.calls)))
    if len(session.streams) > run.horizon:
        session.streams = [s for s in session.streams if s.log or any(True for _ in s.open_views())][-run.horizon :]


def forget_event(run: Run, session: Session) -> None:
    """Drop the oldest event of a session."""
    name = next(iter(session.events))
    event = session.events.pop(name)
    session.forgotten += 1
    session.keys.pop(event.key, None)
    event.stream.drop(event)
    issued = run.issued.get(name, [])
    if event in issued:
        issued.remove(event)
    if not issued:
        run.issued.pop(name, None)


def _forget_session(run: Run, session: Session) -> None:
    run.forgotten_sessions += 1
    while session.events:
        forget_event(run, session)


def compact(observation: Request | Body | Frame) -> Request | Body | Frame:
    """The observation as the record keeps it: a large message is replaced by what names it and its size in bytes."""
    size = observation.size if isinstance(observation, Body | Frame) else 0
    if isinstance(observation, Request) or size <= KEPT_BYTES or not isinstance(observation.payload, Mapping):
        return observation if size <= KEPT_BYTES else evolve(observation, payload=None)
    kept = {
        name: value
        for name, value in observation.payload.items()
        if name in ("jsonrpc", "id", "method") and isinstance(value, str | int)
    }
    return evolve(observation, payload={**kept, "elided": size})
