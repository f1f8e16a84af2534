"""The inductive invariant as a precondition and as a goal, from the very predicates of ``machine.inductive``.

As a precondition each predicate is run once and becomes one formula; what it says of any event is then assumed of every
seq a run meets. As a goal it is run again, after the step, on an arbitrary event.
"""

from functools import cache, partial

from reattach.machine import inductive
from reattach.machine.policy import Policy
from reattach.machine.session import Session
from reattach_proofs import shapes
from reattach_proofs.executor import merged
from reattach_proofs.history import PREV, History, new_history
from reattach_proofs.shapes import Shape
from reattach_proofs.symbolic import current, executing, integer
from reattach_proofs.terms import Term, conjunction, implication, integer_named, substitute

ANY, ANY_OTHER = integer_named("any"), integer_named("any.other")


@cache
def precondition(shape: Shape) -> tuple[Term, ...]:
    """That the invariant holds of a session of this shape, its events aside."""
    with executing(None):
        history = History(universals=[])
        session = shapes.session(shape, history)
        return tuple(merged(holds) for _, holds in inductive.of_session(shapes.policy(), session, history.entry))


@cache
def template(shape: Shape) -> Term:
    """What the invariant says of the event ANY, if it is one."""
    with executing(None):
        history = History(universals=[])
        session = shapes.session(shape, history)
        entry, before = history.entry(integer(ANY)), history.entry(integer(PREV(ANY)))
        emitted = merged(partial(inductive.is_emitted, session, entry))
        said = [merged(holds) for _, holds in inductive.of_event(shapes.policy(), session, entry, before)]
        return implication(emitted, conjunction(said))


@cache
def template_of_two(shape: Shape) -> Term:
    """What the invariant says of the events ANY and ANY_OTHER, if they are."""
    with executing(None):
        history = History(universals=[])
        session = shapes.session(shape, history)
        entry, other = history.entry(integer(ANY)), history.entry(integer(ANY_OTHER))
        emitted = [merged(partial(inductive.is_emitted, session, each)) for each in (entry, other)]
        said = [merged(holds) for _, holds in inductive.of_two(entry, other)]
        return implication(conjunction(emitted), conjunction(said))


@cache
def _instance(shape: Shape, seq: Term) -> Term:
    return substitute(template(shape), {ANY: seq})


@cache
def _instance_of_two(shape: Shape, seq: Term, other: Term) -> Term:
    return substitute(template_of_two(shape), {ANY: seq, ANY_OTHER: other})


def arbitrary(shape: Shape) -> tuple[Policy, Session, History]:
    """Inside a run: an arbitrary session of this shape of which the invariant holds, and of all its events."""
    history = new_history()
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
