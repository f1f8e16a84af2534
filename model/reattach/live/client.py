"""The probe's MCP client: as much of the protocol as driving a server takes, and nothing that hides what happens.

It never reconnects, retries or resends by itself. Every exchange is a ``View`` that the experiment holds.
"""

import asyncio
import json
import ssl
from collections.abc import Mapping, Sequence

from attrs import define, evolve, field, frozen

import reattach
from reattach.live.pace import Pace
from reattach.live.recorder import Recorder
from reattach.live.view import AT_ONCE, EVENT_STREAM, CutPlan, Pacing, View
from reattach.live.wire import Endpoint, WireError, exchange
from reattach.machine.revision import TRAITS, Revision
from reattach.oracle.observation import Closed, Json, Party, Request

CONNECT_MS = 5_000
"""The bound on connecting and sending one request."""
END_MS = 300
"""How long an answered request may take to end before we cut it."""


class ProtocolError(Exception):
    """The server did not do what a session needs (no usable answer to ``initialize``, say). One line of text."""


class SilentError(ProtocolError):
    """The server took a request and gave no answer in time."""


@frozen
class Principal:
    """Who the requests come from: a name for reports, and the headers that say it to the server."""

    name: str | None
    headers: tuple[tuple[str, str], ...] = ()


@frozen
class Client:
    """A way to send requests to one server: where it is, as whom, in which revision."""

    endpoint: Endpoint
    recorder: Recorder
    revision: Revision
    principal: Principal = Principal(None)
    tls: ssl.SSLContext | None = None
    experiment: str = ""
    answer_ms: int = 5_000
    """How long to wait for the head of a response, or for the response to a short request."""
    pace: Pace = field(factory=Pace)
    """What has been seen of the server's speed; one for all clients of a run."""

    def under(self, revision: Revision) -> "Client":
        """The same client speaking another revision."""
        return evolve(self, revision=revision)

    async def send(
        self,
        method: str,
        *,
        session: str | None = None,
        cursors: Sequence[str] = (),
        message: Mapping[str, Json] | None = None,
        origin: str | None = None,
        plan: CutPlan | None = None,
        pacing: Pacing = AT_ONCE,
    ) -> View:
        """Send one request and begin to read its answer.

        Every string in ``cursors`` becomes a ``Last-Event-ID`` header. Raises ``WireError`` if the request could not be
        sent; that too is recorded, as a request whose connection broke.
        """
        headers = [("Accept", EVENT_STREAM if method == "GET" else f"application/json, {EVENT_STREAM}")]
        body = b""
        rpc_id: str | int | None = None
        rpc_method: str | None = None
        if message is not None:
            body = json.dumps(message, separators=(",", ":")).encode()
            headers.append(("Content-Type", "application/json"))
            identifier, name = message.get("id"), message.get("method")
            rpc_id = identifier if isinstance(identifier, str | int) else None
            rpc_method = name if isinstance(name, str) else None
        if session is not None:
            headers.append(("Mcp-Session-Id", session))
        # An initialize request negotiates the revision in its body; the header comes with the requests after it.
        named = TRAITS[self.revision].version_header and rpc_method != "initialize"
        if named:
            headers.append(("MCP-Protocol-Version", self.revision.value))
        if not TRAITS[self.revision].resumption and message is not None:
            headers += _routing_headers(message)
        headers += [("Last-Event-ID", cursor) for cursor in cursors]
        if origin is not None:
            headers.append(("Origin", origin))
        headers += self.principal.headers
        request = Request(
            at=self.recorder.now(),
            connection=self.recorder.connection(),
            method=method,
            session=session,
            cursors=tuple(cursors),
            revision=self.revision.value if named else None,
            principal=self.principal.name,
            origin=origin,
            rpc_id=rpc_id,
            rpc_method=rpc_method,
            payload=message,
        )
        self.recorder.record(request, self.experiment)
        try:
            async with asyncio.timeout(CONNECT_MS / 1000):
                sent = await exchange(
                    self.endpoint, method, headers, body, tls=self.tls, receive_buffer=pacing.receive_buffer
                )
        except (WireError, TimeoutError, asyncio.CancelledError) as error:
            self.recorder.record(
                Closed(at=self.recorder.now(), connection=request.connection, by=Party.NETWORK, clean=False),
                self.experiment,
            )
            if isinstance(error, TimeoutError):
                raise WireError(f"no connection to {self.endpoint.authority} within {CONNECT_MS} ms") from error
            raise
        view = View(
            request=request,
            experiment=self.experiment,
            recorder=self.recorder,
            exchange=sent,
            plan=plan,
            pacing=pacing,
        )
        view.start()
        return view


def _routing_headers(message: Mapping[str, Json]) -> list[tuple[str, str]]:
    """The headers in which 2026-07-28 repeats the method and, for a tool, its name."""
    headers: list[tuple[str, str]] = []
    method, params = message.get("method"), message.get("params")
    if isinstance(method, str):
        headers.append(("Mcp-Method", method))
        if method == "tools/call" and isinstance(params, Mapping) and isinstance(params.get("name"), str):
            headers.append(("Mcp-Name", str(params["name"])))
    return headers


def envelope(revision: Revision) -> dict[str, Json]:
    """The ``_meta`` of a request in a revision without a handshake, which carries what ``initialize`` used to."""
    return {
        "io.modelcontextprotocol/protocolVersion": revision.value,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "reattach", "version": reattach.__version__},
        "io.modelcontextprotocol/logLevel": "debug",
    }


@frozen
class Initialized:
    """What the answer to ``initialize`` said."""

    session: str | None
    revision: Revision
    capabilities: Mapping[str, Json]
    server: str
    """The server's name and version, for people."""


@define(eq=False)
class Session:
    """One MCP session, driven by hand. ``id`` is None on a server that mints no session ids."""

    client: Client
    id: str | None
    capabilities: Mapping[str, Json]
    server: str
    views: list[View] = field(factory=list)
    """Every exchange made under the session, in order."""
    deleted: bool = False
    _next_id: int = 2

    @classmethod
    async def open(
        cls, client: Client, *, first_id: int = 1, capabilities: Mapping[str, Json] | None = None
    ) -> "Session":
        """Initialize, and say that it is done.

        JSON-RPC ids count up from ``first_id``; two sessions with the same ``first_id`` use the same ids. Raises
        ``WireError`` or ``ProtocolError``.
        """
        view = await client.send(
            "POST",
            message={
                "jsonrpc": "2.0",
                "id": first_id,
                "method": "initialize",
                "params": {
                    "protocolVersion": client.revision.value,
                    "capabilities": dict(capabilities or {}),
                    "clientInfo": {"name": "reattach", "version": reattach.__version__},
                },
            },
        )
        try:
            said = await read_initialize(view, client.answer_ms)
        finally:
            await _leave(view)
        session = cls(evolve(client, revision=said.revision), said.session, said.capabilities, said.server)
        session.views.append(view)
        session._next_id = first_id + 1
        await session.notify("notifications/initialized")
        return session

    def take_id(self) -> int:
        """The next JSON-RPC id."""
        self._next_id += 1
        return self._next_id - 1

    async def send(
        self,
        method: str,
        *,
        cursors: Sequence[str] = (),
        message: Mapping[str, Json] | None = None,
        origin: str | None = None,
        plan: CutPlan | None = None,
        pacing: Pacing = AT_ONCE,
        through: Client | None = None,
    ) -> View:
        """Send one request under this session, if need be through another client than the one that opened it."""
        view = await (through or self.client).send(
            method,
            session=self.id,
            cursors=cursors,
            message=message,
            origin=origin,
            plan=plan,
            pacing=pacing,
        )
        self.views.append(view)
        return view

    async def request(
        self,
        method: str,
        params: Mapping[str, Json] | None = None,
        *,
        rpc_id: int | None = None,
        plan: CutPlan | None = None,
        pacing: Pacing = AT_ONCE,
    ) -> View:
        """POST a JSON-RPC request; its answer is the view's."""
        message: dict[str, Json] = {
            "jsonrpc": "2.0",
            "id": self.take_id() if rpc_id is None else rpc_id,
            "method": method,
        }
        if params is not None:
            message["params"] = dict(params)
        return await self.send("POST", message=message, plan=plan, pacing=pacing)

    async def notify(self, method: str) -> int | None:
        """POST a notification; return the status."""
        view = await self.send("POST", message={"jsonrpc": "2.0", "method": method})
        await view.answered(self.client.answer_ms)
        await view.cut()
        return view.status

    async def result(self, method: str, params: Mapping[str, Json] | None = None) -> Json:
        """POST a request and wait for its result; None if there is none."""
        view = await self.request(method, params)
        await view.wait(lambda seen: seen.answers(seen.request.rpc_id), self.client.answer_ms)
        response = view.response(view.request.rpc_id)
        await _leave(view)
        return response.get("result") if isinstance(response, dict) else None

    async def listen(
        self,
        *cursors: str,
        plan: CutPlan | None = None,
        pacing: Pacing = AT_ONCE,
        through: Client | None = None,
    ) -> View:
        """GET: a plain one, or a resumption if there is a cursor. Returns once the head is here or late."""
        pace = self.client.pace
        view = await self.send("GET", cursors=cursors, plan=plan, pacing=pacing, through=through)
        answered = await view.answered(self.client.answer_ms if pace.answers_resumptions else pace.patience_ms)
        if cursors and not answered and view.closed is None:
            pace.unanswered += 1
        return view

    async def delete(self) -> int | None:
        """DELETE the session; return the status, None if no answer came."""
        view = await self.send("DELETE")
        await view.answered(self.client.answer_ms)
        await view.cut()
        self.deleted = view.status is not None and 200 <= view.status < 300
        return view.status

    async def close(self) -> None:
        """Cut what is open and delete the session, for the sake of the server. A server that is gone is ignored."""
        for view in self.views:
            await view.cut()
        if self.id is not None and not self.deleted:
            try:
                await self.delete()
            except WireError:
                return


async def _leave(view: View) -> None:
    """Let the server end an exchange that has had its response; cut it if the server does not."""
    await view.over(END_MS)
    await view.cut()


async def read_initialize(view: View, answer_ms: int) -> Initialized:
    """Wait for the answer to an ``initialize`` request and read it. Raises ``ProtocolError`` if it is not one."""
    await view.wait(lambda seen: seen.answers(seen.request.rpc_id), answer_ms)
    response = view.response(view.request.rpc_id)
    if not isinstance(response, dict):
        raise no_response(view, answer_ms)
    result = response.get("result")
    if not isinstance(result, Mapping):
        error = response.get("error")
        text = error.get("message") if isinstance(error, Mapping) else None
        raise ProtocolError(f"initialize was refused: {str(text)[:200]}")
    named = result.get("protocolVersion")
    known = {revision.value: revision for revision in Revision}
    if not isinstance(named, str) or named not in known:
        raise ProtocolError(f"the server speaks a revision that reattach does not know: {str(named)[:40]!r}")
    capabilities = result.get("capabilities")
    info = result.get("serverInfo")
    server = ""
    if isinstance(info, Mapping):
        server = " ".join(str(info[key])[:80] for key in ("name", "version") if info.get(key))
    return Initialized(
        session=view.head.get("mcp-session-id") if view.head is not None else None,
        revision=known[named],
        capabilities=capabilities if isinstance(capabilities, Mapping) else {},
        server=server,
    )


def no_response(view: View, answer_ms: int) -> ProtocolError:
    """What is wrong with an exchange that was to bring a JSON-RPC response and did not."""
    asked = view.request.rpc_method
    if view.head is None:
        if view.closed is not None and not view.cut_short:
            return ProtocolError(f"the connection closed before any answer to {asked}")
        return SilentError(f"no answer to {asked} within {answer_ms} ms")
    kind = view.head.media_type or "no content type"
    if view.status in (401, 403):
        return ProtocolError(f"{asked} was answered with HTTP {view.status}: credentials are needed (--header)")
    if kind == "text/html":
        return ProtocolError(f"{asked} was answered with HTML (HTTP {view.status}): this URL is not an MCP endpoint")
    if view.status is not None and not 200 <= view.status < 300:
        return ProtocolError(f"{asked} was answered with HTTP {view.status} ({kind})")
    if view.is_stream and view.closed is not None and not view.cut_short:
        return ProtocolError(f"the event stream that answered {asked} ended without a JSON-RPC response")
    if view.is_stream:
        return SilentError(f"the event stream that answered {asked} brought no response within {answer_ms} ms")
    return ProtocolError(f"{asked} was answered with {kind}, and no JSON-RPC response was in it")
