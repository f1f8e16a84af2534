"""Twins of DEL, CUR-1 and ATT-4."""

from typing import Any

from tests.oracle.twins.base import resume, twin
from tests.oracle.wire import Wire, log
from tests.oracle.wire import event_id as e

from reattach.oracle.message import normalised_key
from reattach.oracle.verdict import Fault

_LOST = ("DEL-2", Fault.SILENT_GAP)


@twin("DEL-1", Fault.DUPLICATE_DELIVERY, also=(("CUR-8", Fault.DUPLICATE_DELIVERY),))
def the_cursors_own_event_again(wire: Wire, bad: bool) -> None:
    """An inclusive replay."""
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    view = resume(session, "a2")
    if bad:
        view.log("a2", "A", 2)
    view.log("a3", "A", 3).quiet()


@twin("DEL-1", Fault.DUPLICATE_DELIVERY)
def replay_and_live_both(wire: Wire, bad: bool) -> None:
    """The race of the hand-over, lost in the other direction."""
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2)
    if bad:
        view.log("a2", "A", 2)
    view.log("a3", "A", 3).quiet()


@twin("DEL-1", Fault.DUPLICATE_DELIVERY, also=(("CUR-8", Fault.DUPLICATE_DELIVERY),))
def an_old_message_under_a_new_id(wire: Wire, bad: bool) -> None:
    """The ids hide it, the numbers do not."""
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    view = resume(session, "a2")
    if bad:
        view.log("b7", "A", 1)
    view.log("b8", "A", 3).quiet()


@twin("DEL-1", Fault.DUPLICATE_DELIVERY)
def once_more_than_the_call_left_alone(wire: Wire, bad: bool) -> None:
    """The metamorphic relation: a message that is in no way numbered."""
    session = wire.session()
    tick: Any = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "tick"}}
    call = session.call()
    assert call.rpc_id is not None
    done: Any = {"jsonrpc": "2.0", "id": call.rpc_id, "result": {}}
    call.expect([normalised_key(tick), normalised_key(tick), normalised_key(done)], "metamorphic")
    call.answer().bare("a0").event("a1", tick).cut()
    view = resume(session, "a1").event("a2", tick)
    if bad:
        view.event("a3", tick)
    view.event("a4", done).end()
    call.settle(view)


@twin("DEL-2", Fault.SILENT_GAP)
def lost_at_the_hand_over(wire: Wire, bad: bool) -> None:
    """An event between the replay and what is live."""
    session = wire.session()
    call = session.emit("A", 5).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2)
    if not bad:
        view.log("a3", "A", 3)
    view.log("a4", "A", 4).log("a5", "A", 5).result("a6", call.rpc_id).end()
    call.settle(view)


@twin("DEL-2", Fault.SILENT_GAP)
def lost_by_its_number_alone(wire: Wire, bad: bool) -> None:
    """No driver expects anything; the messages are numbered."""
    session = wire.session()
    session.call().answer().bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2)
    if not bad:
        view.log("a3", "A", 3)
    view.log("a4", "A", 4).cut()


@twin("DEL-2", Fault.SILENT_GAP)
def a_second_resumption_delivers_it(wire: Wire, bad: bool) -> None:
    """Nothing is numbered: the server held it and skipped it."""
    session = wire.session()
    note: Any = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "?"}}
    session.call().answer().bare("a0").event("a1", note | {"x": 1}).cut()
    view = resume(session, "a1")
    if not bad:
        view.event("a2", note | {"x": 2})
    view.event("a3", note | {"x": 3}).cut()
    resume(session, "a1").event("a2", note | {"x": 2}).event("a3", note | {"x": 3}).cut()


@twin("DEL-2", Fault.SILENT_GAP)
def the_response_is_lost(wire: Wire, bad: bool) -> None:
    """The view is ended without it, and there is nothing to resume."""
    session = wire.session()
    call = session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2)
    if not bad:
        view.result("a3", call.rpc_id)
    elif wire.revision:
        view.bare(None, retry=100)
    view.end()
    call.settle(view)


@twin("DEL-2", Fault.SILENT_GAP, also=(("IDL-5", Fault.RETRY_MISSING),), holds=False)
def a_restart_ends_a_call(wire: Wire, bad: bool) -> None:
    """The process that worked on the call is gone. An error tells the client; the end of the stream does not."""
    session = wire.session()
    call = session.emit("A", 9).bare("a0").log("a1", "A", 1).cut()
    wire.restart()
    view = resume(session, "a1").log("a2", "A", 2)
    if not bad:
        view.event("a3", _failure(call.rpc_id))
    view.end()
    call.settle(view)


@twin("DEL-2", Fault.SILENT_GAP, holds=False)
def a_failed_call_of_a_foreign_tool(wire: Wire, bad: bool) -> None:
    """What the call sends is known from calls left alone, and this one fails: it says so, or loses what it skips."""
    session = wire.session()
    call = session.call()
    notes: list[Any] = [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": n}} for n in "xyz"]
    done: Any = {"jsonrpc": "2.0", "id": call.rpc_id, "result": {}}
    call.expect([normalised_key(each) for each in (*notes, done)], origin="metamorphic")
    call.answer().bare("a0").event("a1", notes[0]).cut()
    view = resume(session, "a1").event("a2", done if bad else _failure(call.rpc_id)).end()
    call.settle(view)


def _failure(rpc_id: int | None) -> Any:
    return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": -32000, "message": "the server was restarted"}}


@twin("DEL-2", Fault.SILENT_GAP)
def steps_of_progress_are_missing(wire: Wire, bad: bool) -> None:
    """Progress that goes up by one numbers itself."""
    session = wire.session()

    def step(n: int) -> Any:
        return {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": n}}

    call = session.call().answer().bare("a0")
    for n in range(1, 6):
        call.event(f"a{n}", step(n))
    call.cut()
    view = resume(session, "a5")
    for n in (6, 8) if bad else (6, 7, 8):
        view.event(f"a{n}", step(n))
    view.quiet()


@twin("DEL-2", Fault.SILENT_GAP)
def lost_in_a_call_of_a_foreign_tool(wire: Wire, bad: bool) -> None:
    """The metamorphic relation."""
    session = wire.session()

    def say(text: str) -> Any:
        return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": text}}

    call = session.call()
    done: Any = {"jsonrpc": "2.0", "id": call.rpc_id, "result": {"at": "2026-11-30T10:00:00Z"}}
    again: Any = {"jsonrpc": "2.0", "id": 77, "result": {"at": "2026-11-30T11:00:00Z"}}
    call.expect([*(normalised_key(say(t)) for t in "abc"), normalised_key(again)], "metamorphic")
    call.answer().bare("x0").event("x1", say("a")).cut()
    view = resume(session, "x1")
    if not bad:
        view.event("x2", say("b"))
    view.event("x3", say("c")).event("x4", done).end()
    call.settle(view)


@twin("DEL-2", Fault.SILENT_GAP)
def a_push_is_lost_while_nobody_listens(wire: Wire, bad: bool) -> None:
    """The standalone stream."""
    session = wire.session()
    listener = session.get().answer().bare("g0")
    first = session.call("P").expect_logs("P", 1, standalone=True).answer().bare("p0")
    listener.log("g1", "P", 1).cut()
    first.result("p1").end()
    push = session.call("Q").expect_logs("Q", 2, standalone=True).answer().bare("q0").result("q1").end()
    view = resume(session, "g1")
    if not bad:
        view.log("g2", "Q", 1).log("g3", "Q", 2)
    view.quiet()
    push.settle(view)


@twin("ATT-4", Fault.SILENT_GAP, also=(_LOST,))
def what_nobody_heard_was_dropped(wire: Wire, bad: bool) -> None:
    """Two resumptions from one cursor, and neither has it."""
    session = wire.session()
    call = session.emit("A", 4).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1")
    for attempt in range(2):
        if attempt:
            view = resume(session, "a1")
        if not bad:
            view.log("a2", "A", 2).log("a3", "A", 3)
        view.log("a4", "A", 4).result("a5", call.rpc_id).end()
    call.settle(view)


@twin("ATT-4", Fault.SILENT_GAP, also=(_LOST, ("CUR-4", Fault.BAD_CURSOR_SILENT), ("MOD-1", Fault.POSITION_NOT_STATED)))
def the_call_died_with_its_connection(wire: Wire, bad: bool) -> None:
    """The server took the cut for a cancellation."""
    session = wire.session()
    call = session.emit("A", 3).bare("a0").log("a1", "A", 1).cut()
    view = session.get("a1").answer().comment("resumed a1").bare("a1")
    if bad:
        view.bare(None, retry=10).end()
        view = session.get("a1").answer().comment("resumed a1").bare("a1").bare(None, retry=10).end()
    else:
        view.log("a2", "A", 2).log("a3", "A", 3).result("a4", call.rpc_id).end()
    call.settle(view)


@twin("DEL-3", Fault.CROSS_STREAM_REPLAY)
def another_streams_events_are_replayed(wire: Wire, bad: bool) -> None:
    """A store that is keyed by session alone."""
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    session.emit("B", 1).bare("b0").log("b1", "B", 1).result("b2").end()
    view = resume(session, "a1").log("a2", "A", 2)
    if bad:
        view.log("b1", "B", 1)
    view.cut()


@twin("DEL-3", Fault.CROSS_STREAM_REPLAY)
def another_streams_events_come_first_here(wire: Wire, bad: bool) -> None:
    """They were never read on their own stream; the label tells."""
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    session.emit("B", 1).bare("b0").cut()
    session.emit("C", 1).bare("c0").log("c1", "C", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2)
    if bad:
        view.log("b1", "B", 1)
    view.cut()


@twin("DEL-3", Fault.CROSS_STREAM_REPLAY)
def a_guessed_cursor_comes_true(wire: Wire, bad: bool) -> None:
    """A cursor is made up that is on its way already: what it brings is of the call's stream, and comes there again."""
    session = wire.session()
    session.emit("B", 1).bare(e(2, 2)).log(e(2, 3), "B", 1).cut()
    call = session.emit("A", 3).bare(e(3, 4)).log(e(3, 5), "A", 1)
    guessed = session.get(e(3, 6))
    call.log(e(3, 6), "A", 2)
    guessed.answer().comment(f"resumed {e(3, 6)}").log(e(3, 7), "A", 3).cut()
    view = resume(session, e(3, 6)).log(e(3, 7), "A", 3)
    if bad:
        view.log(e(2, 3), "B", 1)
    view.cut()


@twin("DEL-3", Fault.RESPONSE_ON_WRONG_STREAM, holds=False)
def a_response_on_another_posts_stream(wire: Wire, bad: bool) -> None:
    """Two calls at once."""
    session = wire.session()
    one = session.emit("A", 0).bare("a0")
    two = session.emit("B", 0).bare("b0")
    two.result("b1", one.rpc_id if bad else two.rpc_id)


@twin("DEL-3", Fault.CROSS_STREAM_REPLAY, holds=False)
def notifications_of_another_call(wire: Wire, bad: bool) -> None:
    """The text says should; so it is reported as that."""
    session = wire.session()
    session.emit("A", 1).bare("a0")
    session.emit("B", 1).bare("b0").log("b1", "A" if bad else "B", 1)


@twin("DEL-4", Fault.BROADCAST)
def a_push_on_two_listeners(wire: Wire, bad: bool) -> None:
    """Two plain GETs."""
    session = wire.session()
    one, two = session.get().answer().bare("g0"), session.get().answer().bare("h0")
    session.call("P").expect_logs("P", 1, standalone=True).answer().bare("p0").result("p1").end()
    one.log("g1", "P", 1)
    if bad:
        two.log("h1", "P", 1)


@twin("DEL-5", Fault.RESPONSE_ON_WRONG_STREAM)
def a_response_on_a_plain_get(wire: Wire, bad: bool) -> None:
    """The listener gets an answer to a POST."""
    session = wire.session()
    listener = session.get().answer().bare("g0")
    call = session.emit("A", 0).bare("a0")
    assert call.rpc_id is not None
    (listener if bad else call).result("r1", call.rpc_id)


@twin("DEL-5", Fault.RESPONSE_ON_WRONG_STREAM)
def a_response_in_the_body_and_on_a_get(wire: Wire, bad: bool) -> None:
    """A gateway that copies everything to the listener."""
    session = wire.session()
    listener = session.get().answer().bare("g0")
    other = session.emit("A", 0).bare("a0").result("a1").end()
    call = session.call()
    call.answer(200, "application/json").body({"jsonrpc": "2.0", "id": call.rpc_id, "result": {"x": 1}})
    del other
    if bad:
        listener.event("g1", {"jsonrpc": "2.0", "id": call.rpc_id, "result": {"x": 1}})


@twin("DEL-5", Fault.RESPONSE_ON_WRONG_STREAM, also=(("DEL-3", Fault.CROSS_STREAM_REPLAY),))
def a_response_on_another_streams_resumption(wire: Wire, bad: bool) -> None:
    """Replayed with everything else."""
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    other = session.emit("B", 0).bare("b0").result("b1").end()
    view = resume(session, "a1").log("a2", "A", 2)
    if bad:
        view.result("b1", other.rpc_id)
    view.cut()


@twin("DEL-6", Fault.OUT_OF_ORDER)
def numbers_out_of_order(wire: Wire, bad: bool) -> None:
    """A replay sorted by a random part of the id."""
    session = wire.session()
    session.emit("A", 4).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1")
    for n in (3, 2, 4) if bad else (2, 3, 4):
        view.log(f"a{n}", "A", n)
    view.cut()


@twin("DEL-6", Fault.OUT_OF_ORDER)
def another_order_on_the_second_delivery(wire: Wire, bad: bool) -> None:
    """Known events, swapped."""
    session = wire.session()
    note: Any = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "?"}}
    session.call().answer().bare("a0").event("a1", note | {"x": 1}).event("a2", note | {"x": 2}).cut()
    view = resume(session, "a0")
    for n in (2, 1) if bad else (1, 2):
        view.event(f"a{n}", note | {"x": n})
    view.cut()


@twin("DEL-6", Fault.OUT_OF_ORDER, holds=False)
def left_out_at_first_and_then_put_between(wire: Wire, bad: bool) -> None:
    """The first delivery was never resumed."""
    session = wire.session()
    note: Any = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "?"}}
    call = session.call().answer().bare("a0").event("a1", note | {"x": 1})
    if not bad:
        call.event("a2", note | {"x": 2})
    call.event("a3", note | {"x": 3}).cut()
    resume(session, "a1").event("a2", note | {"x": 2}).event("a3", note | {"x": 3}).cut()


@twin("DEL-7", Fault.STREAM_NOT_ENDED)
def open_after_the_response(wire: Wire, bad: bool) -> None:
    """The POST's own view."""
    session = wire.session()
    call = session.emit("A", 0).bare("a0").result("a1")
    call.quiet() if bad else call.end()


@twin("DEL-7", Fault.STREAM_NOT_ENDED)
def a_resumed_view_open_after_the_response(wire: Wire, bad: bool) -> None:
    """A call that finishes on a resumed view."""
    session = wire.session()
    call = session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2).result("a3", call.rpc_id)
    view.quiet() if bad else view.end()


@twin("DEL-7", Fault.STREAM_NOT_ENDED)
def open_after_the_cancellation(wire: Wire, bad: bool) -> None:
    """Neither a response nor an end."""
    session = wire.session()
    call = session.emit("A", 9).bare("a0").log("a1", "A", 1)
    assert call.rpc_id is not None
    session.cancel(call.rpc_id)
    call.quiet() if bad else call.end()


@twin("DEL-8", Fault.DEAF_AFTER_RESUME)
def silent_and_then_there_is_more(wire: Wire, bad: bool) -> None:
    """The next resumption brings what the open view did not."""
    session = wire.session()
    call = session.emit("A", 4).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2)
    if bad:
        view.quiet().cut()
        view = resume(session, "a2")
    wire.pass_time(200)
    view.log("a3", "A", 3).log("a4", "A", 4).result("a5", call.rpc_id).end()
    call.settle(view)


@twin("DEL-8", Fault.DEAF_AFTER_RESUME)
def silent_until_the_driver_gives_up(wire: Wire, bad: bool) -> None:
    """Settled, and the rest never came."""
    session = wire.session()
    call = session.emit("A", 3).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2)
    if bad:
        view.quiet().cut()
    else:
        wire.pass_time(200)
        view.log("a3", "A", 3).result("a4", call.rpc_id).end()
    call.settle(view)


@twin("DEL-8", Fault.DEAF_AFTER_RESUME)
def a_resumed_listener_hears_nothing(wire: Wire, bad: bool) -> None:
    """A push after the resumption of the standalone stream."""
    session = wire.session()
    listener = session.get().answer().bare("g0")
    session.call("P").expect_logs("P", 1, standalone=True).answer().bare("p0").result("p1").end()
    listener.log("g1", "P", 1).cut()
    view = resume(session, "g1")
    push = session.call("Q").expect_logs("Q", 1, standalone=True).answer().bare("q0").result("q1").end()
    if not bad:
        wire.pass_time(200)
        view.log("g2", "Q", 1)
    view.quiet()
    push.settle(view)


@twin("DEL-9", Fault.STREAM_NOT_ENDED)
def a_finished_stream_stays_open(wire: Wire, bad: bool) -> None:
    """Resumed after its response."""
    session = wire.session()
    session.emit("A", 1).bare("a0").log("a1", "A", 1).result("a2").end()
    view = resume(session, "a2")
    view.quiet() if bad else view.end()


@twin("DEL-10", Fault.BROADCAST, also=(("ATT-2", Fault.BROADCAST),))
def both_views_get_everything(wire: Wire, bad: bool) -> None:
    """The old connection is read beside the new one."""
    session = wire.session()
    old = session.emit("A", 5).bare(e(2, 2)).log(e(2, 3), "A", 1)
    new = resume(session, e(2, 3)).log(e(2, 4), "A", 2)
    old.log(e(2, 4), "A", 2)  # was on its way when the stream was taken over
    wire.pass_time(1_500)
    new.log(e(2, 5), "A", 3)
    if bad:
        old.log(e(2, 5), "A", 3)
    old.quiet()
    new.log(e(2, 6), "A", 4).quiet()


@twin("CUR-1", Fault.REPLAY_FROM_START)
def history_that_nobody_asked_for(wire: Wire, bad: bool) -> None:
    """A plain GET after another."""
    session = wire.session()
    session.get().answer().bare("g0").event("g1", log("push", 1)).cut()
    listener = session.get().answer().bare("h0")
    if bad:
        listener.event("g1", log("push", 1))
    listener.event("h1", log("push", 2)).quiet()


@twin("DEL-8", Fault.DEAF_AFTER_RESUME, holds=False)
def a_resumed_listener_is_not_asked(wire: Wire, bad: bool) -> None:
    """The good one was quiet before the push alone, and is cut at once after it."""
    session = wire.session()
    listener = session.get().answer().bare("g0")
    session.call("P").expect_logs("P", 1, standalone=True).answer().bare("p0").result("p1").end()
    listener.log("g1", "P", 1).cut()
    view = resume(session, "g1").quiet()
    push = session.call("Q").expect_logs("Q", 1, standalone=True).answer().bare("q0").result("q1").end()
    if bad:
        view.quiet()
    view.cut()
    push.settle(view)


@twin("DEL-2", Fault.SILENT_GAP, also=(("DEL-3", Fault.CROSS_STREAM_REPLAY),), holds=False)
def what_is_missing_comes_late_and_elsewhere(wire: Wire, bad: bool) -> None:
    """A server that gives a call's message to the listener, where it is read after the call's stream has ended."""
    session = wire.session()
    listener = session.get().answer().bare("g0")
    call = session.emit("A", 2).bare("a0").cut()
    view = resume(session, "a0").log("a2", "A", 2).result("a3", call.rpc_id).end()
    if bad:
        listener.quiet()
    listener.log("g1", "A", 1)
    listener.quiet().cut()
    call.settle(view)


@twin("DEL-4", Fault.BROADCAST, holds=False)
def two_calls_number_alike(wire: Wire, bad: bool) -> None:
    """No call claims the numbers of the good one: each of its two calls may have counted for itself."""
    session = wire.session()
    one = session.call("A" if bad else "").answer().bare("a0")
    two = session.call().answer().bare("b0")
    one.log("a1", "A", 1).log("a2", "A", 2).result("a3").end()
    two.log("b1", "A", 1).log("b2", "A", 2).result("b3").end()


@twin("DEL-2", Fault.SILENT_GAP, holds=False)
def progress_leaps(wire: Wire, bad: bool) -> None:
    """It need only grow: one that leaps beyond all its steps has lost nothing, one that skips a step has."""
    session = wire.session()
    call = session.call().answer().bare("a0")
    for n in range(1, 6):
        call.event(f"a{n}", _progress(n))
    call.cut()
    resume(session, "a5").event("a6", _progress(7 if bad else 50)).event("a7", _progress(8 if bad else 100)).quiet()


def _progress(n: int) -> Any:
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": n}}


@twin("DEL-6", Fault.OUT_OF_ORDER, holds=False)
def a_label_beside_a_number_that_counts_nothing(wire: Wire, bad: bool) -> None:
    """The length of a queue. Where a call asks for the label, it is a numbering."""
    session = wire.session()
    call = session.call("queue" if bad else "").answer().bare("a0")
    call.log("a1", "queue", 9).log("a2", "queue", 4).cut()
