"""From observations to the record: one function that takes an observation and reports what it amounts to.

A stream's log is built from first deliveries. A new event goes directly after the furthest event that its view has
delivered, so that what a resumption brings between two known events is put between them: a later event is then known
to have been given before an earlier one, and a view that went from one known event to the other is known to have
skipped it. Order between two connections is never used for more than that.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from reattach.machine.cursor import Presence, parse_cursor
from reattach.machine.revision import TRAITS, Revision
from reattach.oracle.bearing import bearing_of, is_distinctive
from reattach.oracle.message import (
    digest,
    is_identifying,
    is_response,
    label_of_key,
    labels_claimed,
    message_key,
    normalised_key,
    numbered,
    request_ids,
    response_ids,
)
from reattach.oracle.moments import (
    Answered,
    Asked,
    CallSettled,
    Commented,
    Delivered,
    Explained,
    Moment,
    ReadOn,
    Reordered,
    Resolved,
    Rested,
    Unanswered,
)
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Expect,
    Frame,
    Json,
    Party,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Restarted,
    Settled,
)
from reattach.oracle.record import (
    EVENT_STREAM,
    JUST_CUT_MS,
    Bearing,
    Call,
    Event,
    Exchange,
    Life,
    Pause,
    Resolution,
    Run,
    Seen,
    Session,
    Stream,
    StreamKind,
    View,
    may_have_ended,
)

KEPT_BYTES = 4_096
"""The largest message that the record keeps whole; of a larger one it keeps what names it."""

_REVISIONS = {revision.value: revision for revision in Revision}
_RESUMED = "notifications/resumed"
_REQUIRED = ("notifications/resumption_required", "notifications/resumption-required")


class ObservationError(Exception):
    """An observation that cannot be one: of no known kind, or a request on a connection that already had one."""


def take(run: Run, seen: Seen) -> Iterator[Moment]:
    """Enter one observation into the record and report the moments it brings. Raises ObservationError."""
    match seen.observation:
        case Request() as request:
            yield from _asked(run, seen, request)
        case Expect() as expect:
            _expected(run, seen, expect)
        case Settled() as settled:
            yield from _settled(run, seen, settled)
        case Restarted():
            _restarted(run, seen)
        case Response() | Body() | Frame() | Comment() | ReadPaused() | ReadResumed() | Closed() | Quiet() as other:
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
    other: Response | Body | Frame | Comment | ReadPaused | ReadResumed | Closed | Quiet,
) -> Iterator[Moment]:
    match other:
        case Response() as response if exchange.answer is None:
            yield from _answered(run, seen, exchange, response)
        case Body() as body if exchange.answer is not None and exchange.view is None and exchange.body is None:
            yield from _body(run, seen, exchange, body)
        case Frame() as frame if exchange.view is not None:
            yield from _frame(run, evolve(seen, observation=compact(frame)), exchange.view, frame)
        case Comment() as comment if exchange.view is not None:
            _comment(exchange.view, seen, comment.text)
            yield Commented(exchange.view, seen)
        case ReadPaused() if not exchange.paused:
            exchange.pauses.append(Pause(seen))
        case ReadResumed() if exchange.paused:
            exchange.pauses[-1].ended = seen
            if exchange.view is not None:
                yield ReadOn(exchange.view, exchange.pauses[-1], seen)
        case Closed():
            yield from _closed(run, seen, exchange)
        case Quiet():
            yield from _quiet(seen, exchange)
        case _:
            run.strays += 1


# Requests


def _asked(run: Run, seen: Seen, request: Request) -> Iterator[Moment]:
    if request.connection in run.exchanges:
        raise ObservationError(f"connection {request.connection} already had a request")
    named = _REVISIONS.get(request.revision or "", run.revision)
    opens = request.rpc_method == "initialize" and request.session is None
    session = _session(run, request.session) if TRAITS[named].resumption and not opens else None
    exchange = Exchange(
        number=request.connection,
        asked=evolve(seen, observation=compact(request)),
        request=request,
        session=session,
        revision=named if request.revision or session is None else session.revision,
    )
    run.exchanges[request.connection] = exchange
    exchange.life = session.life if session is not None else Life.UNKNOWN
    _enter_call(run, exchange)
    if session is not None:
        known = bearing_of(run, session, request.cursors)
        exchange.bearing, exchange.cursor = known.bearing, known.event
        _note_absence(session, exchange)
        if known.event is not None:
            exchange.rivals = [v for v in known.event.stream.views if _is_believed_in(v, seen.at)]
            exchange.newest = next(known.event.stream.after(known.event), None) is None
        if session.refused is not None and not exchange.resumes and exchange.owner_asks:
            exchange.follows, session.refused = session.refused, None
        session.exchanges.append(exchange)
        if exchange.owner_asks:
            session.last_sign = seen.at
    elif request.cursors:
        exchange.bearing = Bearing.UNKNOWN
    if request.method == "POST" and request.cursors:
        run.posts_with_cursor += 1
    _prune(run, session)
    for early in run.early.pop(request.connection, ()):
        if isinstance(early.observation, Expect):
            _expected(run, early, early.observation)
    yield Asked(exchange, seen)


def _is_believed_in(view: View, at: int) -> bool:
    """Whether the server may take a view to be attached."""
    exchange = view.exchange
    if exchange.end is None:
        return True
    return exchange.ended_by is Party.CLIENT and at - exchange.end.at <= JUST_CUT_MS


def _session(run: Run, name: str | None) -> Session | None:
    if name is None:
        return run.anonymous
    session = run.sessions.get(name)
    if session is None:
        life = Life.NEVER if run.complete and not run.forgotten_sessions else Life.UNKNOWN
        session = run.sessions[name] = Session(name, life, run.revision)
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
    call = exchange.call = Call(exchange, frozenset(ids), set(ids))
    session = exchange.session
    if session is None:
        return
    for name in ids:
        if name in session.calls:
            session.reused.add(name)
        session.calls[name] = call
        asking = run.asked_ids.setdefault(name, [])
        if session not in asking:
            asking.append(session)
            del asking[:-8]
    for label in labels_claimed(request.payload):
        _claim(run, label, call)


def _claim(run: Run, label: str, call: Call) -> None:
    claims = run.claims.setdefault(label, [])
    if call in claims:
        return
    if call.session is not None and any(other.session is call.session for other in claims):
        call.session.reused.add(label)
    claims.append(call)
    del claims[:-8]


def _note_absence(session: Session, exchange: Exchange) -> None:
    """How long the session had been left alone when this came: surely, and at most."""
    others = [other for other in session.open_exchanges() if other is not exchange]
    if any(not other.paused for other in others):
        exchange.away_ms = 0
        return
    if session.last_sign is None:
        return
    exchange.away_ms = exchange.asked.at - session.last_sign
    running = (call for call in session.calls.values() if call.stream is not None and not call.answered)
    if not others and not any(True for _ in running):
        exchange.idle_ms = exchange.away_ms


# Answers


def _answered(run: Run, seen: Seen, exchange: Exchange, response: Response) -> Iterator[Moment]:
    exchange.answer = seen
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
    yield Answered(exchange, seen)
    if exchange.resumes:
        exchange.resolution = _resolution(exchange, response)
        _note_refusal(exchange)
        yield Resolved(exchange, seen)
    if session is not None and exchange.view is None and exchange.owner_asks:
        session.last_sign = seen.at


def _note_abilities(run: Run, exchange: Exchange) -> None:
    if not exchange.has_resumption:
        run.speaks_sessionless = run.speaks_sessionless or exchange.method == "POST"
    elif exchange.session is not None and exchange.life is Life.LIVE:
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
    run.sessions[response.session] = session
    run.sessions_issued += 1
    session.last_sign = seen.at
    _adopt(run, exchange, session)


def _adopt(run: Run, exchange: Exchange, session: Session) -> None:
    """The initialize exchange belongs to the session that it opened."""
    exchange.session = session
    exchange.life = Life.LIVE
    session.exchanges.append(exchange)
    if exchange.call is not None:
        for name in exchange.call.ids:
            session.calls[name] = exchange.call
            run.asked_ids.setdefault(name, []).append(session)
            del run.asked_ids[name][:-8]


def _note_life(run: Run, seen: Seen, exchange: Exchange, session: Session, success: bool) -> None:
    if exchange.method == "DELETE" and success and session.life in (Life.LIVE, Life.UNKNOWN, Life.GONE):
        session.life, session.ended, session.terminator = Life.TERMINATED, seen, exchange
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


def _note_refusal(exchange: Exchange) -> None:
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
    cursor = exchange.cursor if exchange.resumes else None
    view = exchange.view = View(exchange, stream, cursor, position=cursor, last=cursor.anchor if cursor else None)
    view.takeover_of = list(stream.open_views())
    for old in view.takeover_of:
        if old.successor is None:
            old.successor = view
    stream.views.append(view)
    del stream.views[: -run.horizon]


def _open_stream(session: Session, kind: StreamKind, exchange: Exchange) -> Stream:
    stream = Stream(session, kind, exchange)
    session.streams.append(stream)
    return stream


def _body(run: Run, seen: Seen, exchange: Exchange, body: Body) -> Iterator[Moment]:
    exchange.body = evolve(seen, observation=compact(body))
    _learn_revision(exchange, body.payload)
    _note_responses(exchange.session, seen, body.payload)
    if exchange.call is not None and exchange.session is None:
        exchange.call.outstanding -= set(response_ids(body.payload))
    _note_cancellation(exchange)
    if not exchange.explained:
        exchange.explained = True
        yield Explained(exchange, seen)


def _learn_revision(exchange: Exchange, payload: Json) -> None:
    session = exchange.session
    if session is None or session.opener is not exchange or not isinstance(payload, Mapping):
        return
    result = payload.get("result")
    if isinstance(result, Mapping) and isinstance(result.get("protocolVersion"), str):
        session.revision = _REVISIONS.get(str(result["protocolVersion"]), session.revision)


def _note_responses(session: Session | None, seen: Seen, payload: Json) -> None:
    if session is None:
        return
    for name in response_ids(payload):
        call = session.calls.get(name)
        if call is not None and name in call.outstanding:
            call.outstanding.discard(name)
            if call.answered and call.stream is not None:
                call.stream.finished = seen


def _note_cancellation(exchange: Exchange) -> None:
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


# Streams


def _frame(run: Run, seen: Seen, view: View, frame: Frame) -> Iterator[Moment]:
    exchange = view.exchange
    exchange.first_frame = exchange.first_frame or seen
    exchange.quiet = None
    exchange.largest = max(exchange.largest, frame.size)
    if exchange.pauses and exchange.pauses[-1].ended is not None:
        exchange.pauses[-1].bytes_after += frame.size
        exchange.pauses[-1].frames_after += 1
    run.ids_seen = run.ids_seen or bool(frame.id)
    if frame.retry is not None:
        view.retry = True
    view.last_word = seen
    if _is_control(view, frame):
        yield Delivered(view, seen, None)
    elif not frame.has_data and _restates(view, frame):
        _state(view, frame.id or "")
        yield Delivered(view, seen, None, restates=True)
    elif frame.has_data or frame.id:
        yield from _event(run, seen, view, frame)


def _is_control(view: View, frame: Frame) -> bool:
    """Read the notifications of the standard itself: they are no events of the stream."""
    payload = frame.payload
    if not isinstance(payload, Mapping):
        return False
    params = payload.get("params")
    said = params.get("cursor") if isinstance(params, Mapping) else None
    if payload.get("method") == _RESUMED:
        _state(view, said if isinstance(said, str) else frame.id or "")
        return True
    if payload.get("method") in _REQUIRED:
        reason = params.get("reason") if isinstance(params, Mapping) else None
        view.ended_because = reason if isinstance(reason, str) else ""
        return True
    return False


def _restates(view: View, frame: Frame) -> bool:
    if not frame.id:
        return False
    named = (view.position, view.last)
    return frame.id in view.exchange.request.cursors or any(e is not None and e.id == frame.id for e in named)


def _state(view: View, position: str) -> None:
    if view.order or view.foreign:
        view.stated_late = view.stated is None
    elif not view.stated:
        view.stated = position


def _comment(view: View, seen: Seen, text: str) -> None:
    words = text.split()
    view.last_word = seen
    if not words:
        return
    if words[0].rstrip(":") == "resumed":
        _state(view, words[1] if len(words) > 1 else "")
    elif words[0].rstrip(":").replace("_", "-") == "resumption-required":
        view.ended_because = words[-1] if len(words) > 1 else ""


def _event(run: Run, seen: Seen, view: View, frame: Frame) -> Iterator[Moment]:
    session = view.stream.session
    key, content = message_key(frame.payload), digest(frame.payload)
    number = numbered(frame.payload) if frame.has_data else None
    response = frame.has_data and is_response(frame.payload)
    label = label_of_key(key) if frame.has_data else None
    _learn_revision(view.exchange, frame.payload)
    known = session.events.get(frame.id) if frame.id else None
    owner = _owner(run, view, frame, key, content, label) if known is None else None
    if owner is not None:
        view.foreign_owner = owner.session
        yield Delivered(view, seen, None, owner=owner.session, owned=owner.event, owner_exchange=owner.exchange)
        return
    collides: Event | None = None
    event: Event | None = known
    if known is not None and frame.has_data and (not known.message or known.digest != content):
        collides, event = known, None
    if event is None and frame.has_data and is_identifying(key) and (label or key[9:]) not in session.reused:
        event = session.keys.get(key)
    previous, position = view.order[-1] if view.order else None, view.position
    first = event is None
    if event is None:
        event = _new_event(run, seen, view, frame, key, content)
        event.number, event.response = number, response
        if frame.has_data and view.stream.kind is StreamKind.STANDALONE:
            run.chatty = run.chatty or not _is_asked_for(run, session, key)
        _put(run, view, event)
    _name(run, session, event, frame.id, key if frame.has_data else None, collides)
    already = event.seq in view.delivered
    if frame.has_data:
        _note_responses(session, seen, frame.payload)
    if not first:
        _merge(view, event)
    confirmed = _advance(run, view, event, seen, frame.has_data)
    owner_call = _owner_call(run, session, key, label) if frame.has_data else None
    yield Delivered(view, seen, event, first, previous, position, already, collides=collides, owner_call=owner_call)
    if confirmed:
        yield Reordered(view, seen, confirmed)


@frozen
class _Owner:
    session: Session
    event: Event | None
    exchange: Exchange | None


def _owner(run: Run, view: View, frame: Frame, key: str, content: str, label: str | None) -> _Owner | None:
    """The other session that a message belongs to, if that is certain; and its event, if it was delivered there."""
    session = view.stream.session
    if not frame.has_data or session.id is None:
        return None
    for event in run.issued.get(frame.id or "", ()):
        if (
            event.session is not session
            and event.message
            and event.digest == content
            and is_distinctive(event.id or "")
        ):
            return _Owner(event.session, event, event.exchange)
    here = session.known(key)
    if here is not None and here.digest == content:
        return _twin(run, view, key, frame, here)
    if label is not None:
        calls = run.claims.get(label, ())
        others = {id(call.session): call for call in calls if call.session is not None}
        if len(others) == 1 and id(session) not in others:
            (call,) = others.values()
            assert call.session is not None
            return _Owner(call.session, call.session.known(key), call.exchange)
    if key.startswith("response:") and session.opener is not None and key[9:] not in session.calls:
        asking = [other for other in run.asked_ids.get(key[9:], ()) if other is not session]
        if len(asking) == 1:
            return _response_of(asking[0], key, content)
    return None


def _twin(run: Run, view: View, key: str, frame: Frame, here: Event) -> _Owner | None:
    """A message like one of this session, under another id: another session's, if that session's events came before."""
    others = [other for other in run.asked_ids.get(key[9:], ()) if other is not view.stream.session]
    owner = view.foreign_owner
    if owner is None or owner not in others or not frame.id or frame.id == here.id:
        return None
    call = owner.calls.get(key[9:])
    return _Owner(owner, owner.known(key), call.exchange if call is not None else None)


def _response_of(other: Session, key: str, content: str) -> _Owner | None:
    """A response to nothing that this session asked: the other's, if it got the same one, or still waits for one."""
    known, call = other.known(key), other.calls.get(key[9:])
    same = known is not None and known.digest == content
    missing = call is not None and key[9:] in call.outstanding
    return _Owner(other, known, call.exchange if call is not None else None) if same or missing else None


def _owner_call(run: Run, session: Session, key: str, label: str | None) -> Call | None:
    if key.startswith("response:"):
        return None if key[9:] in session.reused else session.calls.get(key[9:])
    if label is None or label in session.reused:
        return None
    calls = [call for call in run.claims.get(label, ()) if call.session is session]
    return calls[0] if len(calls) == 1 else None


def _is_asked_for(run: Run, session: Session, key: str) -> bool:
    """Whether a call of the session is known to cause a message."""
    calls = run.claims.get(label_of_key(key) or "", ())
    return any(key in (call.pushed or ()) for call in calls if call.session is session)


def _new_event(run: Run, seen: Seen, view: View, frame: Frame, key: str, content: str) -> Event:
    session = view.stream.session
    session.seqs += 1
    return Event(
        stream=view.stream,
        id=frame.id or None,
        seq=session.seqs,
        rank=0,
        key=key,
        normal=normalised_key(frame.payload) if frame.has_data else "",
        digest=content,
        message=frame.has_data,
        number=None,
        response=False,
        seen=seen,
        exchange=view.exchange,
        after=None if frame.has_data else view.last,
        size=frame.size,
    )


def _put(run: Run, view: View, event: Event) -> None:
    """Give a new event its place in the log of its stream."""
    stream, position = view.stream, view.position
    concurrent = any(other is not view and other.position is not None for other in stream.open_views())
    if not view.resumed and concurrent and stream.log:
        position = stream.log[-1]  # an old view that goes on beside a newer one
    for other in stream.log_after(position):
        if not _is_earlier(other, event):
            break
        position = other
    stream.place(event, position)
    if event.message and stream.log[-1] is not event:
        view.pending.append(event)
    if view.last is not None and event.message:
        _count_step(stream, view.last, event)


def _is_earlier(one: Event, other: Event) -> bool:
    """Whether numbers or ids say that one event was emitted before another."""
    if one.number is not None and other.number is not None and one.number.label == other.number.label:
        return one.number.n < other.number.n
    a, b = parse_cursor((one.id or "",)), parse_cursor((other.id or "",))
    return a.presence is b.presence is Presence.PRESENT and a.tag == b.tag and a.seq < b.seq


def _count_step(stream: Stream, before: Event, event: Event) -> None:
    one, other = before.number, event.number
    if stream.steps < 0 or one is None or other is None or one.label != other.label:
        return
    if not one.label.startswith("progress:"):
        return
    if other.n == one.n + 1:
        stream.steps += 1
    elif not any(view.resumed for view in stream.views):
        stream.steps = -1


def _name(run: Run, session: Session, event: Event, name: str | None, key: str | None, collides: Event | None) -> None:
    if name:
        if collides is not None:
            collides.ambiguous = event.ambiguous = True
        elif name not in session.events:
            session.events[name] = event
            run.issued.setdefault(name, []).append(event)
            parsed = parse_cursor((name,))
            if parsed.presence is Presence.PRESENT:
                session.seqs_seen.setdefault(parsed.seq, parsed.stream)
    if key is not None and is_identifying(key) and key not in session.keys:
        session.keys[key] = event
    while len(session.events) > run.horizon:
        _forget_event(run, session)
    while len(session.keys) > run.horizon:
        session.keys.pop(next(iter(session.keys)))
    while len(session.seqs_seen) > run.horizon:
        session.seqs_seen.pop(next(iter(session.seqs_seen)))


def _forget_event(run: Run, session: Session) -> None:
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


def _merge(view: View, event: Event) -> None:
    """Two GETs without a cursor may be views of one stream: a resumption that crosses between them shows it."""
    mine, other = view.stream, event.stream
    if other is mine or not view.resumed or mine.kind is not StreamKind.STANDALONE or other.kind is not mine.kind:
        return
    if any(True for _ in other.open_views()):
        return
    mine.absorb(other)


def _advance(run: Run, view: View, event: Event, seen: Seen, message: bool) -> tuple[Event, ...]:
    """Move the view on; return the events put before known ones whose order this delivery confirms."""
    confirmed: tuple[Event, ...] = ()
    if event.stream is view.stream:
        if event not in view.pending:
            confirmed = tuple(new for new in view.pending if new.rank < event.rank)
            if confirmed:
                view.pending = [new for new in view.pending if new.rank > event.rank]
        if view.position is None or event.rank > view.position.rank:
            view.position = event
        if message and (view.last is None or event.rank > view.last.rank):
            view.last = event
    if message:
        view.delivered[event.seq] = seen
        view.order.append(event)
        if len(view.order) > run.horizon:
            view.trim(run.horizon)
    else:
        view.bare_first = view.bare_first or not view.order
        view.bare.append(event)
        del view.bare[:-64]
    return confirmed


# Ends, silence, pauses


def _closed(run: Run, seen: Seen, exchange: Exchange) -> Iterator[Moment]:
    exchange.end = seen
    session = exchange.session
    if session is not None and exchange.owner_asks:
        # When the server ended what was not read for a while, nobody can say.
        late = exchange.paused or (bool(exchange.pauses) and exchange.ended_by is not Party.CLIENT)
        session.last_sign = None if late else max(session.last_sign or seen.at, seen.at)
    if exchange.view is not None:
        yield Rested(exchange.view, seen)
    elif exchange.answer is None:
        if exchange.resumes and exchange.resolution is None and exchange.ended_by is Party.SERVER:
            exchange.resolution = Resolution.CRASHED
            _note_refusal(exchange)
            yield Resolved(exchange, seen)
        yield Unanswered(exchange, seen)
    elif not exchange.explained:
        exchange.explained = True
        _note_cancellation(exchange)
        yield Explained(exchange, seen)


def _quiet(seen: Seen, exchange: Exchange) -> Iterator[Moment]:
    if exchange.view is not None:
        exchange.quiet = exchange.rested = seen
        yield Rested(exchange.view, seen)
    elif exchange.answer is None:
        exchange.hung = seen
        if exchange.resumes and exchange.resolution is None:
            exchange.resolution = Resolution.HUNG
            _note_refusal(exchange)
            yield Resolved(exchange, seen)
        yield Unanswered(exchange, seen)


# What a driver says


def _expected(run: Run, seen: Seen, expect: Expect) -> None:
    exchange = run.exchanges.get(expect.connection)
    if exchange is None:
        if len(run.early) < 64:
            run.early.setdefault(expect.connection, []).append(seen)
        return
    call = exchange.call
    if call is None:
        run.strays += 1
        return
    seen = evolve(seen, exchange=exchange)
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
        for label in {label_of_key(key) for key in keys} - {None}:
            _claim(run, str(label), call)


def _settled(run: Run, seen: Seen, settled: Settled) -> Iterator[Moment]:
    exchange = run.exchanges.get(settled.connection)
    if exchange is None or exchange.call is None:
        run.strays += 1
        return
    exchange.call.settled = seen
    yield CallSettled(exchange.call, run.exchanges.get(settled.last), seen)


def _restarted(run: Run, seen: Seen) -> None:
    for session in run.sessions.values():
        session.restarted = True
        session.refused = None
    run.restarts += 1


# Bounds


def _prune(run: Run, session: Session | None) -> None:
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
        oldest = next((e for e in session.exchanges if not e.is_open), session.exchanges[0])
        session.exchanges.remove(oldest)
        oldest.forget()
    while len(session.calls) > run.horizon:
        session.calls.pop(next(iter(session.calls)))
    if len(session.streams) > run.horizon:
        session.streams = [s for s in session.streams if s.log or any(True for _ in s.open_views())][-run.horizon :]


def _forget_session(run: Run, session: Session) -> None:
    run.forgotten_sessions += 1
    while session.events:
        _forget_event(run, session)


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
