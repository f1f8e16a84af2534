"""What an experiment works with: sessions, calls whose messages are known, and the rule by which a call is followed.

An experiment says what to do; whether the server did right is the oracle's business. So nothing here judges. What the
driver knows and the wire does not show is told to the oracle as observations: what a call will send (``Expect``), that
nothing came (``Quiet``), and that the driver has done what it could to get the rest of a call (``Settled``).
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence

from attrs import define, field

from reattach.live.client import Client, Session
from reattach.live.pace import Pace
from reattach.live.stimulus import Stimulus, push_params
from reattach.live.view import AT_ONCE, CutPlan, Pacing, View
from reattach.live.wire import WireError
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.message import message_key, normalised_key
from reattach.oracle.observation import Expect, Json, Settled

FOLLOW_ATTEMPTS = 8
"""How often a call is resumed at most before the driver gives up on it."""
LOOK_MS = 10_000
"""How long a view is read at most while waiting for it to fall silent."""
CLOSE_MS = 3_000
"""How long the sessions of an experiment may take to be deleted; a server that hangs is left alone then."""
RETRY_MS = 1_000
"""The longest ``retry`` that is waited for in full."""


def numbered_keys(label: str, count: int) -> tuple[str, ...]:
    """The keys of the messages that our tools send."""
    message: dict[str, Json] = {"method": "notifications/message"}
    return tuple(message_key(message | {"params": {"data": {"label": label, "n": n}}}) for n in range(1, count + 1))


def progress_keys(token: str, count: int) -> tuple[str, ...]:
    """The keys of progress in steps of one, under a token."""
    message: dict[str, Json] = {"method": "notifications/progress"}
    steps = range(1, count + 1)
    return tuple(message_key(message | {"params": {"progressToken": token, "progress": step}}) for step in steps)


def expected_keys(stimulus: Stimulus, label: str, count: int, rpc_id: str | int | None) -> tuple[str, ...] | None:
    """The keys of what a call of the stimulus sends, the response last; None if that is not known."""
    if not stimulus.numbered:
        return stimulus.baseline
    return (*message_keys(stimulus, label, count), message_key({"id": rpc_id, "result": {}}))


def message_keys(stimulus: Stimulus, label: str, count: int) -> tuple[str, ...]:
    """The keys of what a call of a numbered stimulus sends before its response."""
    return progress_keys(label, count) if stimulus.progress else numbered_keys(label, count)


def retry_of(view: View) -> int:
    """How long the server's ``retry`` asks to wait before the next resumption, if it closed the view; bounded."""
    retries = [frame.retry for frame in view.frames if frame.retry is not None]
    return min(retries[-1], RETRY_MS) if retries and not view.cut_short else 0


async def progress(view: View, done: Callable[[View], bool], patience_ms: int) -> bool:
    """Wait until ``done``, as long as events keep coming within the patience of each other; return whether it is."""
    while not done(view) and view.closed is None:
        seen = len(view.frames)
        if not await view.wait(lambda now, seen=seen: done(now) or len(now.frames) > seen, patience_ms):  # type: ignore[misc]
            break
    return done(view)


def volume(declaration: Declaration) -> tuple[int, int]:
    """How many messages of how many bytes surely fill what lies between a server and a reader that has stopped.

    Undeclared, sixteen megabytes: more than kernels grant a connection by themselves, and more messages than a server
    keeps in small queues. Declared, ten times the transport's buffers, and more messages than the window holds.
    """
    buffer = declaration.transport_buffer_bytes
    if buffer is None:
        return 64, 262_144
    return min(max(40, 3 * (declaration.window_events or 0)), 1_000), min(max(buffer // 4, 1), 900_000)


@define(eq=False)
class Call:
    """One ``tools/call`` and the chain of views on which its stream was followed."""

    bench: "Bench"
    session: Session
    post: View
    chain: list[View]
    """The POST's view, then each resumption of its stream that belongs to the chain, in order."""
    expected: tuple[str, ...] | None
    """The keys of what the call sends, as the oracle was told; None if that is not known."""
    numbered: bool
    """Whether ``expected`` holds exact keys; otherwise they are normalised ones."""
    through: Client | None = None
    """Where the stream is resumed; where the session was opened, if None."""

    @property
    def last(self) -> View:
        """The newest view of the chain."""
        return self.chain[-1]

    @property
    def ids(self) -> list[str]:
        """The event ids read along the chain, in order, each once."""
        return list(dict.fromkeys(frame.id for view in self.chain for frame in view.frames if frame.id))

    @property
    def cursor(self) -> str | None:
        """The last event id read along the chain."""
        return next((view.cursor for view in reversed(self.chain) if view.cursor is not None), None)

    @property
    def responded(self) -> bool:
        """Whether the response to the call has been read."""
        return any(view.answers(self.post.request.rpc_id) for view in self.chain)

    @property
    def message_ids(self) -> list[str]:
        """The event ids of messages read along the chain, in order, each once; not those of priming and the like."""
        frames = [frame for view in self.chain for frame in view.frames if frame.payload is not None]
        return list(dict.fromkeys(frame.id for frame in frames if frame.id))

    @property
    def complete(self) -> bool:
        """Whether every message that the call was to send has been read along the chain, where that is known."""
        if self.expected is None:
            return True
        key = message_key if self.numbered else normalised_key
        seen = {key(payload) for view in self.chain for payload in view.messages}
        return seen.issuperset(self.expected)

    async def answered(self) -> bool:
        """Wait until the response is read on the newest view; False if that ends or falls silent before."""
        return await progress(self.last, lambda _: self.responded, self.bench.pace.patience_ms)

    async def events(self, count: int) -> bool:
        """Wait until the newest view has delivered ``count`` frames; False if it ends or falls silent before."""
        return await progress(self.last, lambda view: len(view.frames) >= count, self.bench.pace.patience_ms)

    async def resume(self, cursor: str | None = None, *, plan: CutPlan | None = None) -> View:
        """Resume the call's stream from ``cursor`` (the last one read, if None); the view becomes the newest."""
        chosen = self.cursor if cursor is None else cursor
        assert chosen is not None, "a stream without ids cannot be resumed"
        view = await self.session.listen(chosen, plan=plan, through=self.through)
        self.chain.append(view)
        return view

    async def follow(self, *, to_the_end: bool = True) -> bool:
        """Follow the call to its response, resuming as often as that takes; tell the oracle that this is all.

        Returns whether the response was read. With ``to_the_end`` the view that brought it is read until the server
        ends it or has been quiet for the patience. A call without any event id cannot be resumed, and is settled only
        if its response came.
        """
        patience = self.bench.pace.patience_ms
        fruitless = 0
        for attempt in range(FOLLOW_ATTEMPTS):
            view, since = self.last, self.bench.client.recorder.now()
            await progress(view, lambda _: self.responded, patience)
            if self.responded:
                if to_the_end:
                    await self.bench.end(view)
                break
            if view.closed is None:
                # Open, with something owed, and nothing came for the whole patience.
                await self.bench.quiet(view, patience, since)
            if self.cursor is None:
                return False
            if view.status is not None and view.status >= 400:
                break
            fruitless = 0 if view.frames else fruitless + 1
            if fruitless >= 3 or attempt == FOLLOW_ATTEMPTS - 1:
                break  # with a view that has had its say: one that is resumed and cut at once shows nothing
            # A client that comes back for nothing waits before it tries again; a stream may be slow to move over.
            await asyncio.sleep(max(retry_of(view), patience // 2 if fruitless else 0) / 1000)
            await view.cut()
            await self.resume()
        await self.last.cut()
        self.settle()
        return self.responded

    async def look_back(self) -> None:
        """If something is missing after all, read the stream again from its first id.

        What comes then was held by the server all along, and skipped, which settles the matter.
        """
        if not self.complete and self.ids:
            view = await self.session.listen(self.ids[0])
            await self.bench.until_answered(view, self)
            await view.cut()

    def settle(self, last: View | None = None) -> None:
        """Tell the oracle that the driver has done what it could to get what the call sends.

        ``last`` is the view it was followed to; the chain's newest, if None.
        """
        recorder = self.bench.client.recorder
        view = self.last if last is None else last
        recorder.record(
            Settled(at=recorder.now(), connection=self.post.connection, last=view.connection),
            self.bench.client.experiment,
        )


@define(eq=False)
class Bench:
    """One experiment's tools and its limits. Every session it opens is closed when it ends."""

    client: Client
    """Tagged with the experiment's name."""
    pace: Pace
    rng: random.Random
    stimulus: Stimulus | None = None
    pushes: bool = False
    """Whether the server has the tool that sends on the standalone stream."""
    declaration: Declaration = NOTHING_DECLARED
    """What the server was declared to hold to."""
    second: Client | None = None
    """The same server as another principal."""
    also: Client | None = None
    """Another URL of the same deployment."""
    restart: Callable[[], Awaitable[None]] | None = None
    """Kills the server and starts it again."""
    take_ids: Callable[[], int] = field(default=lambda: 1)
    """Where the JSON-RPC ids of a new session start, so that two sessions use the same ids only on purpose."""
    on_note: Callable[[str], None] = field(default=lambda _: None)
    sessions: list[Session] = field(factory=list)
    _labels: int = 0

    def note(self, text: str) -> None:
        """Add a line to the notes of the report: what could not be done, and why."""
        self.on_note(text)

    async def session(
        self,
        *,
        first_id: int | None = None,
        client: Client | None = None,
        capabilities: Mapping[str, Json] | None = None,
    ) -> Session:
        """Open a session, with logging switched on where the server offers it."""
        session = await Session.open(
            client or self.client,
            first_id=self.take_ids() if first_id is None else first_id,
            capabilities=capabilities,
        )
        self.sessions.append(session)
        if "logging" in session.capabilities:
            await session.result("logging/setLevel", {"level": "debug"})
        return session

    async def call(
        self,
        session: Session,
        *,
        count: int = 5,
        interval_ms: int = 0,
        size: int = 0,
        rpc_id: int | None = None,
        plan: CutPlan | None = None,
        pacing: Pacing = AT_ONCE,
    ) -> Call:
        """Start a call of the stimulus. With a tool of its own pace, count, interval and size are the tool's."""
        assert self.stimulus is not None, "the experiment needs a stimulus"
        label = self._label()
        params = self.stimulus.call(count=count, interval_ms=interval_ms, size=size, label=label, token=label)
        view = await session.request("tools/call", params, rpc_id=rpc_id, plan=plan, pacing=pacing)
        keys = expected_keys(self.stimulus, label, count, view.request.rpc_id)
        if keys is not None:
            numbered = self.stimulus.numbered
            self._expect(
                view, keys, "numbered" if numbered else "metamorphic", pace_ms=interval_ms if numbered else None
            )
        return Call(self, session, view, [view], keys, self.stimulus.numbered)

    async def push(self, session: Session, count: int = 3) -> Call:
        """Make the server send ``count`` messages on the standalone stream, and wait for the tool's result."""
        label = self._label()
        view = await session.request("tools/call", push_params(count, label))
        keys = numbered_keys(label, count)
        self._expect(view, keys, "numbered", standalone=True)
        call = Call(self, session, view, [view], keys, True)
        await progress(view, lambda _: call.responded, self.pace.patience_ms)
        await view.over(self.pace.quiet_ms)
        await view.cut()
        return call

    async def ping(self, session: Session, client: Client | None = None) -> int | None:
        """POST a ping under the session; return the status, None if there was no answer."""
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": session.take_id(), "method": "ping"}
        view = await (client or session.client).send("POST", session=session.id, message=message)
        await view.answered(self.client.answer_ms)
        await view.over(self.pace.quiet_ms)
        await view.cut()
        return view.status

    async def end(self, view: View) -> None:
        """Give the server the patience to end a view that has had all it is owed; then cut it."""
        await self.quiet(view, self.pace.patience_ms)
        await view.cut()

    async def look(self, view: View) -> None:
        """Read a view that owes nothing known until it ends or the quiet period is over; then cut it."""
        await self.quiet(view, self.pace.quiet_ms)
        await view.cut()

    async def until_cut(self, view: View) -> None:
        """Wait until the view's plan has cut it, or until it ends or falls silent; then see that it is cut."""
        since = self.client.recorder.now()
        if not await progress(view, lambda seen: seen.closed is not None, self.pace.patience_ms):
            await self.quiet(view, self.pace.patience_ms, since)
            await view.cut()

    async def until_answered(self, view: View, call: Call) -> None:
        """Read a resumption of a call's stream until its response is there, or it ends or falls silent."""
        since = self.client.recorder.now()
        if not await progress(view, lambda seen: seen.answers(call.post.request.rpc_id), self.pace.patience_ms):
            await self.quiet(view, self.pace.patience_ms, since)

    async def delivered(self, view: View, pushed: Call, messages: int) -> None:
        """Wait until the view has that many messages in all, and settle the push that brought the last of them."""
        since = self.client.recorder.now()
        if not await progress(view, lambda seen: len(seen.messages) >= messages, self.pace.patience_ms):
            await self.quiet(view, self.pace.patience_ms, since)
        pushed.settle(view)

    async def quiet(self, view: View, quiet_ms: int, since: int | None = None) -> bool:
        """Read until no event came for that long, which is recorded; False if the view ended, or never fell silent."""
        return await view.quiet(quiet_ms, quiet_ms + LOOK_MS, since)

    async def close(self) -> None:
        """End every session that the experiment opened."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_MS / 1000):
                for session in self.sessions:
                    with contextlib.suppress(WireError):
                        await session.close()
        for session in self.sessions:
            for view in session.views:
                await view.cut()

    def _expect(
        self, view: View, keys: Sequence[str], origin: str, *, standalone: bool = False, pace_ms: int | None = None
    ) -> None:
        recorder = self.client.recorder
        recorder.record(
            Expect(
                at=recorder.now(),
                connection=view.connection,
                keys=tuple(keys),
                origin=origin,
                standalone=standalone,
                pace_ms=pace_ms,
            ),
            self.client.experiment,
        )

    def _label(self) -> str:
        self._labels += 1
        return f"{self.client.experiment}:{self._labels}"
