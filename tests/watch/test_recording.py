"""Recordings that are written as they go: whole lines whatever happens, no secrets, and judged as the run was."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.watch.ground import BOUND, REGISTRY, run, until

from reattach.clauses import About
from reattach.io.recorder_file import RecordingFile
from reattach.io.recordings import ONE_SIDED, judge_recording
from reattach.io.redact import GrowingRedactor
from reattach.io.trace import TraceHeader, observation_to_json, read_trace
from reattach.live.client import Client, Principal, Session
from reattach.live.recorder import Recorder
from reattach.live.serve import ServeOptions, serving
from reattach.live.server.settings import Settings
from reattach.live.watch.proxy import ProxyOptions
from reattach.live.watch.sentence import read_sentence
from reattach.live.watch.watch import WatchOptions, watch
from reattach.live.wire import parse_url
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.observation import Body, Closed, Frame, Json, Observation, Party, Request, Response, Vantage
from reattach.oracle.verdict import Outcome, Profile, Report

TOKEN = "a-very-secret-token"


class Nobody:
    """Judges nothing."""

    def observe(self, observation: Observation, *, experiment: str = "") -> tuple[()]:
        return ()


def emit(count: int, interval_ms: int = 0) -> dict[str, Json]:
    """The parameters of a call."""
    return {"name": "reattach_emit", "arguments": {"count": count, "interval_ms": interval_ms, "label": "x"}}


def client(url: str, token: str | None = None) -> Client:
    principal = Principal(None, (("Authorization", f"Bearer {token}"),)) if token else Principal(None)
    return Client(parse_url(url), Recorder(Nobody()), NEWEST_WITH_RESUMPTION, principal)


async def start(target: str, *options: str) -> tuple[asyncio.subprocess.Process, str]:
    """``reattach watch`` as a process; its URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "reattach.cli",
        "watch",
        "--target",
        target,
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async with asyncio.timeout(BOUND):
        line = (await process.stderr.readline()).decode()
    assert "stands before" in line, line + (await process.stderr.read()).decode()
    return process, line.split()[2]


def test_a_recording_survives_a_kill_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "watched.jsonl"
    seen: list[Json] = []
    secret = ""

    async def work() -> None:
        nonlocal secret
        settings = Settings(tokens={"someone": TOKEN})
        async with serving(ServeOptions(settings=settings)) as running:
            process, url = await start(running.url, "--record", str(path), "--complete")
            try:
                session = await Session.open(client(url, TOKEN))
                secret = session.id or ""
                view = await session.request(
                    "tools/call",
                    {"name": "reattach_emit", "arguments": {"count": 5_000, "interval_ms": 1, "label": "x"}},
                )
                await view.wait(lambda now: len(now.messages) >= 50, BOUND * 1_000)
            finally:
                process.send_signal(signal.SIGKILL)
                await process.communicate()
            await view.over(BOUND * 1_000)
            seen.extend(view.messages)

    run(work())
    text = path.read_text()
    lines = text.split("\n")
    assert lines[-1] == ""  # each write is a whole line
    trace = read_trace(path)
    recorded = [each.payload for each in trace.observations if isinstance(each, Frame) and each.payload is not None]
    # What the kernel had taken of the last event when the process died was taken, and its line may be missing.
    assert recorded in (seen, seen[:-1])
    assert trace.header.vantage is Vantage.BETWEEN
    assert trace.header.complete
    judged = judge_recording(path, profile=Profile.REATTACH, registry=REGISTRY)
    assert judged.problem is None
    assert judged.report.findings == ()
    assert secret
    assert secret not in text
    assert TOKEN not in text


def said(report: Report) -> list[tuple[str, Outcome, int]]:
    """What a report says of the server, but for the reasons why something was not observed."""
    server = (each for each in report.clauses if REGISTRY[each.clause].about is not About.CLIENT)
    return [(each.clause, each.outcome, each.observations) for each in server]


def test_what_is_recorded_is_judged_as_the_run_was(tmp_path: Path) -> None:
    path = tmp_path / "watched.jsonl"
    urls: list[str] = []

    async def work() -> None:
        stop = asyncio.Event()
        async with serving(ServeOptions()) as running:
            options = WatchOptions(
                proxy=ProxyOptions(endpoint=parse_url(running.url)),
                complete=True,
                faults=(read_sentence("cut a view after three events"),),
                record=path,
            )
            watching = asyncio.create_task(
                watch(
                    options,
                    REGISTRY,
                    stop=stop,
                    on_ready=lambda proxy: urls.append(proxy.url),
                    on_finding=lambda _, finding: pytest.fail(finding.summary),
                    on_problem=lambda problem: pytest.fail(str(problem)),
                )
            )
            await until(lambda: len(urls) == 1)
            session = await Session.open(client(urls[0]))
            view = await session.request("tools/call", emit(10))
            await view.over(BOUND * 1_000)
            again = await session.listen(view.cursor or "")
            await again.over(BOUND * 1_000)
            assert len(view.messages) + len(again.messages) == 11
            await session.close()
            stop.set()
            result = await watching
        assert result.server.startswith("reattach-reference")
        assert any("cut a view after 3 events: acted once" in note for note in result.report.notes)
        judged = judge_recording(path, profile=Profile.MCP, registry=REGISTRY)
        assert judged.problem is None
        assert ONE_SIDED in judged.report.notes
        assert said(judged.report) == said(result.report)
        held = {each.clause for each in judged.report.clauses if each.outcome is Outcome.HELD}
        assert {"DEL-" + "1", "DEL-" + "2", "SES-" + "1"} <= held

    run(work())


# The file


def opened(path: Path) -> RecordingFile:
    recording = RecordingFile(path, GrowingRedactor())
    recording.open(TraceHeader(vantage=Vantage.BETWEEN))
    return recording


def test_what_a_reader_refuses_is_left_out(tmp_path: Path) -> None:
    deep: Json = 1
    for _ in range(200):
        deep = [deep]
    recording = opened(tmp_path / "r.jsonl")
    surrogate: Json = {"a": [1, {"b": "\ud800"}]}
    brackets: Json = {"text": "[" * 500}
    given: list[Json] = [float("nan"), float("inf"), deep, surrogate, brackets]
    for number, payload in enumerate(given, start=1):
        recording.write(Frame(at=number, connection=number, payload=payload, has_data=True))
    recording.close()
    payloads = [each.payload for each in read_trace(tmp_path / "r.jsonl").observations if isinstance(each, Frame)]
    assert payloads == [None, None, None, surrogate, brackets]
    assert recording.lines == 5


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_ends_the_recording_and_is_told() -> None:
    recording = RecordingFile(Path("/dev/full"), GrowingRedactor())
    with pytest.raises(Exception, match="No space left"):
        recording.open(TraceHeader())
    recording.write(Closed(at=1, connection=1, by=Party.SERVER))
    assert recording.lines == 0


# The redactor


SECRETS = st.text("abcdef0123456789-", min_size=8, max_size=36)


@given(st.lists(SECRETS, min_size=1, max_size=5, unique=True), st.text("abcdef0123456789- /", max_size=30))
def test_no_secret_that_was_told_is_written(sessions: list[str], around: str) -> None:
    redactor = GrowingRedactor()
    for session in sessions:
        redactor.tell(session)
    for session in sessions:
        seen = Request(at=1, connection=1, method="GET", session=session, cursors=(f"{around}{session}.1",))
        written = redactor.observation(seen, json.dumps(observation_to_json(seen)))
        assert isinstance(written, Request)
        assert written.session != session
        assert session not in json.dumps(observation_to_json(written))
        assert written.session is not None
        assert len(written.session) == max(len(session), len("session-") + 8)


def test_a_pseudonym_is_the_same_after_its_secret_was_forgotten() -> None:
    redactor = GrowingRedactor()
    redactor.tell("the-first-session")
    before = redactor.text("x the-first-session y")
    for number in range(1_000):
        redactor.tell(f"another-session-{number}")
    assert redactor.text("x the-first-session y") == "x the-first-session y"  # the bound on what it looks for
    redactor.tell("the-first-session")
    assert redactor.text("x the-first-session y") == before != "x the-first-session y"


def test_a_credential_is_found_by_itself_too() -> None:
    redactor = GrowingRedactor()
    redactor.tell_credential(f"Bearer {TOKEN}")
    redactor.tell_credential("")
    seen = Body(at=1, connection=1, payload={"echo": f"<{TOKEN}>"}, size=9)
    written = redactor.observation(seen, json.dumps(observation_to_json(seen)))
    assert TOKEN not in str(written)
    assert redactor.credentials == (f"Bearer {TOKEN}",)
    nothing = Response(at=1, connection=1, status=200)
    assert redactor.observation(nothing, json.dumps(observation_to_json(nothing))) is None


def test_a_cookie_is_found_by_itself_too() -> None:
    redactor = GrowingRedactor()
    redactor.tell_credential('sess=COOKIESECRET1234; mode=dark; other="QUOTEDSECRET="')
    told = redactor.text("<COOKIESECRET1234> dark QUOTEDSECRET=")
    assert "SECRET" not in told
    assert " dark " in told  # shorter than a secret


def test_many_sessions_have_many_pseudonyms(tmp_path: Path) -> None:
    recording = opened(tmp_path / "r.jsonl")
    for number in range(300):
        session = f"{number:032d}"
        recording.redactor.tell(session)
        recording.write(Response(at=number, connection=number + 1, status=200, session=session))
    recording.close()
    sessions = {each.session for each in read_trace(tmp_path / "r.jsonl").observations if isinstance(each, Response)}
    assert len(sessions) == 300
    assert os.path.getsize(tmp_path / "r.jsonl") < 100_000
