"""The client bench: our client holds every clause on every script, and with one mistake in it fails one alone."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import jsonschema
import pytest
from attrs import evolve

from reattach.clauses import About, load_registry
from reattach.cli import main
from reattach.live.clients.bench import BenchOptions, BenchResult, run_bench, run_script
from reattach.live.clients.client import HttpClient, Say
from reattach.live.clients.mutants import MUTANTS
from reattach.live.clients.program import CommandProgram, OwnProgram, Program
from reattach.live.clients.scripts import (
    SCRIPTS,
    Act,
    Call,
    Occasion,
    Rule,
    Script,
    ScriptError,
    choose_script,
    emit,
    order_of,
    random_script,
)
from reattach.live.mutants.registry import served_named
from reattach.machine.client import News
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.clients.bench import Bench
from reattach.oracle.clients.beside import NO_ORDER
from reattach.oracle.observation import Json, Printed, Request
from reattach.oracle.verdict import Fault, Outcome, Profile

REGISTRY = load_registry()
REPORT_SCHEMA = json.loads((Path(__file__).parents[2] / "spec/schema/report-1.schema.json").read_text())
CLAUSES = {clause.id for clause in REGISTRY.values() if clause.about is About.CLIENT}
OURS = f"{sys.executable} -m reattach.live.clients {{url}}"


def judged(
    program: Program, scripts: Collection[Script] = tuple(SCRIPTS.values()), bound_ms: int = 20_000
) -> BenchResult:
    """What the bench says of a program."""
    options = BenchOptions(program=program, scripts=tuple(scripts), at_once=8, bound_ms=bound_ms)
    return asyncio.run(run_bench(options, REGISTRY, Profile.REATTACH))


def broken(result: BenchResult) -> set[tuple[str, str]]:
    return {(finding.clause, finding.fault.value) for finding in result.report.findings}


def outcomes(result: BenchResult) -> dict[str, Outcome]:
    return {clause.clause: clause.outcome for clause in result.report.clauses}


def test_our_client_holds_every_clause() -> None:
    result = judged(OwnProgram())
    assert broken(result) == set()
    assert outcomes(result) == dict.fromkeys(CLAUSES, Outcome.HELD)
    assert (result.stopped, result.client) == ("", "reattach-client 0.1.0")


@pytest.mark.parametrize("name", MUTANTS)
def test_each_faulty_client_fails_its_clause_and_no_other(name: str) -> None:
    mutant = MUTANTS[name]
    result = judged(OwnProgram(mutant.client))
    assert (mutant.clause, mutant.fault.value) in broken(result)
    assert {clause for clause, _ in broken(result)} == {mutant.clause}
    for script in mutant.scripts:
        (shown,) = [run.observations for run in result.runs if run.script.name == script]
        bench = Bench(REGISTRY)
        bench.enter(script, shown, order_of(script))
        findings = bench.report(Profile.REATTACH, result.revision).findings
        assert {(each.clause, each.fault, each.experiment) for each in findings} == {
            (mutant.clause, mutant.fault, script)
        }
        assert all(each.evidence for each in findings)


def test_every_class_of_fault_fits_the_schema_of_reports() -> None:
    pattern = REPORT_SCHEMA["properties"]["findings"]["items"]["properties"]["fault"]["pattern"]
    assert [fault.value for fault in Fault if not re.fullmatch(pattern, fault.value)] == []


def test_every_clause_about_clients_has_a_faulty_client() -> None:
    assert {mutant.clause for mutant in MUTANTS.values()} == CLAUSES


def test_cuts_that_are_drawn_cost_our_client_nothing() -> None:
    result = judged(OwnProgram(), [random_script(seed) for seed in range(12)])
    assert broken(result) == set()
    for run in result.runs:
        said = [each.payload for each in run.observations if isinstance(each, Printed)]
        applied = [each["applied"] for each in said if isinstance(each, Mapping) and "applied" in each]
        assert len(applied) == 20, run.script
        assert any(isinstance(each, Mapping) and "result" in each for each in said)


@pytest.mark.parametrize("name", ["lost-at-hand-over", "replays-all-streams", "event-id-beyond-ascii"])
def test_a_servers_mistake_is_not_the_clients(name: str) -> None:
    options = BenchOptions(
        program=CommandProgram(OURS),
        scripts=(SCRIPTS["cut-after-two"], SCRIPTS["two-calls"]),
        mutant=served_named(name),
    )
    result = asyncio.run(run_bench(options, REGISTRY, Profile.REATTACH))
    assert broken(result) == set()
    assert result.stopped == ""


class Mute(HttpClient):
    """Prints nothing that is of the contract."""

    def __init__(self, url: str, calls: Sequence[Call], say: Say) -> None:
        def mumble(said: Mapping[str, Json]) -> None:
            say({"log": "something"})

        super().__init__(url, calls, mumble)


def test_of_a_client_that_prints_nothing_only_the_wire_is_judged() -> None:
    result = judged(OwnProgram(Mute))
    assert broken(result) == set()
    unseen = {each.clause: each.note for each in result.report.clauses if each.outcome is Outcome.NOT_OBSERVED}
    assert set(unseen) == {"CLI-2", "CLI-6", "CLI-8", "CLI-9"}
    assert set(unseen.values()) >= {"the program prints no line of the contract that shows what it applied"}
    assert any("lines of the program are none of the contract" in note for note in result.report.notes)


class Closes(HttpClient):
    """Takes a 404 for the end of everything: it makes no further call, and begins no session."""

    async def make(self, call: Call) -> None:
        if any(told.news is News.SESSION_LOST for told in self.state.told):
            self.say({"error": "closed", "call": call.label})
        else:
            await super().make(call)

    async def renew(self) -> None:
        if not any(told.news is News.SESSION_LOST for told in self.state.told):
            await super().renew()

    @property
    def connected(self) -> bool:
        return super().connected or self.state.told != ()


class Ends(Closes):
    """Ends at a 404, with what it has not called yet."""

    async def make(self, call: Call) -> None:
        if not any(told.news is News.SESSION_LOST for told in self.state.told):
            await super().make(call)


@pytest.mark.parametrize(
    ("client", "why"),
    [
        (Closes, "after the 404 the client failed the next call without a request"),
        (Ends, "the program ended after the 404"),
    ],
)
def test_of_a_client_that_asks_for_nothing_after_a_404_it_is_not_known_whether_it_begins_anew(
    client: type[HttpClient], why: str
) -> None:
    result = judged(OwnProgram(client), [SCRIPTS["session-gone"]])
    (unseen,) = [each for each in result.report.clauses if each.clause == "CLI-3"]
    assert unseen.outcome is Outcome.NOT_OBSERVED
    assert unseen.note.startswith(why)


class Hanging(HttpClient):
    """Never ends, and does nothing."""

    async def run(self) -> int:
        await asyncio.Event().wait()
        return 0


def test_a_client_that_does_nothing_has_no_verdict() -> None:
    options = BenchOptions(program=OwnProgram(Hanging), scripts=(SCRIPTS["undisturbed"],), start_ms=200)
    result = asyncio.run(run_bench(options, REGISTRY, Profile.REATTACH))
    assert result.stopped == "the client asked for nothing (it was not over in time)"
    assert set(outcomes(result).values()) == {Outcome.NOT_OBSERVED}


def test_what_was_observed_before_an_interruption_is_judged() -> None:
    async def interrupted() -> BenchResult:
        options = BenchOptions(
            program=OwnProgram(),
            scripts=(SCRIPTS["undisturbed"], evolve(SCRIPTS["retry-huge"], name="long", retry_ms=60_000)),
            at_once=1,
        )
        begun = asyncio.Event()

        def on_progress(done: int, total: int, running: Sequence[str]) -> None:
            if list(running) == ["long"]:
                begun.set()

        task = asyncio.create_task(run_bench(options, REGISTRY, Profile.REATTACH, on_progress))
        await begun.wait()
        task.cancel()
        return await task

    result = asyncio.run(interrupted())
    assert result.stopped == "interrupted"
    assert [run.script.name for run in result.runs] == ["undisturbed"]
    assert outcomes(result)["CLI-10"] is Outcome.HELD


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["client", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command_judges_a_program_and_a_finding_is_seen_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty = f"{OURS} --mutant keeps-first-cursor"
    report, recordings = tmp_path / "report.json", tmp_path / "recordings"
    code, out, _ = run(
        capsys,
        *("--command", faulty, "--script", "cut-after-two", "--profile", "reattach", "--seed", "7"),
        *("--format", "json", "--output", str(report), "--record", str(recordings), "--replays", str(tmp_path)),
    )
    assert (code, out) == (1, f"verdict: violates (exit 1); the report is in {report}\n")
    written = json.loads(report.read_text())
    jsonschema.validate(written, REPORT_SCHEMA)
    (finding,) = written["findings"]
    assert (finding["clause"], finding["fault"]) == ("CLI-1", "cursor-not-advanced")
    assert finding["experiment"] == "cut-after-two"
    assert written["run"]["client"].startswith("reattach-client")
    assert "--script cut-after-two" in written["run"]["command"]
    assert [each.name for each in recordings.iterdir()] == ["cut-after-two.jsonl"]
    assert main(["replay", finding["replay"]]) == 1
    assert "judged again from the recording: the same finding" in capsys.readouterr().out
    assert main(["replay", finding["replay"], "--command", faulty]) == 1
    assert main(["replay", finding["replay"], "--command", OURS]) == 0
    assert main(["replay", finding["replay"], "--target", "http://127.0.0.1:9/"]) == 2


TELLS = """
import json, sys, urllib.request
said = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
    "capabilities": {}, "clientInfo": {"name": "hunter22bearer", "version": "1"}}}
fields = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
    "Authorization": "Bearer hunter22bearer", "Cookie": "a=hunter22cookie; b=c"}
urllib.request.urlopen(urllib.request.Request(sys.argv[1], json.dumps(said).encode(), fields)).read()
print(json.dumps({"log": "hunter22bearer and hunter22cookie"}))
"""


def test_what_a_client_sent_as_a_credential_is_never_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tells.py").write_text(TELLS)
    command = f"{sys.executable} {tmp_path / 'tells.py'} {{url}}"
    report = tmp_path / "report.json"
    options = ("--script", "undisturbed", "--format", "json", "--output", str(report), "--record", str(tmp_path))
    run(capsys, "--command", command, *options, "--replays", str(tmp_path / "replays"))
    recording = (tmp_path / "undisturbed.jsonl").read_text()
    assert "log" in recording
    assert recording.count("secret-") >= 3
    written = [recording, report.read_text(), *(each.read_text() for each in (tmp_path / "replays").glob("*"))]
    assert [text for text in written if "hunter22" in text] == []


BASELINE = """
[[expected]]
clause = "CLI-4"
fault = "retry-ignored"
reason = "until our issue 3 is done"
[[expected]]
clause = "CLI-7"
fault = "disconnect-cancels"
reason = "found by other scripts"
"""


def test_what_is_expected_fails_nothing_and_some_scripts_refute_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "baseline.toml"
    path.write_text(BASELINE)
    faulty = f"{OURS} --mutant resumes-at-once"
    code, out, _ = run(capsys, "--command", faulty, "--script", "retry-500", "--baseline", str(path))
    assert code == 0
    assert "expected: until our issue 3 is done" in out
    assert "stale" not in out


def test_the_text_report_is_the_probes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--command", OURS, "--script", "retry-500", "--script", "undisturbed")
    assert code == 0
    assert "client    reattach-client" in out
    assert "`retry` is obeyed" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the client program is needed"),
        (["--command", "'unclosed {url}"], "cannot be split"),
        (["--command", "no-such-program-at-all {url}", "--script", "undisturbed"], "cannot run"),
        (["--command", OURS, "--script", "none"], "script none: neither one of undisturbed, "),
        (["--command", OURS, "--mutant", "none"], "there is no mutant none"),
        (["--command", OURS, "--format", "curl"], "a client cannot be asked"),
        (["--command", OURS, "--record", "/dev/null/recordings"], "/dev/null/recordings: cannot be written"),
        (["--command", OURS, "--bound", "inf"], "--bound"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    code, out, error = run(capsys, *arguments)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert said in error


def test_a_program_that_ends_at_once_has_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    ends = f"{sys.executable} -c 'import sys; sys.exit(\"no library\")'"
    code, out, _ = run(capsys, "--command", ends, "--script", "undisturbed")
    assert code == 3
    assert "the client asked for nothing (exit status 1; last on stderr: no library)" in out


def test_what_happens_in_every_script_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    ends = f"{sys.executable} -c 'import sys; sys.exit(\"no library\")'"
    _, out, _ = run(capsys, "--command", ends, "--script", "undisturbed", "--script", "polling")
    (note,) = (line for line in out.splitlines() if line.startswith("note: ") and "asked for nothing" in line)
    assert note.startswith("note: undisturbed, polling: the client asked for nothing (exit status 1")


def test_scripts_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--script", "list")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines()] == [*SCRIPTS, "random-cuts"]


GOOD = """
name = "flaky"
does = "Cuts each call after two messages and refuses the first resumption with 503."
retry_ms = 20
[[calls]]
label = "a"
tool = "reattach_emit"
arguments = {count = 5, interval_ms = 5, label = "a"}
[[rules]]
on = "call"
act = "cut"
after = 2
times = 0
[[rules]]
on = "resume"
act = "refuse"
status = 503
"""

SAME = """[[calls]]
label = "a"
tool = "reattach_emit"
arguments = {}
"""


def test_a_script_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "flaky.toml"
    path.write_text(GOOD)
    script = choose_script(str(path), 0)
    assert script.calls == (emit("a", 5, 5),)
    assert script.rules == (
        Rule(on=Occasion.CALL, act=Act.CUT, after=2, times=0),
        Rule(on=Occasion.RESUME, act=Act.REFUSE, status=503),
    )
    result = judged(OwnProgram(), [script])
    assert broken(result) == set()
    resumed = [each for each in result.runs[0].observations if isinstance(each, Request) and each.cursors]
    assert len(resumed) == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name =", "name", "not TOML"),
        ('on = "call"', 'on = "noon"', "one of call, resume, listen is needed"),
        ("status = 503", "status = 200", "rules[1]: status: 400 to 599 is needed to refuse"),
        ("after = 2", "after = -2", "rules[0]: after and times are 0 or more"),
        ("retry_ms = 20", "retry_ms = -1", "retry_ms"),
        ("retry_ms = 20", "speed = 1", "unknown key: speed"),
        ('name = "', 'name = "../../evil/', "name: '../../evil/"),
        ('name = "', 'name = "A', "name: 'A"),
        ("[[calls]]", "calls = [3]\n[x]", "calls[0]: a table is needed"),
        ('label = "a"', 'label = "a"\nafter = "b"', "calls[0]: after: 'b' is no other call's label"),
        ('label = "a"', 'label = "a"\nafter = "a"', "calls[0]: after: 'a' is no other call's label"),
        ('on = "call"', 'label = "z"\non = "call"', "rules[0]: label: 'z' is no call's"),
        ("[[calls]]", SAME + "[[calls]]", "calls[1]: label: 'a' is that of another call"),
    ],
)
def test_a_bad_script_file_says_what_and_where(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ScriptError) as error:
        choose_script(str(path), 0)
    assert str(error.value).startswith(f"{path}: ")
    assert said in str(error.value)


SESSIONLESS = """
import json, sys, urllib.error, urllib.request
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
headers["MCP-Protocol-Version"] = "2026-07-28"
try:
    urllib.request.urlopen(urllib.request.Request(sys.argv[1], body, headers)).read()
except urllib.error.HTTPError:
    pass
"""


def test_a_revision_without_resumption_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "client.py"
    program.write_text(SESSIONLESS)
    code, out, _ = run(capsys, "--command", f"{sys.executable} {program} {{url}}", "--script", "undisturbed")
    assert code == 3
    assert "The client chose 2026-07-28, which has no resumption" in out
    _, out, _ = run(capsys, "--command", OURS, "--script", "undisturbed")
    assert "has no resumption" not in out


def test_a_call_that_waits_for_another_is_made_when_that_has_failed() -> None:
    """What a program prints comes by another way than its requests, and may come after them."""
    script = SCRIPTS["session-gone-at-call"]
    options = BenchOptions(program=OwnProgram(MUTANTS["keeps-session"].client), scripts=(script,))
    observations = asyncio.run(run_script(options, script)).observations
    late = sorted(observations, key=lambda each: isinstance(each, Printed))
    found = {}
    for order in (script.order, NO_ORDER):
        bench = Bench(REGISTRY)
        bench.enter(script.name, late, order)
        report = bench.report(Profile.REATTACH, NEWEST_WITH_RESUMPTION)
        found[bool(order)] = {(each.clause, each.fault) for each in report.findings if each.clause == "CLI-3"}
    assert found == {True: {("CLI-3", Fault.CLIENT_NO_REINITIALIZE)}, False: set()}


def test_two_scripts_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace("flaky", "undisturbed"))
    code, out, error = run(capsys, "--command", OURS, "--script", str(path), "--script", "undisturbed")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "two scripts have the name undisturbed" in error


def test_what_holds_a_programs_output_does_not_hold_the_bench(tmp_path: Path) -> None:
    """It is in a session of its own, so that the bench cannot know it, and goes when the test lets it."""
    program = tmp_path / "leaves.py"
    program.write_text(
        "import subprocess, sys\n"
        "sleeper = [sys.executable, '-c', 'import sys; open(sys.argv[1]).read()']\n"
        f"subprocess.Popen([*sleeper, {str(tmp_path / 'end')!r}], start_new_session=True)\n"
    )
    os.mkfifo(tmp_path / "end")
    options = BenchOptions(program=CommandProgram(f"{sys.executable} {program}"), scripts=(SCRIPTS["undisturbed"],))
    try:
        result = asyncio.run(run_bench(options, REGISTRY, Profile.MCP))
        assert result.runs[0].ending.status == 0
        assert result.elapsed_ms < options.start_ms
    finally:
        with (tmp_path / "end").open("w"):
            pass


def test_credentials_of_a_command_are_never_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys; sys.exit('refused: Authorization: Bearer said-aloud-9')")
    command = f"{sys.executable} {program} {{url}} --token given-1 --header 'Authorization: Bearer given-22'"
    folder = tmp_path / "recordings"
    _, out, err = run(capsys, "--command", command, "--script", "undisturbed", "--record", str(folder))
    texts = [out, err, *(path.read_text() for path in folder.iterdir())]
    assert len(texts) == 3
    for secret in ("given-1", "given-22", "said-aloud-9"):
        assert [text for text in texts if secret in text] == []
    assert "refused: Authorization: Bearer secret-" in " ".join(out.split())


class OfSessionsOnly(HttpClient):
    """Tells that its session is lost, and not what else that means."""

    def __init__(self, url: str, calls: Sequence[Call], say: Say) -> None:
        super().__init__(url, calls, lambda said: None if said.get("event") == "gap" else say(said))


def test_a_lost_session_says_that_its_streams_are_lost() -> None:
    assert broken(judged(OwnProgram(OfSessionsOnly), [SCRIPTS["session-expires"]])) == set()
