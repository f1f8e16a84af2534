"""A status line or a whole body: what became of the request, of its session, and of its cursor."""

from collections.abc import Iterator, Mapping

from reattach.machine.revision import Revision
from reattach.oracle.message import (
    response_ids,
)
from reattach.oracle.moments import (
    Answered,
    Explained,
    Moment,
    Resolved,
)
from reattach.oracle.observation import (
    Body,
    Json,
    Response,
)
from reattach.oracle.reconstruct.forgetting import compact
from reattach.oracle.record import (
    EVENT_STREAM,
    Exchange,
    Life,
    Resolution,
    Run,
    Seen,
    Session,
    Stream,
    StreamKind,
    View,
    may_have_ended,
    shows_life,
)

_REVISIONS = {revision.value: revision for revision in Revision}


def take_response(run: Run, seen: Seen, exchange: Exchange, response: Response) -> Iterator[Moment]:
    """Enter a status line; what it opens or ends is in the record when the judges look."""
    exchange.answer, exchange.status = seen, response.status
    success = 200 <= response.status < 300
    if success:
        _note_abilities(run, exchange)
    if exchange.request.rpc_method == "initialize" and exchange.request.session is None and success:
        _open_session(run, seen, exchange, response)
    session = exchange.session
    if session is not None:
        _note_life(run, seen, exchange, session, success)
    if success and response.content_type == EVENT_STREAM:
        _open_view(run, exchange)
    elif session is not None:
        session.open.pop(exchange.number, None)
    yield Answered(exchange, seen)
    if exchange.resumes:
        exchange.resolution = _resolution(exchange, response)
        note_refusal(exchange)
        yield Resolved(exchange, seen)
    if session is not None and exchange.owner_asks and shows_life(run, exchange):
        session.last_sign = seen.at


def _note_abilities(run: Run, exchange: Exchange) -> None:
    if not exchange.has_resumption:
        run.speaks_sessionless = run.speaks_sessionless or exchange.method == "POST"
    elif exchange.session is not None and exchange.life is Life.LIVE and len(run.accepts) < 64:
        run.accepts.add(exchange.method)


def _open_session(run: Run, seen: Seen, exchange: Exchange, response: Response) -> None:
    if response.session is None:
        if exchange.has_resumption:
            run.anonymous_clients += 1
            run.anonymous = Session(None, Life.LIVE, exchange.revision, exchange.request.principal, exchange)
            _adopt(run, exchange, run.anonymous)
        return
    if not exchange.has_resumption:
        return  # a revision without sessions; ERA-1 judges it
    session = Session(response.session, Life.LIVE, exchange.revision, exchange.request.principal, exchange)
    exchange.reissues = run.sessions.get(response.session)
    run.sessions.pop(response.session, None)
    run.sessions[response.session] = session
    run.sessions_issued += 1
    session.last_sign = seen.at
    _adopt(run, exchange, session)


def _adopt(run: Run, exchange: Exchange, session: Session) -> None:
    """The initialize exchange belongs to the session that it opened."""
    exchange.session = session
    exchange.life = Life.LIVE
    session.exchanges[exchange.number] = session.open[exchange.number] = exchange
    if exchange.call is not None:
        for name in exchange.call.ids:
            session.calls[name] = exchange.call
            run.asked_ids.setdefault(name, []).append(session)
            del run.asked_ids[name][:-8]
        for label in exchange.call.labels:
            session.claims.setdefault(label, exchange.call)


def _note_life(run: Run, seen: Seen, exchange: Exchange, session: Session, success: bool) -> None:
    if exchange.method == "DELETE" and success and session.life in (Life.LIVE, Life.UNKNOWN, Life.GONE):
        session.life, session.ended, session.terminator = Life.TERMINATED, seen, exchange
        run.terminated = True
        session.refused = None
        session.open_at_end = [e.view for e in session.open_exchanges() if e.view is not None]
    elif success and session.life in (Life.UNKNOWN, Life.GONE):
        session.life = Life.LIVE
    elif exchange.status == 404 and session.life is Life.LIVE and exchange.owner_asks:
        if exchange.resumes and not may_have_ended(run, exchange):
            return  # a refusal of the cursor, it seems
        session.life, session.lost = Life.GONE, exchange


def _resolution(exchange: Exchange, response: Response) -> Resolution:
    status = response.status
    if 200 <= status < 300:
        return Resolution.GRANTED if exchange.view is not None else Resolution.ODD
    if status in (401, 403, 503):
        return Resolution.ADMISSION
    if status in (405, 501):
        return Resolution.UNSUPPORTED
    if status >= 500:
        return Resolution.CRASHED
    return Resolution.REFUSED if status >= 400 else Resolution.ODD


def note_refusal(exchange: Exchange) -> None:
    """Remember a resumption after which it shows whether the session has survived it (CUR-9, CUR-10)."""
    session = exchange.session
    if session is None or exchange.life is not Life.LIVE or not exchange.owner_asks:
        return
    harmless = exchange.resolution not in (Resolution.REFUSED, Resolution.CRASHED, Resolution.HUNG) and not exchange.bad
    if not harmless and (session.refused is None or session.refused.status != 404):
        session.refused = exchange  # of several that may have ended the session, the first


def _open_view(run: Run, exchange: Exchange) -> None:
    session = exchange.session
    if session is None:
        session = Session(None, Life.UNKNOWN, exchange.revision)  # a stream of nobody: kept apart, never compared
        if exchange.call is not None:
            session.calls = dict.fromkeys(exchange.call.ids, exchange.call)
    if exchange.resumes and exchange.cursor is not None:
        stream = exchange.cursor.stream
    elif exchange.resumes:
        stream = _open_stream(session, StreamKind.UNKNOWN, exchange)
    elif exchange.method == "GET":
        stream = _open_stream(session, StreamKind.STANDALONE, exchange)
    else:
        stream = _open_stream(session, StreamKind.REQUEST, exchange)
        stream.call = exchange.call
        if exchange.call is not None:
            exchange.call.stream = stream
            if not exchange.call.answered:
                session.running[exchange.number] = exchange.call
    cursor = exchange.cursor if exchange.resumes else None
    view = exchange.view = View(exchange, stream, cursor, position=cursor, last=cursor.anchor if cursor else None)
    view.ordinary = cursor is None and not exchange.bad and exchange.has_resumption
    if stream.views:
        view.takeover_of = list(stream.open_views())
        for old in view.takeover_of:
            if old.successor is None:
                old.successor = view
        del stream.views[: 1 - run.horizon]
    stream.views.append(view)


def _open_stream(session: Session, kind: StreamKind, exchange: Exchange) -> Stream:
    stream = Stream(session, kind, exchange)
    session.streams.append(stream)
    return stream


def take_body(run: Run, seen: Seen, exchange: Exchange, body: Body) -> Iterator[Moment]:
    """Enter a whole body."""
    exchange.body = Seen(seen.index, compact(body), seen.experiment, exchange)
    learn_revision(exchange, body.payload)
    note_responses(exchange.session, seen, body.payload)
    if exchange.call is not None and exchange.session is None:
        exchange.call.outstanding -= set(response_ids(body.payload))
    note_cancellation(exchange)
    if not exchange.explained:
        exchange.explained = True
        yield Explained(exchange, seen)


def learn_revision(exchange: Exchange, payload: Json) -> None:
    """The answer to initialize says which revision the session speaks."""
    session = exchange.session
    if session is None or session.opener is not exchange or not isinstance(payload, Mapping):
        return
    result = payload.get("result")
    if isinstance(result, Mapping) and isinstance(result.get("protocolVersion"), str):
        session.revision = _REVISIONS.get(str(result["protocolVersion"]), session.revision)


def note_responses(session: Session | None, seen: Seen, payload: Json) -> None:
    """Strike the responses that a message brings from what their calls still wait for."""
    if session is None:
        return
    for name in response_ids(payload):
        call = session.calls.get(name)
        if call is not None and name in call.outstanding:
            call.outstanding.discard(name)
            if call.answered:
                session.running.pop(call.exchange.number, None)
                if call.stream is not None:
                    call.stream.finished = seen


def note_cancellation(exchange: Exchange) -> None:
    """An accepted ``notifications/cancelled`` cancels the call that it names."""
    session, payload = exchange.session, exchange.request.payload
    if session is None or exchange.request.rpc_method != "notifications/cancelled" or exchange.answer is None:
        return
    params = payload.get("params") if isinstance(payload, Mapping) else None
    if not isinstance(params, Mapping) or not 200 <= exchange.status < 300:
        return
    call = session.calls.get(str(params.get("requestId")))
    if call is not None and not call.answered and call.cancelled is None:
        call.cancelled = exchange.answer
