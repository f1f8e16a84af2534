"""What is always true, in English names.

Each predicate is plain Python over a state, so the random tests, the explorer and the proofs check the same function.
``SESSION`` holds after every step of a session, ``SYSTEM`` after every action anywhere, ``AT_REST`` once the system has
come to rest. The end-to-end statement is ``each_event_is_applied_at_most_once`` with
``what_is_not_applied_is_owed_or_told``, and at rest ``nothing_is_owed``.
"""

from collections.abc import Callable
from itertools import pairwise

from reattach.machine.client import Client, News, Told, find_by_handle
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Decision, Reason, Reattach, Refuse, Replay, decide_cursor
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import (
    Session,
    Stream,
    StreamKind,
    absence_deadline,
    find_stream,
    find_viewed,
    holds_nothing,
    is_behind,
    is_forgotten,
    is_occupied,
    is_open,
    is_viewed,
    mark_of,
    stall_deadline,
)
from reattach.machine.system import Application, Emission, Origin, System

# Of a session


def the_window_is_ordered(policy: Policy, session: Session) -> bool:
    """Seqs grow strictly, times, counts and byte offsets never fall, and all lie between low and next (EVT-2)."""
    held = session.window.held
    return all(
        earlier.seq < later.seq
        and earlier.at <= later.at
        and earlier.count + 1 == later.count
        and earlier.start + earlier.size == later.start
        for earlier, later in pairwise(held)
    ) and all(session.window.low <= entry.seq < session.window.next and entry.at <= session.now for entry in held)


def low_is_the_oldest_held_event(policy: Policy, session: Session) -> bool:
    """``low`` is the seq of the oldest held event, or ``next`` if none is held."""
    window = session.window
    return window.low == (window.held[0].seq if window.held else window.next)


def the_window_is_bounded(policy: Policy, session: Session) -> bool:
    """At most N events and B bytes are held (WIN-1), and none older than T (WIN-2)."""
    held = session.window.held
    return (
        len(held) <= policy.window_events
        and sum(entry.size for entry in held) <= policy.window_bytes
        and all(session.now - entry.at <= policy.window_ms for entry in held)
    )


def each_event_follows_its_predecessor(policy: Policy, session: Session) -> bool:
    """Along a stream, each held event's ``prev`` is the one before it, and the newest held one is the last (DEL-6)."""
    return all(_is_chained(session, stream) for stream in session.streams) and all(
        find_stream(session, entry.stream).number != 0 for entry in session.window.held
    )


def _is_chained(session: Session, stream: Stream) -> bool:
    held = [entry for entry in session.window.held if entry.stream == stream.number]
    seqs = [mark_of(session, stream), *(entry.seq for entry in held)]
    return [entry.prev for entry in held] == seqs[:-1] and seqs[-1] == stream.last


def a_stream_lies_within_its_session(policy: Policy, session: Session) -> bool:
    """Born before next, never beyond it, its view between birth and last (CUR-5)."""
    return all(
        0 < stream.first <= stream.last < session.window.next
        and 0 < stream.number <= session.opened
        and (not is_viewed(stream) or stream.first <= stream.view.position <= stream.last)
        for stream in session.streams
    )


def a_stream_has_at_most_one_view(policy: Policy, session: Session) -> bool:
    """No two streams share a number, no two views a connection (DEL-10)."""
    numbers = [stream.number for stream in session.streams]
    connections = [stream.view.connection for stream in session.streams if is_viewed(stream)]
    return len(numbers) == len(set(numbers)) and len(connections) == len(set(connections))


def records_are_bounded(policy: Policy, session: Session) -> bool:
    """Streams are unfinished (within the limit), or read, or have something held (WIN-3)."""
    unfinished = sum(not stream.finished for stream in session.streams)
    return unfinished <= policy.open_streams and all(
        is_open(stream) or not holds_nothing(session, stream) for stream in session.streams
    )


def finished_streams_are_forgotten(policy: Policy, session: Session) -> bool:
    """No record outlives its use (WIN-3)."""
    return not any(is_forgotten(session, stream) for stream in session.streams)


def no_view_outlives_its_stall_budget(policy: Policy, session: Session) -> bool:
    """A view that is behind has made progress within the budget (IDL-1)."""
    return all(not is_behind(stream) or session.now < stall_deadline(policy, stream) for stream in session.streams)


def no_session_outlives_its_absence_budget(policy: Policy, session: Session) -> bool:
    """A session of which nothing is open has had a sign of its client within the budget (IDL-4)."""
    return not session.alive or is_occupied(session) or session.now < absence_deadline(policy, session)


def there_is_one_standalone_stream_to_push_to(policy: Policy, session: Session) -> bool:
    """While the session lives, exactly one standalone stream is unfinished, the named one."""
    unfinished = [
        stream.number for stream in session.streams if stream.kind is StreamKind.STANDALONE and not stream.finished
    ]
    return unfinished == ([session.standalone] if session.alive else [])


def a_terminated_session_holds_nothing(policy: Policy, session: Session) -> bool:
    """Termination releases everything (WIN-4, SES-4)."""
    return session.alive or (session.window.held == () and session.streams == ())


SessionInvariant = Callable[[Policy, Session], bool]

SESSION: tuple[SessionInvariant, ...] = (
    the_window_is_ordered,
    low_is_the_oldest_held_event,
    the_window_is_bounded,
    each_event_follows_its_predecessor,
    a_stream_lies_within_its_session,
    a_stream_has_at_most_one_view,
    records_are_bounded,
    finished_streams_are_forgotten,
    no_view_outlives_its_stall_budget,
    no_session_outlives_its_absence_budget,
    there_is_one_standalone_stream_to_push_to,
    a_terminated_session_holds_nothing,
)

Sent = tuple[tuple[int, int], ...]
"""Ghost: (stream, seq) of every birth and every event of a session, held or not."""


def a_cursor_is_granted_iff_lossless(session: Session, sent: Sent) -> bool:
    """Every cursor gets the answer that the whole history asks for, boundaries and nonsense included (CUR-3 to CUR-8).

    Said without the mark: for a cursor that the stream really sent, what matters is whether every event of the stream
    after it is still held.
    """
    foreign = Cursor(Presence.PRESENT, f"{session.tag}'", 1, 1)
    return _answer(session, foreign) is Reason.CURSOR_FOREIGN and all(
        _answer(session, Cursor(Presence.PRESENT, session.tag, number, seq)) == due
        for number in range(1, session.opened + 2)
        for seq, due in enumerate(_answers_due(session, sent, number))
    )


Answer = Decision | Reason
"""A decision, of which a refusal is told by its reason alone."""


def _answer(session: Session, cursor: Cursor) -> Answer:
    decision = decide_cursor(session, cursor)
    return decision.reason if isinstance(decision, Refuse) else decision


def _answers_due(session: Session, sent: Sent, number: int) -> list[Answer]:
    """What each seq from 0 to ``next`` deserves as a cursor of this stream."""
    asked = range(session.window.next + 1)
    if find_stream(session, number).number == 0 or session.mode is Mode.REFUSE:
        return [Reason.CURSOR_OUT_OF_WINDOW for _ in asked]
    held = [entry.seq for entry in session.window.held if entry.stream == number]
    seqs = [seq for stream, seq in sent if stream == number]
    lost = max(seq for seq in seqs if seq not in held)
    if session.mode is Mode.REPLAY:  # of the whole stream or not at all
        whole = Replay(number, lost) if lost == min(seqs) else Reason.CURSOR_OUT_OF_WINDOW
        return [whole for _ in asked]
    return [
        Reason.CURSOR_AHEAD
        if seq > max(seqs)
        else Reason.CURSOR_OUT_OF_WINDOW
        if seq < lost
        else Reattach(number, seq)
        if seq in seqs
        else Reason.CURSOR_MISMATCH
        for seq in asked
    ]


# Of the system


def every_session_is_sound(system: System) -> bool:
    """Each session is alive and satisfies every session invariant; there are no more of them than allowed (WIN-3)."""
    policy = system.server.policy
    return len(system.server.sessions) <= policy.sessions and all(
        session.alive and all(holds(policy, session) for holds in SESSION)
        for session in system.server.sessions.values()
    )


def resumption_is_granted_iff_lossless(system: System) -> bool:
    """In every session, for every cursor (CUR-7)."""
    return all(
        a_cursor_is_granted_iff_lossless(session, sent_in(system, name))
        for name, session in system.server.sessions.items()
    )


def sent_in(system: System, name: str) -> Sent:
    """Every birth that is still known and every event of one session."""
    births = tuple((stream.number, stream.first) for stream in system.server.sessions[name].streams)
    return births + tuple((event.stream, event.seq) for event in system.history if event.session == name)


def seqs_name_one_event(system: System) -> bool:
    """In a session no seq is given twice, on whatever stream (EVT-1, EVT-2, EVT-4)."""
    names = [(event.session, event.seq) for event in system.history]
    return len(names) == len(set(names))


def events_are_applied_in_order(system: System) -> bool:
    """What a client applies of one stream, it applies in seq order (DEL-6)."""
    applied = system.applications
    return all(
        earlier.seq < later.seq
        for at, later in enumerate(applied)
        for earlier in applied[:at]
        if (earlier.client, earlier.handle) == (later.client, later.handle)
    )


def events_are_applied_where_they_belong(system: System) -> bool:
    """A client applies only events of its own session and of the stream it asked for (DEL-3, DEL-4, SES-5)."""
    return all(
        any(
            (origin.client, origin.handle, origin.session, origin.stream)
            == (applied.client, applied.handle, applied.session, applied.stream)
            for origin in system.origins
        )
        for applied in system.applications
    )


def a_cursor_has_no_hole_before_it(system: System) -> bool:
    """Whatever lies at or before a client's cursor on its stream was applied (DEL-2, EVT-6, CLI-1)."""
    return all(
        _is_applied(system, event) or event.seq <= origin.position
        for index, client in enumerate(system.clients)
        for stream in client.streams
        if stream.cursor.presence is Presence.PRESENT
        for event in _events(system, stream.cursor.tag, stream.cursor.stream)
        if event.seq <= stream.cursor.seq
        for origin in _origins(system, event)
        if (origin.client, origin.handle) == (index, stream.handle)
    )


def each_event_is_applied_at_most_once(system: System) -> bool:
    """The first half of the end-to-end statement (DEL-1, CLI-2)."""
    applied = [(one.session, one.seq) for one in system.applications]
    return len(applied) == len(set(applied))


def what_is_not_applied_is_owed_or_told(system: System) -> bool:
    """The second half: no event is lost without a word. It was applied, or is still to come, or the application knows.

    The one exception: what was pushed before anyone ever listened is owed only as far as the window reached then.
    """
    return all(
        _is_applied(system, event)
        or event.seq <= origin.position
        or _is_owed(system, origin)
        or _is_told(system, origin)
        for event in system.history
        for origin in _origins(system, event)
    )


def an_answered_call_is_over(system: System) -> bool:
    """A stream whose response was applied is neither followed any longer nor reported as lost (CLI-10)."""
    return not any(
        find_by_handle(system.clients[applied.client], applied.handle)
        or Told(News.OUTCOME_UNKNOWN, applied.handle) in system.clients[applied.client].told
        for applied in system.applications
        for event in system.history
        if event.final and _names(applied, event)
    )


def a_call_reaches_the_server_at_most_once(system: System) -> bool:
    """A client sends a call once, whatever becomes of it (CLI-12)."""
    opened = [(origin.client, origin.handle) for origin in system.origins]
    return len(opened) == len(set(opened))


def attempts_are_bounded(system: System) -> bool:
    """No stream is resumed more often without progress than its client allows (CLI-11)."""
    return all(stream.attempts <= client.attempts_limit for client in system.clients for stream in client.streams)


SystemInvariant = Callable[[System], bool]

SYSTEM: tuple[SystemInvariant, ...] = (
    every_session_is_sound,
    resumption_is_granted_iff_lossless,
    seqs_name_one_event,
    events_are_applied_in_order,
    events_are_applied_where_they_belong,
    a_cursor_has_no_hole_before_it,
    each_event_is_applied_at_most_once,
    what_is_not_applied_is_owed_or_told,
    an_answered_call_is_over,
    a_call_reaches_the_server_at_most_once,
    attempts_are_bounded,
)


def nothing_is_owed(system: System) -> bool:
    """Once the system has come to rest, "still to come" is no excuse.

    At rest every request is delivered, everything is read, every stream is resumed or given up; a stream that the
    client still reads has then given it everything.
    """
    return all(
        _is_applied(system, event) or event.seq <= origin.position or _is_told(system, origin)
        for event in system.history
        for origin in _origins(system, event)
    )


def what_is_followed_can_still_come(system: System) -> bool:
    """At rest a client waits only on the view of an unfinished stream: what is emitted next will reach it (DEL-8)."""
    return all(
        client.session in system.server.sessions
        and not find_viewed(system.server.sessions[client.session], stream.connection).finished
        for client in system.clients
        for stream in client.streams
    )


AT_REST: tuple[SystemInvariant, ...] = (nothing_is_owed, what_is_followed_can_still_come)


def _events(system: System, session: str, stream: int) -> tuple[Emission, ...]:
    return tuple(event for event in system.history if (event.session, event.stream) == (session, stream))


def _origins(system: System, event: Emission) -> tuple[Origin, ...]:
    return tuple(
        origin for origin in system.origins if (origin.session, origin.stream) == (event.session, event.stream)
    )


def _is_applied(system: System, event: Emission) -> bool:
    return any(_names(applied, event) for applied in system.applications)


def _names(applied: Application, event: Emission) -> bool:
    return (applied.session, applied.stream, applied.seq) == (event.session, event.stream, event.seq)


def _is_owed(system: System, origin: Origin) -> bool:
    """The client still follows the stream: it knows that it is not complete."""
    return len(find_by_handle(system.clients[origin.client], origin.handle)) > 0


def _is_told(system: System, origin: Origin) -> bool:
    client: Client = system.clients[origin.client]
    return Told(News.OUTCOME_UNKNOWN, origin.handle) in client.told or Told(News.GAP, origin.handle) in client.told
