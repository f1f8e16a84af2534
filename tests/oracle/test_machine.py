"""The two theorems about the oracle, run: the reference machine is accepted, and every changed one is rejected."""

import pytest
from attrs import evolve
from tests.oracle.episodes import EPISODES, walk
from tests.oracle.world import World

from reattach.machine.policy import SHORT, Policy
from reattach.oracle.oracle import JUDGED
from reattach.oracle.verdict import Outcome

SEEDS = 6
"""So many deployments each play all episodes; a fault that takes luck to be seen is seen in one of them."""

FAULTS: dict[str, set[tuple[str, str]]] = {
    "inclusive": {("DEL-1", "duplicate-delivery"), ("CUR-8", "duplicate-delivery")},
    "twice": {("DEL-1", "duplicate-delivery")},
    "skips": {("DEL-2", "silent-gap")},
    "shuffled": {("DEL-6", "out-of-order")},
    "all-streams": {("DEL-3", "cross-stream-replay")},
    "leak": {("SES-5", "cross-session-leak"), ("CUR-3", "cross-session-leak")},
    "response-on-get": {("DEL-5", "response-on-wrong-stream")},
    "never-ends": {("DEL-7", "stream-not-ended"), ("DEL-9", "stream-not-ended")},
    "deaf": {("DEL-8", "deaf-after-resume")},
    "broadcast": {("DEL-10", "broadcast")},
    "split": {("ATT-2", "split-view"), ("ATT-3", "takeover-refused")},
    "no-position": {("ATT-1", "position-not-stated")},
    "priming-skips": {("EVT-6", "priming-skips-events")},
    "no-priming": {("EVT-3", "priming-missing")},
    "same-id": {("EVT-1", "id-not-unique")},
    "bad-id": {("EVT-5", "invalid-id")},
    "silent-cursor": {
        *((clause, "bad-cursor-silent") for clause in ("CUR-2", "CUR-3", "CUR-4", "CUR-5", "CUR-6", "MOD-1")),
    },
    "from-start": {("CUR-4", "replay-from-start")},
    "crash": {("CUR-10", "bad-cursor-crash")},
    "hang": {("CUR-10", "bad-cursor-hang")},
    "kill": {("CUR-10", "bad-cursor-kills-session")},
    "404": {("CUR-9", "wrong-status")},
    "resurrects": {("SES-4", "session-resurrected"), ("SES-2", "wrong-status")},
    "no-retry": {("IDL-5", "retry-missing")},
}

NUMBERS: dict[str, tuple[Policy, set[tuple[str, str]]]] = {
    "holds more than N": (evolve(SHORT, window_events=40), {("WIN-1", "unbounded-memory")}),
    "holds for longer than T": (evolve(SHORT, window_ms=30_000), {("WIN-2", "unbounded-memory")}),
    "holds less than N": (
        evolve(SHORT, window_events=4),
        {("WIN-5", "good-cursor-refused"), ("CUR-7", "good-cursor-refused"), ("CUR-8", "good-cursor-refused")},
    ),
    "never ends a stalled view": (evolve(SHORT, stall_ms=2_900_000, window_ms=3_000), {("IDL-1", "idle-not-enforced")}),
    "ends views at once": (evolve(SHORT, stall_ms=1), {("IDL-1", "healthy-view-ended")}),
    "never ends an absent session": (evolve(SHORT, absence_ms=60_000), {("IDL-4", "idle-not-enforced")}),
    "ends sessions at once": (evolve(SHORT, absence_ms=600), {("IDL-4", "healthy-view-ended")}),
}
"""Servers that do not keep to the policy that they declare."""


def _played(seed: int, faults: frozenset[str] = frozenset(), policy: Policy = SHORT) -> World:
    world = World(seed, faults, policy)
    for episode in world.rng.sample(EPISODES, len(EPISODES)):
        episode(world)
    return world


@pytest.mark.parametrize("seed", range(20))
def test_the_machine_is_accepted_in_every_episode(seed: int) -> None:
    report = _played(seed).report()
    assert report.findings == ()


@pytest.mark.parametrize("block", range(8))
def test_the_machine_is_accepted_wherever_a_walk_leads(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        world = World(seed)
        walk(world)
        assert world.report().findings == (), f"seed {seed}"


def test_every_clause_but_one_is_seen_to_hold() -> None:
    held: set[str] = set()
    for seed in range(SEEDS):
        held |= {c.clause for c in _played(seed).report().clauses if c.outcome is Outcome.HELD}
    # There are neither principals nor other revisions in the virtual deployment.
    assert JUDGED - held == {"SES-7", "ERA-1"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_changed_machine_is_rejected(fault: str) -> None:
    found: set[tuple[str, str]] = set()
    for seed in range(SEEDS):
        found |= _played(seed, frozenset({fault})).found()
        if found >= FAULTS[fault]:
            return
    assert found >= FAULTS[fault]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_machine_that_breaks_its_declaration_is_rejected(name: str) -> None:
    policy, expected = NUMBERS[name]
    found: set[tuple[str, str]] = set()
    for seed in range(SEEDS):
        found |= _played(seed, policy=policy).found()
        if found >= expected:
            return
    assert found >= expected


def test_one_reader_that_blocks_all_is_found() -> None:
    found: set[tuple[str, str]] = set()
    for seed in range(SEEDS):
        found |= _played(seed, frozenset({"head-of-line"}), evolve(SHORT, stall_ms=2_900_000)).found()
    assert ("IDL-6", "head-of-line-blocking") in found
