"""The oracle is a relation: servers of other kinds than the reference conform, and none of them violates a clause."""

from collections.abc import Callable
from uuid import UUID

import pytest
from tests.oracle.wire import Exchange, Session, Wire, event_id, refusal

from reattach.oracle.verdict import Kind, Outcome, Profile

Kindred = Callable[[Wire], None]


def _uuid(n: int) -> str:
    return str(UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, version=4))


def _end_of_session(session: Session) -> None:
    session.delete()
    session.ping(404)
    session.get("gone").refuse(404, "session-unknown")


def refuses_every_cursor_with_400(wire: Wire) -> None:
    """Ids and priming, and no resumption at all."""
    session = wire.session()
    call = session.emit("A", 3).bare("a0").log("a1", "A", 1).cut()
    for cursor in ("a1", "a0", "", "x", "a9"):
        session.get(cursor).refuse(400, "")
        session.ping()
    call.settle(call)
    session.emit("B", 1).bare("b0").log("b1", "B", 1).result("b2").end()
    _end_of_session(session)


def never_sends_ids_and_says_405(wire: Wire) -> None:
    """No ids, and no GET."""
    session = wire.session()
    call = session.emit("A", 3).log(None, "A", 1).cut()
    session.get().answer(405, "text/plain").body(None)
    session.get("x").answer(405, "text/plain").body(None)
    call.settle(call)
    session.emit("B", 1).log(None, "B", 1).result(None).end()
    session.request("DELETE").answer(405, "text/plain").body(None)


def has_uuids_for_ids(wire: Wire) -> None:
    """Everything works, under ids in which nothing can be read."""
    session = wire.session()
    call = session.emit("A", 4).bare(_uuid(1)).log(_uuid(2), "A", 1).log(_uuid(3), "A", 2).cut()
    _resumed(session, _uuid(2)).log(_uuid(3), "A", 2).log(_uuid(4), "A", 3).cut()
    view = _resumed(session, _uuid(4)).log(_uuid(5), "A", 4).result(_uuid(6), call.rpc_id).end()
    call.settle(view)
    _resumed(session, _uuid(6)).end()
    for cursor in ("", "x", _uuid(99)):
        session.get(cursor).refuse(400)
    session.ping()
    _end_of_session(session)


def has_whole_numbers_for_ids(wire: Wire) -> None:
    """One counter for all sessions."""
    session = wire.session()
    other = wire.session()
    call = session.emit("A", 2).bare("1").log("2", "A", 1).cut()
    other.emit("B", 1).bare("3").log("4", "B", 1).result("6").end()
    view = _resumed(session, "2").log("5", "A", 2).result("7", call.rpc_id).end()
    call.settle(view)
    session.get("4").refuse(400)
    session.get("8").refuse(400)
    session.ping()
    _end_of_session(session)


def counts_from_one_in_every_session(wire: Wire) -> None:
    """The same ids in two sessions, and even the same messages."""
    for _ in range(2):
        session = wire.session()
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "working"}}
        call = session.call().answer().bare("1").event("2", note).cut()
        _resumed(session, "2").event("3", note).result("4", call.rpc_id).end()
        session.delete()


def holds_next_to_nothing(wire: Wire) -> None:
    """A window of one event: nearly every cursor is too old, and is told so."""
    session = wire.session()
    call = session.emit("A", 4).bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    session.get("a1").refuse(409, "cursor-out-of-window")
    session.get("a2").refuse(409, "cursor-out-of-window")
    session.ping()
    call.settle(call)
    other = session.emit("B", 1).bare("b0").log("b1", "B", 1).cut()
    _resumed(session, "b1").result("b2", other.rpc_id).end()
    _end_of_session(session)


def takes_over(wire: Wire) -> None:
    """The newest connection wins; what was on its way on the old one still arrives."""
    session = wire.session()
    old = session.emit("A", 5).bare("a0").log("a1", "A", 1)
    new = _resumed(session, "a1").log("a2", "A", 2)
    old.log("a2", "A", 2).end()
    new.log("a3", "A", 3).log("a4", "A", 4).log("a5", "A", 5).result("a6", old.rpc_id).end()
    old.settle(new)


def answers_409_while_the_old_one_is_open(wire: Wire) -> None:
    """A conflict, told as one; later the resumption is granted."""
    session = wire.session()
    old = session.emit("A", 2).bare("a0").log("a1", "A", 1)
    session.get("a1").refuse(409, "")
    session.get().answer()
    session.get().answer(409, "application/json").body(refusal("conflict"))
    old.cut()
    wire.pass_time(5_000)
    view = _resumed(session, "a1").log("a2", "A", 2).result("a3", old.rpc_id).end()
    old.settle(view)


def answers_with_json(wire: Wire) -> None:
    """No event streams at all."""
    session = wire.session()
    call = session.call("A")
    call.answer(200, "application/json").body({"jsonrpc": "2.0", "id": call.rpc_id, "result": {}})
    session.get().answer(405, "text/plain").body(None)
    _end_of_session(session)


def has_no_sessions(wire: Wire) -> None:
    """Initialize issues no session id; ids begin anew with every client, which cannot be told apart."""
    for _ in range(2):
        session = wire.session(None)
        session.emit("A", 1, rpc_id=2).bare("1").log("2", "A", 1).result("3").end()
        session.emit("B", 1, rpc_id=3).bare("4").log("5", "B", 1).result("6").end()
        session.get().answer(405, "text/plain").body(None)


def has_one_standalone_stream(wire: Wire) -> None:
    """GETs one after the other are views of one stream; an old cursor brings what came on all of them."""
    session = wire.session()
    session.get().answer().bare("g0").log("g1", "P", 1).log("g2", "P", 2).cut()
    session.get().answer().bare("g3").log("g4", "P", 4).quiet().cut()
    view = _resumed(session, "g1").log("g2", "P", 2)
    view.log("g3x", "P", 3).log("g4", "P", 4).quiet()
    _end_of_session(session)


def sends_logs_on_the_listener(wire: Wire) -> None:
    """Notifications of a call on the standalone stream, where the text allows them."""
    session = wire.session()
    listener = session.get().answer().bare("g0")
    call = session.emit("A", 2).bare("a0")
    listener.log("g1", "A", 1).log("g2", "A", 2)
    call.result("a1").end()
    listener.quiet()


def works_under_an_older_revision(wire: Wire) -> None:
    """No priming; the position in a comment alone; the stream closed without `retry`."""
    session = wire.session()
    session.ping()
    call = session.request("POST", message={"jsonrpc": "2.0", "id": 2, "method": "tools/call"}, revision="2025-06-18")
    call.answer().log("a1", "A", 1).end()
    view = session.request("GET", cursors=("a1",), revision="2025-06-18").answer().comment("resumed a1")
    view.log("a2", "A", 2).result("a3", call.rpc_id).end()


def _resumed(session: Session, cursor: str) -> Exchange:
    """Granted, with no word about the position: the text asks for none."""
    return session.get(cursor).answer()


KINDS: list[Kindred] = [
    refuses_every_cursor_with_400,
    never_sends_ids_and_says_405,
    has_uuids_for_ids,
    has_whole_numbers_for_ids,
    counts_from_one_in_every_session,
    holds_next_to_nothing,
    takes_over,
    answers_409_while_the_old_one_is_open,
    answers_with_json,
    has_no_sessions,
    has_one_standalone_stream,
    sends_logs_on_the_listener,
    works_under_an_older_revision,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_conforming_server_of_another_kind_is_accepted(kind: Kindred) -> None:
    wire = Wire()
    kind(wire)
    report = wire.oracle.report(Profile.MCP)
    assert [finding for finding in report.findings if finding.kind is not Kind.UNDEFINED_AREA] == []
    assert not any(clause.outcome is Outcome.VIOLATED for clause in report.clauses)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_was_not_exercised_is_not_held(kind: Kindred) -> None:
    wire = Wire()
    kind(wire)
    for profile in Profile:
        for clause in wire.oracle.report(profile).clauses:
            if clause.observations == 0:
                assert clause.outcome is Outcome.NOT_OBSERVED
                assert clause.note


def test_a_lazy_server_keeps_the_clauses_about_bad_cursors() -> None:
    wire = Wire()
    refuses_every_cursor_with_400(wire)
    assert {"CUR-2", "CUR-9", "CUR-10", "MOD-1", "SES-2", "EVT-3", "DEL-7"} <= wire.held()
    assert "DEL-2" not in wire.held()


def test_a_server_without_ids_is_not_credited_with_resumption() -> None:
    wire = Wire()
    never_sends_ids_and_says_405(wire)
    outcomes = {clause.clause: clause for clause in wire.oracle.report(Profile.REATTACH).clauses}
    for clause in ("DEL-1", "DEL-2", "DEL-8", "EVT-1", "EVT-4", "ATT-1", "CUR-4"):
        assert outcomes[clause].outcome is Outcome.NOT_OBSERVED
    assert "no event ids" in outcomes["EVT-1"].note


def test_two_sessions_that_share_an_id_and_a_message_are_not_confused() -> None:
    wire = Wire()
    counts_from_one_in_every_session(wire)
    assert "cross-session-leak" not in {finding.fault.value for finding in wire.findings()}


def test_an_undeclared_refusal_of_a_recent_cursor_is_only_a_difference() -> None:
    wire = Wire()
    refuses_every_cursor_with_400(wire)
    kinds = {finding.clause: finding.kind for finding in wire.findings(Profile.REATTACH)}
    assert kinds["CUR-7"] is Kind.UNDEFINED_AREA
    assert "CUR-7" not in {c.clause for c in wire.oracle.report(Profile.REATTACH).clauses if c.outcome.value == "held"}


def test_ids_of_the_standard_are_read_and_others_are_not() -> None:
    wire = Wire()
    has_uuids_for_ids(wire)
    assert "EVT-2" not in wire.held()
    wire = Wire()
    session = wire.session()
    session.emit("A", 1).bare(event_id(2, 2)).log(event_id(2, 3), "A", 1)
    assert "EVT-2" in wire.held()
