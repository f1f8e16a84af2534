"""HAR files: what is taken of them, what is not, and that what is not known is not made up."""

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.io.hars import INITIALIZE, STREAM, URL, entries_of, entry, event, har
from tests.oracle.episodes import EPISODES, walk
from tests.oracle.test_conforming import KINDS
from tests.oracle.twins import (  # noqa: F401  (importing registers)
    attachment,
    cursors,
    delivery,
    eras,
    events,
    idleness,
    sessions,
    window,
)
from tests.oracle.twins.base import TWINS, Twin
from tests.oracle.wire import Wire, log, result
from tests.oracle.world import World

from reattach.clauses import load_registry
from reattach.io.har import Endpoint, read_har
from reattach.io.har_file import HarError, is_har
from reattach.io.har_judged import NOT_SHOWN, judge_har
from reattach.io.recordings import Judged
from reattach.machine.policy import SHORT
from reattach.machine.revision import Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration, declaration_of
from reattach.oracle.observation import Body, Closed, Frame, Observation, Party, Request, Response
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Kind, Outcome, Profile

REGISTRY = load_registry()
S = "a5d1c2f09b7e4d31"
OPENED = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}
CALL: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "t"}}
BODY = event("a0", retry=200) + event("a1", log("A", 1)) + event("a2", log("A", 2)) + event("a3", result(2))


def opening(at: float = 0, **changed: Any) -> dict[str, Any]:
    return entry(at, **{"message": INITIALIZE, "given": S, "text": json.dumps(OPENED), **changed})


def call(at: float = 10, **changed: Any) -> dict[str, Any]:
    return entry(at, **{"session": S, "message": CALL, "kind": STREAM, "text": BODY, "receive": 50.0, **changed})


def resumption(at: float, cursor: str, text: str | None, **changed: Any) -> dict[str, Any]:
    return entry(at, "GET", **{"session": S, "cursor": cursor, "kind": STREAM, "text": text, **changed})


@pytest.fixture(autouse=True)
def _registry_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reattach.oracle.oracle.load_registry", lambda: REGISTRY)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def writing(*entries: dict[str, Any], creator: str = "Playwright") -> Path:
        path = tmp_path / "some.har"
        path.write_text(json.dumps(har(entries, creator)), encoding="utf-8")
        return path

    return writing


def endpoint(path: Path) -> Endpoint:
    (one,) = read_har(path).endpoints
    return one


def kinds(observations: Iterable[Observation], connection: int) -> list[str]:
    return [type(each).__name__ for each in observations if each.connection == connection]


def judged(path: Path, declaration: Declaration | None = None) -> Judged:
    return judge_har(path, profile=Profile.REATTACH, declaration=declaration, registry=REGISTRY)


def held(report: Judged) -> set[str]:
    return {each.clause for each in report.report.clauses if each.outcome is Outcome.HELD}


def faults(report: Judged) -> set[tuple[str, str]]:
    return {(each.clause, each.fault.value) for each in report.report.findings if each.kind is not Kind.UNDEFINED_AREA}


# What it becomes


def test_an_exchange_becomes_what_passed_in_order(write: Any) -> None:
    one = endpoint(write(opening(), call(), resumption(100, "a1", event("a2", log("A", 2)) + event("a3", result(2)))))
    assert (one.url, one.revision, one.cut, one.unknown) == (URL, "2025-11-25", (), ())
    assert kinds(one.observations, 1) == ["Request", "Response", "Body", "Closed"]
    assert kinds(one.observations, 2) == ["Request", "Response", "Frame", "Frame", "Frame", "Frame", "Closed"]
    request = next(each for each in one.observations if isinstance(each, Request) and each.connection == 3)
    assert (request.method, request.session, request.cursors) == ("GET", S, ("a1",))
    asked, answered, over = (
        next(each for each in one.observations if isinstance(each, cls) and each.connection == 2).at
        for cls in (Request, Response, Closed)
    )
    assert (answered - asked, over - answered) == (2, 50)
    frames = [each for each in one.observations if isinstance(each, Frame) and each.connection == 2]
    assert [(each.id, each.has_data, each.at) for each in frames] == [
        ("a0", False, answered), ("a1", True, answered), ("a2", True, answered), ("a3", True, answered)]  # fmt: skip


def test_entries_may_stand_in_any_order_and_be_packed(write: Any, tmp_path: Path) -> None:
    entries = [opening(), call(), resumption(100, "a1", event("a2", log("A", 2)))]
    in_order = judged(write(*entries))
    other = tmp_path / "packed"
    other.write_bytes(gzip.compress(b"\xef\xbb\xbf" + write(*reversed(entries)).read_bytes()))
    assert is_har(other)
    assert held(judged(other)) == held(in_order)
    assert {"DEL-1", "EVT-4", "SES-1"} <= held(in_order)


def test_a_body_in_base64_is_the_same(write: Any) -> None:
    plain = endpoint(write(opening(), call())).observations
    assert endpoint(write(opening(packed=True), call(packed=True))).observations == plain


def test_an_event_stands_where_it_had_surely_been_read(write: Any) -> None:
    later = entry(30, session=S, message={**CALL, "id": 3}, text=json.dumps(result(3)))
    one = endpoint(write(opening(), call(), later))
    order = [(type(each).__name__, each.connection) for each in one.observations]
    assert order.index(("Request", 3)) < order.index(("Frame", 2))


# What is ignored, and what counts


def test_only_what_is_mcp_counts_and_the_rest_is_counted(write: Any) -> None:
    other = "http://127.0.0.1:8000/other"
    path = write(
        entry(0, "GET", kind="text/html", text="<p>", url=other) | {"request": {"method": "GET", "url": other}},
        opening(1, status=307, text=""),
        opening(2, url="http://127.0.0.1:9/mcp"),
        call(10) | {"_fromCache": "disk"},
        call(15) | {"response": {**call(15)["response"], "_fetchedViaServiceWorker": True}},
        opening(20),
        call(30),
        entry(40, "GET", kind=STREAM, text=event("1", {"price": 1}), url=other) | {},
        entry(50, message={"jsonrpc": "2.0", "id": 1, "method": "eth_call"}, text="{}", url="http://127.0.0.1/rpc"),
    )
    document = json.loads(path.read_text())
    for each in document["log"]["entries"]:
        if each["request"]["url"] in (other, "http://127.0.0.1/rpc"):
            each["request"]["headers"] = [
                pair for pair in each["request"].get("headers", []) if pair["name"] != "MCP-Protocol-Version"
            ]
    path.write_text(json.dumps(document))
    read = read_har(path)
    assert [one.url for one in read.endpoints] == ["http://127.0.0.1:9/mcp", URL]
    assert read.ignored == {
        "not of MCP": 1,
        "answered with a redirection": 1,
        "answered from the browser's cache": 1,
        "answered by a service worker": 1,
        "like MCP, at a URL where nothing else is": 2,
    }
    notes = judged(path).report.notes
    assert f"HAR of 9 entries, of MCP: http://127.0.0.1:9/mcp, {URL}." in notes
    assert any(note.startswith("Entries ignored: 1 answered by a service worker; 1 answered from") for note in notes)


def test_endpoints_are_judged_apart_and_told_together(write: Any) -> None:
    wrong = "http://127.0.0.1:9/mcp"
    path = write(opening(), call(), opening(100, url=wrong), call(110, url=wrong, text=BODY.replace("a2", "a1")))
    report = judged(path)
    assert ("EVT-1", "id-not-unique") in faults(report)
    finding = next(each for each in report.report.findings if each.clause == "EVT-1")
    assert finding.summary.startswith(f"{wrong}: entry 4: ")
    assert set(finding.places) == {3, 4}


def test_the_transport_before_is_not_taken_for_this_one(write: Any) -> None:
    read = read_har(write(opening(status=202, given=None, text=""), call(status=202, text="")))
    assert (read.endpoints, read.ignored) == ((), {"of the older HTTP+SSE transport": 2})


def test_a_file_without_any_mcp_has_no_verdict(write: Any) -> None:
    report = judged(write())
    assert report.stopped == f"{report.path}: nothing in it exercises a clause"
    assert "HAR of 0 entries, of MCP: no endpoint." not in report.report.notes
    assert read_har(write(entry(0, "OPTIONS"))).ignored == {"not of MCP": 1}


@pytest.mark.parametrize("value", ["[REDACTED]", "***", "xxxxxxxx", "redacted-by-tool"])
def test_where_session_ids_were_taken_out_nothing_is_judged(write: Any, value: str) -> None:
    path = write(opening(given=value), call(session=value))
    report = judged(path)
    assert held(report) == set()
    assert any("its session ids were taken out" in note for note in report.report.notes)
    assert judged(write(opening(), call(session=None))).stopped != ""
    without = judged(write(opening(given=None), call(session=None)))
    assert without.stopped == ""  # a server that has none, or so it looks
    assert any(note.startswith(f"{URL}: no session id is in the file.") for note in without.report.notes)
    assert not any("no session id" in note for note in judged(write(opening(), call())).report.notes)


# What is not known


def test_of_a_cut_answer_nothing_is_concluded(write: Any) -> None:
    cut = call(text=None, receive=-1, failure="net::ERR_ABORTED")
    path = write(opening(), cut, resumption(100, "a1", event("a3", result(2))))
    one = endpoint(path)
    assert (one.cut, kinds(one.observations, 2)) == ((2,), ["Request", "Response", "Closed"])
    end = next(each for each in one.observations if isinstance(each, Closed) and each.connection == 2)
    assert (end.by, end.clean) == (Party.CLIENT, False)
    report = judged(path)
    assert faults(report) == set()
    assert "DEL-2" not in held(report)
    assert any(note.startswith("Cut, or not known to be whole: entry 2;") for note in report.report.notes)


@pytest.mark.parametrize(
    ("creator", "changed", "ended"),
    [
        ("Playwright", {}, True),
        ("WebInspector", {}, True),
        ("mitmproxy", {}, True),
        ("Charles Proxy", {}, False),
        ("Playwright", {"receive": 0}, False),
        ("Playwright", {"receive": -1}, False),
        ("Playwright", {"text": None}, False),
        ("Playwright", {"text": ""}, True),
        ("mitmproxy", {"text": ""}, False),
        ("mitmproxy", {"receive": 0}, False),
        ("WebInspector", {"failure": "net::ERR_ABORTED"}, False),
    ],
)
def test_who_ended_a_stream_is_known_only_if_the_file_can_tell(
    write: Any, creator: str, changed: dict[str, Any], ended: bool
) -> None:
    one = endpoint(write(opening(), call(**changed), creator=creator))
    end = next(each for each in one.observations if isinstance(each, Closed) and each.connection == 2)
    assert (end.by is Party.SERVER, one.cut) == (ended, () if ended else (2,))


def test_a_stream_that_was_resumed_while_it_was_open_may_have_ended_by_that(write: Any) -> None:
    taken = call(text=event("a0", retry=200) + event("a1", log("A", 1)))
    rest = resumption(30, "a1", event("a2", log("A", 2)) + event("a3", result(2)))
    assert endpoint(write(opening(), taken, rest)).cut == (2,)
    assert endpoint(write(opening(), taken, {**rest, "startedDateTime": "2026-05-04T12:00:01Z"})).cut == ()


def test_an_answer_without_a_time_is_left_out(write: Any) -> None:
    path = write(opening(), call() | {"time": -1})
    one = endpoint(path)
    assert (one.unknown, kinds(one.observations, 2)) == ((2,), ["Request", "Closed"])
    assert any(
        note.startswith("Without a time at which the answer came: entry 2;") for note in judged(path).report.notes
    )


def test_without_timings_an_answer_began_when_it_was_over(write: Any) -> None:
    one = endpoint(write(opening() | {"timings": None}))
    asked, answered, _, _ = (each.at for each in one.observations)
    assert answered - asked == 3


def test_an_answer_that_is_not_in_the_file_explains_nothing(write: Any) -> None:
    refused = resumption(100, "a1", None, status=409, kind="application/json", receive=-1)
    assert kinds(endpoint(write(opening(), call(), refused)).observations, 3) == ["Request", "Response"]
    assert Body in {type(each) for each in endpoint(write(opening())).observations}


def test_a_recorded_stream_that_breaks_off_in_an_event_has_only_whole_ones(write: Any) -> None:
    one = endpoint(write(opening(), call(text=BODY[:-1], receive=-1, failure="net::ERR_CONNECTION_RESET")))
    assert kinds(one.observations, 2) == ["Request", "Response", "Frame", "Frame", "Frame", "Closed"]
    end = next(each for each in one.observations if isinstance(each, Closed) and each.connection == 2)
    assert end.by is Party.NETWORK


def test_why_a_clause_was_not_observed_says_what_a_har_does_not_have(write: Any) -> None:
    notes = {each.clause: each.note for each in judged(write(opening(), call())).report.clauses}
    assert "nobody is said to have waited in vain" in notes["DEL-8"]
    assert notes["IDL-1"] == "a HAR does not show when a view was read, and when not"


def test_the_age_of_events_is_not_held_against_it(write: Any) -> None:
    notes = judged(write(opening(), call()), Declaration(window_events=9, window_ms=1)).report.notes
    assert "Declared: window_events." in notes
    assert "Not held against it, since a HAR does not say when an event came: window_ms." in notes


def test_credentials_are_not_shown_and_may_have_been_renewed(write: Any) -> None:
    renewed = call()
    renewed["request"]["headers"].append({"name": "Authorization", "value": "Bearer another"})
    first = opening()
    first["request"]["headers"].append({"name": "authorization", "value": "Bearer one"})
    path = write(first, renewed)
    requests = [each for each in endpoint(path).observations if isinstance(each, Request)]
    assert [each.principal for each in requests] == ["credentials-1", "credentials-2"]
    assert faults(judged(path)) == set()
    note = next(each.note for each in judged(path).report.clauses if each.clause == "SES-7")
    assert "renewed" in note


# Bounds


def test_an_entry_has_a_bound(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(opening(), call(text="x" * 2_000_000))
    monkeypatch.setattr("reattach.io.har_file.LARGEST_ENTRY", 1_000_000)
    report = judged(path)
    assert str(report.problem) == f"{path}: entry 2: more than 1000000 bytes"
    assert "SES-1" in held(report)


def test_blanks_that_unpack_without_end_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b'{"log": {"entries": [' + b" " * 30_000_000))
    monkeypatch.setattr("reattach.io.har_file.LARGEST_ENTRY", 1_000_000)
    with pytest.raises(HarError, match="bomb: more than 1000000 bytes"):
        read_har(path)


def test_what_is_held_of_one_file_has_a_bound(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(opening(), *(call(10 * number, text="data:\n\n" * 1_000) for number in range(1, 9)))
    monkeypatch.setattr("reattach.io.har.MOST_TRAFFIC", 30_000)
    report = judged(path)
    assert str(report.problem) == f"{path}: entry 6: more than 30000 bytes of messages in one file"
    assert any("were before that judged, and nothing after it" in note for note in report.report.notes)


# Against the observations themselves


def _through_a_har(path: Path, seen: Sequence[Observation], declaration: Declaration | None) -> Judged:
    path.write_text(json.dumps(har(entries_of(seen))))
    return judged(path, declaration)


def _found_directly(
    seen: Sequence[Observation], declaration: Declaration | None, revision: Revision = Revision.R2025_11_25
) -> set[tuple[str, str]]:
    oracle = Oracle(revision=revision, declaration=declaration or NOTHING_DECLARED, complete=False)
    for each in seen:
        oracle.observe(each)
    return {(each.clause, each.fault.value) for each in oracle.report(Profile.REATTACH).findings}


@pytest.mark.parametrize("block", range(3))
def test_a_right_server_is_right_in_a_har_too(block: int, tmp_path: Path) -> None:
    for seed in range(block * 8, block * 8 + 8):
        world = World(seed)
        walk(world)
        found = faults(_through_a_har(tmp_path / "walk.har", world.observations, declaration_of(SHORT, takeover=True)))
        assert found == set(), f"seed {seed}"
    for seed in range(block * 2, block * 2 + 2):
        world = World(seed)
        for episode in world.rng.sample(EPISODES, len(EPISODES)):
            episode(world)
        found = faults(
            _through_a_har(tmp_path / "episodes.har", world.observations, declaration_of(SHORT, takeover=True))
        )
        assert found == set(), f"seed {seed}"


def test_a_right_server_of_another_kind_is_right_in_a_har_too(tmp_path: Path) -> None:
    for kind in KINDS:
        wire = Wire()
        kind(wire)
        found = faults(_through_a_har(tmp_path / "kind.har", wire.observations, None))
        assert found <= _found_directly(wire.observations, None), kind.__name__


def _wires(twin: Twin, *, bad: bool) -> tuple[Observation, ...]:
    wire = Wire(revision=twin.revision, declaration=twin.declaration)
    twin.build(wire, bad)
    return tuple(wire.observations)


def test_nothing_is_found_in_a_har_that_the_observations_do_not_show(tmp_path: Path) -> None:
    shown: set[str] = set()
    for twin in TWINS:
        for bad in (False, True):
            seen = _wires(twin, bad=bad)
            found = faults(_through_a_har(tmp_path / "twin.har", seen, twin.declaration))
            if not bad:
                assert found <= _found_directly(seen, twin.declaration, twin.revision), twin.name
            shown |= {clause for clause, _ in found if bad}
    assert shown.isdisjoint(NOT_SHOWN)
    assert {"CUR-4", "CUR-9", "DEL-2", "ERA-1", "EVT-1", "EVT-3", "GET-1", "IDL-5", "SES-1", "SES-2",
            "SES-4", "SES-5", "SES-6", "WIN-1", "WIN-4"} <= shown  # fmt: skip
