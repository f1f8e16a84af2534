"""The machine as an event store: what a store owes, after every step of a history.

No rule is stated here. Storing is ``Emit``, the first priming of a stream is its birth, a replay is the decision on the
cursor and the suffix of the window. A later priming has an id of its own but is no event of the machine, which would
restate the client's cursor there (EVT-6): it stands where its stream stood when it was stored.
"""

from attrs import Factory, define, evolve, field, frozen

from reattach.machine.cursor import MAX_INTEGER, Cursor, Presence, format_event_id, parse_cursor
from reattach.machine.decision import Reattach, Refuse, decide_cursor
from reattach.machine.policy import Policy
from reattach.machine.session import Session, find_stream
from reattach.machine.transition import Disconnect, Emit, Emitted, Opened, OpenStream, open_session, step
from reattach.machine.transition import Tick as Passed
from reattach.machine.window import suffix
from reattach.stores.script import Bounds, Forged, Of, Replay, Step, Store

_CONNECTION = 1
_TAG = "session-{:0>14}"
"""A tag in the grammar of the standard, by the number of the session."""


@frozen
class Stored:
    """A step stored event number ``event`` of the history."""

    event: int


@frozen
class Owed:
    """A replay is granted: of ``stream``, these events in this order."""

    stream: str
    events: tuple[int, ...]
    later: tuple[int, ...] = ()
    """What may follow: stored while the replay was under way."""
    priming: bool = False
    """Whether the cursor was that of priming."""
    at_mark: bool = False
    """Whether the cursor is the smallest that is granted, and its own event has left."""


Answer = Stored | Owed | Refuse


@frozen
class _Place:
    """Where an event is: the machine's session, and the cursor that names it there."""

    window: tuple[int, str]
    cursor: Cursor
    stream: str
    session: int
    priming: bool


def _policy_of(bounds: Bounds) -> Policy:
    """The bounds, and no other limit."""
    return Policy(
        window_events=bounds.window_events or MAX_INTEGER,
        window_ms=bounds.window_ms or MAX_INTEGER,
        window_bytes=MAX_INTEGER,
        stall_ms=1,
        absence_ms=MAX_INTEGER,
        open_streams=MAX_INTEGER,
    )


@define
class Model:
    """A store of the machine's, with bounds."""

    bounds: Bounds
    _policy: Policy = field(init=False, default=Factory(lambda self: _policy_of(self.bounds), takes_self=True))
    _windows: dict[tuple[int, str], Session] = field(factory=dict)
    _numbers: dict[tuple[int, str], int] = field(factory=dict)
    """By session and stream: its number in its machine's session."""
    _places: list[_Place] = field(factory=list)
    _now: int = 0

    @property
    def stored(self) -> int:
        """Events of the history up to here."""
        return len(self._places)

    def stream_of(self, event: int) -> tuple[int, str]:
        """The session and the stream of an event."""
        place = self._places[event - 1]
        return place.session, place.stream

    def stored_after(self, event: int) -> tuple[int, ...]:
        """The messages that were ever stored on the event's stream after it, held or not."""
        where, events = self.stream_of(event), range(event + 1, self.stored + 1)
        return tuple(each for each in events if self.stream_of(each) == where and not self.is_priming(each))

    def is_priming(self, event: int) -> bool:
        """Whether an event is priming."""
        return self._places[event - 1].priming

    def take(self, given: Step) -> Answer:
        """What a store owes in answer to a step."""
        if isinstance(given, Store):
            return self._store(given)
        decided = self._replay(given)
        if not given.meanwhile or not isinstance(decided, Owed):
            return decided
        for each in given.meanwhile:
            self._store(each)
        after = self._replay(evolve(given, after=decided.events[-1] if decided.events else given.after))
        return evolve(decided, later=after.events if isinstance(after, Owed) else ())

    def _window(self, session: int, stream: str, at: int) -> tuple[tuple[int, str], Session]:
        """The machine's session that holds a stream, at this time: one for each stream, if the bound is a stream's."""
        key = (session, stream if self.bounds.of is Of.STREAM else "")
        opened = self._windows.get(key) or open_session(_TAG.format(session), "", 0)
        self._now = max(self._now, at)
        self._windows[key] = step(self._policy, opened, self._now, Passed()).session
        return key, self._windows[key]

    def _store(self, given: Store) -> Stored:
        key, window = self._window(given.session, given.stream, given.at)
        policy, named = self._policy, (given.session, given.stream)
        if named not in self._numbers:
            opened = step(policy, window, self._now, OpenStream(_CONNECTION))
            assert isinstance(opened.result, Opened)
            self._numbers[named] = opened.result.stream
            window = step(policy, opened.session, self._now, Disconnect(_CONNECTION)).session
        number, event = self._numbers[named], len(self._places) + 1
        if given.priming:
            seq = find_stream(window, number).last
        else:
            emitted = step(policy, window, self._now, Emit(number, 1, event))
            assert isinstance(emitted.result, Emitted)
            seq, window = emitted.result.seq, emitted.session
        cursor = Cursor(Presence.PRESENT, window.tag, number, seq)
        self._windows[key] = window
        self._places.append(_Place(key, cursor, given.stream, given.session, given.priming))
        return Stored(event)

    def _replay(self, given: Replay) -> Owed | Refuse:
        named = given.after if isinstance(given.after, int) else given.after.event
        place = self._places[named - 1] if named else None
        _, window = self._window(given.session, place.stream if place else "", given.at)
        cursor = place.cursor if place else Cursor(Presence.MALFORMED)
        if isinstance(given.after, Forged):
            text = format_event_id(cursor.tag, cursor.stream, cursor.seq) if place else ""
            cursor = parse_cursor((f"{given.after.before}{text}{given.after.then}",))
        decision = decide_cursor(window, cursor)
        if isinstance(decision, Reattach) and place is not None:
            owed = suffix(window.window, decision.stream, decision.position)
            held = window.window.successor(decision.stream, decision.position - 1).seq == decision.position
            events = tuple(int(str(entry.message)) for entry in owed)
            return Owed(place.stream, events, priming=place.priming, at_mark=bool(owed) and not held)
        assert isinstance(decision, Refuse)
        return decision
