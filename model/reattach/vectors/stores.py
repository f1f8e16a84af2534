"""Vectors of the event store: what is stored and asked for in, what is owed out (spec/03-delivery.md).

The histories are those of ``reattach.stores.script``, which the contract in Python plays too.
"""

from collections.abc import Iterator

from attrs import asdict

from reattach.machine.decision import Refuse
from reattach.stores import script
from reattach.stores.model import Answer, Model, Owed, Stored
from reattach.stores.script import CALL, ODD_NAMES, OTHER_CALL, STANDALONE, Bounds, Forged, Of, Replay, Step, Store
from reattach.vectors.vector import EXPECT, Case, Kind, Plain

ABOUT = """\
# Vectors of the event store

For whatever keeps the events between a session and its cursors, with two operations: *store* an event on a stream and
give it an id; *replay* what comes after an id. The SDKs call it `EventStore`. The ids are the store's own: the vectors
count events, from 1 in the order in which they are stored, and a runner keeps the id that was given to each.

| field | meaning |
|---|---|
| `bounds` | only where the store has to declare some: a store without such bounds is not observed here |
| `….window_events`, `.of` | at most so many messages are held, in each `stream` or in each `session` |
| `….window_ms` | none older is held |
| `named_by` | `client`: a client may choose such a name for a stream. Leave it out where the SDK names streams itself |
| `steps` | in order; `at` is the time in milliseconds, also where it is set back: set the store's clock |
| `….session` | the number of the session: each is given what the deployment gives it, its own store or one for all |
| `do: store` | an event on `stream`, with a message that differs from all others; with `priming` it has none |
| `….expect.event` | its number. Its id is new in the session, not empty, and of characters from 0x21 to 0x7E |
| `do: replay` | what comes after `after`, an event's number or a text: the id of `event`, between `before` and `then` |
| `….meanwhile` | stored, with the next numbers, while the first message is being sent; afterwards, if none is |
| `….expect.decision` | `re-attach`: it sends `events`, each once, in order, as they were stored; it names `stream` |
| `….expect.later` | what may be sent after `events`, from its beginning on |
| `….expect.decision` | `refuse`: it sends nothing, and names no stream; `reason` as in the vectors of the decision |

In a text, `event` 0 has no id, and stands for nothing.

Where a replay is refused, the SDK's transport has to learn of it, or its client never will: in Python by `None`, in
TypeScript by a `getStreamIdForEventId` that gives `undefined`. A store that cannot say so fails there.
"""

_SMALL = 3
_AGE_MS = 100


def cases() -> tuple[Case, ...]:
    """Every history of the contract, for a store without bounds and for stores with small ones."""
    return (*_free(), *_names(), *_bounded())


def answered(question: Plain) -> Plain:
    """What the machine's own store owes after each step."""
    model = Model(_bounds_from(question.get("bounds", {})))
    steps = [{**plain, EXPECT: _to_plain(model.take(_step_from(plain)))} for plain in question["steps"]]
    return {**question, "steps": steps}


def _to_plain(answer: Answer) -> Plain:
    match answer:
        case Stored(event):
            return {"event": event}
        case Owed(stream, events, later):
            return {"decision": "re-attach", "stream": stream, "events": list(events), "later": list(later)}
        case Refuse(reason):
            return {"decision": "refuse", "reason": reason.value}


def _step_to_plain(given: Step) -> Plain:
    if isinstance(given, Store):
        return {"do": "store", **_stored_to_plain(given)}
    after = given.after if isinstance(given.after, int) else asdict(given.after)
    plain: Plain = {"do": "replay", "at": given.at, "session": given.session, "after": after}
    return plain | ({"meanwhile": [_stored_to_plain(each) for each in given.meanwhile]} if given.meanwhile else {})


def _stored_to_plain(given: Store) -> Plain:
    return {"at": given.at, "session": given.session, "stream": given.stream} | (
        {"priming": True} if given.priming else {}
    )


def _step_from(plain: Plain) -> Step:
    if plain["do"] == "store":
        return _stored_from(plain)
    after = plain["after"] if isinstance(plain["after"], int) else Forged(**plain["after"])
    meanwhile = tuple(_stored_from(each) for each in plain.get("meanwhile", ()))
    return Replay(after, plain["session"], plain["at"], meanwhile)


def _stored_from(plain: Plain) -> Store:
    return Store(plain["stream"], plain["session"], plain.get("priming", False), plain["at"])


def _bounds_from(plain: Plain) -> Bounds:
    of = {"of": Of(plain["of"])} if "of" in plain else {}
    return Bounds(plain.get("window_events"), window_ms=plain.get("window_ms"), **of)


def _bounds_to_plain(bounds: Bounds) -> Plain:
    if bounds.window_events is None:
        return {"window_ms": bounds.window_ms}
    return {"window_events": bounds.window_events, "of": bounds.of.value}


def _case(
    name: str, tests: str, clauses: str, steps: tuple[Step, ...], bounds: Bounds | None = None, named_by: str = ""
) -> Case:
    declared = {} if bounds is None else {"bounds": _bounds_to_plain(bounds)}
    named = {"named_by": named_by} if named_by else {}
    question = {**declared, **named, "steps": [_step_to_plain(given) for given in steps]}
    return Case(name, f"{tests[0].upper()}{tests[1:]}.", tuple(clauses.split()), question)


def _free() -> Iterator[Case]:
    one = script.spread(*script.turns(3, CALL), *script.after_each(range(1, 4)))
    empty = script.spread(Store(CALL, priming=True), Replay(1))
    listening = script.spread(*script.turns(3, STANDALONE), *script.after_each(range(1, 4)))
    texts = [each for each in script.FORGED if not each.event]
    changed = [each for each in script.FORGED if each.event]
    yield _case("caught-up", "the newest event is a cursor, and nothing comes after it", "CUR-8", script.caught_up())
    yield _case("one-stream", "after each event, those later", "CUR-7 DEL-1 DEL-2 DEL-6", one)
    yield _case("two-streams", "after each event, those later on its stream alone", "DEL-2 DEL-3", script.interleaved())
    yield _case("the-standalone-stream", "the stream of a GET, by its usual name", "CUR-7 DEL-8", listening)
    yield _case("one-millisecond", "the order of a burst", "DEL-6", script.burst())
    yield _case("a-clock-that-is-set-back", "the order is not the clock's", "DEL-6", script.clock_set_back())
    for name, stream in (("two-sessions", CALL), ("two-sessions-that-listen", STANDALONE)):
        steps = script.sessions(stream)
        yield _case(name, "the same name in two sessions, each with its own cursors", "SES-5", steps)
    yield _case("another-sessions-cursor", "a cursor of another session", "CUR-3 SES-5", script.foreign())
    yield _case("never-an-id", "texts that never were an id", "CUR-2", script.unknown(texts))
    yield _case("a-changed-id", "ids to which something was added", "CUR-2 CUR-3", script.unknown(changed))
    yield _case("only-priming", "priming alone is a cursor", "CUR-8 EVT-3", empty)
    yield _case("priming", "priming is a cursor everywhere, and never a message", "CUR-7 EVT-4 EVT-6", script.priming())
    yield _case("stored-meanwhile", "what is stored while a replay is under way", "DEL-2 DEL-6", script.beside())


def _names() -> Iterator[Case]:
    for number, name in enumerate((name for name in ODD_NAMES if name != STANDALONE), 1):
        steps = script.spread(*script.turns(3, name, CALL), *script.after_each(range(1, 4)))
        yield _case(f"a-clients-name-{number}", f"a stream named {name!a}", "CUR-7 DEL-3", steps, named_by="client")


def _bounded() -> Iterator[Case]:
    for of in Of:
        bounds = Bounds(_SMALL, of)
        for streams, told in (((CALL,), "one stream"), ((CALL, OTHER_CALL), "two streams")):
            name = f"a-bound-of-a-{of.value}-{told.replace(' ', '-')}"
            tests = f"at most {_SMALL} events of a {of.value}, in {told}"
            yield _case(name, tests, "WIN-1 CUR-4 CUR-7 CUR-8", script.overflowing(bounds, *streams), bounds)
        full, moves_on = script.full(bounds), script.pushed_out(bounds)
        name, tests = f"priming-in-a-full-{of.value}", "priming takes no room and pushes nothing out"
        yield _case(name, tests, "WIN-5", full, bounds)
        name, tests = f"replay-in-a-full-{of.value}", "the window moves on while a replay is under way"
        yield _case(name, tests, "WIN-6", moves_on, bounds)
    bounds = Bounds(window_ms=_AGE_MS)
    yield _case("an-age", f"none older than {_AGE_MS} ms", "WIN-2 CUR-4 CUR-8", script.ageing(bounds), bounds)


STORE = Kind("store", ABOUT, cases, answered)
