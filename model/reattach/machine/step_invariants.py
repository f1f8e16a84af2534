"""What is true of every step, in English names: what a state alone cannot show.

That nothing healthy is ended, that nothing leaves the window too early and that what is written is the very next event
are relations between the session before, the input, and what came of it. Each predicate is plain Python over one
concrete step, independent of how the machine decides: it counts and compares events, and searches nothing. ``STEP``
holds of every step of a session, ``SYSTEM_STEP`` of every action anywhere.
"""

from collections.abc import Callable

from attrs import evolve, frozen

from reattach.machine.client import News
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Refuse
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import (
    Session,
    Stream,
    StreamKind,
    absence_deadline,
    find_stream,
    find_viewed,
    is_behind,
    is_viewed,
    stall_deadline,
)
from reattach.machine.system import System
from reattach.machine.transition import (
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
    Wait,
    Write,
    WriteEnd,
    WriteEvent,
    WriteGreeting,
    WriteOvertaken,
    advance,
)
from reattach.machine.window import Entry


@frozen
class Happened:
    """One step of a session: what was, what came, what it led to."""

    policy: Policy
    before: Session
    now: int
    given: Input
    step: Step

    @property
    def after(self) -> Session:
        """The session after the step."""
        return self.step.session


def time_never_goes_back(happened: Happened) -> bool:
    """A living session's present is the latest time it was told of, whatever the order of inputs."""
    latest = max(happened.now, happened.before.now)
    return happened.after.now == latest if happened.after.alive else happened.before.now <= happened.after.now <= latest


def what_is_refused_changes_nothing(happened: Happened) -> bool:
    """Nor does what has to wait, what finds no view, or a write with nothing to write (CUR-10, WIN-6)."""
    if not isinstance(happened.step.result, Refuse | Wait | NoView | Idle | Gone):
        return True
    present = advance(happened.policy, happened.before, happened.now)
    return (
        evolve(happened.after, seen=present.session.seen) == present.session
        and happened.step.endings == present.endings
        and (happened.after.seen == present.session.seen or isinstance(happened.given, Resume))
    )


def an_event_is_added_to_one_stream(happened: Happened) -> bool:
    """An emission gives the next seq to one event of one stream, and nothing else adds an event (EVT-2, DEL-4)."""
    before, after = happened.before, happened.after
    added = [(entry.stream, entry.seq) for entry in after.window.held if entry.seq >= before.window.next]
    moved = [stream.number for stream in after.streams if _last_before(before, stream) != stream.last]
    match happened.step.result:
        case Emitted(stream, seq):
            return added == [(stream, before.window.next)] and moved == [stream] and seq == before.window.next
        case _:
            return added == [] and moved == []


def only_what_must_leaves_the_window(happened: Happened) -> bool:
    """An event that was evicted was too old, or one too many, or too much (WIN-5)."""
    policy, window = happened.policy, happened.after.window
    return not happened.after.alive or all(
        happened.now - entry.at > policy.window_ms
        or window.count - entry.count >= policy.window_events
        or window.size - entry.start > policy.window_bytes
        for entry in _evicted(happened)
    )


def a_reader_is_not_overtaken_by_its_own_stream(happened: Happened) -> bool:
    """No emission evicts what its own stream's view has still to be given (WIN-6)."""
    match happened.given, happened.step.result:
        case Emit(), Emitted(number, _):
            stream = find_stream(happened.after, number)
            return not is_viewed(stream) or not any(
                entry.stream == number
                and entry.seq > stream.view.position
                and happened.now - entry.at <= happened.policy.window_ms
                for entry in _evicted(happened)
            )
        case _:
            return True


def only_an_own_reader_makes_an_emission_wait(happened: Happened) -> bool:
    """An emission waits only in a full window, for a view of its own stream that has something unread (IDL-6)."""
    waits = isinstance(happened.step.result, Wait)
    return not waits or (isinstance(happened.given, Emit) and _is_held_up(happened, happened.given))


def a_view_starts_where_it_should(happened: Happened) -> bool:
    """At the cursor that was granted, at the birth of a new stream, or at the mark of one that nobody ever read.

    A re-attached view is given nothing at or before the cursor (DEL-1, ATT-1), a fresh one nothing that an earlier view
    was given (CUR-1), and its connection has it alone.
    """
    match happened.given, happened.step.result:
        case ((Resume(connection) | OpenStream(connection)), Opened(number, position)):
            stream, before = find_stream(happened.after, number), find_stream(happened.before, number)
            return (
                stream.view.connection == connection
                and stream.view.position == position
                and not stream.view.outstanding
                and _is_start(happened, before, stream)
            )
        case _:
            return not isinstance(happened.step.result, Opened)


def what_is_written_comes_next(happened: Happened) -> bool:
    """A write is the event after the position; an end says that there is none, overtaken that it is lost (DEL-2)."""
    after, result = happened.after, happened.step.result
    match happened.given, result:
        case Write(connection), WriteEvent(number, seq):
            before, now = find_viewed(happened.before, connection), find_viewed(after, connection)
            return (
                number == before.number == now.number
                and before.view.position < seq == now.view.position
                and now.view.outstanding
                and not before.view.outstanding
                and not any(before.view.position < entry.seq < seq for entry in _held(after, number))
                and any(entry.seq == seq and entry.prev == before.view.position for entry in _held(after, number))
            )
        case Write(connection), WriteGreeting(_, number, seq):
            before = find_viewed(happened.before, connection)
            return number == before.number and seq == before.view.position  # EVT-6
        case Write(connection), WriteEnd():
            before = find_viewed(happened.before, connection)
            return before.finished and before.view.position == before.last
        case Write(connection), WriteOvertaken(number, position):
            before = find_viewed(happened.before, connection)
            return (
                number == before.number
                and position == before.view.position < before.last
                and not any(entry.prev == position for entry in _held(after, number))
            )
        case _:
            return not isinstance(result, WriteEvent | WriteGreeting | WriteEnd | WriteOvertaken)


def a_view_ends_only_for_a_reason(happened: Happened) -> bool:
    """It stalled, it was taken over, its session ended, it was at its end, or its connection went (IDL-1, ATT-2)."""
    return all(
        find_viewed(happened.after, stream.view.connection).number == stream.number or _is_ended(happened, stream)
        for stream in happened.before.streams
        if is_viewed(stream)
    )


def what_is_ended_has_no_view(happened: Happened) -> bool:
    """An ended view gets nothing more (ATT-2)."""
    return all(find_viewed(happened.after, ending.connection).number == 0 for ending in happened.step.endings)


def a_session_ends_only_for_a_reason(happened: Happened) -> bool:
    """It was terminated, or nothing of it was open and nothing heard for longer than the budget (IDL-4)."""
    before = happened.before
    if happened.after.alive or not before.alive or isinstance(happened.given, Terminate):
        return True
    return (
        before.requests == 0
        and absence_deadline(happened.policy, before) <= happened.now
        and not any(stream.kind is StreamKind.REQUEST and not stream.finished for stream in before.streams)
        and all(
            is_behind(stream)
            and stall_deadline(happened.policy, stream) + happened.policy.absence_ms + 1 <= happened.now
            for stream in before.streams
            if is_viewed(stream)
        )
    )


def a_stream_is_finished_only_when_told(happened: Happened) -> bool:
    """By its response, its cancellation or a later listener, and not by a lost connection (ATT-4, CLI-7)."""
    return all(
        stream.finished <= (known.finished or _is_finished_by(happened, stream))
        for stream in happened.after.streams
        for known in (find_stream(happened.before, stream.number),)
    )


def a_stream_is_forgotten_only_when_it_is_over(happened: Happened) -> bool:
    """Its record goes only once it is finished and nothing of it is read or held (WIN-3)."""
    return not happened.after.alive or all(
        find_stream(happened.after, stream.number).number != 0
        or (
            (stream.finished or _is_finished_by(happened, stream))
            and (not is_viewed(stream) or _is_ended(happened, stream))
            and _held(happened.after, stream.number) == ()
        )
        for stream in happened.before.streams
    )


def the_dead_stay_dead(happened: Happened) -> bool:
    """A terminated session answers everything the same and never changes again (SES-4)."""
    return happened.before.alive or (
        happened.after == happened.before and isinstance(happened.step.result, Gone) and happened.step.endings == ()
    )


StepInvariant = Callable[[Happened], bool]

STEP: tuple[StepInvariant, ...] = (
    time_never_goes_back,
    what_is_refused_changes_nothing,
    an_event_is_added_to_one_stream,
    only_what_must_leaves_the_window,
    a_reader_is_not_overtaken_by_its_own_stream,
    only_an_own_reader_makes_an_emission_wait,
    a_view_starts_where_it_should,
    what_is_written_comes_next,
    a_view_ends_only_for_a_reason,
    what_is_ended_has_no_view,
    a_session_ends_only_for_a_reason,
    a_stream_is_finished_only_when_told,
    a_stream_is_forgotten_only_when_it_is_over,
    the_dead_stay_dead,
)


def a_terminated_session_never_comes_back(before: System, after: System) -> bool:
    """Each session that appears has a name that was never given before (SES-4)."""
    new = set(after.server.sessions) - set(before.server.sessions)
    return new <= {f"S{number}" for number in range(before.names + 1, after.names + 1)}


def a_lost_session_is_told(before: System, after: System) -> bool:
    """A client leaves a session only with a word to its application, even with nothing pending (CLI-9)."""
    return all(
        then.session in ("", now.session)
        or len([one for one in now.told if one.news is News.SESSION_LOST])
        > len([one for one in then.told if one.news is News.SESSION_LOST])
        for then, now in zip(before.clients, after.clients, strict=True)
    )


SystemStepInvariant = Callable[[System, System], bool]

SYSTEM_STEP: tuple[SystemStepInvariant, ...] = (a_terminated_session_never_comes_back, a_lost_session_is_told)


def _is_start(happened: Happened, before: Stream, stream: Stream) -> bool:
    """Whether the position of the stream's new view is the one that was asked for."""
    position = stream.view.position
    match happened.given:
        case Resume(_, Cursor(Presence.PRESENT, _, number, seq)):
            asked = stream.first if happened.after.mode is Mode.REPLAY else seq
            return stream.number == number and position == asked
        case Resume() if before.number:
            given = [entry.prev for entry in _held(happened.after, stream.number)]
            return not is_viewed(before) and not happened.before.listened and position == min([*given, stream.last])
        case _:
            return before.number == 0 and position == stream.first == happened.before.window.next


def _is_held_up(happened: Happened, emission: Emit) -> bool:
    """Whether the window has no room for the emission, and a view of its stream has something unread."""
    after, policy = happened.after, happened.policy
    stream = find_stream(after, emission.stream or after.standalone)
    size = sum(entry.size for entry in after.window.held) + emission.size
    is_full = len(after.window.held) == policy.window_events or size > policy.window_bytes
    return is_full and is_viewed(stream) and stream.view.position < stream.last


def _held(session: Session, number: int) -> tuple[Entry, ...]:
    return tuple(entry for entry in session.window.held if entry.stream == number)


def _evicted(happened: Happened) -> tuple[Entry, ...]:
    kept = {entry.seq for entry in happened.after.window.held}
    return tuple(entry for entry in happened.before.window.held if entry.seq not in kept)


def _last_before(before: Session, stream: Stream) -> int:
    known = find_stream(before, stream.number)
    return known.last if known.number else stream.first


def _is_ended(happened: Happened, stream: Stream) -> bool:
    """Whether the stream's view had a reason to end in this step, and was ended with that reason."""
    connection = stream.view.connection
    causes = tuple(ending.cause for ending in happened.step.endings if ending.connection == connection)
    match happened.given, happened.step.result, causes:
        case _, _, (Cause.STALLED,):
            return is_behind(stream) and stall_deadline(happened.policy, stream) <= happened.now
        case Resume(), Opened(number), (Cause.TAKEN_OVER,):
            return number == stream.number
        case Terminate(), _, (Cause.TERMINATED,):
            return True
        case Write(mine), WriteEnd() | WriteOvertaken(), ():
            return mine == connection
        case Disconnect(mine), _, ():
            return mine == connection
        case _:
            return False


def _is_finished_by(happened: Happened, stream: Stream) -> bool:
    match happened.given:
        case Finish(number):
            return number == stream.number
        case Resume():
            return stream.number == happened.before.standalone
        case _:
            return False
