"""Named mutants: each fits the machine, each theorem has some, and a fixed sample is refuted by proof and by a trace.

`make prove` refutes them all. Beside them a fixed sample of the automatic mutations; `make mutants-proofs` has all.
"""

import pytest

from reattach.mutation.machine import Mistake
from reattach.mutation.swap import DoesNotFitError
from reattach_proofs import mutation, refutation, sources
from reattach_proofs.mutants import MUTANTS, Mutant, mutant_named
from reattach_proofs.promises import NO_DUPLICATE

SAMPLE = (
    "inclusive-cursor",
    "evicted-prefix-skipped",
    "refuses-at-mark",
    "memory-one-short",
    "replay-beyond-memory",
    "no-dedup",
)
MUTATED = ("cursor.seq > stream.last", "cursor.seq < mark", "cursor.tag != session.tag")
"""Comparisons of the decision, each of whose exchanges must be refuted."""
SHAPES = (
    "pushes 1 with no view + request 2 with no view",
    "pushes 1 with no view + request 2 with a view that reads",
)


def test_every_mutant_fits_the_machine() -> None:
    for mutant in MUTANTS:
        mutant.code()
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 25


def test_a_mutant_that_does_not_fit_is_refused() -> None:
    stray = Mutant(Mistake("stray", "decision.decide_cursor", "no such text", "", "nothing"), NO_DUPLICATE)
    with pytest.raises(DoesNotFitError):
        stray.code()


def test_every_theorem_has_mutants() -> None:
    assert {mutant.theorem.name for mutant in MUTANTS} == {theorem.name for theorem in sources.theorems()}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_is_refuted_by_its_theorem_and_shown(name: str) -> None:
    mutant = mutant_named(name)
    failure = refutation.refuting_proof(mutant)
    assert failure is not None
    assert failure.theorem == mutant.theorem.name
    shown = refutation.refute(mutant)
    assert shown.claim != ""
    assert mutant.theorem.name in shown.diagram.splitlines()[-1]


@pytest.mark.parametrize("comparison", MUTATED)
def test_a_changed_comparison_is_refuted(comparison: str) -> None:
    resumed = [
        each.name for each in sources.SOURCES[0].obligations() if each.shape in SHAPES and " | resume " in each.name
    ]
    assert resumed
    changed = [each for each in mutation.mutations(("decision",)) if each.old == comparison]
    assert len(changed) == len({each.new for each in changed}) >= 2
    for each in changed:
        assert mutation.kill(each, resumed).killer, str(each)


def test_the_machine_itself_is_not_refuted() -> None:
    """What refutes the mutants finds nothing wrong where nothing is changed."""
    for obligation in sources.SOURCES[0].obligations():
        if obligation.shape in SHAPES:
            assert refutation.first_failure(obligation) is None, obligation.name
