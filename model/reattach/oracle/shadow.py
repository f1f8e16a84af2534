"""The reference machine beside an exchange: what it holds at each observation, and what it would do there.

The observations are entered into the record as in any run. What the record then knows of a session is played to the
machine: its streams, the messages known to be emitted, its views in the order in which they were asked for. The machine
answers the request and says what it would write next. Nothing is judged here; that is done, and was.

An exchange that shows a finding is cut out of a run, so two things are not known from it. Which messages a server has
evicted: the machine plays with a window without limits, unless a declared one surely holds less (``bounds``). Where a
cursor comes from that no frame of the exchange shows: the finding's clause says it, if it is about such cursors; else
the machine is not asked.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from attrs import define, evolve, field, frozen

from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.decision import Reason, Refuse, status_of
from reattach.machine.policy import Policy
from reattach.machine.revision import TRAITS, Revision
from reattach.machine.session import Greeting
from reattach.machine.session import Session as Machine
from reattach.machine.transition import (
    Accepted,
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Gone,
    Input,
    Opened,
    OpenStream,
    Result,
    Resume,
    Step,
    Terminate,
    Write,
    WriteEvent,
    WriteGreeting,
    Written,
    open_session,
    step,
)
from reattach.oracle.bounds import UNBOUNDED, Holding, holding
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.judges.cursors import CLAUSES
from reattach.oracle.observation import Observation, Settled
from reattach.oracle.reconstruct import ObservationError, take
from reattach.oracle.record import Bearing, Event, Exchange, Run, Seen, Session, Stream, StreamKind

_TAG, _OTHER_TAG = "x" * 22, "y" * 22
_WRITES = 3
"""How many messages that the machine writes next are asked for."""
_MOST = 2_000
"""The most messages of a session that are played; about a longer one the machine is not asked."""


@frozen
class Known:
    """A message of a stream that is known to be emitted, so that the machine holds it."""

    key: str
    """What names it (``message_key``)."""
    id: str | None
    """Its event id; None if the exchange does not show it delivered."""
    connections: tuple[int, ...]
    """Where it has been delivered, in order."""


@frozen(kw_only=True)
class Shadow:
    """What the machine says about one connection, once an observation has been made."""

    connection: int
    session: str
    """The session's id."""
    standalone: bool
    """Whether the stream of the connection is a standalone one."""
    call: int | None
    """The connection of the call whose stream it is; None if there is none, or the exchange does not show it."""
    resumes: bool = False
    """Whether the request carries a cursor."""
    given: tuple[str, int] | None = None
    """The session, and its connection, that was first given the cursor as an event id; None if the exchange does not
    show that."""
    held: tuple[Known, ...] = ()
    """The messages of that stream that are known to be emitted by now, oldest first."""
    owed: int = 0
    """How many more the driver knows the call to send."""
    position: str | None = None
    """The message that the view stood at before the observation; "" is the start of the stream, None no view."""
    refusal: Refuse | None = None
    """How the machine refuses the request; None if it does not."""
    gone: bool = False
    """Whether the session is over, or another principal's: it answers as if it had never been."""
    status: int = 0
    """The HTTP status of a refusal, or of a session that is gone."""
    asked: bool = False
    """Whether the machine was asked to answer; if not, the exchange does not show what its answer depends on."""
    taken_over_by: int | None = None
    """The connection that the machine gave the stream to; None if it is still this one's."""
    writes: tuple[Written, ...] = ()
    """What the machine writes on this connection next, as far as is known; a message stands in it by its key."""


def shadows(
    evidence: Sequence[Observation], revision: Revision, declaration: Declaration = NOTHING_DECLARED, clause: str = ""
) -> tuple[Shadow | None, ...]:
    """For each observation of an exchange what the machine says; None where it has nothing to say.

    ``clause`` is that of the finding which the exchange shows.
    """
    run = Run(revision=revision, declaration=declaration, complete=True, horizon=4096)
    return tuple(_observe(run, Seen(number, each), clause) for number, each in enumerate(evidence, start=1))


def shadow_of_last(
    observations: Sequence[Observation], revision: Revision, declaration: Declaration, clause: str
) -> Shadow | None:
    """The last of these shadows; of an exchange, or of all that was observed before."""
    run = Run(revision=revision, declaration=declaration, complete=True, horizon=4096)
    for number, each in enumerate(observations[:-1], start=1):
        with suppress(ObservationError):
            deque(take(run, Seen(number, each)), maxlen=0)
    return _observe(run, Seen(len(observations), observations[-1]), clause)


def _observe(run: Run, seen: Seen, clause: str) -> Shadow | None:
    # A call is settled on the connection that followed it last.
    connection = seen.observation.last if isinstance(seen.observation, Settled) else seen.observation.connection
    before = run.exchanges.get(connection)
    view = before.view if before is not None else None
    position = view.position if view is not None else None
    greeted = before is not None and before.first_frame is not None
    try:
        deque(take(run, seen), maxlen=0)
    except ObservationError:
        return None
    exchange = run.exchanges.get(connection)
    if exchange is None or not _is_known(exchange):
        return None
    return _Asked(run, seen, exchange, position if view is not None else exchange.cursor, greeted, clause).shadow()


def _is_known(exchange: Exchange) -> bool:
    """Whether the exchange shows enough of the request and its session for the machine to be asked."""
    session = exchange.session
    if session is None or session.opener is None or session.restarted or not TRAITS[exchange.revision].resumption:
        return False
    if sum(len(messages_of(stream)) for stream in session.streams) > _MOST:
        return False
    return exchange is not session.opener and (exchange.method != "POST" or exchange.call is not None)


def messages_of(stream: Stream, *, whole: bool = False) -> list[tuple[str, Event | None]]:
    """The messages of a stream that are known to be emitted, by key and in order, each with its event if it came.

    What comes before a numbered message was emitted before it. ``whole``: all that the driver expects was emitted.
    """
    expected = _expected(stream)
    messages: list[tuple[str, Event | None]] = []
    following = 0
    for event in stream.messages:
        place = stream.call.place(event) if stream.call is not None and expected else -2
        if place >= following:
            messages += [(key, None) for key in expected[following:place]]
            following = place + 1
        elif (event.key, None) in messages:
            messages[messages.index((event.key, None))] = (event.key, event)
            continue
        messages.append((event.key, event))
    return messages + [(key, None) for key in (expected[following:] if whole else ())]


def _expected(stream: Stream) -> tuple[str, ...]:
    call = stream.call
    return call.expected if call is not None and call.places and call.expected is not None else ()


@frozen
class _Asked:
    """A connection about which the machine is asked, and what was known of it before the observation."""

    run: Run
    seen: Seen
    exchange: Exchange
    before: Event | None
    """Where its view stood."""
    greeted: bool
    """Whether anything had come on it."""
    clause: str

    def shadow(self) -> Shadow:
        session = self.exchange.session
        assert session is not None
        played = _Played(self.policy())
        for each in sorted(session.streams, key=lambda stream: stream.opener.asked.index):
            played.play(each, whole=isinstance(self.seen.observation, Settled))
        stream = self.stream()
        known = Shadow(
            connection=self.exchange.number,
            session=session.id or "",
            standalone=stream is not None and stream.kind is StreamKind.STANDALONE,
            call=stream.call.exchange.number if stream is not None and stream.call is not None else None,
            resumes=self.exchange.resumes,
            given=self.given(),
            held=played.held(stream) if stream is not None else (),
            owed=len(_expected(stream)) - played.expected(stream) if stream is not None else 0,
            position=self.position(),
        )
        if self.exchange.method == "DELETE" and session.terminator in (None, self.exchange):
            return known
        if session.ended is not None and session.ended.index < self.seen.index:
            played.take(Terminate())
        if not self.exchange.owner_asks:
            return evolve(known, asked=True, gone=True, status=status_of(played.policy, Reason.SESSION_UNKNOWN))
        return self.answered(session, played, known)

    def policy(self) -> Policy:
        status = self.run.declaration.refusal_status
        return UNBOUNDED if status is None else evolve(UNBOUNDED, refusal_status=status)

    def stream(self) -> Stream | None:
        exchange = self.exchange
        if exchange.view is not None:
            return exchange.view.stream
        return exchange.cursor.stream if exchange.cursor is not None else None

    def given(self) -> tuple[str, int] | None:
        cursors = self.exchange.request.cursors
        issued = self.run.issued_as(cursors[0]) if len(cursors) == 1 else ()
        first = next(iter(issued), None)
        return (first.session.id or "", first.exchange.number) if first is not None else None

    def position(self) -> str | None:
        if self.exchange.view is None and self.exchange.cursor is None:
            return None
        return "" if self.before is None or self.before.anchor is None else self.before.anchor.key

    def answered(self, session: Session, played: "_Played", known: Shadow) -> Shadow:
        """Let the machine answer the session's requests for views in order, and write on this connection."""
        result: Result | None = None
        taken_by: int | None = None
        for exchange in session.exchanges.values():
            asked = self.input_of(exchange, played)
            if asked is None:
                continue
            done = played.take(asked)
            if exchange is self.exchange:
                result = done.result
            elif any(ending.connection == self.exchange.number for ending in done.endings):
                taken_by = exchange.number
        if result is None:
            return known
        if holding(self.run, self.exchange).holding in (Holding.COUNT, Holding.AGE):
            result = Refuse(Reason.CURSOR_OUT_OF_WINDOW)
        match result:
            case Gone():
                return evolve(known, asked=True, gone=True, status=status_of(played.policy, Reason.SESSION_UNKNOWN))
            case Refuse() as refusal:
                return evolve(known, asked=True, refusal=refusal, status=status_of(played.policy, refusal.reason))
        primed = self.greeted or self.exchange.resumes
        writes = played.writes(self.exchange.number, greeted=self.greeted, primed=not primed)
        return evolve(known, asked=True, taken_over_by=taken_by, writes=writes)

    def input_of(self, exchange: Exchange, played: "_Played") -> Input | None:
        """How an exchange asks the machine for a view; None if it does not, or nobody knows what its cursor is."""
        mine = exchange is self.exchange
        if exchange.end is not None and not mine and exchange.view is None:
            return None
        bearing = self.bearing(exchange)
        if bearing in CLAUSES:
            return Resume(exchange.number, played.bad_cursor(bearing))
        if exchange.resumes and bearing is not Bearing.GOOD:
            return None
        if exchange.view is not None:
            at = self.before if mine else exchange.view.position
            return Resume(exchange.number, played.cursor(exchange.view.stream, at))
        if exchange.cursor is not None:
            return Resume(exchange.number, played.cursor(exchange.cursor.stream, exchange.cursor))
        if exchange.resumes or not mine:
            return None
        return OpenStream(exchange.number) if exchange.method == "POST" else Resume(exchange.number, ABSENT)

    def bearing(self, exchange: Exchange) -> Bearing:
        """What the cursor is: as the exchange shows, else as the finding's clause says."""
        cursors = exchange.request.cursors
        shown = exchange.bearing in (Bearing.GOOD, Bearing.FOREIGN) or len(cursors) > 1 or cursors == ("",)
        if not exchange.resumes or shown:
            return exchange.bearing
        said = (bearing for bearing, clause in CLAUSES.items() if clause == self.clause)
        return next(said, Bearing.UNKNOWN)


@define
class _Played:
    """A session of the machine, and which of its numbers stand for what in the record."""

    policy: Policy
    machine: Machine = field(factory=lambda: open_session(_TAG, "", 0))
    streams: dict[int, int] = field(factory=dict)
    """The machine's stream by the identity of the record's."""
    births: dict[int, int] = field(factory=dict)
    """The seq of a stream's birth by the machine's number of it."""
    seqs: dict[int, int] = field(factory=dict)
    """The seq of an event by the identity of the record's."""
    messages: dict[int, list[tuple[str, Event | None]]] = field(factory=dict)
    """The messages played, by the identity of the record's stream."""

    def take(self, given: Input) -> Step:
        done = step(self.policy, self.machine, 0, given)
        self.machine = done.session
        return done

    def open(self, given: OpenStream | Resume) -> int:
        """A stream that nobody reads; its number."""
        opened = self.take(given).result
        assert isinstance(opened, Opened)
        self.take(Disconnect(given.connection))
        self.births[opened.stream] = opened.position
        return opened.stream

    def play(self, stream: Stream, *, whole: bool) -> None:
        """Open a stream and emit its known messages; finish it if it is known to be finished."""
        connection = -len(self.streams) - 1  # one that no exchange has
        standalone = stream.kind is StreamKind.STANDALONE
        number = self.open(Resume(connection, ABSENT) if standalone else OpenStream(connection))
        self.streams[id(stream)] = number
        messages = self.messages[id(stream)] = messages_of(stream, whole=whole)
        for key, event in messages:
            emitted = self.take(Emit(number, 0, key)).result
            assert isinstance(emitted, Emitted)
            if event is not None:
                self.seqs[id(event)] = emitted.seq
        expected = _expected(stream)
        if stream.finished is not None or (expected and messages and messages[-1][0] == expected[-1]):
            self.take(Finish(number))

    def held(self, stream: Stream) -> tuple[Known, ...]:
        """The messages of a stream that were played."""
        return tuple(
            Known(key, event.id if event is not None else None, _deliveries(stream, event))
            for key, event in self.messages[id(stream)]
        )

    def expected(self, stream: Stream) -> int:
        """How many of the messages played are among those that the driver expects."""
        expected = frozenset(_expected(stream))
        return sum(key in expected for key, _ in self.messages[id(stream)])

    def cursor(self, stream: Stream, at: Event | None) -> Cursor:
        """The machine's cursor for a place in a stream of the record."""
        number = self.streams[id(stream)]
        anchor = at.anchor if at is not None else None
        return Cursor(Presence.PRESENT, _TAG, number, self.seqs.get(id(anchor), self.births[number]))

    def bad_cursor(self, bearing: Bearing) -> Cursor:
        """A cursor that is wrong in this way to the machine."""
        if bearing is Bearing.MALFORMED:
            return MALFORMED
        if bearing is Bearing.FOREIGN:
            return Cursor(Presence.PRESENT, _OTHER_TAG, 1, 1)
        number = self.open(OpenStream(-1))
        seq = self.machine.window.next
        if bearing is Bearing.MISMATCH:
            # The birth of another stream, with events of this one on either side.
            self.take(Emit(number, 0, ""))
            seq = self.births[self.open(OpenStream(-1))]
            self.take(Emit(number, 0, ""))
        return Cursor(Presence.PRESENT, _TAG, number, seq)

    def writes(self, connection: int, *, greeted: bool, primed: bool) -> tuple[Written, ...]:
        """What is written on a connection next: some messages, or what there is instead."""
        written: list[Written] = []
        events = 0
        while events < _WRITES:
            wrote = self.take(Write(connection)).result
            self.take(Accepted(connection))
            match wrote:
                case WriteGreeting():
                    if not greeted:
                        written.append(evolve(wrote, greeting=Greeting.PRIMING) if primed else wrote)
                case WriteEvent():
                    written.append(wrote)
                    events += 1
                case _:
                    written.append(wrote)  # type: ignore[arg-type]  # what a Write is answered with
                    break
        return tuple(written)


def _deliveries(stream: Stream, event: Event | None) -> tuple[int, ...]:
    views = [view for view in stream.views if event is not None and event.seq in view.delivered]
    return tuple(view.exchange.number for view in views)
