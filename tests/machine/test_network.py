"""The network: what a cut loses, and what an answer to a broken connection is worth."""

from attrs import evolve

from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Reason
from reattach.machine.network import (
    Attached,
    Ended,
    Exchange,
    Nothing,
    Primed,
    Refused,
    Request,
    Verb,
    answered,
    attached,
    cut,
)

ASKED = Exchange(connection=2, client=0, request=Request(Verb.CALL, "S1", 1))


def test_a_cut_loses_what_is_in_flight_and_nothing_that_was_taken() -> None:
    carrying = evolve(
        ASKED,
        delivered=True,
        header=Attached(),
        greeting=Primed(Cursor(Presence.PRESENT, "S1", 2, 2)),
        taken=3,
        sent=7,
        trailer=Ended(),
    )
    broken = cut(carrying)
    assert (broken.header, broken.greeting, broken.trailer) == (Nothing(), Nothing(), Nothing())
    assert (broken.taken, broken.sent, broken.reachable) == (3, 3, False)
    assert cut(broken) == broken


def test_a_request_may_still_arrive_after_its_connection_broke() -> None:
    assert not cut(ASKED).delivered
    assert cut(ASKED).request == ASKED.request


def test_an_answer_is_on_its_way_if_the_connection_is() -> None:
    refused = answered(ASKED, Refused(Reason.SESSION_UNKNOWN), Ended())
    assert (refused.delivered, refused.header, refused.trailer) == (True, Refused(Reason.SESSION_UNKNOWN), Ended())


def test_an_answer_to_a_broken_connection_is_lost() -> None:
    assert answered(cut(ASKED), Refused(Reason.SESSION_UNKNOWN), Ended()) == evolve(cut(ASKED), delivered=True)


def test_an_event_stream_begins_after_its_position() -> None:
    viewed = attached(ASKED, "S1", 2, 5)
    assert (viewed.session, viewed.stream, viewed.taken, viewed.sent, viewed.header) == ("S1", 2, 5, 5, Attached())
    assert viewed.delivered


def test_a_view_on_a_broken_connection_sends_nothing() -> None:
    viewed = attached(cut(ASKED), "S1", 2, 5)
    assert (viewed.delivered, viewed.stream, viewed.header) == (True, 2, Nothing())
