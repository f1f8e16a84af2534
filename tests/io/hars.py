"""HAR files as their makers write them: what a browser would have recorded of an exchange that was observed."""

import base64
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from reattach.oracle.observation import Body, Closed, Comment, Frame, Json, Observation, Party, Request, Response

BEGINNING = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
URL = "http://127.0.0.1:8000/mcp"
STREAM = "text/event-stream"
INITIALIZE: dict[str, Json] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}},
}


def har(entries: Iterable[Mapping[str, Any]], creator: str = "Playwright") -> dict[str, Any]:
    """The whole document."""
    return {"log": {"version": "1.2", "creator": {"name": creator, "version": "1"}, "pages": [], "entries": [*entries]}}


def entry(
    at: float,
    method: str = "POST",
    *,
    session: str | None = None,
    cursor: str | None = None,
    message: Json = None,
    status: int = 200,
    kind: str = "application/json",
    given: str | None = None,
    text: str | None = None,
    wait: float = 2.0,
    receive: float = 1.0,
    failure: str | None = None,
    url: str = URL,
    packed: bool = False,
) -> dict[str, Any]:
    """One entry, ``at`` ms after the beginning. Without ``text`` the body is not in the file."""
    asked = {
        "Accept": STREAM if method == "GET" else f"application/json, {STREAM}",
        "MCP-Protocol-Version": None if message == INITIALIZE else "2025-11-25",
        "Mcp-Session-Id": session,
        "Last-Event-ID": cursor,
    }
    content: dict[str, Any] = {"size": -1 if text is None else len(text.encode()), "mimeType": kind}
    if text is not None:
        content["text"] = base64.b64encode(text.encode()).decode() if packed else text
        content |= {"encoding": "base64"} if packed else {}
    request: dict[str, Any] = {"method": method, "url": url, "httpVersion": "HTTP/1.1", "headers": _headers(asked)}
    if message is not None:
        request["postData"] = {"mimeType": "application/json", "text": json.dumps(message), "params": []}
    response: dict[str, Any] = {
        "status": status,
        "statusText": "",
        "headers": _headers({"content-type": kind, "mcp-session-id": given}),
        "content": content,
    }
    if failure is not None:
        response["_failureText"] = failure
    return {
        "startedDateTime": (BEGINNING + timedelta(milliseconds=at)).isoformat(timespec="milliseconds"),
        "time": max(wait, 0) + max(receive, 0) if status >= 100 else -1,
        "request": request,
        "response": response,
        "cache": {},
        "timings": {"dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": wait, "receive": receive},
    }


def _headers(named: Mapping[str, str | None]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in named.items() if value is not None]


def event(name: str | None, payload: Json = None, *, retry: int | None = None, kind: str | None = None) -> str:
    """An event as a server writes it; without a payload its data are empty."""
    fields = {"id": name, "event": kind, "retry": retry}
    lines = [f"{key}: {value}\n" for key, value in fields.items() if value is not None]
    return "".join([*lines, "data:\n" if payload is None else f"data: {json.dumps(payload)}\n", "\n"])


def entries_of(observations: Iterable[Observation]) -> list[dict[str, Any]]:
    """What a browser would have recorded: of what was cut no body, of what was never answered no status."""
    by_connection: dict[int, list[Observation]] = {}
    for observation in observations:
        by_connection.setdefault(observation.connection, []).append(observation)
    exchanges = [seen for seen in by_connection.values() if isinstance(seen[0], Request)]
    return [_entry_of(seen) for seen in exchanges]


def _entry_of(seen: list[Observation]) -> dict[str, Any]:
    request = seen[0]
    assert isinstance(request, Request)
    answer = next((each for each in seen if isinstance(each, Response)), None)
    end = next((each for each in seen if isinstance(each, Closed)), None)
    body = next((each for each in seen if isinstance(each, Body)), None)
    stream = answer is not None and answer.content_type == STREAM and 200 <= answer.status < 300
    whole = end is not None and end.by is Party.SERVER and end.clean
    text: str | None = None
    if whole or body is not None:
        text = "".join(_text(each) for each in seen) if stream else json.dumps(body.payload) if body else ""
    failure = None
    if end is not None and not whole:
        failure = "net::ERR_ABORTED" if end.by is Party.CLIENT else "net::ERR_INCOMPLETE_CHUNKED_ENCODING"
    message = request.payload
    if message is None and request.rpc_method is not None:
        message = {"jsonrpc": "2.0", "id": request.rpc_id, "method": request.rpc_method, "params": {}}
        message = {key: value for key, value in message.items() if value is not None}
    made = entry(
        request.at,
        request.method,
        session=request.session,
        message=message,
        status=answer.status if answer is not None else -1,
        kind=answer.content_type if answer is not None else "",
        given=answer.session if answer is not None else None,
        text=text,
        wait=answer.at - request.at if answer is not None else -1,
        receive=end.at - answer.at + 0.25 if whole and end is not None and answer is not None else -1,
        failure=failure,
    )
    headers = [each for each in made["request"]["headers"] if each["name"] != "MCP-Protocol-Version"]
    headers += _headers({"MCP-Protocol-Version": request.revision, "Origin": request.origin})
    headers += _headers({"Authorization": request.principal and f"Bearer {request.principal}"})
    headers += [{"name": "Last-Event-ID", "value": cursor} for cursor in request.cursors]
    made["request"]["headers"] = headers
    return made


def _text(seen: Observation) -> str:
    if isinstance(seen, Comment):
        return f": {seen.text}\n"
    return event(seen.id, seen.payload, retry=seen.retry, kind=seen.event) if isinstance(seen, Frame) else ""
