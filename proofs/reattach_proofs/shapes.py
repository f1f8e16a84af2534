"""The finite part of a symbolic session: which streams there are, of which kind, with which views.

A shape is concrete; every number in it is not. Two streams speak for any number: the *subject*, in every variant there
is, and *another*. An input addresses at most one stream, and every other comes out as the identical object, or
forgotten (theorem ``isolation``); what a session asks of all its streams, it asks of each on its own, or counts them. A
session with its standalone stream alone, as it begins, and one with three streams show that two are no exception.
"""

from collections.abc import Iterator
from enum import Enum
from functools import cache

from attrs import fields, frozen

from reattach.machine.modes import Mode
from reattach.machine.policy import Policy, is_valid
from reattach.machine.session import NO_VIEW, Greeting, Session, Stream, StreamKind, View
from reattach_proofs.executor import merged
from reattach_proofs.history import History
from reattach_proofs.symbolic import current, executing, integer, truth_of, truth_value
from reattach_proofs.terms import Term, integer_named, truth_named


class Attachment(Enum):
    """What view a stream has."""

    NONE = "no view"
    GREETING = "a view with its greeting unwritten"
    READING = "a view that reads"
    """Whether a write is outstanding is symbolic."""


@frozen
class StreamShape:
    """One stream. Whether it is finished is symbolic where it can be either."""

    number: int
    kind: StreamKind
    attachment: Attachment
    connection: int
    current: bool = False
    """Whether it is the standalone stream that pushes go to, which is never finished."""


@frozen
class Shape:
    """A session's streams."""

    streams: tuple[StreamShape, ...]
    listened: bool = True
    mode: Mode = Mode.REATTACH

    def name(self) -> str:
        """A short name for the ledger."""
        streams = " + ".join(
            f"{'pushes' if shape.current else shape.kind.value} {shape.number} with {shape.attachment.value}"
            for shape in self.streams
        )
        mode = "" if self.mode is Mode.REATTACH else f", which can only {self.mode.value}"
        return (streams if self.listened else f"{streams}, never listened to") + mode


SUBJECT, OTHER, THIRD = 2, 1, 3
"""The numbers of the subject and of other streams; ``Session.opened`` is 3, so a new one is 4."""
SUBJECTS_CONNECTION, OTHERS_CONNECTION, THIRD_CONNECTION, NEW_CONNECTION = 12, 11, 13, 19
TAG = "tag"


def shapes() -> Iterator[Shape]:
    """Every variant of the subject, beside another stream with and without a view, and alone; and one with three."""
    for attachment in Attachment:
        subject = StreamShape(SUBJECT, StreamKind.STANDALONE, attachment, SUBJECTS_CONNECTION, current=True)
        for others in (Attachment.NONE, Attachment.READING):
            pushes = StreamShape(OTHER, StreamKind.STANDALONE, others, OTHERS_CONNECTION, current=True)
            # In the order in which streams are opened: a listener after the one before it, a call whenever it comes.
            yield Shape((StreamShape(SUBJECT, StreamKind.STANDALONE, attachment, SUBJECTS_CONNECTION), pushes))
            yield Shape((pushes, StreamShape(SUBJECT, StreamKind.REQUEST, attachment, SUBJECTS_CONNECTION)))
            yield Shape((StreamShape(OTHER, StreamKind.REQUEST, others, OTHERS_CONNECTION), subject))
        yield Shape((subject,))
    unheard = StreamShape(SUBJECT, StreamKind.STANDALONE, Attachment.NONE, SUBJECTS_CONNECTION, current=True)
    request = StreamShape(OTHER, StreamKind.REQUEST, Attachment.READING, OTHERS_CONNECTION)
    yield Shape((unheard, request), listened=False)
    yield Shape((unheard,), listened=False)
    third = StreamShape(THIRD, StreamKind.STANDALONE, Attachment.NONE, THIRD_CONNECTION, current=True)
    yield Shape((third, request, StreamShape(SUBJECT, StreamKind.REQUEST, Attachment.NONE, SUBJECTS_CONNECTION)))
    pushes = StreamShape(OTHER, StreamKind.STANDALONE, Attachment.NONE, OTHERS_CONNECTION, current=True)
    for mode in (Mode.REPLAY, Mode.REFUSE):
        read = StreamShape(SUBJECT, StreamKind.REQUEST, Attachment.READING, SUBJECTS_CONNECTION)
        yield Shape((pushes, read), mode=mode)


def number(name: str) -> int:
    """An arbitrary integer."""
    return integer(integer_named(name))


def truth(name: str) -> bool:
    """An arbitrary truth value."""
    return truth_value(truth_named(name))


def policy() -> Policy:
    """Arbitrary numbers. That they fit each other is ``valid_policy``."""
    return Policy(**{attribute.name: number(f"policy.{attribute.name}") for attribute in fields(Policy)})


@cache
def valid_policy() -> Term:
    """The formula of ``is_valid``, from running it once."""
    with executing(None):
        return merged(lambda: is_valid(policy()))


def stream(shape: StreamShape) -> Stream:
    """A stream of this shape with arbitrary numbers."""
    name = f"stream{shape.number}"
    view = NO_VIEW
    if shape.attachment is not Attachment.NONE:
        greets = shape.attachment is Attachment.GREETING
        view = View(
            connection=shape.connection,
            position=number(f"{name}.position"),
            greeting=Greeting.POSITION if greets else Greeting.NOTHING,
            outstanding=False if greets else truth(f"{name}.outstanding"),
            since=number(f"{name}.since"),
            reads=number(f"{name}.reads"),
            wrote=number(f"{name}.wrote"),
        )
    unfinishable = shape.current
    only_finished = shape.kind is StreamKind.STANDALONE and not shape.current
    finished = False if unfinishable else True if only_finished else truth(f"{name}.finished")
    return Stream(shape.number, shape.kind, number(f"{name}.first"), number(f"{name}.last"), finished, view)


def session(shape: Shape, history: History) -> Session:
    """A session of this shape with arbitrary numbers over an arbitrary history."""
    window = history.window(*map(integer_named, ("low", "next", "count", "size")))
    return Session(
        tag=TAG,
        principal="",
        now=number("now"),
        seen=number("seen"),
        window=window,
        streams=tuple(stream(each) for each in shape.streams),
        opened=3,
        standalone=next(each.number for each in shape.streams if each.current),
        listened=shape.listened,
        mode=shape.mode,
        requests=number("requests"),
    )


def natural(name: str) -> int:
    """An arbitrary integer that is not negative: a size in bytes."""
    value = number(name)
    assume(value >= 0)
    return value


def assume(condition: bool) -> None:
    """Go on only where the condition holds."""
    current().assume(truth_of(condition))
