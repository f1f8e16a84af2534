"""A scripted wire: writes the observations of an exchange between a client and a server, without either.

Times advance by 5 ms with each observation, so that what is told one after the other lies close together; ``pass_time``
lets more go by.
"""

from collections.abc import Sequence
from typing import Any

from attrs import define, field

from reattach.machine.revision import Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.message import message_key
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Expect,
    Frame,
    Json,
    Observation,
    Party,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Restarted,
    Settled,
)
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Fault, Finding, Kind, Outcome, Profile

SSE = "text/event-stream"
TAG = "kQ3vZ8pL1mXw5RtB9cYd2e"
OTHER_TAG = "zQ3vZ8pL1mXw5RtB9cYd2f"


def log(label: str, n: int) -> dict[str, Json]:
    """A numbered log notification."""
    return {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "info", "data": {"label": label, "n": n}},
    }


def result(rpc_id: int, text: str = "done") -> dict[str, Json]:
    """A response."""
    return {"jsonrpc": "2.0", "id": rpc_id, "result": {"content": [{"type": "text", "text": text}]}}


def refusal(reason: str = "cursor-malformed") -> dict[str, Json]:
    """The body of an explicit refusal."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no", "data": {"reason": reason}}}


@define(eq=False)
class Exchange:
    """One request, and the ways in which it can go on."""

    wire: "Wire"
    number: int
    rpc_id: int | None = None

    def answer(self, status: int = 200, content_type: str = SSE, session: str | None = None) -> "Exchange":
        """The status line."""
        return self.tell(
            Response(
                at=self.wire.now,
                connection=self.number,
                status=status,
                content_type=content_type if status == 200 or content_type != SSE else "application/json",
                session=session,
            )
        )

    def body(self, payload: Any) -> "Exchange":
        """The body, and the end of the exchange."""
        self.tell(Body(at=self.wire.now, connection=self.number, payload=payload, size=20))
        return self.end()

    def refuse(self, status: int = 400, reason: str = "cursor-malformed") -> "Exchange":
        """An explicit refusal."""
        return self.answer(status).body(refusal(reason))

    def event(self, name: str | None, payload: Any, *, size: int = 60) -> "Exchange":
        """An event with a message."""
        return self.tell(
            Frame(at=self.wire.now, connection=self.number, id=name, payload=payload, has_data=True, size=size)
        )

    def log(self, name: str | None, label: str, n: int, *, size: int = 60) -> "Exchange":
        """An event with a numbered message."""
        return self.event(name, log(label, n), size=size)

    def result(self, name: str | None, rpc_id: int | None = None, text: str = "done") -> "Exchange":
        """An event with the response to this exchange's request (or to another's)."""
        chosen = self.rpc_id if rpc_id is None else rpc_id
        assert chosen is not None
        return self.event(name, result(chosen, text))

    def bare(self, name: str | None, *, retry: int | None = None) -> "Exchange":
        """An event without a message: priming, or a restated position."""
        return self.tell(Frame(at=self.wire.now, connection=self.number, id=name, retry=retry))

    def comment(self, text: str) -> "Exchange":
        """A comment."""
        return self.tell(Comment(at=self.wire.now, connection=self.number, text=text))

    def end(self) -> "Exchange":
        """The server ends the body."""
        return self.tell(Closed(at=self.wire.now, connection=self.number, by=Party.SERVER))

    def abort(self) -> "Exchange":
        """The server breaks the connection."""
        return self.tell(Closed(at=self.wire.now, connection=self.number, by=Party.SERVER, clean=False))

    def cut(self) -> "Exchange":
        """The client cuts the connection."""
        return self.tell(Closed(at=self.wire.now, connection=self.number, by=Party.CLIENT, clean=False))

    def quiet(self, waited: int = 2_000) -> "Exchange":
        """Nothing comes for a while."""
        self.wire.pass_time(waited)
        return self.tell(Quiet(at=self.wire.now, connection=self.number, waited=waited))

    def pause(self) -> "Exchange":
        """The client stops reading."""
        return self.tell(ReadPaused(at=self.wire.now, connection=self.number))

    def read_on(self) -> "Exchange":
        """The client goes on reading."""
        return self.tell(ReadResumed(at=self.wire.now, connection=self.number))

    def expect(
        self, keys: Sequence[str], origin: str = "numbered", *, standalone: bool = False, pace_ms: int | None = 0
    ) -> "Exchange":
        """What the driver knows of the call."""
        return self.tell(
            Expect(
                at=self.wire.now,
                connection=self.number,
                keys=tuple(keys),
                origin=origin,
                standalone=standalone,
                pace_ms=pace_ms,
            )
        )

    def expect_logs(self, label: str, count: int, *, standalone: bool = False) -> "Exchange":
        """That the call sends so many numbered messages, and its response."""
        keys = [message_key(log(label, n)) for n in range(1, count + 1)]
        if not standalone:
            assert self.rpc_id is not None
            keys.append(message_key(result(self.rpc_id)))
        return self.expect(keys, standalone=standalone)

    def settle(self, last: "Exchange") -> "Exchange":
        """The driver has followed the call made here to its end."""
        return self.tell(Settled(at=self.wire.now, connection=self.number, last=last.number))

    def tell(self, observation: Observation) -> "Exchange":
        """Record an observation."""
        self.wire.tell(observation)
        return self


@define(eq=False)
class Session:
    """A session as its client sees it."""

    wire: "Wire"
    id: str | None
    principal: str | None = None
    _rpc_id: int = 1

    def call(self, label: str = "", *, rpc_id: int | None = None, payload: Any = None) -> Exchange:
        """POST a tools/call with this label; not answered yet."""
        self._rpc_id += 1
        chosen = self._rpc_id if rpc_id is None else rpc_id
        params: dict[str, Json] = {"name": "reattach_emit", "arguments": {"label": label} if label else {}}
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": chosen, "method": "tools/call", "params": params}
        return self.request("POST", message=payload or message)

    def emit(self, label: str, count: int, *, rpc_id: int | None = None) -> Exchange:
        """A call whose messages are known, answered with a stream."""
        return self.call(label, rpc_id=rpc_id).expect_logs(label, count).answer()

    def get(self, *cursors: str) -> Exchange:
        """GET; not answered yet."""
        return self.request("GET", cursors=cursors)

    def delete(self, status: int = 200) -> Exchange:
        """DELETE, answered."""
        return self.request("DELETE").answer(status, "application/json").end()

    def ping(self, status: int = 200) -> Exchange:
        """A POST that is answered with a body."""
        self._rpc_id += 1
        exchange = self.request("POST", message={"jsonrpc": "2.0", "id": self._rpc_id, "method": "ping"})
        exchange.answer(status, "application/json")
        return exchange.body({"jsonrpc": "2.0", "id": self._rpc_id, "result": {}} if status == 200 else refusal(""))

    def cancel(self, rpc_id: int) -> Exchange:
        """Cancel a request; accepted."""
        message: dict[str, Json] = {
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": rpc_id},
        }  # fmt: skip
        return self.request("POST", message=message).answer(202, "").end()

    def request(
        self,
        method: str,
        *,
        cursors: Sequence[str] = (),
        message: Any = None,
        principal: str | None = None,
        revision: str | None = None,
    ) -> Exchange:
        """Any request under the session."""
        return self.wire.request(
            method,
            session=self.id,
            cursors=tuple(cursors),
            message=message,
            principal=principal or self.principal,
            revision=revision,
        )


@define(eq=False)
class Wire:
    """The recorder, and an oracle that hears everything at once."""

    revision: Revision = Revision.R2025_11_25
    declaration: Declaration = NOTHING_DECLARED
    complete: bool = True
    horizon: int = 4096
    now: int = 1_000
    observations: list[Observation] = field(factory=list)
    oracle: Oracle = field(init=False)
    _connections: int = 0
    _sessions: int = 0

    def __attrs_post_init__(self) -> None:
        self.oracle = Oracle(
            revision=self.revision, declaration=self.declaration, complete=self.complete, horizon=self.horizon
        )

    def tell(self, observation: Observation) -> tuple[Finding, ...]:
        """Record an observation."""
        self.observations.append(observation)
        self.now += 5
        return self.oracle.observe(observation, "scripted")

    def pass_time(self, ms: int) -> "Wire":
        """Let time go by."""
        self.now += ms
        return self

    def restart(self) -> None:
        """The server is restarted."""
        self.tell(Restarted(at=self.now))

    def request(
        self,
        method: str,
        *,
        session: str | None = None,
        cursors: tuple[str, ...] = (),
        message: Any = None,
        principal: str | None = None,
        revision: str | None = None,
    ) -> Exchange:
        """Any request."""
        self._connections += 1
        rpc_id = message.get("id") if isinstance(message, dict) else None
        name = message.get("method") if isinstance(message, dict) else None
        self.tell(
            Request(
                at=self.now,
                connection=self._connections,
                method=method,
                session=session,
                cursors=cursors,
                revision=revision,
                principal=principal,
                rpc_id=rpc_id if isinstance(rpc_id, int) else None,
                rpc_method=name if isinstance(name, str) else None,
                payload=message,
            )
        )
        return Exchange(self, self._connections, rpc_id if isinstance(rpc_id, int) else None)

    def session(self, name: str | None = "", *, principal: str | None = None, rpc_id: int = 1) -> Session:
        """Initialize; answered with JSON and a session id, or without one if ``name`` is None."""
        self._sessions += 1
        issued = f"session-{self._sessions}" if name == "" else name
        message: Json = {
            "jsonrpc": "2.0", "id": rpc_id, "method": "initialize",
            "params": {"protocolVersion": self.revision.value, "capabilities": {}},
        }  # fmt: skip
        exchange = self.request("POST", message=message, principal=principal)
        exchange.answer(200, "application/json", issued)
        exchange.body({"jsonrpc": "2.0", "id": rpc_id, "result": {"protocolVersion": self.revision.value}})
        return Session(self, issued, principal, rpc_id)

    # What the oracle says

    def findings(self, profile: Profile = Profile.REATTACH) -> tuple[Finding, ...]:
        """All findings so far."""
        return self.oracle.report(profile).findings

    def faults(self, profile: Profile = Profile.REATTACH) -> set[tuple[str, Fault]]:
        """Clause and class of everything that is more than an allowed difference."""
        return {
            (finding.clause, finding.fault)
            for finding in self.findings(profile)
            if finding.kind is not Kind.UNDEFINED_AREA
        }

    def differences(self, profile: Profile = Profile.REATTACH) -> set[tuple[str, Fault]]:
        """Clause and class of the allowed differences."""
        return {(f.clause, f.fault) for f in self.findings(profile) if f.kind is Kind.UNDEFINED_AREA}

    def held(self, profile: Profile = Profile.REATTACH) -> set[str]:
        """The clauses that were seen to hold."""
        return {c.clause for c in self.oracle.report(profile).clauses if c.outcome is Outcome.HELD}


def event_id(stream: int, seq: int, tag: str = TAG) -> str:
    """An id in the standard's grammar."""
    return f"{tag}.{stream}.{seq}"
