"""``reattach probe`` as a process: reports, exit codes, interruption, and nothing left running."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import psutil
import pytest
from tests.live.scripted import Handler, Received, serve, whole
from tests.live.toy import toy

from reattach.io.trace import read_trace

ROOT = Path(__file__).parents[2]
BOUND = 90
SECRET = "hunter22hunter22"
TOY = f"from tests.live.toy import main; main()  # started by the tests of process {os.getpid()}"
"""Other workers start the same server; the comment tells theirs from ours."""


def toy_command(fault: str = "") -> str:
    return f"{shlex.join([sys.executable, '-c', TOY])} {{port}} {shlex.quote(fault)}"


def environment() -> dict[str, str]:
    """So that the command, and the servers that it starts, find the sources and the tests' own servers."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "model")])}


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "reattach.cli", *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    with start(folder, *arguments) as process:
        out, err = process.communicate(timeout=BOUND)
    assert "Traceback" not in out + err
    return process.returncode, out, err


@pytest.fixture
def no_server_left() -> Iterator[None]:
    """Nothing that a probe of this test started is left when it ends."""
    before = {process.pid for process in psutil.process_iter()}
    yield
    left = [
        process.info["cmdline"]
        for process in psutil.process_iter(["pid", "cmdline"])
        if process.pid not in before and TOY in (process.info["cmdline"] or [])
    ]
    assert left == []


def against(handler: Handler, work: Callable[[str], tuple[int, str, str]]) -> tuple[int, str, str]:
    """Run something blocking against a server in this process."""

    async def both() -> tuple[int, str, str]:
        async with asyncio.timeout(BOUND), serve(handler) as server:
            return await asyncio.to_thread(work, server.url)

    return asyncio.run(both())


async def html(_: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(whole(200, "text/html", b"<html>hello</html>"))
    await writer.drain()


async def never(_: Received, __: asyncio.StreamWriter) -> None:
    await asyncio.sleep(BOUND)


@pytest.mark.parametrize(("handler", "says"), [(html, "HTML"), (never, "no answer")], ids=["html", "never answers"])
def test_a_server_that_cannot_be_probed_has_no_verdict(tmp_path: Path, handler: Handler, says: str) -> None:
    code, out, err = against(handler, lambda url: run(tmp_path, "probe", url))
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert says in err


def test_a_server_that_is_down_has_no_verdict_and_a_report_says_so(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "probe", "http://127.0.0.1:1/mcp", "--format", "json")
    document = json.loads(out)
    assert (code, document["verdict"], document["exit_code"]) == (3, "no-verdict", 3)
    assert "cannot connect" in document["run"]["stopped"]
    assert err.count("\n") == 1
    code, out, _ = run(tmp_path, "probe", "http://127.0.0.1:1/mcp", "--format", "junit")
    assert (code, ElementTree.fromstring(out).get("errors")) == (3, "1")


def test_a_query_is_sent_and_its_values_are_never_written(tmp_path: Path) -> None:
    asked: list[str] = []

    async def echo(request: Received, writer: asyncio.StreamWriter) -> None:
        asked.append(request.path)
        said = {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": request.path}}
        writer.write(whole(400, "application/json", json.dumps(said).encode()))
        await writer.drain()

    arguments = ("--record", "record.jsonl", "--output", "report.json", "--format", "json")
    _, out, err = against(echo, lambda url: run(tmp_path, "probe", f"{url}?api_key={SECRET}&t=short7", *arguments))
    assert asked
    assert all(path.endswith(f"?api_key={SECRET}&t=short7") for path in asked)
    written = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert "secret-1" in written["record.jsonl"]
    assert "api_key=…" in json.loads(written["report.json"])["run"]["command"]
    assert [text for text in (out, err, *written.values()) if SECRET in text] == []
    targets = (
        json.loads(written["report.json"])["run"]["target"],
        json.loads(written["record.jsonl"].split("\n")[0])["target"],
    )
    assert all(target.endswith("?api_key=…&t=…") for target in targets)


def probe_toy(folder: Path, fault: str, *arguments: str) -> tuple[int, str, str]:
    return run(folder, "probe", "--command", toy_command(fault), *arguments)


def report_of(folder: Path, fault: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = probe_toy(folder, fault, "--format", "json", *arguments)
    return code, json.loads(out)


@pytest.mark.usefixtures("no_server_left")
def test_a_right_server_conforms(tmp_path: Path) -> None:
    code, document = report_of(tmp_path, "", "--only", "SES-5", "--only", "DEL-2", "--budget", "10")
    assert (code, document["verdict"], document["findings"]) == (0, "conforms", [])
    assert {clause["id"]: clause["outcome"] for clause in document["clauses"]} == {"SES-5": "held", "DEL-2": "held"}
    assert not (tmp_path / ".reattach").exists()


@pytest.mark.usefixtures("no_server_left")
def test_a_faulty_server_is_found_out_and_the_finding_is_replayed(tmp_path: Path) -> None:
    code, document = report_of(tmp_path, "leak", "--only", "SES-5", "--budget", "10", "--seed", "7")
    assert (code, document["verdict"], document["run"]["seed"]) == (1, "violates", 7)
    leaks = [finding for finding in document["findings"] if finding["fault"] == "cross-session-leak"]
    assert leaks
    assert leaks[0]["steps"][-1].endswith("<== cross-session-leak")
    sessions = {each.get("session") for each in leaks[0]["evidence"] if each["type"] == "request"} - {None}
    assert sessions
    assert all(re.fullmatch(r"session-\d+", session) for session in sessions)

    file = leaks[0]["replay"]
    code, out, _ = run(tmp_path, "replay", file)
    assert code in (1, 3)
    assert "cross-session-leak" in out
    assert f"reattach replay {file} --command" in " ".join(out.split())
    code, out, _ = run(tmp_path, "replay", file, "--command", toy_command("leak"))
    assert (code, "seen again in 1 try" in out) == (1, True)
    code, out, _ = run(tmp_path, "replay", file, "--command", toy_command())
    assert (code, "not seen again in 3 tries" in out) == (0, True)
    code, out, _ = run(tmp_path, "replay", file, "--target", "http://127.0.0.1:1/mcp")
    assert (code, "no verdict: " in out) == (3, True)


def test_a_finding_that_is_expected_fails_nothing_until_it_is_gone(tmp_path: Path) -> None:
    entry = '[[expected]]\nclause = "SES-5"\nfault = "cross-session-leak"\nreason = "one store for all, see issue 17"\n'
    (tmp_path / "baseline.toml").write_text(entry)
    arguments = ("--only", "SES-5", "--budget", "5", "--baseline", "baseline.toml")
    code, document = report_of(tmp_path, "leak", *arguments)
    assert (code, document["verdict"]) == (0, "conforms")
    assert {finding["expected"] for finding in document["findings"]} == {"one store for all, see issue 17"}
    assert "--baseline baseline.toml" in document["run"]["command"]
    code, document = report_of(tmp_path, "", *arguments)
    assert (code, document["findings"]) == (1, [])
    assert [each["fault"] for each in document["stale"]] == ["cross-session-leak"]
    # An entry about what the run does not look at is not its business.
    code, document = report_of(tmp_path, "", "--only", "SES-3", "--budget", "5", "--baseline", "baseline.toml")
    assert (code, document["stale"]) == (0, [])


def test_reports_are_written_to_a_file(tmp_path: Path) -> None:
    arguments = ("--only", "SES-5", "--budget", "5", "--replays", "here", "--output", "report")
    for wanted in ("text", "junit", "json"):
        code, out, err = probe_toy(tmp_path, "leak", "--format", wanted, *arguments)
        assert (code, err) == (1, "")
        assert out == "verdict: violates (exit 1); the report is in report\n"
        text = (tmp_path / "report").read_text()
        assert "cross-session-leak" in text
        assert "here/SES-5-cross-session-leak.jsonl" in text
        if wanted == "junit":
            assert ElementTree.fromstring(text).get("failures") == "1"


def test_a_credential_is_sent_and_never_written(tmp_path: Path) -> None:
    header = f"Authorization: Bearer {SECRET}"
    arguments = ("--only", "SES-5", "--budget", "5", "--header", header, "--record", "record.jsonl")
    _, out, err = probe_toy(tmp_path, "leak", *arguments)
    assert "Authorization: secret-1" in out
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 2
    assert [text for text in (out, err, *written) if SECRET in text] == []


@pytest.mark.usefixtures("no_server_left")
def test_a_server_that_dies_in_the_middle(tmp_path: Path) -> None:
    code, out, _ = probe_toy(tmp_path, "dies")
    assert code in (1, 3)
    assert re.search("^stopped early: the server ", out, re.MULTILINE)
    assert (code == 1) == ("verdict: violates (exit 1)" in out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_probe_prints_what_it_found_so_far(tmp_path: Path, number: signal.Signals) -> None:
    async def interrupt() -> tuple[int | None, str, str]:
        async with asyncio.timeout(BOUND), toy("leak") as server:
            with start(tmp_path, "probe", server.url, "--record", "record.jsonl", "--seed", "5") as process:
                # The preflight makes a handful of requests; at this many the experiments are under way.
                while len(server.received) < 40:
                    await asyncio.sleep(0.01)
                process.send_signal(number)
                out, err = await asyncio.to_thread(process.communicate)
                return process.returncode, out, err

    code, out, err = asyncio.run(interrupt())
    assert "Traceback" not in out + err
    assert code in (1, 3)
    assert "stopped early: interrupted" in out
    assert "--seed 5" in out
    assert len(read_trace(tmp_path / "record.jsonl").entries) > 40


@pytest.mark.usefixtures("no_server_left")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_probe_ends_the_server_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    with start(tmp_path, "probe", "--command", toy_command()) as process:
        wait_for_child(process.pid)
        process.send_signal(number)
        out, err = process.communicate(timeout=BOUND)
    assert "Traceback" not in out + err
    assert process.returncode in (1, 3)


def wait_for_child(pid: int) -> None:
    """Until a process has started one."""
    parent = psutil.Process(pid)
    for _ in range(BOUND * 20):
        if parent.children():
            return
        try:
            parent.wait(timeout=0.05)
        except psutil.TimeoutExpired:
            continue
    raise AssertionError("no child process")
