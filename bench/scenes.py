"""Scenes: the life of one session, as a client that reads at once sees it, played by the reference machine.

What a server answers, what it still holds and what it writes next, the machine decides; the scene decides what is asked
and said: calls with progress or numbered log notifications, pushes on the standalone stream, cuts and what comes after
them (a resumption, at once or late, a takeover of a connection that still seems to be there, a cursor that has left the
window), and the end, by DELETE or without a word. Connections count from 1 in each scene, and times from 0.
"""

import json
import random

from attrs import define, field, frozen

from reattach.machine.cursor import format_event_id, parse_cursor
from reattach.machine.decision import Refuse, status_of
from reattach.machine.policy import Policy
from reattach.machine.session import Greeting
from reattach.machine.session import Session as Machine
from reattach.machine.transition import (
    Accepted,
    Cause,
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
    open_session,
    step,
)
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
    Request,
    Response,
    Settled,
)

SESSION = "c2d9f0b4e7a14f6c8e35d1a07b92f6e4"
TAG = "kQ3vZ8pL1mXw5RtB9cYd2e"
"""The id and the tag of every scene's session; each time it is told they get another one (see ``trace.py``)."""

POLICY = Policy()
SSE = "text/event-stream"

_WORDS = """
    reading writing file index chunk of page query result rows matched in src/app/server.py record updated
    found 42 items for the request; next step resolving dependencies and compiling module cache hit miss total elapsed
    fetching https://example.test/api/v1/items?page=3 parsed document section summary table of contents line
""".split()  # noqa: SIM905


@frozen(kw_only=True)
class Manner:
    """What a scene is like. Sizes are characters of text; the middle of what is drawn."""

    notification: int = 160
    """Text of a log notification; a third of it of a progress message."""
    result: int = 1_200
    """Text of a tool's result."""
    calls: tuple[int, int] = (8, 24)
    """From and to: calls of a session."""
    messages: tuple[int, int] = (4, 40)
    """From and to: notifications of a call."""
    cut: float = 0.15
    """How likely a call is cut."""


@define
class _View:
    """A connection that carries a stream, and the newest id that was read from it."""

    connection: int
    stream: int
    cursor: str = ""


@define
class Scene:
    """A session being played."""

    rng: random.Random
    manner: Manner
    at: int = 0
    seen: list[Observation] = field(factory=list)
    machine: Machine = field(init=False)
    views: dict[int, _View] = field(factory=dict)
    _connections: int = 0
    _rpc: int = 0

    def __attrs_post_init__(self) -> None:
        self.machine = open_session(TAG, "", 0)

    # What the server does

    def take(self, given: Input) -> Result:
        """One input to the machine; what it ends is seen to end."""
        done = step(POLICY, self.machine, self.at, given)
        self.machine = done.session
        for ending in done.endings:
            if self.views.pop(ending.connection, None) is not None:
                clean = ending.cause is not Cause.STALLED
                self.tell(Closed(at=self.at, connection=ending.connection, by=Party.SERVER, clean=clean))
        return done.result

    def pump(self) -> None:
        """Every view writes what it can, and is read."""
        for view in list(self.views.values()):
            while view.connection in self.views and self._write(view):
                self.take(Accepted(view.connection))

    def _write(self, view: _View) -> bool:
        number = view.connection
        match self.take(Write(number)):
            case WriteGreeting(greeting, stream, seq):
                name = format_event_id(TAG, stream, seq)
                if greeting is Greeting.POSITION:
                    self.tell(Comment(at=self.at, connection=number, text=f"resumed {name}"))
                view.cursor = name
                self.tell(Frame(at=self.at, connection=number, id=name, retry=POLICY.retry_ms))
            case WriteEvent(stream, seq, message):
                view.cursor = format_event_id(TAG, stream, seq)
                payload: Json = message  # type: ignore[assignment]
                self.tell(
                    Frame(
                        at=self.at, connection=number, id=view.cursor, event="message", payload=payload,
                        has_data=True, size=size_of(payload),
                    )
                )  # fmt: skip
            case WriteHeartbeat():
                self.tell(Comment(at=self.at, connection=number, text="heartbeat"))
            case WriteEnd():
                self.views.pop(number, None)
                self.tell(Closed(at=self.at, connection=number, by=Party.SERVER))
                return False
            case _:
                return False
        return True

    # What the client does

    def tell(self, observation: Observation) -> None:
        """What the client sees."""
        self.seen.append(observation)

    def wait(self, least: int, most: int) -> None:
        """Milliseconds pass; views that have been quiet for long get their heartbeat."""
        until = self.at + self.rng.randint(least, most)
        while self.at + POLICY.heartbeat_ms // 2 < until:
            self.at += POLICY.heartbeat_ms // 2
            self.pump()
        self.at = until
        self.pump()

    def request(
        self, method: str, message: dict[str, Json] | None = None, cursor: str = "", *, opens: bool = False
    ) -> int:
        """A request is sent; the number of its connection."""
        self._connections += 1
        rpc_id, rpc_method = (message.get("id"), message.get("method")) if message is not None else (None, None)
        self.tell(
            Request(
                at=self.at,
                connection=self._connections,
                method=method,
                session=None if opens else SESSION,
                cursors=(cursor,) if cursor else (),
                revision=None if opens else "2025-11-25",
                rpc_id=rpc_id if isinstance(rpc_id, int) else None,
                rpc_method=rpc_method if isinstance(rpc_method, str) else None,
                payload=message,
            )
        )
        self.at += self.rng.randint(1, 12)
        return self._connections

    def answer(self, connection: int, status: int, payload: Json = None, session: str | None = None) -> None:
        """An answer that is no event stream."""
        kind = "application/json" if payload is not None else ""
        self.tell(Response(at=self.at, connection=connection, status=status, content_type=kind, session=session))
        if payload is not None:
            self.tell(Body(at=self.at, connection=connection, payload=payload, size=size_of(payload)))
        self.tell(Closed(at=self.at, connection=connection, by=Party.SERVER))

    def listen(self, connection: int, opened: Result) -> _View | None:
        """The answer to what asks for a stream: None if it is refused."""
        if isinstance(opened, Refuse):
            error: Json = {"code": -32000, "message": "the cursor is refused", "data": {"reason": opened.reason.value}}
            self.answer(connection, status_of(POLICY, opened.reason), {"jsonrpc": "2.0", "id": None, "error": error})
            return None
        assert isinstance(opened, Opened)
        self.tell(Response(at=self.at, connection=connection, status=200, content_type=SSE))
        view = self.views[connection] = _View(connection, opened.stream)
        self.pump()
        return view

    def cut(self, view: _View) -> None:
        """The client cuts, and the server sees it."""
        self.views.pop(view.connection, None)
        self.tell(Closed(at=self.at, connection=view.connection, by=Party.CLIENT, clean=False))
        self.take(Disconnect(view.connection))

    def resume(self, cursor: str) -> _View | None:
        """GET with a cursor."""
        connection = self.request("GET", cursor=cursor)
        return self.listen(connection, self.take(Resume(connection, parse_cursor((cursor,)))))

    # The story

    def text(self, middle: int) -> str:
        """Words with line ends and quotation marks, about as long as ``middle``; some much longer."""
        length = int(middle * self.rng.lognormvariate(0.0, 0.6)) if middle else 0
        text = ""
        while len(text) < length:
            text += " ".join(self.rng.choices(_WORDS, k=12)) + ("\n" if self.rng.random() < 0.5 else ' "quoted" ')
        return text[:length]

    def open(self) -> None:
        """Initialize, and listen to the standalone stream."""
        self._rpc += 1
        client: Json = {"name": "example-client", "version": "1.4.0"}
        params: Json = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": client}
        hello: dict[str, Json] = {"jsonrpc": "2.0", "id": self._rpc, "method": "initialize", "params": params}
        connection = self.request("POST", hello, opens=True)
        server: Json = {"name": "example-server", "version": "0.9.2"}
        can: Json = {"logging": {}, "tools": {"listChanged": True}}
        told: Json = {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": server}
        self.answer(connection, 200, {"jsonrpc": "2.0", "id": self._rpc, "result": told}, SESSION)
        self.answer(self.request("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}), 202)
        connection = self.request("GET")
        self.listen(connection, self.take(Resume(connection, parse_cursor(()))))

    def call(self, *, driven: bool) -> None:
        """A tool is called and, most times, followed to its end."""
        self._rpc += 1
        rpc, label = self._rpc, f"call-{self._rpc}-of-{SESSION[:12]}"
        count = self.rng.randint(*self.manner.messages)
        if self.rng.random() < 0.02:
            count += POLICY.window_events + 40  # more than is held: who stays away too long has lost its place
        logs = self.rng.random() < 0.5
        arguments: Json = {"label": label, "count": count, "query": self.text(60)}
        params: dict[str, Json] = {"name": "search_documents", "arguments": arguments}
        if not logs:
            params["_meta"] = {"progressToken": rpc}
        post = self.request("POST", {"jsonrpc": "2.0", "id": rpc, "method": "tools/call", "params": params})
        said = [self._message(rpc, label, n, count, logs) for n in range(1, count + 2)]
        if driven:
            self.tell(Expect(at=self.at, connection=post, keys=tuple(message_key(each) for each in said)))
        opened = self.take(OpenStream(post))
        view = self.listen(post, opened)
        if view is None or not isinstance(opened, Opened):
            return
        last, stream = view, opened.stream
        cut_at = self.rng.randint(1, count) if self.rng.random() < self.manner.cut else 0
        back_at = 0
        for n, message in enumerate(said, start=1):
            self.wait(5, 120)
            if n == back_at and last.connection not in self.views:
                view = self.resume(last.cursor)
                last = view if view is not None else last
            if n == cut_at:
                back_at = min(len(said), n + self._cut(last, count))
            while not isinstance(self.take(Emit(stream, size_of(message), message)), Emitted):
                self.wait(5, 20)
                if not self.machine.alive:
                    return
            self.pump()
        self.take(Finish(stream))
        self.pump()
        if last.connection not in self.views and cut_at and last.cursor:
            self.wait(20, 200)
            view = self.resume(last.cursor)
            last = view if view is not None else last
        if driven and cut_at:
            self.tell(Settled(at=self.at, connection=post, last=last.connection))

    def _cut(self, view: _View, count: int) -> int:
        """The connection breaks, or seems to; how many messages later the client is back."""
        manner = self.rng.random()
        if manner < 0.25 and view.connection in self.views:  # the client gave up on it, and the server does not know
            taken = self.resume(view.cursor)
            if taken is not None:
                view.connection, view.cursor = taken.connection, taken.cursor
                self.views[taken.connection] = view
            return 0
        if view.connection in self.views:
            self.cut(view)
        return count if count > POLICY.window_events else self.rng.randint(1, 8)

    def _message(self, rpc: int, label: str, n: int, count: int, logs: bool) -> dict[str, Json]:
        if n > count:
            content: Json = [{"type": "text", "text": self.text(self.manner.result)}]
            return {"jsonrpc": "2.0", "id": rpc, "result": {"content": content, "isError": False}}
        if logs:
            data: Json = {"label": label, "n": n, "text": self.text(self.manner.notification)}
            params: Json = {"level": "info", "logger": "search", "data": data}
            return {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
        said = self.text(self.manner.notification // 3)
        params = {"progressToken": rpc, "progress": n, "total": count, "message": said}
        return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}

    def push(self) -> None:
        """The server says something of its own accord."""
        uri = f"file:///project/src/{self.rng.choice(_WORDS)}"
        message: Json = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}
        self.take(Emit(0, size_of(message), message))
        self.pump()

    def close(self) -> None:
        """DELETE, most times; else nothing more is heard of the client, or of some of its connections."""
        if self.rng.random() < 0.7:
            connection = self.request("DELETE")
            self.answer(connection, 200)
            self.take(Terminate())
            return
        for view in list(self.views.values()):
            if self.rng.random() < 0.5:
                self.cut(view)


def size_of(payload: Json) -> int:
    """Bytes of the message on the wire, nearly: what a server would write."""
    return len(json.dumps(payload, separators=(",", ":")))


def play(seed: int, manner: Manner) -> list[Observation]:
    """One scene."""
    scene = Scene(random.Random(seed), manner)
    scene.open()
    driven = scene.rng.random() < 0.3
    for _ in range(scene.rng.randint(*manner.calls)):
        scene.wait(50, 4_000)
        scene.call(driven=driven)
        if scene.rng.random() < 0.2:
            scene.push()
    scene.wait(10, 500)
    scene.close()
    return scene.seen
