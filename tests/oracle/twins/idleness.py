"""Twins of IDL."""

from tests.oracle.twins.base import twin
from tests.oracle.wire import Wire
from tests.oracle.wire import event_id as e

from reattach.machine.policy import SHORT
from reattach.machine.revision import Revision
from reattach.oracle.declaration import declaration_of
from reattach.oracle.verdict import Fault

DECLARED = declaration_of(SHORT, transport_buffer_bytes=100_000)
BIG = 20_000


@twin("IDL-1", Fault.IDLE_NOT_ENFORCED, declaration=DECLARED)
def a_stalled_view_is_kept(wire: Wire, bad: bool) -> None:
    """The reader comes back after two budgets."""
    session = wire.session()
    call = session.emit("A", 12).bare(e(2, 2)).log(e(2, 3), "A", 1, size=BIG).pause()
    wire.pass_time(2 * SHORT.stall_ms + 1_000)
    call.read_on()
    for n in range(2, 13 if bad else 5):
        call.log(e(2, n + 2), "A", n, size=BIG)
    if bad:
        call.result(e(2, 15)).end()
    else:
        call.bare(None, retry=10).abort()


@twin("IDL-1", Fault.HEALTHY_VIEW_ENDED, declaration=DECLARED)
def a_view_that_is_read_is_ended_as_stalled(wire: Wire, bad: bool) -> None:
    """No pause at all; beside it one that really stalls."""
    session = wire.session()
    stalled = session.emit("A", 12).bare(e(2, 2)).log(e(2, 3), "A", 1).pause()
    wire.pass_time(2 * SHORT.stall_ms + 1_000)
    stalled.read_on().bare(None, retry=10).comment(f"resumption-required {e(2, 3)} stalled").end()
    healthy = session.emit("B", 3).bare(e(3, 9)).log(e(3, 10), "B", 1)
    if bad:
        healthy.bare(None, retry=10).comment(f"resumption-required {e(3, 10)} stalled").end()
    else:
        healthy.log(e(3, 11), "B", 2)


@twin("IDL-2", Fault.UNBOUNDED_MEMORY, declaration=DECLARED)
def a_queue_beside_the_window(wire: Wire, bad: bool) -> None:
    """The view was ended, and yet it drains more than the buffers hold."""
    session = wire.session()
    call = session.emit("A", 99).bare(e(2, 2)).log(e(2, 3), "A", 1, size=BIG).pause()
    wire.pass_time(2 * SHORT.stall_ms + 1_000)
    call.read_on()
    for n in range(2, 20 if bad else 5):
        call.log(e(2, n + 2), "A", n, size=BIG)
    call.abort()


@twin("IDL-3", Fault.SILENT_GAP, declaration=DECLARED)
def a_slow_view_is_moved_forward(wire: Wire, bad: bool) -> None:
    """What another stream pushed out of the window is left out."""
    session = wire.session()
    slow = session.emit("A", 6).bare(e(2, 2)).log(e(2, 3), "A", 1).pause()
    other = session.emit("B", 20).bare(e(3, 5))
    for n in range(1, 21):
        other.log(e(3, n + 5), "B", n)
    other.result(e(3, 26)).end()
    slow.read_on()
    if bad:
        slow.log(e(2, 30), "A", 5).quiet()
    else:
        slow.bare(None, retry=10).comment(f"resumption-required {e(2, 3)} overtaken").end()


@twin("IDL-4", Fault.IDLE_NOT_ENFORCED, declaration=DECLARED)
def an_abandoned_session_lives(wire: Wire, bad: bool) -> None:
    """Everything is closed, and the budget has passed."""
    session = wire.session()
    session.emit("A", 1).bare(e(2, 2)).log(e(2, 3), "A", 1).result(e(2, 4)).end()
    wire.pass_time(SHORT.absence_ms + 1_500)
    session.ping(200 if bad else 404)


@twin("IDL-4", Fault.HEALTHY_VIEW_ENDED, declaration=DECLARED, holds=False)
def a_session_ends_before_its_time(wire: Wire, bad: bool) -> None:
    """Half the budget."""
    session = wire.session()
    wire.pass_time(SHORT.absence_ms // 2)
    session.ping(404 if bad else 200)


@twin("IDL-5", Fault.RETRY_MISSING)
def no_retry_before_the_end(wire: Wire, bad: bool) -> None:
    """The server closes, and the call goes on."""
    session = wire.session()
    call = session.emit("A", 3).bare("a0").log("a1", "A", 1)
    if not bad:
        call.bare(None, retry=500)
    call.end()


@twin("IDL-5", Fault.RETRY_MISSING, revision=Revision.R2025_11_25, holds=False)
def the_stream_has_ended(wire: Wire, bad: bool) -> None:
    """After the response there is nothing to come back to."""
    session = wire.session()
    call = session.emit("A", 1).bare("a0").log("a1", "A", 1)
    if not bad:
        call.result("a2")
    call.end()


@twin("IDL-6", Fault.HEAD_OF_LINE_BLOCKING)
def one_reader_holds_up_all(wire: Wire, bad: bool) -> None:
    """A call stands still until the slow connection is closed."""
    session = wire.session()
    slow = session.emit("A", 99).bare("a0").log("a1", "A", 1).pause()
    call = session.emit("B", 1).bare("b0")
    if bad:
        call.quiet()
        slow.cut()
    call.log("b1", "B", 1).result("b2").end()


@twin("IDL-6", Fault.HEAD_OF_LINE_BLOCKING)
def one_reader_holds_up_the_answer(wire: Wire, bad: bool) -> None:
    """Not even a status line comes."""
    session = wire.session()
    slow = session.emit("A", 99).bare("a0").log("a1", "A", 1).pause()
    call = session.call("B").expect_logs("B", 0)
    if bad:
        call.quiet()
        slow.read_on()
    call.answer().bare("b0").result("b1").end()


@twin("IDL-5", Fault.RETRY_MISSING, holds=False)
def a_stream_of_no_session_has_ended(wire: Wire, bad: bool) -> None:
    """A server that serves a request without a session id, with a stream; its response is a response there too."""
    wire.session()
    ping = wire.request("POST", message={"jsonrpc": "2.0", "id": 31, "method": "ping"}).answer().bare("p0")
    if not bad:
        ping.result("p1")
    ping.end()
