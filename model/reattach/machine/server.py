"""The server: its policy and its sessions, by name.

A name is the secret session id; the machine only compares it. A session that is terminated is dropped, with nothing
left behind, so that on the wire it is the same as one that never was (SES-2, SES-4, SES-8).
"""

from collections.abc import Mapping

from attrs import evolve, field, frozen

from reattach.machine.cursor import Cursor, Presence
from reattach.machine.decision import Decision, Reason, Refuse, decide_cursor
from reattach.machine.modes import Deployment, Mode, mode_of
from reattach.machine.policy import Policy
from reattach.machine.session import Session
from reattach.machine.transition import Done, Ending, Gone, Input, Result, advance, open_session, step


def _items(sessions: Mapping[str, Session]) -> tuple[tuple[str, Session], ...]:
    return tuple(sorted(sessions.items()))


@frozen
class Server:
    """All there is: numbers, what the deployment is, and the living sessions."""

    policy: Policy = Policy()
    deployment: Deployment = Deployment()
    sessions: Mapping[str, Session] = field(factory=dict, eq=_items)


@frozen
class ServerStep:
    """What one input did to the server; the same as ``transition.Step``, with the session named by the input."""

    server: Server
    result: Result = Done()
    endings: tuple[Ending, ...] = ()


def initialize(server: Server, now: int, name: str, tag: str, principal: str) -> ServerStep:
    """Open a session under a fresh ``name`` with a fresh ``tag``; refused at the policy's limit (WIN-3)."""
    current = tick(server, now)
    if len(current.server.sessions) >= server.policy.sessions:
        return evolve(current, result=Refuse(Reason.SESSIONS_EXHAUSTED))
    opened = open_session(tag, principal, now, mode_of(server.deployment))
    return evolve(current, server=_with(current.server, name, opened))


def tick(server: Server, now: int) -> ServerStep:
    """Let time reach ``now`` in every session."""
    endings: tuple[Ending, ...] = ()
    sessions: dict[str, Session] = {}
    for name, session in server.sessions.items():
        advanced = advance(server.policy, session, now)
        endings += advanced.endings
        if advanced.session.alive:
            sessions[name] = advanced.session
    return ServerStep(evolve(server, sessions=sessions), Done(), endings)


def locate(server: Server, now: int, name: str, principal: str) -> Refuse | Session:
    """Steps 1 and 2 of the decision: the living session that a request names (``""``: the header is missing)."""
    if name == "":
        return Refuse(Reason.SESSION_MISSING)  # SES-3
    session = server.sessions.get(name)
    if session is None or session.principal != principal:
        return Refuse(Reason.SESSION_UNKNOWN)  # SES-2, SES-7, SES-8: the three cannot be told apart
    present = advance(server.policy, session, now).session
    return present if present.alive else Refuse(Reason.SESSION_UNKNOWN)  # IDL-4


def decide(server: Server, now: int, name: str, principal: str, cursor: Cursor) -> Decision:
    """The decision on a resumption request that was admitted: exactly one, always the same one (MOD-1)."""
    if name == "" and cursor.presence is Presence.PRESENT:
        name = _bearer(server, cursor.tag)
    located = locate(server, now, name, principal)
    return located if isinstance(located, Refuse) else decide_cursor(located, cursor)


def take(server: Server, now: int, name: str, given: Input) -> ServerStep:
    """One input to one session. The budgets of the others are applied when they are addressed, or by ``tick``."""
    session = server.sessions.get(name)
    if session is None:
        return ServerStep(server, Gone())
    taken = step(server.policy, session, now, given)
    if taken.session.alive:
        return ServerStep(_with(server, name, taken.session), taken.result, taken.endings)
    sessions = {other: session for other, session in server.sessions.items() if other != name}
    return ServerStep(evolve(server, sessions=sessions), taken.result, taken.endings)


def _bearer(server: Server, tag: str) -> str:
    """The session that a cursor alone names: for a stateless client it is a bearer token (MOD-3)."""
    if server.deployment.client_stateless and mode_of(server.deployment) is Mode.REPLAY:
        for name, session in server.sessions.items():
            if session.tag == tag:
                return name
    return ""


def _with(server: Server, name: str, session: Session) -> Server:
    return evolve(server, sessions={**server.sessions, name: session})
