"""Replicas and restarts: lossless, or refused; never a silent gap, or another client's events under an old cursor."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from reattach.live import pace
from reattach.live.experiments import EXPERIMENTS
from reattach.live.preflight import Situation
from reattach.live.probe import ProbeOptions, ProbeResult, driving, jobs_for
from reattach.live.target import Command, free_port
from reattach.oracle.observation import Observation, Request, Restarted
from reattach.oracle.verdict import Kind, Outcome, Profile

SERVER = Path(__file__).parents[1] / "servers" / "independent" / "server.py"
BOUND = 90


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "PATIENCE_MS", (500, 2_000))  # whoever is to be accused may be accused sooner


def command(*arguments: str) -> str:
    return f"{shlex.join([sys.executable, str(SERVER), *arguments])} --port {{port}}"


async def run(experiment: str, options: ProbeOptions) -> ProbeResult:
    """One experiment against a server."""
    async with asyncio.timeout(BOUND), driving(options) as driver:

        async def drive(_: Situation) -> None:
            one = EXPERIMENTS[experiment]
            await driver.run_jobs(jobs_for([one], options.seed), one.cost)

        return await driver.run(drive)


def restarted(*arguments: str, seen: list[Observation] | None = None) -> ProbeResult:
    sink = None if seen is None else lambda observation, _: seen.append(observation)
    options = ProbeOptions(command=command(*arguments), restart=True, profile=Profile.MCP, sink=sink)
    return asyncio.run(run("restart", options))


def found(result: ProbeResult) -> dict[tuple[str, str], str]:
    """What is more than an allowed difference: clause and class, with what is said."""
    assert result.stopped == ""
    assert not [note for note in result.report.notes if "given up" in note]
    return {
        (each.clause, each.fault.value): each.summary
        for each in result.report.findings
        if each.kind is not Kind.UNDEFINED_AREA
    }


def held(result: ProbeResult) -> set[str]:
    return {each.clause for each in result.report.clauses if each.outcome is Outcome.HELD}


def test_a_server_that_remembers_nothing_refuses_its_old_sessions() -> None:
    seen: list[Observation] = []
    assert found(restarted(seen=seen)) == {}
    starts = [position for position, each in enumerate(seen) if isinstance(each, Restarted)]
    assert len(starts) == 2
    # It was asked for all that it had been asked for before: one call read to its end, one cut, one running.
    cursors = {each.cursors for each in seen[starts[-1] :] if isinstance(each, Request) and each.cursors}
    assert len(cursors) >= 3


def test_a_server_that_remembers_everything_is_lossless(tmp_path: Path) -> None:
    result = restarted("--journal", str(tmp_path / "journal"))
    assert found(result) == {}
    assert {"DEL-2", "ATT-4", "EVT-4"} <= held(result)


def test_a_server_that_remembers_sessions_and_no_events_is_found_out() -> None:
    result = restarted("--fault", "lost-events")
    assert ("DEL-2", "silent-gap") in found(result)


def test_a_server_that_gives_its_ids_again_is_found_out() -> None:
    result = restarted("--fault", "counted-ids")
    assert ("SES-5", "cross-session-leak") in found(result)
    assert "of another session" in found(result)[("SES-5", "cross-session-leak")]


def test_a_server_that_gives_a_session_its_ids_again_is_found_out(tmp_path: Path) -> None:
    result = restarted("--journal", str(tmp_path / "journal"), "--fault", "counted-ids")
    assert ("EVT-1", "id-not-unique") in found(result)


async def replicas(shared: bool, *arguments: str) -> ProbeResult:
    """The second URL is another port of one server that shares everything, or a server of its own."""
    if shared:
        port = free_port()
        options = ProbeOptions(command=command("--port", str(port), *arguments), also=f"http://127.0.0.1:{port}/mcp")
        return await run("second-url", options)
    second = Command(command(*arguments))
    await second.start()
    try:
        options = ProbeOptions(command=command(*arguments), also=second.endpoint.url)
        return await run("second-url", options)
    finally:
        await second.stop()


def test_replicas_that_share_everything_are_lossless() -> None:
    result = asyncio.run(replicas(True))
    assert found(result) == {}
    assert {"DEL-2", "ATT-4", "DEL-8", "SES-5"} <= held(result)


def test_replicas_that_share_nothing_refuse_the_session() -> None:
    result = asyncio.run(replicas(False))
    assert found(result) == {}


@pytest.mark.parametrize(
    ("fault", "finding"),
    [("lost-events", ("DEL-2", "silent-gap")), ("counted-ids", ("SES-5", "cross-session-leak"))],
)
def test_replicas_that_take_up_what_they_do_not_know_are_found_out(fault: str, finding: tuple[str, str]) -> None:
    result = asyncio.run(replicas(False, "--fault", fault))
    assert finding in found(result)
