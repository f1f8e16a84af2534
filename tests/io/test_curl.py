"""Findings as curl commands: bash takes them, runs nothing of what a server sent, and the fault shows."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.io.hostile import hostile
from tests.oracle import test_twins  # noqa: F401  (importing registers the twins)
from tests.oracle.twins.base import TWINS, Twin
from tests.oracle.wire import Exchange, Session, Wire
from tests.project.readme import SAMPLE

from reattach.clauses import Registry
from reattach.cli import main
from reattach.commands.replay import read_finding
from reattach.io.curl import curl_script, render_curl
from reattach.io.present import present
from reattach.io.run import Presented, Run
from reattach.io.trace import read_trace
from reattach.oracle.observation import Closed, Frame, Json, Observation, Party, Request, Response, Restarted
from reattach.oracle.verdict import Fault, Finding, Kind, Level, Report

BOUND = 60
SSE = "text/event-stream"
BLOCKED = 80
"""Messages of the call that a stopped reader holds up."""
HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "\n touch pwned\n",
    "\r\ntouch pwned #",
    "\\'; touch pwned; #",
    "${IFS}&touch pwned&",
    "\x00\x1b[31m\u2028\u202e\ud800é",
    "!!",
    "%s%n",
    "@-",
]


def about(*evidence: Observation, fault: Fault = Fault.DUPLICATE_DELIVERY) -> Finding:
    """A finding with this evidence."""
    return Finding(
        clause="DEL-1", level=Level.MUST, kind=Kind.VIOLATES_MUST, fault=fault, summary="s", evidence=evidence
    )


def shown(finding: Finding) -> Finding:
    """The finding as it is presented: without secrets."""
    return present(Report(clauses=(), findings=(finding,)), Run(target="t"), replays=(None,)).report.findings[0]


def commands(script: str) -> list[str]:
    """The lines of a script that are no comments, after its functions."""
    lines = script[script.rindex("\n}\n") :].splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def check(script: str) -> None:
    """Bash can read it, and it is text for people: no line has anything but printable characters."""
    done = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, timeout=BOUND, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert all(line.isprintable() for line in script.split("\n"))


def run(script: str, *, path: str | None = None, url: str | None = None, cwd: Path | None = None) -> str:
    """What a script prints."""
    if url is not None:
        script = script.replace("URL=${URL:-http://127.0.0.1:8000/mcp}\n", f"URL={url}\n")
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"} if path else {}
    done = subprocess.run(
        ["bash"], input=script.encode(), capture_output=True, timeout=BOUND, env=environment, cwd=cwd, check=False
    )
    return done.stdout.decode(errors="replace")


# Every fault class


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_every_fault_becomes_a_script(twin: Twin, registry: Registry) -> None:
    wire = Wire(revision=twin.revision, declaration=twin.declaration)
    twin.build(wire, True)
    for finding in wire.findings():
        script = curl_script(shown(finding), registry, "findings/one.jsonl")
        check(script)
        assert f"{finding.fault.value} ({finding.clause} {finding.level.value})" in script
        requests = [each for each in finding.evidence if isinstance(each, Request)]
        said = [line for line in commands(script) if "curl -s" in line and ".head" in line]
        opened = [line for line in said if "-D opened" in line]
        assert len(said) == len(requests) + len(opened), "every request is made, and none twice"
        assert not any(wire_id in line for line in commands(script) for wire_id in ("session-1", "session-2")) or any(
            # A session that there never was has no id to take from an answer.
            each.session is not None and each.connection == finding.evidence[-1].connection
            for each in requests
        )


def test_the_reports_of_a_run_one_after_the_other(presented: Presented, registry: Registry) -> None:
    text = render_curl(presented, registry)
    check(text)
    assert text.count("\nURL=") == len(presented.report.findings) == 2
    empty = Presented(report=Report(clauses=()), run=presented.run, replays=())
    assert render_curl(empty, registry) == "# Nothing was found.\n"


def test_evidence_without_a_request_says_so(registry: Registry) -> None:
    script = curl_script(about(Closed(at=0, connection=1, by=Party.SERVER)), registry)
    assert script.endswith("# There is no request in its evidence, so there is nothing to tell in curl.\n")
    check(script)


# What the observations become


def emitted(
    wire: Wire, session: Session, *, count: int = 6, interval_ms: int = 0, size: int = 0, label: str = "A"
) -> Exchange:
    """A running call of the tool that numbers its messages."""
    session._rpc_id += 1
    arguments: Json = {"count": count, "interval_ms": interval_ms, "size": size, "label": label}
    payload: dict[str, Json] = {
        "jsonrpc": "2.0", "id": session._rpc_id, "method": "tools/call",
        "params": {"name": "reattach_emit", "arguments": arguments},
    }  # fmt: skip
    return session.call(rpc_id=session._rpc_id, payload=payload).expect_logs(label, count).answer()


def of(wire: Wire, clause: str) -> Finding:
    return next(finding for finding in wire.findings() if finding.clause == clause)


def script_of(wire: Wire, clause: str, registry: Registry) -> str:
    script = curl_script(shown(of(wire, clause)), registry)
    check(script)
    return script


def inclusive() -> Wire:
    wire = Wire()
    session = wire.session()
    emitted(wire, session, interval_ms=20).bare("a0").log("a1", "A", 1).cut()
    session.get("a1").answer().comment("resumed a1").bare("a1").log("a1", "A", 1)
    return wire


def test_a_cut_ends_the_pipeline_and_its_last_id_is_the_cursor(registry: Registry) -> None:
    script = script_of(inclusive(), "DEL-1", registry)
    lines = commands(script)
    assert "session1=$(session_of A)" in lines
    assert """  until_event '"n" *: *1 *[],}]' > B.body; cut_off B""" in lines
    assert any('-H "Last-Event-ID: $(id_of B)"' in line for line in lines)
    assert not re.search(r"\ba1\b", "\n".join(lines)), "ids of another run mean nothing in this one"
    assert "await" not in script, "no function that is not used"


def test_what_overlaps_runs_in_the_background(registry: Registry) -> None:
    script = "\n".join(commands(script_of(taken_over(), "ATT-2", registry)))
    assert re.search(r"curl [^&]*-o B\.body[^&]*& echo \$! > B\.pid", script)
    assert script.index("await B") < script.index("-D C.head")


def test_pauses_and_restarts(registry: Registry) -> None:
    post = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}}
    evidence: Sequence[Observation] = (
        Request(at=0, connection=1, method="POST", rpc_id=1, rpc_method="tools/call", payload=post),  # type: ignore[arg-type]
        Response(at=4, connection=1, status=200, content_type=SSE),
        Frame(at=5, connection=1, id="a"),
        Restarted(at=9),
        Request(at=1_500, connection=2, method="GET", cursors=("a",)),
        Response(at=1_501, connection=2, status=200, content_type=SSE),
    )
    script = curl_script(about(*evidence), registry)
    check(script)
    assert "\nsleep 1.491\n" in script
    assert "the server process was killed and started again" in script


@pytest.mark.parametrize(
    ("given", "cursor", "word"),
    [
        ("tag.3.9", "tag.3.9", "$(id_of A 1)"),
        ("tag.3.9", "tag.3.1009", '${id1%"${id1##*[!0-9]}"}$((10#${id1##*[!0-9]} + 1000))'),
        ("tag.3.09", "tag.3.1", '${id1%"${id1##*[!0-9]}"}$((10#${id1##*[!0-9]} - 8))'),
        ("17", "20", '${id1%"${id1##*[!0-9]}"}$((10#${id1##*[!0-9]} + 3))'),
    ],
)
def test_cursors_that_are_made_from_others(given: str, cursor: str, word: str, registry: Registry) -> None:
    finding = about(
        Request(at=0, connection=1, method="GET"),
        Response(at=1, connection=1, status=200, content_type=SSE),
        Frame(at=2, connection=1, id=given),
        Closed(at=3, connection=1, by=Party.SERVER),
        Request(at=4, connection=2, method="GET", cursors=(cursor,)),
        Response(at=5, connection=2, status=200, content_type=SSE),
    )
    script = curl_script(finding, registry)
    check(script)
    assert f'-H "Last-Event-ID: {word}"' in script
    # What the shell makes of it is the cursor.
    before = "id1=$(id_of A 1)\n" if "id1" in word else ""
    assert run(f'id_of() {{ echo {given}; }}\n{before}echo "{word}"\n') == f"{cursor}\n"


def test_cursors_that_were_given_to_nobody_stand_as_they_are(registry: Registry) -> None:
    cursors = ("x", "", 'a"b')
    finding = about(
        Request(at=0, connection=1, method="GET", cursors=cursors), Response(at=1, connection=1, status=200)
    )
    script = curl_script(finding, registry)
    check(script)
    for option in ("-H 'Last-Event-ID: x'", "-H 'Last-Event-ID;'", "-H 'Last-Event-ID: a\"b'"):
        assert option in script
    assert "does not show where this cursor came from" in script


def test_a_session_whose_initialize_is_not_shown_is_opened(registry: Registry) -> None:
    wire = Wire()
    other = wire.session()
    own = wire.session()
    other.get().answer().log("b1", "B", 1)
    own.get("b1").answer().log("b2", "B", 2)
    (first, *rest) = [each for each in wire.observations if not isinstance(each, Request) or each.rpc_id != 1]
    script = curl_script(about(first, *rest), registry)
    check(script)
    assert "the evidence leaves out how it was opened" in script
    assert "session1=$(session_of opened1)" in script


# Nothing of the other side's is run

RECORDER = """#!/bin/bash
{ printf '%s\\0' "$@"; printf '\\1\\0'; } >> "$RECORDED"
"""


def calls_of(script: str, folder: Path) -> list[list[str]]:
    """The arguments of each curl that a script runs."""
    recorder = folder / "bin" / "curl"
    recorder.parent.mkdir()
    recorder.write_text(RECORDER)
    recorder.chmod(0o755)
    recorded = folder / "recorded"
    script = f"export RECORDED={recorded} TMPDIR={folder}\n{script}"
    run(script, path=str(recorder.parent), cwd=folder)
    assert list(folder.rglob("pwned*")) == []
    calls = recorded.read_bytes().decode("utf-8", "surrogatepass").split("\1\0")[:-1]
    return [call.split("\0")[:-1] for call in calls]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_sent_as_it_is_and_never_run(text: str, registry: Registry, tmp_path: Path) -> None:
    payload: Json = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": text, text: [text]}}
    evidence = (
        Request(at=0, connection=1, method="POST", payload=payload, rpc_id=1, rpc_method="tools/call", origin=text),
        Response(at=1, connection=1, status=200, content_type=text, session=text),
        Request(at=2, connection=2, method=text, session=text, revision=text, cursors=(text, f"{text}2")),
        Response(at=3, connection=2, status=200, content_type=text),
    )
    script = curl_script(about(*evidence), registry, text)
    check(script)
    calls = calls_of(script, tmp_path)
    assert len(calls) == 2
    assert json.loads(calls[0][calls[0].index("-d") + 1]) == payload
    headers = [(f"Origin: {text}", 0)]
    headers += [(f"{name}: {text}", 1) for name in ("Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID")]
    for header, call in headers:
        if re.search(r"[\0\r\n]", text):
            assert header not in calls[call]
            assert f"{header.partition(':')[0]} had a line break or NUL" in script
        else:
            assert header in calls[call]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_report_that_is_hostile_all_over(text: str, registry: Registry, tmp_path: Path) -> None:
    script = render_curl(hostile(text), registry)
    check(script)
    assert len(calls_of(script, tmp_path)) >= 3


def test_a_body_that_is_too_long_for_an_argument_goes_through_a_file(registry: Registry) -> None:
    payload: Json = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y" * 200_000}}
    script = curl_script(about(Request(at=0, connection=1, method="POST", payload=payload)), registry)
    check(script)
    assert "-d @A.json" in script


def test_no_real_session_id_and_no_credential(report: Report, registry: Registry) -> None:
    credential = "Bearer hunter22hunter22"
    presented = present(report, Run(target="t"), credentials=(credential,), replays=(None, None))
    script = render_curl(presented, registry)
    for secret in ("c9f09f890cb2454b9abe017cbc48367b", "0b33aa890cb2454b9abe017cbc48367b", "hunter22"):
        assert secret not in script
    assert "principal1=${PRINCIPAL1:-'Authorization: Bearer principal1'}" in script


# Against a server


@contextmanager
def server(*arguments: str, policy: str = "short") -> Iterator[str]:
    """The reference server as a process, and its URL."""
    command = [sys.executable, "-m", "reattach.cli", "serve", "--policy", policy, "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().rpartition(" ")[2]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def right() -> Iterator[str]:
    """The reference server without a mistake."""
    with server() as url:
        yield url


def answers(output: str) -> dict[str, tuple[str, str]]:
    """By connection, the status and the body that a script showed."""
    sections = re.split(r"^== ", output, flags=re.MULTILINE)[1:]
    found = {}
    for section in sections:
        head, _, body = section.partition("\n")
        name, _, status = head.strip().partition(" ")
        found[name] = (re.sub(r"^HTTP/1.1 (\d+).*", r"\1", status), body)
    return found


def numbers(body: str) -> list[int]:
    """The numbers of the messages in a body."""
    return [int(number) for number in re.findall(r'"n":(\d+)', body)]


def leaked() -> Wire:
    wire = Wire()
    owner, thief = wire.session(), wire.session()
    emitted(wire, owner, count=2).bare("a0").log("a1", "A", 1).log("a2", "A", 2).result("a3").end()
    thief.get("a0").answer().log("a1", "A", 1).log("a2", "A", 2)
    return wire


def silent() -> Wire:
    wire = Wire()
    session = wire.session()
    emitted(wire, session, count=1).bare("a0").log("a1", "A", 1).result("a2").end()
    session.get("x").answer().quiet(300)
    return wire


def hanging() -> Wire:
    wire = Wire()
    session = wire.session()
    emitted(wire, session, count=1).bare("a0").log("a1", "A", 1).result("a2").end()
    session.get("x").quiet(1_500).cut()
    session.ping()
    return wire


def deleted() -> Wire:
    wire = Wire()
    session = wire.session()
    session.delete()
    session.ping(200)
    return wire


def taken_over() -> Wire:
    wire = Wire()
    session = wire.session()
    old = emitted(wire, session, count=16, interval_ms=150).bare("a0").log("a1", "A", 1)
    new = session.get("a1").answer().comment("resumed a1").bare("a1")
    for number in range(2, 13):
        new.log(f"a{number}", "A", number)
        wire.pass_time(140)
    old.log("a12", "A", 12)
    return wire


def blocked() -> Wire:
    """A reader that stops holds up another call of its session, until its connection is cut."""
    wire = Wire()
    session = wire.session()
    stopped = emitted(wire, session, count=64, size=262_144, label="A").bare("a0").pause()
    # A slow machine takes seconds to fill the stopped connection's buffers: the other call has to outlast that.
    waiting = emitted(wire, session, count=BLOCKED, interval_ms=100, label="B").bare("b0")
    wire.pass_time(500)
    waiting.log("b12", "B", 12).quiet(8_000)
    stopped.cut()
    waiting.log("b13", "B", 13)
    return wire


def twice() -> Wire:
    wire = Wire()
    session = wire.session()
    listener = session.get().answer().bare("g0")
    emitted(wire, session, count=3).bare("a0").log("a1", "A", 1)
    listener.log("g1", "A", 1)
    return wire


Shows = Callable[[dict[str, tuple[str, str]]], bool]

MISTAKES: list[tuple[str, str, Callable[[], Wire], Shows]] = [
    ("inclusive-cursor", "DEL-1", inclusive, lambda a: numbers(a["C"][1])[0] == 1),
    ("foreign-cursor-is-served", "SES-5", leaked, lambda a: a["D"][0] == "200" and '"label":"A"' in a["D"][1]),
    ("bad-cursor-stays-open", "CUR-2", silent, lambda a: a["B"] == ("200", "\n")),
    ("bad-cursor-is-never-answered", "CUR-10", hanging, lambda a: a["B"][0] == "no answer"),
    ("delete-does-nothing", "SES-2", deleted, lambda a: a["B"][0] == "204" and a["C"][0] == "200"),
    ("second-reader", "ATT-2", taken_over, lambda a: bool({*numbers(a["B"][1])} & {*numbers(a["C"][1])})),
    ("slow-reader-blocks-all-for-ever", "IDL-6", blocked, lambda a: numbers(a["C"][1])[-1] < BLOCKED),
    ("message-on-both-streams", "DEL-4", twice, lambda a: 1 in numbers(a["B"][1]) and 1 in numbers(a["C"][1])),
]


@pytest.fixture(scope="module")
def _curl() -> None:
    if shutil.which("curl") is None:
        pytest.skip(reason="no curl here")


@pytest.mark.usefixtures("_curl")
@pytest.mark.parametrize(("mutant", "clause", "build", "shows"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_a_script_shows_the_fault_on_the_server_that_has_it_and_on_no_other(
    mutant: str, clause: str, build: Callable[[], Wire], shows: Shows, right: str, registry: Registry, tmp_path: Path
) -> None:
    script = f"export TMPDIR={tmp_path}\n{script_of(build(), clause, registry)}"
    with server("--mutant", mutant) as wrong:
        assert shows(answers(run(script, url=wrong)))
    assert not shows(answers(run(script, url=right)))


@pytest.mark.usefixtures("_curl")
def test_a_race_shows_in_some_runs_and_on_no_other_server(registry: Registry, tmp_path: Path) -> None:
    """The README's finding, as it was recorded from the official SDK's server."""
    finding, _, _ = read_finding(SAMPLE, read_trace(SAMPLE), registry)
    script = f"export TMPDIR={tmp_path}\n{curl_script(shown(finding), registry)}"

    def gap(url: str) -> bool:
        came = numbers(answers(run(script, url=url))["C"][1])
        assert came
        return came != list(range(came[0], came[0] + len(came)))

    # By the short policy what was emitted before the resumption would have left the window.
    with server("--mutant", "lost-at-hand-over", policy="default") as wrong, server(policy="default") as right:
        runs = next(number for number in range(1, 20) if gap(wrong))
        assert not any(gap(right) for _ in range(runs))


# The command


def test_replay_prints_it_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], registry: Registry) -> None:
    assert main(["replay", str(SAMPLE), "--format", "curl"]) == 3
    printed = capsys.readouterr().out
    check(printed)
    assert printed.startswith("# silent-gap  DEL-2 MUST")
    file = tmp_path / "finding.sh"
    assert main(["replay", str(SAMPLE), "--format", "curl", "--output", str(file)]) == 3
    assert file.read_text(encoding="utf-8") == printed
