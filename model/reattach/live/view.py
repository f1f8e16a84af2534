"""One HTTP exchange with an MCP server, read in the background and recorded as it is read.

A view reads all the time unless it is paused, because a reader that merely has not got round to reading looks, to the
server, like one that has stopped. Where it ends is settled when it is opened (``CutPlan``), so that a cut after the
n-th event, or some bytes into the next, does not depend on when a task is scheduled: what lies beyond the cut is thrown
away unread, as a client that died there would have thrown it away.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable

from attrs import define, field, frozen

from reattach.live.recorder import Recorder, observation_of
from reattach.live.sse import BlockTooLargeError, CommentLine, Decoder, Event
from reattach.live.wire import Cut, Exchange, Head, WireError
from reattach.oracle.message import is_response
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Frame,
    Json,
    Party,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
)

EVENT_STREAM = "text/event-stream"
MAX_BODY = 16 * 1024 * 1024
"""Bytes read of an answer that is not an event stream; the rest is counted as lost."""


@frozen
class CutPlan:
    """Where a view is to be cut: after ``events`` frames, and then ``inside`` bytes into what follows them.

    ``events`` = 0 cuts after the response's head. If nothing follows, there is no inside to cut in; the view then ends
    when the server ends it or the driver does. With ``bare`` the first frame without a message is the last too.
    """

    events: int
    inside: int = 0
    how: Cut = Cut.RESET
    bare: bool = False

    def is_last(self, frame: Frame, count: int) -> bool:
        """Whether a frame, the view's ``count``-th, is the last one before the cut."""
        return count >= self.events or (self.bare and not frame.has_data)


@frozen
class Pacing:
    """How a view is read, if not as fast as it comes."""

    pause_after: int | None = None
    """Stop reading, all by itself, after so many frames; ``resume`` goes on."""
    read_delay_ms: int = 0
    """A pause before each read: slow, without ever stopping."""
    receive_buffer: int | None = None
    """Bytes of the socket's receive buffer; the kernel's choice if None."""


AT_ONCE = Pacing()


@define(eq=False)
class View:
    """An exchange that has been sent. Made by ``Client.send``; not to be made directly."""

    request: Request
    experiment: str
    _recorder: Recorder
    _exchange: Exchange
    _plan: CutPlan | None = None
    _pacing: Pacing = AT_ONCE
    head: Head | None = None
    """The response's status and headers, once they are here."""
    frames: list[Frame] = field(factory=list)
    comments: list[Comment] = field(factory=list)
    body: Body | None = None
    """The whole answer, if it is not an event stream."""
    closed: Closed | None = None
    """How the exchange ended, once it has."""
    cut_short: bool = False
    """Whether we ended it."""
    _task: "asyncio.Task[None] | None" = None
    _changed: asyncio.Event = field(factory=asyncio.Event)
    _reading: asyncio.Event = field(factory=asyncio.Event)
    _last_frame_at: int = 0
    _head_at: int = 0

    def start(self) -> None:
        """Begin to read."""
        self._reading.set()
        self._task = asyncio.create_task(self._read(), name=f"view {self.connection}")

    @property
    def connection(self) -> int:
        """The number of this exchange."""
        return self.request.connection

    @property
    def status(self) -> int | None:
        """The HTTP status; None while there is no answer."""
        return self.head.status if self.head is not None else None

    @property
    def is_stream(self) -> bool:
        """Whether the answer is an event stream with status 200."""
        return self.head is not None and self.head.status == 200 and self.head.media_type == EVENT_STREAM

    @property
    def answer_ms(self) -> int | None:
        """Milliseconds from the request to the response's head."""
        return self._head_at - self.request.at if self.head is not None else None

    @property
    def cursor(self) -> str | None:
        """The last event id read on this view; None if there was none (or the server reset it with an empty one)."""
        ids = [frame.id for frame in self.frames if frame.id is not None]
        return ids[-1] or None if ids else None

    @property
    def messages(self) -> list[Json]:
        """The JSON-RPC messages read, in order."""
        return [frame.payload for frame in self.frames if frame.payload is not None]

    def response(self, rpc_id: str | int | None) -> Json:
        """The JSON-RPC response with that id, in a frame or in the body; None if it is not here."""
        payloads = [frame.payload for frame in self.frames]
        if self.body is not None:
            payloads.append(self.body.payload)
        for payload in payloads:
            if isinstance(payload, dict) and is_response(payload) and payload["id"] == rpc_id:
                return payload
        return None

    def answers(self, rpc_id: str | int | None) -> bool:
        """Whether the response with that id is here."""
        return self.response(rpc_id) is not None

    async def wait(self, condition: Callable[["View"], bool], timeout_ms: int) -> bool:
        """Wait until ``condition`` holds, the exchange is over, or the time is up; say whether it holds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                while not condition(self) and self.closed is None:
                    self._changed.clear()
                    await self._changed.wait()
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()  # a fault of ours in the reader must not look like a silent server
        return condition(self)

    async def answered(self, timeout_ms: int) -> bool:
        """Wait for the response's head. If none comes in time, that is recorded as quiet before a response."""
        if await self.wait(lambda view: view.head is not None, timeout_ms):
            return True
        if self.closed is None:
            self._quiet(timeout_ms)
        return False

    async def over(self, timeout_ms: int) -> bool:
        """Wait until the exchange is over."""
        return await self.wait(lambda view: view.closed is not None, timeout_ms)

    async def quiet(self, quiet_ms: int, limit_ms: int, since: int | None = None) -> bool:
        """Read until no event has come for ``quiet_ms``; record that and return True.

        The silence counts from ``since``, now if None: from when something could be expected, if that has been waited
        for already. Returns False if the exchange ends first, or if events go on coming for ``limit_ms``. Comments do
        not count as events: a heartbeat says that the connection lives, not that something is on its way.
        """
        deadline = self._recorder.now() + limit_ms
        quiet_since = self._recorder.now() if since is None else since
        while self.closed is None:
            now = self._recorder.now()
            quiet_since = max(quiet_since, self._last_frame_at)
            if now - quiet_since >= quiet_ms:
                self._quiet(now - quiet_since)
                return True
            if now >= deadline:
                return False
            seen = len(self.frames)
            await self.wait(lambda view, seen=seen: len(view.frames) > seen, quiet_since + quiet_ms - now)  # type: ignore[misc]
        return False

    def pause(self) -> None:
        """Stop reading. Bytes then fill the receive buffer, and after it the sender's."""
        if self._reading.is_set() and self.closed is None:
            self._reading.clear()
            self._recorder.record(ReadPaused(at=self._recorder.now(), connection=self.connection), self.experiment)

    def resume(self) -> None:
        """Go on reading."""
        if not self._reading.is_set() and self.closed is None:
            self._recorder.record(ReadResumed(at=self._recorder.now(), connection=self.connection), self.experiment)
            self._reading.set()

    async def cut(self, how: Cut = Cut.RESET) -> None:
        """End the exchange from our side. Does nothing if it is over."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
        self._finish(how)

    def _finish(self, how: Cut) -> None:
        if self.closed is None:
            self._exchange.close(how)
            self.cut_short = True
            self._close(Party.CLIENT, clean=how is Cut.CLOSE)

    def _close(self, by: Party, *, clean: bool) -> None:
        self.closed = Closed(at=self._recorder.now(), connection=self.connection, by=by, clean=clean)
        self._recorder.record(self.closed, self.experiment)
        self._changed.set()

    def _quiet(self, waited: int) -> None:
        self._recorder.record(
            Quiet(at=self._recorder.now(), connection=self.connection, waited=waited), self.experiment
        )

    async def _read(self) -> None:
        try:
            head = await self._exchange.head()
            self._head_at = self._recorder.now()
            self.head = head
            self._recorder.record(
                Response(
                    at=self._head_at,
                    connection=self.connection,
                    status=head.status,
                    content_type=head.media_type,
                    session=head.get("mcp-session-id"),
                ),
                self.experiment,
            )
            self._changed.set()
            await (self._read_stream() if self.is_stream else self._read_body())
        except (WireError, BlockTooLargeError):
            if self.closed is None:
                self._exchange.close(Cut.RESET)
                self._close(Party.SERVER, clean=False)

    async def _read_body(self) -> None:
        body = bytearray()
        while (piece := await self._exchange.read()) is not None:
            body += piece
            if len(body) > MAX_BODY:
                self._finish(Cut.RESET)
                return
        try:
            payload: Json = json.loads(body) if body else None
        except (ValueError, RecursionError):
            payload = None
        self.body = Body(at=self._recorder.now(), connection=self.connection, payload=payload, size=len(body))
        self._recorder.record(self.body, self.experiment)
        self._close(Party.SERVER, clean=True)

    async def _read_stream(self) -> None:
        decoder = Decoder()
        plan = self._plan
        received = 0
        cut_at = 0 if plan is not None and plan.events == 0 else None
        while True:
            await self._reading.wait()
            if plan is not None and cut_at is not None and received >= cut_at + plan.inside:
                self._finish(plan.how)
                return
            if self._pacing.read_delay_ms:
                await asyncio.sleep(self._pacing.read_delay_ms / 1000)
            piece = await self._exchange.read()
            await self._reading.wait()
            if piece is None:
                self._close(Party.SERVER, clean=True)
                return
            received += len(piece)
            if cut_at is not None:
                continue
            for item in decoder.feed(piece):
                await self._reading.wait()
                frame = self._take(item)
                if frame is None:
                    continue
                if plan is not None and plan.is_last(frame, len(self.frames)):
                    cut_at = item.end
                    break
                if len(self.frames) == self._pacing.pause_after:
                    self.pause()

    def _take(self, item: Event | CommentLine) -> Frame | None:
        seen = observation_of(item, self._recorder.now(), self.connection)
        if isinstance(seen, Comment):
            self.comments.append(seen)
        else:
            self._last_frame_at = seen.at
            self.frames.append(seen)
        self._recorder.record(seen, self.experiment)
        if isinstance(seen, Comment):
            return None
        self._changed.set()
        return seen
