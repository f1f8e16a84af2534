"""Recordings without what messages say: they are judged as the whole ones, and do not tell it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.test_trace import observations
from tests.oracle.test_twins import played
from tests.oracle.twins.base import TWINS, Twin
from tests.oracle.wire import Wire, log
from tests.recordings.manifest import recordings

from reattach.clauses import load_registry
from reattach.io.digests import Digester, Payloads, is_digested
from reattach.io.present import write_record
from reattach.io.recorder_file import RecordingFile
from reattach.io.recordings import judge_recording
from reattach.io.redact import GrowingRedactor, make_redactor
from reattach.io.run import Run
from reattach.io.trace import Entry, TraceHeader, read_trace, write_trace
from reattach.oracle.observation import Body, Expect, Frame, Json, Observation, Request
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import ClauseResult, Profile, Report

CHAPTER = (Path(__file__).parents[2] / "spec/13-recordings.md").read_text(encoding="utf-8")
REGISTRY = load_registry()
RECORDINGS = [each for each in recordings() if each.served is not None]


def said(report: Report) -> set[tuple[str, str, str]]:
    return {(each.clause, each.fault.value, each.kind.value) for each in report.findings}


def report_on(wire: Wire, seen: list[Observation]) -> Report:
    oracle = Oracle(revision=wire.revision, declaration=wire.declaration, registry=REGISTRY)
    for each in seen:
        oracle.observe(each)
    return oracle.report(Profile.REATTACH)


def digested(seen: list[Observation]) -> list[Observation]:
    digester = Digester()
    return [told for each in seen if (told := digester.observation(each)) is not None]


def compares_runs(seen: list[Observation]) -> bool:
    """Whether a driver compares the call with the same call left alone: by what the messages say."""
    return any(isinstance(each, Expect) and each.origin == "metamorphic" for each in seen)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
@pytest.mark.parametrize("bad", [False, True])
def test_it_is_judged_as_the_whole_one(twin: Twin, bad: bool) -> None:
    wire = played(twin, bad=bad)
    whole, told = said(report_on(wire, wire.observations)), said(report_on(wire, digested(wire.observations)))
    assert told <= whole
    assert told == whole or compares_runs(wire.observations)


def outcomes(report: Report) -> dict[str, str]:
    return {each.clause: each.outcome.value for each in report.clauses}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_so_it_is_for_what_real_servers_did(recording: Any, tmp_path: Path) -> None:
    trace = read_trace(recording.file)
    file = tmp_path / "digested.jsonl"
    write_trace(file, trace.header, Digester().entries(trace.entries), make_redactor())
    whole, told = (
        judge_recording(each, profile=recording.profile, registry=REGISTRY).report for each in (recording.file, file)
    )
    assert said(told) <= said(whole)
    if not compares_runs(list(trace.observations)):
        assert (said(told), outcomes(told)) == (said(whole), outcomes(whole))


def test_those_are_not_all_of_calls_that_are_compared() -> None:
    compared = [each.name for each in RECORDINGS if compares_runs(list(read_trace(each.file).observations))]
    assert len(compared) < len(RECORDINGS) / 3


SECRET = "s3cr3t-of-the-user"
texts = st.just(SECRET) | st.text(max_size=3)
contents: st.SearchStrategy[Any] = st.recursive(
    texts | st.none() | st.integers() | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["data", "label", "n", "arguments", "text", "reason", "code", SECRET]), inner)
    ),
    max_leaves=6,
)
parts = st.dictionaries(st.sampled_from(["params", "result", "error", "more", SECRET]), contents, min_size=1)
methods = st.sampled_from(["tools/call", "initialize", "notifications/message", "notifications/resumed", None])


@settings(max_examples=50)
@given(parts, methods, st.none() | st.integers(0, 9))
def test_nothing_that_a_message_says_is_told(part: dict[str, Json], method: str | None, number: int | None) -> None:
    message: dict[str, Json] = {"jsonrpc": "2.0", "id": number, **part}
    if method is not None:
        message["method"] = method
    told = Digester().message(message)
    assert SECRET not in json.dumps(told)
    assert isinstance(told, dict)
    assert {name: told.get(name) for name in ("jsonrpc", "id", "method")} == {
        "jsonrpc": "2.0", "id": number, "method": method,
    }  # fmt: skip


@settings(max_examples=50)
@given(observations([Request, Body, Frame, Expect]))
def test_whatever_is_observed_is_told_so_or_not_at_all(observation: Observation) -> None:
    told = Digester().observation(observation)
    if told is None:
        assert isinstance(observation, Expect)
    else:
        json.dumps(read_back(told))


def read_back(observation: Observation) -> Json:
    return None if isinstance(observation, Expect) else getattr(observation, "payload", None)


def test_equal_values_have_equal_digests_in_one_file_and_others_in_another() -> None:
    one, other = Digester(), Digester()
    message: Json = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": 1, "b": [2]}}
    again: Json = {"method": "notifications/x", "params": {"b": [2], "a": 1}, "jsonrpc": "2.0"}
    assert one.message(message) == one.message(again)
    assert one.message(message) != one.message({**dict(message), "params": {"a": 1}})  # type: ignore[arg-type]
    assert one.message(message) != other.message(message)


def test_what_names_a_message_stays() -> None:
    digester = Digester()

    def told(message: Any) -> Any:
        return digester.message({"jsonrpc": "2.0", **message})

    progress = {"progressToken": "t", "progress": 3, "message": SECRET}
    assert without_digests(told({"method": "notifications/progress", "params": progress})["params"]) == {
        "progressToken": "t", "progress": 3,
    }  # fmt: skip
    cancelled = told({"method": "notifications/cancelled", "params": {"requestId": 7, "reason": SECRET}})
    assert without_digests(cancelled["params"]) == {"requestId": 7}
    call = {"name": "x", "arguments": {"label": SECRET, "a": 1}, "_meta": {"progressToken": 5, "b": 2}}
    params = told({"id": 1, "method": "tools/call", "params": call})["params"]
    series = told(log(SECRET, 4))["params"]["data"]
    assert series["n"] == 4
    assert without_digests(params) == {"arguments": {"label": series["label"]}, "_meta": {"progressToken": 5}}
    expected = digester.observation(Expect(at=0, connection=1, keys=(f"{SECRET}#4", "progress:t:3", "response:1")))
    assert isinstance(expected, Expect)
    assert expected.keys == (f"{series['label']}#4", "progress:t:3", "response:1")
    assert digester.observation(evolve(expected, keys=("notifications/x:0123456789abcdef",))) is None
    assert digester.observation(evolve(expected, origin="metamorphic")) is None
    result = told({"id": 1, "result": {"protocolVersion": "2025-11-25", "instructions": SECRET}})
    assert without_digests(result["result"]) == {"protocolVersion": "2025-11-25"}
    error = {"code": -32000, "message": SECRET, "data": {"reason": "cursor-ahead", "cursor": SECRET}}
    assert without_digests(told({"id": None, "error": error})["error"]) == {
        "code": -32000, "data": {"reason": "cursor-ahead"},
    }  # fmt: skip
    assert without_digests(told({"id": 1, "error": {"code": SECRET, "data": {"reason": SECRET}}})["error"]) == {}
    assert digester.message({}) == {}
    assert digester.message(None) is None
    assert [set(each) for each in digester.message([log("A", 1), SECRET])] == [  # type: ignore[union-attr, arg-type]
        {"jsonrpc", "method", "params"}, {"digest"},
    ]  # fmt: skip


def without_digests(part: dict[str, Any]) -> dict[str, Any]:
    assert re.fullmatch("[0-9a-f]{64}", part["digest"])
    return {name: value for name, value in part.items() if name != "digest"}


def wire() -> Wire:
    """A call whose response comes twice, on streams that are not its own too."""
    wire = Wire()
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    session.get("a1").answer().log("a1", "A", 1).log("a2", "A", 2).result("a3", 2, text=SECRET).end()
    return wire


def test_a_probes_recording_in_this_form(tmp_path: Path) -> None:
    entries = [Entry(each) for each in wire().observations]
    whole, told = tmp_path / "whole.jsonl", tmp_path / "told.jsonl"
    write_record(whole, entries, Run(target="x"))
    write_record(told, entries, Run(target="x"), payloads=Payloads.DIGEST)
    assert (SECRET in whole.read_text(), SECRET in told.read_text()) == (True, False)
    reports = [judge_recording(file, profile=Profile.MCP, registry=REGISTRY).report for file in (whole, told)]
    assert said(reports[0]) == said(reports[1]) != set()


def test_a_recording_that_is_written_as_it_goes_in_this_form(tmp_path: Path) -> None:
    file = tmp_path / "told.jsonl"
    recording = RecordingFile(file, GrowingRedactor(), Digester())
    recording.open(TraceHeader(complete=True))
    for each in wire().observations:
        recording.write(each)
    recording.write(Expect(at=9_000, connection=1, keys=("x",), origin="metamorphic"))
    recording.close()
    assert recording.lines == len(wire().observations)
    assert SECRET not in file.read_text()
    assert said(judge_recording(file, profile=Profile.MCP, registry=REGISTRY).report) != set()


def test_why_something_is_not_observed_is_said(tmp_path: Path) -> None:
    def why(payloads: Payloads) -> str:
        file = tmp_path / "told.jsonl"
        entries = [Entry(each) for each in wire().observations if not isinstance(each, Expect)]
        write_record(file, entries, Run(target="x"), payloads=payloads)
        results: tuple[ClauseResult, ...] = judge_recording(file, profile=Profile.MCP, registry=REGISTRY).report.clauses
        return next(each.note for each in results if each.clause == "ATT-4")

    assert "only digests are recorded" in why(Payloads.DIGEST)
    assert "only digests are recorded" not in why(Payloads.WHOLE)


def test_the_example_in_the_chapter_is_in_this_form() -> None:
    section = CHAPTER.partition("## Messages that may not be kept")[2].partition("\n## ")[0]
    (example,) = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    lines = [json.loads(line) for line in example.splitlines()]
    assert lines
    assert all(is_digested(line) for line in lines)
