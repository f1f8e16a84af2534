"""Fidelity: each path, run again on ordinary integers.

A path comes with a model: values for all its names under which it is taken. The obligation's own function is run on
these values, with the real window, an ordinary policy and an ordinary session, and must do what the path says: what the
path assumed is true of the values, the result is the path's result with the values put in, and each claim is as true or
false as its formula. If the executor, the contract of the window, or the translation to the solver were wrong, it would
show here.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from attrs import has

from reattach.machine.window import Entry, Window
from reattach_proofs.executor import Path, formula_of
from reattach_proofs.history import OWNER, History, SymbolicWindow
from reattach_proofs.obligations import Outcome
from reattach_proofs.symbolic import Concrete, Symbolic, Untrue, executing
from reattach_proofs.terms import Interpretation, evaluate


def replay(run: Callable[[], Outcome], symbolic: Outcome, path: Path[Any]) -> Outcome:
    """Run a path again on the integers of its model. Raises Untrue if anything differs."""
    return compare(run, symbolic, path, path.model.interpretation())


def compare(run: Callable[[], Outcome], symbolic: Outcome, path: Path[Any], interpretation: Interpretation) -> Outcome:
    """Run a path again on these integers, under which it is to be taken. Raises Untrue if anything differs."""
    for event in path.trace:
        if evaluate(formula_of(event), interpretation) is not True:
            raise Untrue(f"the path's own {formula_of(event)!r}")
    seqs = seqs_of(path, interpretation)
    with executing(Concrete(interpretation, seqs)):
        ordinary = run()
    expected, found = plain(symbolic.steps, interpretation), plain(ordinary.steps, interpretation)
    if expected != found:
        raise Untrue(f"expected {expected}, found {found}")
    _compare_claims(symbolic, ordinary, interpretation)
    return ordinary


def seqs_of(path: Path[Any], interpretation: Interpretation) -> tuple[int, ...]:
    """The seqs that the path met, as ordinary integers."""
    met = [seq for note in path.notes if isinstance(note, History) for seq in note.met]
    return tuple(sorted({evaluate(seq, interpretation) for seq in met}))


def plain(value: object, interpretation: Interpretation) -> object:
    """What a value comes to on ordinary integers, in a form that can be compared: windows by what they hold."""
    match value:
        case Symbolic():
            return evaluate(value.term, interpretation)
        case SymbolicWindow():
            low, next, count, size = (
                plain(part, interpretation) for part in (value.low, value.next, value.count, value.size)
            )
            met = {evaluate(seq, interpretation): seq for seq in value.history.met}
            held = [seq for seq, term in met.items() if low <= seq < next and evaluate(OWNER(term), interpretation)]
            entries = [value.history.at(met[seq]) for seq in sorted(held)]
            return ("window", low, next, count, size, plain(tuple(entries), interpretation))
        case Window():
            return ("window", value.low, value.next, value.count, value.size, plain(value.held, interpretation))
        case Entry():
            # The message is compared by what is written; an emitted one is nobody's.
            numbers = (value.seq, value.stream, value.prev, value.at, value.count, value.start, value.size)
            return ("entry", *(plain(number, interpretation) for number in numbers))
        case tuple():
            return tuple(plain(part, interpretation) for part in value)
        case dict():
            return {key: plain(part, interpretation) for key, part in value.items()}
        case Enum():
            return value
        case _ if has(type(value)):
            return (type(value).__name__, *_fields(value, interpretation))
        case _:
            return value


def _fields(value: Any, interpretation: Interpretation) -> list[object]:
    names = [attribute.name for attribute in value.__attrs_attrs__]
    return [(name, plain(getattr(value, name), interpretation)) for name in names]


def _compare_claims(symbolic: Outcome, ordinary: Outcome, interpretation: Interpretation) -> None:
    for formulas, truths in ((symbolic.claims, ordinary.claims), (symbolic.sights, ordinary.sights)):
        if [formula.name for formula in formulas] != [truth.name for truth in truths]:
            raise Untrue("other claims are made")
        for formula, truth in zip(formulas, truths, strict=True):
            if evaluate(formula.formula, interpretation) is not evaluate(truth.formula, interpretation):
                raise Untrue(f"{formula.name!r} is {evaluate(truth.formula, interpretation)}")
