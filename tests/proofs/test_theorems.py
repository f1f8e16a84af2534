"""Every theorem, of a third of the shapes: proved with Z3, each path run again on ordinary integers.

``make prove`` does it for all shapes, and with cvc5 too.
"""

import pytest
from tests.proofs.test_ledger import shapes_in_the_ledger

from reattach_proofs import sources
from reattach_proofs.proof import sampled, summarized
from reattach_proofs.prover import Decided, Task, decide
from reattach_proofs.sources import Source

EVERY = 3
TASK = Task(replay=True)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("source", sources.SOURCES, ids=lambda source: source.name)
def test_a_third_of_the_shapes_is_proved(source: Source) -> None:
    decided: list[Decided] = []
    seen: frozenset[tuple[str, str]] = frozenset()
    terminated = [each for each in source.obligations() if each.shape == "terminated"]  # a theorem of its own
    for obligation in dict.fromkeys([*sampled(source, EVERY), *terminated]):
        decided.append(decide(obligation, TASK, seen))
        seen |= decided[-1].sights
        assert decided[-1].failures == ()
    for result in summarized(source, decided, TASK, whole=True):
        assert result.proved, result
    found: dict[str, tuple[int, int]] = {}
    for each in decided:
        obligations, paths = found.get(each.shape, (0, 0))
        found[each.shape] = (obligations + 1, paths + each.paths)
    recorded = shapes_in_the_ledger()
    assert {shape: recorded.get(shape) for shape in found} == found, "make prove writes spec/ledger.md again"
