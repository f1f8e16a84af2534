"""What real servers were seen to do comes out under the right class (research on official SDKs; each test names it)."""

from uuid import UUID

from tests.oracle.wire import Wire, log, result

from reattach.oracle.message import normalised_key
from reattach.oracle.verdict import Fault, Kind, Profile


def _uuid(n: int) -> str:
    return UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, version=4).hex


def test_events_lost_between_replay_and_live() -> None:
    """python 1.30 and 2.3, fastmcp 4.2.3, TypeScript with an asynchronous store: about one event for each hop."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 60).bare(_uuid(1))
    for n in range(1, 31):
        call.log(_uuid(1 + n), "A", n)
    call.cut()
    view = session.get(_uuid(31)).answer()
    for n in range(31, 36):
        view.log(_uuid(1 + n), "A", n)
    view.bare(_uuid(100))  # its own priming; 36 was emitted before the stream was registered again
    for n in range(37, 61):
        view.log(_uuid(1 + n), "A", n)
    view.result(_uuid(90), call.rpc_id).quiet().cut()
    call.settle(view)
    assert wire.faults(Profile.MCP) == {("DEL-2", Fault.SILENT_GAP), ("DEL-7", Fault.STREAM_NOT_ENDED)}
    finding = next(finding for finding in wire.findings() if finding.clause == "DEL-2")
    assert "A#36" in finding.summary
    assert "A#37" in finding.summary
    assert len(finding.evidence) <= 16, "the sixty events are not all shown"


def test_another_sessions_events_on_an_honest_resume() -> None:
    """python, both majors: streams are keyed by JSON-RPC id, without the session."""
    wire = Wire()
    a, b = wire.session(rpc_id=10), wire.session(rpc_id=10)
    one = a.emit("A", 3, rpc_id=2).bare(_uuid(1)).log(_uuid(2), "A", 1).cut()
    two = b.emit("B", 3, rpc_id=2).bare(_uuid(11)).log(_uuid(12), "B", 1).log(_uuid(13), "B", 2)
    two.log(_uuid(14), "B", 3).result(_uuid(15)).end()
    view = a.get(_uuid(2)).answer().log(_uuid(3), "A", 2).log(_uuid(4), "A", 3).result(_uuid(5), one.rpc_id)
    view.log(_uuid(12), "B", 1).log(_uuid(13), "B", 2).result(_uuid(15), one.rpc_id).bare(_uuid(20)).quiet().cut()
    assert wire.faults(Profile.MCP) == {("SES-5", Fault.CROSS_SESSION_LEAK), ("DEL-7", Fault.STREAM_NOT_ENDED)}
    leak = next(finding for finding in wire.findings() if finding.fault is Fault.CROSS_SESSION_LEAK)
    assert leak.times == 3
    assert leak.kind is Kind.VIOLATES_MUST


def test_a_deleted_sessions_events_under_another_session() -> None:
    """python, both majors: GET with the cursor of a session that was deleted."""
    wire = Wire()
    a, b = wire.session(), wire.session()
    one = a.emit("A", 2).bare(_uuid(1)).log(_uuid(2), "A", 1).log(_uuid(3), "A", 2).result(_uuid(4)).end()
    a.delete()
    b.get(_uuid(2)).answer().log(_uuid(3), "A", 2).result(_uuid(4), one.rpc_id).end()
    assert ("SES-5", Fault.CROSS_SESSION_LEAK) in wire.faults(Profile.MCP)
    assert ("WIN-4", Fault.UNBOUNDED_MEMORY) in wire.faults()
    assert ("CUR-3", Fault.CROSS_SESSION_LEAK) in wire.faults()


def test_a_window_that_its_own_priming_empties() -> None:
    """python: every resumption stores a priming row, and the ninety-seventh finds nothing."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 3).bare(_uuid(1)).log(_uuid(2), "A", 1).log(_uuid(3), "A", 2).log(_uuid(4), "A", 3)
    call.result(_uuid(5)).end()
    session.get(_uuid(2)).answer().log(_uuid(3), "A", 2).log(_uuid(4), "A", 3).result(_uuid(5), call.rpc_id).cut()
    session.get(_uuid(2)).answer().end()
    assert wire.faults(Profile.MCP) == set()
    assert ("CUR-4", Fault.BAD_CURSOR_SILENT) in wire.faults()


def test_an_ahead_cursor_skews_the_ids() -> None:
    """go: eight is accepted at index three; later ids mean other events."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 12).bare("st_0").log("st_1", "A", 1).log("st_2", "A", 2).log("st_3", "A", 3)
    call.log("st_4", "A", 4).result("st_5").end()
    session.get("st_8").answer().log("st_9", "AH", 4).log("st_10", "AH", 5).cut()
    assert ("CUR-5", Fault.BAD_CURSOR_SILENT) in wire.faults()


def test_one_flood_evicts_and_an_id_then_brings_another_event() -> None:
    """go: after the skew the id that the server itself gave brings other events."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 8).bare("st_0").log("st_1", "A", 1).log("st_9", "A", 2).log("st_10", "A", 3).cut()
    view = session.get("st_1").answer().log("st_9", "A", 4)
    view.cut()
    del call
    assert ("EVT-4", Fault.ID_CHANGED_MEANING) in wire.faults()


def test_messages_go_to_whichever_stream_asks_first() -> None:
    """mcp-go: two concurrent calls and a listener."""
    wire = Wire()
    session = wire.session()
    listener = session.get().answer()
    x, y = session.emit("X", 3), session.emit("Y", 3)
    listener.log("1", "X", 1).log("2", "X", 2)
    x.log("3", "Y", 1).log("4", "Y", 3).result("7").end()
    y.log("5", "Y", 2).log("6", "X", 3).result("8").end()
    faults = wire.faults(Profile.MCP)
    assert ("DEL-3", Fault.CROSS_STREAM_REPLAY) in faults
    kinds = {finding.kind for finding in wire.findings() if finding.clause == "DEL-3"}
    assert kinds == {Kind.AGAINST_SHOULD}


def test_every_stream_of_the_session_is_replayed() -> None:
    """The everything server: other streams' events and results, the stored priming as {}, and no live tail."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 4).bare(_uuid(1)).log(_uuid(2), "A", 1).cut()
    other = session.emit("B", 1).bare(_uuid(11)).log(_uuid(12), "B", 1).result(_uuid(13)).end()
    view = session.get(_uuid(2)).answer().quiet().cut()
    view = session.get(_uuid(2)).answer().log(_uuid(3), "A", 2).event(_uuid(11), {}).log(_uuid(12), "B", 1)
    view.result(_uuid(13), other.rpc_id).log(_uuid(4), "A", 3).log(_uuid(5), "A", 4).result(_uuid(6), call.rpc_id)
    view.quiet().cut()
    call.settle(view)
    session.delete()
    session.ping(400)
    assert {
        ("DEL-3", Fault.CROSS_STREAM_REPLAY),
        ("DEL-5", Fault.RESPONSE_ON_WRONG_STREAM),
        ("DEL-8", Fault.DEAF_AFTER_RESUME),
        ("DEL-7", Fault.STREAM_NOT_ENDED),
        ("SES-2", Fault.WRONG_STATUS),
    } <= wire.faults(Profile.MCP)


def test_a_store_that_sorts_by_millisecond_and_chance() -> None:
    """TypeScript's example store: resumed from the fifth of a burst, some again, some missing, out of order."""
    wire = Wire()
    session = wire.session()
    call = session.emit("U", 12).bare("s_0")
    for n in range(1, 13):
        call.log(f"s_{n}", "U", n)
    call.result("s_13").end()
    view = session.get("s_5").answer()
    for n in (9, 2, 6, 12, 7, 4):
        view.log(f"s_{n}", "U", n)
    view.result("s_13", call.rpc_id).end()
    assert {
        ("DEL-1", Fault.DUPLICATE_DELIVERY),
        ("DEL-2", Fault.SILENT_GAP),
        ("DEL-6", Fault.OUT_OF_ORDER),
    } <= wire.faults(Profile.MCP)


def test_one_stopped_reader_blocks_the_session() -> None:
    """python: another POST gets only its priming until the stalled socket is closed."""
    wire = Wire()
    session = wire.session()
    slow = session.emit("A", 500).bare(_uuid(1)).log(_uuid(2), "A", 1).pause()
    call = session.emit("B", 2).bare(_uuid(11)).quiet(6_000)
    slow.cut()
    call.log(_uuid(12), "B", 1).log(_uuid(13), "B", 2).result(_uuid(14)).end()
    assert wire.faults(Profile.MCP) == {("IDL-6", Fault.HEAD_OF_LINE_BLOCKING)}


def test_the_event_of_the_cursor_is_sent_again() -> None:
    """rmcp: an inclusive replay; and the channel of a finished stream is dropped with its response in it."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 3).bare("0/2").log("1/2", "A", 1).log("2/2", "A", 2).cut()
    session.get("1/2").answer().log("1/2", "A", 1).log("2/2", "A", 2).cut()
    for _ in range(2):
        view = session.get("2/2").answer().end()
    call.settle(view)
    faults = wire.faults(Profile.MCP)
    assert ("DEL-1", Fault.DUPLICATE_DELIVERY) in faults
    assert ("DEL-2", Fault.SILENT_GAP) in faults


def test_a_cursor_older_than_the_cache_gets_its_front() -> None:
    """rmcp: what is left is replayed, and the gap is silent."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 6).bare("0/2")
    for n in range(1, 7):
        call.log(f"{n}/2", "A", n)
    call.cut()
    session.get("1/2").answer().log("5/2", "A", 5).log("6/2", "A", 6).quiet().cut()
    assert ("DEL-2", Fault.SILENT_GAP) in wire.faults(Profile.MCP)
    assert ("CUR-4", Fault.REPLAY_FROM_START) in wire.faults()


def test_every_response_has_the_session_id_for_an_event_id() -> None:
    """java: not unique, and a cursor of it names nothing; a resumption is answered with silence."""
    wire = Wire()
    session = wire.session()
    session.emit("A", 1).log("n1", "A", 1).result(session.id).end()
    session.emit("B", 1).log("n2", "B", 1).result(session.id).end()
    session.emit("C", 2).log("n3", "C", 1).cut()
    view = session.get("n3").answer().quiet()
    view.cut()
    faults = wire.faults()
    assert ("EVT-1", Fault.ID_NOT_UNIQUE) in faults
    assert ("MOD-1", Fault.POSITION_NOT_STATED) in faults


def test_both_connections_get_the_events() -> None:
    """C#: the reader polls the store on either."""
    wire = Wire()
    session = wire.session()
    old = session.emit("A", 3).bare(_uuid(1)).log(_uuid(2), "A", 1)
    new = session.get(_uuid(2)).answer()
    wire.pass_time(2_000)
    new.log(_uuid(3), "A", 2)
    old.log(_uuid(3), "A", 2)
    assert ("DEL-10", Fault.BROADCAST) in wire.faults()


def test_what_is_already_on_the_old_connection_is_no_broadcast() -> None:
    """The network is not the server."""
    wire = Wire()
    session = wire.session()
    old = session.emit("A", 3).bare(_uuid(1)).log(_uuid(2), "A", 1)
    new = session.get(_uuid(2)).answer().log(_uuid(3), "A", 2)
    old.log(_uuid(3), "A", 2).end()
    new.log(_uuid(4), "A", 3).result(_uuid(5), old.rpc_id).end()
    assert wire.faults(Profile.MCP) == set()


def test_the_listener_is_given_its_history_every_time() -> None:
    """go: a plain GET replays the whole standalone stream."""
    wire = Wire()
    session = wire.session()
    session.get().answer().log("_0", "P", 1).log("_1", "P", 2).cut()
    session.get().answer().log("_0", "P", 1).log("_1", "P", 2).cut()
    assert wire.faults(Profile.MCP) == set()
    assert ("CUR-1", Fault.REPLAY_FROM_START) in wire.faults()


def test_an_unknown_session_is_400_or_invented() -> None:
    """The everything server and mcp-go."""
    for status in (400, 200):
        wire = Wire()
        wire.session()
        wire.request("GET", session="who").answer(status).end()
        assert ("SES-8", Fault.WRONG_STATUS) in wire.faults()


def test_a_final_response_goes_to_the_dead_connection() -> None:
    """tachyon: resumed before the response was appended; it never comes on the view that is open."""
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 0).bare("a0").bare(None, retry=10).end()
    view = session.get("a0").answer().comment("keep-alive").quiet(5_000).cut()
    call.settle(view)
    assert ("DEL-8", Fault.DEAF_AFTER_RESUME) in wire.faults(Profile.MCP)


def test_a_view_that_ends_before_the_answer_to_the_delete_or_resumption_that_ended_it() -> None:
    """server-everything, python: the end of the old view and the answer race each other on two connections."""
    wire = Wire()
    deleted = wire.session()
    call = deleted.emit("A", 5).bare(_uuid(1)).log(_uuid(2), "A", 1)
    asked = deleted.request("DELETE")
    call.end()
    asked.answer(200, "application/json").end()
    resumed = wire.session()
    call = resumed.emit("B", 2).bare(_uuid(11)).log(_uuid(12), "B", 1)
    asked = resumed.get(_uuid(12))
    call.end()
    asked.answer().log(_uuid(13), "B", 2).result(_uuid(14), call.rpc_id).end()
    assert ("IDL-5", Fault.RETRY_MISSING) not in wire.faults(Profile.MCP)
    left = wire.session()
    left.emit("C", 2).bare(_uuid(21)).log(_uuid(22), "C", 1).end()
    assert ("IDL-5", Fault.RETRY_MISSING) in wire.faults(Profile.MCP)


def test_another_calls_response_is_not_one_too_many_of_this_call() -> None:
    """The everything server replays it on every stream of the session: a fault, and no repetition."""
    wire = Wire()
    session = wire.session()
    call = session.call()
    done = result(call.rpc_id or 0)
    call.expect([normalised_key(log("A", 1)), normalised_key(done)], "metamorphic")
    call.answer().bare("a0").log("a1", "A", 1).cut()
    other = session.call("B").answer().bare("b0").result("b1").end()
    step = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "B", "progress": 1}}
    view = session.get("a1").answer().event("b2", step).result("b1", other.rpc_id).event("a2", done).end()
    call.settle(view)
    assert ("DEL-5", Fault.RESPONSE_ON_WRONG_STREAM) in wire.faults(Profile.MCP)
    assert "DEL-1" not in {clause for clause, _ in wire.faults()}
