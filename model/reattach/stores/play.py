"""A history, played on a store that has the Python SDK's interface, and judged step by step against the machine."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any, Protocol
from unittest.mock import patch

from attrs import define, evolve, field

from reattach.io.plain import plain
from reattach.machine.decision import Refuse
from reattach.oracle.observation import Json
from reattach.stores.judge import Ids, Seen, Sent, Wrong, message_of, of_replay, of_store, seen_of, shown
from reattach.stores.model import Model, Owed, Stored
from reattach.stores.schedules import Choices, ScheduledLoop, checkpoint
from reattach.stores.script import YEAR_2027_MS, Replay, Step, Store

LAST_LINES = 12
"""Steps that a finding shows, the wrong one last."""
_NAMED = 6


class EventStore(Protocol):
    """What the suite calls of a store: the interface of ``mcp.server.streamable_http.EventStore``."""

    async def store_event(self, stream_id: str, message: Any) -> str:
        """Keep a message, or priming (None), and give it an id."""

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[Any], Awaitable[None]]
    ) -> str | None:
        """Send what comes after an id on its stream; give the stream, or None for an id that cannot be resumed from."""


StoreOf = Callable[[int], EventStore]
"""The store of a session, by the session's number."""


@define(repr=False)
class Played:
    """A store, what was done to it, and what was seen."""

    store_of: StoreOf
    model: Model
    make_message: Callable[[Json], Any]
    set_clock: Callable[[int], None]
    """Sets the store's clock, to milliseconds since 1970."""
    now: int = YEAR_2027_MS
    ids: Ids = Ids()
    wrongs: list[Wrong] = field(factory=list)
    seen: list[Seen] = field(factory=list)
    lines: list[str] = field(factory=list)

    async def play(self, script: tuple[Step, ...]) -> None:
        """Each step in turn."""
        for given in script:
            self.set_time(YEAR_2027_MS + given.at)
            answer = self.model.take(given)
            if isinstance(given, Store):
                assert isinstance(answer, Stored)
                await self.store(given, answer.event)
            elif (cursor := self._cursor(given)) is not None:
                assert isinstance(answer, Owed | Refuse)
                await self.replay(given, cursor, answer)

    def set_time(self, now: int) -> None:
        """It is ``now`` for the store."""
        self.now = now
        self.set_clock(now)

    async def store(self, given: Store, event: int) -> None:
        """One event; the model has taken it."""
        message = None if given.priming else self.make_message(message_of(event))
        event_id = await self.store_of(given.session).store_event(given.stream, message)
        self.note(given, event, event_id)

    def note(self, given: Store, event: int, event_id: object) -> None:
        """An event has its id."""
        what = "priming" if given.priming else f"message {event}"
        self.lines.append(f"session {given.session}: store {what} on {shown(given.stream)} -> id {shown(event_id)}")
        self._found(of_store(given, event, event_id, self.ids))
        self.ids = self.ids.with_next(event_id, given.session)

    async def replay(self, given: Replay, cursor: str, owed: Owed | Refuse) -> None:
        """One replay; the model has decided it, and taken what is stored meanwhile."""
        first = self.model.stored - len(given.meanwhile) + 1
        meanwhile = [(each, first + place) for place, each in enumerate(given.meanwhile)]

        async def between() -> None:
            while meanwhile:
                each, event = meanwhile.pop(0)
                self.set_time(YEAR_2027_MS + each.at)
                await self.store(each, event)

        sent = await self.sent(given, cursor, between)
        await between()  # if nothing was sent, they come now, so that the numbers are right
        self.judge(given, cursor, owed, sent)

    async def sent(self, given: Replay, cursor: str, between: Callable[[], Awaitable[None]] = checkpoint) -> Sent:
        """What the store sends, with something done after each message."""
        events: list[tuple[object, Json]] = []

        async def send(event: Any) -> None:
            events.append((event.event_id, _to_plain(event.message)))
            await between()

        try:
            stream = await self.store_of(given.session).replay_events_after(cursor, send)
        except Exception as error:  # whatever somebody's store raises, it is the finding
            return Sent(tuple(events), None, plain(f"{type(error).__name__}: {error}"))
        return Sent(tuple(events), stream)

    def judge(self, given: Replay, cursor: str, owed: Owed | Refuse, sent: Sent) -> None:
        """A replay has come to its end."""
        named = [shown(event_id) for event_id, _ in sent.events[:_NAMED]]
        named += [f"{len(sent.events) - _NAMED} more"] if len(sent.events) > _NAMED else []
        outcome = f"raised {sent.raised}" if sent.raised else f"returned {shown(sent.stream)}"
        what = f"sent {', '.join(named) or 'nothing'} and {outcome}"
        self.lines.append(f"session {given.session}: replay after {shown(cursor)} -> {what}")
        self.seen.append(seen_of(owed, sent))
        self._found(of_replay(given, owed, sent, self.ids, self.model))

    def _cursor(self, given: Replay) -> str | None:
        """What is presented; None if a forged one happens to be an id."""
        if isinstance(given.after, int):
            return str(self.ids[given.after])
        forged = given.after
        text = f"{forged.before}{self.ids[forged.event] if forged.event else ''}{forged.then}"
        return None if text in self.ids.given else text

    def _found(self, wrongs: Iterator[Wrong]) -> None:
        self.wrongs += [evolve(wrong, step=len(self.lines)) for wrong in wrongs]

    def transcript(self, step: int) -> list[str]:
        """The steps up to this one."""
        lines = self.lines[max(0, step - LAST_LINES) : step]
        left_out = step - len(lines)
        return [f"... {left_out} steps before", *lines] if left_out else lines


async def beside_stores(
    played: Played, loop: ScheduledLoop, choices: Choices, stores: tuple[Store, ...], after: int
) -> None:
    """A replay after an event, and a task that stores, in one of the orders in which the two may run.

    What was stored when the replay began is owed; what came later may come.
    """
    first, replay = played.model.stored + 1, Replay(after)
    done = began = 0

    async def storing() -> None:
        nonlocal done
        for place, each in enumerate(stores):
            played.set_time(played.now + 1)
            await played.store(each, first + place)
            done += 1
            await checkpoint()

    async def replaying() -> Sent:
        nonlocal began
        began = done
        return await played.sent(replay, str(played.ids[after]))

    sent = (await loop.contend(choices, replaying(), storing()))[0]
    assert sent is not None
    for each in stores[:began]:
        played.model.take(each)
    owed = played.model.take(evolve(replay, meanwhile=stores[began:]))
    assert isinstance(owed, Owed | Refuse)
    played.judge(replay, str(played.ids[after]), owed, sent)


async def side_by_side(
    played: Played, loop: ScheduledLoop, choices: Choices, tasks: int, events: int, after: int
) -> None:
    """Tasks that store on one stream, in one of the orders in which they may run; then a replay of it all.

    What was stored at the same time may be in any order that keeps each task's own; the replay shows which it is.
    """
    given, replay, first = Store(), Replay(after), played.model.stored + 1
    ids: list[list[object]] = [[] for _ in range(tasks)]
    store = played.store_of(given.session)

    async def storing(task: int) -> None:
        for place in range(events):
            message = played.make_message(message_of(first + task * events + place))
            played.set_time(played.now + 1)
            ids[task].append(await store.store_event(given.stream, message))
            await checkpoint()

    await loop.contend(choices, *(storing(task) for task in range(tasks)))
    sent = await played.sent(replay, str(played.ids[after]))
    numbered = {event_id: first + place for place, event_id in enumerate(_in_order(ids, sent))}
    messages = {event_id: message_of(first + place) for place, event_id in enumerate(chain(*ids))}
    for event_id, event in numbered.items():
        played.model.take(given)
        played.note(given, event, event_id)
    as_numbered = tuple(
        (event_id, message_of(numbered[event_id]) if messages.get(event_id) == message else message)
        for event_id, message in sent.events
    )
    owed = played.model.take(replay)
    assert isinstance(owed, Owed | Refuse)
    played.judge(replay, str(played.ids[after]), owed, evolve(sent, events=as_numbered))


def _in_order(ids: list[list[object]], sent: Sent) -> list[object]:
    """The ids as they were sent, if each task's own order is kept, or task by task; what did not come is last."""
    stored = list(chain(*ids))
    came = [event_id for event_id in dict.fromkeys(event_id for event_id, _ in sent.events) if event_id in stored]
    kept = all(sorted(mine, key=own.index) == mine for own in ids if (mine := [each for each in came if each in own]))
    in_order = came if kept else sorted(came, key=stored.index)
    return [*in_order, *(each for each in stored if each not in came)]


def _to_plain(message: Any) -> Json:
    """A message as JSON: one of the SDK's types, or plain already."""
    if hasattr(message, "model_dump"):
        dumped: Json = message.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dumped
    plain_message: Json = message
    return plain_message


@cache
def sdk_messages() -> Callable[[Json], Any]:
    """What makes a message of the installed SDK, of either major version; without it, messages are plain."""
    try:
        from mcp.types import JSONRPCMessage
        from pydantic import TypeAdapter
    except ImportError:
        return lambda message: message
    adapter: Any = TypeAdapter(JSONRPCMessage)
    return lambda message: adapter.validate_python(message)


@contextmanager
def clock_set_by_hand() -> Iterator[Callable[[int], None]]:
    """``time.time`` and ``time.time_ns`` say what they are told, in milliseconds; no other clock is touched."""
    now = [YEAR_2027_MS]
    with (
        patch.object(time, "time", lambda: now[0] / 1_000),
        patch.object(time, "time_ns", lambda: now[0] * 1_000_000),
    ):
        yield lambda ms: now.__setitem__(0, ms)
