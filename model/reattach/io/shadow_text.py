"""What the reference machine says beside an exchange, in words."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from attrs import evolve, frozen

from reattach.machine.session import Greeting
from reattach.machine.transition import NoView, WriteEnd, WriteEvent, WriteGreeting, WriteOvertaken, Written
from reattach.oracle.message import message_key
from reattach.oracle.observation import Closed, Frame, Observation, Party, Request
from reattach.oracle.shadow import Shadow

_RUN = 4
"""More messages than this in a row that fared alike are shown by their first and last."""


@frozen
class Fared:
    """A message that the machine holds, and what became of it; or several in a row, left out."""

    key: str
    """What names it, in words."""
    id: str
    """Its event id, shortened as elsewhere in the exchange; empty if the exchange does not show it."""
    where: str
    """On which connections it was delivered; empty if the exchange does not show it delivered."""
    missing: bool
    """Whether it is known that it was not delivered where it should have been."""


def facts(
    shadow: Shadow, seen: Observation, letters: Mapping[int, str], *, wrong: bool = False
) -> tuple[tuple[str, str], ...]:
    """What the machine says once ``seen`` was observed, as terms and their words. ``letters`` name the connections.

    Only of the first wrong thing it is sure that the exchange shows what came directly before it on the connection.
    """
    told = [("its cursor", _given(shadow, letters))] if shadow.resumes else []
    if shadow.gone or shadow.refusal is not None:
        # Of the wrong thing this is said apart (``right``).
        return (*told, *([] if wrong else [("the model", _refuses(shadow))]))
    told.append(("stream", _stream(shadow, letters)))
    if shadow.position is not None:
        after = f"after {_name(shadow.position)}" if shadow.position else "at the start of the stream"
        told.append(("the view stood", after))
    if not wrong and _is_beyond(shadow, seen):
        told.append(("between them", "messages that the exchange leaves out"))
    elif shadow.asked:
        writes = ", then ".join(_write(each, shadow, letters) for each in shadow.writes)
        told.append((f"the model {_verb(seen)}", writes))
    return tuple(told)


def right(shadow: Shadow | None, wrong: Observation, letters: Mapping[int, str]) -> str:
    """What the machine does where the server did wrong; empty if it does not know."""
    if shadow is None or not shadow.asked:
        return ""
    if shadow.gone or shadow.refusal is not None:
        return _refuses(shadow)
    if isinstance(wrong, Frame) and shadow.writes and _is_same(shadow.writes[0], wrong):
        same = _write(shadow.writes[0], shadow, letters)
        return f"writes {same} too: not what came is wrong, but when or how it came"
    first = next((n for n, each in enumerate(shadow.writes, 1) if not isinstance(each, WriteGreeting)), 0)
    return "writes " + ", then ".join(_write(each, shadow, letters) for each in shadow.writes[:first])


def fared(
    shadow: Shadow, letters: Mapping[int, str], ids: Mapping[str, str], *, wrong: bool = False
) -> tuple[Fared, ...]:
    """The messages of the stream that are known to be emitted. ``ids`` has shortened event ids; ``wrong`` as above."""
    keys = [known.key for known in shadow.held]
    position = keys.index(shadow.position) if shadow.position in keys else -1
    messages = [
        Fared(
            key=_name(known.key),
            id=ids.get(known.id or "", known.id or ""),
            where=_listed([letters[connection] for connection in known.connections if connection in letters]),
            missing=wrong and place > position and not known.connections,
        )
        for place, known in enumerate(shadow.held)
    ]
    shown: list[Fared] = []
    for _, group in groupby(messages, key=lambda each: (each.where, each.missing)):
        run = list(group)
        if len(run) > _RUN:
            run = [run[0], evolve(run[0], key=f"{len(run) - 2} more", id=""), run[-1]]
        shown += run
    return tuple(shown)


def owed(shadow: Shadow) -> str:
    """How many messages are still to be sent; empty if none is known to be."""
    return f"{shadow.owed} more to be sent by the call" if shadow.owed else ""


def _is_beyond(shadow: Shadow, seen: Observation) -> bool:
    """Whether a message came that is not the one which follows the last that the exchange shows."""
    first = next((each for each in shadow.writes if isinstance(each, WriteEvent)), None)
    return isinstance(seen, Frame) and seen.has_data and first is not None and not _is_same(first, seen)


def _verb(seen: Observation) -> str:
    if isinstance(seen, Request):
        return "answers with a view, and writes"
    cut = isinstance(seen, Closed) and seen.by is not Party.SERVER
    return "would have written next" if cut else "writes next"


def _stream(shadow: Shadow, letters: Mapping[int, str]) -> str:
    if shadow.standalone:
        return "a standalone stream"
    if shadow.call is not None and shadow.call in letters:
        return f"of the call made on {letters[shadow.call]}"
    return "none yet" if shadow.asked else "not shown by this exchange"


def _given(shadow: Shadow, letters: Mapping[int, str]) -> str:
    if shadow.given is None:
        return "is not shown to be given to anyone"
    session, connection = shadow.given
    return f"was given as an event id on {letters.get(connection, '?')}, to {session}"


def _refuses(shadow: Shadow) -> str:
    if shadow.refusal is None:
        return f"answers {shadow.status}: to this client there is no such session"
    return f"refuses the request: {shadow.status} with the reason {shadow.refusal.reason.value}"


def _write(written: Written, shadow: Shadow, letters: Mapping[int, str]) -> str:
    match written:
        case WriteGreeting(greeting=Greeting.PRIMING):
            return "a priming event (an id without a message)"
        case WriteGreeting():
            return "its position (the cursor as an id, without a message)"
        case WriteEvent():
            return _name(str(written.message))
        case WriteEnd():
            return "the end of the body: the stream is finished"
        case WriteOvertaken():
            return "resumption-required, and the end of the body"
        case NoView() if shadow.taken_over_by is not None:
            return f"nothing: {letters.get(shadow.taken_over_by, 'another connection')} has taken over the stream"
        case NoView():
            return "nothing: the view is ended"
    return "nothing yet: the view stays open"


def _is_same(written: Written, frame: Frame) -> bool:
    return isinstance(written, WriteEvent) and frame.has_data and written.message == message_key(frame.payload)


def _name(key: str) -> str:
    return f"the response to id {key.removeprefix('response:')}" if key.startswith("response:") else key


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""
