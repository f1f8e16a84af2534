"""What comes on a view: which event it is, and where in its stream it belongs."""

from collections.abc import Mapping, Sequence

from attrs import evolve

from reattach.machine.cursor import Presence, parse_cursor
from reattach.oracle.flat import AnyFrame, FlatFrame
from reattach.oracle.message import Numbered, is_progress, likeness, said
from reattach.oracle.moments import (
    Delivered,
    Moment,
    Reordered,
)
from reattach.oracle.observation import (
    Frame,
)
from reattach.oracle.reconstruct.answers import learn_revision, note_responses
from reattach.oracle.reconstruct.forgetting import KEPT_BYTES, bound_names, compact, keep_event, keep_seq
from reattach.oracle.reconstruct.owners import is_asked_for, owner_call_of, owner_of
from reattach.oracle.record import (
    Event,
    Run,
    Seen,
    Session,
    Stream,
    StreamKind,
    View,
    frame_of,
)

_RESUMED = "notifications/resumed"
_MOST_LABELS = 64
"""Series of one stream whose numbers are followed."""
_REQUIRED = ("notifications/resumption_required", "notifications/resumption-required")


def take_frame(run: Run, seen: Seen, view: View) -> Sequence[Moment]:
    """Enter an SSE event."""
    frame = frame_of(seen)
    if frame.payload == {}:
        frame = seen.raw = evolve(_thawed(frame), has_data=False)  # no message: priming, as some stores give it back
    moments = _entered(run, seen, view, frame)
    if frame.size > KEPT_BYTES:
        seen.raw = compact(frame)
    return moments


def note_frame(run: Run, seen: Seen, view: View, frame: AnyFrame) -> None:
    """Note that an SSE event came, whatever it is."""
    exchange = view.exchange
    if exchange.first_frame is None:
        exchange.first_frame = seen
    exchange.quiet = None
    if frame.size > exchange.largest:
        exchange.largest = frame.size
    if exchange.pauses and exchange.pauses[-1].ended is not None:
        exchange.pauses[-1].bytes_after += frame.size
    if frame.id:
        run.ids_seen = True
    if frame.retry is not None:
        view.retry = True
    view._last_word = seen


def _entered(run: Run, seen: Seen, view: View, frame: AnyFrame) -> Sequence[Moment]:
    view.stream.enter()
    run.enter(frame.id or "")
    note_frame(run, seen, view, frame)
    if _is_control(view, frame):
        return (Delivered(view, seen, None),)
    if not frame.has_data and _restates(view, frame):
        state(view, frame.id or "")
        return (Delivered(view, seen, None, restates=True),)
    return _event(run, seen, view, frame) if frame.has_data or frame.id else ()


def _thawed(frame: AnyFrame) -> Frame:
    return frame.frame() if isinstance(frame, FlatFrame) else frame


def _is_control(view: View, frame: AnyFrame) -> bool:
    """Read the notifications of the standard itself: they are no events of the stream."""
    payload = frame.payload
    if type(payload) is not dict and not isinstance(payload, Mapping):
        return False
    method = payload.get("method")
    if method != _RESUMED and method not in _REQUIRED:
        return False
    params = payload.get("params")
    if method == _RESUMED:
        position = params.get("cursor") if isinstance(params, Mapping) else None
        state(view, position if isinstance(position, str) else frame.id or "")
    else:
        reason = params.get("reason") if isinstance(params, Mapping) else None
        view.ended_because = reason if isinstance(reason, str) else ""
    return True


def _restates(view: View, frame: AnyFrame) -> bool:
    if not frame.id:
        return False
    named = (view.position, view.last)
    return frame.id in view.exchange.request.cursors or any(e is not None and e.id == frame.id for e in named)


def state(view: View, position: str) -> None:
    """Note the position that a view states first."""
    if not (view.order or view.foreign or view.stated):
        view.stated = position


def take_comment(view: View, seen: Seen, text: str) -> None:
    """Enter a comment, which may state a position or end a view."""
    words = text.split()
    view._last_word = seen
    if not words:
        return
    if words[0].rstrip(":") == "resumed":
        state(view, words[1] if len(words) > 1 else "")
    elif words[0].rstrip(":").replace("_", "-") == "resumption-required":
        view.ended_because = words[-1] if len(words) > 1 else ""


def _event(run: Run, seen: Seen, view: View, frame: AnyFrame) -> Sequence[Moment]:
    stream, payload, message = view.stream, frame.payload, frame.has_data
    session = stream.session
    key, label, number, response = said(payload) if message else _NOTHING
    if session.opener is view.exchange:
        learn_revision(view.exchange, payload)
    known = session.event_with(frame.id) if frame.id else None
    if number is not None and known is None and not is_progress(number) and not _is_numbering(run, view, number):
        key = label = number = None
    other = known is not None and message and known.likeness != likeness(payload)
    if message and (known is None or other):
        owner = owner_of(run, view, frame, key, label)
        if owner is not None:
            view.foreign_owner = owner.session
            return (Delivered(view, seen, None, owner=owner.session, owned=owner.event, owner_exchange=owner.exchange),)
    collides: Event | None = None
    event: Event | None = known
    if known is not None and message and (not known.message or other):
        collides, event = known, None
    if event is None and key is not None and (key[9:] if label is None else label) not in session.reused:
        event = session.event_of(key)
        if event is not None and label is not None and _is_another_series(view, event, label):
            session.reused.add(label)
            event = None
    previous, position = view.order[-1] if view.order else None, view.position
    first = event is None
    if event is None:
        session.seqs += 1
        after = None if message else view.last
        event = Event(
            stream, frame.id or None, session.seqs, 0, message, number, response, seen, view.exchange, after,
            frame.size, key,
        )  # fmt: skip
        if response:
            event.failed = isinstance(payload, Mapping) and "error" in payload
        if frame.size > KEPT_BYTES:
            event.keep(payload)
        if message and stream.kind is StreamKind.STANDALONE and not run.chatty:
            run.chatty = not is_asked_for(run, session, key or "")
        _put(view, event)
        keep_event(run, session)
    _name(run, session, event, frame.id, key, collides)
    already = not first and event.seq in view.delivered
    if message and (response or type(payload) is not dict):
        note_responses(session, seen, payload)
    if not first:
        _merge(view, event)
    confirmed = _advance(run, view, event, seen, message)
    owner_call = owner_call_of(session, key, label) if key is not None else None
    delivered = Delivered(
        view, seen, event, first, previous, position, already, collides=collides, owner_call=owner_call
    )
    return (delivered, Reordered(view, seen, confirmed)) if confirmed else (delivered,)


_NOTHING = (None, None, None, False)


def _is_numbering(run: Run, view: View, number: Numbered) -> bool:
    """Whether a number may be taken for its message's place: a call claims it, or it counts 1, 2, 3 as it came.

    The call may be another session's: then its message is here, which SES-5 forbids. A resumption may leave some out,
    which is a loss. Where none could, the number is ordinary data.
    """
    stream, label = view.stream, number.label
    if stream.session.is_claimed(label) or label in run.claims:
        return True
    newest, loose = stream.counts.get(label), not view.resumed and len(stream.views) == 1
    if newest is None and len(stream.counts) >= _MOST_LABELS:
        return False
    if newest == 0 or (number.n != (newest or 0) + 1 and (loose or newest is None)) or number.n > 2 * (newest or 0) + 1:
        stream.counts[label] = 0
        return False
    stream.counts[label] = max(newest or 0, number.n)
    return True


def _is_another_series(view: View, event: Event, label: str) -> bool:
    """Whether a message may be numbered by another call than its like: two calls that number alike are two series.

    Not where a call has claimed the numbers, nor where one stream may be the other.
    """
    kinds = (view.stream.kind, event.stream.kind)
    apart = view.stream is not event.stream and StreamKind.REQUEST in kinds and StreamKind.UNKNOWN not in kinds
    return apart and not event.session.is_claimed(label)


def _put(view: View, event: Event) -> None:
    """Give a new event its place in the log of its stream."""
    stream, position = view.stream, view.position
    beside = not view.resumed and len(stream.views) > 1
    if beside and any(other is not view and other.position is not None for other in stream.open_views()):
        position = stream.newest  # an old view that goes on beside a newer one
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
    a, b = one.parsed, other.parsed
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
            if event.id == name and event.names is None:
                event.names = ()  # the id is the other's
        elif name not in session._events:
            session._events[name] = event
            if event.id != name or event.names is not None:
                event.names = (*event.all_names, name)
                bound_names(run, session, event)
            run.issue(name, event)
            parsed = event.parsed if event.id == name else parse_cursor((name,))
            if parsed.presence is Presence.PRESENT:
                run.readable = True
                if session.stream_of_seq(parsed.seq) is None:
                    keep_seq(run, session, parsed.seq, parsed.stream)
    if key is not None and session.event_of(key) is None:
        session._keys[key] = event
        event.named = key


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
        if view.pending and event not in view.pending:
            confirmed = tuple(new for new in view.pending if new.rank < event.rank)
            if confirmed:
                view.pending = [new for new in view.pending if new.rank > event.rank]
        if view._position is None or event.rank > view._position.rank:
            view._position = event
        if message and (view._last is None or event.rank > view._last.rank):
            view._last = event
    if message:
        view._delivered[event.seq] = seen
        view._order.append(event)
        if len(view._order) > 2 * run.most_kept:  # some were delivered twice: there are not so many to deliver
            view.trim(run.horizon)
    else:
        view.bare_first = view.bare_first or not view._order
        view.bare.append(event)
        del view.bare[:-64]
    return confirmed
