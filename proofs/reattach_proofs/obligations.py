"""The obligations: which function is run on which shape with which input, and what is claimed of it.

An obligation is a name and a function that is run by the executor. It builds an arbitrary session of which the
invariant holds, runs the shipped transition, and returns the claims about what came of it, as formulas.
"""

from collections.abc import Callable, Iterator

import z3
from attrs import field, frozen

from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.policy import Policy
from reattach.machine.session import Session, is_viewed
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
from reattach_proofs import promises, shapes
from reattach_proofs.executor import SymbolicInt, merged
from reattach_proofs.history import RANK, History
from reattach_proofs.invariant import ANY, ANY_OTHER, arbitrary
from reattach_proofs.promises import Claim
from reattach_proofs.shapes import NEW_CONNECTION, OTHER, SUBJECT, SUBJECTS_CONNECTION, TAG, Attachment, Shape

UNKNOWN_STREAM, UNKNOWN_CONNECTION = 9, 99


@frozen
class Stated:
    """A claim as a formula."""

    theorem: str
    name: str
    formula: z3.BoolRef = field(eq=False)


@frozen
class Outcome:
    """What one path of an obligation comes to: what is claimed of it, and the step, for the comparison with a run on
    ordinary integers."""

    claims: tuple[Stated, ...]
    steps: tuple[Step, ...]
    given: object = None


@frozen
class Obligation:
    """Something to be proved: ``run`` under the executor yields its claims on every path."""

    name: str
    run: Callable[[], Outcome] = field(eq=False, repr=False)


def obligations() -> Iterator[Obligation]:
    """All of them for one session, in a fixed order."""
    yield Obligation("init", _init)
    for name, given in inputs(next(iter(shapes.shapes()))):
        yield Obligation(f"terminated | {name}", lambda given=given: _dead(given()))
    for shape in shapes.shapes():
        yield Obligation(f"{shape.name()} | time", lambda shape=shape: _time(shape))
        for name, given in inputs(shape):
            yield Obligation(f"{shape.name()} | {name}", lambda shape=shape, given=given: _react(shape, given()))
    for shape in shapes.shapes():
        if sum(each.attachment is not Attachment.NONE for each in shape.streams) <= 1:
            yield Obligation(f"{shape.name()} | time, twice", lambda shape=shape: _time_twice(shape))


def inputs(shape: Shape) -> Iterator[tuple[str, Callable[[], Input]]]:
    """Every input there is, addressed to the subject, to the other stream, and to none."""
    seq = lambda: shapes.number("given.seq")  # noqa: E731  # made anew in each run
    for name, stream in (("subject", SUBJECT), ("other", OTHER), ("unknown stream", UNKNOWN_STREAM)):
        yield (
            f"resume {name}",
            lambda stream=stream: Resume(NEW_CONNECTION, Cursor(Presence.PRESENT, TAG, stream, seq())),
        )
        yield f"emit to {name}", lambda stream=stream: Emit(stream, shapes.natural("given.size"), None)
        yield f"finish {name}", lambda stream=stream: Finish(stream)
    yield "resume foreign", lambda: Resume(NEW_CONNECTION, Cursor(Presence.PRESENT, "another", SUBJECT, seq()))
    yield "resume malformed", lambda: Resume(NEW_CONNECTION, MALFORMED)
    yield "listen", lambda: Resume(NEW_CONNECTION, ABSENT)
    yield "push", lambda: Emit(0, shapes.natural("given.size"), None)
    yield "open stream", lambda: OpenStream(NEW_CONNECTION)
    for name, connection in (("subject", SUBJECTS_CONNECTION), ("no view", UNKNOWN_CONNECTION)):
        yield f"write {name}", lambda connection=connection: Write(connection)
        yield f"accepted {name}", lambda connection=connection: Accepted(connection)
        yield f"disconnect {name}", lambda connection=connection: Disconnect(connection)
    yield "terminate", Terminate
    yield "tick", Tick
    yield "arrive", Arrive
    yield "depart", Depart


def _init() -> Outcome:
    session = open_session(TAG, "", shapes.number("now"))
    policy = shapes.policy()
    shapes.assume_formula(shapes.valid_policy())
    events = _NoEvents()
    claims = promises.invariant_claims(policy, session, events, events.entry(0), events.entry(0))
    return Outcome(_stated(claims), (Step(session),))


class _NoEvents:
    def entry(self, seq: int) -> "promises.Entry":
        from reattach.machine.window import NO_ENTRY

        return NO_ENTRY


def _dead(given: Input) -> Outcome:
    shape = next(iter(shapes.shapes()))
    policy, session, _ = arbitrary(shape)
    dead = react(policy, session, Terminate()).session
    after = step(policy, dead, shapes.number("time"), given)
    return Outcome(_stated(promises.dead_claims(given, after)), (after,), given)


def _time(shape: Shape) -> Outcome:
    policy, session, history = arbitrary(shape)
    any = history.entry(SymbolicInt(ANY))
    now = shapes.number("time")
    after = advance(policy, session, now)
    claims = [*promises.time_claims(policy, session, now, after, any), *_invariant(policy, after, history)]
    return Outcome(_stated(iter(claims)), (after,), now)


def _time_twice(shape: Shape) -> Outcome:
    policy, session, history = arbitrary(shape)
    soon_at, late_at = shapes.number("time"), shapes.number("time.later")
    shapes.assume(session.now <= soon_at)
    shapes.assume(soon_at <= late_at)
    late = advance(policy, session, late_at)
    soon = advance(policy, session, soon_at)
    later = advance(policy, soon.session, late_at)
    return Outcome(_stated(promises.composed_claims(late, soon, later)), (late, later))


def _react(shape: Shape, given: Input) -> Outcome:
    policy, session, history = arbitrary(shape)
    any = history.entry(SymbolicInt(ANY))
    after = react(policy, session, given)
    claims = list(promises.step_claims(policy, session, given, after, history, any))
    if after.session.alive:
        claims += _invariant(policy, after, history, both=isinstance(given, Emit))
    for stream in session.streams:
        if is_viewed(stream) and isinstance(given, Resume) and given.cursor.stream == stream.number and after.endings:
            claims += promises.old_view_claims(policy, after, stream.view.connection)
    return Outcome(_stated(iter(claims)), (after,), given)


def _invariant(policy: Policy, after: Step, history: History, both: bool = False) -> list[Claim]:
    """That it holds again; of two events only where there is a new one, since events never change."""
    if not after.session.alive:
        return []
    any = history.entry(SymbolicInt(ANY))
    other = history.entry(SymbolicInt(ANY_OTHER)) if both else any
    return list(promises.invariant_claims(policy, after.session, history, any, other))


def _stated(claims: Iterator[Claim]) -> tuple[Stated, ...]:
    return tuple(Stated(claim.theorem, claim.name, merged(claim.holds)) for claim in claims)


def ranked(history: History) -> None:
    """Assume the ghost ranks: each event has one more than its predecessor."""
    from reattach_proofs.history import OWNER, PREV

    history.assume_of_each(lambda q: z3.Implies(OWNER(q) != 0, RANK(q) == RANK(PREV(q)) + 1))


def session_of(outcome: Outcome) -> Session:
    """The session after the last step."""
    return outcome.steps[-1].session
