"""Real sessions put into the shapes of the proofs: which shape one is of, and the integers that make it up."""

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, fields, frozen

from reattach.machine.policy import Policy
from reattach.machine.session import Greeting, Session, Stream, StreamKind, is_viewed
from reattach.machine.window import NO_ENTRY, Entry, Window
from reattach_proofs import shapes
from reattach_proofs.executor import Decision, Path
from reattach_proofs.history import History, MessageOf
from reattach_proofs.shapes import TAG, Attachment, Shape, StreamShape
from reattach_proofs.terms import Interpretation, Term, evaluate

FORGOTTEN = 3
"""The number that the shapes leave for a stream that the session knows no more."""


@frozen
class Fitted:
    """A session in the terms of a shape."""

    shape: Shape
    session: Session
    """With the shape's numbers for its streams and connections."""
    events: tuple[Entry, ...]
    """All it ever had, likewise."""
    names: dict[str, int | bool]
    """The values of all that the shape leaves open."""

    @property
    def seqs(self) -> tuple[int, ...]:
        """Of all its events."""
        return tuple(event.seq for event in self.events)

    def meaning(self, events: tuple[Entry, ...], **given: int) -> Interpretation:
        """The values of names, together with those of an input, and of functions, for these events."""
        by_seq = {event.seq: event for event in events}

        def of(name: str) -> Callable[[int], int]:
            return lambda seq: int(getattr(by_seq.get(seq, NO_ENTRY), name))

        functions = {f"event.{name}": of(name) for name in ("stream", "prev", "at", "count", "start", "size")}
        return Interpretation({**self.names, "any.other": 0, **given}, functions)


def fitted(policy: Policy, session: Session, events: tuple[Entry, ...]) -> Iterator[Fitted]:
    """The session in each shape that it is of: one, or none if the shapes do not speak of it."""
    for shape in shapes.shapes():
        if len(shape.streams) == len(session.streams) and (shape.listened, shape.mode) == (
            session.listened,
            session.mode,
        ):
            pairs = list(zip(shape.streams, session.streams, strict=True))
            if all(_fits(session, *pair) for pair in pairs):
                yield from _put(policy, session, events, shape)


def _fits(session: Session, shape: StreamShape, stream: Stream) -> bool:
    attachment = (
        Attachment.NONE
        if not is_viewed(stream)
        else Attachment.READING
        if stream.view.greeting is Greeting.NOTHING
        else Attachment.GREETING
    )
    current = stream.number == session.standalone
    finished = stream.kind is StreamKind.STANDALONE and not current
    return (
        (shape.kind, shape.attachment, shape.current) == (stream.kind, attachment, current)
        and not (current and stream.finished)
        and (stream.finished or not finished)
    )


def _put(policy: Policy, session: Session, events: tuple[Entry, ...], shape: Shape) -> Iterator[Fitted]:
    numbers = {stream.number: each.number for each, stream in zip(shape.streams, session.streams, strict=True)}
    strangers = {event.stream for event in events} - set(numbers)
    if len(strangers) > (FORGOTTEN not in numbers.values()):
        return
    numbers |= dict.fromkeys(strangers, FORGOTTEN)
    own = tuple(evolve(event, stream=numbers[event.stream], message=MessageOf(event.seq)) for event in events)
    held = tuple(event for event in own if event.seq >= session.window.low)
    streams = tuple(_named(each, stream) for each, stream in zip(shape.streams, session.streams, strict=True))
    named = evolve(
        session,
        tag=TAG,
        window=evolve(session.window, held=held),
        streams=streams,
        opened=3,
        standalone=numbers[session.standalone],
    )
    window = session.window
    names: dict[str, int | bool] = {
        "low": window.low,
        "next": window.next,
        "count": window.count,
        "size": window.size,
        "now": session.now,
        "seen": session.seen,
        "requests": session.requests,
    }
    for attribute in fields(Policy):
        names[f"policy.{attribute.name}"] = getattr(policy, attribute.name)
    for stream in streams:
        for name in ("first", "last", "finished"):
            names[f"stream{stream.number}.{name}"] = getattr(stream, name)
        for name in ("position", "outstanding", "since", "reads", "wrote"):
            names[f"stream{stream.number}.{name}"] = getattr(stream.view, name)
    yield Fitted(shape, named, own, names)


def _named(shape: StreamShape, stream: Stream) -> Stream:
    if not is_viewed(stream):
        return evolve(stream, number=shape.number)
    # Which greeting is unwritten is of no consequence to the machine; the shapes have one.
    greeting = Greeting.NOTHING if stream.view.greeting is Greeting.NOTHING else Greeting.POSITION
    return evolve(stream, number=shape.number, view=evolve(stream.view, connection=shape.connection, greeting=greeting))


def decides(path: Path[Any], meaning: Interpretation, events: tuple[Entry, ...]) -> bool:
    """Whether these integers take the path: all its decisions are true of them."""
    known = answered(path, meaning, events)
    return all(evaluate(event.formula(), known) for event in path.trace if isinstance(event, Decision))


def answered(path: Path[Any], meaning: Interpretation, events: tuple[Entry, ...]) -> Interpretation:
    """The integers, with the real window's answers to what the path asks of it."""
    names = dict(meaning.names)
    for note in path.notes:
        if isinstance(note, History):
            for question, name in note.skolems.items():
                names[name.value] = _answer(question, Interpretation(names, meaning.functions), events)
    return Interpretation(names, meaning.functions)


def _answer(question: tuple[object, ...], meaning: Interpretation, events: tuple[Entry, ...]) -> int:
    """What a real window over these events answers."""
    kind, *given = question
    values: list[Any] = [evaluate(each, meaning) if isinstance(each, Term) else each for each in given]
    *asked, low, next = values
    window = Window(tuple(event for event in events if low <= event.seq < next), low, next)
    answer: Any = getattr(window, str(kind))(*asked)
    return int(answer.seq if isinstance(answer, Entry) else answer)
