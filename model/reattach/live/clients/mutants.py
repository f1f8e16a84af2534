"""Faulty clients: the machine's client over HTTP with one mistake each, in what it does with the machine.

Each names the clause and the fault class under which the bench has to report it, and the scripts that show it. Many
were seen in the wild; the numbers are those of research/bugs.md.
"""

from collections.abc import Mapping

from attrs import define, evolve, field, frozen

from reattach.live.clients.client import HttpClient
from reattach.live.clients.scripts import Call
from reattach.live.sse import Decoder
from reattach.live.wire import Exchange
from reattach.machine import client as machine
from reattach.machine.client import ClientStream, News, Told
from reattach.machine.cursor import ABSENT, Cursor, Presence, parse_cursor
from reattach.machine.decision import Reason
from reattach.machine.network import Aborted, Attached, Delivered, Item, Positioned, Primed, Refused, Request, Verb
from reattach.machine.session import StreamKind
from reattach.oracle.observation import Json
from reattach.oracle.verdict import Fault


@frozen
class Mutant:
    """A faulty client."""

    name: str
    wrong: str
    """What it does wrong, in a sentence."""
    clause: str
    """The clause that it violates ..."""
    fault: Fault
    """... and the class of fault: both must be reported."""
    scripts: tuple[str, ...]
    """The scripts that show it."""
    client: type[HttpClient]
    seen: str = ""
    """Where it was seen in the wild."""


@define(eq=False)
class _KeepsFirstCursor(HttpClient):
    _known: set[Cursor] = field(init=False, factory=set)

    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        before = next(iter(machine.find_by_connection(self.state, connection)), None)
        if isinstance(item, Delivered) and not item.final and before is not None:
            if item.cursor in self._known:
                return  # it is not applied twice: what goes wrong is the cursor alone
            self._known.add(item.cursor)
        super().take(connection, item, asked, payload)
        if isinstance(item, Delivered) and before is not None and self.stream(before.handle) is not None:
            streams = tuple(
                evolve(each, cursor=before.cursor) if each.handle == before.handle else each
                for each in self.state.streams
            )
            self.state = evolve(self.state, streams=streams)


@define(eq=False)
class _TakesIdsAtOnce(HttpClient):
    def broken_off(self, decoder: Decoder, asked: Request, connection: int) -> None:
        half = parse_cursor((decoder._id,)) if decoder._id else ABSENT
        if half.presence is Presence.PRESENT:
            self.take(connection, Primed(half), asked)


@define(eq=False)
class _KnowsNothingAgain(HttpClient):
    memory = 0


@define(eq=False)
class _KeepsSession(HttpClient):
    _session: str = field(init=False, default="")

    @property
    def connected(self) -> bool:
        return super().connected or self._session != ""

    def become(self, client: machine.Client) -> None:
        self._session = self._session or client.session
        super().become(evolve(client, session=client.session or self._session))


@define(eq=False)
class _InitializesTwice(HttpClient):
    def tell(self, told: Told) -> None:
        super().tell(told)
        if told.news is News.SESSION_LOST:
            self._start(self._again())

    async def _again(self) -> None:
        await self.renew()
        await self._initialize(self.number())


@define(eq=False)
class _KeepsCursorOf404(HttpClient):
    _old: tuple[ClientStream, ...] = field(init=False, factory=tuple)

    def become(self, client: machine.Client) -> None:
        if client.phase is machine.Phase.MUST_INITIALIZE:
            self._old = self._old or tuple(each for each in self.state.streams if each.cursor != ABSENT)
        super().become(client)

    async def renew(self) -> None:
        await super().renew()
        old, self._old = self._old, ()
        if self.connected:
            for stream in old:
                await self.ask(stream.cursor)


@define(eq=False)
class _ResumesAtOnce(HttpClient):
    def become(self, client: machine.Client) -> None:
        super().become(evolve(client, streams=tuple(evolve(each, retry_ms=0, ready=0) for each in client.streams)))


@define(eq=False)
class _ResumesByPost(HttpClient):
    async def request(self, asked: Request, message: Mapping[str, Json] | None) -> Exchange:
        if asked.verb is not Verb.RESUME:
            return await super().request(asked, message)
        return await self.send("POST", asked.session, cursor=asked.cursor)


@define(eq=False)
class _ReadsOldConnection(HttpClient):
    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        elsewhere = asked is not None and self.stream(asked.handle) is not None and not self.reads_on(connection)
        if isinstance(item, Delivered) and asked is not None and elsewhere:
            self.apply(asked.handle, payload)
        super().take(connection, item, asked, payload)


@define(eq=False)
class _Cancels(HttpClient):
    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        calls = asked is not None and asked.verb is Verb.CALL and self.reads_on(connection)
        super().take(connection, item, asked, payload)
        if isinstance(item, Aborted) and calls and asked is not None:
            self._start(self.notify("notifications/cancelled", {"requestId": int(self._asked[asked.handle])}))


@define(eq=False)
class _GivesUp(HttpClient):
    async def _follow(self, asked: Request, connection: int, message: Mapping[str, Json] | None = None) -> None:
        await self.read(asked, connection, message)
        for stream in machine.find_by_handle(self.state, asked.handle):
            self.become(machine.give_up(self.state, stream))


@define(eq=False)
class _IgnoresPositions(HttpClient):
    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        if not isinstance(item, Positioned):
            super().take(connection, item, asked, payload)


@define(eq=False)
class _TellsNothing(HttpClient):
    def tell(self, told: Told) -> None:
        if told.news is News.OUTCOME_UNKNOWN:
            self._end(self._labels.get(told.handle, ""))
        else:
            super().tell(told)


@define(eq=False)
class _TellsNoGap(HttpClient):
    def tell(self, told: Told) -> None:
        if told.news is News.SESSION_LOST:
            self._start(self.renew())
        elif told.news is not News.GAP:
            super().tell(told)


@define(eq=False)
class _KeepsRefusedCursor(HttpClient):
    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        refused = isinstance(item, Refused) and item.reason is not Reason.SESSION_UNKNOWN
        resumes = asked is not None and asked.verb is Verb.RESUME
        super().take(connection, Aborted() if refused and resumes else item, asked, payload)


@define(eq=False)
class _DropsSession(HttpClient):
    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        refused = isinstance(item, Refused) and asked is not None and asked.verb is Verb.RESUME
        super().take(connection, Refused(Reason.SESSION_UNKNOWN) if refused else item, asked, payload)


@define(eq=False)
class _SharesCursor(HttpClient):
    _last: Cursor = ABSENT

    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        if isinstance(item, Delivered | Primed) and item.cursor.presence is Presence.PRESENT:
            self._last = item.cursor
        super().take(connection, item, asked, payload)

    async def resume(self, followed: machine.Client, asked: Request, connection: int) -> None:
        await super().resume(followed, evolve(asked, cursor=self._last), connection)


@define(eq=False)
class _LosesCursor(HttpClient):
    async def resume(self, followed: machine.Client, asked: Request, connection: int) -> None:
        stream = self.stream(asked.handle)
        if stream is None or stream.attempts == 0 or stream.kind is not StreamKind.REQUEST:
            await super().resume(followed, asked, connection)
        else:
            await self.ask(ABSENT)
            self.become(machine.give_up(self.state, stream))


@define(eq=False)
class _ResumesFinished(HttpClient):
    async def make(self, call: Call) -> None:
        await super().make(call)
        handle = next(handle for handle, label in self._labels.items() if label == call.label)
        if handle in self._finished:
            await self.ask(self._finished[handle])

    _finished: dict[int, Cursor] = field(init=False, factory=dict)

    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        if isinstance(item, Delivered) and item.final and asked is not None and item.cursor != ABSENT:
            self._finished[asked.handle] = item.cursor
        super().take(connection, item, asked, payload)


@define(eq=False)
class _CountsNoAttempts(HttpClient):
    def take(self, connection: int, item: Item, asked: Request | None = None, payload: Json = None) -> None:
        super().take(connection, item, asked, payload)
        if isinstance(item, Attached):
            self.state = evolve(self.state, streams=tuple(evolve(each, attempts=0) for each in self.state.streams))


@define(eq=False)
class _SendsAgain(HttpClient):
    def tell(self, told: Told) -> None:
        label = self._labels.pop(told.handle, "") if told.news is News.OUTCOME_UNKNOWN else ""
        call = next((each for each in self.calls if each.label == label), None)
        if call is None or label in self._sent_again:
            self._labels[told.handle] = label
            super().tell(told)
        else:
            self._sent_again.add(label)
            self._start(self._once_more(call))

    _sent_again: set[str] = field(init=False, factory=set)

    async def _once_more(self, call: Call) -> None:
        await self.renew()
        await self.make(call)

    async def make(self, call: Call) -> None:
        await super().make(call)
        await self._over[call.label].wait()


MUTANTS: Mapping[str, Mutant] = {
    mutant.name: mutant
    for mutant in (
        Mutant(
            "keeps-first-cursor",
            "The cursor is that of the priming event for ever; what comes after it moves it no more.",
            "CLI-1",
            Fault.CURSOR_NOT_ADVANCED,
            ("cut-after-two",),
            _KeepsFirstCursor,
            "python-sdk (B 33)",
        ),
        Mutant(
            "takes-ids-at-once",
            "The cursor moves when the `id` field has been read, before the event is complete.",
            "CLI-1",
            Fault.CURSOR_AHEAD,
            ("cut-inside-event",),
            _TakesIdsAtOnce,
        ),
        Mutant(
            "knows-nothing-again",
            "An event that comes a second time is applied a second time.",
            "CLI-2",
            Fault.CLIENT_DUPLICATE,
            ("replayed-event",),
            _KnowsNothingAgain,
        ),
        Mutant(
            "keeps-session",
            "After 404 it goes on under the old session id.",
            "CLI-3",
            Fault.CLIENT_NO_REINITIALIZE,
            ("session-gone",),
            _KeepsSession,
            "python-sdk, rust-sdk, mcp-go, many hosts (B 36)",
        ),
        Mutant(
            "initializes-twice",
            "Each of those that find out that the session is gone begins another.",
            "CLI-3",
            Fault.REINITIALIZED_TWICE,
            ("session-gone",),
            _InitializesTwice,
        ),
        Mutant(
            "keeps-cursor-of-404",
            "It resumes the streams of the session that is gone in the new one.",
            "CLI-3",
            Fault.CURSOR_KEPT_AFTER_404,
            ("session-gone",),
            _KeepsCursorOf404,
        ),
        Mutant(
            "resumes-at-once",
            "It comes back as soon as its connection has ended, whatever `retry` says.",
            "CLI-4",
            Fault.RETRY_IGNORED,
            ("retry-500",),
            _ResumesAtOnce,
            "kotlin-sdk, ruby-sdk (B 32)",
        ),
        Mutant(
            "resumes-by-post",
            "It resumes by a POST without a message.",
            "CLI-5",
            Fault.RESUMED_BY_POST,
            ("cut-after-two",),
            _ResumesByPost,
            "ruby-mcp-client (B 32)",
        ),
        Mutant(
            "reads-old-connection",
            "It goes on applying what comes on the old connection when it has resumed on another.",
            "CLI-6",
            Fault.OLD_CONNECTION_READ,
            ("old-connection",),
            _ReadsOldConnection,
        ),
        Mutant(
            "cancels",
            "When a call's connection is cut it cancels the call, and resumes its stream all the same.",
            "CLI-7",
            Fault.DISCONNECT_CANCELS,
            ("cut-after-two",),
            _Cancels,
        ),
        Mutant(
            "gives-up",
            "When a call's connection is cut it reports the call as failed, though it could resume it.",
            "CLI-7",
            Fault.DISCONNECT_CANCELS,
            ("cut-after-two",),
            _GivesUp,
            "inspector, php-sdk (B 31)",
        ),
        Mutant(
            "ignores-positions",
            "It does not look at the position that a view states.",
            "CLI-8",
            Fault.POSITION_IGNORED,
            ("wrong-position",),
            _IgnoresPositions,
        ),
        Mutant(
            "tells-nothing",
            "A call whose stream cannot be followed is forgotten, and its application is not told.",
            "CLI-9",
            Fault.SILENT_LOSS,
            ("no-ids", "cursor-conflict"),
            _TellsNothing,
        ),
        Mutant(
            "tells-no-gap",
            "That the session is gone, or a standalone stream has a gap, is not told.",
            "CLI-9",
            Fault.SILENT_LOSS,
            ("session-gone",),
            _TellsNoGap,
        ),
        Mutant(
            "keeps-refused-cursor",
            "A cursor that was refused is sent again.",
            "CLI-9",
            Fault.CURSOR_KEPT_AFTER_REFUSAL,
            ("cursor-conflict",),
            _KeepsRefusedCursor,
            "python-sdk; clients of proxies that answer 409 (B 28)",
        ),
        Mutant(
            "drops-session",
            "A refused cursor is taken for the end of the session.",
            "CLI-9",
            Fault.SESSION_DROPPED,
            ("cursor-conflict",),
            _DropsSession,
            "LibreChat, mcp-remote (B 28)",
        ),
        Mutant(
            "shares-cursor",
            "It keeps one cursor for all streams.",
            "CLI-10",
            Fault.CURSOR_SHARED,
            ("two-calls",),
            _SharesCursor,
            "swift-sdk (B 30)",
        ),
        Mutant(
            "loses-cursor",
            "A resumption that brings nothing costs it the cursor: it comes back with a GET that has none.",
            "CLI-10",
            Fault.CURSOR_LOST,
            ("retry-0", "empty-for-ever"),
            _LosesCursor,
            "typescript-sdk",
        ),
        Mutant(
            "resumes-finished",
            "It resumes a stream whose response it has.",
            "CLI-10",
            Fault.RESUME_AFTER_RESULT,
            ("undisturbed",),
            _ResumesFinished,
            "typescript-sdk, go-sdk (B 35)",
        ),
        Mutant(
            "counts-no-attempts",
            "A connection that opens counts as progress.",
            "CLI-11",
            Fault.CLIENT_RECONNECT_STORM,
            ("empty-for-ever",),
            _CountsNoAttempts,
            "python-sdk, typescript-sdk, go-sdk, rust-sdk (B 33)",
        ),
        Mutant(
            "sends-again",
            "A call whose outcome is unknown is sent again.",
            "CLI-12",
            Fault.CLIENT_RESEND,
            ("no-ids",),
            _SendsAgain,
        ),
    )
}
"""By name, in the order of the clauses."""
