"""Every interesting situation is reachable: a shortest trace to each, and its length.

An invariant that holds only because its case never arises proves nothing. Whatever the invariants speak of is seen here
to happen; what no honest client can bring about is seen never to happen.
"""

from collections.abc import Callable

import pytest
from tests.machine.scenes import SCENES, TIGHT, SessionScene, SystemScene

from reattach.machine.client import News
from reattach.machine.decision import Reason, Refuse
from reattach.machine.network import Exchange, Refused, Verb
from reattach.machine.session import StreamKind, find_stream, find_viewed, is_viewed
from reattach.machine.step_invariants import Happened
from reattach.machine.system import Action, Cut, Deliver, Emit, Read, Reconnect, System
from reattach.machine.transition import (
    Cause,
    Finish,
    Opened,
    Resume,
    Tick,
    Wait,
    Write,
    WriteEnd,
    WriteEvent,
    WriteHeartbeat,
    WriteOvertaken,
)
from reattach_proofs.explorer import explore
from reattach_proofs.spaces import SessionBounds, Watched, session_space

pytestmark = pytest.mark.usefixtures("untraced")

# Of a session

Seen = Callable[[Happened], bool]


def ended(cause: Cause) -> Seen:
    """A view was ended for this reason."""
    return lambda happened: any(ending.cause is cause for ending in happened.step.endings)


def refused(reason: Reason) -> Seen:
    """The input was refused for this reason."""
    return lambda happened: isinstance(happened.step.result, Refuse) and happened.step.result.reason is reason


def answered(kind: type) -> Seen:
    """The input was answered by this."""
    return lambda happened: isinstance(happened.step.result, kind)


def resumes_a_finished_stream(happened: Happened) -> bool:
    match happened.given, happened.step.result:
        case Resume(), Opened(number):
            known = find_stream(happened.before, number)
            return known.number != 0 and known.finished
        case _:
            return False


def ends_by_absence(happened: Happened) -> bool:
    return not happened.after.alive and happened.before.alive and isinstance(happened.given, Tick)


def ends_a_view_that_does_not_take_a_write(happened: Happened) -> bool:
    return any(
        ending.cause is Cause.STALLED and find_stream(happened.before, ending.stream).view.outstanding
        for ending in happened.step.endings
    )


def ends_a_view_that_reads_slowly(happened: Happened) -> bool:
    """It has accepted one write in its budget, and has more to accept."""
    return any(
        ending.cause is Cause.STALLED and find_stream(happened.before, ending.stream).view.reads == 1
        for ending in happened.step.endings
    )


def forgets_a_stream(happened: Happened) -> bool:
    return happened.after.alive and len(happened.after.streams) < len(happened.before.streams)


def evicts_by_age(happened: Happened) -> bool:
    before, after = happened.before.window, happened.after.window
    return isinstance(happened.given, Tick) and happened.after.alive and after.low > before.low


def keeps_the_view_before(happened: Happened) -> bool:
    """A second listener comes while the first is read, and neither is ended."""
    return sum(is_viewed(stream) and stream.kind is StreamKind.STANDALONE for stream in happened.after.streams) == 2


def finishes_while_behind(happened: Happened) -> bool:
    return isinstance(happened.given, Finish) and any(
        stream.finished and is_viewed(stream) and stream.view.position < stream.last
        for stream in happened.after.streams
    )


def writes_after_a_takeover(happened: Happened) -> bool:
    match happened.given, happened.step.result:
        case Write(connection), WriteEvent():
            return connection == 2 and find_viewed(happened.after, 1).number == 0
        case _:
            return False


SESSION_WITNESSES: dict[str, tuple[str, Seen, int]] = {
    "a takeover": ("session", ended(Cause.TAKEN_OVER), 2),
    "a view that goes on after a takeover": ("session", writes_after_a_takeover, 6),
    "overtaken": ("session", answered(WriteOvertaken), 7),
    "an emission that waits": ("session", answered(Wait), 4),
    "a stalled view": ("timed", ended(Cause.STALLED), 3),
    "a view that stalls on a write": ("timed", ends_a_view_that_does_not_take_a_write, 4),
    "a rate that is too low": ("rate", ends_a_view_that_reads_slowly, 6),
    "a session that ends by absence": ("timed", ends_by_absence, 2),
    "a session that is terminated under a view": ("session", ended(Cause.TERMINATED), 2),
    "a heartbeat": ("timed", answered(WriteHeartbeat), 5),
    "a stream that is forgotten": ("session", forgets_a_stream, 3),
    "an event that leaves by age": ("timed", evicts_by_age, 5),
    "a clean end": ("session", answered(WriteEnd), 5),
    "a call that is finished before it is read": ("session", finishes_while_behind, 3),
    "a finished stream that is resumed": ("session", resumes_a_finished_stream, 3),
    "two listeners at once": ("session", keeps_the_view_before, 2),
    "a limit on streams": ("streams", refused(Reason.STREAMS_EXHAUSTED), 2),
    "a message that is too large": ("bytes", refused(Reason.MESSAGE_TOO_LARGE), 1),
    "an emission on a finished stream": ("session", refused(Reason.STREAM_FINISHED), 1),
    "a malformed cursor": ("session", refused(Reason.CURSOR_MALFORMED), 1),
}


@pytest.mark.parametrize("name", SESSION_WITNESSES)
def test_it_happens_to_a_session(name: str) -> None:
    scene_name, seen, length = SESSION_WITNESSES[name]
    scene = SCENES[scene_name]
    assert isinstance(scene, SessionScene)

    def now(before: Watched, happened: Happened, after: Watched) -> bool:
        return seen(happened)

    found = explore(session_space(scene.policy, scene.bounds), sometimes={name: now}, until_seen=True)
    assert {name: len(trace) for name, trace in found.witnesses.items()} == {name: length}


def test_every_kind_of_input_and_result_of_the_machine_is_seen() -> None:
    space = session_space(TIGHT, SessionBounds(streams=2, events=2, connections=2, requests=1, time=False))
    kinds: set[str] = set()

    def note(before: Watched, happened: Happened, after: Watched) -> bool:
        kinds.add(type(happened.given).__name__)
        kinds.add(type(happened.step.result).__name__)
        return True

    explore(space, each=[note])
    assert {"OpenStream", "Resume", "Emit", "Write", "Accepted", "Disconnect", "Finish", "Terminate"} <= kinds
    assert {"Arrive", "Depart", "Gone", "Opened", "Refuse", "NoView", "Idle", "WriteGreeting", "WriteEnd"} <= kinds


# Of the system

SystemSeen = Callable[[System, Action, System], bool]


def told(news: News) -> SystemSeen:
    """The application is told this."""
    return lambda before, action, after: any(one.news is news for client in after.clients for one in client.told)


def answered_by(reason: Reason) -> SystemSeen:
    """A request is refused for this reason, and its client will hear of it."""
    return lambda before, action, after: any(exchange.header == Refused(reason) for exchange in after.exchanges)


def of(system: System, connection: int) -> tuple[Exchange, ...]:
    """The exchange on this connection."""
    return tuple(exchange for exchange in system.exchanges if exchange.connection == connection)


def a_late_request_takes_over(before: System, action: Action, after: System) -> bool:
    match action:
        case Deliver(connection):
            viewed = {s.view.connection for session in before.server.sessions.values() for s in session.streams}
            now = {s.view.connection for session in after.server.sessions.values() for s in session.streams}
            return connection in now - viewed and any(other > connection for other in viewed - now)
        case _:
            return False


def the_server_believes_in_the_dead(before: System, action: Action, after: System) -> bool:
    """A resumption is granted while the server still has a view on a connection that broke long ago."""
    match action:
        case Deliver(connection):
            views = {s.view.connection for session in before.server.sessions.values() for s in session.streams} - {0}
            asked = of(before, connection)
            gone = [view for view in views if not of(before, view)]
            return bool(gone) and asked[0].request.verb is Verb.RESUME and bool(of(after, connection))
        case _:
            return False


def an_event_is_lost_in_a_cut(before: System, action: Action, after: System) -> bool:
    match action:
        case Cut(connection):
            return any(exchange.sent > exchange.taken for exchange in of(before, connection))
        case _:
            return False


def a_resumed_call_is_answered(before: System, action: Action, after: System) -> bool:
    match action:
        case Read(connection):
            finals = {event.seq for event in after.history if event.final}
            newest = after.applications[len(before.applications) :]
            resumed = of(before, connection)[0].request.verb is Verb.RESUME
            return resumed and any(one.seq in finals for one in newest)
        case _:
            return False


def a_client_does_not_wait(before: System, action: Action, after: System) -> bool:
    match action:
        case Reconnect(index, handle):
            (stream,) = (one for one in before.clients[index].streams if one.handle == handle)
            return any(exchange.reachable and exchange.delivered for exchange in of(before, stream.connection))
        case _:
            return False


def an_answer_finds_nobody(before: System, action: Action, after: System) -> bool:
    """A call is answered that its client has given up."""
    match action:
        case Emit(_, _, True):
            return len(after.history) > len(before.history) and before.clients[0].streams == ()
        case _:
            return False


SYSTEM_WITNESSES: dict[str, tuple[str, SystemSeen, int]] = {
    "outcome unknown": ("system", told(News.OUTCOME_UNKNOWN), 3),
    "a gap": ("system", told(News.GAP), 3),
    "a lost session": ("endings", told(News.SESSION_LOST), 1),
    "a resumption after an eviction": ("pushes", answered_by(Reason.CURSOR_OUT_OF_WINDOW), 5),
    "a request to a session that is gone": ("endings", answered_by(Reason.SESSION_UNKNOWN), 3),
    "too many sessions": ("clients", answered_by(Reason.SESSIONS_EXHAUSTED), 4),
    "a late resumption that overtakes": ("rest", a_late_request_takes_over, 8),
    "a connection that the server still believes in": ("pushes", the_server_believes_in_the_dead, 2),
    "an event that is lost in a cut": ("system", an_event_is_lost_in_a_cut, 6),
    "a call that is resumed and answered": ("system", a_resumed_call_is_answered, 11),
    "a client that resumes what it still reads": ("pushes", a_client_does_not_wait, 1),
    "an answer that nobody waits for": ("system", an_answer_finds_nobody, 5),
}


@pytest.mark.parametrize("name", SYSTEM_WITNESSES)
def test_it_happens_to_a_system(name: str) -> None:
    scene_name, seen, length = SYSTEM_WITNESSES[name]
    scene = SCENES[scene_name]
    assert isinstance(scene, SystemScene)
    found = explore(scene.space(), sometimes={name: seen}, until_seen=True)
    assert {name: len(trace) for name, trace in found.witnesses.items()} == {name: length}


def test_an_honest_client_is_never_told_that_its_cursor_is_nonsense() -> None:
    nonsense = (Reason.CURSOR_MALFORMED, Reason.CURSOR_FOREIGN, Reason.CURSOR_AHEAD, Reason.CURSOR_MISMATCH)
    for name in ("rest", "system", "calls"):
        scene = SCENES[name]
        assert isinstance(scene, SystemScene)
        seen = {reason.value: answered_by(reason) for reason in (*nonsense, Reason.SESSION_MISSING)}
        assert explore(scene.space(), sometimes=seen).witnesses == {}
