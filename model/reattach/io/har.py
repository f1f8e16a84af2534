"""HAR files as observations: what of MCP is in one, and what it does not show (spec/13-recordings.md).

A HAR has whole exchanges and no observations. It says when a request began, when its answer began and when it was over,
and has the body of the answer in one piece; so of an event it says between which times it came, and no more. Here each
bound is taken that says less: an event stands in the order where its body was over, which is when it had surely been
read, with the time at which the answer began, which is the earliest at which it can have come. Whether a stream was
ended or cut is known only where the maker of the file marks what was cut. What is not known is not made up: a stream
that may have been cut is a cut one, from which nothing is concluded, and an answer without a time is left out.
"""

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from attrs import field, frozen

from reattach.io.har_file import Document, HarEntry, HarError, Pair, PostData, read_entries
from reattach.io.trace import DEEPEST, TraceError, is_too_deep
from reattach.live.recorder import observation_of
from reattach.live.sse import BlockTooLargeError, Decoder
from reattach.machine.revision import Revision
from reattach.oracle.observation import Body, Closed, Comment, Frame, Json, Observation, Party, Request, Response
from reattach.oracle.record import EVENT_STREAM

MOST_TRAFFIC = 256 * 1024 * 1024
"""Bytes of messages that are held of one file. What is no MCP is not held and not counted."""

_STREAMED_IS_EMPTY = {"Playwright": False, "WebInspector": False, "mitmproxy": True}
"""The makers that mark an answer which was cut short; and whether one that was passed on as it came looks empty."""
_SESSION, _REVISION, _CURSOR = "mcp-session-id", "mcp-protocol-version", "last-event-id"
_REDACTED = re.compile(r"(.)\1{2,}\Z|.*(redact|remov|filter|saniti[sz]|mask|hidden|\*\*\*)", re.IGNORECASE | re.DOTALL)
_NO_BODY = frozenset({202, 204})
"""The statuses whose answer has no body: an empty one is known to be whole."""


@frozen(kw_only=True)
class Exchange:
    """An entry that may be of MCP: what is needed of it."""

    number: int
    """Of the entry, from 1."""
    endpoint: str
    started: int
    """Milliseconds since 1970; so are ``answered`` and ``over``."""
    method: str
    session: str | None
    cursors: tuple[str, ...]
    revision: str | None
    origin: str | None
    credentials: str | None = field(repr=False)
    """The ``Authorization`` header."""
    message: Json = field(default=None, repr=False)
    answered: int | None = None
    """When its answer began; None if there is none, or it is not known when."""
    status: int = 0
    content_type: str = ""
    given: str | None = None
    """The session id in the answer."""
    size: int | None = None
    """Bytes of the answer's body; None: it is not in the file."""
    items: tuple[Frame | Comment, ...] = field(default=(), repr=False)
    """What was in the body, if it is an event stream."""
    payload: Json = field(default=None, repr=False)
    """What the body was, if it is no event stream; None if it is not JSON."""
    over: int | None = None
    """When the answer was over; None if nobody knows."""
    broken: str | None = None
    """What the file says broke it."""

    @property
    def marked(self) -> bool:
        """Whether it shows by itself that its endpoint speaks Streamable HTTP."""
        opens = isinstance(self.message, Mapping) and self.message.get("method") == "initialize"
        return opens or any(each is not None for each in (self.session, self.revision, self.given))

    @property
    def is_stream(self) -> bool:
        """Whether it was answered with an event stream."""
        return _is_stream(self.status, self.content_type)


@frozen(kw_only=True)
class Endpoint:
    """What a file has of one MCP endpoint."""

    url: str
    """Without query: it may hold a secret."""
    observations: tuple[Observation, ...] = field(repr=False)
    """In order. Their connections are the numbers of the entries."""
    revision: str = ""
    """The one revision that is spoken; empty if there are several, or it is not said."""
    cut: tuple[int, ...] = ()
    """The entries whose answer was cut, or may have been, and is concluded nothing from."""
    unknown: tuple[int, ...] = ()
    """The entries whose answer is left out, because it is not said when it came."""
    sessionless: bool = False
    """Whether no session id is in it: the server issues none, or they were taken out."""


@frozen(kw_only=True)
class Har:
    """What of MCP is in a file."""

    endpoints: tuple[Endpoint, ...]
    entries: int
    ignored: Mapping[str, int]
    """How many entries were not taken, by reason."""
    redacted: tuple[str, ...] = ()
    """The URLs of the endpoints that cannot be judged, because the session ids were taken out."""
    problem: TraceError | None = None
    """Why it could not be read to its end; None if it could."""


def read_har(path: Path) -> Har:
    """What of MCP is in a file, up to where it is bad. Raises HarError if nothing could be read."""
    document = Document()
    kept: list[Exchange] = []
    ignored: Counter[str] = Counter()
    problem: TraceError | None = None
    held = 0
    try:
        for number, entry in read_entries(path, document):
            exchange = _exchange(path, number, entry)
            if isinstance(exchange, str):
                ignored[exchange] += 1
                continue
            asked = entry.request.post_data.text if entry.request.post_data is not None else None
            held += (exchange.size or 0) + len(asked or "")
            if held > MOST_TRAFFIC:
                raise HarError(path, number, f"more than {MOST_TRAFFIC} bytes of messages in one file")
            kept.append(exchange)
    except HarError as error:
        if not document.entries:
            raise
        problem = error
    by_endpoint: dict[str, list[Exchange]] = {}
    for exchange in kept:
        by_endpoint.setdefault(exchange.endpoint, []).append(exchange)
    endpoints, redacted = [], []
    for url, exchanges in by_endpoint.items():
        if not any(exchange.marked for exchange in exchanges):
            ignored["like MCP, at a URL where nothing else is"] += len(exchanges)
        elif any(_is_of_the_older_transport(exchange) for exchange in exchanges):
            ignored["of the older HTTP+SSE transport"] += len(exchanges)
        elif _lacks_sessions(exchanges):
            redacted.append(url)
        else:
            endpoints.append(_endpoint(document.creator, url, exchanges))
    return Har(
        endpoints=tuple(endpoints),
        entries=document.entries,
        ignored=dict(ignored),
        redacted=tuple(redacted),
        problem=problem,
    )


# Which entries may be of MCP


def _exchange(path: Path, number: int, entry: HarEntry) -> Exchange | str:
    """What is needed of an entry; or why it is not taken. Raises HarError."""
    request, response, headers = entry.request, entry.response, entry.request.headers
    session = _header(headers, _SESSION)
    message = _message(path, number, request.post_data) if request.method == "POST" else None
    if request.method == "POST":
        taken = session is not None or _is_json_rpc(message)
    elif request.method == "GET":
        accept = _header(headers, "accept")
        taken = EVENT_STREAM in accept.lower() if accept is not None else session is not None
    else:
        taken = request.method == "DELETE" and session is not None
    if not taken:
        return "not of MCP"
    if 300 <= response.status < 400:
        return "answered with a redirection"
    if entry.from_cache:
        return "answered from the browser's cache"
    if response.by_worker:
        return "answered by a service worker"
    began, over = _times(entry)
    status = response.status if began is not None else 0
    mime = response.content.mime_type if response.content is not None else None
    content_type = (_header(response.headers, "content-type") or mime or "").partition(";")[0].strip().lower()
    body = _body(path, number, entry)
    stream = _is_stream(status, content_type)
    return Exchange(
        number=number,
        endpoint=_endpoint_of(path, number, request.url),
        started=int(entry.started),
        method=request.method,
        session=session,
        cursors=tuple(each.value for each in headers if each.name.lower() == _CURSOR),
        revision=_header(headers, _REVISION),
        origin=_header(headers, "origin"),
        credentials=_header(headers, "authorization"),
        message=message,
        answered=began,
        status=status,
        content_type=content_type,
        given=_header(response.headers, _SESSION),
        size=None if body is None else len(body),
        items=_items(path, number, body, began) if stream and body and began is not None else (),
        payload=_parsed(path, number, body) if body and not stream else None,
        over=over,
        broken=response.failure or response.error,
    )


def _is_stream(status: int, content_type: str) -> bool:
    return 200 <= status < 300 and content_type == EVENT_STREAM


def _times(entry: HarEntry) -> tuple[int | None, int | None]:
    """When the answer began, as late as may be where it is not said, and when it was over; None if nobody knows."""
    lasted, timings = entry.time, entry.timings
    if entry.response.status < 100 or lasted is None or lasted < 0:
        return None, None
    over = int(entry.started + lasted)
    if timings is None or timings.wait is None or timings.wait < 0:
        return over, over if timings is not None and (timings.receive or 0) > 0 else None
    received = min(max(timings.receive or 0.0, 0.0), lasted)
    return int(entry.started + lasted - received), over if received > 0 else None


def _header(headers: Iterable[Pair], name: str) -> str | None:
    return next((each.value for each in headers if each.name.lower() == name), None)


def _endpoint_of(path: Path, number: int, url: str) -> str:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        raise HarError(path, number, "request.url: not a URL") from None
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


def _message(path: Path, number: int, data: PostData | None) -> Json:
    if data is None or not data.text:
        return None
    return _parsed(path, number, _bytes(path, number, "request.postData", data.text, data.encoding))


def _body(path: Path, number: int, entry: HarEntry) -> bytes | None:
    content = entry.response.content
    if content is None or content.text is None:
        return None
    return _bytes(path, number, "response.content", content.text, content.encoding)


def _bytes(path: Path, number: int, where: str, text: str, encoding: str | None) -> bytes:
    if not encoding:
        return text.encode("utf-8", errors="replace")
    if encoding != "base64":
        raise HarError(path, number, f"{where}.encoding: base64, or none, is needed")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise HarError(path, number, f"{where}.text: not base64") from None


def _items(path: Path, number: int, body: bytes, at: int) -> tuple[Frame | Comment, ...]:
    """What was in an event stream. Raises HarError."""
    items = []
    try:
        for item in Decoder().feed(body):
            seen = observation_of(item, at, number)
            if isinstance(seen, Frame):
                _check_depth(path, number, seen.payload)
            items.append(seen)
    except BlockTooLargeError as error:
        raise HarError(path, number, str(error)) from None
    return tuple(items)


def _parsed(path: Path, number: int, text: bytes) -> Json:
    """A JSON value; None if it is none. Raises HarError if it is nested too deep."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        raise HarError(path, number, f"a message nested deeper than {DEEPEST}") from None
    _check_depth(path, number, value)
    return value


def _check_depth(path: Path, number: int, value: Json) -> None:
    if isinstance(value, dict | list) and is_too_deep(value):
        raise HarError(path, number, f"a message nested deeper than {DEEPEST}")


def _is_json_rpc(message: Json) -> bool:
    messages = message if isinstance(message, list) else [message]
    return any(isinstance(each, Mapping) and each.get("jsonrpc") == "2.0" for each in messages)


def _is_of_the_older_transport(exchange: Exchange) -> bool:
    """Whether a request was merely accepted: Streamable HTTP answers it, the transport before it does so elsewhere."""
    message = exchange.message
    asks = isinstance(message, Mapping) and "method" in message and message.get("id") is not None
    return asks and exchange.status == 202


def _lacks_sessions(exchanges: Sequence[Exchange]) -> bool:
    """Whether session ids were taken out: replaced by what is none, or out of every request that should have one."""
    named = {each for exchange in exchanges for each in (exchange.session, exchange.given) if each is not None}
    if any(_REDACTED.match(each) for each in named):
        return True
    issued = any(exchange.given is not None for exchange in exchanges)
    others = [exchange for exchange in exchanges if _method_of(exchange.message) != "initialize"]
    return issued and bool(others) and all(exchange.session is None for exchange in others)


def _method_of(message: Json) -> str | None:
    method = message.get("method") if isinstance(message, Mapping) else None
    return method if isinstance(method, str) else None


# From exchanges to observations


def _endpoint(creator: str, url: str, exchanges: Sequence[Exchange]) -> Endpoint:
    ordered = sorted(exchanges, key=lambda each: (each.started, each.number))
    placed: list[tuple[int, int, Observation]] = []
    cut, unknown = [], []
    resumed, principals = _resumed_while_open(ordered), _principals(ordered)
    for rank, exchange in enumerate(ordered):
        ended = _shows_its_end(creator, exchange) and exchange.number not in resumed
        if exchange.answered is None and not exchange.broken:
            unknown.append(exchange.number)
        elif exchange.answered is None or (exchange.is_stream and not ended):
            cut.append(exchange.number)
        placed += [(at, rank, observation) for at, observation in _observations(exchange, principals, ended=ended)]
    placed.sort(key=lambda each: each[:2])
    spoken = {each.revision for each in exchanges if each.revision is not None}
    spoken &= {revision.value for revision in Revision}
    return Endpoint(
        url=url,
        observations=tuple(observation for _, _, observation in placed),
        revision=spoken.pop() if len(spoken) == 1 else "",
        cut=tuple(cut),
        unknown=tuple(unknown),
        sessionless=all(exchange.session is None and exchange.given is None for exchange in exchanges),
    )


def _shows_its_end(creator: str, exchange: Exchange) -> bool:
    """Whether the server is known to have ended its answer, all of which is in the file."""
    if creator not in _STREAMED_IS_EMPTY or exchange.broken or exchange.over is None or exchange.size is None:
        return False
    return exchange.size > 0 or exchange.status in _NO_BODY or not _STREAMED_IS_EMPTY[creator]


def _resumed_while_open(exchanges: Iterable[Exchange]) -> set[int]:
    """The streams from an event of which another request resumed while they were open: that may have ended them."""
    streams: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        for item in exchange.items:
            if isinstance(item, Frame) and item.id:
                streams.setdefault(item.id, []).append(exchange)
    return {
        stream.number
        for exchange in exchanges
        for cursor in exchange.cursors
        for stream in streams.get(cursor, ())
        if stream is not exchange and stream.started <= exchange.started and stream.over is not None
        if exchange.started <= stream.over
    }


def _principals(exchanges: Iterable[Exchange]) -> dict[str, str]:
    """A name for each set of credentials. Two of them may be of one principal: a token may have been renewed."""
    sent = (exchange.credentials for exchange in exchanges)
    distinct = dict.fromkeys(each for each in sent if each is not None and not _REDACTED.match(each))
    return {credentials: f"credentials-{number}" for number, credentials in enumerate(distinct, start=1)}


def _observations(exchange: Exchange, principals: Mapping[str, str], *, ended: bool) -> list[tuple[int, Observation]]:
    """The observations of one exchange, each with the time by which it has its place."""
    connection, asked = exchange.number, exchange.started
    rpc_id = exchange.message.get("id") if isinstance(exchange.message, Mapping) else None
    request = Request(
        at=asked,
        connection=connection,
        method=exchange.method,
        session=exchange.session,
        cursors=exchange.cursors,
        revision=exchange.revision,
        principal=principals.get(exchange.credentials or ""),
        origin=exchange.origin,
        rpc_id=rpc_id if isinstance(rpc_id, str | int) else None,
        rpc_method=_method_of(exchange.message),
        payload=exchange.message,
    )
    cutter = Party.NETWORK if exchange.broken and "abort" not in exchange.broken.lower() else Party.CLIENT
    began = exchange.answered
    if began is None:
        return [(asked, request), (asked, Closed(at=asked, connection=connection, by=cutter, clean=False))]
    over = began if exchange.over is None else exchange.over
    answer = Response(
        at=began,
        connection=connection,
        status=exchange.status,
        content_type=exchange.content_type,
        session=exchange.given,
    )
    seen: list[tuple[int, Observation]] = [
        (asked, request),
        (began, answer),
        *((over, item) for item in exchange.items),
    ]
    if exchange.payload is not None or (exchange.size and ended and not exchange.is_stream):
        ended = True  # what is JSON is whole
        body = Body(at=over, connection=connection, payload=exchange.payload, size=exchange.size or 0)
        seen.append((over, body))
    if ended:
        seen.append((over, Closed(at=over, connection=connection, by=Party.SERVER)))
    elif exchange.is_stream:
        seen.append((over, Closed(at=over, connection=connection, by=cutter, clean=False)))
    return seen
