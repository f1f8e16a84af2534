"""The HTTP edge: requests in, the machine's inputs; its answers, as responses. Thin on purpose.

The order of the questions is the standard's (design.md section 6). What is HTTP's own business and not the machine's
(media types, sizes, methods, JSON) is asked after admission and before anything of the session is touched.
"""

import hmac
from contextlib import ExitStack
from urllib.parse import urlsplit

from attrs import define, field, frozen
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reattach.live.server import stateless, tools
from reattach.live.server.delivery import Delivery
from reattach.live.server.forms import Forms
from reattach.live.server.guest import Guest
from reattach.live.server.host import Host
from reattach.live.server.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    REFUSED,
    UNSUPPORTED_VERSION,
    Batch,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    RpcError,
    encode,
    failure,
    read_body,
    request_id_of,
    result,
)
from reattach.live.server.settings import Settings
from reattach.live.server.wire import STATE_KEY
from reattach.machine.cursor import parse_cursor
from reattach.machine.decision import Credential, Reason, Refuse, admit, status_of
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, TRAITS, Revision
from reattach.machine.transition import Arrive, Depart, Gone, Opened, OpenStream, Resume, Terminate

SESSION_HEADER = "mcp-session-id"
VERSION_HEADER = "mcp-protocol-version"
CURSOR_HEADER = b"last-event-id"
_CURSOR_SHOWN = 128
"""Characters of a refused cursor that its refusal repeats."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_MESSAGES = {
    Reason.ORIGIN_FORBIDDEN: "this origin is not allowed",
    Reason.UNAUTHENTICATED: "a bearer token is required",
    Reason.FORBIDDEN: "not allowed",
    Reason.VERSION_UNSUPPORTED: "this protocol version is not supported",
    Reason.SESSION_MISSING: "an Mcp-Session-Id header is required",
    Reason.SESSION_UNKNOWN: "there is no such session",
    Reason.CURSOR_MALFORMED: "Last-Event-ID is not one event id of this server",
    Reason.CURSOR_FOREIGN: "Last-Event-ID is of another session",
    Reason.CURSOR_OUT_OF_WINDOW: "what follows Last-Event-ID is no longer held",
    Reason.CURSOR_AHEAD: "Last-Event-ID is ahead of its stream",
    Reason.CURSOR_MISMATCH: "Last-Event-ID names an event that is not of its stream",
    Reason.STREAMS_EXHAUSTED: "the session has as many open streams as it may have",
    Reason.SESSIONS_EXHAUSTED: "the server has as many sessions as it may have",
}


class _HttpError(Exception):
    """A request that is wrong as HTTP; ``status`` says how."""

    def __init__(self, status: int, message: str, allow: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.allow = allow


@frozen
class _Head:
    """What the machine and the edge need of a request's headers."""

    principal: str
    name: str
    """The session id; empty if none was sent."""
    cursors: tuple[str, ...]
    """Every ``Last-Event-ID``, in order: a repeated one must be seen as such (CUR-2)."""


@define(eq=False)
class Endpoint:
    """The MCP endpoint, an ASGI application."""

    settings: Settings
    host: Host = field(init=False)
    _guests: dict[str, Guest] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.host = Host(self.settings.policy, self._session_closed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = HttpRequest(scope, receive)
        with ExitStack() as visit:
            try:
                answer = await self._answer(request, visit)
            except _HttpError as error:
                answer = json_response(
                    error.status, failure(None, RpcError(INVALID_REQUEST, error.message)), allow=error.allow
                )
            except ClientDisconnect:
                return
            if isinstance(answer, Delivery):
                visit.close()  # the request has become a stream with a view
            await answer(scope, receive, send)

    def close(self) -> None:
        """Terminate every session; their views and calls end with them."""
        for name in self.host.session_names:
            self.host.take(name, Terminate())

    def forms(self, name: str) -> Forms:
        """How the events of a session look; raises KeyError if it is over."""
        guest, session = self._guests[name], self.host.session(name)
        tag = "" if session is None else session.tag
        return Forms(tag, guest.revision, guest.reattaches, self.settings.policy.retry_ms)

    # One request

    async def _answer(self, request: HttpRequest, visit: ExitStack) -> ASGIApp:
        credential, principal = self._authenticate(request)
        version = _read_version(request)
        refused = admit(self._is_allowed_origin(request), credential, version is not None)
        if isinstance(refused, Refuse):
            return self._refusal(refused, None, version=", ".join(request.headers.getlist(VERSION_HEADER)))
        if isinstance(version, Revision) and not TRAITS[version].resumption:
            return await self._answer_stateless(request)  # ERA-1
        cursors = tuple(value.decode("latin-1") for key, value in request.scope["headers"] if key == CURSOR_HEADER)
        head = _Head(principal, ", ".join(request.headers.getlist(SESSION_HEADER)), cursors)
        match request.method:
            case "GET":
                if not _accepts(request, "text/event-stream"):
                    raise _HttpError(406, "Accept must include text/event-stream")
                return self._resume(request, head, visit)
            case "POST":
                return await self._post(request, head, visit)
            case "DELETE":
                return self._delete(head)
            case _:
                raise _HttpError(405, "only GET, POST and DELETE are allowed", allow="GET, POST, DELETE")

    async def _answer_stateless(self, request: HttpRequest) -> ASGIApp:
        if request.method != "POST":
            raise _HttpError(405, "this protocol version has POST alone", allow="POST")
        body = await self._read_post(request)
        return stateless.answer(request.headers, body, request.scope["state"][STATE_KEY], self.settings.policy)

    def _resume(self, request: HttpRequest, head: _Head, visit: ExitStack) -> ASGIApp:
        refused = self._enter(head, visit)
        if refused is not None:
            return self._refusal(refused, None, head.cursors)
        delivery = self._delivery(request, head.name)
        return self._opened(delivery, Resume(delivery.connection, parse_cursor(head.cursors)), None, head.cursors)

    def _delete(self, head: _Head) -> ASGIApp:
        located = self.host.locate(head.name, head.principal)
        if isinstance(located, Refuse):
            return self._refusal(located, None)
        self.host.take(head.name, Terminate())
        return HttpResponse(status_code=204)

    async def _post(self, request: HttpRequest, head: _Head, visit: ExitStack) -> ASGIApp:
        refused = self._enter(head, visit)
        body = await self._read_post(request, empty_ok=bool(head.cursors))
        if not body and head.cursors:
            # An extension: the seed resumes by POST. A POST with a message is that message, whatever its cursor.
            return self._refusal(refused, None, head.cursors) if refused else self._resume(request, head, visit)
        try:
            message = read_body(body)
        except RpcError as error:
            if refused is not None and refused.reason is not Reason.SESSION_MISSING:
                return self._refusal(refused, None)
            return json_response(400, failure(None, error))
        if isinstance(message, Request) and message.method == "initialize":
            if refused is None:
                return json_response(400, failure(message.id, RpcError(INVALID_REQUEST, "already initialized")))
            if refused.reason is Reason.SESSION_MISSING:
                return self._initialize(message, head.principal)
        if refused is not None:
            return self._refusal(refused, request_id_of(message))
        guest = self._guests.get(head.name)
        if guest is None:  # terminated while the body was on its way
            return self._refusal(Refuse(Reason.SESSION_UNKNOWN), request_id_of(message))
        return self._take_messages(request, guest, message)

    def _initialize(self, request: Request, principal: str) -> ASGIApp:
        requested, capabilities = request.params.get("protocolVersion"), request.params.get("capabilities", {})
        if not isinstance(requested, str) or not isinstance(capabilities, dict):
            error = RpcError(INVALID_PARAMS, "protocolVersion is a string and capabilities an object")
            return json_response(400, failure(request.id, error))
        name = self.host.initialize(principal)
        if isinstance(name, Refuse):
            return self._refusal(name, request.id)
        revision = next((each for each in Revision if each.value == requested), NEWEST_WITH_RESUMPTION)
        if not TRAITS[revision].resumption:
            revision = NEWEST_WITH_RESUMPTION
        experimental = capabilities.get("experimental", {})
        declared = isinstance(experimental, dict) and isinstance(experimental.get("reattach"), dict)
        self._guests[name] = Guest(self.host, name, revision, declared)
        said: dict[str, Json] = {
            "protocolVersion": revision.value,
            "capabilities": tools.CAPABILITIES,
            "serverInfo": tools.SERVER_INFO,
            "instructions": tools.INSTRUCTIONS,
        }
        response = json_response(200, result(request.id, said))
        response.headers[SESSION_HEADER] = name
        return response

    def _take_messages(self, request: HttpRequest, guest: Guest, message: Message | Batch) -> ASGIApp:
        messages = message.messages if isinstance(message, Batch) else (message,)
        requests = [each for each in messages if isinstance(each, Request)]
        if isinstance(message, Batch):
            if not TRAITS[guest.revision].batches:
                return json_response(400, failure(None, RpcError(INVALID_REQUEST, "this revision has no batches")))
            if any(each.method == "initialize" for each in requests):
                return json_response(400, failure(None, RpcError(INVALID_REQUEST, "initialize is never in a batch")))
        for each in messages:
            if isinstance(each, Notification) and each.method == "notifications/cancelled":
                guest.cancel(each.params.get("requestId"))
        if not requests:
            return HttpResponse(status_code=202)
        delivery = self._delivery(request, guest.name)
        answer = self._opened(delivery, OpenStream(delivery.connection), request_id_of(message), ())
        if isinstance(answer, Delivery):
            guest.start(delivery.stream, requests)
        return answer

    # The session behind a request

    def _enter(self, head: _Head, visit: ExitStack) -> Refuse | None:
        """A sign of the client, and an open request until the visit is over; or the refusal of the session."""
        located = self.host.locate(head.name, head.principal)
        if isinstance(located, Refuse):
            return located
        self.host.take(head.name, Arrive())
        visit.callback(self.host.take, head.name, Depart())
        return None

    def _delivery(self, request: HttpRequest, name: str) -> Delivery:
        return Delivery(self.host, name, self.forms(name), request.scope["state"][STATE_KEY])

    def _opened(
        self, delivery: Delivery, given: OpenStream | Resume, identifier: RequestId | None, cursors: tuple[str, ...]
    ) -> ASGIApp:
        answer = self.host.take(delivery.name, given)
        if isinstance(answer, Opened):
            delivery.stream = answer.stream
            return delivery
        delivery.discard()
        refused = Refuse(Reason.SESSION_UNKNOWN) if isinstance(answer, Gone) else answer
        assert isinstance(refused, Refuse), refused
        return self._refusal(refused, identifier, cursors)

    def _session_closed(self, name: str) -> None:
        guest = self._guests.pop(name, None)
        if guest is not None:
            guest.close()

    # The edge

    def _authenticate(self, request: HttpRequest) -> tuple[Credential, str]:
        if not self.settings.tokens:
            return Credential.NOT_REQUIRED, ""
        scheme, _, presented = request.headers.get("authorization", "").partition(" ")
        found = ""
        for principal, secret in self.settings.tokens.items():
            if hmac.compare_digest(presented.strip().encode(), secret.encode()):
                found = principal
        return (Credential.GOOD, found) if found and scheme.lower() == "bearer" else (Credential.MISSING, "")

    def _is_allowed_origin(self, request: HttpRequest) -> bool:
        """No browser, no Origin. A page of the loopback interface may call; others only if they are allowed."""
        return all(
            origin in self.settings.origins or _is_loopback(origin) for origin in request.headers.getlist("origin")
        )

    async def _read_post(self, request: HttpRequest, empty_ok: bool = False) -> bytes:
        if not (_accepts(request, "application/json") and _accepts(request, "text/event-stream")):
            raise _HttpError(406, "Accept must include application/json and text/event-stream")
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > self.settings.max_body:
                raise _HttpError(413, f"the body has more than {self.settings.max_body} bytes")
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/json" and not (empty_ok and not body):
            raise _HttpError(415, "Content-Type must be application/json")
        return body

    def _refusal(
        self, refused: Refuse, identifier: RequestId | None, cursors: tuple[str, ...] = (), version: str = ""
    ) -> HttpResponse:
        code = UNSUPPORTED_VERSION if refused.reason is Reason.VERSION_UNSUPPORTED else REFUSED
        data = refusal_data(refused, cursors)
        if refused.reason is Reason.VERSION_UNSUPPORTED:
            data |= {"supported": [revision.value for revision in Revision], "requested": version[:_CURSOR_SHOWN]}
        response = json_response(
            status_of(self.settings.policy, refused.reason),
            failure(identifier, RpcError(code, _MESSAGES.get(refused.reason, refused.reason.value), data)),
        )
        if refused.reason is Reason.UNAUTHENTICATED:
            response.headers["www-authenticate"] = 'Bearer realm="reattach"'
        return response


def application(endpoint: Endpoint) -> Starlette:
    """The Starlette application: one route."""
    return Starlette(routes=[Route(endpoint.settings.path, endpoint)])


def refusal_data(refused: Refuse, cursors: tuple[str, ...]) -> dict[str, Json]:
    """``error.data`` of a refusal (spec/12-wire.md, Refusals)."""
    data: dict[str, Json] = {"reason": refused.reason.value}
    if cursors:
        shown = "".join(character for character in ", ".join(cursors) if "!" <= character <= "~")
        data["cursor"] = shown[:_CURSOR_SHOWN]
    if refused.stream != 0:
        data["held"] = {"stream": refused.stream, "mark": refused.mark, "last": refused.last}
    return data


def json_response(status: int, body: dict[str, Json], allow: str | None = None) -> HttpResponse:
    """A JSON-RPC message as the whole answer."""
    headers = {} if allow is None else {"allow": allow}
    return HttpResponse(encode(body), status_code=status, media_type="application/json", headers=headers)


def _read_version(request: HttpRequest) -> Revision | str | None:
    """The revision that the header names; "" if it is absent, None if it is not one of ours."""
    named = set(request.headers.getlist(VERSION_HEADER))
    if not named:
        return ""
    return next((revision for revision in Revision if named == {revision.value}), None)


def _accepts(request: HttpRequest, media: str) -> bool:
    ranges = {
        part.partition(";")[0].strip().lower()
        for value in request.headers.getlist("accept")
        for part in value.split(",")
    }
    return bool(ranges & {media, media.partition("/")[0] + "/*", "*/*"})


def _is_loopback(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.hostname in _LOOPBACK
    except ValueError:
        return False
