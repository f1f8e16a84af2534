"""The twin: the reference machine, taken through the same history as the server under test.

A history is chosen with the twin's state in view, so that cursors on the edge of the window, takeovers, evictions and
finished streams come about and not only might. It also says how much of the machine a campaign has covered: each input
to the machine is run under a tracer, and the lines of the decision and of the transitions that it took are kept.

Time here is virtual: a step takes as long as it would on a server that answers at once, and a reader that is not
paused reads at once. The server under test may take another course; nothing is judged by the twin.
"""

from collections.abc import Callable

from attrs import define, field

from reattach.forged import misused
from reattach.lines import Line, recorded
from reattach.live.experiments import history
from reattach.live.experiments.history import Step
from reattach.machine import server as machine
from reattach.machine.cursor import ABSENT, Cursor, Presence, format_event_id, parse_cursor
from reattach.machine.policy import Policy
from reattach.machine.session import Session, find_stream, mark_of
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Depart,
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Idle,
    Input,
    Opened,
    OpenStream,
    Resume,
    Terminate,
    Wait,
    Write,
    WriteEvent,
    WriteGreeting,
    WriteHeartbeat,
)

STEP_MS = 2
"""What each step takes beside what it waits for."""
LONGEST_READ_MS = 2_000
"""How long a wait for events lasts at most."""
_SIZE = 100
"""Bytes of a message; about what the stimulus sends."""


@define(eq=False)
class Reader:
    """A connection, and what was read on it."""

    session: int
    connection: int
    cut: history.Cut | None
    seqs: list[int] = field(factory=list)
    """Of the frames read, in order; a greeting counts, an id of its own or not."""
    paused: bool = False
    open: bool = True


@define(eq=False)
class TwinCall:
    """A call and its stream."""

    session: int
    stream: int
    left: int
    """Messages still to be sent before the response."""
    interval_ms: int
    due: int
    """When the next is sent."""
    readers: list[Reader]
    over: bool = False

    @property
    def ids(self) -> list[int]:
        """The seqs of the ids read, each once, in order."""
        return list(dict.fromkeys(seq for reader in self.readers for seq in reader.seqs))


@define(eq=False)
class Twin:
    """A machine and its clients, under one history."""

    policy: Policy
    traced: bool = True
    """Whether the lines are kept; that takes time."""
    lines: set[Line] = field(factory=set)
    """Of the machine, that were executed."""
    calls: list[TwinCall] = field(factory=list)
    now: int = 0
    opened: set[int] = field(factory=set)
    listeners: list[Reader] = field(factory=list)
    _server: machine.Server = field(init=False)
    _readers: dict[int, Reader] = field(factory=dict)
    _connections: int = 0

    def __attrs_post_init__(self) -> None:
        self._server = machine.Server(self.policy)

    # Questions, for choosing the next step

    def session(self, number: int) -> Session | None:
        """A session as it is; None if it is over, or was never opened."""
        return self._server.sessions.get(_name(number))

    def cursors(self, call: int) -> dict[str, int]:
        """How many ids back the interesting cursors of a call lie, by what is interesting about them."""
        known = self.calls[call]
        session, ids = self.session(known.session), known.ids
        if not ids:
            return {}
        found = {"newest": 0, "first": len(ids) - 1, "middle": len(ids) // 2}
        if session is not None:
            mark = mark_of(session, find_stream(session, known.stream))
            held = [back for back, seq in enumerate(reversed(ids)) if seq >= mark]
            lost = [back for back, seq in enumerate(reversed(ids)) if seq < mark]
            if held:
                found["oldest that is granted"] = held[-1]
            if lost:
                found["newest that is refused"] = lost[0]
        return found

    @property
    def is_paused(self) -> bool:
        """Whether some reader has stopped on a view that is open."""
        return any(reader.paused and reader.open for call in self.calls for reader in call.readers)

    # Steps

    def take(self, step: Step) -> None:
        """Do a step."""
        self._pass(STEP_MS)
        match step:
            case history.Call(session, count, interval_ms, cut):
                self._call(session, count, interval_ms, cut)
            case history.Push(session, count):
                self._open(session)
                for _ in range(count):
                    self._take(session, Emit(0, _SIZE, None))
            case history.Listen(session, back):
                self._open(session)
                given = [reader for reader in self.listeners if reader.session == session]
                ids = list(dict.fromkeys(seq for reader in given for seq in reader.seqs))
                current = self.session(session)
                cursor = ABSENT
                if back is not None and ids and current is not None:
                    cursor = self._cursor(session, current.standalone, ids[-1 - back % len(ids)])
                self.listeners.append(self._resume(session, cursor, None))
            case history.CutListener(session):
                for reader in self.listeners[::-1]:
                    if reader.session == session and reader.open:
                        self._cut(reader)
                        break
            case history.Wait(ms):
                self._pass(ms)
            case history.Delete(session):
                if session in self.opened:
                    self._take(session, Terminate())
            case _:
                if self.calls:
                    self._on_call(step, self.calls[step.call % len(self.calls)])
        self._pump()

    def _on_call(
        self,
        step: history.OfCall,
        call: TwinCall,
    ) -> None:
        newest = call.readers[-1]
        match step:
            case history.Read(_, events):
                until = self.now + LONGEST_READ_MS
                while len(newest.seqs) < events and newest.open and not call.over and self.now < until:
                    self._pass(max(call.due - self.now, 1))
            case history.CutNow():
                self._cut(newest)
            case history.Pause():
                newest.paused = True
            case history.Unpause():
                newest.paused = False
            case history.Resume(_, back, cut) if call.ids:
                seq = call.ids[-1 - back % len(call.ids)]
                reader = self._resume(call.session, self._cursor(call.session, call.stream, seq), cut)
                if back == 0:
                    call.readers.append(reader)
            case history.ResumeElsewhere(_, session) if call.ids:
                self._open(session)
                self._resume(session, self._cursor(call.session, call.stream, call.ids[-1]), None)
            case history.Misuse(_, which) if call.ids:
                others = [each for each in self.calls if each is not call and each.session == call.session and each.ids]
                headers = misused(self._texts(call), self._texts(others[-1] if others else call), which)
                self._resume(call.session, parse_cursor(headers), None)
            case _:
                pass

    def _texts(self, call: TwinCall) -> list[str]:
        return [format_event_id(_name(call.session), call.stream, seq) for seq in call.ids]

    def _open(self, session: int) -> None:
        if session not in self.opened:
            self.opened.add(session)
            name = _name(session)
            opened = self._traced(lambda: machine.initialize(self._server, self.now, name, name, ""))
            self._server = opened.server

    def _call(self, session: int, count: int, interval_ms: int, cut: history.Cut | None) -> None:
        self._open(session)
        reader = self._connect(session, cut)
        answer = self._take(session, OpenStream(reader.connection))
        if isinstance(answer, Opened):
            self.calls.append(TwinCall(session, answer.stream, count, interval_ms, self.now, [reader]))

    def _resume(self, session: int, cursor: Cursor, cut: history.Cut | None) -> Reader:
        reader = self._connect(session, cut)
        self._take(session, Arrive())
        reader.open = isinstance(self._take(session, Resume(reader.connection, cursor)), Opened)
        self._take(session, Depart())
        return reader

    def _connect(self, session: int, cut: history.Cut | None) -> Reader:
        self._connections += 1
        reader = Reader(session, self._connections, cut)
        self._readers[reader.connection] = reader
        return reader

    def _cut(self, reader: Reader) -> None:
        if reader.open:
            reader.open = False
            self._take(reader.session, Disconnect(reader.connection))

    def _cursor(self, session: int, stream: int, seq: int) -> Cursor:
        return Cursor(Presence.PRESENT, _name(session), stream, seq)

    # Time, emissions and reading

    def _pass(self, ms: int) -> None:
        until = self.now + ms
        while True:
            due = [call for call in self.calls if not call.over and call.due <= until]
            if not due:
                break
            call = min(due, key=lambda each: each.due)
            self.now = max(self.now, call.due)
            self._send(call)
            self._pump()
        self.now = until

    def _send(self, call: TwinCall) -> None:
        answer = self._take(call.session, Emit(call.stream, _SIZE, None))
        if isinstance(answer, Wait):
            call.due = self.now + 1
        elif not isinstance(answer, Emitted):
            call.over = True
        elif call.left == 0:
            call.over = True
            self._take(call.session, Finish(call.stream))
        else:
            call.left -= 1
            call.due = self.now + call.interval_ms

    def _pump(self) -> None:
        for reader in tuple(self._readers.values()):
            while reader.open and not reader.paused:
                written = self._take(reader.session, Write(reader.connection))
                if not self._read(reader, written):
                    break

    def _read(self, reader: Reader, written: object) -> bool:
        """What the client does with what was written; whether there may be more."""
        match written:
            case WriteEvent(_, seq) | WriteGreeting(_, _, seq):
                self._take(reader.session, Accepted(reader.connection))
                reader.seqs.append(seq)
                if reader.cut is not None and len(reader.seqs) >= reader.cut.events:
                    self._cut(reader)
                return True
            case WriteHeartbeat():
                self._take(reader.session, Accepted(reader.connection))
                return True
            case Idle():
                return False
            case _:  # it is over
                reader.open = False
                return False

    def _traced(self, step: Callable[[], machine.ServerStep]) -> machine.ServerStep:
        return recorded(step, self.lines) if self.traced else step()

    def _take(self, session: int, given: Input) -> object:
        step = self._traced(lambda: machine.take(self._server, self.now, _name(session), given))
        self._server = step.server
        for ending in step.endings:
            self._readers[ending.connection].open = False
        return step.result


def _name(session: int) -> str:
    """The session's name and its tag: nothing here is a secret, but it has the form of one."""
    return f"session-{session:020}"
