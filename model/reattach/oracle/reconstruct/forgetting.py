"""The bounds of the record: what is dropped when there is more of it than the horizon."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from attrs import evolve

from reattach.machine.cursor import Presence
from reattach.oracle.flat import AnyFrame, FlatFrame
from reattach.oracle.observation import (
    Body,
    Json,
    Request,
)
from reattach.oracle.record import (
    EVERYTHING,
    Call,
    Event,
    Exchange,
    Run,
    Session,
    Stream,
)

NAMES = 8
"""So many ids of one event are remembered."""
KEPT_BYTES = 4_096
"""The largest message that the record keeps whole; of a larger one it keeps what names it."""


def prune(run: Run, session: Session | None) -> None:
    """Drop what is beyond the bounds, but for events. Told of a request, before anything else comes."""
    while len(run.ended) > 2 * run.horizon:
        _forget_exchange(run, run.ended.popleft())
    while len(run.unended) > run.horizon:
        _forget_exchange(run, run.unended.pop(next(iter(run.unended))))
    while len(run.sessions) > max(16, run.horizon // 4):
        _forget_session(run, run.sessions.pop(next(iter(run.sessions))))
    while len(run.claims) > run.horizon:
        run.claims.popitem(last=False)
    while len(run.asked_ids) > run.horizon:
        run.asked_ids.pop(next(iter(run.asked_ids)))
    if session is None:
        return
    while len(session.exchanges) > run.horizon:
        number = next((n for n in session.exchanges if n not in session.open), next(iter(session.exchanges)))
        _forget_exchange(run, session.exchanges[number])
    while len(session.calls) > run.horizon:
        session.calls.pop(next(iter(session.calls)))
        session.forgotten_calls += 1
    while len(session.claims) > run.horizon:
        session.claims.pop(next(iter(session.claims)))
        session.forgotten_calls += 1
    if len(session.reused) > run.horizon:
        session.reused = EVERYTHING
    if len(session.streams) > run.horizon:
        kept = [s for s in session.streams if not s.is_empty or any(True for _ in s.open_views())]
        for stream in kept[: -run.horizon]:
            if stream.log:
                _forget_early(run, session, max(event.seq for event in stream.log))
        session.streams = kept[-run.horizon :]


def _forget_exchange(run: Run, exchange: Exchange) -> None:
    """Drop an exchange and what is known only by it; its stream goes with the last event."""
    if run.exchanges.get(exchange.number) is not exchange:
        return  # forgotten already
    del run.exchanges[exchange.number]
    if exchange.session is not None:
        exchange.session.touched += 1
    run.unended.pop(exchange.number, None)
    run.forgotten_exchanges += 1
    run.unfollowed += exchange.is_open
    view, call, session = exchange.view, exchange.call, exchange.session
    if session is not None:
        session.exchanges.pop(exchange.number, None)
        session.open.pop(exchange.number, None)
        session.unfollowed = session.unfollowed or exchange.is_open or (call is not None and not call.answered)
        if view in session.open_at_end:
            session.open_at_end.remove(view)
        if call is not None:
            _forget_call(session, call)
    exchange.forget()
    if view is not None:
        view.stream.session.forgotten += 1
        _drop_empty(view.stream)


def _forget_call(session: Session, call: Call) -> None:
    session.forgotten_calls += 1
    session.touched += 1
    session.running.pop(call.exchange.number, None)
    call.stream = None
    for name in call.ids:
        if session.calls.get(name) is call:
            del session.calls[name]
    for label in call.labels:
        if session.claims.get(label) is call:
            del session.claims[label]


def _drop_empty(stream: Stream) -> None:
    """Take a stream of which nothing is left out of its session."""
    if stream.is_empty and not stream.views and stream in stream.session.streams:
        stream.session.streams.remove(stream)


def keep_event(run: Run, session: Session) -> None:
    """Remember the newest event of a session. Of it, and of all of them, the oldest are forgotten, many at a time."""
    run.kept.append(session)
    run.held += 1
    if run.held > run.most_held or session.seqs - session.floor > run.most_kept:
        _bound_events(run, session)


def _bound_events(run: Run, session: Session) -> None:
    if session.seqs - session.floor > run.most_kept:
        _forget_early(run, session, session.seqs - run.horizon)
    if run.held > run.most_held:
        left, forgotten = run.most_held // 4, Counter[Session]()  # so many that most stretches are dropped whole
        while left:
            for oldest, count in Counter([run.kept.popleft() for _ in range(left)]).items():
                already = min(count, oldest.overdue)
                oldest.overdue -= already
                forgotten[oldest] += count - already
                left -= count - already
        for oldest, count in forgotten.items():
            _forget_events(run, oldest, oldest.floor + count)


def _not_overdue(kept: Iterable[Session]) -> Iterator[Session]:
    for session in kept:
        if session.overdue:
            session.overdue -= 1
        else:
            yield session


def _forget_early(run: Run, session: Session, floor: int) -> None:
    """Drop the events of a session up to a ``seq``, not because they are the oldest of all sessions."""
    session.overdue += floor - session.floor
    _forget_events(run, session, floor)
    if len(run.kept) > run.most_entries:
        run.kept = deque(_not_overdue(run.kept))


def keep_seq(run: Run, session: Session, seq: int, stream: int) -> None:
    """Remember the stream number that a seq was first seen with."""
    session.newest_seq = max(session.newest_seq, seq)
    session._seqs_seen.setdefault(seq, stream)
    if len(session._seqs_seen) > 2 * run.horizon:
        session._seqs_seen.pop(next(iter(session._seqs_seen)))


def _forget_events(run: Run, session: Session, floor: int) -> None:
    """Drop the events of a session up to a ``seq``."""
    count = floor - session.floor
    session.floor = floor
    session.touched += 1
    run.held -= count
    run.forgotten_events += count
    session.forgotten += count
    if floor == session.seqs:  # all of them, as is usual of a session that is over
        session.doubts.clear()
        session._events, session._keys, session._seqs_seen = {}, {}, {}  # what was emptied would keep its room
    for stream in list(session.streams):
        noted = stream.stretch is not None and stream.stretch.forget(floor)
        old = [event for event in stream._log if event.seq <= floor]
        for event in old:
            _forget_names(run, session, event)
        if old:
            stream._log = [event for event in stream._log if event.seq > floor]
        if old or noted:
            for view in stream.views:
                view.trim_to(floor)
            _drop_empty(stream)


def bound_names(run: Run, session: Session, event: Event) -> None:
    """Drop the oldest of the ids that one event was given, if they are many."""
    if len(event.all_names) > NAMES:
        name, *names = event.all_names
        _forget_name(run, session, event, name)
        event.names = tuple(names)
        session.forgotten += 1


def _forget_name(run: Run, session: Session, event: Event, name: str) -> None:
    if session._events.get(name) is event:
        del session._events[name]
    run.take_back(name, event)


def _forget_names(run: Run, session: Session, event: Event) -> None:
    if event.names is not None:
        for name in event.names:
            _forget_name(run, session, event, name)
    elif event.id:
        _forget_name(run, session, event, event.id)
    if event.named is not None and session._keys.get(event.named) is event:
        del session._keys[event.named]
    if event.id_seq:
        session._seqs_seen.pop(event.id_seq, None)
    elif event.id and event.parsed.presence is Presence.PRESENT:
        session._seqs_seen.pop(event.parsed.seq, None)


def _forget_session(run: Run, session: Session) -> None:
    run.forgotten_sessions += 1
    for exchange in list(session.open.values()):
        _forget_exchange(run, exchange)
    _forget_early(run, session, session.seqs)
    session.streams, session.calls, session.claims, session.open_at_end = [], {}, {}, []
    session.opener = session.lost = session.terminator = session.refused = None
    session.forgotten_calls += 1


Kept = TypeVar("Kept", bound=Request | Body | AnyFrame)


def forget_all(run: Run) -> None:
    """Let go of everything, so that it is freed at once: what is remembered leads to itself in many ways."""
    for exchange in (*run.exchanges.values(), *run.ended):
        session, view = exchange.session, exchange.view
        if session is not None:
            _clear(session)
        if view is not None:
            _empty(view.stream)
            _clear(view.stream.session)
        if exchange.call is not None:
            exchange.call.stream = None
        exchange.forget()
        exchange.session = None
    for session in run.sessions.values():
        _clear(session)
    for known in (run.exchanges, run.unended, run.ended, run.kept, run.sessions, run.issued, run.stretches, run.claims,
                  run.asked_ids):  # fmt: skip
        known.clear()


def _empty(stream: Stream) -> None:
    stream.stretch = None
    for known in (stream._log, stream.views, stream.silent):
        known.clear()


def _clear(session: Session) -> None:
    for stream in session.streams:
        _empty(stream)
    for known in (session._events, session._keys, session.stretches, session.series, session.streams, session.calls,
                  session.running, session.claims, session.exchanges, session.open, session.doubts,
                  session.open_at_end):  # fmt: skip
        known.clear()
    session.opener = session.lost = session.terminator = session.refused = session.ended = None


def compact(observation: Kept) -> Kept:
    """The observation as the record keeps it: a large message is replaced by what names it and its size in bytes.

    A flat one is itself changed.
    """
    if isinstance(observation, Request) or observation.size <= KEPT_BYTES:
        return observation
    kept: Json = None
    if isinstance(observation.payload, Mapping):
        found = ((name, observation.payload[name]) for name in observation.payload if name in _NAMING)
        kept = {name: value for name, value in found if isinstance(value, str | int)} | {"elided": observation.size}
    if isinstance(observation, FlatFrame):
        observation.replace(kept)
        return observation
    return evolve(observation, payload=kept)


_NAMING = frozenset({"jsonrpc", "id", "method"})
