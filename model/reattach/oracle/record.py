"""The record: what the oracle remembers of a run. Only data, and what is derived from it.

A session has streams, a stream has events in the order in which the server means them, a view is one delivery of a part
of a stream on one exchange. An event is known from its first delivery; ``rank`` is its place in its stream, ``seq`` its
place among the first deliveries of the session, which is what the machine calls a seq as far as a client can know it.

Everything is bounded by ``Run.horizon``, for each session and for the run as a whole (``reconstruct/forgetting.py``).
What has been forgotten is counted, so that a judge can tell "never issued" from "no longer known".

What is made for each event is a ``msgspec.Struct``, which costs a third to make; what is often changed is not, since
changing one costs more.
"""

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
from attrs import define, field

from reattach.machine.cursor import Cursor, Presence, parse_cursor
from reattach.machine.revision import Revision
from reattach.oracle.declaration import Declaration
from reattach.oracle.flat import AnyFrame, FlatFrame
from reattach.oracle.message import (
    Numbered,
    is_identifying,
    label_of_key,
    likeness,
    likeness_and_normalised_key,
    message_key,
    normalised_key,
)
from reattach.oracle.observation import Body, Frame, Json, Observation, Party, Request, Response

if TYPE_CHECKING:
    from reattach.oracle.moments import Rested
    from reattach.oracle.stretch import Stretch
    from reattach.oracle.swift import Steady

SLACK_MS = 1_000
"""How much later than a declared budget something may happen, for clocks, scheduling and the way there and back."""
DRAINED_MS = 1_000
"""After this long, what still arrives on a connection was sent after what had arrived on another one before."""
LIVE_MS = 100
"""What first arrives this long after a grant is taken to be live and not replayed."""
JUST_CUT_MS = 1_000
"""So long after the client has cut a connection a server may still believe in it."""
PROMPT_MS = 500
"""What arrives within this time of a grant was held by the server when the request came, or nearly so."""

IDLE_MS = 60_000
"""Undeclared: a session that was left alone for longer may have ended of itself."""

EVENTS = 16
"""So many times the horizon is the number of events that are remembered of all sessions together."""

EVENT_STREAM = "text/event-stream"
GAP = 1 << 20
"""Between the ranks of two events that came one after the other: room for others between them."""


class Seen(msgspec.Struct, eq=False):
    """An observation and its place in the run."""

    index: int
    raw: Observation | FlatFrame
    """The observation, or what it can be made of."""
    experiment: str = ""
    exchange: "Exchange | None" = None
    """The exchange that it is of."""

    @property
    def observation(self) -> Observation:
        """The observation."""
        return self.raw.frame() if isinstance(self.raw, FlatFrame) else self.raw

    @property
    def at(self) -> int:
        """Milliseconds, as recorded."""
        return self.raw.at


class StreamKind(Enum):
    """Where a stream comes from, as far as the wire shows."""

    REQUEST = "request"
    STANDALONE = "standalone"
    UNKNOWN = "unknown"
    """Opened by a cursor that the record does not know."""


class Event(msgspec.Struct, eq=False):
    """One event, as it was first delivered."""

    stream: "Stream"
    id: str | None
    seq: int
    """Its place among the first deliveries of the session, from 1."""
    rank: int
    """Its place in its stream; only comparisons mean anything."""
    message: bool
    """Whether it carries a message. An event that does not only moves the cursor (priming)."""
    number: Numbered | None
    response: bool
    seen: Seen
    exchange: "Exchange"
    after: "Event | None"
    """The last event with a message before it on the view that delivered it first (its cursor's, if none)."""
    size: int
    named: str | None = None
    """Its key, if that names it (``is_identifying``)."""
    id_seq: int = 0
    """The seq of its id, if it is known without reading that again; else 0."""
    names: tuple[str, ...] | None = None
    """The ids that it was given; None if that is its id alone."""
    _key: str | None = None
    _normal: str | None = None
    _likeness: bytes | None = None
    _parsed: Cursor | None = None
    ambiguous: bool = False
    """Whether its id was given to another event as well."""
    failed: bool = False
    """Whether it is a response that is an error: its call owes nothing more, and the client is told."""

    @property
    def session(self) -> "Session":
        """The session it belongs to."""
        return self.stream.session

    # What follows from the message is found when it is asked for, which is seldom.

    @property
    def key(self) -> str:
        """The identity of its message within the session."""
        if self._key is None:
            self._key = self.named if self.named is not None else message_key(payload_of(self.seen))
        return self._key

    @property
    def normal(self) -> str:
        """Its key between two runs of one call."""
        if self._normal is None:
            self._normal = normalised_key(payload_of(self.seen)) if self.message else ""
        return self._normal

    @property
    def likeness(self) -> bytes:
        """What is the same for the same message (``message.likeness``)."""
        if self._likeness is None:
            self._likeness = likeness(payload_of(self.seen))
        return self._likeness

    @property
    def parsed(self) -> Cursor:
        """Its id, read as a cursor."""
        if self._parsed is None:
            self._parsed = parse_cursor((self.id or "",))
        return self._parsed

    @property
    def numbers(self) -> tuple[str, int, int]:
        """Tag, stream and seq of its id; a whole number is a seq without the others; seq -1 if it is neither."""
        parsed, name = self.parsed, self.id or ""
        if parsed.presence is Presence.PRESENT:
            return parsed.tag, parsed.stream, parsed.seq
        if name.isascii() and name.isdigit() and len(name) <= 16:
            return "", 0, int(name)
        return "", 0, -1

    @property
    def all_names(self) -> tuple[str, ...]:
        """The ids that it was given."""
        if self.names is not None:
            return self.names
        return (self.id,) if self.id else ()

    def keep(self, payload: Json) -> None:
        """Find what follows from the message, because it will not be kept."""
        self._key = self.named if self.named is not None else message_key(payload)
        self._likeness, normal = likeness_and_normalised_key(payload)
        self._normal = normal if self.message else ""

    @property
    def anchor(self) -> "Event | None":
        """The last event with a message that a client at this cursor has; None at the start of the stream."""
        return self if self.message else self.after


@define(eq=False)
class Stream:
    """One logical sequence of events."""

    session: "Session"
    kind: StreamKind
    opener: "Exchange"
    """The exchange that opened it, or the first one that is known to resume it."""
    call: "Call | None" = None
    _log: list[Event] = field(factory=list)
    views: list["View"] = field(factory=list)
    silent: list["View"] = field(factory=list)
    """Resumed ones that were quiet, of which it may yet show that they were deaf (DEL-8)."""
    finished: Seen | None = None
    """The delivery of its last response."""
    steps: int = 0
    """Successive progress notifications that differed by exactly one; -1 once any did not."""
    counts: dict[str, int] = field(factory=dict)
    """By label of log messages that no call claims: the newest number, while they count 1, 2, 3; else 0."""
    stretch: "Stretch | None" = None
    """Its newest events, if they are noted and not entered."""

    def enter(self) -> None:
        """See to it that all its events are entered."""
        if self.stretch is not None:
            self.stretch.enter()

    @property
    def log(self) -> list[Event]:
        """Its events, in the server's order."""
        self.enter()
        return self._log

    @property
    def is_empty(self) -> bool:
        """Whether it has no event."""
        return not self._log and (self.stretch is None or not self.stretch.frames)

    @property
    def has_messages(self) -> bool:
        """Whether it has had a message."""
        if self.stretch is not None and self.stretch.frames:
            return True
        return bool(self._log) and (self._log[-1].message or any(event.message for event in self._log))

    def log_after(self, event: Event | None) -> list[Event]:
        """The known events after ``event``, with or without a message, in order."""
        if event is not None and event is self.newest:
            return []
        return self.log[0 if event is None else bisect_right(self.log, event.rank, key=_rank) :]

    def absorb(self, other: "Stream") -> None:
        """Make another stream a part of this one: the one that was opened later comes after the other."""
        first, second = (self, other) if self.opener.asked.index < other.opener.asked.index else (other, self)
        self._log = [*first.log, *second.log]
        for number, event in enumerate(self.log, start=1):
            event.rank, event.stream = number * GAP, self
        for view in other.views:
            view.stream = self
        self.views = sorted([*self.views, *other.views], key=lambda view: view.exchange.asked.index)
        self.silent += other.silent
        other._log, other.views, other.silent = [], [], []
        if other in self.session.streams:
            self.session.streams.remove(other)

    @property
    def messages(self) -> list[Event]:
        """Its events that carry a message, in order."""
        return [event for event in self.log if event.message]

    @property
    def newest(self) -> Event | None:
        """Its newest known event."""
        return self.log[-1] if self.log else None

    def after(self, event: Event | None) -> Iterator[Event]:
        """The known events with a message after ``event`` (all, if None), in order."""
        return (later for later in self.log_after(event) if later.message)

    def place(self, event: Event, position: Event | None) -> None:
        """Put a new event directly after ``position``; at the front if None."""
        if position is (self._log[-1] if self._log else None):
            event.rank = GAP if position is None else position.rank + GAP
            self._log.append(event)
            return
        index = 0 if position is None else bisect_right(self._log, position.rank, key=_rank)
        before = self._log[index - 1].rank if index > 0 else 0
        if index == len(self._log):
            event.rank = before + GAP
        else:
            if self._log[index].rank - before < 2:
                for number, other in enumerate(self._log, start=1):
                    other.rank = number * GAP
                before = self._log[index - 1].rank if index > 0 else 0
            event.rank = (before + self._log[index].rank) // 2
        insort(self._log, event, key=_rank)

    def drop(self, event: Event) -> None:
        """Forget an event."""
        index = bisect_left(self._log, event.rank, key=_rank)
        if index < len(self._log) and self._log[index] is event:
            del self._log[index]

    def open_views(self) -> Iterator["View"]:
        """The views whose exchange is not over."""
        return (view for view in self.views if view.exchange.is_open)


def _rank(event: Event) -> int:
    return event.rank


class Bearing(Enum):
    """What is known of the cursor that a request carries."""

    NONE = "none"
    GOOD = "good"
    """The session was given it."""
    MALFORMED = "malformed"
    FOREIGN = "foreign"
    AHEAD = "ahead"
    MISMATCH = "mismatch"
    UNKNOWN = "unknown"
    """Not judged: the record does not reach far enough, or the id was given twice."""


BAD = frozenset({Bearing.MALFORMED, Bearing.FOREIGN, Bearing.AHEAD, Bearing.MISMATCH})
"""Cursors that this session was never given."""


class Resolution(Enum):
    """How a resumption request was answered."""

    GRANTED = "granted"
    REFUSED = "refused"
    UNSUPPORTED = "unsupported"
    """405: the server has no event streams on GET, and says so."""
    CRASHED = "crashed"
    HUNG = "hung"
    ODD = "odd"
    """A success without an event stream, or a redirection."""
    ADMISSION = "admission"
    """401, 403, 503: not about the cursor."""


class Life(Enum):
    """What is known of a session."""

    LIVE = "live"
    TERMINATED = "terminated"
    """A DELETE was answered with a success."""
    GONE = "gone"
    """It answered 404 without a DELETE."""
    NEVER = "never"
    """No answer ever carried its id, and the record is complete."""
    UNKNOWN = "unknown"


@define(eq=False)
class View:
    """One event-stream body: a delivery of a part of a stream."""

    exchange: "Exchange"
    stream: Stream
    cursor: Event | None
    """The event it starts after; None for a fresh view, and for a bad cursor."""
    _delivered: dict[int, Seen] = field(factory=dict)
    _order: list[Event] = field(factory=list)
    _position: Event | None = None
    _last: Event | None = None
    bare: list[Event] = field(factory=list)
    """The events without a message delivered on it."""
    bare_first: bool = False
    """Whether one of them came before any message."""
    pending: list[Event] = field(factory=list)
    """New events put before known ones, until a known one confirms the order."""
    retry: bool = False
    stated: str | None = None
    """The position that it stated; "" for a statement that names none."""
    ended_because: str | None = None
    """The reason given with ``resumption-required``; "" if none was."""
    _last_word: Seen | None = None
    foreign_owner: "Session | None" = None
    """The other session of which something came."""
    takeover_of: list["View"] = field(factory=list)
    """The views of its stream that were open when it was granted."""
    successor: "View | None" = None
    """The first view that was granted on its stream while it was open."""
    floor: int = 0
    """The ``seq`` below which its deliveries are no longer known."""
    steady: "Steady | None" = None
    """How it goes on, if what comes next may be entered the short way (``swift.py``)."""
    ordinary: bool = False
    """Whether it was asked for without a cursor, or with one of which nothing is known, in a revision with sessions."""
    beyond: str = ""
    """Why what follows its cursor cannot be in the declared window any more; "" if it may be."""
    judged: set[str] = field(factory=set)

    # What was delivered on it is not whole before the newest events of its stream are entered.

    def _whole(self) -> "View":
        self.stream.enter()
        return self

    @property
    def delivered(self) -> dict[int, Seen]:
        """The ``seq`` of each event with a message that was delivered on it, and the last delivery."""
        return self._whole()._delivered

    @property
    def order(self) -> list[Event]:
        """The events with a message delivered on it, in the order of delivery."""
        return self._whole()._order

    @property
    def position(self) -> Event | None:
        """The furthest event of its stream that was delivered on it; at first, the cursor."""
        return self._whole()._position

    @property
    def last(self) -> Event | None:
        """The last event of its stream with a message that was delivered on it."""
        return self._whole()._last

    @property
    def last_word(self) -> Seen | None:
        """The last SSE event or comment that came on it."""
        return self._whole()._last_word

    def trim(self, horizon: int) -> None:
        """Forget all but the newest deliveries."""
        for event in self._order[:-horizon]:
            self._delivered.pop(event.seq, None)
            self.floor = max(self.floor, event.seq)
        del self._order[:-horizon]

    def trim_to(self, floor: int) -> None:
        """Forget the deliveries of what came first at or before ``floor``."""
        old = [event for event in self._order if event.seq <= floor]
        if old:
            self.floor = max(self.floor, max(event.seq for event in old))
            for event in old:
                self._delivered.pop(event.seq, None)
            self._order = [event for event in self._order if event.seq > floor]
        self.bare = [event for event in self.bare if event.seq > floor]
        self.pending = [event for event in self.pending if event.seq > floor]

    def forget(self) -> None:
        """Let go of everything but the stream."""
        self.cursor, self._position, self._last, self.successor = None, None, None, None
        for events in (self._order, self.bare, self.pending, self.takeover_of):
            events.clear()
        self._delivered.clear()
        self.steady = None

    @property
    def resumed(self) -> bool:
        """Whether it was granted to a cursor that the record knows."""
        return self.cursor is not None

    @property
    def foreign(self) -> bool:
        """Whether something of another session came."""
        return self.foreign_owner is not None

    @property
    def silent(self) -> bool:
        """Whether no message came on it."""
        return not self.order and not self.foreign

    def once(self, what: str) -> bool:
        """True the first time it is asked for ``what``."""
        if what in self.judged:
            return False
        self.judged.add(what)
        return True


@define(eq=False)
class Call:
    """What one POST asked for."""

    exchange: "Exchange"
    ids: frozenset[str]
    """The JSON-RPC ids of its requests, as text."""
    outstanding: set[str]
    """The ids that no response was seen for."""
    stream: Stream | None = None
    expected: tuple[str, ...] | None = None
    origin: str = "numbered"
    pushed: tuple[str, ...] | None = None
    """What it makes the server send on the standalone stream."""
    expectation: Seen | None = None
    pace_ms: int | None = None
    """The longest that its tool waits between two messages; None if that is not known."""
    places: dict[str, int] = field(factory=dict)
    """The place of each expected key, if the keys name messages."""
    labels: set[str] = field(factory=set)
    """The series that it claims."""
    cancelled: Seen | None = None
    """The acceptance of its cancellation."""
    settled: Seen | None = None
    push_expectation: Seen | None = None

    @property
    def session(self) -> "Session | None":
        """The session under which it was made."""
        return self.exchange.session

    @property
    def answered(self) -> bool:
        """Whether every request in it has had its response."""
        return not self.outstanding

    def place(self, event: Event | None) -> int:
        """The place of an event among what is expected, -1 for the start; -2 if it has none."""
        if event is None:
            return -1
        return self.places.get(event.key, -2)


@define(eq=False)
class Pause:
    """A time during which the reader did not read."""

    begun: Seen
    ended: Seen | None = None
    bytes_after: int = 0
    """Bytes of data delivered on the exchange after it."""


@define(eq=False)
class Exchange:
    """One HTTP request and its answer."""

    number: int
    asked: Seen
    request: Request
    session: "Session | None"
    """The session it was made under; None if it names none."""
    revision: Revision
    """The revision it is made in."""
    bearing: Bearing = Bearing.NONE
    cursor: Event | None = None
    call: Call | None = None
    answer: Seen | None = None
    body: Seen | None = None
    first_frame: Seen | None = None
    end: Seen | None = None
    quiet: Seen | None = None
    """The last quiet, if nothing has come since."""
    rested: Seen | None = None
    """The last quiet, whatever has come since."""
    hung: Seen | None = None
    """A quiet before any response."""
    view: View | None = None
    resolution: Resolution | None = None
    pauses: Sequence[Pause] = ()
    """The last times that it was not read."""
    idle_ms: int | None = None
    """How long its session had surely been left alone; None if it was occupied, or may have been."""
    away_ms: int | None = None
    """How long its session can have been left alone at most; None if nobody knows."""
    rivals: Sequence[View] = ()
    """The views of its cursor's stream that were open, or had just been cut, when it was sent."""
    newest: bool = False
    """Whether no message after its cursor was known when it was sent."""
    held_up_by: "Exchange | None" = None
    """Another exchange of the session that was not being read while this one was silent."""
    follows: "Exchange | None" = None
    """The refused or bad resumption after which this is the first request of the session."""
    largest: int = 0
    """Bytes of the largest event delivered on it."""
    life: Life = Life.UNKNOWN
    """What was known of its session when it was sent."""
    reissues: "Session | None" = None
    """The earlier session whose id this initialize was given."""
    explained: bool = False
    status: int = 0
    """The HTTP status; 0 before there is one."""
    ended_by: Party | None = None
    """Who ended it."""
    ended_cleanly: bool = False
    """Whether its body ended as HTTP says."""
    has_resumption: bool = True
    """Whether its revision has sessions and resumption."""
    resumes: bool = False
    """Whether it asks for a stream from a cursor: a GET, or a POST that asks for nothing else."""
    bad: bool = False
    """Whether its cursor is one that the session was never given."""

    def forget(self) -> None:
        """Let go of what it leads to, once it is too old to be compared with anything."""
        self.cursor, self.rivals, self.follows, self.held_up_by = None, (), None, None
        if self.view is not None:
            if self.view in self.view.stream.views:
                self.view.stream.views.remove(self.view)
            if self.view in self.view.stream.silent:
                self.view.stream.silent.remove(self.view)
            self.view.forget()
        for seen in (self.answer, self.body, self.end, self.quiet, self.rested, self.hung):
            if seen is not None:
                seen.exchange = None  # else nothing of it would be freed before a collection of all that there is
        self.view = self.call = self.first_frame = self.reissues = None

    @property
    def method(self) -> str:
        """GET, POST, DELETE."""
        return self.request.method

    @property
    def response(self) -> Response | None:
        """The status line, if there is one."""
        return self.answer.raw if self.answer and isinstance(self.answer.raw, Response) else None

    @property
    def is_open(self) -> bool:
        """Whether it is not over, as far as the recorder knows."""
        return self.end is None and (self.view is not None or self.answer is None)

    @property
    def had_its_say(self) -> bool:
        """Whether what has not come by now was not sent: the server ended the body, or silence followed.

        A connection that breaks, or that the client cuts, may lose what was on its way.
        """
        return self.quiet is not None or (self.ended_by is Party.SERVER and self.ended_cleanly)

    @property
    def paused(self) -> bool:
        """Whether the reader is not reading it now."""
        return bool(self.pauses) and self.pauses[-1].ended is None

    @property
    def owner_asks(self) -> bool:
        """Whether it comes from the principal that opened its session, as far as that is known."""
        session, principal = self.session, self.request.principal
        return session is None or session.opener is None or session.principal == principal

    @property
    def experiment(self) -> str:
        """The experiment that sent it."""
        return self.asked.experiment


class _Everything(set[str]):
    """A set of so many texts that it is not told any more which are not in it."""

    def __contains__(self, text: object) -> bool:
        return True

    def add(self, text: str) -> None:
        """It is in it."""


EVERYTHING: set[str] = _Everything()


@define(eq=False)
class Session:
    """One session, or (``id`` is None) the one client of a server that mints no session ids."""

    id: str | None
    life: Life
    revision: Revision
    principal: str | None = None
    opener: Exchange | None = None
    """The exchange whose answer issued it."""
    _events: dict[str, Event] = field(factory=dict)
    """By event id; a second name of an event is a second entry."""
    _keys: dict[str, Event] = field(factory=dict)
    """By message key, where the key names one message."""
    stretches: dict[str, "Stretch"] = field(factory=dict)
    """Those of ``Run.stretches`` that are its own."""
    series: dict[str, "Stretch"] = field(factory=dict)
    """By label of a series, and by key of a response: where it may be noted and not entered."""
    streams: list[Stream] = field(factory=list)
    calls: dict[str, Call] = field(factory=dict)
    """By JSON-RPC id, oldest first."""
    running: dict[int, Call] = field(factory=dict)
    """Those that are answered by a stream and have not had their response; by the number of their exchange."""
    claims: dict[str, Call] = field(factory=dict)
    """Which of its calls was the first to claim a series."""
    reused: set[str] = field(factory=set)
    """JSON-RPC ids and series that more than one call of the session claims; they name nothing."""
    exchanges: dict[int, Exchange] = field(factory=dict)
    open: dict[int, Exchange] = field(factory=dict)
    """Those of its exchanges that are not over, and may be some that are."""
    doubts: list["Rested"] = field(factory=list)
    """What could not be judged yet, because another view of the session might still bring what is missing."""
    seqs: int = 0
    floor: int = 0
    """The events up to this ``seq`` are not remembered, those after it are."""
    overdue: int = 0
    """How often it stands in ``Run.kept`` for an event that is forgotten already."""
    forgotten: int = 0
    """How many events were dropped from the record, and how many exchanges that delivered any."""
    forgotten_calls: int = 0
    unfollowed: bool = False
    """Whether an exchange of it was dropped that was not over, so that nobody knows what else is open."""
    ended: Seen | None = None
    """The answer to the DELETE that terminated it."""
    lost: Exchange | None = None
    """The exchange that was answered 404 without a DELETE."""
    terminator: Exchange | None = None
    """The DELETE that terminated it."""
    open_at_end: list[View] = field(factory=list)
    """The views that were open when it was terminated."""
    restarted: bool = False
    """Whether the server was restarted since it was opened."""
    refused: Exchange | None = None
    """A refused or bad resumption after which no other request was answered yet."""
    newest_seq: int = 0
    """The greatest seq of an id in the standard's grammar."""
    _seqs_seen: dict[int, int] = field(factory=dict)
    """For ids in the standard's grammar: the stream number that each seq was seen with."""
    last_sign: int | None = None
    """Milliseconds: when something of it was last begun or ended."""
    touched: int = 0
    """How often anything of it may have been changed otherwise than by the short way of frames (``swift.py``)."""

    @property
    def standalone(self) -> list[Stream]:
        """Its standalone streams."""
        return [stream for stream in self.streams if stream.kind is StreamKind.STANDALONE]

    def open_exchanges(self) -> Iterator[Exchange]:
        """Its exchanges that are not over."""
        return (exchange for exchange in self.open.values() if exchange.is_open)

    def is_viewed_beside(self, stream: Stream) -> bool:
        """Whether another of its streams has an open view."""
        for exchange in self.open.values():
            if exchange.end is None and exchange.view is not None and exchange.view.stream is not stream:
                return True
        return False

    def has_slow_reader(self) -> bool:
        """Whether one of its open exchanges was not read for a while."""
        return any(exchange.pauses for exchange in self.open.values())

    def has_messages_beside(self, stream: Stream) -> bool:
        """Whether another of its streams has had a message."""
        return any(other is not stream and other.has_messages for other in self.streams)

    @property
    def events(self) -> dict[str, Event]:
        """Its events by id."""
        self._enter_all()
        return self._events

    def _enter_all(self) -> None:
        for stretch in list(self.stretches.values()):
            stretch.enter()

    def has_several_ids(self) -> bool:
        """Whether it was given two ids."""
        return len(self._events) > 1 or any(stretch.frames for stretch in self.stretches.values())

    def event_with(self, name: str) -> Event | None:
        """The event with an id."""
        _enter(self.stretches, name)
        return self._events.get(name)

    def event_of(self, key: str) -> Event | None:
        """The event with a message key, where the key names one message."""
        stretch = self.series.get(key) or self.series.get(label_of_key(key) or "")
        if stretch is not None:
            stretch.enter()
        return self._keys.get(key)

    def stream_of_seq(self, seq: int) -> int | None:
        """The stream number that a seq was first seen with, in ids in the standard's grammar."""
        if seq <= self.newest_seq and seq not in self._seqs_seen:
            self._enter_all()
        return self._seqs_seen.get(seq)

    def is_claimed(self, label: str) -> bool:
        """Whether one of its calls claims a series, or may do so."""
        return self.forgotten_calls > 0 or label in self.claims

    def claimant(self, label: str) -> Call | None:
        """The call that claims a series, if exactly one does."""
        return None if label in self.reused else self.claims.get(label)

    def known(self, key: str) -> Event | None:
        """The event that a message key names, if it names one."""
        return self.event_of(key) if is_identifying(key) else None


@define(eq=False)
class Run:
    """The whole record."""

    revision: Revision
    declaration: Declaration
    complete: bool
    horizon: int
    index: int = 0
    exchanges: dict[int, Exchange] = field(factory=dict)
    unended: dict[int, Exchange] = field(factory=dict)
    """Those of them that have not ended, oldest first."""
    ended: deque[Exchange] = field(factory=deque)
    """The others, in the order in which they ended."""
    kept: deque[Session] = field(factory=deque)
    """For each event of any session its session, in the order of their first delivery; also for some that a session has
    forgotten (``Session.overdue``)."""
    held: int = 0
    """How many of them are remembered."""
    sessions: dict[str, Session] = field(factory=dict)
    anonymous: Session | None = None
    """The client of a server that mints no session ids, once that is known."""
    anonymous_clients: int = 0
    issued: dict[str, Event] = field(factory=dict)
    """The entered events of any session by event id, the first of those that have it."""
    stretches: dict[str, "Stretch"] = field(factory=dict)
    """The events that are not entered: by their id, but for its seq."""
    issued_again: dict[str, list[Event]] = field(factory=dict)
    """All of those that have it, if there are more."""
    claims: OrderedDict[str, list[Call]] = field(factory=OrderedDict)
    """By series."""
    asked_ids: dict[str, list[Session]] = field(factory=dict)
    """The sessions that sent a request with a JSON-RPC id."""
    early: dict[int, list[Seen]] = field(factory=dict)
    """Expectations whose request has not been seen yet."""
    accepts: set[str] = field(factory=set)
    """Methods that were answered with a success under a session."""
    ids_seen: bool = False
    terse: bool = False
    """Whether a request's message was left out by the recorder, and then perhaps what was answered."""
    sessions_issued: int = 0
    never_statuses: dict[str, set[int]] = field(factory=dict)
    """By method: how requests under a session id that was never issued were answered."""
    chatty: bool = False
    """Whether a message came on a standalone stream that no call was known to cause."""
    speaks_sessionless: bool = False
    """Whether a POST in a revision without sessions was answered with a success."""
    principals: set[str] = field(factory=set)
    """Two of those that were named, at most."""
    readable: bool = False
    """Whether an id was in the standard's grammar."""
    terminated: bool = False
    """Whether a session was."""
    strays: int = 0
    """Observations of connections without a request."""
    forgotten_sessions: int = 0
    forgotten_events: int = 0
    forgotten_exchanges: int = 0
    unfollowed: int = 0
    """How many of these were not over."""
    posts_with_cursor: int = 0
    restarts: int = 0
    most_kept: int = field(init=False)
    """The most events of one session that are remembered."""
    most_held: int = field(init=False)
    """The most events of all sessions that are remembered."""
    most_entries: int = field(init=False)
    """The most entries of ``kept``."""

    def __attrs_post_init__(self) -> None:
        self.most_kept = self.horizon + self.horizon // 8
        self.most_held = EVENTS * self.horizon
        self.most_entries = 2 * self.most_held + self.horizon

    def issued_as(self, name: str) -> Sequence[Event]:
        """The events of any session that have an id."""
        self.enter(name)
        return self._entered_as(name)

    def _entered_as(self, name: str) -> Sequence[Event]:
        event = self.issued.get(name)
        if event is None:
            return ()
        return self.issued_again.get(name, (event,)) if self.issued_again else (event,)

    def enter(self, name: str) -> None:
        """See to it that what may have this id is entered."""
        _enter(self.stretches, name)

    def issue(self, name: str, event: Event) -> None:
        """Note that an event has an id."""
        first = self.issued.setdefault(name, event)
        if first is not event:
            self.issued_again.setdefault(name, [first]).append(event)

    def take_back(self, name: str, event: Event) -> None:
        """Forget that an event has an id."""
        if not self.issued_again and self.issued.get(name) is event:
            del self.issued[name]
            return
        left = [other for other in self._entered_as(name) if other is not event]
        self.issued_again.pop(name, None)
        if left:
            self.issued[name] = left[0]
        else:
            self.issued.pop(name, None)
        if len(left) > 1:
            self.issued_again[name] = left


def stem_of(name: str) -> str:
    """An event id without its seq, where that can be told from the rest."""
    return name[: name.rfind(".") + 1]


def _enter(stretches: dict[str, "Stretch"], name: str) -> None:
    """Enter the one of some stretches that may have an id."""
    stretch = stretches.get(stem_of(name)) if stretches else None
    if stretch is not None:
        stretch.enter()


def body_of(exchange: Exchange) -> Body | None:
    """The answer's body, if it was recorded whole."""
    return exchange.body.observation if exchange.body and isinstance(exchange.body.observation, Body) else None


def frame_of(seen: Seen) -> AnyFrame:
    """The frame of a delivery; its payload is there only while it is being judged."""
    frame = seen.raw
    assert type(frame) is FlatFrame or type(frame) is Frame
    return frame


def payload_of(seen: Seen) -> Json:
    """The message of a delivery, if it is kept."""
    observation = seen.observation
    assert isinstance(observation, Frame)
    return observation.payload


def drained(exchange: Exchange, seen: Seen, since: Seen) -> bool:
    """Whether what comes now on an exchange was sent after ``since``, which was seen on another connection."""
    if exchange.paused:
        return False
    resumed = exchange.pauses[-1].ended if exchange.pauses else None
    if resumed is not None and resumed.index > since.index:
        since = resumed  # what was not read for a while is late for that reason
    return seen.at >= since.at + DRAINED_MS or (exchange.rested is not None and exchange.rested.index > since.index)


def may_have_ended(run: Run, exchange: Exchange) -> bool:
    """Whether the session may have ended for its client's absence before this request."""
    budget = run.declaration.absence_ms
    limit = IDLE_MS if budget is None else max(0, budget - SLACK_MS)
    return exchange.away_ms is None or exchange.away_ms > limit


def shows_life(run: Run, exchange: Exchange) -> bool:
    """Whether a request, as far as it has come, shows that its session was there: not if it may have come too late."""
    return exchange.status != 404 and (exchange.answer is not None or not may_have_ended(run, exchange))
