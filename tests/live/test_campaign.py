"""Campaigns: histories as data, the twin, what is generated, and the search with plays that show something at will."""

import asyncio
import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, seed, settings

from reattach.lines import functions
from reattach.live.campaign.drive import Result, twin_policy, with_shrunk
from reattach.live.campaign.search import (
    CONFIRMATIONS,
    Campaign,
    Limits,
    Play,
    Reached,
    Shown,
    Shrunk,
    Violation,
    violation_of,
)
from reattach.live.campaign.shrinking import smaller
from reattach.live.campaign.strategies import STEPS, histories
from reattach.live.campaign.twin import Twin
from reattach.live.experiments import ParameterError, history
from reattach.live.experiments.history import History, read_history
from reattach.live.probe import ProbeOptions, probe
from reattach.live.serve import ServeOptions, serving
from reattach.live.server.settings import Settings
from reattach.machine.policy import SHORT, Policy
from reattach.oracle.declaration import NOTHING_DECLARED, declaration_of
from reattach.oracle.verdict import Fault, Finding, Kind, Level

BOUND_S = 120

FINDING = Finding(
    clause="DEL-2", level=Level.MUST, kind=Kind.BREAKS_CONTRACT, fault=Fault.SILENT_GAP, summary="An event is missing."
)
FOUND: Shown = {violation_of(FINDING): FINDING}


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """The test in an event loop of its own, within a bound."""

    @functools.wraps(test)
    def bounded() -> None:
        asyncio.run(asyncio.wait_for(test(), BOUND_S))

    return bounded


def taken(*steps: history.Step, policy: Policy = SHORT) -> Twin:
    twin = Twin(policy)
    for step in steps:
        twin.take(step)
    return twin


def lines_of(module: str, text: str) -> set[tuple[str, int]]:
    """The lines of a module of the machine that hold the text."""
    source = inspect.getsource(importlib.import_module(f"reattach.machine.{module}")).splitlines()
    found = {(module, number) for number, line in enumerate(source, start=1) if text in line}
    assert found, text
    return found


# Histories as data


@given(histories(SHORT))
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_history_is_its_parameters(made: History) -> None:
    assert 1 <= len(made.steps) <= STEPS
    assert read_history(made.parameters()) == made


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, "parameter steps: a list is needed"),
        ({"steps": 3}, "parameter steps: a list is needed"),
        ({"steps": [{"do": "Call", "count": "x"}]}, "parameter steps: [0].count: an integer is needed"),
        ({"steps": [{"do": "Read", "call": 0}]}, "parameter steps: [0].events: missing"),
        ({"steps": [{"do": "Wait", "ms": 1, "more": 2}]}, "parameter steps: [0]: unknown key: more"),
    ],
)
def test_parameters_that_are_no_history_are_refused(parameters: dict[str, object], reason: str) -> None:
    with pytest.raises(ParameterError) as refused:
        read_history(parameters)  # type: ignore[arg-type]
    assert str(refused.value) == reason


@pytest.mark.parametrize("steps", [[{"do": "Nothing"}], [{"call": 1}], [3], [None]])
def test_what_is_no_step_is_refused(steps: list[object]) -> None:
    with pytest.raises(ParameterError, match=r"^parameter steps: "):
        read_history({"steps": steps})  # type: ignore[dict-item]


# The twin


def test_a_call_is_cut_and_resumed() -> None:
    twin = taken(history.Call(0, 3, 5, history.Cut(2)), history.Wait(50), history.Resume(0))
    (call,) = twin.calls
    assert [len(reader.seqs) for reader in call.readers] == [2, 4]  # priming, 1; the position, 2, 3 and the response
    assert call.over
    assert not call.readers[0].open


def test_a_resumption_of_what_is_read_takes_it_over() -> None:
    twin = taken(history.Call(0, 20, 5), history.Read(0, 3), history.Resume(0))
    before, after = twin.calls[0].readers
    assert (before.open, after.open) == (False, True)


def test_the_cursors_on_either_side_of_the_mark_are_known() -> None:
    """Sixteen events are held of thirty, all of them read."""
    twin = taken(history.Call(0, 30, 0), history.Wait(50))
    backs = twin.cursors(0)
    assert backs["newest that is refused"] == backs["oldest that is granted"] + 1
    assert not twin.lines & lines_of("decision", "mark, stream.last)  # CUR-4")
    twin.take(history.Resume(0, backs["newest that is refused"]))
    assert twin.lines >= lines_of("decision", "mark, stream.last)  # CUR-4")
    assert not any(reader.open for reader in twin.calls[0].readers)


def test_a_session_that_is_deleted_is_over() -> None:
    twin = taken(history.Call(0, 20, 5), history.Delete(0), history.Wait(5))
    assert twin.session(0) is None
    assert twin.calls[0].over
    assert not twin.calls[0].readers[0].open


def test_a_cursor_with_the_seq_of_another_stream_is_a_mismatch() -> None:
    calls = (history.Call(0, 4, 5), history.Call(0, 4, 5), history.Wait(50))
    lines = set[tuple[str, int]]().union(*(taken(*calls, history.Misuse(0, which)).lines for which in range(18, 24)))
    assert lines >= lines_of("decision", "return Refuse(Reason.CURSOR_MISMATCH")


def test_a_reader_that_stops_stalls() -> None:
    twin = taken(history.Call(0, 20, 5), history.Pause(0), history.Wait(SHORT.stall_ms + 200), history.Call(0, 1, 0))
    assert twin.lines >= lines_of("transition", "_ending(stream, Cause.STALLED)")


def test_answers_to_cursors_and_ends_of_views_come_about() -> None:
    """Not only might: a few hundred histories meet each."""
    reached: set[tuple[str, int]] = set()

    @seed(1)
    @settings(max_examples=200, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(histories(SHORT))
    def meet(made: History) -> None:
        reached.update(taken(*made.steps).lines)

    meet()
    wanted = [
        *(("decision", f"return {answer}") for answer in ("Refuse(Reason.CURSOR_MALFORMED)", "Reattach(")),
        *(
            ("decision", f"return Refuse(Reason.CURSOR_{reason}")
            for reason in ("FOREIGN", "AHEAD", "OUT_OF_WINDOW, stream")
        ),
        ("transition", "Cause.TAKEN_OVER"),
        ("transition", "WriteEnd()"),
    ]
    assert [text for module, text in wanted if not reached & lines_of(module, text)] == []


# Smaller histories


def test_smaller_histories_leave_out_steps_first() -> None:
    made = History((history.Call(1, 9, 3, history.Cut(4, 5, "close")), history.Wait(20), history.Resume(0, 3)))
    candidates = list(smaller(made))
    assert candidates[:3] == [History(made.steps[1:]), History((made.steps[0], made.steps[2])), History(made.steps[:2])]
    assert all(len(candidate.steps) == 3 for candidate in candidates[3:])
    assert made not in candidates
    assert History((*made.steps[:2], history.Resume(0, 0))) in candidates
    assert History((history.Call(1, 9, 3, history.Cut(4)), *made.steps[1:])) in candidates


@given(histories(SHORT))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_going_to_smaller_histories_ends(made: History) -> None:
    for bound in range(2_000):
        candidates = list(smaller(made))
        if not candidates:
            assert len(made.steps) <= 1
            return
        made = candidates[bound % len(candidates)]
    pytest.fail("it does not end")


# The search


class Clock:
    """A budget of so many plays, and a clock that they move on."""

    def __init__(self, plays: int) -> None:
        self.left = plays
        self.now = 0

    def limits(self, plateau_ms: int | None = None) -> Limits:
        return Limits(is_over=lambda: self.left <= 0, now=lambda: self.now, plateau_ms=plateau_ms)

    def playing(self, shows: Callable[[History], Shown]) -> Play:
        async def play(made: History) -> Shown:
            self.left -= 1
            self.now += 1
            await asyncio.sleep(0)
            return shows(made)

        return play


async def searched(shows: Callable[[History], Shown], plays: int = 250, plateau_ms: int | None = None) -> Campaign:
    clock = Clock(plays)
    campaign = Campaign(play=clock.playing(shows), policy=SHORT, pushes=True, seed=1, limits=clock.limits(plateau_ms))
    await campaign.run()
    return campaign


def deletes_after_a_resumption(made: History) -> bool:
    kinds = [type(step) for step in made.steps]
    return history.Resume in kinds and history.Delete in kinds[kinds.index(history.Resume) :]


@run
async def test_a_violation_is_shrunk_to_what_it_takes() -> None:
    campaign = await searched(lambda made: FOUND if deletes_after_a_resumption(made) else {})
    (shrunk,) = campaign.shrunk
    assert [type(step) for step in shrunk.history.steps] == [history.Resume, history.Delete]
    assert (shrunk.shown, shrunk.of) == (CONFIRMATIONS, CONFIRMATIONS)
    assert shrunk.finding == FINDING


@run
async def test_a_violation_that_needs_luck_is_shrunk_and_not_dropped() -> None:
    """It shows in every third play."""
    plays = 0

    def shows(made: History) -> Shown:
        nonlocal plays
        plays += 1
        return FOUND if deletes_after_a_resumption(made) and plays % 3 == 0 else {}

    campaign = await searched(shows, plays=800)
    (shrunk,) = campaign.shrunk
    assert len(shrunk.history.steps) == 2
    assert 3 <= shrunk.shown <= 4 < shrunk.of


@run
async def test_each_kind_of_violation_is_shrunk_by_itself() -> None:
    other = evolve(FINDING, clause="DEL-1", fault=Fault.DUPLICATE_DELIVERY)

    def shows(made: History) -> Shown:
        pauses = any(isinstance(step, history.Pause) for step in made.steps)
        return {
            **(FOUND if deletes_after_a_resumption(made) else {}),
            **({violation_of(other): other} if pauses else {}),
        }

    campaign = await searched(shows)
    by_clause = {each.finding.clause: [type(step) for step in each.history.steps] for each in campaign.shrunk}
    assert by_clause == {
        "DEL-2": [history.Resume, history.Delete],
        "DEL-1": [history.Pause],
    }
    assert campaign.reached.violations == 2


@run
async def test_nothing_is_found_where_nothing_is_wrong() -> None:
    campaign = await searched(lambda made: {}, plays=200)
    assert campaign.shrunk == []
    reached = campaign.reached
    assert reached.histories >= 200
    assert reached.steps > reached.histories
    assert {module for module, _ in reached.lines} >= {"decision", "transition", "window", "server"}


@run
async def test_a_plateau_ends_it() -> None:
    campaign = await searched(lambda made: {}, plays=5_000, plateau_ms=30)
    assert 30 < campaign.reached.histories < 2_500


@run
async def test_what_a_play_raises_ends_it_and_is_raised() -> None:
    def shows(made: History) -> Shown:
        raise OSError("the server is gone")

    with pytest.raises(OSError, match="the server is gone"):
        await searched(shows)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("campaign")]


@run
async def test_it_can_be_cancelled() -> None:
    playing = asyncio.Event()

    async def play(made: History) -> Shown:
        playing.set()
        await asyncio.Event().wait()
        return {}

    campaign = Campaign(
        play=play, policy=SHORT, pushes=True, seed=1, limits=Limits(is_over=lambda: False, now=lambda: 0)
    )
    running = asyncio.create_task(campaign.run())
    await playing.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("campaign")]


@run
async def test_the_same_seed_makes_the_same_histories() -> None:
    async def first_of(seed: int) -> set[History]:
        seen: list[History] = []
        clock = Clock(60)

        def shows(made: History) -> Shown:
            seen.append(made)
            return {}

        await Campaign(play=clock.playing(shows), policy=SHORT, pushes=True, seed=seed, limits=clock.limits()).run()
        return set(seen[:30])

    once, again, other = await first_of(1), await first_of(1), await first_of(2)
    assert len(once & again) > len(once) // 2
    assert len(once & other) < len(once) // 2


# As a part of a probe


def test_a_finding_is_shown_as_its_smallest_history_shows_it() -> None:
    shrunk = Shrunk(history=History(), finding=evolve(FINDING, experiment="history/3"), shown=3, of=10)
    shown = with_shrunk(evolve(FINDING, times=9, experiment="hand-over/1"), (shrunk,))
    assert (shown.experiment, shown.times, shown.reproduced) == ("history/3", 9, (3, 10))
    other = evolve(FINDING, kind=Kind.UNDEFINED_AREA)
    assert with_shrunk(other, (shrunk,)) == other


def test_what_was_never_reached_is_listed() -> None:
    decide = next(function for function in functions("decision") if function.name == "decide_cursor")
    some = frozenset(("decision", line) for line in sorted(decide.lines)[:-1])
    notes = Result(reached=Reached(histories=1, steps=2, lines=some, violations=0), shrunk=()).notes()
    assert f"of {len(some)} of" not in notes[0]
    assert any(f"decide_cursor ({max(decide.lines)})" in note for note in notes)


def test_the_twin_runs_by_what_is_declared() -> None:
    assert twin_policy(NOTHING_DECLARED) == Policy()
    assert twin_policy(declaration_of(SHORT)) == SHORT
    assert str(Violation("DEL-2", "silent-gap", Kind.BREAKS_CONTRACT)) == "DEL-2 silent-gap"


@run
async def test_a_probe_spends_its_budget_on_a_campaign_and_finds_nothing_wrong_with_the_reference_server() -> None:
    async with serving(ServeOptions(settings=Settings(policy=SHORT))) as running:
        result = await probe(
            ProbeOptions(url=running.url, declaration=declaration_of(SHORT), budget_ms=14_000, only=("CUR-7",), seed=5)
        )
    assert result.report.findings == ()
    said = [note for note in result.report.notes if note.startswith("campaign: ")]
    assert int(said[0].split()[1]) > 20
    assert any("never reached" in note for note in said)
