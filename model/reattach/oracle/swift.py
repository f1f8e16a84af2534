"""The short way of nearly every event: one that is next in order, on a view that goes on well.

What becomes of such an event is known beforehand: it is new, at the end of its stream, and of all judges some have
something to say, that their clause is kept. So it is noted in one place, without moments and judges, and entered into
the record when something asks for it (``stretch.py``). Such are the event without a message that a stream begins with,
the messages of a call that are numbered, and its response; also a cursor that is stated again, and the end of a stream
after its response. Whether an event is such a one is decided on the safe side: whatever is not certain goes the general
way, and that way alone says what is wrong with anything. That both ways come to the same is tested on every history of
the tests.

What has to be so of a view before any of its events may go this way is found out once, and again after anything of its
session was changed the general way (``Session.touched``).
"""

from collections import Counter

from attrs import define, field

from reattach.machine.cursor import Presence, parse_cursor
from reattach.machine.revision import TRAITS
from reattach.oracle.flat import AnyFrame, let_go
from reattach.oracle.message import Numbered, is_progress, key_of, said
from reattach.oracle.observation import Closed, Json, Party
from reattach.oracle.reconstruct.answers import note_responses
from reattach.oracle.reconstruct.endings import end_exchange
from reattach.oracle.reconstruct.events import note_frame, state
from reattach.oracle.reconstruct.forgetting import KEPT_BYTES, keep_event, keep_seq
from reattach.oracle.record import LIVE_MS, PROMPT_MS, Call, Event, Exchange, Run, Seen, Session, Stream, View, stem_of
from reattach.oracle.stretch import Stretch, begin_stretch

_ONCE = frozenset({"ATT-1", "MOD-1"})
"""What is judged of a resumed view once, by its first message."""
_EVER = 2**62
"""Milliseconds that no run reaches."""
_COUNTED = 10**15
"""Numbers of messages are less (``message.py``), and of ids what may go the short way."""


@define(eq=False)
class Steady:
    """A view that goes on well: what is so of it until its session is touched, and how far it has come."""

    session: Session
    stream: Stream
    call: Call
    stretch: Stretch
    """Where its events are noted."""
    seq: int
    """That of the id of its newest event."""
    key: str | None = None
    """That of the newest message; None if there is none on the view."""
    place: int = -1
    """Its place among what the call was to send; -1 if it is not known."""
    label: str | None = None
    """The series that the newest message is of, if it is numbered."""
    n: int = 0
    progress: bool = False
    """Whether its numbers are of progress."""
    token: Json = None
    """The progress token, once it is known as it was written."""
    touched: int = field(init=False)
    """``Session.touched`` when the rest was found out."""
    since: int = field(init=False)
    """Milliseconds: only what comes later may go the short way."""
    until: int = field(init=False)
    """Milliseconds: and earlier."""
    beside: bool = field(init=False)
    """Whether another stream of the session has an open view."""
    replayed: bool = field(init=False)
    """Whether the view was resumed, and another stream of the session has had a message."""
    slow: bool = field(init=False)
    """Whether another open connection of the session was not read for a while."""
    keys: dict[str, Event] = field(init=False)
    places: dict[str, int] = field(init=False)
    """Those of the session and of the call: what is asked of every message, at hand."""


@define
class Swift:
    """Takes frames the short way, and counts what was seen to hold there."""

    messages: int = 0
    """EVT-1, EVT-2 and EVT-5."""
    unordered: int = 0
    """Of these, those that do not show DEL-6."""
    alone: int = 0
    """Of these, those that do not show SES-5: there was one session."""
    apart: int = 0
    """DEL-4."""
    replayed: int = 0
    """DEL-3."""
    answers: int = 0
    """DEL-5."""
    begun: int = 0
    """EVT-5, by an event without a message."""
    begun_beside: int = 0
    """EVT-1, by such an event that was not the first of its session."""
    primed: int = 0
    """EVT-3."""
    decided: int = 0
    """MOD-1."""
    ended: int = 0
    """DEL-7."""

    def held(self) -> Counter[str]:
        """How often each clause was seen to hold."""
        return Counter(
            {
                "EVT-1": self.messages + self.begun_beside,
                "EVT-2": self.messages,
                "EVT-3": self.primed,
                "EVT-5": self.messages + self.begun,
                "DEL-3": self.replayed,
                "DEL-4": self.apart,
                "DEL-5": self.answers,
                "DEL-6": self.messages - self.unordered,
                "DEL-7": self.ended,
                "MOD-1": self.decided,
                "SES-5": self.messages - self.alone,
            }
        )

    def take(self, run: Run, frame: AnyFrame, experiment: str) -> bool:
        """Enter a frame, if it is one of these, and let go of its message; else nothing has happened."""
        exchange = run.exchanges.get(frame.connection)
        view = exchange.view if exchange is not None else None
        if view is None or exchange is None:
            return False
        steady = view.steady
        if steady is None or steady.touched != steady.session.touched:
            if not frame.has_data:
                begin = self._begin if view.cursor is None else self._restate
                return begin(run, frame, experiment, exchange, view)
            steady = view.steady = _steady(run, exchange, view, experiment)
            if steady is None:
                return False
        if not frame.has_data or frame.retry is not None or not steady.since < frame.at < steady.until:
            return False
        session, stretch = steady.session, steady.stretch
        if experiment != stretch.experiment:
            return False

        # The message: the next of its series, or the first of one, or the response; of this call, without doubt.
        payload, label, n, response = frame.payload, steady.label, steady.n + 1, False
        new: Numbered | None = None
        if label is not None and _is_next(steady, payload, label, n):
            key, ordered = f"{label}:{n}" if steady.progress else f"{label}#{n}", True
        else:
            told, series, new, response = said(payload)
            if told is None:
                return False
            key, ordered = told, False
            if new is not None:
                if new.label != series or session.claimant(series) is not steady.call or told != key_of(new):
                    return False
                if series == label:
                    if new.n != n:
                        return False
                    new, ordered = None, True
            elif series is not None or not response or not _is_answer(steady, key[9:], payload):
                return False
            if label is not None:
                stretch.reached[label] = steady.n
            if (response and not stretch.begin(key, 0)) or (new is not None and not stretch.begin(new.label, new.n)):
                return False
        if key in steady.keys:
            return False
        place = steady.places.get(key, -1)
        if place >= 0 and steady.place >= 0:
            if place <= steady.place:
                return False
            ordered = True
        # The id is the next of its series.
        name, stem = frame.id, stretch.stem
        seq = steady.seq + 1
        if name in run.issued:
            return False
        if name != f"{stem}{seq}" or seq >= _COUNTED:
            if name is None or not name.startswith(stem):
                return False
            text = name[len(stem) :]
            if not text.isdigit() or len(text) > 15 or text[0] == "0" or not text.isascii():
                return False
            seq = int(text)
        if seq <= session.newest_seq:
            return False

        if response:
            stretch.series.append((len(stretch.frames), key, None))
        elif new is not None:
            stretch.series.append((len(stretch.frames), new.label, new.n))
        elif label is not None and not stretch.frames:
            stretch.series.append((0, label, n))
        kept = stretch.note(frame, payload, seq)
        keep_event(run, session)
        exchange.quiet = None
        if frame.size > exchange.largest:
            exchange.largest = frame.size
        if response or exchange.first_frame is None:
            seen = Seen(run.index, let_go(kept), experiment, exchange)
            if exchange.first_frame is None:
                exchange.first_frame = seen
            if response:
                note_responses(session, seen, payload)
        steady.key, steady.place, steady.seq = key, place, seq
        if response:
            steady.label = None
            self.answers += 1
        elif new is None:
            if steady.progress and steady.stream.steps >= 0:
                steady.stream.steps += 1
            steady.n = n
        else:
            steady.label, steady.n, steady.progress = new.label, new.n, key.startswith("progress:")
            steady.token = payload["params"].get("progressToken") if steady.progress else None  # type: ignore

        self.messages += 1
        if not ordered:
            self.unordered += 1
        if run.sessions_issued <= 1:
            self.alone += 1
        if steady.beside:
            self.apart += 1
        if steady.replayed:
            self.replayed += 1
        return True

    def _begin(self, run: Run, frame: AnyFrame, experiment: str, exchange: Exchange, view: View) -> bool:
        """Enter what a fresh stream begins with, an id and no message; if it is that."""
        name, stream = frame.id, view.stream
        session = stream.session
        if not view.ordinary or len(stream.views) != 1 or not stream.is_empty or view.position is not None:
            return False
        if exchange.first_frame is not None or exchange.request.cursors or not _is_free(exchange, view):
            return False
        if frame.payload is not None or frame.size > KEPT_BYTES or not name or run.issued_as(name):
            return False
        parsed = parse_cursor((name,))
        if parsed.presence is not Presence.PRESENT or parsed.seq <= session.newest_seq:
            return False

        seen = Seen(run.index, frame, experiment, exchange)
        session.seqs += 1
        event = Event(stream, name, session.seqs, 0, False, None, False, seen, exchange, None, frame.size)
        event._parsed = parsed
        stream.place(event, None)
        keep_event(run, session)
        session._events[name] = event
        run.issued[name] = event
        keep_seq(run, session, parsed.seq, parsed.stream)
        run.readable = True
        note_frame(run, seen, view, frame)
        view._position, view.bare_first = event, True
        view.bare.append(event)

        self.begun += 1
        if session.has_several_ids():
            self.begun_beside += 1
        if exchange.call is not None and exchange.request.rpc_method != "initialize":
            self.primed += TRAITS[exchange.revision].priming
        return True

    def _restate(self, run: Run, frame: AnyFrame, experiment: str, exchange: Exchange, view: View) -> bool:
        """Enter that a resumed view begins by stating its cursor; if it is that."""
        cursor, name = view.cursor, frame.id
        if cursor is None or cursor.id != name or name not in exchange.request.cursors:
            return False
        if exchange.first_frame is not None or exchange.call is not None or not exchange.has_resumption:
            return False
        if frame.payload is not None or frame.size > KEPT_BYTES or not _is_free(exchange, view):
            return False
        if cursor.parsed.presence is not Presence.PRESENT or name is None:
            return False
        note_frame(run, Seen(run.index, frame, experiment, exchange), view, frame)
        state(view, name)

        self.begun += 1
        if view.stated is not None and view.once("MOD-1"):
            self.decided += 1
        return True

    def close(self, run: Run, closed: Closed, experiment: str) -> bool:
        """Enter that the server ended a stream after the response to its call; if it is that, and no more."""
        exchange = run.exchanges.get(closed.connection)
        view = exchange.view if exchange is not None else None
        if view is None or exchange is None or closed.by is not Party.SERVER or not view.ordinary:
            return False
        stream, call, session = view.stream, exchange.call, exchange.session
        finished = stream.finished
        if call is None or call.outstanding or stream.call is not call or finished is None or session is None:
            return False
        if finished.exchange is not exchange or not _is_free(exchange, view) or view.ended_because is not None:
            return False
        if stream.session is not session or session.doubts or run.declaration.window_events is not None:
            return False
        session.touched += 1
        end_exchange(run, Seen(run.index, closed, experiment, exchange), exchange, closed)

        if view.once("DEL-7"):
            self.ended += 1
        return True


def _is_free(exchange: Exchange, view: View) -> bool:
    """Whether nothing is in the way of a view: no end, no other view in its place, no slow reader."""
    session = view.stream.session
    return (
        exchange.end is None
        and view.successor is None
        and not exchange.pauses
        and exchange.held_up_by is None
        and session.ended is None
        and session.id is not None
    )


def _steady(run: Run, exchange: Exchange, view: View, experiment: str) -> Steady | None:
    """How a view goes on; None if it may be that it does not go on well."""
    stream, call, steady = view.stream, view.stream.call, view.steady
    session = stream.session
    if call is None or not _is_free(exchange, view) or session.opener is exchange:
        return None
    if steady is None or steady.stretch is not stream.stretch:
        steady = _begun(run, view, call, experiment)
        if steady is None:
            return None
    steady.since, steady.until = -1, _EVER
    if not view.ordinary or len(stream.views) != 1:
        # It was resumed, and everything has been said of that which is said of its first message.
        answer = exchange.answer
        if view.cursor is None or answer is None or not view.judged >= _ONCE or not exchange.has_resumption:
            return None
        if "DEL-8 held" not in view.judged:
            steady.until = answer.at + LIVE_MS
        if stream.silent:
            steady.since = answer.at + PROMPT_MS  # before that, it may show that another one was deaf
    if steady.label is not None and session.claimant(steady.label) is not call:
        steady.stretch.reached[steady.label], steady.label = steady.n, None
    steady.beside = session.is_viewed_beside(stream)
    steady.replayed = view.cursor is not None and session.has_messages_beside(stream)
    steady.slow = session.has_slow_reader()
    steady.keys, steady.places, steady.touched = session._keys, call.places, session.touched
    steady.place = call.places.get(steady.key, -1) if steady.key is not None else -1
    return steady


def _begun(run: Run, view: View, call: Call, experiment: str) -> Steady | None:
    """Begin a stretch on a view: the newest event of its stream was the last on it, and its order is not in doubt."""
    stream, before = view.stream, view.steady
    session = stream.session
    stream.enter()
    log, order, event, last = stream._log, view._order, view._position, view._last
    if event is None or view.pending or not log or log[-1] is not event:
        return None
    if last is not None and not (last is event and order and order[-1] is event):
        return None
    if (last is None and order) if view.ordinary and len(stream.views) == 1 else not order:
        return None
    if event.id is None or event.parsed.presence is not Presence.PRESENT:
        return None
    stem, parsed = stem_of(event.id), event.parsed
    steady = Steady(
        session, stream, call, begin_stretch(run, view, stem, parsed.stream, event.rank, experiment), parsed.seq
    )
    if last is not None:
        steady.key = last.key if call.places else last.named
        number = last.number
        if number is not None and session.claimant(number.label) is call:
            if steady.stretch.begin(number.label, number.n):
                steady.label, steady.n, steady.progress = number.label, number.n, is_progress(number)
            if before is not None and before.label == steady.label:
                steady.token = before.token
    return steady


def _is_next(steady: Steady, payload: Json, label: str, n: int) -> bool:
    """Whether a message is plainly the next one of a series; not, if that takes longer to find out."""
    if type(payload) is not dict or n >= _COUNTED:
        return False
    params = payload.get("params")
    if type(params) is not dict:
        return False
    if steady.progress:
        if payload.get("method") != "notifications/progress":
            return False
        value, token = params.get("progress"), params.get("progressToken")
        return type(value) is int and value == n and token == steady.token and type(token) is type(steady.token)
    if payload.get("method") != "notifications/message":
        return False
    data = params.get("data")
    if type(data) is not dict or data.get("label") != label:
        return False
    value = data.get("n")
    return type(value) is int and value == n


def _is_answer(steady: Steady, name: str, payload: Json) -> bool:
    """Whether a response is all that a call still waits for, and no error."""
    session, call = steady.session, steady.call
    return (
        type(payload) is dict
        and "error" not in payload
        and session.calls.get(name) is call
        and name not in session.reused
        and call.outstanding == {name}
        and call.stream is steady.stream
        and not steady.slow
    )
