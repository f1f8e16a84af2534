"""The obligations: which function is run on which shape with which input, and what is claimed of it.

An obligation is a name and a function that is run by the executor. It builds an arbitrary session of which the
invariant holds, runs the shipped transition, and returns the claims about what came of it, as formulas. The same
function can be run on ordinary integers (``symbolic.Concrete``): then all in it is ordinary, the window too, and its
claims are true or false.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from attrs import field, frozen

from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.policy import Policy
from reattach.machine.session import is_viewed
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Depart,
    Disconnect,
    Emit,
    Finish,
    Input,
    OpenStream,
    Resume,
    Step,
    Terminate,
    Tick,
    Write,
    advance,
    open_session,
    react,
    step,
)
from reattach.machine.window import NO_ENTRY, Entry
from reattach_proofs import promises, shapes, witnesses
from reattach_proofs.executor import merged
from reattach_proofs.history import History
from reattach_proofs.invariant import ANY, ANY_OTHER, arbitrary
from reattach_proofs.promises import Claim
from reattach_proofs.shapes import NEW_CONNECTION, OTHER, SUBJECT, SUBJECTS_CONNECTION, TAG, Attachment, Shape
from reattach_proofs.symbolic import current, integer
from reattach_proofs.terms import Term

UNKNOWN_STREAM, UNKNOWN_CONNECTION = 9, 99


@frozen
class Stated:
    """A claim as a formula."""

    theorem: str
    name: str
    formula: Term = field(eq=False)


@frozen
class Outcome:
    """What one path of an obligation comes to: what is claimed of it, and the steps, for the comparison with a run on
    ordinary integers."""

    claims: tuple[Stated, ...]
    steps: tuple[object, ...]
    given: object = None
    sights: tuple[Stated, ...] = ()
    """The interesting cases that this path may be (``witnesses``): not to be proved, but to be possible."""


@frozen
class Obligation:
    """Something to be proved: ``run`` under the executor yields its claims on every path."""

    name: str
    """The shape, a bar, and what happens to it."""
    run: Callable[[], Outcome] = field(eq=False, repr=False)

    @property
    def shape(self) -> str:
        """The name of the shape that it is about."""
        return self.name.rpartition(" | ")[0]


def obligations() -> Iterator[Obligation]:
    """All of them for one session, in a fixed order."""
    yield Obligation("init", _init)
    some = next(iter(shapes.shapes()))
    for name, given in inputs():
        yield Obligation(f"terminated | {name}", partial(_dead, some, given))
    for shape in shapes.shapes():
        yield Obligation(f"{shape.name()} | time", partial(_time, shape))
        for name, given in inputs():
            yield Obligation(f"{shape.name()} | {name}", partial(_react, shape, given))
    for shape in shapes.shapes():
        if sum(each.attachment is not Attachment.NONE for each in shape.streams) <= 1:
            yield Obligation(f"{shape.name()} | time, twice", partial(_time_twice, shape))
        if [each.attachment for each in shape.streams if each.number == SUBJECT] == [Attachment.READING]:
            yield Obligation(f"{shape.name()} | time, then write subject", partial(_stepped, shape))


def inputs() -> Iterator[tuple[str, Callable[[], Input]]]:
    """Every input there is, addressed to the subject, to the other stream, and to none; made anew in each run."""
    for name, stream in (("subject", SUBJECT), ("other", OTHER), ("unknown stream", UNKNOWN_STREAM)):
        yield f"resume {name}", partial(_resume, TAG, stream)
        yield f"emit to {name}", partial(_emit, stream)
        yield f"finish {name}", partial(Finish, stream)
    for tag in ("another", "yet another"):  # one that sorts before the session's own, and one after
        yield f"resume foreign, {tag}", partial(_resume, tag, SUBJECT)
    yield "resume malformed", partial(Resume, NEW_CONNECTION, MALFORMED)
    yield "listen", partial(Resume, NEW_CONNECTION, ABSENT)
    yield "push", partial(_emit, 0)
    yield "open stream", partial(OpenStream, NEW_CONNECTION)
    for name, connection in (("subject", SUBJECTS_CONNECTION), ("no view", UNKNOWN_CONNECTION)):
        yield f"write {name}", partial(Write, connection)
        yield f"accepted {name}", partial(Accepted, connection)
        yield f"disconnect {name}", partial(Disconnect, connection)
    yield "terminate", Terminate
    yield "tick", Tick
    yield "arrive", Arrive
    yield "depart", Depart


def _resume(tag: str, stream: int) -> Input:
    return Resume(NEW_CONNECTION, Cursor(Presence.PRESENT, tag, stream, shapes.number("given.seq")))


def _emit(stream: int) -> Input:
    return Emit(stream, shapes.natural("given.size"), None)


def _init() -> Outcome:
    policy, session = shapes.policy(), open_session(TAG, "", shapes.number("now"))
    current().assume(shapes.valid_policy())
    claims = [
        *promises.birth_claims(session, shapes.number("now")),
        *promises.invariant_claims(policy, session, _NoEvents(), NO_ENTRY, NO_ENTRY),
    ]
    return Outcome(stated(claims), (Step(session),))


class _NoEvents:
    def entry(self, seq: int) -> Entry:
        return NO_ENTRY


def _dead(shape: Shape, given: Callable[[], Input]) -> Outcome:
    policy, session, _ = arbitrary(shape)
    dead, asked = react(policy, session, Terminate()).session, given()
    after = step(policy, dead, shapes.number("time"), asked)
    sights = witnesses.dead_sights(after)
    return Outcome(stated(promises.dead_claims(asked, after)), (after,), asked, stated(sights))


def _time(shape: Shape) -> Outcome:
    policy, session, history = arbitrary(shape)
    any = history.entry(integer(ANY))
    now = shapes.number("time")
    after = advance(policy, session, now)
    claims = [*promises.time_claims(policy, session, now, after, any), *_invariant(policy, after, history)]
    sights = witnesses.time_sights(session, after, any)
    return Outcome(stated(claims), (after,), now, stated(sights))


def _time_twice(shape: Shape) -> Outcome:
    policy, session, _ = arbitrary(shape)
    soon_at, late_at = shapes.number("time"), shapes.number("time.later")
    shapes.assume(session.now <= soon_at)
    shapes.assume(soon_at <= late_at)
    late = advance(policy, session, late_at)
    soon = advance(policy, session, soon_at)
    later = advance(policy, soon.session, late_at)
    return Outcome(stated(promises.composed_claims(late, soon, later)), (late, later))


def _stepped(shape: Shape) -> Outcome:
    policy, session, _ = arbitrary(shape)
    now, given = shapes.number("time"), Write(SUBJECTS_CONNECTION)
    after = step(policy, session, now, given)
    timed = advance(policy, session, now)
    reacted = react(policy, timed.session, given) if timed.session.alive else None
    return Outcome(stated(promises.stepped_claims(timed, reacted, after)), (after,), given)


def _react(shape: Shape, given: Callable[[], Input]) -> Outcome:
    policy, session, history = arbitrary(shape)
    asked = given()
    any = history.entry(integer(ANY))
    after = react(policy, session, asked)
    claims = list(promises.step_claims(policy, session, asked, after, history, any))
    claims += _invariant(policy, after, history, both=isinstance(asked, Emit))
    for stream in session.streams:
        if is_viewed(stream) and isinstance(asked, Resume) and asked.cursor.stream == stream.number and after.endings:
            claims += promises.old_view_claims(policy, after, stream.view.connection)
    sights = witnesses.step_sights(policy, session, asked, after, history, any)
    return Outcome(stated(claims), (after,), asked, stated(sights))


def _invariant(policy: Policy, after: Step, history: History, both: bool = False) -> list[Claim]:
    """That it holds again; of two events only where there is a new one, since events never change."""
    if not after.session.alive:
        return []
    any = history.entry(integer(ANY))
    other = history.entry(integer(ANY_OTHER)) if both else any
    return list(promises.invariant_claims(policy, after.session, history, any, other))


def stated(claims: Iterable[Claim]) -> tuple[Stated, ...]:
    """The claims as formulas."""
    return tuple(Stated(claim.theorem, claim.name, merged(claim.holds)) for claim in claims)
