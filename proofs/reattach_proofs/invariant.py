"""The inductive invariant as a precondition and as a goal, from the very predicates of ``machine.inductive``.

As a precondition each predicate is run once and becomes one formula; what it says of any event is then assumed of every
seq a run meets. As a goal it is run again, after the step, on an arbitrary event.
"""

from functools import cache, partial

import z3

from reattach.machine import inductive
from reattach.machine.policy import Policy
from reattach.machine.session import Session
from reattach_proofs import shapes
from reattach_proofs.executor import SymbolicInt, current, merged
from reattach_proofs.history import PREV, History
from reattach_proofs.shapes import Shape

ANY, ANY_OTHER = z3.Int("any"), z3.Int("any.other")


@cache
def precondition(shape: Shape) -> tuple[z3.BoolRef, ...]:
    """That the invariant holds of a session of this shape, its events aside."""
    history = History()
    session = shapes.session(shape, history)
    return tuple(merged(holds) for _, holds in inductive.of_session(shapes.policy(), session, history.entry))


@cache
def template(shape: Shape) -> z3.BoolRef:
    """What the invariant says of the event ANY, if it is one."""
    history = History()
    session = shapes.session(shape, history)
    entry, before = history.entry(SymbolicInt(ANY)), history.entry(SymbolicInt(PREV(ANY)))
    emitted = merged(lambda: inductive.is_emitted(session, entry))
    said = tuple(merged(holds) for _, holds in inductive.of_event(shapes.policy(), session, entry, before))
    return z3.simplify(z3.Implies(emitted, z3.And(*said)))


@cache
def template_of_two(shape: Shape) -> z3.BoolRef:
    """What the invariant says of the events ANY and ANY_OTHER, if they are."""
    history = History()
    session = shapes.session(shape, history)
    entry, other = history.entry(SymbolicInt(ANY)), history.entry(SymbolicInt(ANY_OTHER))
    emitted = tuple(merged(partial(inductive.is_emitted, session, each)) for each in (entry, other))
    said = tuple(merged(holds) for _, holds in inductive.of_two(entry, other))
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
        history.entry(stream.first)
        history.entry(stream.last)
    history.entry(session.window.low)
    return shapes.policy(), session, history
