"""A sample of the mutants is found by the probe, each under its own clause and class; `make mutants` probes all."""

import asyncio

import pytest

from reattach.live.mutants.probing import Aim, mutant_options, probe_mutant, probe_until
from reattach.live.mutants.registry import mutant_named
from reattach.oracle.verdict import Fault

SAMPLE = ("inclusive-cursor", "replays-all-streams", "bad-cursor-is-404", "message-on-both-streams", "no-count-limit")


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_is_found_under_its_own_clause_and_class(name: str) -> None:
    mutant = mutant_named(name)
    probed = asyncio.run(probe_mutant(mutant, seed=1))
    assert probed.found, probed.classes
    assert f"{mutant.clause} {mutant.fault.value}" in probed.classes
    assert probed.stopped == ""
    assert probed.lines is not None


def test_the_server_without_a_mutant_is_not() -> None:
    """As long as the mutants of the sample are probed, and longer; the whole probe is in tests/live."""
    probed = asyncio.run(probe_until(mutant_options(None, seed=1), None, bound_ms=6_000))
    assert (probed.found, probed.classes, probed.lines) == (False, (), None)
    assert probed.stopped == "interrupted"


def test_another_fault_than_its_own_is_not_what_was_looked_for() -> None:
    options = mutant_options("bad-cursor-is-404", seed=1)
    probed = asyncio.run(probe_until(options, Aim("DEL-1", Fault.DUPLICATE_DELIVERY), bound_ms=4_000))
    assert not probed.found
    assert "CUR-9 wrong-status" in probed.classes
