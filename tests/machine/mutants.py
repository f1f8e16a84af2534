"""Mutants of the machine, one fault each, and the invariants that must refute it.

A mutant is a function of the machine replaced by another, which is given the original. The explorer then has to find a
shortest trace after which the named invariant is false, and its length stands in the table: a longer one says that the
explorer is not breadth first any more, a shorter one that the invariant has come to say something else. Many mutants
break more than one invariant; named are those that speak of the fault. Where a second rule of the machine would catch
it (the client's check of the stated position, the overtaken check of the next write), the mutant is made so that this
rule does not help, or the invariant speaks of the first rule itself. What a server skips or repeats, the network of the
model cannot carry (in flight is an interval of seqs); such faults are the session's invariants' to find.
"""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

from reattach.machine import client as clients
from reattach.machine import decision, server, system, transition
from reattach.machine import session as session_state
from reattach.machine.client import Client, ClientStream, Phase, Received
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Decision, Fresh, Reason, Reattach, Refuse
from reattach.machine.network import Exchange, Item, Request, Verb
from reattach.machine.policy import Policy
from reattach.machine.server import Server, ServerStep
from reattach.machine.session import (
    NO_VIEW,
    Greeting,
    Session,
    Stream,
    StreamKind,
    find_stream,
    find_viewed,
    is_viewed,
    with_stream,
)
from reattach.machine.system import System
from reattach.machine.transition import (
    Cause,
    Emitted,
    Ending,
    Input,
    NoView,
    Opened,
    Step,
    Wait,
    WriteEnd,
    WriteEvent,
    WriteGreeting,
    WriteOvertaken,
)
from reattach.machine.window import Window

Function = Callable[..., Any]


@frozen
class Refutation:
    """In this scene the named invariant is broken, by so many steps and no fewer."""

    scene: str
    invariant: str
    length: int


by = Refutation


@frozen
class Patch:
    """One function replaced where its module, or everyone, knows it."""

    module: Any
    name: str
    instead: Function
    everywhere: bool

    def apply(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the mutant in the original's place."""
        original = getattr(self.module, self.name)

        def mutated(*arguments: Any) -> Any:
            return self.instead(original, *arguments)

        for module in [*sys.modules.values()] if self.everywhere else [self.module]:
            if getattr(module, self.name, None) is original and _is_ours(module):
                monkeypatch.setattr(module, self.name, mutated)


def _is_ours(module: Any) -> bool:
    name = getattr(module, "__module__", None) or module.__name__
    return bool(name.startswith(("reattach.machine", "reattach_proofs.spaces")))


@frozen
class Mutant:
    """One fault."""

    name: str
    clause: str
    patches: tuple[Patch, ...]
    refutations: tuple[Refutation, ...]


MUTANTS: dict[str, Mutant] = {}


def mutant(
    clause: str,
    module: Any,
    name: str,
    *refutations: Refutation,
    everywhere: bool = False,
    also: tuple[Patch, ...] = (),
) -> Callable[[Function], Function]:
    """Register the function below as what stands in for ``name`` of ``module``, in that module or everywhere."""

    def register(function: Function) -> Function:
        named = function.__name__.replace("_", "-")
        MUTANTS[named] = Mutant(named, clause, (Patch(module, name, function, everywhere), *also), refutations)
        return function

    return register


# The decision


def known(session: Session, cursor: Cursor) -> bool:
    """Whether the cursor names a stream of this session."""
    return cursor.tag == session.tag and find_stream(session, cursor.stream).number != 0


def is_refused(decided: Decision, reason: Reason) -> bool:
    """Whether the decision is a refusal for this reason."""
    return isinstance(decided, Refuse) and decided.reason is reason


GRANTED = "a_cursor_is_granted_iff_lossless"


@mutant("CUR-7", decision, "decide_cursor", by("session", GRANTED, 3), everywhere=True)
def grant_below_the_mark(original: Callable[..., Decision], session: Session, cursor: Cursor) -> Decision:
    decided: Decision = original(session, cursor)
    born = known(session, cursor) and find_stream(session, cursor.stream).first <= cursor.seq
    too_old = is_refused(decided, Reason.CURSOR_OUT_OF_WINDOW) and born
    return Reattach(cursor.stream, cursor.seq) if too_old else decided


@mutant(
    "CUR-5",
    decision,
    "decide_cursor",
    by("session", GRANTED, 0),
    by("session", "a_stream_lies_within_its_session", 1),
    everywhere=True,
)
def grant_ahead(original: Callable[..., Decision], session: Session, cursor: Cursor) -> Decision:
    decided: Decision = original(session, cursor)
    return Reattach(cursor.stream, cursor.seq) if is_refused(decided, Reason.CURSOR_AHEAD) else decided


@mutant(
    "CUR-3",
    decision,
    "decide_cursor",
    by("session", GRANTED, 0),
    by("system", "resumption_is_granted_iff_lossless", 0),
    everywhere=True,
)
def grant_foreign(original: Callable[..., Decision], session: Session, cursor: Cursor) -> Decision:
    decided: Decision = original(session, cursor)
    foreign = is_refused(decided, Reason.CURSOR_FOREIGN)
    return original(session, evolve(cursor, tag=session.tag)) if foreign else decided


@mutant("CUR-6", decision, "decide_cursor", by("session", GRANTED, 2), everywhere=True)
def round_down(original: Callable[..., Decision], session: Session, cursor: Cursor) -> Decision:
    decided: Decision = original(session, cursor)
    if not is_refused(decided, Reason.CURSOR_MISMATCH):
        return decided
    return Reattach(cursor.stream, max(entry.prev for entry in session.window.held if entry.prev < cursor.seq))


@mutant("CUR-4", decision, "decide_cursor", by("session", GRANTED, 3), everywhere=True)
def replay_from_the_start(original: Callable[..., Decision], session: Session, cursor: Cursor) -> Decision:
    decided: Decision = original(session, cursor)
    stream = find_stream(session, cursor.stream)
    too_old = is_refused(decided, Reason.CURSOR_OUT_OF_WINDOW) and known(session, cursor)
    return Reattach(stream.number, stream.first) if too_old and cursor.seq >= stream.first else decided


@mutant("CUR-4", decision, "decide_cursor", by("session", GRANTED, 2), everywhere=True)
def bad_cursor_is_fresh(original: Callable[..., Decision], session: Session, cursor: Cursor) -> Decision:
    decided: Decision = original(session, cursor)
    too_old = is_refused(decided, Reason.CURSOR_OUT_OF_WINDOW) and known(session, cursor)
    return Fresh() if too_old and cursor.seq > 1 else decided


@mutant("CUR-8", decision, "decide_cursor", by("session", GRANTED, 0), everywhere=True)
def refuse_the_caught_up(original: Callable[..., Decision], session: Session, cursor: Cursor) -> Decision:
    """As the seed's listing does: with nothing held, nothing is granted."""
    if session.window.held == () and known(session, cursor):
        return Refuse(Reason.CURSOR_OUT_OF_WINDOW)
    return original(session, cursor)


@mutant(
    "CUR-8",
    session_state,
    "mark_of",
    by("session", GRANTED, 1),
    by("session", "each_event_follows_its_predecessor", 1),
    everywhere=True,
)
def mark_off_by_one(original: Callable[..., int], session: Session, stream: Stream) -> int:
    return session.window.successor(stream.number, 0).seq or stream.last


# Attachment


@mutant("DEL-1", transition, "_attached", by("session", "a_view_starts_where_it_should", 2))
def inclusive_cursor(
    original: Callable[..., Step], session: Session, stream: Stream, connection: int, position: int, greeting: Greeting
) -> Step:
    before = [entry.prev for entry in session.window.held if entry.seq == position]
    return original(session, stream, connection, before[0] if before else position, greeting)


@mutant(
    "DEL-8",
    transition,
    "_attached",
    by("session", "a_view_starts_where_it_should", 2),
    by("rest", "what_is_followed_can_still_come", 7),
    by("rest", "nothing_is_owed", 8),
)
def no_takeover(
    original: Callable[..., Step], session: Session, stream: Stream, connection: int, position: int, greeting: Greeting
) -> Step:
    """The old view stays, and the new one is deaf."""
    if is_viewed(stream):
        return Step(session, Opened(stream.number, position))
    return original(session, stream, connection, position, greeting)


@mutant("DEL-10", transition, "_attached", by("session", "a_stream_has_at_most_one_view", 2))
def two_views(
    original: Callable[..., Step], session: Session, stream: Stream, connection: int, position: int, greeting: Greeting
) -> Step:
    attached: Step = original(session, stream, connection, position, greeting)
    if not is_viewed(stream):
        return attached
    return evolve(attached, session=evolve(attached.session, streams=(*attached.session.streams, stream)), endings=())


@mutant("ATT-2", transition, "_attached", by("session", "a_view_ends_only_for_a_reason", 2))
def takeover_in_silence(
    original: Callable[..., Step], session: Session, stream: Stream, connection: int, position: int, greeting: Greeting
) -> Step:
    return evolve(original(session, stream, connection, position, greeting), endings=())


@mutant("ATT-2", transition, "_attached", by("session", "what_is_ended_has_no_view", 1))
def takeover_of_the_new(
    original: Callable[..., Step], session: Session, stream: Stream, connection: int, position: int, greeting: Greeting
) -> Step:
    attached: Step = original(session, stream, connection, position, greeting)
    return evolve(attached, endings=(*attached.endings, Ending(connection, Cause.TAKEN_OVER, stream.number, position)))


@mutant(
    "EVT-2",
    transition,
    "_attached",
    by("session", "the_window_is_ordered", 2),
    by("system", "seqs_name_one_event", 8),
)
def seqs_restart(
    original: Callable[..., Step], session: Session, stream: Stream, connection: int, position: int, greeting: Greeting
) -> Step:
    """At a reconnect, numbering goes on from the cursor."""
    attached: Step = original(session, stream, connection, position, greeting)
    if greeting is not Greeting.POSITION:
        return attached
    return evolve(attached, session=evolve(attached.session, window=evolve(attached.session.window, next=position + 1)))


@mutant("CUR-1", transition, "_listen", by("session", "a_view_starts_where_it_should", 2))
def listener_takes_over(original: Callable[..., Step], policy: Policy, current: Session, connection: int) -> Step:
    stream = find_stream(current, current.standalone)
    return transition._attached(current, stream, connection, session_state.mark_of(current, stream), Greeting.PRIMING)


@mutant("DEL-4", transition, "_listen", by("session", "there_is_one_standalone_stream_to_push_to", 2))
def listener_beside_the_last(original: Callable[..., Step], policy: Policy, session: Session, connection: int) -> Step:
    listened: Step = original(policy, session, connection)
    before = evolve(find_stream(listened.session, session.standalone), finished=False)
    return evolve(listened, session=with_stream(listened.session, before))


# Emission


@mutant("DEL-4", transition, "_emit", by("session", "an_event_is_added_to_one_stream", 2))
def broadcast(
    original: Callable[..., Step], policy: Policy, session: Session, number: int, size: int, message: object
) -> Step:
    step: Step = original(policy, session, number, size, message)
    for stream in session.streams:
        if isinstance(step.result, Emitted) and stream.number != step.result.stream and not stream.finished:
            return evolve(original(policy, step.session, stream.number, size, message), result=step.result)
    return step


@mutant("WIN-6", transition, "_emit", by("session", "a_reader_is_not_overtaken_by_its_own_stream", 4))
def wait_ignored(
    original: Callable[..., Step], policy: Policy, session: Session, number: int, size: int, message: object
) -> Step:
    stream = find_stream(session, session.standalone if number == 0 else number)
    if not is_viewed(stream):
        return original(policy, session, number, size, message)
    blind = with_stream(session, evolve(stream, view=NO_VIEW))
    step: Step = original(policy, blind, number, size, message)
    seen = evolve(find_stream(step.session, stream.number), view=stream.view)
    return evolve(step, session=with_stream(step.session, seen))


@mutant("IDL-6", transition, "_emit", by("session", "only_an_own_reader_makes_an_emission_wait", 4))
def head_of_line_blocking(
    original: Callable[..., Step], policy: Policy, session: Session, number: int, size: int, message: object
) -> Step:
    full = len(session.window.held) >= policy.window_events
    behind = any(is_viewed(stream) and stream.view.position < stream.last for stream in session.streams)
    return Step(session, Wait()) if full and behind else original(policy, session, number, size, message)


@mutant("WIN-5", Window, "trimmed", by("session", "only_what_must_leaves_the_window", 3))
def evict_one_too_many(original: Callable[..., Window], window: Window, low: int) -> Window:
    kept: Window = original(window, low)
    if kept.low == window.low or kept.held == ():
        return kept
    return original(kept, kept.held[1].seq if len(kept.held) > 1 else kept.next)


@mutant(
    "WIN-5",
    Window,
    "trimmed",
    by("session", "only_what_must_leaves_the_window", 3),
    by("session", "each_event_follows_its_predecessor", 3),
)
def evict_the_newest(original: Callable[..., Window], window: Window, low: int) -> Window:
    gone = sum(entry.seq < low for entry in window.held)
    return evolve(window, held=window.held[: len(window.held) - gone]) if gone else window


@mutant("WIN-5", Window, "trimmed", by("session", "low_is_the_oldest_held_event", 3))
def low_stays(original: Callable[..., Window], window: Window, low: int) -> Window:
    return evolve(original(window, low), low=window.low)


@mutant("DEL-6", Window, "appended", by("session", "the_window_is_ordered", 2))
def newest_first(
    original: Callable[..., Window], window: Window, stream: int, prev: int, at: int, size: int, message: object
) -> Window:
    grown: Window = original(window, stream, prev, at, size, message)
    return evolve(grown, held=(grown.held[-1], *grown.held[:-1]))


@mutant("WIN-1", Window, "first_counted", by("session", "the_window_is_bounded", 3))
def one_event_over_n(original: Callable[..., int], window: Window, count: int) -> int:
    return int(original(window, count - 1))


@mutant("WIN-1", Window, "first_starting", by("bytes", "the_window_is_bounded", 2))
def bytes_ignored(original: Callable[..., int], window: Window, start: int) -> int:
    return window.low


@mutant("WIN-2", Window, "first_since", by("timed", "the_window_is_bounded", 5))
def age_ignored(original: Callable[..., int], window: Window, at: int) -> int:
    return window.low


# Writes


@mutant("IDL-3", transition, "_write", by("session", "what_is_written_comes_next", 7))
def skip_instead_of_overtaken(original: Callable[..., Step], policy: Policy, session: Session, connection: int) -> Step:
    step: Step = original(policy, session, connection)
    stream = find_viewed(session, connection)
    owed = session.window.successor(stream.number, stream.view.position)
    if not isinstance(step.result, WriteOvertaken) or owed.seq == 0:
        return step
    moved = transition._written(session, stream, evolve(stream.view, position=owed.seq))
    return Step(moved, WriteEvent(stream.number, owed.seq, owed.message))


@mutant("DEL-9", transition, "_write", by("session", "what_is_written_comes_next", 4))
def end_before_all_is_written(original: Callable[..., Step], policy: Policy, session: Session, connection: int) -> Step:
    stream = find_viewed(session, connection)
    if stream.number and stream.finished and not stream.view.outstanding:
        return Step(transition._without_view(session, stream), WriteEnd())
    return original(policy, session, connection)


@mutant("EVT-6", transition, "_write", by("system", "a_cursor_has_no_hole_before_it", 5))
def priming_at_the_newest(original: Callable[..., Step], policy: Policy, session: Session, connection: int) -> Step:
    step: Step = original(policy, session, connection)
    match step.result:
        case WriteGreeting(Greeting.PRIMING, number, _):
            return evolve(step, result=WriteGreeting(Greeting.PRIMING, number, find_stream(session, number).last))
        case _:
            return step


def attached_inclusively(
    original: Callable[..., Step],
    session: Session,
    stream: Stream,
    connection: int,
    position: int,
    greeting: Greeting,
) -> Step:
    attached: Step = inclusive_cursor(original, session, stream, connection, position, greeting)
    return attached


@mutant(
    "CLI-2",
    transition,
    "_write",
    by("system", "each_event_is_applied_at_most_once", 13),
    by("system", "events_are_applied_in_order", 13),
    also=(Patch(transition, "_attached", attached_inclusively, everywhere=False),),
)
def inclusive_but_stating_the_cursor(
    original: Callable[..., Step], policy: Policy, session: Session, connection: int
) -> Step:
    """The client sees the position that it expects, and then the event at it once more."""
    step = original(policy, session, connection)
    match step.result:
        case WriteGreeting(Greeting.POSITION, number, position):
            stated = session.window.successor(number, position).seq or position
            return evolve(step, result=WriteGreeting(Greeting.POSITION, number, stated))
        case _:
            return step


# Ends


@mutant("ATT-4", transition, "_disconnect", by("session", "a_stream_is_finished_only_when_told", 3))
def disconnect_cancels(original: Callable[..., Step], session: Session, stream: Stream) -> Step:
    step: Step = original(session, stream)
    if isinstance(step.result, NoView) or stream.kind is StreamKind.STANDALONE:
        return step
    finished = evolve(find_stream(step.session, stream.number), finished=True)
    return evolve(step, session=with_stream(step.session, finished))


@mutant("CUR-10", transition, "_resume", by("session", "what_is_refused_changes_nothing", 2))
def refusal_ends_the_views(
    original: Callable[..., Step], policy: Policy, session: Session, connection: int, cursor: Cursor
) -> Step:
    step: Step = original(policy, session, connection, cursor)
    if not isinstance(step.result, Refuse):
        return step
    alone = tuple(evolve(stream, view=NO_VIEW) for stream in step.session.streams)
    return evolve(step, session=evolve(step.session, streams=alone))


@mutant("WIN-3", transition, "_without_forgotten", by("session", "a_stream_is_forgotten_only_when_it_is_over", 2))
def forgotten_when_finished(original: Callable[..., Session], session: Session) -> Session:
    return evolve(session, streams=tuple(stream for stream in session.streams if not stream.finished))


@mutant(
    "WIN-3",
    transition,
    "_without_forgotten",
    by("session", "finished_streams_are_forgotten", 3),
    by("session", "records_are_bounded", 3),
)
def never_forgotten(original: Callable[..., Session], session: Session) -> Session:
    return session


@mutant("WIN-3", transition, "count_open", by("streams", "records_are_bounded", 2))
def streams_unlimited(original: Callable[..., int], session: Session) -> int:
    return 0


@mutant("WIN-4", transition, "_terminated", by("session", "a_terminated_session_holds_nothing", 2))
def held_after_termination(original: Callable[..., Session], session: Session) -> Session:
    return evolve(session, alive=False, streams=())


@mutant("SES-4", transition, "_endings_of", by("session", "a_view_ends_only_for_a_reason", 2))
def termination_leaves_connections(original: Callable[..., tuple[Ending, ...]], session: Session) -> tuple[Ending, ...]:
    return ()


@mutant("SES-4", transition, "step", by("session", "the_dead_stay_dead", 2), everywhere=True)
def the_dead_rise(original: Callable[..., Step], policy: Policy, session: Session, now: int, given: Input) -> Step:
    return original(policy, evolve(session, alive=True), now, given)


# Budgets


@mutant("IDL-1", transition, "advance", by("timed", "time_never_goes_back", 1))
def time_stands_still(original: Callable[..., Step], policy: Policy, session: Session, now: int) -> Step:
    advanced: Step = original(policy, session, now)
    return evolve(advanced, session=evolve(advanced.session, now=session.now))


@mutant("IDL-1", transition, "_end_stalled", by("timed", "no_view_outlives_its_stall_budget", 3))
def stall_ignored(
    original: Callable[..., tuple[Session, tuple[Ending, ...]]], policy: Policy, session: Session
) -> tuple[Session, tuple[Ending, ...]]:
    return session, ()


@mutant("IDL-1", transition, "stall_deadline", by("timed", "a_view_ends_only_for_a_reason", 2))
def stall_a_millisecond_early(original: Callable[..., int], policy: Policy, stream: Stream) -> int:
    return int(original(policy, stream)) - 1


@mutant("IDL-1", transition, "is_behind", by("timed", "a_view_ends_only_for_a_reason", 7))
def stall_though_caught_up(original: Callable[..., bool], stream: Stream) -> bool:
    return is_viewed(stream)


@mutant("IDL-4", transition, "is_occupied", by("timed", "no_session_outlives_its_absence_budget", 2))
def absence_ignored(original: Callable[..., bool], session: Session) -> bool:
    return True


@mutant("IDL-4", transition, "is_occupied", by("timed", "a_session_ends_only_for_a_reason", 5))
def absence_ignores_views(original: Callable[..., bool], session: Session) -> bool:
    unfinished = any(stream.kind is StreamKind.REQUEST and not stream.finished for stream in session.streams)
    return session.requests > 0 or unfinished


@mutant("IDL-4", transition, "is_occupied", by("timed", "a_session_ends_only_for_a_reason", 6))
def absence_ignores_calls(original: Callable[..., bool], session: Session) -> bool:
    return session.requests > 0 or any(is_viewed(stream) for stream in session.streams)


@mutant("IDL-4", transition, "is_occupied", by("timed", "a_session_ends_only_for_a_reason", 4))
def absence_ignores_requests(original: Callable[..., bool], session: Session) -> bool:
    return bool(original(evolve(session, requests=0)))


# The server


def reopened(current: Server, now: int, name: str) -> Server:
    """With a session of this name, whether or not there was one."""
    if name in current.sessions:
        return current
    return evolve(current, sessions={**current.sessions, name: transition.open_session(name, "", now)})


def located_anyway(
    original: Callable[..., Refuse | Session], current: Server, now: int, name: str, principal: str
) -> Refuse | Session:
    return original(reopened(current, now, name), now, name, principal)


@mutant(
    "SES-4",
    server,
    "take",
    by("endings", "a_terminated_session_never_comes_back", 3),
    also=(Patch(server, "locate", located_anyway, everywhere=False),),
)
def session_resurrected(
    original: Callable[..., ServerStep], current: Server, now: int, name: str, given: Input
) -> ServerStep:
    return original(reopened(current, now, name), now, name, given)


@mutant("SES-4", server, "take", by("endings", "every_session_is_sound", 1))
def tombstone(original: Callable[..., ServerStep], current: Server, now: int, name: str, given: Input) -> ServerStep:
    taken: ServerStep = original(current, now, name, given)
    if name not in current.sessions or name in taken.server.sessions:
        return taken
    dead = evolve(current.sessions[name], alive=False, streams=(), window=Window())
    return evolve(taken, server=evolve(taken.server, sessions={**taken.server.sessions, name: dead}))


@mutant("WIN-3", server, "initialize", by("clients", "every_session_is_sound", 4))
def sessions_unlimited(
    original: Callable[..., ServerStep], current: Server, now: int, name: str, tag: str, principal: str
) -> ServerStep:
    return ServerStep(reopened(current, now, name))


# The client


@mutant("CLI-1", clients, "_apply", by("system", "a_cursor_has_no_hole_before_it", 7))
def advanced_without_applying(
    original: Callable[..., Received], client: Client, stream: ClientStream, cursor: Cursor, final: bool
) -> Received:
    received: Received = original(client, stream, cursor, final)
    return received if final else Received(received.client)


@mutant("CLI-10", clients, "_apply", by("system", "an_answered_call_is_over", 7))
def answered_call_resumed(
    original: Callable[..., Received], client: Client, stream: ClientStream, cursor: Cursor, final: bool
) -> Received:
    return original(client, stream, cursor, False)


@mutant("CLI-10", clients, "resume", by("calls", "events_are_applied_where_they_belong", 7))
def one_cursor_for_all_streams(
    original: Callable[..., tuple[Client, Request]], client: Client, stream: ClientStream, connection: int
) -> tuple[Client, Request]:
    borrowed = evolve(stream, cursor=client.streams[0].cursor)
    return original(clients._with(client, borrowed), borrowed, connection)


def kept_without_cursor(original: Callable[..., Client], client: Client, stream: ClientStream, now: int) -> Client:
    return clients._with(client, evolve(stream, connection=0))


def resumed_in_any_case(original: Callable[..., bool], client: Client, stream: ClientStream) -> bool:
    return True


@mutant(
    "CLI-12",
    clients,
    "resume",
    by("system", "a_call_reaches_the_server_at_most_once", 4),
    also=(
        Patch(clients, "_detached", kept_without_cursor, everywhere=False),
        Patch(clients, "may_resume", resumed_in_any_case, everywhere=False),
    ),
)
def call_resent(
    original: Callable[..., tuple[Client, Request]], client: Client, stream: ClientStream, connection: int
) -> tuple[Client, Request]:
    again, request = original(client, stream, connection)
    return again, evolve(request, verb=Verb.CALL) if stream.cursor.presence is Presence.ABSENT else request


@mutant("CLI-11", clients, "may_resume", by("attempts", "attempts_are_bounded", 6))
def attempts_unbounded(original: Callable[..., bool], client: Client, stream: ClientStream) -> bool:
    return stream.cursor.presence is Presence.PRESENT


@mutant("CLI-9", clients, "give_up", by("system", "what_is_not_applied_is_owed_or_told", 5))
def given_up_in_silence(original: Callable[..., Client], client: Client, stream: ClientStream) -> Client:
    return clients._over(client, stream)


@mutant(
    "CLI-9",
    clients,
    "_lose_session",
    by("endings", "what_is_not_applied_is_owed_or_told", 4),
    by("endings", "a_lost_session_is_told", 1),
)
def session_lost_in_silence(original: Callable[..., Client], client: Client) -> Client:
    return evolve(client, phase=Phase.MUST_INITIALIZE, session="", initializing=0, streams=())


def nothing_is_tidied(original: Callable[..., System], current: System) -> System:
    return current


@mutant(
    "CLI-6",
    system,
    "_received",
    by("frames", "each_event_is_applied_at_most_once", 11),
    also=(Patch(system, "_tidied", nothing_is_tidied, everywhere=False),),
)
def old_frames_applied(original: Callable[..., System], current: System, exchange: Exchange, item: Item) -> System:
    """The client reads whatever belongs to a stream that it follows, on whichever connection it comes."""
    client = current.clients[exchange.client]
    for stream in clients.find_by_handle(client, exchange.request.handle):
        listening = clients._with(client, evolve(stream, connection=exchange.connection))
        after: System = original(system._with_client(current, exchange.client, listening), exchange, item)
        told = after.clients[exchange.client]
        back = tuple(
            evolve(one, connection=stream.connection)
            if one.handle == stream.handle and stream.connection != exchange.connection
            else one
            for one in told.streams
        )
        return system._with_client(after, exchange.client, evolve(told, streams=back))
    return original(current, exchange, item)
