"""The server: a request reaches the one living session that it names, of its own principal, and no other.

A server is a policy and sessions by name, and what it does to a session is ``transition.step`` or ``advance``; the
theorems of one session say what those do. So what is left to prove is small: which session a request reaches, that
nothing else is touched, and that what is over is gone. It is proved for a server with two sessions, of which one is
arbitrary and the other only has to come out as the identical object; with one; and with none.
"""

from collections.abc import Callable, Iterator
from functools import partial

from attrs import evolve

from reattach.machine import server as machine
from reattach.machine.cursor import ABSENT, Cursor, Presence
from reattach.machine.decision import Decision, Reason, Refuse, decide_cursor
from reattach.machine.modes import Deployment, Mode, mode_of
from reattach.machine.server import Server, ServerStep
from reattach.machine.session import Session, StreamKind
from reattach.machine.transition import Done, Emit, Gone, Input, Terminate, Write, advance, step
from reattach_proofs import shapes
from reattach_proofs.invariant import arbitrary
from reattach_proofs.obligations import Obligation, Outcome, stated
from reattach_proofs.promises import Claim, Theorem
from reattach_proofs.shapes import OTHER, SUBJECT, SUBJECTS_CONNECTION, TAG, Attachment, Shape, StreamShape

SESSIONS = Theorem(
    "sessions",
    ("SES-2", "SES-3", "SES-4", "SES-5", "SES-7", "SES-8", "WIN-3"),
    "A request reaches the one living session that it names, of its own principal, and no other; what is over is gone, "
    "and a server holds no more sessions than its policy allows.",
)

SIGHTS = (
    "a request reaches its session",
    "a request names no session of its principal",
    "time ends a session",
    "a session is refused at the limit",
)
"""Its interesting cases."""

MINE, THEIRS, UNKNOWN = "S1", "S2", "S9"
ME, THEM = "me", "them"
_STATELESS = Deployment(client_stateless=True, dedup_memory=1, longest_replay=1)
"""A deployment in which a cursor alone names its session."""


# Claims


def take_claims(before: Server, now: int, name: str, given: Input, after: ServerStep) -> Iterator[Claim]:
    """What an input to a session does to the server."""
    yield from _others_are_left(before, after.server, name)
    session = before.sessions.get(name)
    if session is None:
        yield _claim("what is not there is gone", lambda: after.result == Gone() and after.server is before)
        return
    alone = step(before.policy, session, now, given)
    yield _claim(
        "a session does what it would do alone",
        lambda: (
            type(after.result) is type(alone.result)
            and [ending.connection for ending in after.endings] == [ending.connection for ending in alone.endings]
            and _is_what_became(after.server.sessions.get(name), alone.session)
        ),
    )


def tick_claims(before: Server, now: int, after: ServerStep) -> Iterator[Claim]:
    """What time does to the server."""
    alone = {name: advance(before.policy, session, now) for name, session in before.sessions.items()}
    yield _claim(
        "time passes in every session",
        lambda: (
            set(after.server.sessions) <= set(alone)
            and all(_is_what_became(after.server.sessions.get(name), each.session) for name, each in alone.items())
        ),
    )
    yield _claim(
        "every view that time ends is told",
        lambda: (
            [ending.connection for ending in after.endings]
            == [ending.connection for each in alone.values() for ending in each.endings]
        ),
    )


def locate_claims(before: Server, now: int, name: str, principal: str, found: Refuse | Session) -> Iterator[Claim]:
    """Which session a request reaches."""
    session = before.sessions.get(name)
    if name == "":
        yield _claim("a session that is not named is missing", lambda: found == Refuse(Reason.SESSION_MISSING))
    elif session is None or session.principal != principal:
        yield _claim("what is not one's own is unknown", lambda: found == Refuse(Reason.SESSION_UNKNOWN))
    else:
        present = advance(before.policy, session, now).session
        yield _claim(
            "a living session of one's own is found, at the present, and no other",
            lambda: (
                _is_what_became(found, present)
                if isinstance(found, Session)
                else found == Refuse(Reason.SESSION_UNKNOWN) and not present.alive
            ),
        )


def decide_claims(
    before: Server, now: int, name: str, principal: str, cursor: Cursor, decided: Decision
) -> Iterator[Claim]:
    """The decision is the session's own, on the session that the request reaches."""
    bearers = [each for each, session in before.sessions.items() if session.tag == cursor.tag]
    stateless = before.deployment.client_stateless and mode_of(before.deployment) is Mode.REPLAY
    if name == "" and bearers and stateless and cursor.presence is Presence.PRESENT:
        name = bearers[0]  # for a stateless client a cursor is a bearer token
    found = machine.locate(before, now, name, principal)
    expected = found if isinstance(found, Refuse) else decide_cursor(found, cursor)
    yield _claim("the session decides, and nobody else", lambda: decided == expected)


def initialize_claims(before: Server, now: int, name: str, principal: str, after: ServerStep) -> Iterator[Claim]:
    """A session is opened for its principal, if there is room."""
    left = {each: session for each, session in after.server.sessions.items() if each != name}
    yield from tick_claims(before, now, evolve(after, server=evolve(after.server, sessions=left)))
    opened = after.server.sessions.get(name)
    yield _claim(
        "there are no more sessions than the policy allows, and no fewer than it must",
        lambda: (
            len(after.server.sessions) <= before.policy.sessions
            if opened is not None
            else after.result == Refuse(Reason.SESSIONS_EXHAUSTED) and len(left) >= before.policy.sessions
        ),
    )
    if opened is not None:
        yield _claim(
            "a new session is its principal's, and fresh",
            lambda: (
                opened.principal == principal
                and opened.alive
                and bool(opened.now == now)
                and opened.mode is mode_of(before.deployment)
            ),
        )


def _others_are_left(before: Server, after: Server, name: str) -> Iterator[Claim]:
    yield _claim(
        "other sessions are left as they are",
        lambda: (
            {each for each in after.sessions if each != name} == {each for each in before.sessions if each != name}
            and all(after.sessions[each] is session for each, session in before.sessions.items() if each != name)
            and after.policy is before.policy
        ),
    )


def _is_what_became(kept: Session | None, became: Session) -> bool:
    """Whether the server keeps what became of a session; nothing, if it is over."""
    if kept is None or not became.alive:
        return kept is None and not became.alive
    return (
        kept.alive
        and bool(kept.now == became.now)
        and bool(kept.seen == became.seen)
        and bool(kept.window.low == became.window.low)
        and bool(kept.window.next == became.window.next)
        and [(each.number, each.view.connection) for each in kept.streams]
        == [(each.number, each.view.connection) for each in became.streams]
    )


def _claim(name: str, holds: Callable[[], bool]) -> Claim:
    return Claim(SESSIONS.name, name, holds)


def _sight(name: str, holds: Callable[[], bool] = lambda: True) -> Claim:
    return Claim(SESSIONS.name, name, holds)


# Obligations

_SHAPE = Shape(
    (
        StreamShape(OTHER, StreamKind.STANDALONE, Attachment.NONE, 11, current=True),
        StreamShape(SUBJECT, StreamKind.REQUEST, Attachment.READING, SUBJECTS_CONNECTION),
    )
)
_NAMES = ((), (MINE,), (MINE, THEIRS), (THEIRS, MINE))


def obligations() -> Iterator[Obligation]:
    """Every function of the server, on each of the servers."""
    for names in _NAMES:
        about = " + ".join(names) or "no session"
        for name in (MINE, UNKNOWN):
            for given in (Write(SUBJECTS_CONNECTION), Emit(SUBJECT, 1, None), Terminate()):
                what = f"{about} | {type(given).__name__.lower()} in {name}"
                yield Obligation(what, partial(_taken, names, name, given))
        yield Obligation(f"{about} | time", partial(_ticked, names))
        yield Obligation(f"{about} | initialize", partial(_initialized, names))
        for name in ("", MINE, UNKNOWN):
            for principal in (ME, THEM):
                what = f"{about} | {principal} ask for {name or 'no name'}"
                yield Obligation(what, partial(_located, names, name, principal))
        for deployment in (Deployment(), _STATELESS):
            stateless = "stateless" if deployment.client_stateless else "stateful"
            for name in ("", MINE):
                yield Obligation(
                    f"{about} | resume {name or 'no name'}, {stateless}", partial(_decided, names, name, deployment)
                )


def _server(names: tuple[str, ...], deployment: Deployment = Deployment()) -> tuple[Server, int]:  # noqa: B008
    policy, session, _ = arbitrary(_SHAPE)
    each = {
        MINE: evolve(session, principal=ME),
        THEIRS: evolve(session, principal=THEM, tag=f"{TAG} of theirs"),
    }
    return Server(policy, deployment, {name: each[name] for name in names}), shapes.number("time")


def _taken(names: tuple[str, ...], name: str, given: Input) -> Outcome:
    server, now = _server(names)
    after = machine.take(server, now, name, given)
    sights = [_sight("a request reaches its session")] * (after.result != Gone())
    return Outcome(stated(take_claims(server, now, name, given, after)), (after,), given, stated(sights))


def _ticked(names: tuple[str, ...]) -> Outcome:
    server, now = _server(names)
    after = machine.tick(server, now)
    sights = [_sight("time ends a session")] * (len(after.server.sessions) < len(names))
    return Outcome(stated(tick_claims(server, now, after)), (after,), now, stated(sights))


def _initialized(names: tuple[str, ...]) -> Outcome:
    server, now = _server(names)
    after = machine.initialize(server, now, "S3", "fresh", ME)
    sights = [_sight("a session is refused at the limit")] * (after.result != Done())
    return Outcome(stated(initialize_claims(server, now, "S3", ME, after)), (after,), now, stated(sights))


def _located(names: tuple[str, ...], name: str, principal: str) -> Outcome:
    server, now = _server(names)
    found = machine.locate(server, now, name, principal)
    sights = [_sight("a request names no session of its principal")] * (found == Refuse(Reason.SESSION_UNKNOWN))
    return Outcome(stated(locate_claims(server, now, name, principal, found)), (), found, stated(sights))


def _decided(names: tuple[str, ...], name: str, deployment: Deployment) -> Outcome:
    server, now = _server(names, deployment)
    claims: list[Claim] = []
    for cursor in (ABSENT, Cursor(Presence.PRESENT, TAG, SUBJECT, shapes.number("given.seq"))):
        decided = machine.decide(server, now, name, ME, cursor)
        claims += decide_claims(server, now, name, ME, cursor, decided)
    return Outcome(stated(claims), ())
