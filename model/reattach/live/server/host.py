"""The machine, hosted: the one value that changes, and what its environment owes it.

``Host`` holds the current ``machine.Server`` and is the only place that steps it: every input goes through ``take`` (or
``initialize`` or ``expire``), and what the step says is carried out here, in this order:

1. the views that it ended are ended, which aborts their transports (ATT-2, IDL-1, SES-4);
2. views whose stream changed are woken, and ask the machine what to write; so are emitters that were told to wait;
3. what the environment keeps for a session goes when the session goes.

It decides nothing. It supplies what the machine may not have: a clock, fresh secrets and connection numbers. It knows
nothing of HTTP and of asyncio either; what it calls must only take note, and come back later.
"""

import secrets
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol

from attrs import define, field, frozen

from reattach.machine import server as machine
from reattach.machine.decision import Refuse
from reattach.machine.modes import Deployment
from reattach.machine.policy import Policy
from reattach.machine.session import (
    NO_STREAM,
    Session,
    absence_deadline,
    age_deadline,
    find_stream,
    is_behind,
    is_occupied,
    is_viewed,
    stall_deadline,
)
from reattach.machine.transition import Ending, Input, Result, Tick

NEVER = 2**63
"""A deadline that does not come."""
_SECRET_BYTES = 18
"""Entropy of a session id and of a tag: 144 bits, 24 characters of base 64 in the URL alphabet."""


def monotonic_ms() -> int:
    """The clock of a process, in milliseconds."""
    return time.monotonic_ns() // 1_000_000


class Carrier(Protocol):
    """Whoever writes a view to its transport. Its methods only take note: they never call the host."""

    def wake(self) -> None:
        """Something of the stream changed; ask again what to write."""

    def let_go(self) -> None:
        """End the view as soon as it has written what it owes; the stream goes on."""

    def end(self, ending: Ending) -> None:
        """The view is gone: abort the transport now."""


@frozen
class _Waiter:
    stream: int
    callback: Callable[[], None]


@define(eq=False)
class Host:
    """Everything a process knows of its sessions. Used from one thread."""

    policy: Policy
    on_session_closed: Callable[[str], None]
    """Called with the session id when a session has been terminated, by whatever."""
    deployment: Deployment = field(factory=Deployment)
    clock: Callable[[], int] = monotonic_ms
    on_deadline: Callable[[], None] = lambda: None
    """Called when ``next_deadline`` may have come nearer."""
    _server: machine.Server = field(init=False)
    _carriers: dict[int, Carrier] = field(init=False, factory=dict)
    _waiters: dict[str, list[_Waiter]] = field(init=False, factory=dict)
    _deadlines: dict[str, int] = field(init=False, factory=dict)
    _connections: "count[int]" = field(init=False, factory=lambda: count(1))

    def __attrs_post_init__(self) -> None:
        self._server = machine.Server(self.policy, self.deployment)

    # Questions

    def locate(self, name: str, principal: str) -> Refuse | Session:
        """The living session that a request names, or the refusal of one that names none."""
        return machine.locate(self._server, self.clock(), name, principal)

    def session(self, name: str) -> Session | None:
        """The session as it was left by its last step."""
        return self._server.sessions.get(name)

    @property
    def session_names(self) -> tuple[str, ...]:
        """The ids of the living sessions."""
        return tuple(self._server.sessions)

    # Inputs

    def initialize(self, principal: str) -> str | Refuse:
        """Open a session; its id, which is a secret, or the refusal."""
        name, tag = secrets.token_urlsafe(_SECRET_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        before = self.session_names
        opened = machine.initialize(self._server, self.clock(), name, tag, principal)
        self._settle(opened, (*before, name))
        return opened.result if isinstance(opened.result, Refuse) else name

    def take(self, name: str, given: Input) -> Result:
        """One input to one session; what the machine answers."""
        return self._settle(machine.take(self._server, self.clock(), name, given), (name,))

    def expire(self) -> None:
        """Let time pass in every session of which a budget may have run out."""
        now = self.clock()
        for name in [name for name, deadline in self._deadlines.items() if deadline <= now]:
            self.take(name, Tick())

    def next_deadline(self) -> int:
        """The time, in the clock's milliseconds, before which ``expire`` need not be called."""
        return min(self._deadlines.values(), default=NEVER)

    # Connections and waiting

    def carry(self, carrier: Carrier) -> int:
        """Give a connection its number; from now on its carrier is told what happens to its view."""
        connection = next(self._connections)
        self._carriers[connection] = carrier
        return connection

    def release(self, connection: int) -> None:
        """Forget a connection."""
        self._carriers.pop(connection, None)

    def let_go(self, name: str, stream: int) -> None:
        """End the view of a stream, if it has one, as soon as it has written what it owes."""
        session = self.session(name)
        viewed = find_stream(session, stream) if session is not None else NO_STREAM
        if is_viewed(viewed) and viewed.view.connection in self._carriers:
            self._carriers[viewed.view.connection].let_go()

    def when_changed(self, name: str, stream: int, callback: Callable[[], None]) -> None:
        """Call back once, when what made an ``Emit`` to ``stream`` (0: the standalone one) wait may have changed."""
        session = self.session(name)
        if session is None:
            callback()
            return
        self._waiters.setdefault(name, []).append(_Waiter(stream or session.standalone, callback))

    def forget(self, name: str, callback: Callable[[], None]) -> None:
        """Withdraw a ``when_changed``."""
        kept = [waiter for waiter in self._waiters.get(name, ()) if waiter.callback != callback]
        self._keep_waiters(name, kept)

    # What a step does to the world

    def _settle(self, step: machine.ServerStep, names: tuple[str, ...]) -> Result:
        before, self._server = self._server, step.server
        for ending in step.endings:
            if ending.connection in self._carriers:
                self._carriers[ending.connection].end(ending)
        for name in names:
            self._follow(name, before.sessions.get(name), step.server.sessions.get(name))
        return step.result

    def _follow(self, name: str, before: Session | None, after: Session | None) -> None:
        if after is before:
            return
        if after is None:
            self._deadlines.pop(name, None)
            for waiter in self._waiters.pop(name, ()):
                waiter.callback()
            self.on_session_closed(name)
            return
        for stream in after.streams:
            # Streams that a step leaves alone are the identical objects.
            unchanged = before is not None and find_stream(before, stream.number) is stream
            if is_viewed(stream) and not unchanged and stream.view.connection in self._carriers:
                self._carriers[stream.view.connection].wake()
        if before is not None and name in self._waiters:
            self._wake_waiters(name, before, after)
        earlier = self._deadlines.get(name, NEVER)
        self._deadlines[name] = _deadline(self.policy, after)
        if self._deadlines[name] < earlier:
            self.on_deadline()

    def _wake_waiters(self, name: str, before: Session, after: Session) -> None:
        kept: list[_Waiter] = []
        moved = before.window.low != after.window.low
        for waiter in self._waiters[name]:
            if moved or find_stream(before, waiter.stream) is not find_stream(after, waiter.stream):
                waiter.callback()
            else:
                kept.append(waiter)
        self._keep_waiters(name, kept)

    def _keep_waiters(self, name: str, kept: list[_Waiter]) -> None:
        if kept:
            self._waiters[name] = kept
        else:
            self._waiters.pop(name, None)


def _deadline(policy: Policy, session: Session) -> int:
    """When time alone will next change the session: a stall, absence, or the age of its oldest event."""
    deadlines = [stall_deadline(policy, stream) for stream in session.streams if is_behind(stream)]
    if not is_occupied(session):
        deadlines.append(absence_deadline(policy, session))
    if session.window.held:
        deadlines.append(age_deadline(policy, session.window.held[0].at))
    return min(deadlines, default=NEVER)
