"""The inductive invariant as a precondition and as a goal, from the very predicates of ``machine.inductive``.

As a precondition each predicate is run once and becomes one formula; what it says of any event is then assumed of every
seq a run meets. As a goal it is run again, after the step, on an arbitrary event.
"""

from collections.abc import Callable, Iterator
from functools import cache

import z3

from reattach.machine import inductive
from reattach.machine.policy import Policy
from reattach.machine.session import Session
from reattach.machine.window import Entry
from reattach_proofs import shapes
from reattach_proofs.executor import SymbolicInt, current, merged
from reattach_proofs.history import PREV, History
from reattach_proofs.shapes import Shape

ANY, ANY_OTHER = z3.Int("any"), z3.Int("any.other")

OF_SESSION = (
    inductive.the_numbers_are_in_range,
    inductive.a_session_is_within_its_absence_budget,
    inductive.unfinished_streams_are_within_the_limit,
    inductive.pushes_have_a_stream,
)
OF_STREAM = (
    inductive.a_stream_lies_in_its_session,
    inductive.a_view_lies_on_its_stream,
    inductive.a_view_is_within_its_stall_budget,
    inductive.a_known_stream_is_of_use,
)
OF_EVENT = (
    inductive.an_event_is_numbered,
    inductive.an_event_lies_on_its_stream,
    inductive.a_held_event_is_within_the_limits,
    inductive.a_held_events_stream_is_known,
    inductive.no_view_stands_before_an_event_and_after_its_predecessor,
)
OF_TWO = (inductive.two_events_are_in_order, inductive.nothing_lies_between_an_event_and_its_predecessor)

Named = tuple[str, Callable[[], bool]]


def of_session(policy: Policy, session: Session, history: History) -> Iterator[Named]:
    """What holds of the session and of each of its streams, by name."""
    for predicate in OF_SESSION:
        yield predicate.__name__, lambda predicate=predicate: predicate(policy, session)
    yield (
        inductive.low_is_an_event_or_next.__name__,
        lambda: inductive.low_is_an_event_or_next(session, _at(history, session.window.low)),
    )
    for stream in session.streams:
        for of_stream in OF_STREAM:
            yield of_stream.__name__, lambda of_stream=of_stream, stream=stream: of_stream(policy, session, stream)
        yield (
            inductive.a_birth_is_no_event.__name__,
            lambda stream=stream: inductive.a_birth_is_no_event(stream, _at(history, stream.first)),
        )
        yield (
            inductive.a_stream_ends_in_an_event_of_its_own.__name__,
            lambda stream=stream: inductive.a_stream_ends_in_an_event_of_its_own(stream, _at(history, stream.last)),
        )


def of_event(policy: Policy, session: Session, entry: Entry, before: Entry) -> Iterator[Named]:
    """What holds of one event, by name."""
    for predicate in OF_EVENT:
        yield predicate.__name__, lambda predicate=predicate: predicate(policy, session, entry)
    yield (
        inductive.a_predecessor_is_of_the_same_stream.__name__,
        lambda: inductive.a_predecessor_is_of_the_same_stream(session, entry, before),
    )


def of_two(entry: Entry, other: Entry) -> Iterator[Named]:
    """What holds of two events, by name."""
    for predicate in OF_TWO:
        yield predicate.__name__, lambda predicate=predicate: predicate(entry, other)


@cache
def precondition(shape: Shape) -> tuple[z3.BoolRef, ...]:
    """That the invariant holds of a session of this shape, its events aside."""
    history = History()
    session = shapes.session(shape, history)
    return tuple(merged(holds) for _, holds in of_session(shapes.policy(), session, history))


@cache
def template(shape: Shape) -> z3.BoolRef:
    """What the invariant says of the event ANY, if it is one."""
    history = History()
    session = shapes.session(shape, history)
    entry, before = _at(history, SymbolicInt(ANY)), _at(history, SymbolicInt(PREV(ANY)))
    emitted = merged(lambda: inductive.is_emitted(session, entry))
    said = tuple(merged(holds) for _, holds in of_event(shapes.policy(), session, entry, before))
    return z3.simplify(z3.Implies(emitted, z3.And(*said)))


@cache
def template_of_two(shape: Shape) -> z3.BoolRef:
    """What the invariant says of the events ANY and ANY_OTHER, if they are."""
    history = History()
    session = shapes.session(shape, history)
    entry, other = _at(history, SymbolicInt(ANY)), _at(history, SymbolicInt(ANY_OTHER))
    emitted = tuple(merged(lambda each=each: inductive.is_emitted(session, each)) for each in (entry, other))
    said = tuple(merged(holds) for _, holds in of_two(entry, other))
    return z3.simplify(z3.Implies(z3.And(*emitted), z3.And(*said)))


@cache
def _instance(shape: Shape, seq: z3.ArithRef) -> z3.BoolRef:
    return z3.substitute(template(shape), (ANY, seq))


@cache
def _instance_of_two(shape: Shape, seq: z3.ArithRef, other: z3.ArithRef) -> z3.BoolRef:
    return z3.substitute(template_of_two(shape), (ANY, seq), (ANY_OTHER, other))


def arbitrary(shape: Shape) -> tuple[Policy, Session, History]:
    """Inside a run: an arbitrary session of this shape of which the invariant holds, and of all its events."""
    history = History()
    current().assume(shapes.valid_policy())
    for condition in precondition(shape):
        current().assume(condition)
    history.universals.append(lambda seq: _instance(shape, seq))
    history.pairwise.append(lambda seq, other: _instance_of_two(shape, seq, other))
    session = shapes.session(shape, history)
    for stream in session.streams:
        _at(history, stream.first)
        _at(history, stream.last)
    _at(history, session.window.low)
    return shapes.policy(), session, history


def _at(history: History, seq: object) -> Entry:
    return history.entry(seq if isinstance(seq, SymbolicInt) else SymbolicInt(z3.IntVal(seq)))
