"""A stretch: the newest events of a stream, which came as they had to, noted and not entered.

Most of what is delivered is never asked for again: nobody resumes from it, and nothing comes that is compared with it.
So what goes the short way (``swift.py``) is noted in a stretch, as it came, and entered into the record, with its
place, names and key, only when something asks for what may be among it. All that can be asked stands in ``record.py``:
the log of a stream, what was delivered on a view, an event by its id, its key or its seq. A stretch that nothing has
asked for until it is old enough to be forgotten is dropped as a whole.

While there is a stretch, its stream's record is as it was when the stretch was begun: whatever changes it otherwise
enters the stretch before. No other stretch of the run has ids that differ from its own in the seq alone, and none of
the session has a series in common with it.
"""

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from attrs import define, field

from reattach.oracle.flat import AnyFrame, Packed, pack, unpack
from reattach.oracle.message import Numbered, key_of
from reattach.oracle.observation import Json
from reattach.oracle.reconstruct.forgetting import KEPT_BYTES, compact, keep_seq
from reattach.oracle.record import GAP, Event, Run, Seen, View


@define(eq=False)
class Stretch:
    """Successive events with messages, first delivered on one view."""

    run: Run
    view: View
    stem: str
    """Their ids without the seq."""
    number: int
    """The stream's, in their ids."""
    rank: int
    """That of the event before it."""
    experiment: str
    """The one that they were seen in."""
    frames: list[Packed] = field(factory=list)
    indexes: list[int] = field(factory=list)
    """Their places in the run."""
    seqs: list[int] = field(factory=list)
    """Their places among the first deliveries of the session."""
    series: list[tuple[int, str, int | None]] = field(factory=list)
    """From which place on they are of which series, and the number there; without one it is the key of a response."""
    reached: dict[str, int] = field(factory=dict)
    """The series that it has for its own, and the key of a response; and a number that is not below those it has."""
    large: dict[int, Event] = field(factory=dict)
    """Those whose message is not kept, by their place among them."""

    def begin(self, label: str, n: int) -> bool:
        """Take a series, or the key of a response, for its own; not if anything noted may have this number or more."""
        known = self.view.stream.session.series
        if label in known and (known[label] is not self or n <= self.reached[label]):
            return False
        known[label], self.reached[label] = self, n
        return True

    def note(self, frame: AnyFrame, payload: Json, seq: int) -> AnyFrame:
        """Note the next event, with the seq of its id; returns the frame as the record keeps it."""
        session = self.view.stream.session
        session.newest_seq = seq
        session.seqs += 1
        self.frames.append(pack(frame))
        self.indexes.append(self.run.index)
        self.seqs.append(session.seqs)
        if frame.size > KEPT_BYTES:
            place = len(self.frames) - 1
            event = self.large[place] = self._event(place, frame, *self.series[-1])
            event.keep(payload)
            frame = event.seen.raw = compact(frame)
            self.frames[place] = pack(frame)
        return frame

    def enter(self) -> None:
        """Enter the events into the record."""
        self._leave()
        if not self.frames:
            return
        view, run, stream = self.view, self.run, self.view.stream
        session, events = stream.session, list(self._events())
        named = [(event.id or "", event) for event in events]
        stream._log += events
        session._events.update(named)
        run.issued.update(named)
        session._keys.update([(event.named or "", event) for event in events])
        for event in events:
            keep_seq(run, session, event.id_seq, self.number)
        if view.exchange.view is view:  # else it was forgotten
            view._position = view._last = events[-1]
            view._last_word = events[-1].seen
            view._delivered.update([(event.seq, event.seen) for event in events])
            view._order += events
        self._empty()

    def forget(self, floor: int) -> bool:
        """Forget the events up to a ``seq``, but for what it was that came last; whether there are any."""
        count = bisect_right(self.seqs, floor)
        if not count:
            return False
        view = self.view
        known = view.exchange.view is view
        if known:
            view.floor = max(view.floor, self.seqs[count - 1])
        if count == len(self.seqs):
            self._leave()
            if known:
                view._position = view._last = last = next(self._events(count - 1))
                view._last_word = last.seen
            self._empty()
            return True
        del self.frames[:count], self.indexes[:count], self.seqs[:count]
        at = bisect_right(self.series, count, key=itemgetter(0)) - 1
        begun, label, n = self.series[at]
        self.series[: at + 1] = [(count, label, n if n is None else n + count - begun)]
        self.series = [(place - count, label, n) for place, label, n in self.series]
        self.large = {place - count: event for place, event in self.large.items() if place >= count}
        self.rank += GAP * count
        return True

    def _leave(self) -> None:
        stream, run = self.view.stream, self.run
        session, stream.stretch = stream.session, None
        session.touched += 1
        for label in self.reached:
            del session.series[label]
        del run.stretches[self.stem], session.stretches[self.stem]

    def _empty(self) -> None:
        """Hold nothing: a view that stays open may hold on to the stretch."""
        for noted in (self.frames, self.indexes, self.seqs, self.large):
            noted.clear()

    def _events(self, begin: int = 0) -> Iterator[Event]:
        """Those from a place on."""
        ends = [*(first for first, _, _ in self.series[1:]), len(self.frames)]
        for (first, label, n), end in zip(self.series, ends, strict=True):
            for place in range(max(first, begin), end):
                known = self.large.get(place)
                yield known if known is not None else self._event(place, unpack(self.frames[place]), first, label, n)

    def _event(self, place: int, frame: AnyFrame, first: int, label: str, n: int | None) -> Event:
        """The one at a place, which is of the series that has the number ``n`` at the place ``first``."""
        exchange, number = self.view.exchange, Numbered(label, n + place - first) if n is not None else None
        key, name = label if number is None else key_of(number), frame.id or ""
        return Event(
            self.view.stream, name, self.seqs[place], self.rank + GAP * (place + 1), True, number, number is None,
            Seen(self.indexes[place], frame, self.experiment, exchange), exchange, None, frame.size, key,
            int(name[len(self.stem) :]),
        )  # fmt: skip


def begin_stretch(run: Run, view: View, stem: str, number: int, rank: int, experiment: str) -> Stretch:
    """A stretch of what follows on a view. What may have ids like its own is entered before."""
    other = run.stretches.get(stem)
    if other is not None:
        other.enter()
    stream, stretch = view.stream, Stretch(run, view, stem, number, rank, experiment)
    stream.stretch = run.stretches[stem] = stream.session.stretches[stem] = stretch
    return stretch
