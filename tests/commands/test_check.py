"""``reattach check``: recordings of the probe judged as the probe judged them; and files that are none."""

import gzip
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attrs import evolve, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.commands.test_probe import environment
from tests.io.hars import har
from tests.io.hostile_hars import HARS, TEXT
from tests.io.test_trace import observations
from tests.oracle.wire import Wire

from reattach.clauses import load_registry
from reattach.cli import main
from reattach.io.present import Format
from reattach.io.recordings import judge_recording
from reattach.io.redact import make_redactor
from reattach.io.trace import DEEPEST, LONGEST_LINE, SCHEMA, Entry, TraceHeader, trace_lines
from reattach.oracle.declaration import Declaration
from reattach.oracle.observation import Observation
from reattach.oracle.verdict import Profile

ROOT = Path(__file__).parents[2]
REPORT = json.loads((ROOT / "spec/schema/report-1.schema.json").read_text(encoding="utf-8"))
CLAUSES = ("DEL-1", "CUR-8")
BOUND = 120
REGISTRY = load_registry()

Check = Callable[..., tuple[int, str, str]]


pytestmark = pytest.mark.xdist_group("check")  # on one worker: what is recorded is recorded once


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    def run(*arguments: object) -> tuple[int, str, str]:
        code = main(["check", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


def document(check: Check, *arguments: object) -> tuple[int, dict[str, Any], str]:
    code, out, err = check(*arguments, "--format", "json")
    report: dict[str, Any] = json.loads(out)
    jsonschema.validate(report, REPORT)
    assert report["exit_code"] == code
    return code, report, err


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {clause["id"]: clause["outcome"] for clause in report["clauses"]}


# What the probe recorded


@frozen
class Recorded:
    file: Path
    report: dict[str, Any]


def record(folder: Path, *serve: str) -> Recorded:
    """A probe of the reference server, or of a mutant of it, with its recording and its own report."""
    server = shlex.join([sys.executable, "-m", "reattach.cli", "serve", "--policy", "short", *serve])
    file, report = folder / "recording.jsonl", folder / "report.json"
    only = [word for clause in CLAUSES for word in ("--only", clause)]
    asked = ["--policy", "short", "--seed", "1", "--budget", "10", "--record", str(file), "--output", str(report)]
    command = [sys.executable, "-m", "reattach.cli", "probe", "--command", f"{server} --port {{port}}"]
    done = subprocess.run(
        [*command, *only, *asked, "--format", "json"],
        cwd=folder,
        env=environment(),
        timeout=BOUND,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return Recorded(file, json.loads(report.read_text()))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def mutant(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("mutant"), "--mutant", "inclusive-cursor")


def told(report: dict[str, Any]) -> list[object]:
    """What a report says of the clauses that the probe was asked about."""
    # The campaign shows each with an exchange that it has shrunk, so those are not compared.
    keys = ("clause", "level", "fault", "kind", "times")
    findings = [[each[key] for key in keys] for each in report["findings"] if each["clause"] in CLAUSES]
    clauses = [each for each in report["clauses"] if each["id"] in CLAUSES]
    return [clauses, findings]


def test_a_recording_of_a_right_server_conforms(clean: Recorded, check: Check) -> None:
    code, report, err = document(check, clean.file)
    assert (code, report["verdict"], report["findings"], err) == (0, "conforms", [], "")
    assert told(report) == told(clean.report)
    assert report["run"]["revision"] == "2025-11-25"
    assert any(note.startswith("Declared: window_events") for note in report["notes"])


def test_a_recording_of_a_wrong_server_says_what_the_probe_said(mutant: Recorded, check: Check) -> None:
    code, report, _ = document(check, mutant.file)
    assert (code, report["verdict"]) == (1, "violates")
    assert told(report) == told(mutant.report)
    assert {"DEL-1 duplicate-delivery"} <= {f"{each['clause']} {each['fault']}" for each in report["findings"]}
    assert check(mutant.file)[1].rstrip().endswith(f"to repeat: reattach check {mutant.file}")


def test_packed_it_says_the_same_whatever_its_name(mutant: Recorded, tmp_path: Path, check: Check) -> None:
    packed = tmp_path / "recording.jsonl"
    packed.write_bytes(gzip.compress(mutant.file.read_bytes()))
    code, report, _ = document(check, packed)
    assert (code, told(report)) == (1, told(mutant.report))


def test_several_files_are_judged_apart_and_told_together(clean: Recorded, mutant: Recorded, check: Check) -> None:
    code, report, _ = document(check, clean.file, mutant.file, clean.file)
    assert (code, report["run"]["target"]) == (1, "3 recordings")
    one = document(check, mutant.file)[1]
    assert [each["times"] for each in report["findings"]] == [each["times"] for each in one["findings"]]
    assert all(each["summary"].startswith(f"{mutant.file}: ") for each in report["findings"])
    assert any(note.startswith(f"{mutant.file}: ") and "DEL-1 duplicate-delivery" in note for note in report["notes"])
    seen = {each["id"]: each["observations"] for each in report["clauses"]}
    alone = [document(check, each.file)[1]["clauses"] for each in (clean, mutant, clean)]
    assert seen["DEL-1"] == sum(each["observations"] for part in alone for each in part if each["id"] == "DEL-1")
    twice = document(check, mutant.file, mutant.file)[1]
    assert [each["times"] for each in twice["findings"]] == [2 * each["times"] for each in one["findings"]]


def test_a_bad_one_among_them_does_not_hide_what_the_others_say(
    clean: Recorded, mutant: Recorded, tmp_path: Path, check: Check
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no recording\n")
    code, report, err = document(check, bad, clean.file)
    assert (code, report["verdict"], outcomes(report)["DEL-1"]) == (2, "no-verdict", "held")
    assert (report["run"]["stopped"], err.count("\n")) == (err.removeprefix("reattach: ").rstrip(), 1)
    code, report, err = document(check, bad, mutant.file)
    assert (code, report["verdict"], err.count("\n")) == (1, "violates", 1)


@pytest.mark.parametrize("wanted", [wanted.value for wanted in Format])
def test_every_format(mutant: Recorded, tmp_path: Path, wanted: str, check: Check) -> None:
    code, out, err = check(mutant.file, "--format", wanted)
    assert (code, err) == (1, "")
    assert "duplicate-delivery" in out
    file = tmp_path / "report"
    code, out, err = check(mutant.file, "--format", wanted, "--output", file)
    assert (code, out, err) == (1, f"verdict: violates (exit 1); the report is in {file}\n", "")
    assert "duplicate-delivery" in file.read_text(encoding="utf-8")


# What is expected


def test_a_baseline_expects_findings_and_fails_if_they_do_not_come(
    clean: Recorded, mutant: Recorded, tmp_path: Path, check: Check
) -> None:
    found = {(each["clause"], each["fault"]) for each in document(check, mutant.file)[1]["findings"]}
    baseline = tmp_path / "baseline.toml"
    entries = (f'[[expected]]\nclause = "{clause}"\nfault = "{fault}"\nreason = "known"\n' for clause, fault in found)
    baseline.write_text("\n".join(entries))
    code, report, _ = document(check, mutant.file, "--baseline", baseline)
    assert (code, report["verdict"]) == (0, "conforms")
    assert {(each["clause"], each["fault"]) for each in report["findings"]} == found
    code, report, _ = document(check, clean.file, "--baseline", baseline)
    assert (code, report["verdict"], report["findings"]) == (1, "violates", [])
    assert "DEL-1" in check(clean.file, "--baseline", baseline)[1]
    baseline.write_text(baseline.read_text().replace("known", ""))
    code, out, err = check(clean.file, "--baseline", baseline)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_an_entry_of_another_revision_is_not_asked_about(clean: Recorded, tmp_path: Path, check: Check) -> None:
    baseline = tmp_path / "baseline.toml"
    entry = (
        '[[expected]]\nclause = "DEL-1"\nfault = "duplicate-delivery"\nreason = "known"\nrevisions = ["2025-03-26"]\n'
    )
    baseline.write_text(entry)
    assert check(clean.file, "--baseline", baseline)[0] == 0
    baseline.write_text(entry.replace("2025-03-26", "2025-11-25"))
    assert check(clean.file, "--baseline", baseline)[0] == 1


# What a header decides


def write(path: Path, seen: Sequence[Observation], header: TraceHeader | None = None) -> Path:
    lines = trace_lines(header or TraceHeader(complete=True), [Entry(each) for each in seen], make_redactor())
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def foreign_cursor() -> Wire:
    """A cursor of one session is taken on another, without a word."""
    wire = Wire()
    one, other = wire.session(), wire.session()
    one.emit("A", 2).bare("c9f09f89").log("a1b2c3d4", "A", 1).cut()
    other.get("a1b2c3d4").answer().quiet()
    return wire


def test_what_was_never_issued_is_judged_only_if_the_recording_is_complete(tmp_path: Path, check: Check) -> None:
    seen = foreign_cursor().observations
    whole = write(tmp_path / "whole.jsonl", seen)
    part = write(tmp_path / "part.jsonl", seen, TraceHeader())
    code, report, _ = document(check, whole, "--profile", "reattach")
    assert (code, outcomes(report)["CUR-3"]) == (1, "violated")
    code, report, _ = document(check, part, "--profile", "reattach")
    assert (code, outcomes(report)["CUR-3"]) == (0, "not observed")
    assert any(note.startswith("The recording does not say that it is complete") for note in report["notes"])


def test_the_profile_and_the_level_are_chosen(tmp_path: Path, check: Check) -> None:
    file = write(tmp_path / "whole.jsonl", foreign_cursor().observations)
    assert document(check, file)[0] == 0
    code, report, _ = document(check, file, "--fail-on", "any")
    assert (code, {each["kind"] for each in report["findings"]}) == (1, {"differs in an undefined area"})


def test_a_policy_goes_before_what_the_header_declares(tmp_path: Path, check: Check) -> None:
    header = TraceHeader(complete=True, declaration=Declaration(window_events=7))
    file = write(tmp_path / "whole.jsonl", foreign_cursor().observations, header)
    assert "Declared: window_events." in document(check, file)[1]["notes"]
    (tmp_path / "policy.toml").write_text("retry_ms = 5\n")
    assert "Declared: retry_ms." in document(check, file, "--policy", tmp_path / "policy.toml")[1]["notes"]
    code, out, err = check(file, "--policy", tmp_path / "none.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_session_ids_are_not_shown(tmp_path: Path, check: Check) -> None:
    secret = "c9f09f890cb2454b9abe017cbc48367b"
    wire = Wire()
    session = wire.session(secret)
    session.emit("A", 2).bare("a0").log(f"{secret}:1", "A", 1).log("a2", "A", 1).cut()
    file = write(tmp_path / "raw.jsonl", wire.observations)
    for wanted in Format:
        code, out, _ = check(file, "--format", wanted.value)
        assert (code, secret in file.read_text(), secret in out) == (1, True, False)


@pytest.mark.parametrize("seen", [[], Wire().observations], ids=["only a header", "nothing"])
def test_a_recording_in_which_nothing_happens_is_no_verdict(
    tmp_path: Path, seen: Sequence[Observation], check: Check
) -> None:
    file = write(tmp_path / "nothing.jsonl", seen)
    code, report, err = document(check, file)
    assert (code, report["verdict"], err) == (3, "no-verdict", "")
    assert "nothing in it exercises a clause" in report["run"]["stopped"]


def test_nor_does_it_pass_beside_one_that_does(clean: Recorded, tmp_path: Path, check: Check) -> None:
    file = write(tmp_path / "nothing.jsonl", [])
    code, report, _ = document(check, clean.file, file)
    assert (code, report["run"]["stopped"]) == (3, f"{file}: nothing in it exercises a clause")


def test_what_belongs_to_no_exchange_is_counted(tmp_path: Path, check: Check) -> None:
    seen = [evolve(each, connection=9) for each in foreign_cursor().observations[1:3]]
    _, report, _ = document(check, write(tmp_path / "stray.jsonl", seen))
    assert "2 observations belong to no open request and were ignored." in report["notes"]


def test_an_interruption_shows_what_was_judged(tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = foreign_cursor().observations
    monkeypatch.setattr("reattach.oracle.oracle.take", interrupted_at(line=len(seen) + 1))
    file = write(tmp_path / "whole.jsonl", seen)
    code, report, _ = document(check, file, file)
    assert (code, report["verdict"]) == (3, "no-verdict")
    assert f"Interrupted: {len(seen) - 1} observations were judged, and nothing after that." in report["notes"]


def interrupted_at(line: int) -> Callable[..., object]:
    from reattach.oracle.reconstruct import take

    def take_or_be_interrupted(run: Any, seen: Any) -> object:
        if run.index == line:
            raise KeyboardInterrupt
        return take(run, seen)

    return take_or_be_interrupted


# What is no recording

GOOD = f'{{"schema": "{SCHEMA}", "complete": true}}\n'
AT = '"at": 1, "connection": 1'
REQUEST = f'{{"type": "request", {AT}, "method": "GET"}}\n'
NUMBERS = ("-1", "1.0", "1e3", "1e400", "-1e400", "9007199254740992", "9" * 400, "9" * 5000, "true", '"1"', "[]", "{}",
           "null", "NaN", "Infinity", "-Infinity", "01", "+1", "0x1", ".5")  # fmt: skip
WRONG_TYPES = ("true", "1", "1.5", "[]", "[1]", "{}", "[null]", '{"a": 1}')
TEXTS = {"request": ("method", "session", "revision", "principal", "origin", "rpc_method"),
         "response": ("content_type", "session"), "frame": ("id", "event"),
         "comment": ("text",), "expect": ("origin",)}  # fmt: skip
NATURALS = {"request": ("at", "connection"), "response": ("status",), "frame": ("size",), "quiet": ("waited",),
            "settled": ("last",)}  # fmt: skip
NEEDED: dict[str, dict[str, object]] = {
    "request": {"method": "GET"},
    "response": {"status": 200},
    "comment": {"text": ""},
    "quiet": {"waited": 1},
    "settled": {"last": 1},
    "expect": {"keys": []},
}


def line(tag: str, **changed: str) -> str:
    """An observation with some values given as they are to stand in the text."""
    given = {"at": "1", "connection": "1", **{k: json.dumps(v) for k, v in NEEDED.get(tag, {}).items()}, **changed}
    return f'{{"type": "{tag}", {", ".join(f"{json.dumps(key)}: {value}" for key, value in given.items())}}}\n'


def deep(levels: int) -> str:
    return f'{{"type": "frame", {AT}, "payload": {"[" * levels}{"]" * levels}}}\n'


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n \n\t\n",
    "NUL": b"\0" * 100,
    "binary": bytes(range(256)),
    "UTF-16": GOOD.encode("utf-16"),
    "byte order mark": GOOD.encode("utf-8-sig"),
    "Latin-1": GOOD.encode() + '{"type": "comment", "at": 1, "connection": 1, "text": "ü"}\n'.encode("latin-1"),
    "encoded surrogate": GOOD.encode() + b'{"type": "comment", "at": 1, "connection": 1, "text": "\xed\xa0\x80"}\n',
    "overlong UTF-8": GOOD.encode() + b'{"type": "comment", "at": 1, "connection": 1, "text": "\xc0\x80"}\n',
    "raw NUL in a text": GOOD.encode() + b'{"type": "comment", "at": 1, "connection": 1, "text": "\0"}\n',
    "carriage returns": GOOD.replace("\n", "\r").encode() + REQUEST.encode(),
    "no header": REQUEST.encode(),
    "another schema": b'{"schema": "reattach-trace/2"}\n',
    "a report": b'{"schema": "reattach-report/1"}\n',
    **{f"HAR, {name}": content for name, (content, _) in HARS.items()},
    "HTML": b"<!DOCTYPE html>\n",
    "two headers": (GOOD + GOOD).encode(),
    "two recordings": (GOOD + REQUEST + GOOD + REQUEST).encode(),
    "a list": b"[" + GOOD.strip().encode() + b"]\n",
    "two objects on a line": (GOOD + REQUEST.strip() + REQUEST).encode(),
    "a request twice": (GOOD + REQUEST + REQUEST).encode(),
    "time goes back": (GOOD + REQUEST + line("quiet", at="0")).encode(),
    "a key twice": (GOOD + f'{{"type": "request", {AT}, "method": "GET", "method": "POST"}}\n').encode(),
    "a key twice in a payload": (GOOD + f'{{"type": "frame", {AT}, "payload": {{"a": 1, "a": 2}}}}\n').encode(),
    "a key twice in the header": f'{{"schema": "{SCHEMA}", "schema": "{SCHEMA}"}}\n'.encode(),
    "a long unknown key": (GOOD + f'{{"type": "frame", {AT}, "{"k" * 100_000}": 1}}\n').encode(),
    "an unknown key with escapes": (GOOD + f'{{"type": "frame", {AT}, "\\u001b[2J\\n": 1}}\n').encode(),
    "an unknown observation": (GOOD + line("teapot")).encode(),
    "an observation without a type": (GOOD + f"{{{AT}}}\n").encode(),
    "a type that is no text": (GOOD + f'{{"type": ["frame"], {AT}}}\n').encode(),
    "an experiment that is no text": (GOOD + line("frame", experiment="1")).encode(),
    "a payload too deep": (GOOD + deep(DEEPEST)).encode(),
    "a payload far too deep": (GOOD + deep(100_000)).encode(),
    "objects too deep": (GOOD + '{"a":' * 400 + "1" + "}" * 400 + "\n").encode(),
    "brackets without end": (GOOD + "[" * 1_000_000).encode(),
    "a line too long": GOOD.encode() + b'{"type": "comment", "text": "' + b"x" * LONGEST_LINE + b'"}\n',
    "blank for too long": GOOD.encode() + b" " * (LONGEST_LINE + 1),
    "a bomb of one line": gzip.compress(GOOD.encode() + b"x" * (8 * LONGEST_LINE)),
    "gzip of gzip": gzip.compress(gzip.compress(GOOD.encode())),
    "gzip with a wrong sum": gzip.compress(GOOD.encode())[:-8] + bytes(8),
    "gzip and something after": gzip.compress(GOOD.encode()) + b"something",
    "gzip by its first bytes alone": b"\x1f\x8b",
    "gzip of another method": b"\x1f\x8b\x07" + bytes(20),
    "damaged gzip": gzip.compress(GOOD.encode() + REQUEST.encode() * 50)[:12] + b"\xff" * 40,
    "a revision that is none": f'{{"schema": "{SCHEMA}", "revision": "2024-11-05"}}\n'.encode(),
    "a vantage that is none": f'{{"schema": "{SCHEMA}", "vantage": "above"}}\n'.encode(),
    "a negative declaration": f'{{"schema": "{SCHEMA}", "declaration": {{"window_ms": -1}}}}\n'.encode(),
    "an unknown declaration": f'{{"schema": "{SCHEMA}", "declaration": {{"windows": 1}}}}\n'.encode(),
    "cursors that are no list": (GOOD + line("request", cursors='"a"')).encode(),
    "an id of another sort": (GOOD + line("request", rpc_id="1.5")).encode(),
    "a party that is none": (GOOD + line("closed", by='"me"')).encode(),
    **{f"{tag} {key} {value[:12]}": (GOOD + line(tag, **{key: value})).encode()
       for tag, keys in NATURALS.items() for key in keys for value in NUMBERS},
    **{f"{tag} {key} {value}": (GOOD + line(tag, **{key: value})).encode()
       for tag, keys in TEXTS.items() for key in keys for value in WRONG_TYPES},
    **{f"header {key} {value}": f'{{"schema": "{SCHEMA}", "{key}": {value}}}\n'.encode()
       for key in ("target", "server", "summary", "declaration", "complete", "parameters")
       for value in ("null", "1", "[]", '[{"a": 1}]')},
}  # fmt: skip


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 200


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_file_is_one_line_with_its_name_and_exit_2(tmp_path: Path, name: str, check: Check) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(HOSTILE[name])
    code, out, err = check(file)
    assert code == 2
    assert err.startswith(f"reattach: {file}:")
    assert err.count("\n") == 1
    assert err.rstrip("\n").isprintable()
    assert len(err) < 600
    assert out == "" or "verdict: no-verdict (exit 2)" in out
    if name.startswith("HAR, "):
        assert err.startswith(f"reattach: {file}:{HARS[name.removeprefix('HAR, ')][1]}")


def test_a_har_without_any_mcp_is_no_verdict(tmp_path: Path, check: Check) -> None:
    file = tmp_path / "some.json"
    file.write_text(json.dumps(har([])))
    code, report, err = document(check, file)
    assert (code, report["verdict"], err) == (3, "no-verdict", "")


def test_a_bomb_of_line_feeds(tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reattach.io.trace.LONGEST_LINE", 100_000)
    file = tmp_path / "bomb"
    file.write_bytes(gzip.compress(GOOD.encode() + b"\n" * 100_001))
    code, _, err = check(file)
    assert (code, err) == (2, f"reattach: {file}:100002: blank more than 100000 bytes\n")


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_a_file_that_cannot_be_read(tmp_path: Path, kind: str, check: Check) -> None:
    file = tmp_path / "none.jsonl" if kind == "missing" else tmp_path
    code, out, err = check(file)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"reattach: {file}: cannot be read: ")


def test_what_comes_before_the_bad_line_is_judged(mutant: Recorded, tmp_path: Path, check: Check) -> None:
    lines = mutant.file.read_text().splitlines(keepends=True)
    file = tmp_path / "bad.jsonl"
    file.write_text("".join([*lines, "{\n", *lines]))
    code, report, err = document(check, file)
    where = f"{file}:{len(lines) + 1}: not JSON"
    assert (code, told(report)) == (1, told(mutant.report))
    assert err.startswith(f"reattach: {where}")
    assert report["run"]["stopped"].startswith(where)
    assert any(
        where in note and f"{len(lines) - 1} observations were before that judged" in note for note in report["notes"]
    )


def small() -> bytes:
    wire = Wire()
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    lines = trace_lines(TraceHeader(complete=True), [Entry(each) for each in wire.observations], make_redactor())
    return "".join(f"{each}\n" for each in lines).encode()


def problem_of(file: Path) -> str:
    problem = judge_recording(file, profile=Profile.MCP, registry=REGISTRY).problem
    return "" if problem is None else str(problem)


def test_cut_anywhere_it_is_bad_unless_a_line_ends_there(tmp_path: Path) -> None:
    whole, file = small(), tmp_path / "cut.jsonl"
    for end in range(1, len(whole)):
        file.write_bytes(whole[:end])
        at_an_end = b"\n" in whole[end - 1 : end + 1]
        number = whole[:end].count(b"\n") + 1
        problem = problem_of(file)
        assert (problem == "") if at_an_end else problem.startswith(f"{file}:{number}: not JSON")


def test_cut_anywhere_it_is_bad_if_packed(tmp_path: Path) -> None:
    whole, file = gzip.compress(small()), tmp_path / "cut.jsonl.gz"
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        assert problem_of(file) != ""
    file.write_bytes(whole)
    assert problem_of(file) == ""


FORMS: tuple[Callable[[bytes], bytes], ...] = (bytes, lambda whole: gzip.compress(whole, mtime=0))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(data=st.data())
def test_bytes_changed_anywhere_never_end_in_a_traceback(tmp_path: Path, check: Check, data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from([form(each) for each in (small(), TEXT.encode()) for form in FORMS])))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=6))
        whole += b"\n" if not whole else b""
    file = tmp_path / "changed"
    file.write_bytes(whole)
    code, _, err = check(file)
    assert code in (0, 1, 2, 3)
    assert err.count("\n") == (1 if err else 0)
    assert (code == 2) <= bool(err)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(seen=st.lists(observations(), max_size=8), wanted=st.sampled_from(Format))
def test_whatever_is_observed_never_ends_in_a_traceback(
    tmp_path: Path, check: Check, seen: list[Observation], wanted: Format
) -> None:
    seen = [evolve(each, connection=each.connection % 3) for each in sorted(seen, key=lambda each: each.at)]
    code, _, err = check(write(tmp_path / "odd.jsonl", seen), "--format", wanted.value, "--fail-on", "any")
    assert code in (0, 1, 2, 3)
    assert (code == 2) <= ("already had a request" in err)
