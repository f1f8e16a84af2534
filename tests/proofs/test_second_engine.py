"""CrossHair, a second engine, confirms a few scalar properties of the same functions, and refutes them of mutants."""

from collections.abc import Callable

import pytest
from crosshair.core_and_libs import MessageType, analyze_function, run_checkables
from crosshair.options import AnalysisKind, AnalysisOptionSet
from tests.proofs import second_engine

from reattach_proofs.mutants import applied, mutant_named

OPTIONS = AnalysisOptionSet(
    analysis_kind=(AnalysisKind.PEP316,),
    report_all=True,
    per_condition_timeout=240.0,
    per_path_timeout=240.0,
)
"""The bounds are there for a machine that hangs; a property that is not confirmed within them fails."""


def found(function: Callable[..., bool]) -> set[MessageType]:
    """What CrossHair says of it."""
    return {message.state for message in run_checkables(analyze_function(function, OPTIONS))}


PROPERTIES = (
    second_engine.granted_iff_lossless,
    second_engine.never_granted_unless_sent,
    second_engine.ended_only_when_stalled,
)


@pytest.mark.parametrize("property", PROPERTIES, ids=lambda each: each.__name__)
def test_a_property_is_confirmed_over_all_paths(property: Callable[..., bool]) -> None:
    assert found(property) == {MessageType.CONFIRMED}


@pytest.mark.parametrize(
    ("name", "property"),
    [
        ("refuses-at-mark", second_engine.granted_iff_lossless),
        ("newest-refused", second_engine.granted_iff_lossless),
        ("evicted-prefix-skipped", second_engine.granted_iff_lossless),
        ("one-below-mark-is-a-mismatch", second_engine.never_granted_unless_sent),
        ("ahead-accepted", second_engine.never_granted_unless_sent),
        ("any-seq-accepted", second_engine.never_granted_unless_sent),
        ("stall-never-applied", second_engine.ended_only_when_stalled),
        ("stall-one-too-late", second_engine.ended_only_when_stalled),
    ],
)
def test_a_property_is_refuted_of_a_mutant(name: str, property: Callable[..., bool]) -> None:
    with applied(mutant_named(name)):
        assert found(property) == {MessageType.POST_FAIL}
