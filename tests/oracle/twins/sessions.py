"""Twins of SES."""

from tests.oracle.twins.base import resume, twin
from tests.oracle.wire import OTHER_TAG, Wire
from tests.oracle.wire import event_id as e

from reattach.machine.policy import SHORT
from reattach.oracle.declaration import declaration_of
from reattach.oracle.verdict import Fault


@twin("SES-1", Fault.INVALID_ID)
def a_space_in_the_session_id(wire: Wire, bad: bool) -> None:
    """The id of the answer to initialize."""
    wire.session("session of anna" if bad else "session-of-anna")


@twin("SES-2", Fault.WRONG_STATUS)
def a_terminated_session_is_400(wire: Wire, bad: bool) -> None:
    """POST after DELETE."""
    session = wire.session()
    session.delete()
    session.ping(400 if bad else 404)


@twin("SES-2", Fault.WRONG_STATUS)
def a_cursor_of_a_terminated_session_is_409(wire: Wire, bad: bool) -> None:
    """A resumption after DELETE."""
    session = wire.session()
    session.emit("A", 1).bare(e(2, 2)).log(e(2, 3), "A", 1).result(e(2, 4)).end()
    session.delete()
    session.get(e(2, 3)).refuse(409 if bad else 404, "session-unknown")


@twin("SES-3", Fault.WRONG_STATUS)
def a_missing_session_is_404(wire: Wire, bad: bool) -> None:
    """A request without a session id."""
    wire.session()
    wire.request("GET").refuse(404 if bad else 400, "session-missing")


@twin("SES-3", Fault.WRONG_STATUS, allowed=True)
def a_missing_session_is_served(wire: Wire, bad: bool) -> None:
    """A server that serves without a session id does not require one."""
    wire.session()
    message = {"jsonrpc": "2.0", "id": 9, "method": "ping"}
    exchange = wire.request("POST", message=message)
    if bad:
        exchange.answer(200, "application/json").body({"jsonrpc": "2.0", "id": 9, "result": {}})
    else:
        exchange.refuse(400, "session-missing")


@twin("SES-4", Fault.SESSION_RESURRECTED, also=(("SES-2", Fault.WRONG_STATUS),))
def a_terminated_session_answers(wire: Wire, bad: bool) -> None:
    """POST after DELETE."""
    session = wire.session()
    session.delete()
    session.ping(200 if bad else 404)


@twin("SES-4", Fault.SESSION_RESURRECTED, also=(("SES-6", Fault.STREAM_NOT_ENDED),))
def a_terminated_session_delivers(wire: Wire, bad: bool) -> None:
    """An event long after DELETE, on a view that was open."""
    session = wire.session()
    call = session.emit("A", 5).bare(e(2, 2)).log(e(2, 3), "A", 1)
    session.delete()
    call.log(e(2, 4), "A", 2)  # was on its way
    if bad:
        call.quiet().log(e(2, 5), "A", 3)
    else:
        call.end()
    session.ping(404)


@twin("SES-4", Fault.SESSION_RESURRECTED)
def an_id_is_issued_again(wire: Wire, bad: bool) -> None:
    """Initialize after DELETE."""
    session = wire.session("one")
    session.delete()
    session.ping(404)
    wire.session("one" if bad else "two")


@twin("SES-5", Fault.CROSS_SESSION_LEAK, also=(("DEL-9", Fault.STREAM_NOT_ENDED),))
def another_sessions_events_on_an_honest_resume(wire: Wire, bad: bool) -> None:
    """Two sessions that use the same JSON-RPC ids."""
    a, b = wire.session(), wire.session()
    mine = a.emit("A", 1).bare(e(2, 2)).log(e(2, 3), "A", 1).result(e(2, 4)).end()
    b.emit("B", 1).bare(e(2, 2, OTHER_TAG)).log(e(2, 3, OTHER_TAG), "B", 1).result(e(2, 4, OTHER_TAG)).end()
    view = resume(a, e(2, 2)).log(e(2, 3), "A", 1).result(e(2, 4), mine.rpc_id)
    if bad:
        view.log(e(2, 3, OTHER_TAG), "B", 1).result(e(2, 4, OTHER_TAG), mine.rpc_id).quiet()
    else:
        view.end()


@twin("SES-5", Fault.CROSS_SESSION_LEAK)
def anothers_label_under_a_colliding_id(wire: Wire, bad: bool) -> None:
    """Ids that collide between sessions say nothing; the label does."""
    a, b = wire.session(), wire.session()
    a.emit("A", 1).bare("0").log("1", "A", 1).result("2").end()
    b.emit("B", 1).bare("0").log("1", "A" if bad else "B", 1)


@twin("SES-5", Fault.CROSS_SESSION_LEAK, also=(("CUR-3", Fault.CROSS_SESSION_LEAK),), holds=False)
def a_tail_that_its_own_session_was_never_given(wire: Wire, bad: bool) -> None:
    """Nobody has seen these messages before; that a call of the other session claims them says whose they are."""
    a, b = wire.session("one"), wire.session("two")
    a.emit("A", 3).bare(e(2, 2)).log(e(2, 3), "A", 1).cut()
    b.emit("B", 3).bare(e(2, 2, OTHER_TAG)).log(e(2, 3, OTHER_TAG), "B", 1).cut()
    if bad:
        resume(b, e(2, 3)).log(e(2, 4), "A", 2).log(e(2, 5), "A", 3)
    else:
        b.get(e(2, 3)).refuse(409, "cursor-foreign")


@twin("SES-4", Fault.SESSION_RESURRECTED, holds=False)
def a_restart_gives_an_id_again(wire: Wire, bad: bool) -> None:
    """Sessions are counted by the process, which was restarted; the client of the first was told nothing."""
    wire.session("session-1")
    wire.restart()
    wire.session("session-1" if bad else "session-2")


@twin("SES-5", Fault.CROSS_SESSION_LEAK)
def a_restart_gives_event_ids_again(wire: Wire, bad: bool) -> None:
    """Ids are counted by the process, and found whatever session asks: its own cursor brings another's events."""
    a = wire.session()
    a.emit("A", 2).bare("0").log("1", "A", 1).log("2", "A", 2).result("3").end()
    wire.restart()
    b = wire.session(rpc_id=100)
    b.emit("B", 2, rpc_id=101).bare("0").log("1", "B", 1).log("2", "B", 2).result("3").end()
    if bad:
        resume(a, "1").log("2", "B", 2)
    else:
        a.get("1").refuse(404, "session-unknown")


@twin("SES-6", Fault.WRONG_STATUS)
def delete_of_a_living_session_is_400(wire: Wire, bad: bool) -> None:
    """DELETE, nothing open."""
    wire.session().delete(400 if bad else 200)


@twin("SES-6", Fault.WRONG_STATUS)
def delete_is_not_supported(wire: Wire, bad: bool) -> None:
    """405 is as good as 2xx."""
    wire.session().delete(500 if bad else 405)


@twin("SES-6", Fault.STREAM_NOT_ENDED)
def a_view_outlives_its_session(wire: Wire, bad: bool) -> None:
    """A listener over a DELETE."""
    session = wire.session()
    listener = session.get().answer().bare(e(1, 1))
    session.delete()
    listener.quiet() if bad else listener.end()


@twin("SES-7", Fault.PRINCIPAL_CONFUSION)
def another_principal_is_served(wire: Wire, bad: bool) -> None:
    """bob on a session of alice."""
    session = wire.session(principal="alice")
    view = session.request("GET", principal="bob")
    if bad:
        view.answer().quiet()
    else:
        view.refuse(404, "session-unknown")


@twin("SES-7", Fault.WRONG_STATUS)
def another_principal_learns_that_it_exists(wire: Wire, bad: bool) -> None:
    """403 differs from what an unknown session is answered with."""
    session = wire.session(principal="alice")
    wire.request("DELETE", session="never-issued", principal="bob").refuse(404, "session-unknown")
    session.request("DELETE", principal="bob").refuse(403 if bad else 404, "session-unknown")


@twin("SES-8", Fault.WRONG_STATUS)
def an_unknown_session_is_invented(wire: Wire, bad: bool) -> None:
    """GET with an id that was never issued."""
    wire.session()
    view = wire.request("GET", session="never-issued")
    if bad:
        view.answer().quiet()
    else:
        view.refuse(404, "session-unknown")


_DECLARED = declaration_of(SHORT)
_EARLY = (("IDL-4", Fault.HEALTHY_VIEW_ENDED),)


@twin("SES-6", Fault.WRONG_STATUS, declaration=_DECLARED, also=_EARLY, holds=False)
def a_session_is_gone_before_its_delete(wire: Wire, bad: bool) -> None:
    """The good one's view was not read for so long that the server may have ended it, and then the session.

    That a resumption finds no session then is no sign of life, either.
    """
    session = wire.session()
    call = session.emit("A", 2).bare("a0")
    if not bad:
        call.pause()
    wire.pass_time(SHORT.stall_ms + SHORT.absence_ms + 1_500)
    if not bad:
        call.read_on()
    call.cut()
    if not bad:
        session.get("a0").refuse(404, "session-unknown")
    session.delete(404)


@twin("SES-6", Fault.WRONG_STATUS, holds=False)
def a_session_has_ended_of_itself(wire: Wire, bad: bool) -> None:
    """No budget is declared, so that it may end at any time; one that is served afterwards has not."""
    session = wire.session()
    session.ping()
    session.delete(404)
    session.ping(200 if bad else 404)


@twin("SES-6", Fault.WRONG_STATUS, declaration=_DECLARED, also=_EARLY, holds=False)
def a_restart_has_ended_a_session(wire: Wire, bad: bool) -> None:
    """The good one's server was restarted, and knows nothing of it any more."""
    session = wire.session()
    session.ping()
    if not bad:
        wire.restart()
    session.delete(404)
