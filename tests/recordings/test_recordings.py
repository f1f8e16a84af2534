"""``reattach check`` on recordings, right ones and ones wrong in one way: every verdict, and the step that is wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from tests.project.test_files import MACHINE_PATHS
from tests.recordings.__main__ import drawn
from tests.recordings.drawing import leave_out
from tests.recordings.manifest import FILES, Recording, recordings
from tests.recordings.serving import record

from reattach.clauses import load_registry
from reattach.cli import main
from reattach.io.omissions import COSTS
from reattach.io.recordings import judge_recording
from reattach.io.redact import make_redactor
from reattach.io.trace import read_trace, write_trace
from reattach.oracle.declaration import NOTHING_DECLARED
from reattach.oracle.verdict import OF_CLIENTS, Fault, Kind, Outcome

RECORDINGS = recordings()
CHAPTER = (Path(__file__).parents[2] / "spec/13-recordings.md").read_text(encoding="utf-8")
FILE_BYTES, TOTAL_BYTES = 100_000, 1_000_000

by_name = pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)


def checked(recording: Recording, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The report of the command."""
    options = ["--profile", recording.profile.value, "--fail-on", "should", "--format", "json"]
    code = main(["check", str(recording.file), *options])
    out, err = capsys.readouterr()
    assert err == ""
    report: dict[str, Any] = json.loads(out)
    assert report["exit_code"] == code
    return report


@by_name
def test_the_verdict_is_right_and_the_wrong_step_named(
    recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    report = checked(recording, capsys)
    assert report["verdict"] == ("violates" if recording.findings else "conforms")
    open_area = Kind.UNDEFINED_AREA.value
    found = {
        (each["clause"], each["fault"], each["places"][-1]) for each in report["findings"] if each["kind"] != open_area
    }
    assert found == {(each.clause, each.fault, each.line) for each in recording.findings}
    differs = [each["clause"] for each in report["findings"] if each["kind"] == open_area]
    assert sorted(differs) == sorted(recording.differs)
    outcomes = {each["id"]: each["outcome"] for each in report["clauses"]}
    assert {clause: outcomes[clause] for clause in recording.held} == dict.fromkeys(recording.held, Outcome.HELD.value)


@pytest.mark.parametrize(
    "recording", [each for each in RECORDINGS if each.unseen], ids=lambda recording: recording.name
)
def test_what_cannot_be_told_is_not_observed_with_the_reason(
    recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    results = {each["id"]: each for each in checked(recording, capsys)["clauses"]}
    for unseen in recording.unseen:
        assert results[unseen.clause]["outcome"] == Outcome.NOT_OBSERVED.value
        assert unseen.because in results[unseen.clause]["note"]


OMISSIONS = (("payload", "expect"), ("expect",), ("settled",), ("quiet",), ("payload", "expect", "settled", "quiet"))


@pytest.mark.parametrize("without", OMISSIONS, ids="-".join)
def test_what_is_left_out_accuses_nobody(without: tuple[str, ...], tmp_path: Path) -> None:
    registry, file = load_registry(), tmp_path / "poorer.jsonl"
    for recording in RECORDINGS:
        if not recording.findings:
            trace = read_trace(recording.file)
            header = evolve(trace.header, complete=False, declaration=NOTHING_DECLARED)
            write_trace(file, header, leave_out(trace.entries, without), make_redactor())
            judged = judge_recording(file, profile=recording.profile, registry=registry)
            assert judged.problem is None
            found = [each for each in judged.report.findings if each.kind is not Kind.UNDEFINED_AREA]
            assert [f"{recording.name}: {each.summary}" for each in found] == []


@pytest.mark.parametrize(
    "recording", [each for each in RECORDINGS if each.machine is not None], ids=lambda recording: recording.name
)
def test_drawn_again_it_is_the_same(recording: Recording) -> None:
    assert recording.machine is not None
    assert drawn(recording.machine) == recording.file.read_text(encoding="utf-8")


@pytest.mark.real
def test_recorded_again_it_is_judged_the_same(tmp_path: Path) -> None:
    again = [each for each in RECORDINGS if each.served is not None and each.served.only == ["SES-7"]]
    listed = record([each.served for each in again if each.served is not None], tmp_path)
    for recording, (_, lines) in zip(again, listed, strict=True):
        file = tmp_path / recording.file.name
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        report = judge_recording(file, profile=recording.profile, registry=load_registry()).report
        assert [each.clause for each in report.findings] == [each.clause for each in recording.findings]
    assert len(again) == 2


def test_the_manifest_lists_the_files() -> None:
    assert sorted(each.file for each in RECORDINGS) == sorted(FILES.iterdir())
    assert all((each.machine is None) != (each.served is None) for each in RECORDINGS)
    clauses = {each.clause for recording in RECORDINGS for each in recording.findings}
    assert clauses <= set(load_registry().clauses)


def test_there_are_enough_of_each() -> None:
    untold = [each for each in RECORDINGS if each.unseen and not each.findings]
    wrong = [each for each in RECORDINGS if each.findings]
    right = [each for each in RECORDINGS if not each.findings and each not in untold]
    servers = {each.served.server for each in RECORDINGS if each.served is not None}
    assert min(len(wrong), len(right)) >= 20
    assert len(untold) >= 4
    assert len(servers) >= 8


def test_every_fault_class_of_servers_is_there() -> None:
    shown = {each.fault for recording in RECORDINGS for each in recording.findings}
    assert {fault.value for fault in set(Fault) - OF_CLIENTS} <= shown


def test_no_secret_and_nothing_of_this_machine_is_in_them() -> None:
    sizes = []
    for recording in RECORDINGS:
        text = recording.file.read_text(encoding="utf-8")
        sizes.append(len(text))
        assert re.search("[Bb]earer", text) is None
        assert MACHINE_PATHS.search(text) is None
        sessions = {line.get("session") for line in map(json.loads, text.splitlines())} - {None}
        assert all(re.fullmatch(r"session-\d+x*|[!-~]{1,12}", session) for session in sessions)
    assert max(sizes) < FILE_BYTES
    assert sum(sizes) < TOTAL_BYTES


def test_what_an_omission_costs_is_what_the_chapter_says() -> None:
    rows = dict(re.findall(r"^\| `([a-z]+)`[^|]* \| (.+) \|$", CHAPTER.partition("costs")[2], re.MULTILINE))
    for name, (_, clauses) in COSTS.items():
        named = set(re.findall(r"[A-Z]{3}-\d+", rows[name]))
        bad_cursors = {"CUR-3", "CUR-5", "CUR-6"} if "the same cursors" in rows[name] else set()
        assert clauses == named | bad_cursors, name
