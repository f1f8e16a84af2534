"""End to end: each event of a session is applied at most once, and if it is not applied, the application is told.

The statement is about server, network and client together, and it is inductive once one says what the three know of one
stream and how that agrees. ``agreement`` says it: a dozen predicates over the client's cursor, the interval in flight,
the position of the server's view, and one arbitrary event of the stream. Every action of ``machine.system.perform`` is
run on every shape of this knowledge: the client reads a connection or none; the request is still on its way, refused,
or answered; the connection is dead and one side, or both, or none knows; the server's view is on that connection, on an
older one, or gone; the stream is known or forgotten; an older resumption may still arrive after a newer one.

What is assumed of the environment stands in ``docs/proofs.md``: a connection keeps the order of what it carries and
drops nothing from the middle (``machine.network``), applying an event and advancing the cursor are one step (CLI-1),
tags are fresh, and an event gets its seq and its place in the window in one step.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache, partial

from attrs import evolve, frozen

from reattach.machine import inductive, network
from reattach.machine import system as wiring
from reattach.machine.client import Client, ClientStream, News, Phase, Told, find_by_handle
from reattach.machine.cursor import ABSENT, Cursor, Presence
from reattach.machine.decision import Reason
from reattach.machine.network import Aborted, Ended, Exchange, Item, Nothing, Request, ResumptionRequired, Verb
from reattach.machine.server import Server
from reattach.machine.session import Greeting, Session, Stream, StreamKind, View, find_stream, is_viewed
from reattach.machine.system import Action, Emission, Origin, System, perform
from reattach.machine.window import Entry
from reattach_proofs import conduct, shapes
from reattach_proofs.conduct import CONDUCT
from reattach_proofs.executor import merged
from reattach_proofs.history import OWNER, History
from reattach_proofs.invariant import ANY, ANY_OTHER, arbitrary
from reattach_proofs.obligations import Obligation, Outcome, Stated, stated
from reattach_proofs.promises import Theorem
from reattach_proofs.shapes import OTHER, SUBJECT, Attachment, Shape, StreamShape
from reattach_proofs.symbolic import current, executing, integer, term_of, truth_of, truth_value
from reattach_proofs.terms import Function, Sort, Term, disjunction, implication, number, substitute

END_TO_END = Theorem(
    "end-to-end",
    ("CLI-1", "CLI-2", "CLI-6", "CLI-9", "CLI-10", "DEL-1", "DEL-2", "DEL-4"),
    "Each event of a session is applied at most once, and if it is not applied it is still to come or the application "
    "is told.",
)

NAME, HANDLE = "S1", 1
CURRENT, OLDER, LATE, BYSTANDER, LISTENING = 21, 20, 19, 30, 31
"""Connections: the one the client reads, one that only the server may believe in, a resumption still on its way; one
of another client in another session, and a plain GET on its way."""

FINAL = Function("final", Sort.TRUTH)
"""Ghost: whether an event is the response to its stream's request."""


# What the three know


@frozen
class Knowledge:
    """The system, and one arbitrary event of the subject stream with what became of it."""

    system: System
    any: Entry
    other: Entry
    """Another event, for what is said of two."""
    emitted: bool
    """Whether ``any`` is an event of the session so far."""
    other_emitted: bool
    applied: bool
    """Whether the client has applied it."""
    final: Callable[[int], bool]
    """Whether an event is the response to its stream's request."""


Named = tuple[str, Callable[[], bool]]


def agreement(known: Knowledge) -> Iterator[Named]:
    """What client, network and server know of the subject stream, and how it agrees."""
    for predicate in (
        a_cursor_is_of_its_stream,
        what_was_applied_lies_before_the_cursor,
        what_is_over_is_complete_or_told,
        a_request_on_its_way_carries_an_old_enough_cursor,
        what_is_in_flight_follows_the_cursor,
        a_greeting_states_the_cursor,
        a_stream_without_a_cursor_has_not_begun,
        a_clean_end_follows_everything,
        the_view_stands_where_the_flight_ends,
        a_dead_connection_carries_nothing,
        a_response_is_the_last_event,
        a_client_follows_streams_of_its_session,
    ):
        yield predicate.__name__, partial(predicate, known)


def a_cursor_is_of_its_stream(known: Knowledge) -> bool:
    """It names the stream, and its seq is one of the stream's own, not beyond the last."""
    for stream in _followed(known):
        for cursor in _present(stream.cursor):
            if not (_has_origin(known) and _is_position(known, cursor)):
                return False
    return True


def what_was_applied_lies_before_the_cursor(known: Knowledge) -> bool:
    """Of the events owed, those at or before the cursor were applied and no other (DEL-2, CLI-1)."""
    for stream in _followed(known):
        before = stream.cursor.presence is Presence.PRESENT and known.any.seq <= stream.cursor.seq
        if known.applied:
            if not (_is_owed(known) and before):
                return False
        elif _is_owed(known) and before:
            return False
    return True


def what_is_over_is_complete_or_told(known: Knowledge) -> bool:
    """A stream that the client no longer follows has given all its events, for good, or the application knows."""
    if not _has_origin(known) or len(_followed(known)) > 0 or _is_told(known):
        return True
    return _server_stream(known).finished and (not _is_owed(known) or known.applied)


def a_request_on_its_way_carries_an_old_enough_cursor(known: Knowledge) -> bool:
    """The newest resumption carries the cursor itself; one before it an older one of the same stream."""
    for exchange in known.system.exchanges:
        request = exchange.request
        if exchange.delivered or request.handle != HANDLE or exchange.client != 0:
            continue
        if request.verb is Verb.RESUME:
            if not (_has_origin(known) and request.session == NAME and _is_position(known, request.cursor)):
                return False
            for stream in _followed(known):
                if stream.cursor.presence is Presence.ABSENT or not request.cursor.seq <= stream.cursor.seq:
                    return False
                if stream.connection == exchange.connection and not stream.cursor.seq <= request.cursor.seq:
                    return False
        elif request.session != NAME or _has_origin(known):
            return False
    return True


def what_is_in_flight_follows_the_cursor(known: Knowledge) -> bool:
    """On the connection it reads, the client has taken exactly what its cursor says, and the rest is of its stream."""
    for stream, exchange in _attached(known):
        origin = _origin(known)
        if exchange.session != origin.session or exchange.stream != origin.stream:
            return False
        starts = stream.cursor.seq if stream.cursor.presence is Presence.PRESENT else origin.position
        if not (exchange.taken == starts and exchange.taken <= exchange.sent and _is_seq(known, exchange.sent)):
            return False
    return True


def a_greeting_states_the_cursor(known: Knowledge) -> bool:
    """Priming gives the first cursor, a stated position repeats it, and both come before the first event."""
    for stream, exchange in _attached(known):
        match exchange.greeting:
            case network.Primed(cursor):
                if stream.cursor.presence is Presence.PRESENT:
                    return False
                if not (_is_position(known, cursor) and cursor.seq == _origin(known).position):
                    return False
            case network.Positioned(cursor):
                if stream.cursor.presence is Presence.ABSENT or cursor != stream.cursor:
                    return False
            case _:
                pass
    return True


def a_stream_without_a_cursor_has_not_begun(known: Knowledge) -> bool:
    """Until the priming is read, nothing else is; until it is written, nothing else is."""
    for stream, exchange in _attached(known):
        if stream.cursor.presence is Presence.ABSENT and exchange.greeting == Nothing():
            view = _server_stream(known).view
            unwritten = view.connection == exchange.connection and view.greeting is Greeting.PRIMING
            nothing_owed = unwritten or exchange.trailer != Ended() or not _is_owed(known)
            if not (exchange.taken == exchange.sent and nothing_owed):
                return False
            if exchange.reachable and view.connection == exchange.connection and not unwritten:
                return False
    return True


def a_clean_end_follows_everything(known: Knowledge) -> bool:
    """A body that ended as HTTP says has carried all the events of its stream, and there will be no more (DEL-9)."""
    for _, exchange in _attached(known):
        if exchange.trailer == Ended():
            if not _server_stream(known).finished:
                return False
            if _is_owed(known) and not known.any.seq <= exchange.sent:
                return False
    return True


def the_view_stands_where_the_flight_ends(known: Knowledge) -> bool:
    """While the connection lives, what was written is what was sent; where the view is gone, the client will hear."""
    for _, exchange in _attached(known):
        if not exchange.reachable:
            continue
        view = _server_stream(known).view
        if view.connection == exchange.connection:
            if exchange.trailer != Nothing() or view.position != exchange.sent:
                return False
            if view.greeting is not Greeting.NOTHING and not (
                exchange.taken == exchange.sent and exchange.greeting == Nothing()
            ):
                return False
        elif exchange.trailer == Nothing():
            return False
    return True


def a_dead_connection_carries_nothing(known: Knowledge) -> bool:
    """A cut loses all that is in flight."""
    for exchange in known.system.exchanges:
        if not exchange.reachable:
            if exchange.header != Nothing() or exchange.greeting != Nothing() or exchange.trailer != Nothing():
                return False
            if exchange.taken != exchange.sent:
                return False
    return True


def a_response_is_the_last_event(known: Knowledge) -> bool:
    """After it the stream is finished, and no event of the stream comes after it (DEL-7)."""
    if not (known.any.stream == SUBJECT and known.emitted and known.final(known.any.seq)):
        return True
    another = known.other_emitted and known.other.stream == SUBJECT
    return _server_stream(known).finished and (not another or known.other.seq <= known.any.seq)


def a_client_follows_streams_of_its_session(known: Knowledge) -> bool:
    """It has streams only with a session, and reads a connection that the network knows, or none (CLI-3)."""
    client = known.system.clients[0]
    for stream in client.streams:
        if client.phase is not Phase.CONNECTED or client.session != NAME:
            return False
        if stream.connection == 0 and stream.cursor.presence is Presence.ABSENT:
            return False
        reading = [each for each in known.system.exchanges if each.connection == stream.connection]
        if stream.connection != 0 and len(reading) != 1:
            return False
        for exchange in reading:
            if exchange.request.handle != stream.handle or exchange.client != 0:
                return False
            answered = isinstance(exchange.header, network.Refused) or isinstance(exchange.trailer, Ended)
            if exchange.delivered and exchange.stream == 0 and exchange.reachable and not answered:
                return False
    return True


def _followed(known: Knowledge) -> tuple[ClientStream, ...]:
    return find_by_handle(known.system.clients[0], HANDLE)


def _present(cursor: Cursor) -> tuple[Cursor, ...]:
    return (cursor,) if cursor.presence is Presence.PRESENT else ()


def _attached(known: Knowledge) -> tuple[tuple[ClientStream, Exchange], ...]:
    """The stream, and the exchange it reads, if that is an event stream."""
    return tuple(
        (stream, exchange)
        for stream in _followed(known)
        for exchange in known.system.exchanges
        if exchange.connection == stream.connection and exchange.delivered and exchange.stream != 0
    )


def _has_origin(known: Knowledge) -> bool:
    return any(origin.client == 0 and origin.handle == HANDLE for origin in known.system.origins)


def _origin(known: Knowledge) -> Origin:
    return next(origin for origin in known.system.origins if origin.client == 0 and origin.handle == HANDLE)


def _server_stream(known: Knowledge) -> Stream:
    """The stream as the server knows it; if it is forgotten or the session is over, one that is finished."""
    from reattach.machine.session import NO_STREAM

    session = known.system.server.sessions.get(NAME)
    return NO_STREAM if session is None else find_stream(session, SUBJECT)


def _is_owed(known: Knowledge) -> bool:
    """Whether the event is one of the stream that the client is owed: after the position of its first view."""
    return (
        _has_origin(known) and known.any.stream == SUBJECT and known.emitted and known.any.seq > _origin(known).position
    )


def _is_told(known: Knowledge) -> bool:
    told = known.system.clients[0].told
    return Told(News.OUTCOME_UNKNOWN, HANDLE) in told or Told(News.GAP, HANDLE) in told


def _is_position(known: Knowledge, cursor: Cursor) -> bool:
    """Whether the cursor is a seq of the subject stream at or after its first view's position."""
    origin = _origin(known)
    return (
        cursor.presence is Presence.PRESENT
        and cursor.tag == origin.session
        and cursor.stream == origin.stream
        and origin.position <= cursor.seq
        and _is_seq(known, cursor.seq)
    )


def _is_seq(known: Knowledge, seq: int) -> bool:
    """Whether it is a seq of the stream: not beyond its last, nor between an event and its predecessor."""
    stream, any = _server_stream(known), known.any
    if stream.number != 0 and not (stream.first <= seq and seq <= stream.last):
        return False
    return not (any.stream == SUBJECT and known.emitted) or seq <= any.prev or any.seq <= seq


# What must hold after each action


def claims(before: Knowledge, after: Knowledge) -> Iterator[Named]:
    """The statement itself, and that the parts still agree."""
    yield "each event is applied at most once", partial(_is_applied_once, before, after)
    yield "what is applied is of the stream that was asked for", partial(_is_applied_where_it_belongs, after)
    yield "what is not applied is still to come or told", partial(_is_applied_owed_or_told, after)
    yield "other clients and their connections are left alone", partial(_leaves_bystanders, before, after)
    yield from agreement(after)


def _is_applied_once(before: Knowledge, after: Knowledge) -> bool:
    applied = [one for one in after.system.applications if one.handle == HANDLE and one.client == 0]
    return len(applied) <= 1 and not any(before.applied and one.seq == before.any.seq for one in applied)


def _is_applied_where_it_belongs(after: Knowledge) -> bool:
    return all(
        one.client == 0 and one.handle == HANDLE and one.session == NAME and one.stream == SUBJECT
        for one in after.system.applications
    )


def _is_applied_owed_or_told(after: Knowledge) -> bool:
    return not _is_owed(after) or after.applied or len(_followed(after)) > 0 or _is_told(after)


def _leaves_bystanders(before: Knowledge, after: Knowledge) -> bool:
    kept = [exchange for exchange in after.system.exchanges if exchange.connection == BYSTANDER]
    was = [exchange for exchange in before.system.exchanges if exchange.connection == BYSTANDER]
    return (
        len(kept) == len(was)
        and all(mine is its for mine, its in zip(kept, was, strict=True))
        and all(mine == its for mine, its in zip(after.system.clients[1:], before.system.clients[1:], strict=True))
    )


# Shapes


class Reading(Enum):
    """What the client's connection is for it, and for the network."""

    NOTHING = "reads nothing"
    ASKING = "has asked, its request on its way"
    ASKED_DEAD = "has asked, on a connection that is dead"
    PRIMING = "is about to read its priming"
    UNPRIMED = "reads a stream whose priming is not written"
    POSITIONED = "is about to read its stated position"
    EVENTS = "reads events"
    DEAD = "reads a dead connection"
    DEAD_UNPRIMED = "reads a dead connection and has no cursor"
    REFUSED = "is about to read a refusal"
    LOST = "is about to read that its session is unknown"
    CALLING = "has called, its request on its way"
    CALLING_DEAD = "has called, on a connection that is dead"
    OVER = "does not follow the stream any more"
    OVER_TOLD = "has given the stream up and said so"


class Viewing(Enum):
    """Where the server's view of the stream is."""

    NONE = "no view"
    CURRENT = "a view on that connection"
    OLDER = "a view on an older connection"
    FORGOTTEN = "no record"


@frozen
class SystemShape:
    """One shape of what the three know."""

    reading: Reading
    viewing: Viewing
    trailer: Item
    kind: StreamKind
    former: bool = False
    """Whether it is a standalone stream that another has followed, and so is finished."""
    late: bool = False
    """Whether an older resumption is still on its way."""

    def name(self) -> str:
        """A short name for the ledger."""
        client = self.reading.value + ("" if self.trailer == Nothing() else f", {type(self.trailer).__name__.lower()}")
        stream = f"former {self.kind.value}" if self.former else self.kind.value
        late = "; an older resumption is late" if self.late else ""
        return f"{stream}: client {client}; server has {self.viewing.value}{late}"


_CALLING = (Reading.CALLING, Reading.CALLING_DEAD)
_ATTACHED = (Reading.PRIMING, Reading.UNPRIMED, Reading.POSITIONED, Reading.EVENTS)
_WITH_CURSOR = (Reading.NOTHING, Reading.ASKING, Reading.ASKED_DEAD, Reading.POSITIONED, Reading.EVENTS, Reading.DEAD)


def system_shapes() -> Iterator[SystemShape]:
    """All that can be: where the connection lives and its view is there nothing has ended; else something has."""
    for kind in StreamKind:
        for reading in Reading:
            for viewing in Viewing:
                for trailer in (Nothing(), Ended(), ResumptionRequired(), Aborted()):
                    told = reading is Reading.EVENTS and viewing is Viewing.NONE
                    if trailer == ResumptionRequired() and not told:
                        continue  # the client and the agreement treat it as they treat a reset
                    lives, begun = reading in _ATTACHED, reading not in _CALLING
                    if lives != (viewing is Viewing.CURRENT or trailer != Nothing()):
                        continue  # a living event stream has a view on it, or an end under way
                    if viewing is Viewing.CURRENT and not (
                        (lives and trailer == Nothing()) or reading in (Reading.DEAD, Reading.DEAD_UNPRIMED)
                    ):
                        continue
                    if reading in _CALLING and viewing is not Viewing.FORGOTTEN:
                        continue  # the server has no such stream yet
                    if trailer != Nothing() and viewing is Viewing.CURRENT:
                        continue
                    ended = trailer == Ended() or reading is Reading.OVER
                    if kind is StreamKind.REQUEST or not ended:
                        yield SystemShape(reading, viewing, trailer, kind)
                    if kind is StreamKind.STANDALONE and (ended or viewing is not Viewing.FORGOTTEN) and begun:
                        yield SystemShape(reading, viewing, trailer, kind, former=True)
                    if reading in _WITH_CURSOR and kind is StreamKind.REQUEST and trailer != Ended():
                        yield SystemShape(reading, viewing, trailer, kind, late=True)


def actions(shape: SystemShape) -> Iterator[tuple[str, Callable[[], Action]]]:
    """Every action that can concern the stream."""
    if shape.late:
        yield "the late resumption arrives", partial(wiring.Deliver, LATE)
        yield "the client resumes", partial(wiring.Reconnect, 0, HANDLE)
        return
    if shape.viewing is not Viewing.OLDER:  # the client and the network do not see which older view the server has
        yield "the client resumes", partial(wiring.Reconnect, 0, HANDLE)
        yield "the client gives up", partial(wiring.GiveUp, 0, HANDLE)
        yield "the client leaves", partial(wiring.Leave, 0)
        yield "the client makes another call", partial(wiring.OpenStream, 0, StreamKind.REQUEST)
        if shape.reading not in (Reading.NOTHING, Reading.OVER, Reading.OVER_TOLD):
            yield "the client reads", partial(wiring.Read, CURRENT)
            yield "the client notices", partial(wiring.NoticeCut, CURRENT)
            yield "the connection breaks", partial(wiring.Cut, CURRENT)
    if shape.reading in (Reading.ASKING, Reading.ASKED_DEAD, Reading.CALLING, Reading.CALLING_DEAD):
        yield "the request arrives", partial(wiring.Deliver, CURRENT)
    if shape.reading in _CALLING:
        return
    yield "the server emits", partial(wiring.Emit, NAME, SUBJECT)
    yield "the server emits on another stream", partial(wiring.Emit, NAME, OTHER)
    if shape.kind is StreamKind.REQUEST:
        yield "the server responds", partial(wiring.Emit, NAME, SUBJECT, final=True)
        yield "the request is cancelled", partial(wiring.Cancel, NAME, SUBJECT)
    if shape.viewing in (Viewing.CURRENT, Viewing.OLDER):
        connection = CURRENT if shape.viewing is Viewing.CURRENT else OLDER
        yield "the server writes", partial(wiring.Write, NAME, connection)
        yield "the transport accepts", partial(wiring.Accept, NAME, connection)
        yield "the server notices", partial(wiring.Disconnect, NAME, connection)
    yield "the session is terminated", partial(wiring.Terminate, NAME)
    if shape.kind is StreamKind.STANDALONE:
        yield "another connection listens", partial(wiring.Deliver, LISTENING)


def obligations() -> Iterator[Obligation]:
    """Every action on every shape, and the passing of time."""
    for shape in system_shapes():
        for name, action in actions(shape):
            yield Obligation(f"{shape.name()} | {name}", partial(_run, shape, action))
        if not shape.late and shape.reading not in _CALLING:
            yield Obligation(f"{shape.name()} | time passes", partial(_run, shape, _passing))


def _passing() -> Action:
    return wiring.Pass(shapes.natural("ms"))


def _run(shape: SystemShape, action: Callable[[], Action]) -> Outcome:
    before, _ = _arbitrary(shape)
    done = action()
    after_system = perform(before.system, done)
    fresh = _finals_of(before.system, after_system)
    after = evolve(
        before,
        system=after_system,
        emitted=_truth(partial(_is_emitted, before.emitted, before.any, after_system)),
        other_emitted=_truth(partial(_is_emitted, before.other_emitted, before.other, after_system)),
        applied=_applied(before, after_system),
        final=partial(_is_final, fresh),
    )
    agreed = tuple(Stated(END_TO_END.name, name, merged(holds)) for name, holds in claims(before, after))
    behaved = stated(conduct.claims(before.system, done, after_system))
    sights = (*_sights(before, after), *stated(conduct.sights(before.system, done, after_system)))
    return Outcome((*agreed, *behaved), (after_system,), sights=sights)


WITNESSES = {
    END_TO_END.name: ("an event is applied", "the application is told of what it misses"),
    CONDUCT.name: conduct.SIGHTS,
}


def _sights(before: Knowledge, after: Knowledge) -> Iterator[Stated]:
    """The interesting cases, which must be possible (see ``witnesses``)."""
    applied = merged(lambda: after.applied and not before.applied)
    yield Stated(END_TO_END.name, "an event is applied", applied)
    lost = merged(lambda: _is_owed(after) and not after.applied and _is_told(after) and not _is_told(before))
    yield Stated(END_TO_END.name, "the application is told of what it misses", lost)


def _is_emitted(before: bool, entry: Entry, after: System) -> bool:
    """An event was emitted, or is now; a session that is over has no more of them."""
    session = after.server.sessions.get(NAME)
    return before if session is None else inductive.is_emitted(session, entry)


def _truth(question: Callable[[], bool]) -> bool:
    """The answer, asked once."""
    return truth_value(merged(question))


def _applied(before: Knowledge, after: System) -> bool:
    now = [one.seq == before.any.seq for one in after.applications]
    return truth_value(disjunction([truth_of(before.applied), *map(truth_of, now)]))


def _finals_of(before: System, after: System) -> tuple[Emission, ...]:
    """The events that this action emitted; what is final among them is known outright."""
    known = {id(event) for event in before.history}
    return tuple(event for event in after.history if id(event) not in known)


def _is_final(fresh: tuple[Emission, ...], seq: int) -> bool:
    for event in fresh:
        if event.seq == seq:
            return event.final
    return truth_value(FINAL(term_of(seq)))


def _session_shape(shape: SystemShape) -> Shape:
    pushes = StreamShape(OTHER, StreamKind.STANDALONE, Attachment.NONE, 11, current=True)
    if shape.viewing is Viewing.FORGOTTEN:
        return Shape((pushes,))  # what is not forgotten yet, of a stream that is not finished, is another shape
    attachment = Attachment.NONE if shape.viewing is Viewing.NONE else Attachment.READING
    if shape.reading is Reading.UNPRIMED and shape.viewing is Viewing.CURRENT:
        attachment = Attachment.GREETING
    connection = CURRENT if shape.viewing is Viewing.CURRENT else OLDER
    current_stream = shape.kind is StreamKind.STANDALONE and not shape.former
    subject = StreamShape(SUBJECT, shape.kind, attachment, connection, current=current_stream)
    if current_stream:
        return Shape((StreamShape(OTHER, StreamKind.REQUEST, Attachment.NONE, 11), subject))
    return Shape((pushes, subject))


def _arbitrary(shape: SystemShape) -> tuple[Knowledge, History]:
    """An arbitrary system of this shape in which the session's invariant and the agreement hold."""
    _, session, history = arbitrary(_session_shape(shape))
    known = _knowledge(shape, session, history)
    for formula in _agreed(shape):
        current().assume(formula)
    response = _response_is_last(shape)
    history.assume_of_each_two(lambda seq, other: substitute(response, {ANY: seq, ANY_OTHER: other}))
    if not _has_begun(shape):
        # The stream's number is still to be given, and an event's stream is one that was opened.
        limit = term_of(session.window.next)
        history.assume_of_each(lambda seq: implication(seq < limit, OWNER(seq) != SUBJECT))
    following = evolve(known.system, history=_next_events(session, history))
    return evolve(known, system=following), history


@cache
def _response_is_last(shape: SystemShape) -> Term:
    """``a_response_is_the_last_event``, which is true of each event, said of ANY."""
    with executing(None):
        history = History(universals=[])
        known = _knowledge(shape, shapes.session(_session_shape(shape), history), history)
        return merged(partial(a_response_is_the_last_event, known))


@cache
def _agreed(shape: SystemShape) -> tuple[Term, ...]:
    """The agreement on a shape, from running its predicates once."""
    with executing(None):
        history = History(universals=[])
        known = _knowledge(shape, shapes.session(_session_shape(shape), history), history)
        agreed = [merged(holds) for _, holds in agreement(known)]
        if _has_begun(shape):
            session = known.system.server.sessions[NAME]
            agreed.append(merged(lambda: _is_an_origin(session, known.system.origins[0], known.any)))
        return tuple(agreed)


def _knowledge(shape: SystemShape, session: Session, history: History) -> Knowledge:
    session = evolve(session, tag=NAME, opened=session.opened if _has_begun(shape) else SUBJECT - 1)
    if shape.reading is Reading.UNPRIMED:
        session = _greeting(session, Greeting.PRIMING)
    client = Client(attempts_limit=shapes.number("attempts.limit"), phase=Phase.CONNECTED, session=NAME, handles=HANDLE)
    exchanges: tuple[Exchange, ...] = (_exchange(shape),) if _reads(shape) else ()
    if shape.reading is Reading.OVER_TOLD:
        news = News.OUTCOME_UNKNOWN if shape.kind is StreamKind.REQUEST else News.GAP
        client = evolve(client, told=(Told(news, HANDLE),))
    elif shape.reading is not Reading.OVER:
        client = evolve(client, streams=(_client_stream(shape),))
    if shape.late:
        cursor = Cursor(Presence.PRESENT, NAME, SUBJECT, shapes.number("late.seq"))
        exchanges = (Exchange(LATE, 0, Request(Verb.RESUME, NAME, HANDLE, cursor)), *exchanges)
    beside = ClientStream(1, shape.kind, BYSTANDER)
    bystander = Client(phase=Phase.CONNECTED, session=NAME, handles=1, streams=(beside,))
    bystanding = Exchange(BYSTANDER, 1, Request(Verb.CALL, "S2", 1), delivered=True, session="S2", stream=1)
    system = System(
        server=Server(shapes.policy(), sessions={NAME: session}),
        clients=(client, bystander),
        exchanges=(*exchanges, bystanding, Exchange(LISTENING, 1, Request(Verb.LISTEN, NAME, 7))),
        now=session.now,
        connections=40,
        names=2,
        origins=(Origin(NAME, SUBJECT, 0, HANDLE, shapes.number("origin")),) if _has_begun(shape) else (),
    )
    any = history.entry(integer(ANY))
    other = history.entry(integer(ANY_OTHER))
    return Knowledge(
        system=system,
        any=any,
        other=other,
        emitted=_truth(partial(inductive.is_emitted, session, any)),
        other_emitted=_truth(partial(inductive.is_emitted, session, other)),
        applied=shapes.truth("applied"),
        final=partial(_is_final, ()),
    )


def _is_an_origin(session: Session, origin: Origin, any: Entry) -> bool:
    """The first view's position was a seq of the stream."""
    stream = find_stream(session, origin.stream)
    within = origin.position >= 1 and (
        stream.number == 0 or (stream.first <= origin.position and origin.position <= stream.last)
    )
    return within and (any.stream != origin.stream or origin.position <= any.prev or any.seq <= origin.position)


def _has_begun(shape: SystemShape) -> bool:
    return shape.reading not in _CALLING


def _reads(shape: SystemShape) -> bool:
    return shape.reading not in (Reading.NOTHING, Reading.OVER, Reading.OVER_TOLD)


def _client_stream(shape: SystemShape) -> ClientStream:
    without = (Reading.PRIMING, Reading.UNPRIMED, Reading.DEAD_UNPRIMED, Reading.CALLING, Reading.CALLING_DEAD)
    known = Cursor(Presence.PRESENT, NAME, SUBJECT, shapes.number("cursor.seq"))
    cursor = ABSENT if shape.reading in without else known
    connection = CURRENT if _reads(shape) else 0
    return ClientStream(HANDLE, shape.kind, connection, cursor, shapes.number("attempts"))


def _exchange(shape: SystemShape) -> Exchange:
    reading = shape.reading
    calls = Verb.CALL if shape.kind is StreamKind.REQUEST else Verb.LISTEN
    cursor = Cursor(Presence.PRESENT, NAME, SUBJECT, shapes.number("cursor.seq"))
    if reading in _CALLING:
        return Exchange(CURRENT, 0, Request(calls, NAME, HANDLE), reachable=reading is Reading.CALLING)
    asked = Exchange(CURRENT, 0, Request(Verb.RESUME, NAME, HANDLE, cursor))
    if reading in (Reading.ASKING, Reading.ASKED_DEAD):
        return evolve(asked, reachable=reading is Reading.ASKING)
    if reading in (Reading.REFUSED, Reading.LOST):
        reason = Reason.CURSOR_OUT_OF_WINDOW if reading is Reading.REFUSED else Reason.SESSION_UNKNOWN
        return network.answered(asked, network.Refused(reason), Ended())
    if reading in (Reading.PRIMING, Reading.UNPRIMED, Reading.DEAD_UNPRIMED):
        asked = evolve(asked, request=Request(calls, NAME, HANDLE))
    greeting: Item = Nothing()
    if reading is Reading.PRIMING:
        greeting = network.Primed(Cursor(Presence.PRESENT, NAME, SUBJECT, shapes.number("origin")))
    elif reading is Reading.POSITIONED:
        greeting = network.Positioned(cursor)
    return evolve(
        asked,
        delivered=True,
        session=NAME,
        stream=SUBJECT,
        greeting=greeting,
        taken=shapes.number("taken"),
        sent=shapes.number("sent"),
        trailer=shape.trailer,
        reachable=reading not in (Reading.DEAD, Reading.DEAD_UNPRIMED),
    )


def _next_events(session: Session, history: History) -> tuple[Emission, ...]:
    """The part of the history that a read can meet: the first event of the stream after what was taken.

    The history is in the order of seqs, so the first event in an interval is the successor of its lower end; what comes
    before is passed over, what comes after is not reached.
    """
    first = number(1)
    whole = history.window(first, term_of(session.window.next), first, first)
    following = whole.successor(SUBJECT, shapes.number("taken"))
    return (Emission(NAME, SUBJECT, following.seq, truth_value(FINAL(term_of(following.seq)))),)


def _greeting(session: Session, greeting: Greeting) -> Session:
    changed: list[Stream] = []
    for stream in session.streams:
        view: View = stream.view
        if is_viewed(stream) and view.greeting is not Greeting.NOTHING:
            stream = evolve(stream, view=evolve(view, greeting=greeting))
        changed.append(stream)
    return evolve(session, streams=tuple(changed))
