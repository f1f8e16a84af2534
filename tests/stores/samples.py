"""Event stores to try the contract on: one that keeps it, and for each of its tests one that does not.

They have the interface of the Python SDK and need nothing of it; an event is sent as ``Event``.
"""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

from attrs import define, evolve, field, frozen

Send = Callable[["Event"], Awaitable[None]]


@frozen
class Event:
    """What is sent: the SDK's ``EventMessage``."""

    message: Any
    event_id: str


@frozen
class Held:
    """A message as the store holds it."""

    seq: int
    event_id: str
    message: Any
    at: float


@define
class Stream:
    """The messages of a stream that are held, and where its ids stand."""

    held: list[Held] = field(factory=list)
    last: int = 0
    positions: dict[str, int] = field(factory=dict)

    @property
    def mark(self) -> int:
        """The smallest position from which nothing is missing."""
        return self.held[0].seq - 1 if self.held else self.last


@define
class RightStore:
    """The events of one session. An id stands for a position, and is known while nothing after it has left."""

    room: int | None = None
    age_ms: int | None = None
    tags: Any = field(factory=itertools.count)
    tag: int = -1
    streams: dict[str, Stream] = field(factory=dict)
    given: int = 0

    def of_session(self, session: str) -> "RightStore":
        """A store that no other session has."""
        return type(self)(self.room, self.age_ms, self.tags, next(self.tags))

    async def store_event(self, stream_id: str, message: Any) -> str:
        """Keep an event under a new id, and return the id."""
        stream = self.streams.setdefault(stream_id, Stream())
        event_id = self.new_id(stream_id)
        if message is not None:
            stream.last += 1
            stream.held.append(Held(stream.last, event_id, message, time.time()))
        stream.positions[event_id] = stream.last
        self.trim(stream)
        return event_id

    async def replay_events_after(self, last_event_id: str, send: Send) -> str | None:
        """Send what the stream of an id holds after it; None for an id that cannot be resumed from."""
        name = self.stream_of(last_event_id)
        if name is None:
            return None
        for each in self.after(self.streams[name], self.position_of(last_event_id, name)):
            await send(Event(each.message, each.event_id))
        return name

    def position_of(self, event_id: str, name: str) -> int:
        """Where a known id stands on its stream."""
        return self.streams[name].positions[event_id]

    def new_id(self, stream_id: str) -> str:
        self.given += 1
        return f"s{self.tag}-{self.given}"

    def after(self, stream: Stream, position: int) -> list[Held]:
        return [each for each in stream.held if each.seq > position]

    def stream_of(self, event_id: str) -> str | None:
        for name, stream in self.streams.items():
            self.trim(stream)
            if event_id in stream.positions:
                return name
        return None

    def trim(self, stream: Stream) -> None:
        """Let go what has no room or is too old, and the ids from which something is then missing."""
        if self.room is not None:
            del stream.held[: max(0, len(stream.held) - self.room)]
        if self.age_ms is not None:
            oldest = time.time() - self.age_ms / 1_000
            stream.held = [each for each in stream.held if each.at >= oldest]
        stream.positions = {each: at for each, at in stream.positions.items() if at >= stream.mark}


class SameIds(RightStore):
    """An id says how far its stream is, and not which stream."""

    def new_id(self, stream_id: str) -> str:
        return f"s{self.tag}-{self.streams[stream_id].last}"


class NamesInIds(RightStore):
    """Puts the stream's name, which a client chooses, into the id."""

    def new_id(self, stream_id: str) -> str:
        return f"{stream_id}-{super().new_id(stream_id)}"


class SplitsIds(RightStore):
    """Takes the stream's name out of the id, up to the first separator, which a name may hold too."""

    def new_id(self, stream_id: str) -> str:
        return f"{quote(stream_id)}_{super().new_id(stream_id)}"

    def stream_of(self, event_id: str) -> str | None:
        name = unquote(event_id.split("_")[0])
        return name if super().stream_of(event_id) == name else None


class LastMessage(RightStore):
    """Holds the newest message under every id."""

    def after(self, stream: Stream, position: int) -> list[Held]:
        return [evolve(each, message=stream.held[-1].message) for each in super().after(stream, position)]


class Inclusive(RightStore):
    """Sends the event of the cursor again."""

    def after(self, stream: Stream, position: int) -> list[Held]:
        return [each for each in stream.held if each.seq >= position]


class Skips(RightStore):
    """Leaves out the event after the cursor, unless it is the newest."""

    def after(self, stream: Stream, position: int) -> list[Held]:
        held = super().after(stream, position)
        return held[1:] or held


class AllStreams(RightStore):
    """Sends the events of the other streams too."""

    def after(self, stream: Stream, position: int) -> list[Held]:
        others = [each for other in self.streams.values() if other is not stream for each in other.held]
        return [*super().after(stream, position), *others]


class Backwards(RightStore):
    """Sends the newest first."""

    def after(self, stream: Stream, position: int) -> list[Held]:
        return super().after(stream, position)[::-1]


class ByTheClock(RightStore):
    """Orders by the clock, and what has the same time by chance, here by the digest of its id."""

    def after(self, stream: Stream, position: int) -> list[Held]:
        by_chance = {each.seq: sha256(each.event_id.encode()).digest() for each in stream.held}
        return sorted(super().after(stream, position), key=lambda each: (each.at, by_chance[each.seq]))


class Unnamed(RightStore):
    """Returns the cursor where the name of the stream belongs."""

    async def replay_events_after(self, last_event_id: str, send: Send) -> str | None:
        return await super().replay_events_after(last_event_id, send) and last_event_id


class NothingAfter(RightStore):
    """Says of a caught-up cursor that there is none."""

    def stream_of(self, event_id: str) -> str | None:
        name = super().stream_of(event_id)
        return name if name is not None and self.after(self.streams[name], self.position_of(event_id, name)) else None


class Shared(RightStore):
    """One for all sessions, as the SDK's examples have it."""

    def of_session(self, session: str) -> RightStore:
        return self


class SameTag(RightStore):
    """Its ids begin anew with each session."""

    def new_id(self, stream_id: str) -> str:
        self.given += 1
        return f"id-{self.given}"


class Lenient(RightStore):
    """Reads an id as leniently as ``int`` reads a number."""

    def stream_of(self, event_id: str) -> str | None:
        return super().stream_of(event_id.strip('+0_"\u0660') if event_id[0] in '+0_"\u0660' else event_id)

    def position_of(self, event_id: str, name: str) -> int:
        return super().position_of(event_id.strip('+0_"\u0660') if event_id[0] in '+0_"\u0660' else event_id, name)


class FromTheStart(RightStore):
    """Sends all that the session has to whom it does not know, unless it ever let something go."""

    def stream_of(self, event_id: str) -> str | None:
        unknown = next(iter(self.streams), None) if event_id.count("-") != 1 else None
        return super().stream_of(event_id) or unknown

    def position_of(self, event_id: str, name: str) -> int:
        return self.streams[name].positions.get(event_id, 0)


class Raises(RightStore):
    """Raises what its dictionary raises, of an id that is in another form than its own."""

    def stream_of(self, event_id: str) -> str | None:
        tag, number = event_id.split("-")
        return super().stream_of(f"{tag}-{number}")


class SendsPriming(RightStore):
    """Sends priming again, as a message that is empty."""

    def after(self, stream: Stream, position: int) -> list[Held]:
        held = super().after(stream, position)
        later = [each for each, at in stream.positions.items() if at > position and each not in self.messages(stream)]
        return [*held, *(Held(stream.last, each, None, 0) for each in later)]

    def messages(self, stream: Stream) -> set[str]:
        return {each.event_id for each in stream.held}


class PrimingIsNoCursor(RightStore):
    """Gives priming an id, and does not remember it."""

    async def store_event(self, stream_id: str, message: Any) -> str:
        event_id = await super().store_event(stream_id, message)
        if message is None:
            del self.streams[stream_id].positions[event_id]
        return event_id


class Unbounded(RightStore):
    """Declares a bound and keeps everything."""

    def trim(self, stream: Stream) -> None:
        pass


class StillKnown(RightStore):
    """Knows the ids of events that have left, and sends what is left."""

    def trim(self, stream: Stream) -> None:
        known = dict(stream.positions)
        super().trim(stream)
        stream.positions = known


class TooFew(RightStore):
    """Keeps fewer events than it declares."""

    def trim(self, stream: Stream) -> None:
        if self.room is not None:
            del stream.held[: max(0, len(stream.held) - self.room + 2)]
        super().trim(stream)


class ForgetsTheMark(RightStore):
    """Forgets an id with its event, though nothing after it is missing yet."""

    def trim(self, stream: Stream) -> None:
        super().trim(stream)
        if stream.mark > 0:
            stream.positions = {each: at for each, at in stream.positions.items() if at > stream.mark}


class PrimingTakesRoom(RightStore):
    """Holds priming as if it were a message, and lets messages go for it."""

    async def store_event(self, stream_id: str, message: Any) -> str:
        event_id = await super().store_event(stream_id, message)
        stream = self.streams[stream_id]
        if message is None and self.room is not None and len(stream.held) + self.primings(stream) > self.room:
            del stream.held[:1]
            super().trim(stream)
        return event_id

    def primings(self, stream: Stream) -> int:
        return len(stream.positions) - len(stream.held)


class Ageless(RightStore):
    """Declares an age and lets nothing go for it."""

    def trim(self, stream: Stream) -> None:
        age_ms, self.age_ms = self.age_ms, None
        super().trim(stream)
        self.age_ms = age_ms


class Iterates(RightStore):
    """Goes through what it holds while it sends, as if nothing could be stored meanwhile."""

    async def replay_events_after(self, last_event_id: str, send: Send) -> str | None:
        name = self.stream_of(last_event_id)
        if name is None:
            return None
        held = deque(self.streams[name].held)
        for each in held:
            if each.seq > self.position_of(last_event_id, name):
                await send(Event(each.message, each.event_id))
                held.extend(new for new in self.streams[name].held if new.seq > held[-1].seq)
        return name


class LooksUpLate(RightStore):
    """Lists what is to be sent first, and looks each event up when its turn comes: some have left by then."""

    async def replay_events_after(self, last_event_id: str, send: Send) -> str | None:
        name = self.stream_of(last_event_id)
        if name is None:
            return None
        stream = self.streams[name]
        for each in self.after(stream, self.position_of(last_event_id, name)):
            if each in stream.held:
                await send(Event(each.message, each.event_id))
        return name


class ReadsThenWrites(RightStore):
    """Reads the stream, waits as for a database, and writes it back: of two at the same time one is lost."""

    async def store_event(self, stream_id: str, message: Any) -> str:
        before = list(self.streams[stream_id].held) if stream_id in self.streams else []
        await asyncio.sleep(0)
        event_id = await super().store_event(stream_id, message)
        stream = self.streams[stream_id]
        stream.held = [each for each in stream.held if each in before or each.event_id == event_id]
        return event_id


class ForgetsAStream(RightStore):
    """Works for two streams; a third begins anew whenever another was written to."""

    written = ""

    async def store_event(self, stream_id: str, message: Any) -> str:
        if len(self.streams) > 2 and self.written != stream_id:
            self.streams[stream_id] = Stream()
        self.written = stream_id
        return await super().store_event(stream_id, message)


class RoomForAll(RightStore):
    """One bound for all streams of the session."""

    def trim(self, stream: Stream) -> None:
        room, self.room = self.room, None
        held = sorted(self.number(each) for other in self.streams.values() for each in other.held)
        gone = held[: max(0, len(held) - (room or len(held)))]
        for other in self.streams.values():
            other.held = [each for each in other.held if self.number(each) not in gone]
            super().trim(other)
        self.room = room

    def number(self, held: Held) -> int:
        """Which of the session's events it is."""
        return int(held.event_id.split("-")[1])


class RefusesAll(RightStore):
    """Grants nothing, and says so."""

    def stream_of(self, event_id: str) -> str | None:
        return None


class Hangs(RightStore):
    """Never comes back from a replay."""

    async def replay_events_after(self, last_event_id: str, send: Send) -> str | None:
        await asyncio.Event().wait()
        return None
