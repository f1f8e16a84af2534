"""A virtual deployment of the machine: a server, its transports and its clients, in virtual time and without I/O.

What the clients see is told to an oracle. Nothing is delivered before its client reads it, a transport takes few events
before it is full, a cut is noticed by the server when it pleases, and an abort may lose what was on its way. ``Faults``
changes the server in one way; unchanged, it is the reference machine and nothing else.
"""

import random
from collections import deque
from typing import cast

from attrs import define, evolve, field, frozen
from tests.oracle.wire import log, result

from reattach.machine import server as machine
from reattach.machine.cursor import format_event_id, parse_cursor
from reattach.machine.decision import Refuse, status_of
from reattach.machine.policy import SHORT, Policy
from reattach.machine.revision import Revision
from reattach.machine.server import Server, initialize, locate, take
from reattach.machine.session import Greeting, find_stream, find_viewed, is_viewed
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Cause,
    Depart,
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Input,
    Opened,
    OpenStream,
    Result,
    Resume,
    Terminate,
    Write,
    WriteEnd,
    WriteEvent,
    WriteGreeting,
    WriteHeartbeat,
    WriteOvertaken,
)
from reattach.machine.window import suffix
from reattach.oracle.declaration import declaration_of
from reattach.oracle.message import message_key
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Expect,
    Frame,
    Json,
    Observation,
    Party,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Settled,
)
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Profile, Report

CAPACITY = 6
"""Events that a transport takes before it is full."""
SIZE = 2_000
"""Bytes of every message."""


@frozen
class End:
    """The body ends, or breaks."""

    clean: bool


Item = Frame | Comment | End


@define(eq=False)
class Connection:
    """One HTTP exchange: what the server has written and the client has not read, and what either believes."""

    number: int
    session: str
    pipe: deque[Item] = field(factory=deque)
    attached: bool = False
    """The server writes a view to it."""
    over: bool = False
    """The client has seen its end, or has cut it."""
    paused: bool = False
    unnoticed: bool = False
    """The client has cut it and the server does not know."""
    ids: list[str] = field(factory=list)
    responses: list[Json] = field(factory=list)
    status: int = 0
    stream: int = 0


@define(eq=False)
class Call:
    """A tools/call that sends numbered messages."""

    session: str
    rpc_id: int
    label: str
    count: int
    stream: int
    post: Connection
    emitted: int = 0
    chain: list[Connection] = field(factory=list)

    @property
    def done(self) -> bool:
        """Whether the tool has said everything."""
        return self.emitted > self.count

    @property
    def ids(self) -> list[str]:
        """The ids read along the chain."""
        return [name for connection in self.chain for name in connection.ids]

    @property
    def answered(self) -> bool:
        """Whether the response was read."""
        return any(connection.responses for connection in self.chain)


@define(eq=False)
class World:
    """The deployment."""

    seed: int
    faults: frozenset[str] = frozenset()
    policy: Policy = SHORT
    declared: Policy = SHORT
    now: int = 1_000
    server: Server = field(init=False)
    oracle: Oracle = field(init=False)
    rng: random.Random = field(init=False)
    connections: dict[int, Connection] = field(factory=dict)
    calls: list[Call] = field(factory=list)
    tags: dict[str, str] = field(factory=dict)
    observations: list[Observation] = field(factory=list)
    mirrors: dict[int, int] = field(factory=dict)
    _number: int = 0
    _names: int = 0
    _rpc_id: int = 10

    def __attrs_post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.server = Server(self.policy)
        declaration = declaration_of(self.declared, takeover=True, transport_buffer_bytes=CAPACITY * SIZE)
        self.oracle = Oracle(revision=Revision.R2025_11_25, declaration=declaration)

    # The record

    def tell(self, observation: Observation) -> None:
        """What a client sees."""
        self.observations.append(observation)
        self.oracle.observe(observation, f"seed {self.seed}")

    def report(self) -> Report:
        """The verdict under the stricter profile."""
        return self.oracle.report(Profile.REATTACH)

    def found(self) -> set[tuple[str, str]]:
        """Clauses and fault classes of all findings."""
        return {(finding.clause, finding.fault.value) for finding in self.report().findings}

    # The server

    def take(self, session: str, given: Input) -> Result:
        """One input to the machine, and what its endings do to transports."""
        taken = take(self.server, self.now, session, given)
        self.server = taken.server
        for ending in taken.endings:
            self._ended(ending.connection, ending.cause, session, ending.stream, ending.position)
        return taken.result

    def _ended(self, number: int, cause: Cause, session: str, stream: int, position: int) -> None:
        connection = self.connections[number]
        connection.attached = False
        if (cause is Cause.TAKEN_OVER and "broadcast" in self.faults) or "deaf" in self.faults:
            return
        if cause is Cause.STALLED and len(connection.pipe) < CAPACITY:
            self._put_required(connection, session, stream, position, "stalled")
        if self.rng.random() < 0.5:  # an abort may lose what was on its way
            while connection.pipe and self.rng.random() < 0.5:
                connection.pipe.pop()
        connection.pipe.append(End(clean=False))

    def _put_required(self, connection: Connection, session: str, stream: int, position: int, reason: str) -> None:
        cursor = self._id(session, stream, position)
        if "no-retry" not in self.faults:
            connection.pipe.append(Frame(at=0, connection=connection.number, retry=self.policy.retry_ms))
        connection.pipe.append(
            Comment(at=0, connection=connection.number, text=f"resumption-required {cursor} {reason}")
        )

    def _id(self, session: str, stream: int, seq: int) -> str:
        return format_event_id(self.tags[session], stream, seq)

    def tick(self, ms: int = 1) -> None:
        """Time passes; every session is looked at, every transport takes what it can, and who is not paused reads."""
        while ms > 100:
            self.tick(100)
            for connection in list(self.connections.values()):
                self.read_all(connection)
            ms -= 100
        self.now += ms
        ticked = machine.tick(self.server, self.now)
        before, self.server = self.server, ticked.server
        for ending in ticked.endings:
            owner = next(
                name for name, session in before.sessions.items() if find_viewed(session, ending.connection).number
            )
            self._ended(ending.connection, ending.cause, owner, ending.stream, ending.position)
        self.pump()

    def pump(self) -> None:
        """Every transport takes what it can."""
        if "head-of-line" in self.faults and any(
            c.attached and c.paused and len(c.pipe) >= CAPACITY for c in self.connections.values()
        ):
            return
        for connection in list(self.connections.values()):
            while connection.attached and len(connection.pipe) < CAPACITY and self._write(connection):
                self.notice(connection)  # who writes to a connection that is gone learns of it

    def _write(self, connection: Connection) -> bool:
        """Let the machine write one thing; whether there may be more."""
        session, number = connection.session, connection.number
        written = self.take(session, Write(number))
        match written:
            case WriteGreeting(greeting, stream, seq):
                self._greet(connection, greeting, stream, seq)
            case WriteEvent(stream, seq, message):
                self._put(connection, stream, seq, message)
            case WriteHeartbeat():
                connection.pipe.append(Comment(at=0, connection=number, text="heartbeat"))
            case WriteOvertaken(stream, position):
                connection.attached = False
                self._put_required(connection, session, stream, position, "overtaken")
                connection.pipe.append(End(clean=True))
                return False
            case WriteEnd():
                connection.attached = False
                if "never-ends" not in self.faults:
                    connection.pipe.append(End(clean=True))
                return False
            case _:
                return False
        self.take(session, Accepted(number))
        return True

    def _greet(self, connection: Connection, greeting: Greeting, stream: int, seq: int) -> None:
        name = self._id(connection.session, stream, seq)
        if greeting is Greeting.POSITION:
            if "no-position" in self.faults:
                return
            if "priming-skips" in self.faults:
                newest = find_stream(self.server.sessions[connection.session], stream).last
                name = self._id(connection.session, stream, newest)
                connection.pipe.append(Frame(at=0, connection=connection.number, id=name))
                return
            connection.pipe.append(Comment(at=0, connection=connection.number, text=f"resumed {name}"))
        elif "no-priming" in self.faults:
            return
        retry = None if "no-retry" in self.faults else self.policy.retry_ms
        connection.pipe.append(Frame(at=0, connection=connection.number, id=name, retry=retry))

    def _put(self, connection: Connection, stream: int, seq: int, message: object) -> None:
        name = self._id(connection.session, stream, seq)
        if "same-id" in self.faults:
            name = self._id(connection.session, stream, 1)
        if "bad-id" in self.faults:
            name = f"{name} "
        frame = Frame(
            at=0,
            connection=connection.number,
            id=name,
            payload=cast(Json, message),
            has_data=True,
            size=SIZE,
        )
        connection.pipe.append(frame)
        if "twice" in self.faults and self.rng.random() < 0.2:
            connection.pipe.append(frame)
        mirror = self.connections.get(self.mirrors.get(connection.number, 0))
        if mirror is not None:
            mirror.pipe.append(evolve(frame, connection=mirror.number))
        if "response-on-get" in self.faults and isinstance(message, dict) and "result" in message:
            for other in self.connections.values():
                listens = other.attached and other.session == connection.session and other.stream == 1
                if listens and other is not connection:
                    other.pipe.append(evolve(frame, connection=other.number, id=f"{name}x"))

    def emit(self, call: Call) -> bool:
        """The tool of a call says one more thing; False if it has to wait or has nothing more to say."""
        if call.done:
            return False
        n = call.emitted + 1
        message: object = log(call.label, n) if n <= call.count else result(call.rpc_id)
        answer = self.take(call.session, Emit(call.stream, SIZE, message))
        if not isinstance(answer, Emitted):
            if call.session not in self.server.sessions:
                call.emitted = call.count + 1
            return False
        call.emitted = n
        if call.done:
            self.take(call.session, Finish(call.stream))
        self.pump()
        return True

    # Clients

    def _request(
        self, method: str, session: str | None, cursors: tuple[str, ...] = (), message: Json = None
    ) -> Connection:
        self._number += 1
        connection = Connection(self._number, session or "")
        self.connections[self._number] = connection
        rpc_id = message.get("id") if isinstance(message, dict) else None
        rpc_method = message.get("method") if isinstance(message, dict) else None
        self.tick()
        self.tell(
            Request(
                at=self.now,
                connection=self._number,
                method=method,
                session=session,
                cursors=cursors,
                rpc_id=rpc_id if isinstance(rpc_id, int) else None,
                rpc_method=rpc_method if isinstance(rpc_method, str) else None,
                payload=message,
            )
        )
        self.tick(self.rng.randrange(3))
        return connection

    def _answer(
        self, connection: Connection, status: int, payload: Json = None, session: str | None = None
    ) -> Connection:
        """An answer that is not an event stream."""
        self.tick(self.rng.randrange(3))
        connection.status, connection.over = status, True
        number = connection.number
        self.tell(
            Response(at=self.now, connection=number, status=status, content_type="application/json", session=session)
        )
        self.tell(Body(at=self.now, connection=number, payload=payload, size=SIZE))
        self.tell(Closed(at=self.now, connection=number, by=Party.SERVER))
        return connection

    def _refuse(self, connection: Connection, refused: Refuse) -> Connection:
        data: Json = {"reason": refused.reason.value}
        error: Json = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "refused", "data": data}}
        return self._answer(connection, status_of(self.policy, refused.reason), error)

    def _stream(self, connection: Connection, opened: Opened) -> Connection:
        connection.status, connection.attached, connection.stream = 200, True, opened.stream
        self.tell(Response(at=self.now, connection=connection.number, status=200, content_type="text/event-stream"))
        self.pump()
        return connection

    def session(self) -> str:
        """Initialize."""
        self._names += 1
        name = f"session-{self._names}"
        message: Json = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
        connection = self._request("POST", None, message=message)
        self.tags[name] = f"tag{self._names:04d}xxxxxxxxxxxxxxxxx"
        self.server = initialize(self.server, self.now, name, self.tags[name], "").server
        self._answer(connection, 200, {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}, name)
        return name

    def call(self, session: str, count: int, pace_ms: int | None = None) -> Call | None:
        """POST a call; None if it was refused. ``pace_ms`` is a promise of the driver's, who does the emitting."""
        self._rpc_id += 1
        label = f"call{self._rpc_id}"
        message: Json = {
            "jsonrpc": "2.0", "id": self._rpc_id, "method": "tools/call",
            "params": {"name": "reattach_emit", "arguments": {"label": label, "count": count}},
        }  # fmt: skip
        connection = self._request("POST", session, message=message)
        keys = [message_key(log(label, n)) for n in range(1, count + 1)] + [message_key(result(self._rpc_id))]
        self.tell(Expect(at=self.now, connection=connection.number, keys=tuple(keys), pace_ms=pace_ms))
        refused = locate(self.server, self.now, session, "")
        if isinstance(refused, Refuse):
            self._refuse(connection, refused)
            return None
        opened = self.take(session, OpenStream(connection.number))
        if not isinstance(opened, Opened):
            assert isinstance(opened, Refuse)
            self._refuse(connection, opened)
            return None
        self._stream(connection, opened)
        call = Call(session, self._rpc_id, label, count, opened.stream, connection, chain=[connection])
        self.calls.append(call)
        return call

    def ping(self, session: str | None) -> Connection:
        """POST something that is answered at once."""
        self._rpc_id += 1
        connection = self._request("POST", session, message={"jsonrpc": "2.0", "id": self._rpc_id, "method": "ping"})
        refused = locate(self.server, self.now, session or "", "")
        if isinstance(refused, Refuse):
            return self._refuse(connection, refused)
        assert session is not None
        self.take(session, Arrive())
        self.take(session, Depart())
        return self._answer(connection, 200, {"jsonrpc": "2.0", "id": self._rpc_id, "result": {}})

    def get(self, session: str | None, *cursors: str) -> Connection:
        """GET, with cursors or without."""
        connection = self._request("GET", session, cursors)
        refused = locate(self.server, self.now, session or "", "")
        if isinstance(refused, Refuse):
            return self._refuse(connection, refused)
        assert session is not None
        cursor = parse_cursor(cursors)
        if self._faulty_resume(connection, session, cursors):
            return connection
        views = {
            stream.number: stream.view.connection
            for stream in self.server.sessions[session].streams
            if is_viewed(stream)
        }
        answer = self.take(session, Resume(connection.number, cursor))
        if isinstance(answer, Refuse):
            return self._faulty_refusal(connection, session, answer, cursors)
        assert isinstance(answer, Opened)
        if "broadcast" in self.faults and answer.stream in views and cursors:
            self.mirrors[connection.number] = views[answer.stream]
        if cursors:
            self._misplace(connection, session, answer)
        self._stream(connection, answer)
        if cursors:
            self._after_replay(connection, session, answer)
        return connection

    def _faulty_resume(self, connection: Connection, session: str, cursors: tuple[str, ...]) -> bool:
        """What a server does that does not ask the machine."""
        if not cursors:
            return False
        if "split" in self.faults:
            parsed = parse_cursor(cursors)
            held = self.server.sessions[session]
            stream = find_stream(held, parsed.stream)
            if parsed.tag == held.tag and is_viewed(stream) and parsed.seq <= stream.last:
                self.tell(
                    Response(at=self.now, connection=connection.number, status=200, content_type="text/event-stream")
                )
                connection.status, connection.stream = 200, stream.number
                for entry in suffix(held.window, stream.number, parsed.seq):
                    self._put(connection, stream.number, entry.seq, entry.message)
                connection.pipe.append(End(clean=True))
                return True
        if "leak" in self.faults and cursors[0].startswith("tag"):
            owner = next((n for n, tag in self.tags.items() if cursors[0].startswith(tag) and n != session), None)
            if owner is not None and owner in self.server.sessions:
                self._pour(connection, owner, parse_cursor(cursors).stream)
                return True
        return False

    def _pour(self, connection: Connection, owner: str, stream: int) -> None:
        """Everything that a stream holds, whoever asks."""
        self.tell(Response(at=self.now, connection=connection.number, status=200, content_type="text/event-stream"))
        connection.status = 200
        asker, connection.session = connection.session, owner
        for entry in suffix(self.server.sessions[owner].window, stream, 0):
            self._put(connection, stream, entry.seq, entry.message)
        connection.session = asker
        connection.pipe.append(End(clean=True))

    def _faulty_refusal(
        self, connection: Connection, session: str, refused: Refuse, cursors: tuple[str, ...]
    ) -> Connection:
        number = connection.number
        if "silent-cursor" in self.faults:
            self.tell(Response(at=self.now, connection=number, status=200, content_type="text/event-stream"))
            connection.status = 200
            connection.pipe.append(End(clean=True))
            return connection
        if "from-start" in self.faults and refused.reason.value == "cursor-out-of-window" and refused.stream:
            self._pour(connection, session, refused.stream)
            return connection
        if "crash" in self.faults:
            return self._answer(connection, 500)
        if "hang" in self.faults:
            self.tick(2_000)
            self.tell(Quiet(at=self.now, connection=number, waited=2_000))
            connection.over = True
            self.tell(Closed(at=self.now, connection=number, by=Party.CLIENT, clean=False))
            return connection
        if "kill" in self.faults:
            self.take(session, Terminate())
        if "404" in self.faults:
            return self._answer(connection, 404)
        return self._refuse(connection, refused)

    def _misplace(self, connection: Connection, session: str, opened: Opened) -> None:
        """A view that starts elsewhere than at its cursor."""
        held = self.server.sessions[session]
        stream = find_stream(held, opened.stream)
        position = opened.position
        if "inclusive" in self.faults:
            entry = held.window.successor(stream.number, opened.position - 1)
            position = entry.prev if entry.seq == opened.position else position
        if "skips" in self.faults:
            entry = held.window.successor(stream.number, opened.position)
            position = entry.seq or position
        view = evolve(stream.view, position=position)
        streams = tuple(evolve(other, view=view) if other.number == stream.number else other for other in held.streams)
        self.server = evolve(self.server, sessions={**self.server.sessions, session: evolve(held, streams=streams)})

    def _after_replay(self, connection: Connection, session: str, opened: Opened) -> None:
        if "deaf" in self.faults:
            connection.attached = False
        if "all-streams" in self.faults and session in self.server.sessions:
            for stream in self.server.sessions[session].streams:
                if stream.number != opened.stream:
                    for entry in suffix(self.server.sessions[session].window, stream.number, 0):
                        self._put(connection, stream.number, entry.seq, entry.message)
        if "shuffled" in self.faults:
            frames = [item for item in connection.pipe if isinstance(item, Frame) and item.has_data]
            others = [item for item in connection.pipe if item not in frames]
            connection.pipe = deque([*others, *reversed(frames)])

    def delete(self, session: str) -> Connection:
        """DELETE."""
        connection = self._request("DELETE", session)
        refused = locate(self.server, self.now, session, "")
        if isinstance(refused, Refuse):
            return self._refuse(connection, refused)
        if "resurrects" not in self.faults:
            self.take(session, Terminate())
        return self._answer(connection, 200)

    def push(self, session: str) -> None:
        """POST a call that makes the server say something on the standalone stream."""
        self._rpc_id += 1
        label = f"push{self._rpc_id}"
        message: Json = {
            "jsonrpc": "2.0", "id": self._rpc_id, "method": "tools/call",
            "params": {"name": "reattach_push", "arguments": {"label": label, "count": 1}},
        }  # fmt: skip
        connection = self._request("POST", session, message=message)
        keys = (message_key(log(label, 1)),)
        self.tell(Expect(at=self.now, connection=connection.number, keys=keys, standalone=True))
        refused = locate(self.server, self.now, session, "")
        if isinstance(refused, Refuse):
            self._refuse(connection, refused)
            return
        self.take(session, Arrive())
        self.take(session, Emit(0, SIZE, log(label, 1)))
        self.take(session, Depart())
        self._answer(connection, 200, result(self._rpc_id))
        self.pump()

    def read(self, connection: Connection) -> bool:
        """The client takes one item; False if there is none."""
        if connection.over or connection.paused or not connection.pipe:
            return False
        item = connection.pipe.popleft()
        match item:
            case Frame():
                if item.id:
                    connection.ids.append(item.id)
                if isinstance(item.payload, dict) and "result" in item.payload:
                    connection.responses.append(item.payload)
                self.tell(evolve(item, at=self.now))
            case Comment():
                self.tell(evolve(item, at=self.now))
            case End(clean):
                connection.over = True
                self.tell(Closed(at=self.now, connection=connection.number, by=Party.SERVER, clean=clean))
        self.pump()
        return True

    def read_all(self, connection: Connection) -> None:
        """The client reads until there is nothing."""
        while self.read(connection):
            pass

    def cut(self, connection: Connection, *, noticed: bool = True) -> None:
        """The client cuts; the server sees it now or later."""
        if connection.over:
            return
        connection.over = True
        self.tell(Closed(at=self.now, connection=connection.number, by=Party.CLIENT, clean=False))
        connection.unnoticed = connection.attached
        if noticed:
            self.notice(connection)

    def notice(self, connection: Connection) -> None:
        """The server sees that a connection is gone."""
        if connection.unnoticed:
            connection.unnoticed = connection.attached = False
            self.take(connection.session, Disconnect(connection.number))

    def pause(self, connection: Connection) -> None:
        """The client stops reading."""
        if not connection.over and not connection.paused:
            connection.paused = True
            self.tell(ReadPaused(at=self.now, connection=connection.number))

    def read_on(self, connection: Connection) -> None:
        """The client goes on reading."""
        if not connection.over and connection.paused:
            connection.paused = False
            self.tell(ReadResumed(at=self.now, connection=connection.number))

    def finish(self, session: str) -> None:
        """Every tool of a session says what it can, while everybody reads."""
        progress = True
        while progress:
            progress = False
            for call in self.calls:
                if call.session == session and self.emit(call):
                    progress = True
            for connection in self.connections.values():
                if connection.session == session and self.read(connection):
                    progress = True

    def quiet(self, connection: Connection) -> None:
        """Wait until nothing can come any more, and then for a while."""
        if connection.over or connection.paused:
            return
        self.finish(connection.session)
        for _ in range(20):
            self.tick(100)
            for other in self.connections.values():
                self.read(other)
            self.read_all(connection)
        if not connection.over:
            self.tell(Quiet(at=self.now, connection=connection.number, waited=2_000))

    def follow(self, call: Call) -> None:
        """Follow a call to its end, resuming as often as it takes, and settle it."""
        for _ in range(8):
            last = call.chain[-1]
            if not last.over:
                self.read_on(last)
                self.finish(call.session)
                self.read_all(last)
            if call.answered or (last.status >= 400 and last.over):
                break
            if not last.over:
                self.quiet(last)
                self.cut(last)
                if call.answered:
                    break
            if not call.ids:
                return
            call.chain.append(self.get(call.session, call.ids[-1]))
        if call.answered and not call.chain[-1].over:
            self.quiet(call.chain[-1])
        self.cut(call.chain[-1])
        self.tell(Settled(at=self.now, connection=call.post.number, last=call.chain[-1].number))
