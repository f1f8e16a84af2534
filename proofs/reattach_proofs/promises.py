"""The promises: what one step of a session must keep, as named English predicates.

Each function yields claims about one step: the session before, the input, what came of it, and ``any``, which is any
event the session ever had (the one emitted by this step included). The prover asks for each claim with an arbitrary
event of an arbitrary session; the explorer asks for it with every event of a real one. The claims are grouped by the
theorem that they make up; ``THEOREMS`` says which clauses each supports.

Of events, ``events.entry(seq)`` gives the one with that seq, whether or not it is still held; its stream is 0 if that
seq is no event.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from attrs import frozen

from reattach.machine import inductive
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Reason, Refuse
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import (
    Greeting,
    Session,
    Stream,
    StreamKind,
    absence_deadline,
    find_stream,
    find_viewed,
    is_behind,
    is_viewed,
    mark_of,
    stall_deadline,
)
from reattach.machine.transition import (
    Accepted,
    Cause,
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Gone,
    Idle,
    Input,
    NoView,
    Opened,
    OpenStream,
    Resume,
    Step,
    Terminate,
    Tick,
    Wait,
    Write,
    WriteEnd,
    WriteEvent,
    WriteGreeting,
    WriteHeartbeat,
    WriteOvertaken,
    react,
)
from reattach.machine.window import Entry


class Events(Protocol):
    """All events of the session, held or not."""

    def entry(self, seq: int) -> Entry:
        """The event with this seq; its stream is 0 if there is none."""


@frozen
class Claim:
    """One thing that must be true of one step."""

    theorem: str
    name: str
    holds: Callable[[], bool]


@frozen
class Theorem:
    """A promise, in one sentence, with the clauses that it supports."""

    name: str
    clauses: tuple[str, ...]
    says: str


INVARIANT = Theorem(
    "invariant",
    ("DEL-6", "EVT-1", "EVT-2"),
    "Every reachable session satisfies the inductive invariant: events are numbered, chained and in order, "
    "streams and views lie where they must.",
)
BOUNDED = Theorem(
    "bounded-memory",
    ("WIN-1", "WIN-2", "WIN-3", "WIN-5", "IDL-2"),
    "At most N events and B bytes are held, none older than T, records are bounded, at most one write per view is "
    "outstanding, and an event is evicted only when N, B or T demands it.",
)
BACKPRESSURE = Theorem(
    "backpressure",
    ("WIN-6", "IDL-6"),
    "A reader inside its stall budget never loses an event to its own stream's emission, and only then does an "
    "emission wait.",
)
BUDGETS = Theorem(
    "budgets",
    ("IDL-1", "IDL-4"),
    "Nothing outlives its stall or absence budget, nothing healthy is ended by one, and it does not matter when "
    "anybody looks.",
)
LOSSLESS = Theorem(
    "lossless-iff-granted",
    ("CUR-7", "CUR-8"),
    "For a cursor that the stream really sent, re-attachment is granted iff no event of the stream after it has left "
    "the window.",
)
EXPLICIT = Theorem(
    "explicit-failure",
    ("CUR-3", "CUR-4", "CUR-5", "CUR-6", "CUR-10"),
    "A cursor of another session, too old, ahead, or not of its stream is refused with its own reason, and the "
    "refusal changes nothing.",
)
DECISION = Theorem(
    "decision",
    ("MOD-1", "MOD-2", "CUR-1"),
    "Every resumption gets exactly one answer, re-attachment only on a valid cursor of a living session.",
)
NO_DUPLICATE = Theorem(
    "no-duplicate",
    ("DEL-1", "EVT-4"),
    "A view starts at its cursor and every write moves it forward, so nothing at or before the cursor is written.",
)
NO_SILENT_LOSS = Theorem(
    "no-silent-loss",
    ("DEL-2", "DEL-9", "IDL-3", "EVT-6"),
    "A write is the very next event of its stream; a view that ends cleanly has been given all; one that is told to "
    "resume has really lost something.",
)
ISOLATION = Theorem(
    "isolation",
    ("DEL-3", "DEL-4", "SES-5"),
    "A view is given only events of its own stream, and a step on one stream or session leaves the others as they are.",
)
ONE_VIEW = Theorem(
    "one-view",
    ("ATT-2", "ATT-3", "ATT-4", "DEL-10"),
    "A stream has one view at most: a resumption ends the old one, which gets nothing more, and losing a view loses "
    "nothing else.",
)
FINAL = Theorem(
    "termination-is-final",
    ("SES-4", "WIN-4"),
    "Termination ends every view and releases everything, and nothing that follows brings anything back.",
)
PROGRESS = Theorem(
    "progress",
    ("DEL-8",),
    "A view that is not blocked is given something as long as its stream has more, and each event written leaves "
    "exactly one less.",
)

STEP_THEOREMS = (
    INVARIANT,
    BOUNDED,
    BACKPRESSURE,
    BUDGETS,
    LOSSLESS,
    EXPLICIT,
    DECISION,
    NO_DUPLICATE,
    NO_SILENT_LOSS,
    ISOLATION,
    ONE_VIEW,
    FINAL,
    PROGRESS,
)

_THEOREM_OF = {
    inductive.a_held_event_is_within_the_limits.__name__: BOUNDED,
    inductive.unfinished_streams_are_within_the_limit.__name__: BOUNDED,
    inductive.a_known_stream_is_of_use.__name__: BOUNDED,
    inductive.a_held_events_stream_is_known.__name__: BOUNDED,
    inductive.a_view_is_within_its_stall_budget.__name__: BUDGETS,
    inductive.a_session_is_within_its_absence_budget.__name__: BUDGETS,
}


def invariant_claims(policy: Policy, session: Session, events: Events, any: Entry, other: Entry) -> Iterator[Claim]:
    """That the inductive invariant holds of a session, of any of its events, and of any two."""
    for name, holds in inductive.of_session(policy, session, events.entry):
        yield Claim(_THEOREM_OF.get(name, INVARIANT).name, name, holds)
    for name, holds in inductive.of_event(policy, session, any, events.entry(any.prev)):
        yield Claim(_THEOREM_OF.get(name, INVARIANT).name, name, lambda holds=holds: _unless(session, any) or holds())
    for name, holds in inductive.of_two(any, other):
        yield Claim(
            INVARIANT.name,
            name,
            lambda holds=holds: _unless(session, any) or _unless(session, other) or holds(),
        )


def _unless(session: Session, entry: Entry) -> bool:
    return not inductive.is_emitted(session, entry)


def step_claims(policy: Policy, old: Session, given: Input, after: Step, events: Events, any: Entry) -> Iterator[Claim]:
    """What one input must keep, at a living session's own present."""
    match given:
        case Resume(_, Cursor(Presence.PRESENT)):
            yield from _of_resumption(policy, old, given, after, events, any)
        case Resume() | OpenStream():
            yield from _of_fresh_view(old, given, after)
        case Emit():
            yield from _of_emission(policy, old, given, after, any)
        case Write():
            yield from _of_write(policy, old, given, after, events, any)
        case Accepted() | Disconnect() | Finish() | Tick():
            yield from _of_bookkeeping(old, given, after)
        case Terminate():
            yield from _of_termination(policy, old, after)
        case _:
            pass
    yield from _frame(old, given, after)


def _of_resumption(
    policy: Policy, old: Session, given: Resume, after: Step, events: Events, any: Entry
) -> Iterator[Claim]:
    cursor, result = given.cursor, after.result
    stream = find_stream(old, cursor.stream)
    known = cursor.tag == old.tag and stream.number != 0
    at_cursor = events.entry(cursor.seq)
    yield Claim(DECISION.name, "the answer is a view or a refusal", lambda: isinstance(result, Opened | Refuse))
    match result:
        case Opened(number, position) if old.mode is Mode.REATTACH:
            yield Claim(
                DECISION.name, "a view is granted on the cursor's stream", lambda: known and number == cursor.stream
            )
            yield Claim(NO_DUPLICATE.name, "the view starts at the cursor", lambda: position == cursor.seq)
            yield Claim(EXPLICIT.name, "a granted cursor was sent", lambda: was_sent(stream, cursor.seq, at_cursor))
            yield Claim(
                LOSSLESS.name,
                "what is granted has lost nothing",
                lambda: inductive.is_lossless(old, stream, cursor.seq, any) or _unless(old, any),
            )
            yield from _of_attachment(old, given, after, stream, position)
        case Refuse(reason):
            yield Claim(EXPLICIT.name, "a refusal changes nothing", lambda: _unchanged(old, after))
            yield Claim(EXPLICIT.name, "the reason is the first that applies", lambda: reason is _reason(old, cursor))
            at_mark = events.entry(mark_of(old, stream)) if known else events.entry(0)
            yield Claim(
                LOSSLESS.name,
                "what is refused has lost something",
                lambda: (
                    not (known and was_sent(stream, cursor.seq, at_cursor))
                    or _is_lost(old, stream, cursor.seq, at_mark)
                ),
            )
        case _:
            pass


def was_sent(stream: Stream, seq: int, at_seq: Entry) -> bool:
    """Whether the stream really sent this cursor: its birth, or an event of it."""
    return seq == stream.first or (at_seq.stream == stream.number and at_seq.seq <= stream.last)


def _is_lost(session: Session, stream: Stream, position: int, entry: Entry) -> bool:
    """Whether the entry is an event of the stream after the position that has left the window."""
    return entry.stream == stream.number and entry.seq > position and entry.seq < session.window.low


def _reason(session: Session, cursor: Cursor) -> Reason:
    """The reason for a refusal, said independently of the decision: by what is wrong with the cursor."""
    stream = find_stream(session, cursor.stream)
    if cursor.tag != session.tag:
        return Reason.CURSOR_FOREIGN
    if stream.number == 0:
        return Reason.CURSOR_OUT_OF_WINDOW
    if not cursor.seq <= stream.last:
        return Reason.CURSOR_AHEAD
    return Reason.CURSOR_OUT_OF_WINDOW if not cursor.seq >= mark_of(session, stream) else Reason.CURSOR_MISMATCH


def _unchanged(old: Session, after: Step) -> bool:
    return (
        after.session.alive
        and after.endings == ()
        and after.session.window is old.window
        and len(after.session.streams) == len(old.streams)
        and all(mine is its for mine, its in zip(after.session.streams, old.streams, strict=True))
    )


def _of_attachment(
    old: Session, given: Resume | OpenStream, after: Step, before: Stream, position: int
) -> Iterator[Claim]:
    """The connection has the one view of its stream, at ``position``; the view it had before is ended."""
    viewed = find_viewed(after.session, given.connection)
    yield Claim(ONE_VIEW.name, "the new connection has the view", lambda: viewed.number != 0)
    yield Claim(NO_DUPLICATE.name, "the view is where it was said to be", lambda: viewed.view.position == position)
    yield Claim(ONE_VIEW.name, "exactly the old view is ended", lambda: _endings_are(after, before))
    yield Claim(
        ONE_VIEW.name,
        "the old view gets nothing more",
        lambda: find_viewed(after.session, before.view.connection).number == 0,
    )
    yield Claim(
        ISOLATION.name, "the window is not touched", lambda: after.session.window is old.window or before.number == 0
    )


def _endings_are(after: Step, before: Stream) -> bool:
    if not is_viewed(before):
        return after.endings == ()
    return (
        len(after.endings) == 1
        and after.endings[0].connection == before.view.connection
        and after.endings[0].cause is Cause.TAKEN_OVER
    )


def _of_fresh_view(old: Session, given: Resume | OpenStream, after: Step) -> Iterator[Claim]:
    match after.result:
        case Opened(number, position):
            known = find_stream(old, number)
            yield Claim(
                DECISION.name,
                "a fresh view repeats nothing that an earlier view was given",
                lambda: known.number == 0 or (not old.listened and not is_viewed(known)),
            )
            yield Claim(
                NO_DUPLICATE.name,
                "a fresh view starts at its stream's mark",
                lambda: position == mark_of(after.session, find_stream(after.session, number)),
            )
            yield from _of_attachment(old, given, after, known, position)
        case Refuse():
            yield Claim(EXPLICIT.name, "a refusal changes nothing", lambda: _unchanged(old, after))
        case _:
            yield Claim(DECISION.name, "the answer is a view or a refusal", lambda: False)


def _of_emission(policy: Policy, old: Session, given: Emit, after: Step, any: Entry) -> Iterator[Claim]:
    stream = find_stream(old, old.standalone if given.stream == 0 else given.stream)
    window, held = old.window, after.session.window
    match after.result:
        case Emitted(number, seq):
            yield Claim(
                INVARIANT.name, "an event takes the next seq", lambda: seq == window.next and held.next == seq + 1
            )
            yield Claim(ISOLATION.name, "an event is on the stream it was for", lambda: number == stream.number)
            yield Claim(
                BACKPRESSURE.name,
                "no reader loses an event to its own stream",
                lambda: (
                    not (is_viewed(stream) and any.stream == stream.number and any.seq > stream.view.position)
                    or any.seq < window.low
                    or any.seq >= held.low
                    or _unless(old, any)
                ),
            )
            yield Claim(
                BOUNDED.name,
                "an event is evicted only when N or B demands it",
                lambda: (
                    any.seq < window.low
                    or any.seq >= held.low
                    or window.count - any.count + 2 > policy.window_events
                    or window.size + given.size - any.start > policy.window_bytes
                    or _unless(old, any)
                ),
            )
        case Wait():
            yield Claim(BACKPRESSURE.name, "waiting changes nothing", lambda: _unchanged(old, after))
            yield Claim(
                BACKPRESSURE.name,
                "only a reader of the same stream makes an emission wait",
                lambda: is_viewed(stream) and stream.view.position < stream.last,
            )
        case _:
            yield Claim(
                EXPLICIT.name,
                "a refusal changes nothing",
                lambda: isinstance(after.result, Refuse) and _unchanged(old, after),
            )


def _of_write(policy: Policy, old: Session, given: Write, after: Step, events: Events, any: Entry) -> Iterator[Claim]:
    stream = find_viewed(old, given.connection)
    view = stream.view
    changed = find_stream(after.session, stream.number)
    of_stream = lambda: any.stream == stream.number and not _unless(old, any)  # noqa: E731  # one phrase in many claims
    if stream.number == 0:
        yield Claim(ONE_VIEW.name, "what has no view is given nothing", lambda: isinstance(after.result, NoView))
        return
    match after.result:
        case WriteEvent(number, seq, _):
            written = events.entry(seq)
            yield Claim(NO_DUPLICATE.name, "a write goes forward", lambda: seq > view.position)
            yield Claim(NO_DUPLICATE.name, "the view stands at what was written", lambda: changed.view.position == seq)
            yield Claim(
                ISOLATION.name,
                "a view is given its own stream",
                lambda: number == stream.number and written.stream == number,
            )
            yield Claim(
                NO_SILENT_LOSS.name,
                "a write is the very next event",
                lambda: not (of_stream() and any.seq > view.position and any.seq < seq),
            )
            yield Claim(
                BOUNDED.name, "one write is outstanding", lambda: changed.view.outstanding and not view.outstanding
            )
            yield Claim(PROGRESS.name, "an event written leaves one less", lambda: written.prev == view.position)
        case WriteGreeting(greeting, number, seq):
            yield Claim(NO_SILENT_LOSS.name, "a greeting states the position", lambda: seq == view.position)
            yield Claim(NO_SILENT_LOSS.name, "a greeting moves nothing", lambda: changed.view.position == view.position)
            yield Claim(
                ISOLATION.name,
                "a greeting is of its stream",
                lambda: number == stream.number and greeting is view.greeting,
            )
            yield Claim(
                BOUNDED.name, "one write is outstanding", lambda: changed.view.outstanding and not view.outstanding
            )
        case WriteEnd():
            yield Claim(
                NO_SILENT_LOSS.name,
                "a clean end follows everything",
                lambda: not (of_stream() and any.seq > view.position),
            )
            yield Claim(NO_SILENT_LOSS.name, "only a finished stream ends", lambda: stream.finished)
            yield Claim(ONE_VIEW.name, "the view is gone", lambda: not is_viewed(changed))
        case WriteOvertaken(number, position):
            owed = old.window.successor(stream.number, view.position)
            lost = events.entry(stream.last) if owed.seq == 0 else events.entry(owed.prev)
            yield Claim(
                NO_SILENT_LOSS.name,
                "an overtaken view has lost something",
                lambda: _is_lost(old, stream, view.position, lost),
            )
            yield Claim(
                NO_SILENT_LOSS.name,
                "the position told is the view's",
                lambda: position == view.position and number == stream.number,
            )
            yield Claim(ONE_VIEW.name, "the view is gone", lambda: not is_viewed(changed))
        case Idle() | WriteHeartbeat():
            yield Claim(
                PROGRESS.name,
                "an unblocked view withholds nothing",
                lambda: view.outstanding or not (of_stream() and any.seq > view.position),
            )
            yield Claim(NO_SILENT_LOSS.name, "a comment moves nothing", lambda: changed.view.position == view.position)
        case _:
            yield Claim(PROGRESS.name, "a view has an answer", lambda: False)


def _of_bookkeeping(old: Session, given: Input, after: Step) -> Iterator[Claim]:
    """Acceptance, disconnection, the end of a stream, and time move no position and evict nothing."""
    yield Claim(ONE_VIEW.name, "nothing is lost with a view", lambda: after.session.window is old.window)
    yield Claim(ONE_VIEW.name, "no view is ended", lambda: after.endings == ())
    for stream in after.session.streams:
        before = find_stream(old, stream.number)
        yield Claim(
            NO_SILENT_LOSS.name,
            "no position moves",
            lambda stream=stream, before=before: not is_viewed(stream) or stream.view.position == before.view.position,
        )


def _of_termination(policy: Policy, old: Session, after: Step) -> Iterator[Claim]:
    viewed = tuple(stream.view.connection for stream in old.streams if is_viewed(stream))
    ended = tuple(ending.connection for ending in after.endings)
    yield Claim(FINAL.name, "every view is ended", lambda: viewed == ended)
    yield Claim(FINAL.name, "nothing is left", lambda: not after.session.alive and after.session.streams == ())
    yield Claim(FINAL.name, "nothing is held", lambda: after.session.window.low == after.session.window.next)


def dead_claims(given: Input, after: Step) -> Iterator[Claim]:
    """What any input does to a terminated session: nothing."""
    yield Claim(FINAL.name, "the dead stay dead", lambda: isinstance(after.result, Gone) and not after.session.alive)
    yield Claim(FINAL.name, "the dead hold nothing", lambda: after.session.streams == () and after.endings == ())


def _frame(old: Session, given: Input, after: Step) -> Iterator[Claim]:
    """The streams that the input does not address come out as the identical objects, or forgotten."""
    addressed = _addressed(old, given)
    for stream in old.streams:
        if stream.number not in addressed and not isinstance(given, Terminate):
            now = find_stream(after.session, stream.number)
            yield Claim(
                ISOLATION.name,
                "other streams are left as they are",
                lambda now=now, stream=stream: (
                    now is stream or (now.number == 0 and inductive.is_emptied(after.session, stream))
                ),
            )


def _addressed(old: Session, given: Input) -> tuple[int, ...]:
    match given:
        case Resume(_, Cursor(Presence.PRESENT)):
            return (given.cursor.stream,)
        case Resume():
            return (old.standalone,)
        case Emit(stream):
            return (old.standalone if stream == 0 else stream,)
        case Finish(stream):
            return (stream,)
        case Write(connection) | Accepted(connection) | Disconnect(connection):
            return (find_viewed(old, connection).number,)
        case _:
            return ()


def time_claims(policy: Policy, old: Session, now: int, after: Step, any: Entry) -> Iterator[Claim]:
    """What the passing of time must keep."""
    new = after.session
    if not new.alive:
        yield Claim(BUDGETS.name, "only an absent client's session is ended", lambda: _is_absent(policy, old, now))
        yield Claim(FINAL.name, "nothing is left", lambda: new.streams == () and new.window.low == new.window.next)
        return
    yield Claim(
        BOUNDED.name,
        "an event is evicted only when T demands it",
        lambda: (
            any.seq < old.window.low
            or any.seq >= new.window.low
            or now - any.at > policy.window_ms
            or _unless(old, any)
        ),
    )
    for stream in old.streams:
        kept = find_stream(new, stream.number)
        told = tuple(ending for ending in after.endings if ending.stream == stream.number)
        yield Claim(
            BUDGETS.name,
            "a healthy view is not ended",
            lambda stream=stream, kept=kept, told=told: (
                not is_viewed(stream)
                or (is_behind(stream) and now >= stall_deadline(policy, stream))
                or (told == () and kept is stream)
            ),
        )
        yield Claim(
            BUDGETS.name,
            "an ended view is told once, as stalled",
            lambda stream=stream, kept=kept, told=told: (
                is_viewed(kept)
                or not is_viewed(stream)
                or (len(told) == 1 and told[0].cause is Cause.STALLED and told[0].connection == stream.view.connection)
            ),
        )


def _is_absent(policy: Policy, old: Session, now: int) -> bool:
    """Nothing was open for longer than the absence budget, counted from the last sign or the last stall's deadline."""
    for stream in old.streams:
        if stream.kind is StreamKind.REQUEST and not stream.finished:
            return False
        if is_viewed(stream) and not (
            is_behind(stream) and now >= stall_deadline(policy, stream) + policy.absence_ms + 1
        ):
            return False
    return old.requests == 0 and now >= absence_deadline(policy, old)


def composed_claims(late: Step, soon: Step, later: Step) -> Iterator[Claim]:
    """Advancing at once, and advancing in two steps, come to the same."""
    one, two = late.session, later.session
    yield Claim(BUDGETS.name, "it is the same who is alive", lambda: one.alive == two.alive)
    if not (one.alive and two.alive):
        return
    yield Claim(BUDGETS.name, "the same views end", lambda: len(late.endings) == len(soon.endings) + len(later.endings))
    yield Claim(BUDGETS.name, "the clocks agree", lambda: one.now == two.now and one.seen == two.seen)
    yield Claim(
        BUDGETS.name,
        "the window is the same",
        lambda: one.window.low == two.window.low and one.window.next == two.window.next,
    )
    yield Claim(
        BUDGETS.name,
        "the streams are the same",
        lambda: (
            len(one.streams) == len(two.streams)
            and all(
                mine.number == its.number and mine.view.connection == its.view.connection
                for mine, its in zip(one.streams, two.streams, strict=True)
            )
        ),
    )


def old_view_claims(policy: Policy, after: Step, connection: int) -> Iterator[Claim]:
    """After a takeover, the old connection's transport asks once more."""
    asked = react(policy, after.session, Write(connection))
    yield Claim(ONE_VIEW.name, "an old view asks in vain", lambda: isinstance(asked.result, NoView))


def greets(stream: Stream) -> bool:
    """Whether its view has its greeting unwritten."""
    return stream.view.greeting is not Greeting.NOTHING
