"""A session on stage: inputs in order, each answered as the test says, every invariant asked after each."""

from attrs import define, evolve, field

from reattach.machine.cursor import ABSENT, Cursor, Presence
from reattach.machine.decision import Reason, Refuse
from reattach.machine.invariants import SESSION, Sent, a_cursor_is_granted_iff_lossless
from reattach.machine.policy import Policy, is_valid
from reattach.machine.session import Greeting, Session, Stream, find_stream
from reattach.machine.step_invariants import STEP, Happened
from reattach.machine.transition import (
    Accepted,
    Emit,
    Emitted,
    Ending,
    Finish,
    Input,
    Opened,
    OpenStream,
    Result,
    Resume,
    Terminate,
    Tick,
    Write,
    WriteEvent,
    WriteGreeting,
    open_session,
    step,
)

TAG = "T"

PLAIN = Policy(
    window_events=3,
    window_ms=100,
    window_bytes=1_000,
    stall_ms=10,
    absence_ms=50,
    open_streams=4,
    heartbeat_ms=40,
    retry_ms=0,
)
"""Numbers small enough to reach, and all different, so that no test passes by taking one for another."""


def at(stream: int, seq: int) -> Cursor:
    """The cursor of one seq of one stream of the session on stage."""
    return Cursor(Presence.PRESENT, TAG, stream, seq)


def broken(policy: Policy, before: Session, now: int, given: Input, sent: Sent) -> tuple[str, ...]:
    """The names of all that one step of a session breaks."""
    happened = Happened(policy, before, now, given, step(policy, before, now, given))
    after = happened.after
    names = [holds.__name__ for holds in STEP if not holds(happened)]
    names += [holds.__name__ for holds in SESSION if not holds(policy, after)]
    if after.alive and not a_cursor_is_granted_iff_lossless(after, sent_after(happened, sent)):
        names.append(a_cursor_is_granted_iff_lossless.__name__)
    return tuple(names)


def sent_after(happened: Happened, sent: Sent) -> Sent:
    """What was sent in the session, this step included."""
    match happened.step.result:
        case Emitted(stream, seq):
            return (*sent, (stream, seq))
        case Opened(stream, _) if find_stream(happened.before, stream).number == 0:
            return (*sent, (stream, find_stream(happened.after, stream).first))
        case _:
            return sent


@define
class Play:
    """One session and its present; ``give`` is the only way to change it."""

    policy: Policy = PLAIN
    session: Session = field(factory=lambda: open_session(TAG, "", 0))
    sent: Sent = ((1, 1),)
    now: int = 0
    ended: tuple[Ending, ...] = ()
    """The endings of the last step."""

    def __attrs_post_init__(self) -> None:
        assert is_valid(self.policy)

    def give(self, given: Input, *, after: int = 0) -> Result:
        """Hand one input to the session, ``after`` milliseconds later; the answer."""
        self.now += after
        assert broken(self.policy, self.session, self.now, given, self.sent) == ()
        taken = step(self.policy, self.session, self.now, given)
        self.sent = sent_after(Happened(self.policy, self.session, self.now, given, taken), self.sent)
        self.session, self.ended = taken.session, taken.endings
        return taken.result

    def wait(self, ms: int) -> tuple[Ending, ...]:
        """Let time pass; the endings."""
        self.give(Tick(), after=ms)
        return self.ended

    def call(self, connection: int) -> int:
        """Open a request stream, whose priming is read; its number."""
        opened = self.give(OpenStream(connection))
        assert isinstance(opened, Opened)
        self.read(connection, WriteGreeting(Greeting.PRIMING, opened.stream, opened.position))
        return opened.stream

    def listen(self, connection: int) -> int:
        """Attach a plain GET, whose priming is read; the number of its stream."""
        opened = self.give(Resume(connection, ABSENT))
        assert isinstance(opened, Opened)
        self.read(connection, WriteGreeting(Greeting.PRIMING, opened.stream, opened.position))
        return opened.stream

    def resume(self, connection: int, stream: int, seq: int) -> None:
        """Re-attach, as granted; the stated position is read."""
        assert self.give(Resume(connection, at(stream, seq))) == Opened(stream, seq)
        self.read(connection, WriteGreeting(Greeting.POSITION, stream, seq))

    def emit(self, stream: int, size: int = 1) -> int:
        """Emit on a stream; the seq."""
        emitted = self.give(Emit(stream, size, f"{size} bytes"))
        assert isinstance(emitted, Emitted)
        return emitted.seq

    def read(self, connection: int, *expected: Result) -> None:
        """The transport writes exactly this, and takes each write."""
        for one in expected:
            assert self.give(Write(connection)) == one
            self.give(Accepted(connection))

    def read_events(self, connection: int, stream: int, *seqs: int) -> None:
        """The transport writes exactly these events, and takes each."""
        for seq in seqs:
            written = self.give(Write(connection))
            assert isinstance(written, WriteEvent)
            assert (written.stream, written.seq) == (stream, seq)
            self.give(Accepted(connection))

    def finish(self, stream: int) -> None:
        """The stream will carry nothing more."""
        self.give(Finish(stream))

    def terminate(self) -> tuple[Ending, ...]:
        """The session is over; the endings."""
        self.give(Terminate())
        return self.ended

    def refusal(self, given: Input, *, after: int = 0) -> Reason:
        """Why the input is refused."""
        refused = self.give(given, after=after)
        assert isinstance(refused, Refuse)
        return refused.reason

    def stream(self, number: int) -> Stream:
        """A stream as it is now."""
        return find_stream(self.session, number)

    def seqs(self) -> tuple[int, ...]:
        """The held events, by seq."""
        return tuple(entry.seq for entry in self.session.window.held)


def policy_with(**numbers: int) -> Policy:
    """The plain policy with some other numbers."""
    return evolve(PLAIN, **numbers)
