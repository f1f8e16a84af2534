"""What a store did against what the machine owes: the clauses that are broken, each with its fault.

Nothing is expected here; the expectation comes from ``model``. A store that declares no bound may refuse what it once
held: that is *not observed*, and no finding. What no bound excuses is judged always.
"""

import re
from collections.abc import Iterator
from enum import Enum

from attrs import field, frozen

from reattach.io.plain import plain, plain_json, shorten
from reattach.machine.decision import Reason, Refuse
from reattach.oracle.observation import Json
from reattach.oracle.verdict import Fault
from reattach.stores.model import Model, Owed
from reattach.stores.script import Replay, Store
from reattach.vectors.decisions import CLAUSES

HEADER = re.compile(r"[\x21-\x7e]+")
_IDS = 200
_LISTED = 8


def message_of(event: int) -> Json:
    """The message of an event: notifications, and responses among them."""
    if event % 3 == 0:
        return {"jsonrpc": "2.0", "id": event, "result": {"n": event}}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": event}}


@frozen
class Wrong:
    """A clause that a store breaks in one step."""

    clause: str
    fault: Fault
    summary: str
    step: int = 0
    """Which step of the history it was, from 1."""
    priming: bool = False
    """Whether the step presented the id of priming."""
    at_mark: bool = False
    """Whether the step presented the smallest cursor that is granted, whose own event has left."""


@frozen
class Sent:
    """What a replay did."""

    events: tuple[tuple[object, Json], ...] = ()
    """The id and the message of each event, in the order in which they were sent."""
    stream: object = None
    """What was returned; None, or empty, is no stream, to the SDK's transport too."""
    raised: str = ""
    """The exception that came out, as text."""

    @property
    def refused(self) -> bool:
        """Whether nothing was sent and no stream was named."""
        return not self.events and not self.stream


@frozen
class Ids:
    """The ids that a store gave, by event."""

    given: tuple[object, ...] = ()
    sessions: tuple[int, ...] = field(default=())

    def __getitem__(self, event: int) -> object:
        return self.given[event - 1]

    def event_of(self, event_id: object, session: int) -> int:
        """The event that has an id, of this session if one of it has; 0 if none has."""
        found = [event for event, each in enumerate(self.given, 1) if each == event_id]
        return next((event for event in found if self.sessions[event - 1] == session), found[0] if found else 0)

    def with_next(self, event_id: object, session: int) -> "Ids":
        """And that of the next event."""
        return Ids((*self.given, event_id), (*self.sessions, session))


class Seen(Enum):
    """What a replay was good for."""

    GRANTED = "granted"
    """What was owed, or some of it, was sent."""
    CAUGHT_UP = "caught up"
    """Nothing was owed."""
    REFUSED = "refused"
    """The cursor is one that has to be refused."""
    NOTHING = "nothing"
    """It was refused, where a store with some bound might refuse it."""


def of_store(given: Store, event: int, event_id: object, ids: Ids) -> Iterator[Wrong]:
    """What is wrong with the id of a new event; ``ids`` are those before it."""
    if not isinstance(event_id, str) or not HEADER.fullmatch(event_id):
        yield Wrong("EVT-5", Fault.INVALID_ID, f"event {event} was given the id {shown(event_id)}")
    earlier = ids.event_of(event_id, given.session)
    if earlier and ids.sessions[earlier - 1] == given.session:
        what = f"event {event} was given the id {shown(event_id)}, which event {earlier} has"
        yield Wrong("EVT-1", Fault.ID_NOT_UNIQUE, what)


def seen_of(owed: Owed | Refuse, sent: Sent) -> Seen:
    """What a replay was good for."""
    if isinstance(owed, Refuse):
        return Seen.REFUSED
    if not owed.events:
        return Seen.CAUGHT_UP
    return Seen.NOTHING if sent.refused else Seen.GRANTED


def of_replay(given: Replay, owed: Owed | Refuse, sent: Sent, ids: Ids, model: Model) -> Iterator[Wrong]:
    """What is wrong with a replay."""
    if isinstance(owed, Refuse):
        yield from _refused(given, owed, sent, ids, model)
    elif seen_of(owed, sent) is not Seen.NOTHING or sent.raised or model.bounds.window_events is not None:
        yield from _granted(given, owed, sent, ids, model)


def _refused(given: Replay, owed: Refuse, sent: Sent, ids: Ids, model: Model) -> Iterator[Wrong]:
    clause = CLAUSES[owed.reason]
    if sent.raised:
        yield Wrong("CUR-10", Fault.BAD_CURSOR_CRASH, f"{owed.reason.value}, and the store raised {sent.raised}")
    if sent.refused:
        return
    events = [ids.event_of(event_id, given.session) for event_id, _ in sent.events]
    if isinstance(given.after, int):
        session, _ = model.stream_of(given.after)
        if session != given.session and session in {model.stream_of(event)[0] for event in events if event}:
            what = f"session {given.session} was sent events of session {session}: {_listed(events)}"
            yield Wrong("SES-5", Fault.CROSS_SESSION_LEAK, what)
        if owed.reason is Reason.CURSOR_OUT_OF_WINDOW and tuple(events) == model.stored_after(given.after):
            what = f"all that came after event {given.after} is still held, beyond the declared bound"
            yield Wrong(_bound_of(model, len(events)), Fault.UNBOUNDED_MEMORY, what)
            return
    answer = f"sent {_listed(events)}" if events else "taken for caught up"
    yield Wrong(clause, Fault.BAD_CURSOR_SILENT, f"{owed.reason.value}, and it was {answer}")


def _bound_of(model: Model, events: int) -> str:
    """The clause of the bound that so many events of a stream are beyond."""
    fit = model.bounds.window_events is None or events <= model.bounds.window_events
    return "WIN-2" if fit and model.bounds.window_ms is not None else "WIN-1"


def _granted(given: Replay, owed: Owed, sent: Sent, ids: Ids, model: Model) -> Iterator[Wrong]:
    noted = {"priming": owed.priming, "at_mark": owed.at_mark}
    if sent.refused:
        how = f"the store raised {sent.raised}" if sent.raised else "it was refused"
        what = f"{how}; owed is {_listed(owed.events)}"
        lossless = owed.at_mark or not owed.events
        yield Wrong("CUR-8" if lossless else "CUR-7", Fault.GOOD_CURSOR_REFUSED, what, **noted)
        return
    numbers = []
    for event_id, message in sent.events:
        event = ids.event_of(event_id, given.session)
        if not event:
            what = f"a message came under {shown(event_id)}, which is no event's id"
            yield Wrong("EVT-4", Fault.ID_CHANGED_MEANING, what, **noted)
        elif model.is_priming(event):
            what = f"event {event} is priming, and came with a message: {shorten(plain_json(message), _IDS)}"
            yield Wrong("EVT-4", Fault.ID_CHANGED_MEANING, what, **noted)
        elif message != message_of(event):
            what = f"event {event} came with another message: {shorten(plain_json(message), _IDS)}"
            yield Wrong("EVT-4", Fault.ID_CHANGED_MEANING, what, **noted)
        if event and not model.is_priming(event):
            numbers.append(event)
    yield from _sequence(given, owed, sent, numbers, model, noted)


def _sequence(
    given: Replay, owed: Owed, sent: Sent, numbers: list[int], model: Model, noted: dict[str, bool]
) -> Iterator[Wrong]:
    may = (*owed.events, *owed.later)
    own = [event for event in numbers if model.stream_of(event) == (given.session, owed.stream)]
    others = [event for event in numbers if event not in own]
    if leaked := [event for event in others if model.stream_of(event)[0] != given.session]:
        what = f"session {given.session} was sent events of another session: {_listed(leaked)}"
        yield Wrong("SES-5", Fault.CROSS_SESSION_LEAK, what, **noted)
    if crossed := [event for event in others if model.stream_of(event)[0] == given.session]:
        what = f"stream {shown(owed.stream)} was sent events of another stream: {_listed(crossed)}"
        yield Wrong("DEL-3", Fault.CROSS_STREAM_REPLAY, what, **noted)
    again = [event for event in dict.fromkeys(own) if event not in may or own.count(event) > 1]
    if again:
        what = f"sent again, or at or before the cursor: {_listed(again)}"
        yield Wrong("DEL-1", Fault.DUPLICATE_DELIVERY, what, **noted)
    came = [event for event in dict.fromkeys(own) if event in may]
    until = max((may.index(event) + 1 for event in came), default=0)
    missing = [event for event in may[: max(until, len(owed.events))] if event not in came]
    if missing:
        broke_off = f"; the store raised {sent.raised}" if sent.raised else ""
        yield Wrong("DEL-2", Fault.SILENT_GAP, f"never sent: {_listed(missing)}{broke_off}", **noted)
    if came != sorted(came, key=may.index):
        yield Wrong("DEL-6", Fault.OUT_OF_ORDER, f"sent in this order: {_listed(came)}", **noted)
    if sent.stream != owed.stream and not sent.raised:
        what = f"the stream is {shown(owed.stream)}, and {shown(sent.stream)} was returned: what comes next goes astray"
        yield Wrong("DEL-8", Fault.DEAF_AFTER_RESUME, what, **noted)


def shown(value: object) -> str:
    """An id or a name, short and safe to print."""
    return shorten(plain(repr(value)), _IDS)


def _listed(events: tuple[int, ...] | list[int]) -> str:
    if not events:
        return "nothing"
    some = ", ".join(str(event) if event else "an unknown event" for event in events[:_LISTED])
    more = f" and {len(events) - _LISTED} more" if len(events) > _LISTED else ""
    return f"event{'s' if len(events) > 1 else ''} {some}{more}"
