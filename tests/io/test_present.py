"""From a judged run to what is shown and written: no secret gets out, by any way."""

import json
import os
from pathlib import Path

import pytest
from attrs import evolve

from reattach.clauses import Registry
from reattach.io.files import OutputError
from reattach.io.present import Format, present, render, replay_folder, write_replays
from reattach.io.run import Run
from reattach.io.trace import read_trace
from reattach.oracle.verdict import Finding, Report

SECRETS = ("c9f09f890cb2454b9abe017cbc48367b", "0b33aa890cb2454b9abe017cbc48367b", "hunter22hunter22")
CREDENTIALS = ("Bearer hunter22hunter22",)


@pytest.mark.parametrize("wanted", Format)
def test_no_secret_in_any_report(report: Report, run: Run, registry: Registry, wanted: Format) -> None:
    assert all(secret in repr(report) for secret in SECRETS)
    loud = evolve(run, command=f"reattach probe --header 'Authorization: {CREDENTIALS[0]}'", stopped=SECRETS[2])
    text = render(present(report, loud, credentials=CREDENTIALS, replays=(None, None)), wanted, registry)
    assert [secret for secret in SECRETS if secret in text] == []
    assert "session-1" in text


def test_replay_files_hold_the_evidence_without_secrets(tmp_path: Path, report: Report, run: Run) -> None:
    paths = write_replays(tmp_path / "replays", report, run, [("same-ids", {"cuts": [3, 5]}), ("", {})], CREDENTIALS)
    assert [os.path.basename(path) for path in paths] == [
        "SES-5-cross-session-leak.jsonl",
        "CUR-5-bad-cursor-silent.jsonl",
    ]
    text = "".join(Path(path).read_text() for path in paths)
    assert [secret for secret in SECRETS if secret in text] == []
    trace = read_trace(Path(paths[0]))
    assert len(trace.observations) == len(report.findings[0].evidence)
    assert trace.header.parameters == {"cuts": [3, 5]}
    assert (trace.header.clause, trace.header.fault, trace.header.experiment, trace.header.seed) == (
        "SES-5",
        "cross-session-leak",
        "same-ids",
        7,
    )


def test_findings_of_one_clause_and_fault_get_files_of_their_own(tmp_path: Path, report: Report, run: Run) -> None:
    finding: Finding = report.findings[1]
    again = Report(clauses=(), findings=(finding, finding, finding))
    paths = write_replays(tmp_path, again, run, [("", {})] * 3)
    assert [os.path.basename(path) for path in paths] == [
        "CUR-5-bad-cursor-silent.jsonl",
        "CUR-5-bad-cursor-silent-2.jsonl",
        "CUR-5-bad-cursor-silent-3.jsonl",
    ]


def test_a_folder_that_cannot_be_made(tmp_path: Path, report: Report, run: Run) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        write_replays(tmp_path / "file" / "replays", report, run, [("", {})] * 2)


def test_runs_of_different_targets_seeds_and_profiles_have_folders_of_their_own(run: Run) -> None:
    runs = [run, evolve(run, seed=8), evolve(run, target="http://[::1]:9/mcp"), evolve(run, profile="reattach")]
    folders = {str(replay_folder(each)) for each in runs}
    assert len(folders) == 4
    assert ".reattach/127-0-0-1-8000-mcp-mcp-seed-7" in folders
    started = evolve(run, target="python server.py --port {port}", server="my server 1.0")
    assert str(replay_folder(started)) == ".reattach/my-server-1-0-mcp-seed-7"


def test_json_of_a_presented_report_names_its_replays(report: Report, run: Run, registry: Registry) -> None:
    document = json.loads(render(present(report, run, replays=("a.jsonl", None)), Format.JSON, registry))
    assert [finding["replay"] for finding in document["findings"]] == ["a.jsonl", None]
