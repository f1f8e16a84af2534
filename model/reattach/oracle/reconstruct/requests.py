"""A request: whose it is, what it asks for, and what its cursor means."""

from reattach.machine.revision import TRAITS, Revision
from reattach.oracle.bearing import bearing_of
from reattach.oracle.message import (
    labels_claimed,
    request_ids,
)
from reattach.oracle.observation import (
    Expect,
    Party,
    Request,
)
from reattach.oracle.reconstruct.endings import take_expectation
from reattach.oracle.reconstruct.errors import ObservationError
from reattach.oracle.reconstruct.forgetting import prune
from reattach.oracle.reconstruct.owners import enter_claim
from reattach.oracle.record import (
    BAD,
    JUST_CUT_MS,
    Bearing,
    Call,
    Exchange,
    Life,
    Run,
    Seen,
    Session,
    View,
    may_have_ended,
    shows_life,
)

_REVISIONS = {revision.value: revision for revision in Revision}
_SESSIONLESS = tuple(revision for revision in Revision if not TRAITS[revision].resumption)


def take_request(run: Run, seen: Seen, request: Request) -> None:
    """Enter a request, with what its cursor means now. Raises ObservationError."""
    if request.connection in run.exchanges:
        raise ObservationError(f"connection {request.connection} already had a request")
    named = _REVISIONS.get(request.revision or "", run.revision)
    opens = request.rpc_method == "initialize" and request.session is None
    session = _session(run, request.session) if named not in _SESSIONLESS and not opens else None
    revision = named if request.revision or session is None else session.revision
    exchange = Exchange(
        number=request.connection,
        asked=seen,
        request=request,
        session=session,
        revision=revision,
        has_resumption=revision not in _SESSIONLESS,
        life=session.life if session is not None else Life.UNKNOWN,
    )
    run.exchanges[request.connection] = run.unended[request.connection] = exchange
    run.terse = run.terse or (request.payload is None and request.rpc_method is not None)
    if request.principal is not None and len(run.principals) < 2:
        run.principals.add(request.principal)
    _enter_call(run, exchange)
    if request.cursors and exchange.has_resumption:
        exchange.resumes = request.method == "GET" or (request.method == "POST" and exchange.call is None)
    if session is not None:
        session.touched += 1
        if request.cursors:
            known = bearing_of(run, session, request.cursors)
            exchange.bearing, exchange.cursor, exchange.bad = known.bearing, known.event, known.bearing in BAD
            if known.event is not None:
                exchange.rivals = [v for v in known.event.stream.views if _is_believed_in(v, seen.at)]
                exchange.newest = next(known.event.stream.after(known.event), None) is None
        _note_absence(run, session, exchange)
        if session.refused is not None and not exchange.resumes and exchange.owner_asks:
            exchange.follows, session.refused = session.refused, None
        session.exchanges[exchange.number] = session.open[exchange.number] = exchange
        if exchange.owner_asks and not may_have_ended(run, exchange):
            session.last_sign = seen.at  # else it is no sign unless it is answered: the session may be gone
    elif request.cursors:
        exchange.bearing = Bearing.UNKNOWN
    if request.method == "POST" and request.cursors:
        run.posts_with_cursor += 1
    prune(run, session)
    if run.early:
        for early in run.early.pop(request.connection, ()):
            if isinstance(early.raw, Expect):
                take_expectation(run, early, early.raw)


def _is_believed_in(view: View, at: int) -> bool:
    """Whether the server may take a view to be attached."""
    exchange = view.exchange
    if exchange.end is None:
        return True
    return exchange.ended_by is Party.CLIENT and at - exchange.end.at <= JUST_CUT_MS


def _session(run: Run, name: str | None) -> Session | None:
    if name is None:
        return run.anonymous
    session = run.sessions.pop(name, None)
    if session is None:
        life = Life.NEVER if run.complete and not run.forgotten_sessions else Life.UNKNOWN
        session = Session(name, life, run.revision)
    run.sessions[name] = session  # the one that was asked for last is forgotten last
    return session


def _enter_call(run: Run, exchange: Exchange) -> None:
    request = exchange.request
    if request.method != "POST":
        return
    ids = set(request_ids(request.payload))
    if request.payload is None and request.rpc_id is not None:
        ids = {str(request.rpc_id)}
    if not ids:
        return
    call = exchange.call = Call(exchange, frozenset(ids), ids)
    session = exchange.session
    if session is None:
        return
    for name in call.ids:
        if name in session.calls:
            session.reused.add(name)
        session.calls[name] = call
        asking = run.asked_ids.setdefault(name, [])
        if session not in asking:
            asking.append(session)
            del asking[:-8]
    for label in labels_claimed(request.payload):
        enter_claim(run, label, call)


def _note_absence(run: Run, session: Session, exchange: Exchange) -> None:
    """How long the session had been left alone when this came: surely, and at most."""
    if session.unfollowed:
        return
    others = False
    for other in session.open.values():
        if other is not exchange and other.is_open:
            others = True
            if not other.paused and shows_life(run, other):
                exchange.away_ms = 0
                return
    if session.last_sign is None:
        return
    exchange.away_ms = exchange.asked.at - session.last_sign
    running = (name for call in session.running.values() for name in call.ids if session.calls.get(name) is call)
    if not others and not any(True for _ in running):
        exchange.idle_ms = exchange.away_ms
