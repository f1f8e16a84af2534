"""The contract of an event store: a right store keeps it, and each of its tests is failed by a store made for it."""

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.outcomes import OutcomeException
from tests.stores import samples

import reattach.store_contract
from reattach.clauses import load_registry
from reattach.store_contract import EventStoreContract

ROOM, AGE_MS = 6, 1_000
TESTS = [name for name in vars(EventStoreContract) if name.startswith("test_")]
LUCKY = "test_any_history"
"""The test whose histories are drawn: it finds what others find too, if it draws it."""

FAULTY: dict[type[samples.RightStore], set[str]] = {
    samples.SameIds: {
        "test_ids_are_unique",
        "test_nothing_is_missing",
        "test_priming_is_no_message",
        "test_streams_are_isolated",
        "test_the_stream_is_named",
    },
    samples.NamesInIds: {"test_ids_survive_a_header"},
    samples.LastMessage: {"test_an_id_keeps_its_message"},
    samples.Inclusive: {"test_the_cursor_is_exclusive"},
    samples.Skips: {"test_nothing_is_missing"},
    samples.AllStreams: {"test_streams_are_isolated"},
    samples.Backwards: {"test_order_is_kept"},
    samples.ByTheClock: {"test_the_order_is_not_the_clocks"},
    samples.SplitsIds: {"test_any_name_of_a_stream_will_do"},
    samples.Unnamed: {"test_the_stream_is_named"},
    samples.NothingAfter: {"test_a_caught_up_cursor_is_granted"},
    samples.Shared: {"test_another_sessions_cursor_is_refused", "test_sessions_are_isolated"},
    samples.SameTag: {"test_another_sessions_cursor_is_refused"},
    samples.Lenient: {"test_an_unknown_cursor_is_refused"},
    samples.FromTheStart: {"test_an_unknown_cursor_is_refused"},
    samples.Raises: {"test_an_unknown_cursor_is_refused"},
    samples.SendsPriming: {"test_priming_is_no_message"},
    samples.PrimingIsNoCursor: {"test_priming_is_a_cursor"},
    samples.Unbounded: {"test_no_more_is_held_than_declared", "test_nothing_older_is_held_than_declared"},
    samples.StillKnown: {"test_an_evicted_cursor_is_refused"},
    samples.TooFew: {
        "test_the_last_event_that_left_is_a_cursor",
        "test_what_is_being_replayed_is_not_lost",
        "test_what_is_held_is_granted",
    },
    samples.ForgetsTheMark: {"test_the_last_event_that_left_is_a_cursor"},
    samples.PrimingTakesRoom: {"test_priming_pushes_nothing_out"},
    samples.Ageless: {"test_nothing_older_is_held_than_declared"},
    samples.Iterates: {"test_a_replay_beside_stores", "test_what_is_being_replayed_is_not_lost"},
    samples.LooksUpLate: {"test_what_is_being_replayed_is_not_lost"},
    samples.ReadsThenWrites: {"test_stores_side_by_side"},
    samples.ForgetsAStream: {LUCKY},
}
"""A store, and the tests that it fails; it passes all others."""


def outcomes(contract: EventStoreContract, *tests: str) -> dict[str, str]:
    """What becomes of each test: ``passed``, or the words with which it failed or was skipped."""
    became = {}
    for name in tests or TESTS:
        try:
            getattr(contract, name)()
        except OutcomeException as outcome:
            became[name] = f"{outcome.msg}"
        else:
            became[name] = "passed"
    return became


def failed(how: str) -> bool:
    return how != "passed" and not how.startswith("not observed: ")


def contract_of(store: Callable[[], Any], **attributes: Any) -> EventStoreContract:
    def session_store(self: EventStoreContract, made: Any, session: str) -> Any:
        return made.of_session(session)

    members = {"store": lambda self: store(), "session_store": session_store, "schedules": 30, **attributes}
    contract = type("Contract", (EventStoreContract,), members)()
    assert isinstance(contract, EventStoreContract)
    return contract


def declaring(store: Callable[..., Any], **attributes: Any) -> EventStoreContract:
    return contract_of(lambda: store(ROOM, AGE_MS), window_events=ROOM, window_ms=AGE_MS, **attributes)


def test_a_right_store_passes_every_test() -> None:
    assert outcomes(declaring(samples.RightStore)) == dict.fromkeys(TESTS, "passed")


def test_what_is_not_declared_is_not_observed() -> None:
    became = outcomes(contract_of(samples.RightStore))
    skipped = {name: how for name, how in became.items() if how != "passed"}
    assert set(skipped) == {
        "test_an_evicted_cursor_is_refused",
        "test_no_more_is_held_than_declared",
        "test_nothing_older_is_held_than_declared",
        "test_priming_pushes_nothing_out",
        "test_the_last_event_that_left_is_a_cursor",
        "test_what_is_being_replayed_is_not_lost",
        "test_what_is_held_is_granted",
    }
    assert {how.split(":")[0] for how in skipped.values()} == {"not observed"}


@pytest.mark.parametrize("store", FAULTY, ids=lambda store: store.__name__)
def test_a_faulty_store_fails_the_tests_made_for_it_and_no_others(store: type[samples.RightStore]) -> None:
    contract = declaring(store, examples=100)
    tests = TESTS if LUCKY in FAULTY[store] else [name for name in TESTS if name != LUCKY]
    became = outcomes(contract, *tests)
    assert {name for name, how in became.items() if failed(how)} == FAULTY[store]
    for name in FAULTY[store]:
        clause, fault = became[name].split(" ")[:2]
        assert re.fullmatch("[a-z-]+:", fault)
        assert f"{clause}: {load_registry()[clause].statement}" in became[name]
        assert clause in (getattr(EventStoreContract, name).__doc__ or "")


def test_each_test_is_failed_by_some_store() -> None:
    assert set().union(*FAULTY.values()) == set(TESTS)


def test_each_test_names_its_clauses() -> None:
    for name in TESTS:
        clauses = re.findall(r"[A-Z]{3}-\d+", (getattr(EventStoreContract, name).__doc__ or "").split(":")[0])
        assert clauses
        assert set(clauses) <= set(load_registry().clauses), name


@pytest.mark.parametrize("store", [samples.RightStore, samples.RoomForAll])
@pytest.mark.parametrize("room", [2, 3, 5])
def test_a_right_store_passes_with_any_room(store: type[samples.RightStore], room: int) -> None:
    of = "session" if store is samples.RoomForAll else "stream"
    contract = contract_of(lambda: store(room, AGE_MS), window_events=room, window_ms=AGE_MS, window_of=of)
    tests = [name for name in TESTS if name != LUCKY]
    assert outcomes(contract, *tests) == dict.fromkeys(tests, "passed")


def test_a_bound_of_the_session_is_none_of_each_stream() -> None:
    test = "test_what_is_held_is_granted"
    became = outcomes(contract_of(lambda: samples.RoomForAll(ROOM), window_events=ROOM), test)
    assert became[test].startswith("CUR-7 good-cursor-refused")


def test_a_store_that_refuses_all_shows_little_and_passes_little() -> None:
    became = outcomes(contract_of(samples.RefusesAll))
    passed = {name for name, how in became.items() if how == "passed"}
    assert passed == {
        "test_an_unknown_cursor_is_refused",
        "test_another_sessions_cursor_is_refused",
        "test_ids_are_unique",
        "test_ids_survive_a_header",
    }


def test_a_store_that_never_answers_fails_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reattach.store_contract, "_PATIENCE_S", 0.2)
    became = outcomes(contract_of(samples.Hangs), "test_nothing_is_missing", "test_a_replay_beside_stores")
    assert set(became.values()) == {"the store did not answer within 0 s"}


@pytest.mark.parametrize("wrong", [{"window_of": "server"}, {"window_events": 1}])
def test_what_cannot_be_declared_fails_with_one_line(wrong: dict[str, Any]) -> None:
    became = outcomes(contract_of(samples.RightStore, **wrong), "test_nothing_is_missing")
    assert became == {"test_nothing_is_missing": "window_of is 'stream' or 'session', and window_events 2 or more"}


def test_without_hypothesis_the_drawn_histories_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "reattach.stores.histories", raising=False)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert "Hypothesis is not installed" in outcomes(contract_of(samples.RightStore), LUCKY)[LUCKY]


def made() -> samples.RightStore:
    return samples.RightStore()


def test_a_function_makes_stores_too() -> None:
    contract = type("Contract", (EventStoreContract,), {"store": made})()
    assert outcomes(contract, "test_nothing_is_missing") == {"test_nothing_is_missing": "passed"}


def test_without_a_store_it_fails_with_one_line() -> None:
    contract = type("Contract", (EventStoreContract,), {})()
    words = "Contract: give it a store, what makes a new and empty one"
    assert outcomes(contract, "test_nothing_is_missing") == {"test_nothing_is_missing": words}


class Managed:
    """A store that has to be opened and closed."""

    opened = 0

    async def __aenter__(self) -> samples.RightStore:
        Managed.opened += 1
        return samples.RightStore()

    async def __aexit__(self, *_: object) -> None:
        Managed.opened -= 1


async def awaited() -> samples.RightStore:
    return samples.RightStore()


@pytest.mark.parametrize("store", [Managed, awaited])
def test_a_store_may_be_opened_or_awaited(store: Callable[[], Any]) -> None:
    assert outcomes(contract_of(store), "test_nothing_is_missing") == {"test_nothing_is_missing": "passed"}
    assert Managed.opened == 0


pytest_plugins = ["pytester"]


def test_three_lines_are_enough(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.syspath_prepend(str(pytester.path))
    (pytester.path / "my_store.py").write_text("from tests.stores.samples import Inclusive as MyStore\n")
    pytester.makepyfile(
        test_mine="""
        import reattach.store_contract
        from my_store import MyStore

        class TestMyStore(reattach.store_contract.EventStoreContract):
            store = MyStore
        """
    )
    shown = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-k", "exclusive or missing or declared")
    assert shown.parseoutcomes() == {"passed": 1, "failed": 1, "skipped": 2, "deselected": len(TESTS) - 4}
    shown.stdout.fnmatch_lines(
        [
            "DEL-1 duplicate-delivery: sent again, or at or before the cursor: event 1",
            "session 1: store message 1 on '1' -> id 's-1-1'",
            "session 1: replay after 's-1-1' -> sent 's-1-1', *",
            "*^ duplicate-delivery",
        ]
    )
