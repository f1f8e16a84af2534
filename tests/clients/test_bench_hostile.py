"""The judges of clients take any recording: recordings of the bench are files, and files come from anyone."""

import asyncio
from functools import cache
from typing import Any

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracle.test_hostile import others, requests

from reattach.clauses import load_registry
from reattach.live.clients.bench import BenchOptions, run_script
from reattach.live.clients.client import HttpClient
from reattach.live.clients.mutants import MUTANTS
from reattach.live.clients.program import OwnProgram
from reattach.live.clients.scripts import SCRIPTS
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.clients.bench import Bench
from reattach.oracle.observation import Exited, Observation, Printed
from reattach.oracle.verdict import Profile, Report

REGISTRY = load_registry()
PLAYED = (
    ("session-gone", MUTANTS["keeps-session"].client),
    ("old-connection", MUTANTS["reads-old-connection"].client),
    ("wrong-position", MUTANTS["ignores-positions"].client),
    ("two-calls", MUTANTS["shares-cursor"].client),
    ("cursor-conflict", MUTANTS["keeps-refused-cursor"].client),
    ("standalone-cut", HttpClient),
)
words = st.sampled_from(["a", "b", "call", "applied", "result", "error", "event", "tells", "gap", ""])
said: st.SearchStrategy[Any] = st.dictionaries(
    words, words | st.none() | st.integers() | st.lists(words, max_size=2) | st.dictionaries(words, words, max_size=2)
)
lines = st.builds(Printed, at=st.integers(0, 20_000), payload=said | st.none() | words)
ends = st.builds(Exited, at=st.integers(0, 20_000), status=st.none() | st.integers(0, 255))


def judged(observations: list[Observation]) -> Report:
    bench = Bench(REGISTRY)
    bench.enter("some", observations)
    return bench.report(Profile.REATTACH, NEWEST_WITH_RESUMPTION)


def check(report: Report) -> None:
    """A finding shows itself: in order, the wrong thing last."""
    for finding in report.findings:
        assert list(finding.places) == sorted(set(finding.places))
        assert len(finding.evidence) == len(finding.places) > 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(requests, others, others, lines, lines, ends), max_size=60))
def test_any_sequence_is_judged(observations: list[Observation]) -> None:
    check(judged(observations))


@cache
def recordings() -> tuple[tuple[Observation, ...], ...]:
    """What runs with clients of all sorts looked like."""

    async def play() -> tuple[tuple[Observation, ...], ...]:
        runs = (
            run_script(BenchOptions(program=OwnProgram(client), scripts=(), bound_ms=5_000), SCRIPTS[script])
            for script, client in PLAYED
        )
        return tuple(run.observations for run in await asyncio.gather(*runs))

    return asyncio.run(play())


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_piece_of_a_run_is_judged(data: st.DataObject) -> None:
    """What was recorded, with pieces left out, repeated, moved, and put on other connections."""
    observations = list(data.draw(st.sampled_from(recordings())))
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(observations) - 1))
        taken = observations.pop(place)
        match data.draw(st.sampled_from(["leave out", "repeat", "move", "reconnect"])):
            case "repeat":
                observations[place:place] = [taken, taken]
            case "move":
                observations.insert(data.draw(st.integers(0, len(observations))), taken)
            case "reconnect":
                observations.insert(place, evolve(taken, connection=data.draw(st.integers(1, 9))))
    check(judged(observations))
