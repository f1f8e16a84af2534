"""Twins of EVT."""

from typing import Any

from tests.oracle.twins.base import resume, twin
from tests.oracle.wire import Wire
from tests.oracle.wire import event_id as e

from reattach.oracle.verdict import Fault


@twin("EVT-1", Fault.ID_NOT_UNIQUE)
def one_id_for_two_events(wire: Wire, bad: bool) -> None:
    """Two streams of one session."""
    session = wire.session()
    session.emit("A", 1).bare("a0").log("a1", "A", 1).result("a2").end()
    session.emit("B", 1).bare("b0").log("a1" if bad else "b1", "B", 1).result("b2").end()


@twin("EVT-1", Fault.ID_NOT_UNIQUE)
def every_event_has_the_same_id(wire: Wire, bad: bool) -> None:
    """A counter that never counts."""
    session = wire.session()
    listener = session.get().answer()
    for n in range(1, 4):
        listener.log("1" if bad else str(n), "push", n)


@twin("EVT-1", Fault.ID_NOT_UNIQUE)
def priming_shares_an_id(wire: Wire, bad: bool) -> None:
    """Priming of two streams, and an event."""
    session = wire.session()
    session.emit("A", 1).bare("0/1").log("1/1", "A", 1).result("2/1").end()
    listener = session.get().answer().bare("0")
    listener.log("0" if bad else "1", "push", 1)


@twin("EVT-2", Fault.OUT_OF_ORDER)
def numbering_restarts_with_the_connection(wire: Wire, bad: bool) -> None:
    """A resumption, in the standard's grammar."""
    session = wire.session()
    session.emit("A", 3).bare(e(2, 6)).log(e(2, 7), "A", 1).log(e(2, 8), "A", 2).cut()
    resume(session, e(2, 8)).log(e(2, 1 if bad else 9), "A", 3)


@twin("EVT-2", Fault.OUT_OF_ORDER)
def whole_numbers_go_back(wire: Wire, bad: bool) -> None:
    """Ids that are numbers."""
    session = wire.session()
    session.emit("A", 3).bare("6").log("7", "A", 1).log("5" if bad else "8", "A", 2)


@twin("EVT-2", Fault.ID_NOT_UNIQUE)
def one_seq_on_two_streams(wire: Wire, bad: bool) -> None:
    """The whole id differs, the seq does not."""
    session = wire.session()
    session.emit("A", 1).bare(e(2, 2)).log(e(2, 3), "A", 1)
    session.emit("B", 1).bare(e(3, 4)).log(e(3, 3 if bad else 5), "B", 1)


@twin("EVT-3", Fault.PRIMING_MISSING)
def no_priming(wire: Wire, bad: bool) -> None:
    """The first event of a POST's stream."""
    session = wire.session()
    call = session.emit("A", 1)
    if not bad:
        call.bare(e(2, 2))
    call.log(e(2, 3), "A", 1).result(e(2, 4)).end()


@twin("EVT-4", Fault.ID_CHANGED_MEANING)
def an_id_brings_another_message(wire: Wire, bad: bool) -> None:
    """A resumption from an earlier cursor."""
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    view = resume(session, "a0")
    if bad:
        view.log("a1", "A", 3)
    else:
        view.log("a1", "A", 1)


@twin("EVT-5", Fault.INVALID_ID)
def an_id_that_no_header_carries(wire: Wire, bad: bool) -> None:
    """A letter beyond ASCII."""
    session = wire.session()
    session.emit("A", 1).bare("säule/3" if bad else "saule/3")


@twin("EVT-5", Fault.INVALID_ID)
def an_id_with_a_space(wire: Wire, bad: bool) -> None:
    """A space is stripped or splits."""
    session = wire.session()
    session.emit("A", 1).bare("a 3" if bad else "a-3")


@twin("EVT-6", Fault.PRIMING_SKIPS_EVENTS, also=(("DEL-2", Fault.SILENT_GAP),))
def priming_with_a_new_id_jumps(wire: Wire, bad: bool) -> None:
    """What was emitted between the replay and the priming lies before it; only an earlier cursor has it."""
    session = wire.session()
    session.emit("A", 4).bare("a0").log("a1", "A", 1).cut()
    view = resume(session, "a1").log("a2", "A", 2).bare("p1")
    if not bad:
        view.log("a3", "A", 3)
    view.log("a4", "A", 4).cut()
    resume(session, "a2").log("a3", "A", 3).log("a4", "A", 4).cut()
    view = resume(session, "p1")
    if not bad:
        view.log("a3", "A", 3)
    view.log("a4", "A", 4).cut()


@twin("EVT-6", Fault.PRIMING_SKIPS_EVENTS)
def a_bare_frame_names_a_later_event(wire: Wire, bad: bool) -> None:
    """A resumed view that is primed with the id of the newest event."""
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    view = resume(session, "a0")
    if bad:
        view.bare("a2")
    view.log("a1", "A", 1).log("a2", "A", 2).bare("p9").cut()
    resume(session, "p9").log("a3", "A", 3)


@twin(
    "EVT-6", Fault.PRIMING_SKIPS_EVENTS, also=(("DEL-6", Fault.OUT_OF_ORDER), ("DEL-2", Fault.SILENT_GAP)), holds=False
)
def an_earlier_cursor_shows_what_was_jumped_over(wire: Wire, bad: bool) -> None:
    """Nothing is numbered; a second resumption is the proof."""
    session = wire.session()
    other: Any = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "x"}}
    session.call().answer().bare("a0").event("a1", other | {"n": 1}).cut()
    resume(session, "a1").event("a2", other | {"n": 2}).bare("p1").event("a4", other | {"n": 4}).cut()
    resume(session, "p1").event("a4", other | {"n": 4}).cut()
    view = resume(session, "a2")
    if bad:
        view.event("a3", other | {"n": 3})
    view.event("a4", other | {"n": 4}).quiet()
