"""MCP 2026-07-28: no sessions, no event ids, nothing to resume (ERA-1). Each POST stands for itself.

The machine has no part in it: there is no state between two requests. A call's messages go straight to its response;
its tool is held up while the transport takes nothing, for at most the stall budget, and is cancelled when the
connection goes, which in this revision is how a client cancels.
"""

import asyncio
from collections.abc import Mapping

from attrs import define, field
from starlette.datastructures import Headers
from starlette.responses import Response as HttpResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from reattach.live.server import tools
from reattach.live.server.delivery import EVENT_STREAM_HEADERS
from reattach.live.server.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Json,
    Notification,
    Request,
    RequestId,
    RpcError,
    encode,
    failure,
    read_body,
    result,
)
from reattach.live.server.tools import UndeliverableError
from reattach.live.server.wire import Wire
from reattach.machine.policy import Policy
from reattach.machine.revision import Revision

_META = "io.modelcontextprotocol/"
_STATUS = {METHOD_NOT_FOUND: 404}
"""HTTP statuses of JSON-RPC errors that are not 400."""
_CACHEABLE: Mapping[str, Json] = {"ttlMs": 0, "cacheScope": "private"}


def answer(headers: Headers, body: bytes, wire: Wire, policy: Policy) -> ASGIApp:
    """The answer to one POST."""
    identifier: RequestId | None = None
    try:
        message = read_body(body)
        if isinstance(message, Notification):
            return HttpResponse(status_code=202)
        if not isinstance(message, Request):
            raise RpcError(INVALID_REQUEST, "a single request or notification is needed")
        identifier = message.id
        level = _read_envelope(headers, message)
        match message.method:
            case "server/discover":
                return _complete(message.id, _discovery())
            case "tools/list":
                return _complete(message.id, {"tools": tools.list_tools(with_session=False), **_CACHEABLE})
            case "tools/call":
                tools.find_tool(message, with_session=False)
                return _Stream(message, level, wire, policy)
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"unknown method: {message.method[:80]}")
    except RpcError as error:
        status = _STATUS.get(error.code, 400)
        return HttpResponse(encode(failure(identifier, error)), status, media_type="application/json")


def _complete(identifier: RequestId, value: Mapping[str, Json]) -> HttpResponse:
    return HttpResponse(encode(result(identifier, _completed(value))), media_type="application/json")


def _completed(value: Mapping[str, Json]) -> dict[str, Json]:
    return {**value, "resultType": "complete", "_meta": {f"{_META}serverInfo": tools.SERVER_INFO}}


def _discovery() -> dict[str, Json]:
    return {
        "supportedVersions": [revision.value for revision in Revision],
        "capabilities": tools.CAPABILITIES,
        "instructions": tools.INSTRUCTIONS,
        **_CACHEABLE,
    }


def _read_envelope(headers: Headers, request: Request) -> str | None:
    """Check what each request must say of itself; the log level it asks for. Raises ``RpcError``."""
    meta = request.params.get("_meta")
    if not isinstance(meta, Mapping):
        raise RpcError(INVALID_PARAMS, "params._meta is required")
    for key in ("protocolVersion", "clientCapabilities"):
        if _META + key not in meta:
            raise RpcError(INVALID_PARAMS, f"params._meta needs {_META}{key}")
    if meta[_META + "protocolVersion"] != Revision.R2026_07_28.value:
        raise RpcError(HEADER_MISMATCH, "MCP-Protocol-Version differs from params._meta")
    if headers.getlist("mcp-method") != [request.method]:
        raise RpcError(HEADER_MISMATCH, "Mcp-Method differs from the method")
    if request.method == "tools/call" and headers.getlist("mcp-name") != [request.params.get("name")]:
        raise RpcError(HEADER_MISMATCH, "Mcp-Name differs from the name of the tool")
    level = meta.get(_META + "logLevel")
    return None if level is None else tools.read_level(level)


@define(eq=False)
class _Stream:
    """The response stream of one ``tools/call``; an ASGI application of one response, and the tool's channel."""

    request: Request
    wanted: str | None
    wire: Wire
    policy: Policy
    _send: Send | None = field(init=False, default=None)

    @property
    def level(self) -> str:
        # A client that asks for no level is sent no log notifications in this revision.
        return tools.LEVELS[-1] if self.wanted is None else self.wanted

    def set_level(self, level: str) -> None:
        raise NotImplementedError("there is no logging/setLevel in this revision")

    async def send(self, message: Mapping[str, Json]) -> None:
        await self._write(b"data: " + encode(message) + b"\n\n", more=True)

    async def push(self, message: Mapping[str, Json]) -> None:
        raise UndeliverableError

    def let_go(self) -> None:
        raise UndeliverableError  # there is nothing to come back to in this revision

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the call; end it when its connection goes."""
        self._send = send
        call = asyncio.create_task(self._run())

        def lost() -> None:
            call.cancel()

        self.wire.on_lost = lost
        try:
            await asyncio.wait({call})
        finally:
            self.wire.on_lost = None
            call.cancel()
        if not call.cancelled():
            call.result()

    async def _run(self) -> None:
        assert self._send is not None
        await self._send({"type": "http.response.start", "status": 200, "headers": EVENT_STREAM_HEADERS})
        try:
            response = result(self.request.id, _completed(await tools.call_tool(self.request, self, False)))
            await self._write(b"data: " + encode(response) + b"\n\n", more=False)
        except TimeoutError:
            self.wire.abort()
            await self.wire.gone.wait()

    async def _write(self, block: bytes, more: bool) -> None:
        assert self._send is not None
        async with asyncio.timeout(self.policy.stall_ms / 1000):
            await self._send({"type": "http.response.body", "body": block, "more_body": more})
            await self.wire.drained()
