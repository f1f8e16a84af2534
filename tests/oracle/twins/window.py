"""Twins of WIN, and of what a declared window makes of CUR-7 and CUR-8."""

from tests.oracle.twins.base import resume, twin
from tests.oracle.wire import OTHER_TAG, Exchange, Session, Wire
from tests.oracle.wire import event_id as e

from reattach.machine.policy import SHORT
from reattach.oracle.declaration import declaration_of
from reattach.oracle.verdict import Fault

DECLARED = declaration_of(SHORT)
N = SHORT.window_events
_BROKEN = (("CUR-7", Fault.GOOD_CURSOR_REFUSED), ("WIN-5", Fault.GOOD_CURSOR_REFUSED))


def _emitted(wire: Wire, count: int) -> tuple[Session, Exchange]:
    """A session with one call, read to its end: seqs 3 to count + 2, then the response."""
    session = wire.session()
    call = session.emit("A", count).bare(e(2, 2))
    for n in range(1, count + 1):
        call.log(e(2, n + 2), "A", n)
    return session, call.result(e(2, count + 3)).end()


def _suffix(view: Exchange, call: Exchange, begin: int, count: int) -> None:
    for n in range(begin, count + 1):
        view.log(e(2, n + 2), "A", n)
    view.result(e(2, count + 3), call.rpc_id).end()


@twin("WIN-1", Fault.UNBOUNDED_MEMORY, declaration=DECLARED)
def more_than_n_events_are_held(wire: Wire, bad: bool) -> None:
    """A cursor from before everything."""
    session, call = _emitted(wire, N + 10)
    if bad:
        _suffix(resume(session, e(2, 2)), call, 1, N + 10)
    else:
        session.get(e(2, 2)).refuse(409, "cursor-out-of-window")


@twin("WIN-2", Fault.UNBOUNDED_MEMORY, declaration=DECLARED)
def an_event_is_held_for_longer_than_t(wire: Wire, bad: bool) -> None:
    """A quiet session."""
    session, call = _emitted(wire, 3)
    wire.pass_time(SHORT.window_ms + 1_500)
    if bad:
        _suffix(resume(session, e(2, 3)), call, 2, 3)
    else:
        session.get(e(2, 3)).refuse(409, "cursor-out-of-window")


@twin("WIN-4", Fault.UNBOUNDED_MEMORY, also=(("SES-5", Fault.CROSS_SESSION_LEAK), ("CUR-3", Fault.CROSS_SESSION_LEAK)))
def an_event_outlives_its_session(wire: Wire, bad: bool) -> None:
    """The cursor of a terminated session, in another one."""
    session, call = _emitted(wire, 3)
    session.delete()
    other = wire.session()
    other.emit("B", 1).bare(e(2, 2, OTHER_TAG)).log(e(2, 3, OTHER_TAG), "B", 1)
    view = other.get(e(2, 4))
    if bad:
        view.answer().log(e(2, 5), "A", 3).result(e(2, 6), call.rpc_id).end()
    else:
        view.refuse(409, "cursor-foreign")


@twin("WIN-5", Fault.GOOD_CURSOR_REFUSED, declaration=DECLARED, also=_BROKEN)
def a_cursor_within_the_window_is_refused(wire: Wire, bad: bool) -> None:
    """Few events, all of them young."""
    session, call = _emitted(wire, 5)
    if bad:
        session.get(e(2, 3)).refuse(409, "cursor-out-of-window")
    else:
        _suffix(resume(session, e(2, 3)), call, 2, 5)


@twin(
    "CUR-7",
    Fault.GOOD_CURSOR_REFUSED,
    declaration=DECLARED,
    also=(*_BROKEN, ("CUR-8", Fault.GOOD_CURSOR_REFUSED)),
)
def other_streams_do_not_matter(wire: Wire, bad: bool) -> None:
    """The newest event of the standalone stream, after more than N events of a call."""
    session = wire.session()
    listener = session.get().answer().bare(e(1, 1))
    push = session.call("P").expect_logs("P", 1, standalone=True).answer(200, "application/json")
    push.body({"jsonrpc": "2.0", "id": push.rpc_id, "result": {}})
    listener.log(e(1, 4), "P", 1).cut()
    other = session.emit("B", N).bare(e(3, 5))
    for n in range(1, N + 1):
        other.log(e(3, n + 5), "B", n)
    other.result(e(3, N + 6)).end()
    if bad:
        session.get(e(1, 4)).refuse(409, "cursor-out-of-window")
    else:
        resume(session, e(1, 4)).quiet()


@twin("CUR-8", Fault.GOOD_CURSOR_REFUSED, declaration=DECLARED, also=_BROKEN)
def the_mark_is_refused(wire: Wire, bad: bool) -> None:
    """Exactly N messages follow the cursor."""
    session, call = _emitted(wire, N + 4)
    cursor = e(2, N + 4 + 3 - N)
    if bad:
        session.get(cursor).refuse(409, "cursor-out-of-window")
    else:
        _suffix(resume(session, cursor), call, N + 4 + 2 - N, N + 4)


@twin("CUR-8", Fault.GOOD_CURSOR_REFUSED, declaration=DECLARED, also=_BROKEN, holds=False)
def a_listener_that_none_replaced_is_refused(wire: Wire, bad: bool) -> None:
    """The good one is refused after a second listener: the first stream was finished then, and with nothing held."""
    session = wire.session()
    session.get().answer().bare(e(1, 1)).cut()
    if not bad:
        session.get().answer().bare(e(2, 2)).cut()
    session.get(e(1, 1)).refuse(409, "cursor-out-of-window")


@twin("WIN-6", Fault.HEALTHY_VIEW_ENDED, declaration=DECLARED, holds=False)
def a_reader_is_overtaken_before_anything_is_old(wire: Wire, bad: bool) -> None:
    """The good one is overtaken when its stream is as old as the window holds events at most."""
    call = wire.session().emit("A", 3 * N).bare(e(2, 2))
    if not bad:
        wire.pass_time(SHORT.window_ms)
    call.bare(None, retry=10).comment(f"resumption-required {e(2, 2)} overtaken").end()


@twin("WIN-6", Fault.HEALTHY_VIEW_ENDED, declaration=DECLARED)
def a_healthy_reader_is_overtaken(wire: Wire, bad: bool) -> None:
    """One view, read all the time, and a tool that is in a hurry."""
    session = wire.session()
    call = session.emit("A", 3 * N).bare(e(2, 2))
    for n in range(1, 3 * N + 1):
        call.log(e(2, n + 2), "A", n)
        if bad and n == N + 2:
            call.bare(None, retry=10).comment(f"resumption-required {e(2, n + 2)} overtaken").end()
            return
    call.result(e(2, 3 * N + 3)).end()


@twin("CUR-8", Fault.GOOD_CURSOR_REFUSED, declaration=DECLARED, also=_BROKEN, holds=False)
def what_a_guessed_cursor_brought_is_refused(wire: Wire, bad: bool) -> None:
    """The good one's cursor came on a view that a guess had opened, of a call that went on: it may be evicted."""
    session = wire.session()
    call = session.emit("A", 4 if bad else 2 * N).bare(e(2, 2)).log(e(2, 3), "A", 1)
    if bad:
        call.log(e(2, 4), "A", 2).log(e(2, 5), "A", 3).cut()
        session.get(e(2, 5)).refuse(409, "cursor-out-of-window")
        return
    call.cut()
    session.get(e(2, 4)).answer().comment(f"resumed {e(2, 4)}").log(e(2, 5), "A", 3).cut()
    wire.pass_time(SHORT.window_ms // 2)
    session.get(e(2, 5)).refuse(409, "cursor-out-of-window")
