"""Twins of ATT."""

from tests.oracle.twins.base import resume, twin
from tests.oracle.wire import Wire
from tests.oracle.wire import event_id as e

from reattach.oracle.verdict import Fault


@twin("ATT-1", Fault.POSITION_NOT_STATED)
def no_position(wire: Wire, bad: bool) -> None:
    """A grant, or luck?"""
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    view = session.get("a1").answer()
    if not bad:
        view.bare("a1")
    view.log("a2", "A", 2).cut()


@twin("ATT-1", Fault.POSITION_NOT_STATED)
def another_position(wire: Wire, bad: bool) -> None:
    """The comment of older revisions."""
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    session.get("a2").answer().comment(f"resumed {'a1' if bad else 'a2'}").log("a3", "A", 3).cut()


@twin("ATT-1", Fault.POSITION_NOT_STATED)
def another_position_in_a_notification(wire: Wire, bad: bool) -> None:
    """The form for clients that declare the capability."""
    session = wire.session()
    session.emit("A", 3).bare(e(2, 2)).log(e(2, 3), "A", 1).log(e(2, 4), "A", 2).cut()
    said = {"stream": 2, "position": 4, "cursor": e(2, 3 if bad else 4)}
    notification = {"jsonrpc": "2.0", "method": "notifications/resumed", "params": said}
    session.get(e(2, 4)).answer().event(e(2, 4), notification).log(e(2, 5), "A", 3).cut()


@twin("ATT-2", Fault.SPLIT_VIEW)
def the_old_connection_goes_on(wire: Wire, bad: bool) -> None:
    """The new one is open and gets nothing."""
    session = wire.session()
    old = session.emit("A", 5).bare("a0").log("a1", "A", 1)
    new = resume(session, "a1")
    (old if bad else new).log("a2", "A", 2)
    if not bad:
        old.end()
    new.quiet()


@twin(
    "ATT-2",
    Fault.SPLIT_VIEW,
    also=(("ATT-3", Fault.TAKEOVER_REFUSED), ("IDL-5", Fault.RETRY_MISSING)),
)
def the_new_connection_is_ended(wire: Wire, bad: bool) -> None:
    """What there is, the end of the body, and everything later on the old connection."""
    session = wire.session()
    old = session.emit("A", 5).bare("a0").log("a1", "A", 1)
    new = resume(session, "a1").log("a2", "A", 2)
    if bad:
        new.end()
        old.log("a3", "A", 3)
    else:
        new.log("a3", "A", 3)
        old.abort()


@twin("ATT-3", Fault.TAKEOVER_REFUSED)
def the_honest_reconnect_is_a_conflict(wire: Wire, bad: bool) -> None:
    """The server still believes in the old connection."""
    session = wire.session()
    old = session.emit("A", 5).bare("a0").log("a1", "A", 1)
    if bad:
        session.get("a1").refuse(409, "")
    else:
        resume(session, "a1").log("a2", "A", 2).quiet()
    old.cut()


@twin("ATT-3", Fault.TAKEOVER_REFUSED)
def the_reconnect_right_after_a_cut_is_a_conflict(wire: Wire, bad: bool) -> None:
    """The client knows that the connection is dead, the server does not."""
    session = wire.session()
    session.emit("A", 5).bare("a0").log("a1", "A", 1)
    if bad:
        session.get("a1").refuse(400, "")
    else:
        resume(session, "a1").log("a2", "A", 2).quiet()


@twin("DEL-10", Fault.SPLIT_VIEW, also=(("ATT-2", Fault.SPLIT_VIEW), ("DEL-2", Fault.SILENT_GAP)))
def the_events_are_divided(wire: Wire, bad: bool) -> None:
    """Some on the old connection, some on the new."""
    session = wire.session()
    old = session.emit("A", 5).bare("a0").log("a1", "A", 1)
    new = resume(session, "a1").log("a2", "A", 2)
    (old if bad else new).log("a3", "A", 3)
    new.log("a4", "A", 4).quiet()
    old.quiet()


@twin(
    "ATT-3",
    Fault.TAKEOVER_REFUSED,
    also=(("ATT-2", Fault.SPLIT_VIEW), ("DEL-10", Fault.SPLIT_VIEW), ("IDL-5", Fault.RETRY_MISSING)),
    holds=False,
)
def the_new_connection_ends_before_the_response(wire: Wire, bad: bool) -> None:
    """The good one ends with the response, and the old connection brings what nobody reads any more."""
    session = wire.session()
    old = session.emit("A", 3).bare("a0").log("a1", "A", 1)
    new = resume(session, "a1").log("a2", "A", 2).log("a3", "A", 3)
    if not bad:
        new.result("a4", old.rpc_id)
    new.end()
    old.result("a4") if bad else old.cut()
