"""What comes on a view: which event it is, and where in its stream it belongs."""

from collections.abc import Iterator, Mapping

from reattach.machine.cursor import Presence, parse_cursor
from reattach.oracle.message import (
    digest,
    is_identifying,
    is_response,
    label_of_key,
    message_key,
    normalised_key,
    numbered,
)
from reattach.oracle.moments import (
    Delivered,
    Moment,
    Reordered,
)
from reattach.oracle.observation import (
    Frame,
)
from reattach.oracle.reconstruct.answers import learn_revision, note_responses
from reattach.oracle.reconstruct.forgetting import forget_event
from reattach.oracle.reconstruct.owners import is_asked_for, owner_call_of, owner_of
from reattach.oracle.record import (
    Event,
    Run,
    Seen,
    Session,
    Stream,
    StreamKind,
    View,
)

_RESUMED = "notifications/resumed"
_REQUIRED = ("notifications/resumption_required", "notifications/resumption-required")


def take_frame(run: Run, seen: Seen, view: View, frame: Frame) -> Iterator[Moment]:
    """Enter an SSE event."""
    exchange = view.exchange
    exchange.first_frame = exchange.first_frame or seen
    exchange.quiet = None
    exchange.largest = max(exchange.largest, frame.size)
    if exchange.pauses and exchange.pauses[-1].ended is not None:
        exchange.pauses[-1].bytes_after += frame.size
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
    if not (view.order or view.foreign or view.stated):
        view.stated = position


def take_comment(view: View, seen: Seen, text: str) -> None:
    """Enter a comment, which may state a position or end a view."""
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
    failed = response and isinstance(frame.payload, Mapping) and "error" in frame.payload
    label = label_of_key(key) if frame.has_data else None
    learn_revision(view.exchange, frame.payload)
    known = session.events.get(frame.id) if frame.id else None
    foreign = known is None or (frame.has_data and known.digest != content)
    owner = owner_of(run, view, frame, key, content, label) if foreign else None
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
        event.number, event.response, event.failed = number, response, failed
        if frame.has_data and view.stream.kind is StreamKind.STANDALONE:
            run.chatty = run.chatty or not is_asked_for(run, session, key)
        _put(view, event)
    _name(run, session, event, frame.id, key if frame.has_data else None, collides)
    already = event.seq in view.delivered
    if frame.has_data:
        note_responses(session, seen, frame.payload)
    if not first:
        _merge(view, event)
    confirmed = _advance(run, view, event, seen, frame.has_data)
    owner_call = owner_call_of(run, session, key, label) if frame.has_data else None
    yield Delivered(view, seen, event, first, previous, position, already, collides=collides, owner_call=owner_call)
    if confirmed:
        yield Reordered(view, seen, confirmed)


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


def _put(view: View, event: Event) -> None:
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
        forget_event(run, session)
    while len(session.keys) > run.horizon:
        session.keys.pop(next(iter(session.keys)))
    while len(session.seqs_seen) > run.horizon:
        session.seqs_seen.pop(next(iter(session.seqs_seen)))


def _merge(view: View, event: Event) -> None:
    """Learn from an event that was delivered before, on another stream, what the two streams are to each other.

    One that was opened by a cursor nobody knew places no event: it may have been any of the session's. Two GETs without
    a cursor may be views of one stream: a resumption that crosses between them shows it.
    """
    mine, other = view.stream, event.stream
    if other.kind is StreamKind.UNKNOWN and mine.kind is not StreamKind.UNKNOWN:
        other.drop(event)
        event.stream = mine
        _put(view, event)
        return
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
