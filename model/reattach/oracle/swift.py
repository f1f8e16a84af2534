"""The short way of nearly every observation: one more numbered message, next in order, on a view that goes on well.

What becomes of such a frame is known beforehand: it is a new event at the end of its stream, and of all judges some
have something to say, that their clause is kept. So it is entered in one place, without moments and judges. Whether a
frame is such a one is decided on the safe side: whatever is not certain goes the general way, and that way alone says
what is wrong with anything. That both ways come to the same is tested on every history of the tests.
"""

from collections import Counter

from attrs import define

from reattach.machine.cursor import Presence, is_integer
from reattach.oracle.flat import AnyFrame
from reattach.oracle.message import said
from reattach.oracle.reconstruct.forgetting import KEPT_BYTES, keep_event
from reattach.oracle.record import PROMPT_MS, Event, Run, Seen, View

_ONCE = frozenset({"ATT-1", "MOD-1", "DEL-8 held"})
"""What is judged of a resumed view once, by its first messages."""


@define
class Swift:
    """Takes frames the short way, and counts what was seen to hold there."""

    always: int = 0
    """EVT-1, EVT-2, EVT-5 and DEL-6."""
    isolated: int = 0
    """SES-5."""
    apart: int = 0
    """DEL-4."""
    replayed: int = 0
    """DEL-3."""

    def held(self) -> Counter[str]:
        """How often each clause was seen to hold."""
        clauses = {"SES-5": self.isolated, "DEL-4": self.apart, "DEL-3": self.replayed}
        return Counter(dict.fromkeys(("EVT-1", "EVT-2", "EVT-5", "DEL-6"), self.always) | clauses)

    def take(self, run: Run, frame: AnyFrame, experiment: str) -> bool:
        """Enter a frame, if it is one of these; else nothing has happened."""
        exchange = run.exchanges.get(frame.connection)
        view = exchange.view if exchange is not None else None
        if view is None or exchange is None:
            return False
        name, stream, previous = frame.id, view.stream, view.last
        session = stream.session
        # The view goes on as it should.
        if previous is None or exchange.end is not None or view.successor is not None or view.pending:
            return False
        if view.position is not previous or not stream.log or stream.log[-1] is not previous:
            return False
        if not view.order or view.order[-1] is not previous:
            return False
        if exchange.pauses or exchange.held_up_by is not None or session.ended is not None or session.id is None:
            return False
        if not (view.ordinary and len(stream.views) == 1) and not _is_steady(view, frame):
            return False
        # The message is the next of its series, which this call alone can have caused.
        number, call = previous.number, stream.call
        if number is None or call is None or not frame.has_data or frame.retry is not None or frame.size > KEPT_BYTES:
            return False
        key, label, new, _ = said(frame.payload)
        if key is None or new is None or label != number.label or new.n != number.n + 1 or new.label != label:
            return False
        if session.claimant(label) is not call or key in session.keys:
            return False
        if call.places and call.places.get(key, 0) != call.places.get(previous.key, -1) + 1:
            return False
        # The id is the next of its series.
        if name is None or name in session.events or name in run.issued:
            return False
        seq = _follows(view, previous, name)
        if seq == 0 or seq in session.seqs_seen:
            return False

        seen = Seen(run.index, frame, experiment, exchange)
        session.seqs += 1
        event = Event(stream, name, session.seqs, 0, True, new, False, seen, exchange, None, frame.size, key, (name,))
        stream.place(event, previous)
        if stream.steps >= 0 and key.startswith("progress:"):
            stream.steps += 1
        keep_event(run, session, event)
        session.events[name] = session.keys[key] = event
        run.issued[name] = [event]
        session.seqs_seen[seq] = view.series[2]
        if len(session.seqs_seen) > 2 * run.horizon:
            session.seqs_seen.pop(next(iter(session.seqs_seen)))
        view.position = view.last = event
        view.delivered[event.seq] = view.last_word = seen
        view.order.append(event)
        if len(view.order) > run.horizon:
            view.trim(run.horizon)
        exchange.quiet = None
        if frame.size > exchange.largest:
            exchange.largest = frame.size
        view.series = event, view.series[1], view.series[2], seq

        self.always += 1
        self.isolated += run.sessions_issued > 1
        self.apart += session.is_viewed_beside(stream)
        if view.cursor is not None:
            self.replayed += session.has_messages_beside(stream)
        return True


def _is_steady(view: View, frame: AnyFrame) -> bool:
    """Whether a view was resumed some time ago, so that everything has been said of that."""
    answer = view.exchange.answer
    return (
        view.cursor is not None
        and view.cursor.message
        and answer is not None
        and frame.at > answer.at + PROMPT_MS
        and view.judged >= _ONCE
        and view.exchange.has_resumption
    )


def _follows(view: View, previous: Event, name: str) -> int:
    """The seq of an id, if it has tag and stream of the one before and a larger seq; else 0."""
    before, stem, number, last = view.series
    if before is not previous:
        parsed = previous.parsed
        if previous.id is None or parsed.presence is not Presence.PRESENT:
            return 0
        stem, number, last = previous.id.rpartition(".")[0] + ".", parsed.stream, parsed.seq
        view.series = previous, stem, number, last
    text = name[len(stem) :]
    if not name.startswith(stem) or not is_integer(text):
        return 0
    seq = int(text)
    return seq if seq > last else 0
