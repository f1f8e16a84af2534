"""Every invariant can fail: each mutant is refuted by the invariants it names, and by a shortest trace."""

import pytest
from tests.machine.mutants import MUTANTS, Mutant, Refutation
from tests.machine.scenes import SCENES

from reattach.machine.invariants import AT_REST, SESSION, SYSTEM, a_cursor_is_granted_iff_lossless
from reattach.machine.step_invariants import STEP, SYSTEM_STEP

pytestmark = pytest.mark.usefixtures("untraced")

CASES = [
    pytest.param(mutant, refutation, id=f"{mutant.name}-{refutation.invariant}")
    for mutant in MUTANTS.values()
    for refutation in mutant.refutations
]


@pytest.mark.parametrize(("mutant", "refutation"), CASES)
def test_each_mutant_is_refuted(mutant: Mutant, refutation: Refutation, monkeypatch: pytest.MonkeyPatch) -> None:
    for patch in mutant.patches:
        patch.apply(monkeypatch)
    for thorough in (False, True):  # a key that hides the fault would find it later, or not at all
        found = SCENES[refutation.scene].explored(refutation.invariant, thorough=thorough).counterexample
        assert [(one.predicate, len(one.trace)) for one in found] == [(refutation.invariant, refutation.length)]


def test_every_invariant_refutes_a_mutant() -> None:
    invariants = [*SESSION, a_cursor_is_granted_iff_lossless, *STEP, *SYSTEM, *SYSTEM_STEP, *AT_REST]
    named = {refutation.invariant for mutant in MUTANTS.values() for refutation in mutant.refutations}
    assert {holds.__name__ for holds in invariants} - named == set()
