"""The soak against real processes: one that keeps nothing, ones that leak, and one that never lets go."""

import asyncio
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from attrs import evolve

from reattach.cli import main
from reattach.io.policy_file import read_declaration
from reattach.live.soak.options import SoakOptions, SoakProgress, SoakResult
from reattach.live.soak.process import EndedError, Monitor, NoProcessError, Tree
from reattach.live.soak.soak import soak
from reattach.live.target import Command
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.soak import Growth, Phase, diagnosis
from reattach.oracle.verdict import Fault, Outcome

BOUND = 280
SERVE = [sys.executable, "-m", "reattach.cli", "serve"]
SHORT = read_declaration("short")
"""What the reference server keeps under its short policy."""

BOTH = (Phase.SESSIONS, Phase.EVENTS)
HELD = (Phase.EVENTS, Phase.RELEASE)

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def command(*words: str) -> str:
    return f"{shlex.join([*SERVE, *words])} --port {{port}}"


def run(
    *words: str,
    declaration: Declaration = SHORT,
    budget: int = 90,
    sessions: int = 20,
    phases: Sequence[Phase] = tuple(Phase),
) -> SoakResult:
    """A small soak: few sessions with large events, so that as much is put in as a process has anyway."""
    options = SoakOptions(
        command=command(*words),
        declaration=declaration,
        phases=tuple(phases),
        sessions=sessions,
        events=96,
        size=16_384,
        budget_ms=budget * 1_000,
        seed=1,
    )
    return asyncio.run(asyncio.wait_for(soak(options), BOUND))


def found(result: SoakResult) -> list[tuple[str, Fault]]:
    return [(finding.clause, finding.fault) for finding in result.report.findings]


def outcome(result: SoakResult, clause: str) -> Outcome:
    return next(each.outcome for each in result.report.clauses if each.clause == clause)


def growth(result: SoakResult) -> tuple[Growth, Growth]:
    return result.soak.trend(Phase.SESSIONS).growth, result.soak.trend(Phase.EVENTS).growth


@pytest.fixture
def endless(tmp_path: Path) -> str:
    """A policy whose age and bytes are never reached: with no-count-limit, an unbounded store."""
    file = tmp_path / "endless.toml"
    file.write_text("window_events = 16\nwindow_ms = 1000000000000\nwindow_bytes = 1000000000000\n")
    return str(file)


@pytest.mark.real
def test_the_reference_server_keeps_nothing() -> None:
    result = run("--policy", "short", budget=150)
    assert found(result) == []
    assert result.stopped == ""
    assert diagnosis(result.soak) == "no leak per session and no leak per event"
    for clause in ("WIN-1", "WIN-2", "WIN-3", "WIN-4", "IDL-1", "IDL-4", "IDL-6"):
        assert outcome(result, clause) is Outcome.HELD, clause
    assert [(one.least, one.most) for one in result.soak.retained] == [(16, 16)] * 3
    assert result.soak.left is not None
    assert result.soak.left.alive == 0


@pytest.mark.real
def test_a_store_without_bounds_is_a_leak_per_event(endless: str) -> None:
    result = run("--policy", endless, "--mutant", "no-count-limit", phases=BOTH)
    assert found(result) == [("WIN-1", Fault.UNBOUNDED_MEMORY), ("WIN-3", Fault.UNBOUNDED_MEMORY)]
    assert growth(result)[1] is Growth.GROWS
    assert growth(result)[0] is not Growth.GROWS
    trend = result.soak.trend(Phase.EVENTS)
    assert trend.fit is not None
    # A kept event takes what it is, and a little more.
    assert result.soak.event_bytes < trend.fit.low
    assert trend.fit.high < 1.3 * result.soak.event_bytes


@pytest.mark.real
def test_sessions_that_are_kept_beyond_their_end_are_a_leak_per_session() -> None:
    result = run("--policy", "short", "--mutant", "store-outlives-the-session", phases=BOTH)
    assert ("WIN-4", Fault.UNBOUNDED_MEMORY) in found(result)
    assert "WIN-3" not in {clause for clause, _ in found(result)}
    assert growth(result)[0] is Growth.GROWS
    assert growth(result)[1] is not Growth.GROWS


@pytest.mark.real
def test_sessions_that_never_end_by_themselves_are_found_out() -> None:
    idle = evolve(NOTHING_DECLARED, absence_ms=3_000)
    result = run("--policy", "short", "--mutant", "absence-never-applied", declaration=idle, phases=HELD)
    assert ("IDL-4", Fault.IDLE_NOT_ENFORCED) in found(result)
    assert result.soak.left is not None
    assert result.soak.left.alive == result.soak.left.sessions == 20


@pytest.mark.real
def test_a_reader_that_blocks_its_session_is_found_out() -> None:
    result = run("--policy", "short", "--mutant", "slow-reader-blocks-all-for-ever", phases=[Phase.PROBED])
    assert ("IDL-6", Fault.HEAD_OF_LINE_BLOCKING) in found(result)


def test_what_the_time_did_not_allow_is_not_observed() -> None:
    result = run(declaration=read_declaration("default"), budget=3, sessions=2)
    assert found(result) == []
    notes = {each.clause: each.note for each in result.report.clauses}
    assert outcome(result, "WIN-3") is Outcome.NOT_OBSERVED
    assert "of 8 needed" in notes["WIN-3"]
    for clause, reason in {"IDL-1": "not run", "IDL-4": "were not left alone"}.items():
        assert outcome(result, clause) is Outcome.NOT_OBSERVED
        assert reason in notes[clause]


def test_a_server_by_url_and_process_and_what_is_left_of_it() -> None:
    async def both() -> SoakResult:
        server = Command(command("--policy", "short"))
        await server.start()
        try:
            options = SoakOptions(url=server.endpoint.url, pid=server.pid, sessions=2, budget_ms=2_000, seed=1)
            result = await soak(options)
            assert server.pid is not None
            return result
        finally:
            await server.stop()

    result = asyncio.run(asyncio.wait_for(both(), BOUND))
    assert result.soak.start > 10_000_000
    assert result.stopped == ""


def test_a_server_that_ends_stops_the_soak_and_what_was_found_stays() -> None:
    async def killed() -> SoakResult:
        server = Command(command("--policy", "short"))
        await server.start()
        try:
            options = SoakOptions(url=server.endpoint.url, pid=server.pid, sessions=5, budget_ms=60_000, seed=1)
            begun = asyncio.Event()

            def on_progress(now: SoakProgress) -> None:
                if now.phase is Phase.SESSIONS and now.rounds > 0:
                    begun.set()

            soaking = asyncio.create_task(soak(options, on_progress))
            await begun.wait()
            await server.kill()
            return await soaking
        finally:
            await server.stop()

    result = asyncio.run(asyncio.wait_for(killed(), BOUND))
    assert "ended" in result.stopped
    assert result.soak.rounds_of(Phase.SESSIONS)


class Terminal:
    """What a command shows on a terminal, read as it comes."""

    def __init__(self) -> None:
        self._own, self.given = os.openpty()
        self._text = ""
        self._came = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # nobody has it open any more
            while piece := os.read(self._own, 4_096):
                with self._came:
                    self._text += piece.decode(errors="replace")
                    self._came.notify_all()

    def wait_for(self, words: str) -> None:
        """Wait until they stand there, within a bound."""
        with self._came:
            assert self._came.wait_for(lambda: words in self._text, BOUND), self._text

    def lines(self) -> list[str]:
        """All that was shown, without what moves the cursor; ends it."""
        os.close(self.given)
        self._reader.join(BOUND)
        os.close(self._own)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._text)
        return [line.strip() for line in re.split(r"[\r\n]+", shown) if line.strip()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_soak_reports_what_it_has_and_ends_the_server(number: signal.Signals) -> None:
    words = ["soak", "--command", command("--policy", "short"), "--sessions", "5", "--seed", "1"]
    terminal = Terminal()
    with subprocess.Popen(
        [sys.executable, "-m", "reattach.cli", *words],
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160"},
        stdout=subprocess.PIPE,
        stderr=terminal.given,
        text=True,
    ) as process:
        try:
            terminal.wait_for(" MB;")  # a phase has begun
            (server,) = psutil.Process(process.pid).children()
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 3
    assert "stopped early: interrupted" in out
    assert "to repeat: reattach soak" in out
    assert [line for line in terminal.lines() if "soaking" not in line] == []
    assert not server.is_running()


# The process, and bad usage


def test_a_process_is_measured_with_what_it_started() -> None:
    holds = "import time; held = bytearray(b'x') * 50_000_000; print(flush=True); time.sleep(60)"
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {holds!r}])"
    with subprocess.Popen([sys.executable, "-c", starts], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        tree = Tree(process.pid)
        assert 50_000_000 < tree.resident() < 120_000_000
        reading = asyncio.run(Monitor(tree, lambda: 7).settled())
        assert reading.at_ms == 7
        for child in psutil.Process(process.pid).children():
            child.kill()
    with pytest.raises(EndedError, match=f"process {process.pid} ended"):
        tree.resident()
    with pytest.raises(NoProcessError, match="no process"):
        Tree(process.pid)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["soak"], "URL"),
        (["soak", "http://127.0.0.1:1/mcp"], "--pid"),
        (["soak", "--command", "x {port}", "--pid", "1"], "--pid"),
        (["soak", "http://127.0.0.1:1/mcp", "--pid", "999999999"], "999999999"),
        (["soak", "--command", "server"], "{port}"),
        (["soak", "http://127.0.0.1:1/mcp", "--pid", "1", "--policy", "short", "--idle", "3"], "--idle"),
        (["soak", "--sessions", "0"], "--sessions"),
    ],
)
def test_bad_usage_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


def test_a_server_that_cannot_be_reached_has_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", "http://127.0.0.1:9/mcp", "--pid", str(os.getpid())]) == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_a_process_that_serves_something_else_is_refused() -> None:
    async def mistaken() -> None:
        server = Command(command("--policy", "short"))
        await server.start()
        other = await asyncio.create_subprocess_exec("sleep", "60")
        try:
            await soak(SoakOptions(url=server.endpoint.url, pid=other.pid, sessions=2, budget_ms=2_000, seed=1))
        finally:
            other.kill()
            await other.wait()
            await server.stop()

    with pytest.raises(NoProcessError, match="listens on port"):
        asyncio.run(asyncio.wait_for(mistaken(), BOUND))
