"""What mutants do instead of the right thing, where it takes more than a word: called from their changed text.

Nothing here is used by a server that is served without ``--mutant``.
"""

import os
from collections.abc import Iterable, Mapping
from weakref import WeakKeyDictionary

from attrs import define, evolve, frozen
from starlette.responses import Response as HttpResponse
from starlette.types import Receive, Scope, Send

from reattach.live.server.delivery import EVENT_STREAM_HEADERS, Delivery
from reattach.live.server.forms import Forms
from reattach.live.server.guest import Guest
from reattach.live.server.host import Host
from reattach.live.server.jsonrpc import Json
from reattach.machine.cursor import Presence, parse_cursor
from reattach.machine.decision import Reattach, Refuse, decide_cursor
from reattach.machine.policy import Policy
from reattach.machine.session import Greeting, Session, StreamKind, find_stream, is_viewed
from reattach.machine.transition import WriteEvent, WriteGreeting, WriteHeartbeat
from reattach.machine.window import Entry, Window, suffix

HAND_OVER_MS = 5
"""How long after the scan of the store a view is registered for what comes live."""
PROCESS_EVENTS = 48
"""The most events that the whole process holds, where sessions share one store."""
POLL_MS = 5

Block = WriteGreeting | WriteEvent | WriteHeartbeat


# Views that were resumed


@define
class _Resumed:
    scanned: int
    """The last seq of the stream when it was resumed."""
    at: int
    """When it was resumed, in the host's milliseconds."""
    held_back: bytes = b""


_RESUMED: "WeakKeyDictionary[Delivery, _Resumed]" = WeakKeyDictionary()
_POSITIONS: "WeakKeyDictionary[Delivery, int]" = WeakKeyDictionary()


def seen(delivery: Delivery, write: Block) -> bool:
    """Remember that a view is a resumed one, and how far it is. Always False."""
    if isinstance(write, WriteGreeting | WriteEvent):
        _POSITIONS[delivery] = write.seq
    if isinstance(write, WriteGreeting) and write.greeting is Greeting.POSITION:
        session = delivery.host.session(delivery.name)
        last = find_stream(session, write.stream).last if session is not None else 0
        _RESUMED[delivery] = _Resumed(last, delivery.host.clock())
    return False


def is_resumed(delivery: Delivery) -> bool:
    """Whether the view was resumed from a cursor."""
    return delivery in _RESUMED


def lost_at_hand_over(delivery: Delivery, write: Block) -> bool:
    """Whether an event came after the scan of the store and before the view was registered."""
    return lost_for_ever(delivery, write) and delivery.host.clock() < _RESUMED[delivery].at + HAND_OVER_MS


def lost_for_ever(delivery: Delivery, write: Block) -> bool:
    """Whether an event came after the scan of the store."""
    seen(delivery, write)
    return isinstance(write, WriteEvent) and is_resumed(delivery) and write.seq > _RESUMED[delivery].scanned


def in_swapped_pairs(delivery: Delivery, write: Block) -> bytes:
    """The blocks of a replay, two and two in the wrong order."""
    seen(delivery, write)
    block, resumed = delivery.forms.block(write), _RESUMED.get(delivery)
    if resumed is None or not isinstance(write, WriteEvent) or write.seq > resumed.scanned:
        return block
    if resumed.held_back:
        both, resumed.held_back = block + resumed.held_back, b""
        return both
    if write.seq < resumed.scanned:
        resumed.held_back = block
        return b""
    return block


def renumbered(delivery: Delivery, write: Block) -> Block:
    """On a resumed view: the event under the id of the next one."""
    seen(delivery, write)
    if isinstance(write, WriteEvent) and is_resumed(delivery):
        return evolve(write, seq=write.seq + 1)
    return write


def of_other_streams(delivery: Delivery, write: Block) -> bytes:
    """With the greeting of a resumed view: everything later that the session holds of its other streams."""
    session = delivery.host.session(delivery.name)
    if seen(delivery, write) or session is None or not _begins_resumption(write):
        return b""
    assert isinstance(write, WriteGreeting)
    held = (entry for entry in session.window.held if entry.seq > write.seq and entry.stream != write.stream)
    return _blocks(delivery.forms, held)


def of_other_sessions(delivery: Delivery, write: Block) -> bytes:
    """With the greeting of a resumed view: what other sessions hold under the same number of a stream."""
    if not _begins_resumption(write):
        return b""
    assert isinstance(write, WriteGreeting)
    blocks = b""
    for name in delivery.host.session_names:
        session = delivery.host.session(name)
        if name != delivery.name and session is not None:
            blocks += _blocks(evolve(delivery.forms, tag=session.tag), suffix(session.window, write.stream, 0))
    return blocks


def _begins_resumption(write: Block) -> bool:
    return isinstance(write, WriteGreeting) and write.greeting is Greeting.POSITION


def _blocks(forms: Forms, entries: Iterable[Entry]) -> bytes:
    return b"".join(forms.block(WriteEvent(entry.stream, entry.seq, entry.message)) for entry in entries)


async def reads_on(delivery: Delivery, send: Send) -> None:
    """A second reader: the view is gone, and its connection is given everything that its stream still gets."""
    position = _POSITIONS.get(delivery, 0)
    while not delivery.wire.gone.is_set():
        session = delivery.host.session(delivery.name)
        if session is None:
            delivery.wire.abort()
            return
        entry = session.window.successor(delivery.stream, position)
        if entry.seq == 0:
            await delivery._sleep(delivery.host.clock() + POLL_MS)
        else:
            await delivery._write(send, delivery.forms.block(WriteEvent(entry.stream, entry.seq, entry.message)))
            position = entry.seq


def replay_alone(host: Host, delivery: Delivery, cursors: tuple[str, ...]) -> HttpResponse | None:
    """A good resumption of a stream that is still read: what is held, and the end; the old view keeps the stream."""
    session, cursor = host.session(delivery.name), parse_cursor(cursors)
    if session is None or not isinstance(granted := decide_cursor(session, cursor), Reattach):
        return None
    stream = find_stream(session, granted.stream)
    if not is_viewed(stream):
        return None
    greeting = delivery.forms.block(WriteGreeting(Greeting.POSITION, granted.stream, granted.position))
    delivery.discard()
    body = greeting + _blocks(delivery.forms, suffix(session.window, granted.stream, granted.position))
    return HttpResponse(body, media_type="text/event-stream")


# Bad cursors


@frozen
class OpenAndSilent:
    """200, an event stream, nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": EVENT_STREAM_HEADERS})
        await NeverAnswered()(scope, receive, send)


@frozen
class NeverAnswered:
    """Nothing at all, as long as the connection lasts."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


def is_about_cursor(refused: Refuse) -> bool:
    """Whether the cursor is what was refused."""
    return refused.reason.value.startswith("cursor-")


def nothing_and_the_end() -> HttpResponse:
    """200, an event stream, and its end."""
    return HttpResponse(b"", media_type="text/event-stream")


def crash() -> HttpResponse:
    """What is left of an exception."""
    return HttpResponse("Internal Server Error", status_code=500)


def plain_text(refused: Refuse) -> HttpResponse:
    """A refusal that no program can read."""
    return HttpResponse(refused.reason.value, status_code=400, media_type="text/plain")


def end_the_process() -> None:
    """A crash that takes the server along."""
    os._exit(70)


# Sessions that share what they should not


def owner_of(host: Host, name: str, cursors: tuple[str, ...]) -> str:
    """The session whose tag a cursor has, whoever asks."""
    tag = parse_cursor(cursors).tag
    return next((other for other in host.session_names if _tag(host, other) == tag), name)


def _tag(host: Host, name: str) -> str:
    session = host.session(name)
    return "" if session is None else session.tag


_BURIED: dict[str, tuple[Session, Forms]] = {}


def bury(host: Host, guest: Guest) -> None:
    """Keep what a session holds beyond its end."""
    session = host.session(guest.name)
    if session is not None:
        _BURIED[session.tag] = (session, Forms(session.tag, guest.revision, False, host.policy.retry_ms))


def ghost(cursors: tuple[str, ...]) -> HttpResponse | None:
    """What a session that was terminated held after a cursor."""
    cursor = parse_cursor(cursors)
    if cursor.presence is not Presence.PRESENT or cursor.tag not in _BURIED:
        return None
    session, forms = _BURIED[cursor.tag]
    return HttpResponse(
        _blocks(forms, suffix(session.window, cursor.stream, cursor.seq)), media_type="text/event-stream"
    )


def evict_anywhere(host: Host) -> None:
    """Bound the events of the whole process instead of each session's: the oldest of any session goes."""
    while True:
        held = [
            (session.window.held[0].at, name)
            for name in host.session_names
            if (session := host.session(name)) is not None and session.window.held
            for _ in session.window.held
        ]
        if len(held) <= PROCESS_EVENTS:
            return
        _, name = min(held)
        session = host.session(name)
        assert session is not None
        changed = evolve(session, window=without_oldest(session.window))
        host._server = evolve(host._server, sessions={**host._server.sessions, name: changed})


def without_oldest(window: Window) -> Window:
    """The window with one event less."""
    return window.trimmed(window.held[1].seq if len(window.held) > 1 else window.next)


def with_row(policy: Policy, window: Window) -> Window:
    """The window with a row that is no event and counts as one."""
    counted = evolve(window, count=window.count + 1)
    return counted.trimmed(counted.first_counted(counted.count + 1 - policy.window_events))


# Messages that go astray


def is_notification(message: Mapping[str, Json]) -> bool:
    """Whether a message is a notification."""
    return "method" in message


def whichever(guest: Guest, stream: int) -> int:
    """A stream of some running call of the session: whichever consumer is there first."""
    session = guest.host.session(guest.name)
    if session is None:
        return stream
    running = [each.number for each in session.streams if each.kind is StreamKind.REQUEST and not each.finished]
    return running[session.window.next % len(running)] if running else stream


def listens(guest: Guest) -> bool:
    """Whether the standalone stream of the session is being read."""
    session = guest.host.session(guest.name)
    return session is not None and is_viewed(find_stream(session, session.standalone))
