"""What the oracle remembers is bounded as a whole, and what it has forgotten it does not judge."""

import gc
from collections.abc import Callable

import pytest
from tests.oracle.episodes import EPISODES, walk
from tests.oracle.wire import Wire, event_id, log
from tests.oracle.world import World

from reattach.machine.policy import SHORT
from reattach.machine.revision import Revision
from reattach.oracle import swift
from reattach.oracle.declaration import declaration_of
from reattach.oracle.judges import delivery
from reattach.oracle.oracle import Oracle
from reattach.oracle.reconstruct import events, forgetting, requests
from reattach.oracle.record import View
from reattach.oracle.stretch import Stretch
from reattach.oracle.verdict import Profile

HORIZON = 16


def _remembered(oracle: Oracle) -> int:
    """How many events, names, connections, calls, streams and sessions the oracle knows."""
    run = oracle._run
    sessions = run.sessions.values()
    views = [exchange.view for exchange in run.exchanges.values() if exchange.view is not None]
    return sum(
        len(known)
        for known in (
            run.exchanges, run.unended, run.ended, run.kept, run.sessions, run.issued, run.claims, run.asked_ids,
            run.issued_again, run.stretches,
            *(each for s in run.stretches.values() for each in (s.frames, s.seqs, s.series, s.reached, s.large)),
            *(each for s in sessions for each in (s._events, s._keys, s.streams, s.calls, s.claims, s.exchanges)),
            *(each for s in sessions for each in (s.stretches, s.series)),
            *(each for s in sessions for each in (s.open, s.running, s.reused, s.doubts, s._seqs_seen, s.open_at_end)),
            *(each for s in sessions for stream in s.streams for each in (stream._log, stream.views, stream.silent)),
            *(each for v in views for each in (v._order, v._delivered, v.bare)),
            *(v.steady.stretch.frames for v in views if v.steady is not None),
        )
    )  # fmt: skip


def _many_sessions(count: int) -> Wire:
    wire = Wire(horizon=HORIZON)
    for number in range(count):
        session = wire.session()
        call = session.emit(f"L{number}", 3).bare(f"{number}.0")
        for n in range(1, 4):
            call.log(f"{number}.{n}", f"L{number}", n)
        if number % 3:
            call.result(f"{number}.4").end()
            session.delete()
    return wire


def _connections_left_open(count: int) -> Wire:
    wire = Wire(horizon=HORIZON)
    session = wire.session()
    for number in range(count):
        session.get().answer().log(f"a{number}", "A", number)
    return wire


def _no_ids(count: int) -> Wire:
    wire = Wire(horizon=HORIZON)
    call = wire.session().emit("A", 0)
    for number in range(count):
        call.log(None, "A", number)
    return wire


def _one_message_under_many_ids(count: int) -> Wire:
    wire = Wire(horizon=HORIZON)
    call = wire.session().emit("A", 0).bare("a")
    for number in range(count):
        call.event(f"a{number}", log("A", 1))
    return wire


def _long_calls(count: int) -> Wire:
    wire = Wire(horizon=HORIZON)
    calls = [wire.session().emit(f"L{number}", 0).bare(event_id(2, 1, f"tag{number:019d}")) for number in range(8)]
    for n in range(1, count // 8):
        for number, call in enumerate(calls):
            call.log(event_id(2, n + 1, f"tag{number:019d}"), f"L{number}", n)
    return wire


def _calls_left_open(count: int) -> Wire:
    wire = Wire(horizon=HORIZON)
    for number in range(count // 20):
        tag = f"tag{number:019d}"
        call = wire.session().emit(f"L{number}", 0).bare(event_id(2, 1, tag))
        for n in range(1, 20):
            call.log(event_id(2, n + 1, tag), f"L{number}", n)
    return wire


def _calls_under_one_id(count: int) -> Wire:
    wire = Wire(horizon=HORIZON)
    session = wire.session()
    for number in range(count):
        session.emit(f"L{number}", 0)
    return wire


HISTORIES = [
    _many_sessions, _connections_left_open, _no_ids, _one_message_under_many_ids, _long_calls, _calls_under_one_id,
    _calls_left_open,
]  # fmt: skip


@pytest.mark.parametrize("history", HISTORIES)
def test_what_is_remembered_of_all_sessions_is_bounded(history: Callable[[int], Wire]) -> None:
    wire = history(800)
    assert _remembered(wire.oracle) < 1.2 * _remembered(history(400).oracle)


@pytest.mark.parametrize(
    ("module", "name", "history"),
    [
        (requests, "prune", _many_sessions),
        (requests, "prune", _connections_left_open),
        (swift, "keep_event", _long_calls),
        (Stretch, "forget", _long_calls),
        (events, "keep_event", _no_ids),
        (events, "bound_names", _one_message_under_many_ids),
        (forgetting, "_forget_names", _many_sessions),
    ],
)
def test_a_bound_that_is_not_kept_is_found_out(
    module: object, name: str, history: Callable[[int], Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, lambda *_: None)
    assert _remembered(history(800).oracle) > 1.2 * _remembered(history(400).oracle)


@pytest.mark.parametrize("careless", [False, True])
def test_no_view_holds_on_to_what_is_forgotten(careless: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if careless:
        monkeypatch.setattr(Stretch, "_empty", lambda _: None)
    run = _calls_left_open(800).oracle._run
    steady = [exchange.view.steady for exchange in run.exchanges.values() if exchange.view is not None]
    noted = sum(len(each.stretch.frames) for each in steady if each is not None)
    assert noted > 0
    assert (noted > run.held) is careless


def test_what_was_left_open_and_forgotten_is_told() -> None:
    notes = " ".join(_connections_left_open(200).oracle.report().notes)
    assert "exchanges that were not over were forgotten" in notes
    assert "events were forgotten" in notes


@pytest.mark.parametrize("seed", range(6))
def test_an_oracle_that_forgets_soon_accuses_nobody(seed: int) -> None:
    """Of several clients at once, so that each makes the others' events be forgotten."""
    world = World(seed)
    for episode in world.rng.sample(EPISODES, len(EPISODES)):
        episode(world)
    walk(world)
    oracle = Oracle(revision=Revision.R2025_11_25, declaration=declaration_of(SHORT, takeover=True), horizon=HORIZON)
    for observation in world.observations:
        oracle.observe(observation)
    report = oracle.report(Profile.REATTACH)
    assert oracle._run.forgotten_events > 0
    assert report.findings == ()


def test_series_that_many_sessions_share_are_nobodys_alone() -> None:
    """Progress tokens count from 1 in every session. Whose claim was forgotten is not accused of taking another's."""
    wire = Wire(horizon=HORIZON)
    first = wire.session()
    call = first.call("shared").answer().bare("f0").log("f1", "shared", 1)
    for number in range(3 * HORIZON):
        wire.session().emit(f"L{number}", 1).bare(f"b{number}")
    wire.session().call("shared").answer().bare("s0")
    call.log("f2", "shared", 2)
    assert "SES-5" not in {finding.clause for finding in wire.findings()}


def _resumed_and_ended(*, answered: bool) -> Wire:
    wire = Wire()
    session = wire.session()
    call = session.call().answer().bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    view = session.get("a1").answer().log("a2", "A", 2)
    if answered:
        view.result("a3", call.rpc_id)
    view.end()
    return wire


@pytest.mark.parametrize("answered", [True, False])
def test_a_rest_that_nobody_waited_for_is_told_of(answered: bool) -> None:
    report = _resumed_and_ended(answered=answered).oracle.report()
    assert "DEL-2" not in {finding.clause for finding in report.findings}
    assert any("were resumed and never answered" in note for note in report.notes) is not answered


@pytest.mark.parametrize(("expected", "found"), [(0, ""), (40, "at most 40 events behind")])
def test_a_refusal_accuses_only_where_it_is_known_what_followed(expected: int, found: str) -> None:
    """No window is declared, and the call went on while nobody was connected."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", expected) if expected else session.call("A").answer()
    call.bare("a0").log("a1", "A", 1).cut()
    wire.pass_time(1_000)
    session.get("a1").refuse(409, "cursor-out-of-window")
    summaries = [finding.summary for finding in wire.findings() if finding.clause == "CUR-7"]
    assert len(summaries) == bool(found)
    assert all(found in summary for summary in summaries)


def test_what_is_closed_is_freed_at_once() -> None:
    wire = _many_sessions(40)

    def left(*, close: bool) -> int:
        gc.collect()
        gc.disable()
        try:
            oracle = Oracle(revision=Revision.R2025_11_25)
            for observation in wire.observations:
                oracle.observe(observation)
            if close:
                oracle.close()
            del oracle
            return gc.collect()
        finally:
            gc.enable()

    assert left(close=True) < 20 < 200 < left(close=False)


def test_a_deaf_view_is_looked_for_among_those_that_were_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    is_deaf = delivery._is_deaf

    def spy(view: View, later: View) -> bool:
        asked.append(view)
        return is_deaf(view, later)

    monkeypatch.setattr(delivery, "_is_deaf", spy)
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 100).bare(event_id(2, 1))
    for n in range(1, 50):
        call.quiet() if n % 2 else None
        call.cut()
        call = session.get(event_id(2, n)).answer().comment(f"resumed {event_id(2, n)}")
        call.log(event_id(2, n + 1), "A", n)
    assert len(asked) < 100
