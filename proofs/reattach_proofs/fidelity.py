"""Fidelity: each path, run again on ordinary integers.

A path comes with a model: values for all its names under which it is taken. The obligation's own function is run on
these values, with the real window, an ordinary policy and an ordinary session, and must do what the path says: what the
path assumed is true of the values, the result is the path's result with the values put in, and each claim is as true or
false as its formula. If the executor, the contract of the window, or the translation to the solver were wrong, it would
show here.
"""

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any, TypeAlias

from attrs import has

from reattach.machine.window import Entry, Window
from reattach_proofs.executor import Path, formula_of
from reattach_proofs.history import OWNER, History, SymbolicWindow
from reattach_proofs.obligations import Outcome
from reattach_proofs.symbolic import Concrete, Symbolic, Untrue, executing
from reattach_proofs.terms import Interpretation, evaluate

Seqs: TypeAlias = tuple[int, ...]


def replay(run: Callable[[], Outcome], path: Path[Any]) -> Outcome:
    """Run a path again on the integers of its model. Raises Untrue if anything differs."""
    interpretation = path.model.interpretation
    return compare(run, path, interpretation, seqs_of(path, interpretation))


def compare(run: Callable[[], Outcome], path: Path[Any], interpretation: Interpretation, seqs: Seqs) -> Outcome:
    """Run a path again on these integers, under which it is to be taken. Raises Untrue if anything differs.

    ``seqs`` are those of which anything is known, in order.
    """
    for event in path.trace:
        if evaluate(formula_of(event), interpretation) is not True:
            raise Untrue(f"the path's own {formula_of(event)!r}")
    with executing(Concrete(interpretation, seqs)):
        ordinary = run()
    symbolic = path.result
    met = frozenset(seqs_of(path, interpretation))
    expected = plain(symbolic.steps, interpretation, met)
    found = plain(ordinary.steps, interpretation, met)
    if expected != found:
        raise Untrue(f"expected {expected}, found {found}")
    _compare_claims(symbolic, ordinary, interpretation)
    return ordinary


def seqs_of(path: Path[Any], interpretation: Interpretation) -> Seqs:
    """The seqs that the path met, as ordinary integers."""
    met = [seq for note in path.notes if isinstance(note, History) for seq in note.met]
    return tuple(sorted({evaluate(seq, interpretation) for seq in met}))


def plain(value: object, interpretation: Interpretation, met: Collection[int]) -> object:
    """What a value comes to on ordinary integers, for comparison; of a window only what it holds of ``met``."""

    def of(part: object) -> object:
        return plain(part, interpretation, met)

    match value:
        case Symbolic():
            return evaluate(value.term, interpretation)
        case SymbolicWindow():
            terms = {evaluate(seq, interpretation): seq for seq in value.history.met}
            held = [seq for seq in sorted(terms) if of(value.low) <= seq < of(value.next)]
            entries = [value.history.at(terms[seq]) for seq in held if evaluate(OWNER(terms[seq]), interpretation)]
            return ("window", *map(of, (value.low, value.next, value.count, value.size)), of(tuple(entries)))
        case Window():
            known = tuple(entry for entry in value.held if entry.seq in met)
            return ("window", value.low, value.next, value.count, value.size, of(known))
        case Entry():
            # The message is compared by what is written; an emitted one is nobody's.
            numbers = (value.seq, value.stream, value.prev, value.at, value.count, value.start, value.size)
            return ("entry", *map(of, numbers))
        case tuple():
            return tuple(map(of, value))
        case dict():
            return {key: of(part) for key, part in value.items()}
        case Enum():
            return value
        case _ if has(type(value)):
            attributes: Any = type(value).__attrs_attrs__  # type: ignore[attr-defined]
            return (type(value).__name__, *((each.name, of(getattr(value, each.name))) for each in attributes))
        case _:
            return value


def _compare_claims(symbolic: Outcome, ordinary: Outcome, interpretation: Interpretation) -> None:
    for formulas, truths in ((symbolic.claims, ordinary.claims), (symbolic.sights, ordinary.sights)):
        if [formula.name for formula in formulas] != [truth.name for truth in truths]:
            raise Untrue("other claims are made")
        for formula, truth in zip(formulas, truths, strict=True):
            if evaluate(formula.formula, interpretation) is not evaluate(truth.formula, interpretation):
                raise Untrue(f"{formula.name!r} is {evaluate(truth.formula, interpretation)}")
