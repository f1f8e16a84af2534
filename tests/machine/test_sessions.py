"""Every input in every session that inputs can reach: totality, determinism, and every invariant."""

from attrs import evolve
from hypothesis import event, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.machine.plays import PLAIN, TAG, sent_after
from tests.machine.profiles import examples
from tests.machine.strategies import Fresh, as_input, given_inputs, moments, policies, reached

from reattach.machine import inductive
from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.invariants import SESSION, Sent, a_cursor_is_granted_iff_lossless
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import NO_VIEW, Session, is_viewed
from reattach.machine.step_invariants import STEP, Happened, a_view_ends_only_for_a_reason
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Depart,
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Gone,
    Input,
    OpenStream,
    Resume,
    Step,
    Terminate,
    Tick,
    Write,
    open_session,
    step,
)
from reattach.machine.window import NO_ENTRY, Entry


@examples(300)
@given(reached(), moments, given_inputs)
def test_every_step_is_total_and_the_same_each_time(
    situation: tuple[Policy, Session], later: int, given: Fresh | Input
) -> None:
    policy, session = situation
    now, this = max(0, session.now + later), as_input(given, 99)
    taken = step(policy, session, now, this)
    assert taken == step(policy, session, now, this)
    event(type(taken.result).__name__)


def test_a_view_that_is_gone_for_no_reason_is_found() -> None:
    opened = step(PLAIN, open_session(TAG, "", 0), 0, OpenStream(7)).session
    gone = evolve(opened, streams=tuple(evolve(stream, view=NO_VIEW) for stream in opened.streams))
    assert not a_view_ends_only_for_a_reason(Happened(PLAIN, opened, 0, Tick(), Step(gone)))
    assert a_view_ends_only_for_a_reason(Happened(PLAIN, opened, 0, Disconnect(7), Step(gone)))


class LifeOfASession(RuleBasedStateMachine):
    """One session under all inputs, in any order, as long as it lives; its whole history is kept beside it."""

    @initialize(policy=policies, mode=st.sampled_from([Mode.REATTACH, Mode.REATTACH, Mode.REPLAY, Mode.REFUSE]))
    def open(self, policy: Policy, mode: Mode) -> None:
        self.policy = policy
        self.session = open_session(TAG, "", 0, mode)
        self.sent: Sent = ((1, 1),)
        self.events: dict[int, Entry] = {}
        self.connections = 0

    def take(self, given: Input, later: int = 0) -> None:
        now = max(0, self.session.now + later)
        happened = Happened(self.policy, self.session, now, given, step(self.policy, self.session, now, given))
        assert [holds.__name__ for holds in STEP if not holds(happened)] == []
        self.sent = sent_after(happened, self.sent)
        if isinstance(happened.step.result, Emitted):
            newest = happened.after.window.held[-1]
            self.events[newest.seq] = newest
        self.session = happened.after

    def viewed(self) -> list[int]:
        return [stream.view.connection for stream in self.session.streams if is_viewed(stream)]

    def a_number(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from([0, 99, *(stream.number for stream in self.session.streams)]), "stream")

    def a_view(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(self.viewed()), "connection")

    def a_connection(self) -> int:
        self.connections += 1
        return self.connections

    @rule(later=st.integers(-2, 15))
    def time_passes(self, later: int) -> None:
        self.take(Tick(), later)

    @rule(given=st.sampled_from([Arrive(), Depart()]))
    def a_request_comes_or_goes(self, given: Arrive | Depart) -> None:
        self.take(given)

    @rule()
    def a_call_opens_a_stream(self) -> None:
        self.take(OpenStream(self.a_connection()))

    @rule()
    def somebody_listens(self) -> None:
        self.take(Resume(self.a_connection(), ABSENT))

    @rule(data=st.data(), later=st.integers(0, 2))
    def a_sent_cursor_comes_back(self, data: st.DataObject, later: int) -> None:
        stream, seq = data.draw(st.sampled_from(self.sent), "cursor")
        self.take(Resume(self.a_connection(), Cursor(Presence.PRESENT, TAG, stream, seq)), later)

    @rule(data=st.data())
    def nonsense_comes(self, data: st.DataObject) -> None:
        seq = data.draw(st.integers(0, self.session.window.next + 1), "seq")
        nonsense = st.sampled_from(
            [MALFORMED, *(Cursor(Presence.PRESENT, tag, self.a_number(data), seq) for tag in (TAG, "U"))]
        )
        self.take(Resume(self.a_connection(), data.draw(nonsense, "cursor")))

    @rule(data=st.data(), size=st.integers(0, 7))
    def something_is_emitted(self, data: st.DataObject, size: int) -> None:
        self.take(Emit(self.a_number(data), size, len(self.events)))

    @precondition(lambda self: self.viewed())
    @rule(data=st.data())
    def a_transport_writes(self, data: st.DataObject) -> None:
        self.take(Write(self.a_view(data)))

    @precondition(lambda self: self.viewed())
    @rule(data=st.data(), later=st.integers(0, 2))
    def a_transport_accepts(self, data: st.DataObject, later: int) -> None:
        self.take(Accepted(self.a_view(data)), later)

    @precondition(lambda self: self.viewed())
    @rule(data=st.data())
    def a_transport_goes(self, data: st.DataObject) -> None:
        self.take(Disconnect(self.a_view(data)))

    @rule(data=st.data(), given=st.sampled_from([Write, Accepted, Disconnect]))
    def an_old_transport_speaks(self, data: st.DataObject, given: type[Write | Accepted | Disconnect]) -> None:
        self.take(given(data.draw(st.integers(0, self.connections), "connection")))

    @rule(data=st.data())
    def a_stream_is_finished(self, data: st.DataObject) -> None:
        self.take(Finish(self.a_number(data)))

    @precondition(lambda self: self.connections > 5)
    @rule()
    def the_session_is_terminated(self) -> None:
        self.take(Terminate())

    @invariant()
    def the_session_is_sound(self) -> None:
        assert [holds.__name__ for holds in SESSION if not holds(self.policy, self.session)] == []
        assert not self.session.alive or a_cursor_is_granted_iff_lossless(self.session, self.sent)

    @invariant()
    def the_inductive_invariant_holds_of_each_event_and_each_two(self) -> None:
        if not self.session.alive:
            return
        named = list(inductive.of_session(self.policy, self.session, self.lookup))
        for entry in self.events.values():
            named += inductive.of_event(self.policy, self.session, entry, self.lookup(entry.prev))
            for other in self.events.values():
                named += inductive.of_two(entry, other)
        assert [name for name, holds in named if not holds()] == []

    def lookup(self, seq: int) -> Entry:
        return self.events.get(seq, NO_ENTRY)

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.take(Terminate())
            assert isinstance(step(self.policy, self.session, self.session.now, Tick()).result, Gone)


TestLifeOfASession = LifeOfASession.TestCase
TestLifeOfASession.settings = examples(60, steps=40)
