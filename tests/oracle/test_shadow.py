"""The reference machine beside an exchange: it agrees with every conforming server, and says what a faulty one owed."""

import pytest
from attrs import evolve
from tests.oracle.episodes import EPISODES, Episode, strangers
from tests.oracle.wire import Wire, event_id
from tests.oracle.world import World

from reattach.machine.decision import Reason
from reattach.machine.policy import SHORT
from reattach.machine.revision import Revision
from reattach.machine.session import Greeting
from reattach.machine.transition import Idle, NoView, WriteEnd, WriteEvent, WriteGreeting, Written
from reattach.oracle.declaration import Declaration, declaration_of
from reattach.oracle.message import message_key
from reattach.oracle.observation import Frame, Observation, Request, Response, Settled
from reattach.oracle.shadow import Shadow, shadow_of_last, shadows

REVISION = Revision.R2025_11_25
KNOWN = [each for each in EPISODES if each is not strangers]
"""Strangers come with session ids that nobody issued; of those the machine knows nothing."""


def beside(wire: Wire, clause: str = "", declaration: Declaration | None = None) -> list[tuple[Observation, Shadow]]:
    """What the machine says, where it says something."""
    said = shadows(wire.observations, REVISION, declaration or wire.declaration, clause)
    pairs = zip(wire.observations, said, strict=True)
    return [(seen, shadow) for seen, shadow in pairs if shadow is not None]


def last(wire: Wire, clause: str = "") -> Shadow:
    seen, shadow = beside(wire, clause)[-1]
    assert seen is wire.observations[-1]
    return shadow


def written(writes: tuple[Written, ...]) -> list[object]:
    """Messages by their keys, everything else by its kind."""
    return [each.message if isinstance(each, WriteEvent) else type(each) for each in writes]


# Strangers come with session ids that nobody issued; of those the machine knows nothing.
@pytest.mark.parametrize(
    "episode", [each for each in EPISODES if each is not strangers], ids=lambda episode: episode.__name__
)
@pytest.mark.parametrize("declared", [False, True])
def test_it_agrees_with_a_conforming_server(episode: Episode, declared: bool) -> None:
    declaration = declaration_of(SHORT) if declared else Declaration()
    agreed = 0
    for seed in range(2):
        world = World(seed)
        episode(world)
        for seen, said in zip(world.observations, shadows(world.observations, REVISION, declaration), strict=True):
            if said is None or not said.asked:
                continue
            if isinstance(seen, Frame) and seen.has_data:
                first = next(each for each in written(said.writes) if each is not WriteGreeting)
                assert first == message_key(seen.payload)
                agreed += 1
            if isinstance(seen, Response) and (said.refusal is not None or said.gone):
                assert seen.status == said.status
                agreed += 1
    assert agreed > 0


def test_a_silent_gap_and_what_comes_in_its_place() -> None:
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 4).bare("a0").cut()
    session.get("a0").answer().log("a1", "A", 1).log("a3", "A", 3)
    said = last(wire)
    assert written(said.writes) == ["A#2", "A#3", Idle]
    assert [(each.key, each.connections) for each in said.held] == [
        ("A#1", (3,)),
        ("A#2", ()),
        ("A#3", (3,)),
    ]
    assert (said.call, said.position, said.owed) == (call.number, "A#1", 2)
    assert (said.resumes, said.given) == (True, (session.id, call.number))


def test_a_lost_tail_shows_when_the_call_is_settled() -> None:
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    call.settle(session.get("a1").answer().end())
    said = last(wire)
    assert isinstance(wire.observations[-1], Settled)
    assert written(said.writes)[1:] == ["A#2", f"response:{call.rpc_id}", WriteEnd]
    assert said.owed == 0


def test_a_finished_stream_is_ended() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 1).bare("a0").log("a1", "A", 1).result("a2").quiet()
    assert last(wire).writes == (WriteEnd(),)


def test_a_view_that_was_taken_over_is_given_nothing() -> None:
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 4).bare("a0").log("a1", "A", 1)
    taker = session.get("a1").answer()
    call.log("a2", "A", 2)
    said = last(wire)
    assert (said.writes, said.taken_over_by) == ((NoView(),), taker.number)


def test_greetings() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 1).cut()
    opened = next(shadow for seen, shadow in beside(wire) if isinstance(seen, Response))
    assert [each.greeting for each in opened.writes if isinstance(each, WriteGreeting)] == [Greeting.PRIMING]
    session.emit("B", 2).bare("b0").cut()
    session.get("b0")
    said = last(wire)
    assert isinstance(wire.observations[-1], Request)
    assert [each.greeting for each in said.writes if isinstance(each, WriteGreeting)] == [Greeting.POSITION]


@pytest.mark.parametrize(
    ("cursors", "clause", "reason", "status"),
    [
        (("",), "", Reason.CURSOR_MALFORMED, 400),
        (("a", "b"), "", Reason.CURSOR_MALFORMED, 400),
        (("x",), "CUR-2", Reason.CURSOR_MALFORMED, 400),
        (("x",), "CUR-3", Reason.CURSOR_FOREIGN, 409),
        (("x",), "CUR-5", Reason.CURSOR_AHEAD, 409),
        (("x",), "CUR-6", Reason.CURSOR_MISMATCH, 409),
    ],
)
def test_bad_cursors_are_refused_with_the_reason_of_the_machine(
    cursors: tuple[str, ...], clause: str, reason: Reason, status: int
) -> None:
    wire = Wire()
    wire.session().get(*cursors).answer()
    said = last(wire, clause)
    assert said.refusal is not None
    assert (said.refusal.reason, said.status, said.writes) == (reason, status, ())


def test_a_cursor_that_nothing_is_known_about_is_not_answered() -> None:
    wire = Wire()
    wire.session().get("x").answer()
    said = last(wire, "DEL-2")
    assert (said.asked, said.given) == (False, None)


def test_another_sessions_cursor() -> None:
    wire = Wire()
    one, other = wire.session(), wire.session()
    call = one.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    other.get("a0").answer().log("a1", "A", 1)
    said = last(wire)
    assert said.refusal is not None
    assert (said.refusal.reason, said.given) == (Reason.CURSOR_FOREIGN, (one.id, call.number))


def test_a_terminated_session_is_gone() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    session.delete()
    session.get("a1").answer()
    said = last(wire)
    assert (said.gone, said.status, said.writes) == (True, 404, ())


def test_another_principals_session_is_gone() -> None:
    wire = Wire()
    session = wire.session(principal="one")
    session.emit("A", 2).bare("a0").cut()
    wire.request("GET", session=session.id, cursors=("a0",), principal="two").answer()
    assert (last(wire).gone, last(wire).status) == (True, 404)


def test_a_declared_window_refuses_what_is_surely_evicted() -> None:
    declaration = declaration_of(evolve(SHORT, window_events=2, refusal_status=404))
    wire = Wire(declaration=declaration)
    session = wire.session()
    call = session.emit("A", 6).bare(event_id(2, 3))
    for n in range(1, 6):
        call.log(event_id(2, 3 + n), "A", n)
    call.cut()
    session.get(event_id(2, 3)).answer()
    said = last(wire)
    assert said.refusal is not None
    assert (said.refusal.reason, said.status) == (Reason.CURSOR_OUT_OF_WINDOW, 404)
    undeclared = beside(wire, declaration=Declaration(window_ms=3_000))[-1][1]
    assert undeclared.refusal is None


def test_what_the_machine_knows_nothing_of() -> None:
    wire = Wire()
    session = wire.session()
    assert beside(wire) == []
    wire.restart()
    session.get("a0").answer()
    assert beside(wire) == []
    sessionless = Wire(revision=Revision.R2026_07_28)
    sessionless.request("GET", session="s", revision=Revision.R2026_07_28.value).answer()
    assert shadows(sessionless.observations, Revision.R2026_07_28) == (None, None)


def test_the_last_can_be_asked_for_alone() -> None:
    world = World(1)
    KNOWN[0](world)
    seen, declaration = world.observations[:60], declaration_of(SHORT)
    said = shadows(seen, REVISION, declaration)
    assert any(said)
    for end in range(1, len(seen) + 1):
        assert shadow_of_last(seen[:end], REVISION, declaration, "") == said[end - 1]
