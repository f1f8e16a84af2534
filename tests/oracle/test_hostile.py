"""Whatever is observed, in whatever order: the oracle says something or refuses with its own error, and stays small."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.wire import Exchange, Wire, event_id, log

from reattach.machine.policy import SHORT
from reattach.machine.revision import Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration, declaration_of
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Exited,
    Expect,
    Frame,
    Observation,
    Party,
    Printed,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Restarted,
    Settled,
)
from reattach.oracle.oracle import ObservationError, Oracle
from reattach.oracle.verdict import Fault, Profile

connections = st.integers(1, 6)
times = st.integers(0, 20_000)
sessions = st.sampled_from([None, "s1", "s2", "s3", "ünsichtbar", ""])
ids = st.sampled_from([None, "", "1", "2", "3", "a1", "a2", "x y", event_id(2, 3), event_id(2, 4), event_id(3, 5)])
rpc_ids = st.sampled_from([None, 1, 2, "2", "x"])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "method", "params", "result", "error", "data", "label", "n"]), inner)
    ),
    max_leaves=6,
)
messages: st.SearchStrategy[Any] = st.one_of(
    json_values,
    st.builds(log, st.sampled_from(["A", "B"]), st.integers(-1, 4)),
    st.builds(lambda i: {"jsonrpc": "2.0", "id": i, "result": {"protocolVersion": "2025-06-18"}}, rpc_ids),
    st.builds(lambda i: {"jsonrpc": "2.0", "id": i, "error": {"code": 1, "data": {"reason": "cursor-ahead"}}}, rpc_ids),
    st.builds(
        lambda t, p: {"method": "notifications/progress", "params": {"progressToken": t, "progress": p}},
        rpc_ids,
        st.integers(0, 3) | st.floats(),
    ),
    st.builds(lambda c: {"method": "notifications/resumed", "params": {"cursor": c}}, ids),
    st.builds(lambda r: {"method": "notifications/resumption_required", "params": {"reason": r}}, ids),
    st.builds(lambda i: {"method": "notifications/cancelled", "params": {"requestId": i}}, rpc_ids),
    st.builds(
        lambda i, label: {"id": i, "method": "tools/call", "params": {"arguments": {"label": label}}},
        rpc_ids,
        st.sampled_from(["A", "B"]),
    ),
)
keys = st.lists(st.sampled_from(["A#1", "A#2", "A#3", "B#1", "response:2", "progress:2:1", "x"]), max_size=5)
requests = st.builds(
    Request,
    at=times,
    connection=st.integers(1, 40),
    method=st.sampled_from(["GET", "POST", "DELETE", "PUT", ""]),
    session=sessions,
    cursors=st.lists(ids.filter(lambda name: name is not None), max_size=2).map(tuple),
    revision=st.sampled_from([None, *(revision.value for revision in Revision), "1999-01-01"]),
    principal=st.sampled_from([None, "alice", "bob"]),
    rpc_id=rpc_ids,
    rpc_method=st.sampled_from([None, "initialize", "tools/call", "notifications/cancelled", "ping"]),
    payload=messages,
)
others = st.one_of(
    st.builds(
        Response,
        at=times,
        connection=connections,
        status=st.sampled_from([200, 200, 200, 202, 204, 301, 400, 401, 404, 405, 409, 500, 503]),
        content_type=st.sampled_from(["text/event-stream", "text/event-stream", "application/json", ""]),
        session=sessions,
    ),
    st.builds(Body, at=times, connection=connections, payload=messages, size=st.integers(0, 9_999)),
    st.builds(
        Frame,
        at=times,
        connection=connections,
        id=ids,
        event=st.none(),
        retry=st.none() | st.integers(),
        payload=messages,
        has_data=st.booleans(),
        size=st.integers(0, 9_999),
    ),
    st.builds(Comment, at=times, connection=connections, text=st.sampled_from(["", "resumed", "resumed a1", "x"])),
    st.builds(ReadPaused, at=times, connection=connections),
    st.builds(ReadResumed, at=times, connection=connections),
    st.builds(Closed, at=times, connection=connections, by=st.sampled_from(Party), clean=st.booleans()),
    st.builds(Quiet, at=times, connection=connections, waited=times),
    st.builds(
        Expect,
        at=times,
        connection=connections,
        keys=keys.map(tuple),
        origin=st.sampled_from(["numbered", "metamorphic"]),
        standalone=st.booleans(),
    ),
    st.builds(Settled, at=times, connection=connections, last=connections),
    st.builds(Restarted, at=times),
    st.builds(Printed, at=times),
    st.builds(Exited, at=times),
)
declarations = st.sampled_from(
    [
        NOTHING_DECLARED,
        declaration_of(SHORT, transport_buffer_bytes=10),
        Declaration(window_events=0, window_ms=0, stall_ms=0),
    ]
)


@settings(max_examples=200)
@given(
    st.lists(st.one_of(requests, others, others), max_size=60),
    declarations,
    st.booleans(),
    st.sampled_from(Revision),
)
def test_any_sequence_is_taken_or_refused(
    observations: list[Observation], declaration: Declaration, complete: bool, revision: Revision
) -> None:
    oracle = Oracle(revision=revision, declaration=declaration, complete=complete, horizon=16)
    for observation in observations:
        try:
            findings = oracle.observe(observation)
        except ObservationError:
            continue
        for finding in findings:
            assert finding.evidence[-1].connection
    for profile in Profile:
        oracle.report(profile)


MOVES = [
    *("emit", "get", "resume", "log", "log", "result", "bare", "end", "cut", "quiet", "pause", "read_on"),
    *("wait", "delete", "ping", "settle"),
]


@settings(max_examples=100)
@given(st.data(), declarations)
def test_any_story_of_one_session_is_taken(data: st.DataObject, declaration: Declaration) -> None:
    """Sequences that make sense more often: requests that are answered, events on open streams."""
    wire = Wire(declaration=declaration, horizon=16)
    session = wire.session()
    open_ones: list[Exchange] = []
    names = [event_id(stream, seq) for stream in (2, 3) for seq in range(2, 9)] + ["a1", "a2", "a3"]
    for _ in range(data.draw(st.integers(1, 40))):
        move = data.draw(st.sampled_from(MOVES))
        name = data.draw(st.sampled_from(names))
        some = data.draw(st.sampled_from(open_ones)) if open_ones else None
        match move:
            case "emit":
                open_ones.append(session.emit(data.draw(st.sampled_from("AB")), 4))
            case "get":
                open_ones.append(session.get().answer())
            case "resume":
                open_ones.append(session.get(name).answer(data.draw(st.sampled_from([200, 200, 400, 404, 409]))))
            case "wait":
                wire.pass_time(data.draw(st.integers(0, 8_000)))
            case "delete":
                session.delete()
            case "ping":
                session.ping(data.draw(st.sampled_from([200, 404])))
            case "log" if some is not None:
                some.log(name, data.draw(st.sampled_from("AB")), data.draw(st.integers(1, 4)))
            case "result" if some is not None:
                some.result(name, data.draw(st.integers(1, 4)))
            case "bare" if some is not None:
                some.bare(name, retry=data.draw(st.none() | st.just(5)))
            case "settle" if some is not None and open_ones[0].rpc_id is not None:
                open_ones[0].settle(some)
            case "end" | "cut" | "quiet" | "pause" | "read_on" if some is not None:
                getattr(some, move)()
            case _:
                pass
    for profile in Profile:
        wire.oracle.report(profile)


def test_what_is_no_observation_is_refused() -> None:
    oracle = Oracle(revision=Revision.R2025_11_25)
    with pytest.raises(ObservationError, match="not an observation: str"):
        oracle.observe("GET /mcp")  # type: ignore[arg-type]


def test_a_second_request_on_a_connection_is_refused() -> None:
    oracle = Oracle(revision=Revision.R2025_11_25)
    oracle.observe(Request(at=0, connection=1, method="GET"))
    with pytest.raises(ObservationError, match="connection 1 already had a request"):
        oracle.observe(Request(at=1, connection=1, method="GET"))


def test_observations_without_a_request_are_counted_and_ignored() -> None:
    oracle = Oracle(revision=Revision.R2025_11_25)
    oracle.observe(Frame(at=0, connection=7, id="1", has_data=True))
    oracle.observe(Settled(at=0, connection=7, last=8))
    assert "2 observations belong to no open request" in " ".join(oracle.report().notes)


def test_a_message_nested_beyond_measure_is_taken() -> None:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]
    wire = Wire()
    wire.session().emit("A", 1).event("a1", nested).event("a2", {"method": "notifications/message", "params": nested})
    assert ("EVT-3", Fault.PRIMING_MISSING) in wire.faults()


def test_a_big_message_is_not_kept() -> None:
    wire = Wire()
    session = wire.session()
    big = {"jsonrpc": "2.0", "id": 2, "result": {"text": "x" * 1_000_000}}
    session.emit("A", 0).bare("a0").event("a1", big, size=1_000_020).quiet()
    (finding,) = [finding for finding in wire.findings() if finding.clause == "DEL-7"]
    frames = [
        observation for observation in finding.evidence if isinstance(observation, Frame) and observation.has_data
    ]
    assert frames
    assert all(frame.payload == {"jsonrpc": "2.0", "id": 2, "elided": 1_000_020} for frame in frames)


def weight(value: object) -> int:
    """How many objects hang on one; text and numbers do not count."""
    seen = {id(value)}
    stack: list[Any] = [value]
    count = 0
    while stack:
        current = stack.pop()
        count += 1
        if isinstance(current, dict):
            inner = [*current.keys(), *current.values()]
        elif isinstance(current, list | tuple | set | frozenset):
            inner = list(current)
        else:
            inner = [getattr(current, name, None) for name in getattr(type(current), "__slots__", ())]
            inner += list(getattr(current, "__dict__", {}).values())
        for one in inner:
            if isinstance(one, str | int | float | bytes | None | type) or id(one) in seen:
                continue
            seen.add(id(one))
            stack.append(one)
    return count


def _flood(events: int) -> int:
    """How much the oracle remembers after one call of so many events, many cuts and many short sessions."""
    wire = Wire(horizon=32)
    session = wire.session()
    call = session.emit("A", 0).bare("a0")
    for n in range(1, events + 1):
        call.log(f"a{n}", "A", n)
        if n % 50 == 0:
            call.cut()
            call = session.get(f"a{n}").answer()
        if n % 20 == 0:
            other = wire.session()
            other.emit(f"L{n}", 1).bare(f"{n}x").log(f"{n}y", f"L{n}", 1).result(f"{n}z").end()
            other.delete()
    return weight(wire.oracle)


def test_what_is_remembered_does_not_grow() -> None:
    small, large = _flood(2_000), _flood(8_000)
    assert small > 1_000
    assert large < small * 1.2


def test_one_long_connection_does_not_grow_either() -> None:
    def weight_after(events: int) -> int:
        wire = Wire(horizon=32)
        call = wire.session().emit("A", 0).bare("a0")
        for n in range(1, events + 1):
            call.log(f"a{n}", "A", n)
        return weight(wire.oracle)

    assert weight_after(4_000) < weight_after(500) * 1.2


def test_the_horizon_limits_what_is_compared() -> None:
    def again_after(events: int) -> Wire:
        wire = Wire(horizon=64)
        session = wire.session()
        call = session.emit("A", 0).bare("a0").log("the-one", "A", 1)
        for n in range(2, events):
            call.log(f"a{n}", "A", n)
        call.log("the-one", "A", events)
        return wire

    assert "id-not-unique" in {finding.fault.value for finding in again_after(40).findings()}
    assert again_after(200).faults() == set()


def test_a_forgotten_cursor_is_not_judged() -> None:
    wire = Wire(horizon=32)
    session = wire.session()
    call = session.emit("A", 0).bare("a0")
    for n in range(1, 100):
        call.log(f"a{n}", "A", n)
    session.get("a3").answer().end()
    assert not any(finding.clause.startswith("CUR") for finding in wire.findings())


def test_in_a_recording_that_begins_late_no_cursor_and_no_session_is_bad() -> None:
    wire = Wire(complete=False)
    wire.session()
    early = wire.request("GET", session="from-before", cursors=("z9",)).answer().log("z10", "A", 7).log("z11", "A", 8)
    early.cut()
    wire.request("GET", session="never-seen").refuse(400)
    assert wire.faults() == set()


def test_expectations_may_come_before_the_request() -> None:
    wire = Wire()
    session = wire.session()
    wire.tell(Expect(at=wire.now, connection=2, keys=("A#1", "A#2", "A#3", "response:2")))
    session.call("A").answer().bare("a0").log("a1", "A", 1).cut()
    view = session.get("a1").answer().comment("resumed").log("a3", "A", 3)
    view.cut()
    assert {f.clause for f in wire.findings()} == {"DEL-2"}


def test_times_that_go_back_are_taken() -> None:
    wire = Wire(declaration=declaration_of(SHORT))
    session = wire.session()
    call = session.emit("A", 3).bare(event_id(2, 2)).log(event_id(2, 3), "A", 1)
    wire.now = 0
    call.log(event_id(2, 4), "A", 2).cut()
    session.get(event_id(2, 3)).answer().comment("resumed").log(event_id(2, 4), "A", 2).cut()
    assert wire.faults() == set()
