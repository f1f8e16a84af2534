"""A sample of the mutants is found by the probe, each under its own clause and class; `make mutants` probes all."""

import asyncio

import pytest

from reattach.live.mutants.campaign import Aim, judge, judge_mutant, mutant_options
from reattach.live.mutants.registry import mutant_named
from reattach.oracle.verdict import Fault

SAMPLE = ("inclusive-cursor", "replays-all-streams", "bad-cursor-is-404", "message-on-both-streams", "no-count-limit")


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_is_found_under_its_own_clause_and_class(name: str) -> None:
    mutant = mutant_named(name)
    verdict = asyncio.run(judge_mutant(mutant, seed=1))
    assert verdict.found, verdict.classes
    assert f"{mutant.clause} {mutant.fault.value}" in verdict.classes
    assert verdict.stopped == ""
    assert verdict.lines is not None


def test_the_server_without_a_mutant_is_not() -> None:
    """As long as the mutants of the sample are probed, and longer; the whole probe is in tests/live."""
    verdict = asyncio.run(judge(mutant_options(None, seed=1), None, bound_ms=6_000))
    assert (verdict.found, verdict.classes, verdict.lines) == (False, (), None)
    assert verdict.stopped == "interrupted"


def test_another_fault_than_its_own_is_not_what_was_looked_for() -> None:
    options = mutant_options("bad-cursor-is-404", seed=1)
    verdict = asyncio.run(judge(options, Aim("DEL-1", Fault.DUPLICATE_DELIVERY), bound_ms=4_000))
    assert not verdict.found
    assert "CUR-9 wrong-status" in verdict.classes
