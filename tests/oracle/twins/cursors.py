"""Twins of CUR and GET."""

from tests.oracle.twins.base import resume, twin
from tests.oracle.wire import OTHER_TAG, TAG, Exchange, Session, Wire
from tests.oracle.wire import event_id as e

from reattach.oracle.verdict import Fault

_UNDECIDED = ("MOD-1", Fault.BAD_CURSOR_SILENT)


def _used(wire: Wire) -> tuple[Session, Exchange]:
    """A session with one finished call, whose ids are in the standard's grammar."""
    session = wire.session()
    call = session.emit("A", 2).bare(e(2, 2)).log(e(2, 3), "A", 1).log(e(2, 4), "A", 2).result(e(2, 5)).end()
    return session, call


@twin("CUR-2", Fault.BAD_CURSOR_SILENT, also=(_UNDECIDED,))
def a_malformed_cursor_and_nothing(wire: Wire, bad: bool) -> None:
    """200, and the end of the body."""
    session, _ = _used(wire)
    if bad:
        session.get(f"{TAG}.2.+3").answer().end()
    else:
        session.get(f"{TAG}.2.+3").refuse(400)


@twin("CUR-2", Fault.BAD_CURSOR_SILENT, also=(_UNDECIDED,))
def an_empty_cursor_and_silence(wire: Wire, bad: bool) -> None:
    """200, and the body stays open."""
    session, _ = _used(wire)
    if bad:
        session.get("").answer().quiet()
    else:
        session.get("").refuse(400)


@twin("CUR-2", Fault.BAD_CURSOR_SILENT)
def a_repeated_cursor_is_served(wire: Wire, bad: bool) -> None:
    """Two headers, and a stream as if there were one."""
    session, _ = _used(wire)
    if bad:
        session.get(e(2, 3), e(2, 3)).answer().log(e(2, 9), "other", 1)
    else:
        session.get(e(2, 3), e(2, 3)).refuse(400)


@twin("CUR-2", Fault.BAD_CURSOR_SILENT, also=(("GET-1", Fault.WRONG_STATUS),))
def a_bad_cursor_is_accepted(wire: Wire, bad: bool) -> None:
    """202."""
    session, _ = _used(wire)
    if bad:
        session.get("x").answer(202, "").end()
    else:
        session.get("x").refuse(405)


@twin("CUR-2", Fault.REPLAY_FROM_START)
def an_unknown_cursor_and_all_of_history(wire: Wire, bad: bool) -> None:
    """Everything, from the first event."""
    session, call = _used(wire)
    if bad:
        session.get("nobody-knows").answer().log(e(2, 3), "A", 1).log(e(2, 4), "A", 2).result(
            e(2, 5), call.rpc_id
        ).end()
    else:
        session.get("nobody-knows").refuse(400)


@twin("CUR-2", Fault.BAD_CURSOR_SILENT, also=(_UNDECIDED,))
def refused_within_the_stream(wire: Wire, bad: bool) -> None:
    """An error event is explicit."""
    session, _ = _used(wire)
    view = session.get("x").answer()
    if not bad:
        view.event(None, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no such cursor"}})
    view.end()


@twin("CUR-3", Fault.BAD_CURSOR_SILENT, also=(_UNDECIDED,))
def a_foreign_cursor_and_nothing(wire: Wire, bad: bool) -> None:
    """Another living session's."""
    _used(wire)
    other = wire.session()
    other.emit("B", 1).bare(e(2, 2, OTHER_TAG)).log(e(2, 3, OTHER_TAG), "B", 1)
    view = other.get(e(2, 3))
    view.answer().end() if bad else view.refuse(409, "cursor-foreign")


@twin("CUR-3", Fault.CROSS_SESSION_LEAK, also=(("SES-5", Fault.CROSS_SESSION_LEAK),))
def a_foreign_cursor_and_foreign_events(wire: Wire, bad: bool) -> None:
    """A cursor is taken for a credential."""
    _, call = _used(wire)
    other = wire.session()
    view = other.get(e(2, 3))
    if bad:
        view.answer().log(e(2, 4), "A", 2).result(e(2, 5), call.rpc_id).end()
    else:
        view.refuse(409, "cursor-foreign")


@twin("CUR-4", Fault.BAD_CURSOR_SILENT)
def an_old_cursor_and_nothing(wire: Wire, bad: bool) -> None:
    """A finished stream, resumed from before its last events."""
    session, _ = _used(wire)
    view = session.get(e(2, 2))
    if bad:
        view.answer().comment("resumed").end()
    else:
        view.refuse(409, "cursor-out-of-window")


@twin("CUR-4", Fault.REPLAY_FROM_START, also=(("DEL-2", Fault.SILENT_GAP),))
def an_old_cursor_and_what_is_left(wire: Wire, bad: bool) -> None:
    """From the oldest event that is still there."""
    session, call = _used(wire)
    view = session.get(e(2, 2))
    if bad:
        view.answer().comment("resumed").log(e(2, 4), "A", 2).result(e(2, 5), call.rpc_id).end()
    else:
        view.refuse(409, "cursor-out-of-window")


@twin("CUR-5", Fault.BAD_CURSOR_SILENT, also=(_UNDECIDED,))
def ahead_by_one(wire: Wire, bad: bool) -> None:
    """In the standard's grammar."""
    session, _ = _used(wire)
    view = session.get(e(2, 6))
    view.answer().quiet() if bad else view.refuse(409, "cursor-ahead")


@twin("CUR-5", Fault.BAD_CURSOR_SILENT)
def ahead_in_a_series(wire: Wire, bad: bool) -> None:
    """Ids of another form that end in a number; the server skips what lies between."""
    session = wire.session()
    session.emit("A", 2).bare("st_1").log("st_2", "A", 1).log("st_3", "A", 2).result("st_4").end()
    view = session.get("st_8")
    if bad:
        view.answer().log("st_9", "B", 9)
    else:
        view.refuse(400)


@twin("CUR-6", Fault.BAD_CURSOR_SILENT, also=(_UNDECIDED,))
def the_seq_of_another_stream(wire: Wire, bad: bool) -> None:
    """Put together, not received."""
    session, _ = _used(wire)
    session.emit("B", 1).bare(e(3, 6)).log(e(3, 7), "B", 1).result(e(3, 8)).end()
    view = session.get(e(2, 7))
    view.answer().quiet() if bad else view.refuse(409, "cursor-mismatch")


@twin("CUR-8", Fault.DUPLICATE_DELIVERY, also=(("DEL-1", Fault.DUPLICATE_DELIVERY),))
def the_newest_event_again(wire: Wire, bad: bool) -> None:
    """Off by one at the newest event."""
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    view = resume(session, "a2")
    if bad:
        view.log("a2", "A", 2)
    view.quiet()


@twin("CUR-9", Fault.WRONG_STATUS)
def a_cursor_is_refused_with_404(wire: Wire, bad: bool) -> None:
    """And the session lives."""
    session, _ = _used(wire)
    session.get(e(2, 9)).refuse(404 if bad else 409, "cursor-ahead")
    session.ping()


@twin("CUR-10", Fault.BAD_CURSOR_CRASH)
def a_bad_cursor_is_500(wire: Wire, bad: bool) -> None:
    """An integer that nobody expected."""
    session, _ = _used(wire)
    session.get("9" * 400).refuse(500 if bad else 400)
    session.ping()


@twin("CUR-10", Fault.BAD_CURSOR_CRASH)
def a_bad_cursor_breaks_the_connection(wire: Wire, bad: bool) -> None:
    """No answer, and a reset."""
    session, _ = _used(wire)
    view = session.get("x")
    view.abort() if bad else view.refuse(400)
    session.ping()


@twin("CUR-10", Fault.BAD_CURSOR_CRASH, also=(_UNDECIDED,))
def a_bad_cursor_breaks_the_stream(wire: Wire, bad: bool) -> None:
    """200, and then an exception."""
    session, _ = _used(wire)
    view = session.get("x")
    view.answer().abort() if bad else view.refuse(400)
    session.ping()


@twin("CUR-10", Fault.BAD_CURSOR_CRASH, also=(_UNDECIDED,), holds=False)
def a_bad_cursor_breaks_the_stream_before_the_session_does(wire: Wire, bad: bool) -> None:
    """200, and a broken connection; the good one is broken by a DELETE that is under way."""
    session, _ = _used(wire)
    view = session.get("x").answer()
    if bad:
        view.abort()
        session.delete()
    else:
        deletion = session.request("DELETE")
        view.abort()
        deletion.answer(204, "").end()


@twin("CUR-10", Fault.BAD_CURSOR_CRASH)
def a_bad_cursor_ends_the_server(wire: Wire, bad: bool) -> None:
    """The next request finds nobody."""
    session, _ = _used(wire)
    session.get("x").refuse(400)
    session.request("GET").abort() if bad else session.ping()


@twin("CUR-10", Fault.BAD_CURSOR_HANG)
def a_bad_cursor_gets_no_answer(wire: Wire, bad: bool) -> None:
    """Not even a status line."""
    session, _ = _used(wire)
    view = session.get("x")
    view.quiet().cut() if bad else view.refuse(400)
    session.ping()


@twin("CUR-10", Fault.BAD_CURSOR_KILLS_SESSION)
def a_bad_cursor_kills_the_session(wire: Wire, bad: bool) -> None:
    """404 afterwards."""
    session, _ = _used(wire)
    session.get("x").refuse(400)
    session.ping(404 if bad else 200)


@twin("GET-1", Fault.WRONG_STATUS)
def get_answers_with_json(wire: Wire, bad: bool) -> None:
    """Neither a stream nor a refusal."""
    session = wire.session()
    get = session.get()
    get.answer(200, "application/json").body({}) if bad else get.answer(405, "text/plain").body(None)


@twin("GET-1", Fault.WRONG_STATUS)
def get_answers_404_in_a_living_session(wire: Wire, bad: bool) -> None:
    """Clients throw the session away."""
    session = wire.session()
    session.get().refuse(404 if bad else 405, "no-stream")
    session.ping()


@twin("GET-1", Fault.WRONG_STATUS)
def get_crashes(wire: Wire, bad: bool) -> None:
    """500 and no reason."""
    session = wire.session()
    session.get().answer(500 if bad else 405, "text/plain").body(None)


@twin("GET-1", Fault.WRONG_STATUS, allowed=True)
def get_is_refused_in_plain_text(wire: Wire, bad: bool) -> None:
    """A second listener, say; a JSON-RPC error would be within the reading."""
    session = wire.session()
    session.get().answer(409, "text/plain").body(None if bad else {"error": {"code": -32000, "message": "one is open"}})


@twin("CUR-7", Fault.GOOD_CURSOR_REFUSED, allowed=True, holds=False)
def a_recent_cursor_is_refused(wire: Wire, bad: bool) -> None:
    """Undeclared: nothing to rely on, and nothing broken."""
    session, call = _used(wire)
    if bad:
        session.get(e(2, 4)).refuse(400, "")
    else:
        resume(session, e(2, 4)).result(e(2, 5), call.rpc_id).end()


@twin("MOD-1", Fault.POSITION_NOT_STATED, also=(("ATT-1", Fault.POSITION_NOT_STATED),))
def a_grant_that_shows_nothing(wire: Wire, bad: bool) -> None:
    """Re-attached, fresh, or lost?"""
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    view = session.get("a1").answer()
    if not bad:
        view.comment("resumed a1").bare("a1")
    view.quiet()


@twin("MOD-1", Fault.BAD_CURSOR_HANG)
def a_good_cursor_gets_no_answer(wire: Wire, bad: bool) -> None:
    """No decision at all."""
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    if bad:
        session.get("a1").quiet().cut()
    else:
        resume(session, "a1").quiet()


@twin("MOD-1", Fault.BAD_CURSOR_CRASH)
def a_good_cursor_is_500(wire: Wire, bad: bool) -> None:
    """A server without a store, say."""
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    if bad:
        session.get("a1").refuse(500)
    else:
        resume(session, "a1").quiet()
