"""The promises: what one step of a session must keep, as named English predicates.

Each function yields claims about one step: the session before, the input, what came of it, and ``any``, which is any
event the session ever had (the one emitted by this step included). The prover asks for each claim with an arbitrary
event of an arbitrary session; the explorer asks for it with every event of a real one. The claims are grouped by the
theorem that they make up; ``THEOREMS`` says which clauses each supports.

What a budget means is said here in its own words (``_is_late``, ``_is_left``), not by the machine's functions for it,
so that a change of those is not a change of the promise.

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
    View,
    find_stream,
    find_viewed,
    is_viewed,
    mark_of,
)
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Cause,
    Depart,
    Disconnect,
    Done,
    Emit,
    Emitted,
    Ending,
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
    holds: Callable[..., bool]


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
    yield Claim(BUDGETS.name, "an absent client's session is over", lambda: not _is_left(policy, session))
    for stream in session.streams:
        newest = events.entry(stream.last)
        yield Claim(BUDGETS.name, "no view is late", lambda stream=stream: not _is_late(policy, session.now, stream))
        yield Claim(
            BOUNDED.name,
            "a stream on record is unfinished, read or held",
            lambda stream=stream, newest=newest: (
                not stream.finished
                or is_viewed(stream)
                or (newest.stream == stream.number and newest.seq >= session.window.low)
            ),
        )


def _unless(session: Session, entry: Entry) -> bool:
    return not inductive.is_emitted(session, entry)


def _has_unread(stream: Stream) -> bool:
    """Whether its view has something to take that it has not taken."""
    view = stream.view
    return is_viewed(stream) and (
        view.outstanding or view.greeting is not Greeting.NOTHING or stream.last > view.position
    )


def _is_late(policy: Policy, now: int, stream: Stream) -> bool:
    """Whether its view has left something unread for longer than the stall budget (IDL-1)."""
    return _has_unread(stream) and now - stream.view.since > policy.stall_ms


def _is_in_use(session: Session) -> bool:
    """Whether something of the session is open."""
    for stream in session.streams:
        if is_viewed(stream) or (stream.kind is StreamKind.REQUEST and not stream.finished):
            return True
    return session.requests >= 1


def _is_left(policy: Policy, session: Session) -> bool:
    """Whether nothing is open and there was no sign of the client for longer than the absence budget (IDL-4)."""
    return not _is_in_use(session) and session.now - session.seen > policy.absence_ms


def _open_streams(session: Session) -> int:
    """How many streams are unfinished or read."""
    total = 0
    for stream in session.streams:
        if is_viewed(stream) or not stream.finished:
            total += 1
    return total


def birth_claims(session: Session, now: int) -> Iterator[Claim]:
    """What a new session is: one stream, which nobody has listened to."""
    yield Claim(INVARIANT.name, "a session begins now", lambda: session.now == now and session.seen == now)
    yield Claim(
        INVARIANT.name,
        "a session begins with the stream that pushes go to, and nobody has listened",
        lambda: (
            session.alive
            and [stream.number for stream in session.streams] == [session.standalone]
            and session.opened == 1
            and not session.listened
            and not _is_in_use(session)
        ),
    )


def step_claims(policy: Policy, old: Session, given: Input, after: Step, events: Events, any: Entry) -> Iterator[Claim]:
    """What one input must keep, at a living session's own present."""
    match given:
        case Resume(_, Cursor(Presence.PRESENT)):
            yield from _of_resumption(policy, old, given, after, events, any)
        case Resume() | OpenStream():
            yield from _of_fresh_view(policy, old, given, after, any)
        case Emit():
            yield from _of_emission(policy, old, given, after, any)
        case Write():
            yield from _of_write(policy, old, given, after, events, any)
        case Accepted() | Disconnect() | Finish() | Tick() | Arrive() | Depart():
            yield from _of_bookkeeping(policy, old, given, after)
        case Terminate():
            yield from _of_termination(policy, old, after)
    yield from _frame(old, given, after)
    if after.session.alive:
        yield from _of_clocks(policy, old, given, after)


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
            yield Claim(NO_DUPLICATE.name, "the view starts no earlier than the cursor", lambda: position >= cursor.seq)
            yield Claim(NO_SILENT_LOSS.name, "the view starts no later than the cursor", lambda: position <= cursor.seq)
            yield Claim(EXPLICIT.name, "a granted cursor was sent", lambda: was_sent(stream, cursor.seq, at_cursor))
            yield Claim(
                LOSSLESS.name,
                "what is granted has lost nothing",
                lambda: inductive.is_lossless(old, stream, cursor.seq, any) or _unless(old, any),
            )
            yield from _of_attachment(old, given, after, stream, position)
        case Opened(number, position):
            yield Claim(
                DECISION.name,
                "a replay is of the cursor's stream, where replay is what is offered",
                lambda: old.mode is Mode.REPLAY and known and number == cursor.stream,
            )
            yield Claim(
                LOSSLESS.name,
                "a replay is of the whole stream",
                lambda: (
                    position == stream.first
                    and (inductive.is_lossless(old, stream, stream.first, any) or _unless(old, any))
                ),
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
                    not known
                    or old.mode is Mode.REFUSE
                    or (old.mode is Mode.REATTACH and not was_sent(stream, cursor.seq, at_cursor))
                    or _is_lost(old, stream, stream.first if old.mode is Mode.REPLAY else cursor.seq, at_mark)
                ),
            )


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
    if stream.number == 0 or session.mode is not Mode.REATTACH:
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
    yield Claim(NO_DUPLICATE.name, "the view starts no earlier than was said", lambda: viewed.view.position >= position)
    yield Claim(NO_SILENT_LOSS.name, "the view starts no later than was said", lambda: viewed.view.position <= position)
    yield Claim(ONE_VIEW.name, "exactly the old view is ended", lambda: _endings_are(after, before))
    yield Claim(
        ONE_VIEW.name,
        "the old view gets nothing more",
        lambda: find_viewed(after.session, before.view.connection).number == 0,
    )
    yield Claim(
        DECISION.name,
        "that pushes have been listened to is remembered",
        lambda: after.session.listened == (old.listened or viewed.number == after.session.standalone),
    )
    yield Claim(
        ISOLATION.name, "the window is not touched", lambda: after.session.window is old.window or before.number == 0
    )


def _endings_are(after: Step, before: Stream) -> bool:
    if not is_viewed(before):
        return after.endings == ()
    return (
        len(after.endings) == 1 and after.endings[0].cause is Cause.TAKEN_OVER and _is_told_of(after.endings[0], before)
    )


def _is_told_of(ending: Ending, stream: Stream) -> bool:
    """Whether it ends the stream's view, and says where that stood."""
    view = stream.view
    return ending.connection == view.connection and ending.stream == stream.number and ending.position == view.position


def _of_fresh_view(
    policy: Policy, old: Session, given: Resume | OpenStream, after: Step, any: Entry
) -> Iterator[Claim]:
    match after.result:
        case Opened(number, position):
            known = find_stream(old, number)
            yield Claim(
                INVARIANT.name,
                "a new stream has a new number",
                lambda: known.number != 0 or (number == old.opened + 1 and after.session.opened == number),
            )
            yield Claim(
                INVARIANT.name,
                "a birth takes the next seq",
                lambda: (
                    known.number != 0
                    or (
                        find_stream(after.session, number).first == old.window.next
                        and after.session.window.next == old.window.next + 1
                    )
                ),
            )
            yield Claim(
                BOUNDED.name,
                "a stream is opened only within the limit, or in place of another",
                lambda: (
                    known.number != 0
                    or _open_streams(after.session) <= policy.open_streams
                    or _open_streams(after.session) <= _open_streams(old)
                ),
            )
            yield Claim(
                NO_SILENT_LOSS.name,
                "a fresh view misses nothing that is held",
                lambda: any.stream != number or any.seq > position or any.seq < old.window.low or _unless(old, any),
            )
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
        case Refuse(reason):
            yield Claim(EXPLICIT.name, "a refusal changes nothing", lambda: _unchanged(old, after))
            yield Claim(
                EXPLICIT.name,
                "a fresh view is refused for what is the matter",
                lambda: (
                    reason is Reason.CURSOR_MALFORMED
                    if isinstance(given, Resume) and given.cursor.presence is Presence.MALFORMED
                    else reason is Reason.STREAMS_EXHAUSTED and _open_streams(old) >= policy.open_streams
                ),
            )
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
            yield Claim(
                ISOLATION.name,
                "an event is on the stream it was for",
                lambda: number == stream.number and (any.seq != seq or any.stream == number),
            )
            yield Claim(NO_SILENT_LOSS.name, "a finished stream takes no more events", lambda: not stream.finished)
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
            owed = window.successor(stream.number, stream.view.position)
            yield Claim(
                BACKPRESSURE.name,
                "an emission waits only where its own reader would lose something",
                lambda: (
                    owed.seq != 0
                    and (
                        window.count - owed.count + 2 > policy.window_events
                        or window.size + given.size - owed.start > policy.window_bytes
                    )
                ),
            )
        case Refuse(reason):
            yield Claim(EXPLICIT.name, "a refusal changes nothing", lambda: _unchanged(old, after))
            yield Claim(
                EXPLICIT.name,
                "an emission is refused for what is the matter",
                lambda: (
                    reason is Reason.STREAM_FINISHED
                    if stream.finished
                    else reason is Reason.MESSAGE_TOO_LARGE and given.size > policy.window_bytes
                ),
            )
        case _:
            yield Claim(DECISION.name, "an emission has an answer", lambda: False)


def _of_write(policy: Policy, old: Session, given: Write, after: Step, events: Events, any: Entry) -> Iterator[Claim]:
    stream = find_viewed(old, given.connection)
    view = stream.view
    changed = find_stream(after.session, stream.number)

    def of_stream() -> bool:
        return any.stream == stream.number and not _unless(old, any)

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
                lambda: (
                    view.outstanding
                    or (view.greeting is Greeting.NOTHING and not (of_stream() and any.seq > view.position))
                ),
            )
            yield Claim(
                PROGRESS.name,
                "the view of a finished stream that was given all is ended",
                lambda: view.outstanding or not stream.finished,
            )
            yield Claim(NO_SILENT_LOSS.name, "a comment moves nothing", lambda: changed.view.position == view.position)
            yield Claim(PROGRESS.name, "a comment is written when it is due", lambda: _is_due(policy, old, after, view))
        case _:
            yield Claim(PROGRESS.name, "a view has an answer", lambda: False)


def _is_due(policy: Policy, old: Session, after: Step, view: View) -> bool:
    """Whether a view that has nothing to write is told the right time to ask again, or given a comment at it."""
    due = view.wrote + policy.heartbeat_ms
    match after.result:
        case Idle(until):
            late = view.since + policy.stall_ms + 1
            return until == late if view.outstanding else until == due and until > old.now
        case _:
            return not view.outstanding and due <= old.now


def _of_bookkeeping(policy: Policy, old: Session, given: Input, after: Step) -> Iterator[Claim]:
    """Acceptance, disconnection, the end of a stream, and time move no position and evict nothing."""
    yield Claim(ONE_VIEW.name, "nothing is lost with a view", lambda: after.session.window is old.window)
    yield Claim(ONE_VIEW.name, "no view is ended", lambda: after.endings == ())
    yield from _of_outliving(old, given, after)
    match given:
        case Finish(number):
            asked = find_stream(old, number)
            yield Claim(
                EXPLICIT.name,
                "a stream is finished once, and never the one that receives pushes",
                lambda: isinstance(after.result, Done) == (not asked.finished and number != old.standalone),
            )
        case Disconnect(connection):
            yield Claim(ONE_VIEW.name, "the view is gone", lambda: find_viewed(after.session, connection).number == 0)
            yield Claim(
                ONE_VIEW.name,
                "what has no view has none to lose",
                lambda: isinstance(after.result, NoView) == (find_viewed(old, connection).number == 0),
            )
        case _:
            pass
    for stream in after.session.streams:
        before = find_stream(old, stream.number)
        yield Claim(
            NO_SILENT_LOSS.name,
            "no position moves",
            lambda stream=stream, before=before: not is_viewed(stream) or stream.view.position == before.view.position,
        )


def _of_outliving(old: Session, given: object, after: Step) -> Iterator[Claim]:
    """A stream, and the call behind it, outlive a view (ATT-4, CLI-7)."""
    finished = given.stream if isinstance(given, Finish) and isinstance(after.result, Done) else 0
    for stream in old.streams:
        kept = find_stream(after.session, stream.number)
        yield Claim(
            ONE_VIEW.name,
            "a stream outlives its view",
            lambda stream=stream, kept=kept: (
                kept.number == 0
                or (
                    kept.first == stream.first
                    and kept.last == stream.last
                    and kept.finished == (stream.number == finished or stream.finished)
                )
            ),
        )
        yield Claim(
            ONE_VIEW.name,
            "a stream is forgotten only when it is over",
            lambda stream=stream, kept=kept: (
                kept.number != 0
                or (
                    (stream.number == finished or stream.finished)
                    and (not is_viewed(stream) or _is_ended(given, after, stream))
                    and (stream.last == stream.first or stream.last < after.session.window.low)
                )
            ),
        )


def _is_ended(given: object, after: Step, stream: Stream) -> bool:
    """Whether the stream's view was told to end, or its connection is what went."""
    connection = stream.view.connection
    return (isinstance(given, Disconnect) and given.connection == connection) or any(
        ending.connection == connection for ending in after.endings
    )


def _of_clocks(policy: Policy, old: Session, given: Input, after: Step) -> Iterator[Claim]:
    """What starts a clock, and what does not: the budgets are only as good as the clocks they are counted on."""
    new = after.session
    yield Claim(BUDGETS.name, "an input takes no time", lambda: new.now == old.now)
    yield Claim(
        BUDGETS.name,
        "a sign of the client is one, and nothing else is",
        lambda: new.seen == (old.now if _is_sign(given, after) else old.seen),
    )
    yield Claim(BUDGETS.name, "open requests are counted", lambda: new.requests == _requests(old, given))
    for stream in new.streams:
        view, before = stream.view, find_stream(old, stream.number)
        was = before.view
        if not is_viewed(stream) or was.connection != view.connection:
            continue
        yield Claim(
            BUDGETS.name,
            "the stall clock starts when something is left unread, and with progress",
            lambda view=view, was=was, before=before: (
                (view.since == old.now and view.reads == 0)
                if _is_restarted(policy, given, after, before)
                else (view.since == was.since and view.reads == was.reads + _reads(given, before))
            ),
        )
        yield Claim(
            PROGRESS.name,
            "the heartbeat's clock starts with each write",
            lambda view=view, was=was, before=before: (
                view.wrote == (old.now if _is_written(given, after, before) else was.wrote)
            ),
        )
        yield Claim(
            BOUNDED.name,
            "a write is outstanding until it is accepted",
            lambda view=view, was=was, before=before: (
                view.outstanding
                == (_is_written(given, after, before) or (was.outstanding and _reads(given, before) == 0))
            ),
        )


def _is_sign(given: Input, after: Step) -> bool:
    """Whether the client was heard of, or something of it was open until now."""
    match given:
        case Resume() | Arrive() | Depart():
            return True
        case OpenStream():
            return isinstance(after.result, Opened)
        case Write():
            return isinstance(after.result, WriteEnd | WriteOvertaken)
        case Disconnect() | Finish():
            return isinstance(after.result, Done)
        case _:
            return False


def _requests(old: Session, given: Input) -> int:
    match given:
        case Arrive():
            return old.requests + 1
        case Depart():
            return old.requests - 1 if old.requests >= 1 else old.requests
        case _:
            return old.requests


def _reads(given: Input, before: Stream) -> int:
    """How many writes of the stream's view the input says were taken."""
    return (
        1
        if isinstance(given, Accepted) and given.connection == before.view.connection and before.view.outstanding
        else 0
    )


def _is_written(given: Input, after: Step, before: Stream) -> bool:
    """Whether something was written to the stream's view."""
    return (
        isinstance(given, Write)
        and given.connection == before.view.connection
        and isinstance(after.result, WriteEvent | WriteGreeting | WriteHeartbeat)
    )


def _is_restarted(policy: Policy, given: Input, after: Step, before: Stream) -> bool:
    """Whether the stream's view fell behind by this input, or made the progress that the policy asks for."""
    match given, after.result:
        case Emit(), Emitted(number):
            return number == before.number and not _has_unread(before)
        case Write(), WriteHeartbeat():
            return _is_written(given, after, before)
        case Accepted(), _:
            return _reads(given, before) == 1 and before.view.reads + 1 >= policy.stall_reads
        case _:
            return False


def _of_termination(policy: Policy, old: Session, after: Step) -> Iterator[Claim]:
    viewed = tuple(stream.view.connection for stream in old.streams if is_viewed(stream))
    ended = tuple(ending.connection for ending in after.endings)
    yield Claim(FINAL.name, "every view is ended", lambda: viewed == ended)
    yield Claim(
        FINAL.name,
        "every view is told so",
        lambda: all(
            ending.cause is Cause.TERMINATED and _is_told_of(ending, find_stream(old, ending.stream))
            for ending in after.endings
        ),
    )
    yield Claim(FINAL.name, "nothing is left", lambda: not after.session.alive and _is_empty(after.session))


def _is_empty(session: Session) -> bool:
    return session.streams == () and session.window.low == session.window.next and session.requests == 0


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
        yield Claim(
            BUDGETS.name,
            "a session ends at its deadline",
            lambda: new.now == new.seen + policy.absence_ms + 1 and new.now <= now,
        )
        yield Claim(FINAL.name, "nothing is left", lambda: _is_empty(new))
        return
    yield Claim(BUDGETS.name, "time never goes back", lambda: new.now == (now if now > old.now else old.now))
    yield from _of_outliving(old, now, after)
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
                not is_viewed(stream) or _is_late(policy, now, stream) or (told == () and kept is stream)
            ),
        )
        yield Claim(
            BUDGETS.name,
            "an ended view is told once, as stalled",
            lambda stream=stream, kept=kept, told=told: (
                is_viewed(kept)
                or not is_viewed(stream)
                or (len(told) == 1 and told[0].cause is Cause.STALLED and _is_told_of(told[0], stream))
            ),
        )


def _is_absent(policy: Policy, old: Session, now: int) -> bool:
    """Nothing was open for longer than the absence budget, counted from the last sign or the last stall's deadline."""
    for stream in old.streams:
        if stream.kind is StreamKind.REQUEST and not stream.finished:
            return False
        if is_viewed(stream) and not (
            _has_unread(stream) and now - stream.view.since - policy.stall_ms - 1 > policy.absence_ms
        ):
            return False
    return old.requests == 0 and now - old.seen > policy.absence_ms


def composed_claims(late: Step, soon: Step, later: Step) -> Iterator[Claim]:
    """Advancing at once, and advancing in two steps, come to the same."""
    one, two = late.session, later.session
    yield Claim(BUDGETS.name, "it is the same who is alive", lambda: one.alive == two.alive)
    yield Claim(BUDGETS.name, "the same views end", lambda: len(late.endings) == len(soon.endings) + len(later.endings))
    yield Claim(BUDGETS.name, "the clocks agree", lambda: one.now == two.now and one.seen == two.seen)
    if not (one.alive and two.alive):
        return
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


def stepped_claims(timed: Step, reacted: Step | None, after: Step) -> Iterator[Claim]:
    """A step is time, and then the input if the session is still alive: no order of inputs can dodge a budget."""
    if reacted is None:
        yield Claim(FINAL.name, "what time has ended takes no input", lambda: isinstance(after.result, Gone))
    last = timed if reacted is None else reacted
    one, two = after.session, last.session
    endings = timed.endings if reacted is None else timed.endings + reacted.endings
    yield Claim(
        BUDGETS.name,
        "a step tells all that it ended",
        lambda: (
            [(ending.connection, ending.cause) for ending in after.endings]
            == [(ending.connection, ending.cause) for ending in endings]
        ),
    )
    yield Claim(
        BUDGETS.name,
        "a step is time, then the input",
        lambda: (
            one.alive == two.alive
            and (reacted is None or type(after.result) is type(reacted.result))
            and one.now == two.now
            and one.seen == two.seen
            and one.window.low == two.window.low
            and one.window.next == two.window.next
            and [(stream.number, stream.view.connection) for stream in one.streams]
            == [(stream.number, stream.view.connection) for stream in two.streams]
        ),
    )


def old_view_claims(policy: Policy, after: Step, connection: int) -> Iterator[Claim]:
    """After a takeover, the old connection's transport asks once more."""
    asked = react(policy, after.session, Write(connection))
    yield Claim(ONE_VIEW.name, "an old view asks in vain", lambda: isinstance(asked.result, NoView))


def greets(stream: Stream) -> bool:
    """Whether its view has its greeting unwritten."""
    return stream.view.greeting is not Greeting.NOTHING
