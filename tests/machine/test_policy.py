"""The numbers: which fit each other."""

import pytest
from attrs import evolve

from reattach.machine.policy import CONDITIONS, SHORT, Policy, is_valid
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, TRAITS, Revision


def test_the_defaults_are_the_seeds_numbers() -> None:
    policy = Policy()
    assert (policy.window_events, policy.window_ms, policy.stall_ms) == (256, 300_000, 30_000)
    assert is_valid(policy)


def test_the_short_policy_is_valid_and_shorter_in_every_limit_and_budget() -> None:
    policy, short = Policy(), SHORT
    assert is_valid(short)
    assert short.window_events < policy.window_events
    assert short.window_bytes < policy.window_bytes
    assert max(short.window_ms, short.stall_ms, short.absence_ms, short.heartbeat_ms, short.retry_ms) <= 5_000


BASE = Policy(
    window_events=2,
    window_ms=3,
    window_bytes=1,
    stall_ms=2,
    stall_reads=1,
    absence_ms=1,
    open_streams=2,
    sessions=1,
    heartbeat_ms=1,
    retry_ms=0,
)


def test_the_smallest_policy_is_valid() -> None:
    assert is_valid(BASE)


@pytest.mark.parametrize(
    ("number", "value", "valid"),
    [
        ("window_events", 1, False),
        ("window_events", 2, True),
        ("window_bytes", 0, False),
        ("window_bytes", 1, True),
        ("stall_reads", 0, False),
        ("stall_reads", 1, True),
        ("stall_ms", 0, False),
        ("stall_ms", 1, True),
        ("stall_ms", 2, True),
        ("stall_ms", 3, False),  # as long as T
        ("retry_ms", -1, False),
        ("retry_ms", 0, True),
        ("retry_ms", 1, False),  # as long as the absence budget
        ("open_streams", 1, False),
        ("sessions", 0, False),
        ("refusal_status", 399, False),
        ("refusal_status", 400, True),
        ("refusal_status", 404, True),
        ("refusal_status", 499, True),
        ("refusal_status", 500, False),
        ("heartbeat_ms", 0, False),
        ("heartbeat_ms", 59_999, True),
        ("heartbeat_ms", 60_000, False),
    ],
)
def test_each_condition_at_its_boundary(number: str, value: int, valid: bool) -> None:
    policy = evolve(BASE, **{number: value})
    assert is_valid(policy) is valid
    assert [says for says, holds in CONDITIONS.items() if not holds(policy)] == [
        says for says in CONDITIONS if not valid and number in says
    ]


def test_every_condition_can_fail() -> None:
    broken = Policy(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert [says for says, holds in CONDITIONS.items() if holds(broken)] == []


def test_each_revision_has_its_traits() -> None:
    assert set(TRAITS) == set(Revision)
    assert [revision.value for revision in Revision if TRAITS[revision].batches] == ["2025-03-26"]
    assert [revision.value for revision in Revision if TRAITS[revision].priming] == ["2025-11-25"]
    assert [revision.value for revision in Revision if not TRAITS[revision].version_header] == ["2025-03-26"]
    assert [revision.value for revision in Revision if not TRAITS[revision].resumption] == ["2026-07-28"]


def test_the_newest_with_resumption_is_the_last_that_has_it() -> None:
    assert (
        max((revision for revision in Revision if TRAITS[revision].resumption), key=lambda revision: revision.value)
        is NEWEST_WITH_RESUMPTION
    )
