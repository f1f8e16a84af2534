"""What is done to a store: steps, and the histories that the contract is made of.

The same histories are run on Python stores by ``contract`` and published for other languages as the vectors of kind
``store``. None of them says what is expected; the machine does (``model``).
"""

from collections.abc import Iterable
from enum import Enum
from typing import TypeAlias

from attrs import evolve, field, frozen

STANDALONE = "_GET_stream"
"""The name that the SDKs have for the stream of a plain GET, in every session."""
CALL, OTHER_CALL = "1", "2"
"""Names that the Python SDK has for the streams of two calls: their JSON-RPC ids, which every client counts anew."""
ODD_NAMES = (STANDALONE, "1_1", "1.1", "1:1", "1/1", "__proto__", "é", "1\n1")
"""Names of streams, most of which a client may choose, that are hard on a store which puts them into its ids."""
BURST = 60
"""Events of one millisecond: nobody gets so many into their order by luck."""
YEAR_2027_MS = 1_800_000_000_000
"""What ``at`` counts from, where the store's clock is set: milliseconds since 1970."""


class Of(Enum):
    """What a store's bound is a bound of."""

    SESSION = "session"
    STREAM = "stream"


@frozen
class Bounds:
    """What a store declares: at most ``window_events`` messages, none older than ``window_ms``; None: no such bound."""

    window_events: int | None = None
    of: Of = Of.STREAM
    window_ms: int | None = None


UNDECLARED = Bounds()


@frozen
class Store:
    """A message, or priming, is stored on a stream of a session. It is the history's next event, the first is 1."""

    stream: str = CALL
    session: int = 1
    priming: bool = False
    at: int = 0
    """Milliseconds of the store's clock."""


@frozen
class Forged:
    """A text that was never given as an id: an event's id (event 0: none) with something before and behind it."""

    event: int = 0
    before: str = ""
    then: str = ""


@frozen
class Replay:
    """What comes after an event, or after a text that names none, is asked for in a session."""

    after: int | Forged
    session: int = 1
    at: int = 0
    meanwhile: tuple[Store, ...] = field(default=())
    """Stored while the first message of the replay is being sent."""


Step: TypeAlias = Store | Replay


def turns(events: int, *streams: str, at: int = 0) -> tuple[Store, ...]:
    """So many messages, on these streams in turn."""
    return tuple(Store(streams[place % len(streams)], at=at) for place in range(events))


def spread(*steps: Step) -> tuple[Step, ...]:
    """The same steps, a millisecond between each and the next."""
    return tuple(evolve(given, at=place) for place, given in enumerate(steps, 1))


def after_each(events: Iterable[int], session: int = 1, at: int = 0) -> tuple[Replay, ...]:
    """A replay after each of these events."""
    return tuple(Replay(event, session, at) for event in events)


def interleaved(first: str = CALL, second: str = OTHER_CALL) -> tuple[Step, ...]:
    """Two streams in turns that are not even, and a replay after every event."""
    stores = (*turns(2, first), *turns(3, second, first), Store(second), *turns(2, first))
    return spread(*stores, *after_each(range(1, len(stores) + 1)))


def burst() -> tuple[Step, ...]:
    """Many events in one millisecond; replays from the beginning, the middle and the end."""
    return (*turns(BURST, CALL), *after_each((1, BURST // 2, BURST - 1)))


def clock_set_back() -> tuple[Step, ...]:
    """The store's clock is set back between two events."""
    return (
        Store(CALL, at=5_000),
        Store(CALL, at=5_001),
        Store(CALL, at=1),
        Store(CALL, at=2),
        *after_each(range(1, 5)),
    )


def caught_up() -> tuple[Step, ...]:
    """After each event it is asked for what follows it, when it is the newest."""
    return spread(*(step for event in range(1, 4) for step in (Store(CALL), Replay(event))))


def sessions(*streams: str) -> tuple[Step, ...]:
    """Two sessions that use the same names, as the clients and the SDKs do; each resumes with cursors of its own."""
    stores = tuple(Store(stream, session) for _ in range(2) for stream in streams for session in (1, 2))
    own = [(event, stored.session) for event, stored in enumerate(stores, 1)]
    return spread(*stores, *(Replay(event, session) for event, session in own))


def foreign(stream: str = CALL) -> tuple[Step, ...]:
    """A session comes with the cursor of another, on a stream that both have, and on one that it does not have."""
    return spread(*turns(2, stream), *turns(2, OTHER_CALL), Store(stream, 2), Replay(1, 2), Replay(3, 2))


FORGED = (
    *(Forged(0, text) for text in ("x", "null", "0", "-1", "9" * 40, STANDALONE)),
    *(Forged(2, before) for before in ("+", "0", "0_", "\u0660", '"')),
    *(Forged(2, then=then) for then in (" 0", "_0", ".0", "-0", "%00")),
)
"""Texts that look like ids, to a parser that is not strict."""


def unknown(forged: Iterable[Forged] = FORGED) -> tuple[Step, ...]:
    """Cursors that the store never gave, while there is much that it could send."""
    return spread(*turns(4, CALL), *(Replay(text) for text in forged))


def priming(stream: str = CALL) -> tuple[Step, ...]:
    """Priming at the beginning, where a resumed view begins, and at the end, each a cursor; none of it is a message."""
    stores = (Store(stream, priming=True), *turns(2, stream), Store(stream, priming=True), Store(stream))
    return spread(*stores, Store(stream, priming=True), *after_each(range(1, 7)))


def full(bounds: Bounds) -> tuple[Step, ...]:
    """As many messages as there is room for, with priming in between: nothing has to leave."""
    room = bounds.window_events or 0
    primings = tuple(Store(CALL, priming=True) for _ in range(room))
    return spread(Store(CALL), *primings, *turns(room - 1, CALL), *primings, Replay(1))


def overflowing(bounds: Bounds, *streams: str) -> tuple[Step, ...]:
    """More messages than there is room for; cursors at each side of each boundary."""
    room = bounds.window_events or 0
    events = len(streams) * (room + 3)
    mark = events - room * (len(streams) if bounds.of is Of.STREAM else 1)
    near = {1, 2, *range(mark - 2, mark + 3), events - 1, events}
    return spread(*turns(events, *streams), *after_each(sorted(event for event in near if 1 <= event <= events)))


def ageing(bounds: Bounds) -> tuple[Step, ...]:
    """A message in each of four milliseconds; cursors while all are held, and once the oldest have to leave."""
    first, age = spread(*turns(4, CALL)), bounds.window_ms or 0
    return (*first, *(each for late in (1, 2, 4) for each in after_each(range(1, 5), at=age + late)))


def beside() -> tuple[Step, ...]:
    """Messages are stored while a replay is under way."""
    meanwhile = (Store(CALL, at=6), Store(OTHER_CALL, at=7), Store(CALL, at=8))
    return (*spread(*turns(4, CALL)), Replay(1, at=5, meanwhile=meanwhile), Replay(1, at=9))


def pushed_out(bounds: Bounds) -> tuple[Step, ...]:
    """What a replay has still to send is pushed out while it is under way."""
    room = bounds.window_events or 0
    meanwhile = tuple(Store(CALL, at=room + place) for place in range(2, 2 + min(room, 3)))
    return (*spread(*turns(room, CALL)), Replay(1, at=room + 1, meanwhile=meanwhile))
