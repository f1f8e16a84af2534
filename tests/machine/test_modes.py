"""Re-attach, replay or refuse: the whole truth table (MOD-2, MOD-3)."""

import itertools

import pytest

from reattach.machine.modes import Deployment, Mode, mode_of

TRUTHS = tuple(itertools.product((True, False), repeat=7))


def table(
    bounded: bool, monotonic: bool, stateless: bool, unique: bool, stable: bool, remembers: bool, secret: bool
) -> Mode:
    """The rows of spec/08-modes.md, in their order."""
    if bounded and monotonic and not stateless:
        return Mode.REATTACH
    if not unique or not stable or not remembers or (stateless and not secret):
        return Mode.REFUSE
    return Mode.REPLAY


@pytest.mark.parametrize("memory", [(3, 4), (0, 1)])
def test_the_truth_table(memory: tuple[int, int]) -> None:
    seen = []
    for bounded, monotonic, stateless, unique, stable, remembers, secret in TRUTHS:
        deployment = Deployment(
            window_bounded=bounded,
            ids_monotonic=monotonic,
            client_stateless=stateless,
            ids_unique=unique,
            ids_stable=stable,
            dedup_memory=memory[1] if remembers else memory[0],
            longest_replay=memory[1],
            tag_unguessable=secret,
        )
        expected = table(bounded, monotonic, stateless, unique, stable, remembers, secret)
        assert mode_of(deployment) is expected, deployment
        seen.append(expected)
    assert [seen.count(mode) for mode in Mode] == [16, 10, 102]


def test_the_reference_server_reattaches() -> None:
    assert mode_of(Deployment()) is Mode.REATTACH


@pytest.mark.parametrize(
    ("memory", "replay", "mode"),
    [(0, 0, Mode.REPLAY), (0, 1, Mode.REFUSE), (4, 5, Mode.REFUSE), (5, 5, Mode.REPLAY), (6, 5, Mode.REPLAY)],
)
def test_memory_covers_the_longest_replay(memory: int, replay: int, mode: Mode) -> None:
    assert mode_of(Deployment(ids_monotonic=False, dedup_memory=memory, longest_replay=replay)) is mode
