"""Whole probes of small servers in the same event loop: a right one, and one for each fault."""

import asyncio
import shlex
import ssl
import sys
from collections.abc import Collection
from pathlib import Path

import psutil
import pytest
import trustme
from tests.live.scripted import Received, head, serve
from tests.live.toy import FAULTS, Toy, toy

from reattach.live import pace
from reattach.live import probe as probing
from reattach.live.probe import OnProgress, OptionsError, ProbeOptions, ProbeResult, Progress, probe
from reattach.live.replay import Shown, replay
from reattach.oracle.observation import Expect, Observation, Quiet, Request, Settled
from reattach.oracle.verdict import Outcome, Profile

BOUND = 120
ROOT = Path(__file__).parents[2]

SHOWN_BY = {
    "leak": ("SES-5", "cross-session-leak"),
    "all-streams": ("DEL-3", "cross-stream-replay"),
    "inclusive": ("DEL-1", "duplicate-delivery"),
    "gap": ("DEL-2", "silent-gap"),
    "deaf": ("DEL-8", "deaf-after-resume"),
    "never-ends": ("DEL-9", "stream-not-ended"),
    "conflict": ("ATT-3", "takeover-refused"),
    "silent-cursor": ("CUR-2", "bad-cursor-silent"),
    "replay-all": ("CUR-2", "replay-from-start"),
    "crash": ("CUR-10", "bad-cursor-crash"),
    "hang": ("CUR-10", "bad-cursor-hang"),
    "kill": ("CUR-10", "bad-cursor-kills-session"),
    "broadcast": ("DEL-4", "broadcast"),
    "unknown-400": ("SES-2", "wrong-status"),
    "resurrect": ("SES-4", "session-resurrected"),
    "same-id": ("EVT-1", "id-not-unique"),
    "blocked": ("IDL-6", "head-of-line-blocking"),
}
"""For each faulty server: the clause that is probed for, and the class of the fault."""
SHOWN_AS_REPAIRED = {"leak", "inclusive", "silent-cursor", "unknown-400"}
"""Faults whose finding is also shown again against a server without the fault, where it must not appear."""
NO_VIOLATION = {"no-ids", "json", "dies"}
"""Servers that promise nothing, and one that goes away."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "ANSWER_MS", 700)
    monkeypatch.setattr(probing, "DEFAULT_BUDGET_MS", 0)  # every experiment once, racy ones not again


def run(
    fault: str,
    *,
    only: Collection[str] = (),
    profile: Profile = Profile.REATTACH,
    seen: list[Observation] | None = None,
    on_progress: OnProgress | None = None,
) -> ProbeResult:
    async def go() -> ProbeResult:
        sink = None if seen is None else lambda observation, _: seen.append(observation)
        async with asyncio.timeout(BOUND), toy(fault) as server:
            options = ProbeOptions(url=server.url, only=tuple(only), profile=profile, seed=5, sink=sink)
            return await probe(options, on_progress)

    return asyncio.run(go())


def command(fault: str) -> str:
    """The toy as a command line."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.live.toy import main; main()"
    return f"{shlex.join([sys.executable, '-c', code])} {{port}} {shlex.quote(fault)}"


def faults(result: ProbeResult) -> set[str]:
    return {finding.fault.value for finding in result.report.findings}


def test_every_fault_of_the_toy_is_tried() -> None:
    assert set(SHOWN_BY) | NO_VIOLATION == set(FAULTS)


def test_a_right_server_is_not_accused() -> None:
    seen: list[Observation] = []
    result = run("", profile=Profile.MCP, seen=seen)
    assert [(finding.clause, finding.summary) for finding in result.report.findings] == []
    assert result.stopped == ""
    held = {each.clause for each in result.report.clauses if each.outcome is Outcome.HELD}
    assert {"SES-2", "SES-5", "EVT-1", "DEL-3", "DEL-4", "DEL-5", "DEL-7", "DEL-9", "GET-1"} <= held
    assert result.observations == len(seen)
    assert {Expect, Quiet, Settled} <= {type(each) for each in seen}
    assert result.server == "toy 1"
    assert any("quiet period" in note for note in result.report.notes)
    # Whatever sessions were opened were closed again.
    opened = {each.session for each in seen if isinstance(each, Request) and each.session}
    deleted = {each.session for each in seen if isinstance(each, Request) and each.method == "DELETE"}
    assert {session for session in opened if session.startswith("session-")} <= deleted


@pytest.mark.parametrize("fault", SHOWN_BY)
def test_a_fault_is_found_and_can_be_shown_again(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "PATIENCE_MS", (500, 2_000))  # whoever is to be accused may be accused sooner
    clause, class_ = SHOWN_BY[fault]
    result = run(fault, only=[clause])
    assert class_ in faults(result)
    at = next(index for index, each in enumerate(result.report.findings) if each.fault.value == class_)
    finding, job = result.report.findings[at], result.jobs[at]
    assert finding.evidence
    if job is None:
        return  # shown before the first experiment

    async def again(server_fault: str) -> bool:
        async with asyncio.timeout(BOUND), toy(server_fault) as server:
            shown = Shown(
                experiment=job.experiment.name, parameters=job.parameters, clause=finding.clause, fault=class_
            )
            replayed = await replay(ProbeOptions(url=server.url, profile=Profile.REATTACH), shown)
            assert replayed.tries >= 1
            return replayed.shown

    assert asyncio.run(again(fault))
    if fault in SHOWN_AS_REPAIRED:
        assert not asyncio.run(again(""))


@pytest.mark.parametrize("fault", ["no-ids", "json"])
def test_a_server_that_promises_nothing_is_not_accused(fault: str) -> None:
    result = run(fault, profile=Profile.MCP)
    assert [(finding.clause, finding.summary) for finding in result.report.findings] == []
    assert result.stopped == ""
    observed = {each.clause for each in result.report.clauses if each.outcome is not Outcome.NOT_OBSERVED}
    assert not {"DEL-1", "DEL-2", "ATT-1", "EVT-1"} & observed
    assert result.report.notes


def test_a_server_that_dies_ends_the_probe_with_what_was_found() -> None:
    result = run("dies")
    assert "stopped answering" in result.stopped
    assert "\n" not in result.stopped
    assert result.observations > 0


def test_a_server_process_that_dies_is_told_by_its_exit_status() -> None:
    result = asyncio.run(asyncio.wait_for(probe(ProbeOptions(command=command("dies"))), BOUND))
    assert "exit status 9" in result.stopped
    assert result.observations > 0


def test_a_replay_with_parameters_that_are_none_is_refused() -> None:
    async def go(experiment: str) -> None:
        async with asyncio.timeout(BOUND), toy() as server:
            shown = Shown(experiment=experiment, parameters={"after": "x"}, clause="DEL-1", fault="silent-gap")
            await replay(ProbeOptions(url=server.url), shown)

    with pytest.raises(OptionsError, match="parameter after: an integer is needed"):
        asyncio.run(go("cut-after-each-event"))
    with pytest.raises(OptionsError, match="no experiment 'no-such-experiment'"):
        asyncio.run(go("no-such-experiment"))


def test_a_server_that_only_hangs_up_is_no_dead_server() -> None:
    """One that answers initialize and resets everything else: given up experiment by experiment, to the end."""

    async def go() -> ProbeResult:
        async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
            if request.method == "HEAD":
                writer.write(head(405, {"Content-Length": "0"}))
            elif b'"initialize"' in request.body:
                await toy_answer(request, writer)
            else:
                writer.transport.abort()

        toy_answer = Toy().handle
        async with asyncio.timeout(BOUND), serve(answer) as server:
            return await probe(ProbeOptions(url=server.url, only=("SES-3",)))

    result = asyncio.run(go())
    assert result.stopped == ""
    assert any("no tools" in note or "stimulus" in note for note in result.report.notes)


def test_an_interrupted_probe_returns_what_it_found_and_ends_the_server() -> None:
    pids: set[int] = set()
    others = {child.pid for child in psutil.Process().children()}  # of earlier tests: multiprocessing keeps its tracker

    async def go() -> ProbeResult:
        options = ProbeOptions(command=command("silent-cursor"), profile=Profile.REATTACH)
        begun = asyncio.Event()

        def on_progress(now: Progress) -> None:
            pids.update(child.pid for child in psutil.Process().children() if child.pid not in others)
            if now.done >= 3:
                begun.set()

        probing_task = asyncio.create_task(probe(options, on_progress))
        await begun.wait()
        probing_task.cancel()
        return await probing_task

    result = asyncio.run(asyncio.wait_for(go(), BOUND))
    assert result.stopped == "interrupted"
    assert result.observations > 0
    assert pids
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_budget_that_is_over_begins_nothing_and_says_so() -> None:
    async def go() -> ProbeResult:
        async with asyncio.timeout(BOUND), toy() as server:
            return await probe(ProbeOptions(url=server.url, budget_ms=1))

    result = asyncio.run(go())
    assert any(note.startswith("the budget of 1 ms was over before: ") for note in result.report.notes)
    assert {each.outcome for each in result.report.clauses if each.clause == "SES-3"} == {Outcome.NOT_OBSERVED}


def test_progress_is_reported_to_the_end() -> None:
    steps: list[Progress] = []
    run("", only=["SES-3", "SES-8"], on_progress=steps.append)
    assert steps
    assert steps[-1].running == ()
    assert {"missing-session", "unknown-session"} <= {name for step in steps for name in step.running}


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("tool = 'steady'\n[arguments]\nof = 5", "metamorphic"),
        ("tool = 'stepping'\nprogress = true", "metamorphic"),
        ("tool = 'fickle'", None),
    ],
    ids=["steady", "progress", "fickle"],
)
def test_any_tool_can_be_the_stimulus(text: str, origin: str | None, tmp_path: Path) -> None:
    """What it sends is learned from calls left alone, if it is the same every time, and looked for after a cut."""
    path = tmp_path / "stimulus.toml"
    path.write_text(text)
    seen: list[Observation] = []

    async def go(fault: str) -> ProbeResult:
        async with asyncio.timeout(BOUND), toy(fault) as server:
            options = ProbeOptions(
                url=server.url,
                stimulus=str(path),
                only=("DEL-2",),
                profile=Profile.REATTACH,
                sink=lambda observation, _: seen.append(observation),
            )
            return await probe(options)

    right = asyncio.run(go(""))
    assert right.stimulus == str(path)
    assert [(finding.clause, finding.summary) for finding in right.report.findings] == []
    expected = [each for each in seen if isinstance(each, Expect) and not each.standalone]
    if origin is None:
        assert expected == []
        assert any("does not send the same messages every time" in note for note in right.report.notes)
        return
    assert expected
    assert {each.origin for each in expected} == {origin}
    assert {len(each.keys) for each in expected} == {6}
    assert "silent-gap" in faults(asyncio.run(go("gap")))


def test_a_server_behind_a_private_authority(tmp_path: Path) -> None:
    authority = trustme.CA()
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(served)
    ca_file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)

    async def go() -> ProbeResult:
        async with asyncio.timeout(BOUND), toy(tls=served) as server:
            return await probe(ProbeOptions(url=server.url, ca=str(ca_file), only=("DEL-8",)))

    result = asyncio.run(go())
    assert result.stopped == ""
    assert [(finding.clause, finding.summary) for finding in result.report.findings] == []
    assert not any("given up" in note for note in result.report.notes)


def test_a_second_url_of_the_deployment_is_used(tmp_path: Path) -> None:
    async def go() -> ProbeResult:
        server = Toy()
        async with asyncio.timeout(BOUND), serve(server.handle) as one, serve(server.handle) as two:
            result = await probe(ProbeOptions(url=one.url, also=two.url, only=("SES-5",)))
            assert any(request.get("last-event-id") for request in two.received)
            return result

    result = asyncio.run(go())
    assert [(finding.clause, finding.summary) for finding in result.report.findings] == []
