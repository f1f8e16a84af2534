"""JSON-RPC messages as the server reads and writes them. Bodies in, typed messages out; nothing of HTTP."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
RequestId: TypeAlias = str | int

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REFUSED = -32000
"""A refusal of the transport; ``data.reason`` says which."""
HEADER_MISMATCH = -32020
"""MCP 2026-07-28: the headers do not say what the body says."""
UNSUPPORTED_VERSION = -32022
"""MCP 2026-07-28: the revision is not spoken here; ``data.supported`` lists those that are."""

_NO_PARAMS: Mapping[str, Json] = {}


class RpcError(Exception):
    """What a JSON-RPC error response says."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@frozen
class Request:
    """A call that is owed a response."""

    id: RequestId
    method: str
    params: Mapping[str, Json]


@frozen
class Notification:
    """A message that is owed nothing."""

    method: str
    params: Mapping[str, Json]


@frozen
class Response:
    """The client's answer to a request of the server's."""

    id: RequestId | None


Message: TypeAlias = Request | Notification | Response


@frozen
class Batch:
    """An array of messages (MCP 2025-03-26 alone)."""

    messages: tuple[Message, ...]


def read_body(body: bytes) -> Message | Batch:
    """Read the body of a POST.

    Raises ``RpcError``: PARSE_ERROR if it is not JSON, INVALID_REQUEST if it is not JSON-RPC.
    """
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, "the body is not JSON") from error
    if isinstance(value, list):
        if not value:
            raise RpcError(INVALID_REQUEST, "an empty batch")
        return Batch(tuple(_read_message(item) for item in value))
    return _read_message(value)


def request_id_of(message: Message | Batch | None) -> RequestId | None:
    """The id under which an error about this message is reported."""
    return message.id if isinstance(message, Request) else None


def encode(value: Json) -> bytes:
    """Compact JSON on one line, in ASCII."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def result(identifier: RequestId, value: Mapping[str, Json]) -> dict[str, Json]:
    """A response."""
    return {"jsonrpc": "2.0", "id": identifier, "result": value}


def failure(identifier: RequestId | None, error: RpcError) -> dict[str, Json]:
    """An error response."""
    said: dict[str, Json] = {"code": error.code, "message": error.message}
    if error.data is not None:
        said["data"] = error.data
    return {"jsonrpc": "2.0", "id": identifier, "error": said}


def notification(method: str, params: Mapping[str, Json]) -> dict[str, Json]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _read_message(value: object) -> Message:
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "not a JSON-RPC 2.0 message")
    identifier, method, params = value.get("id"), value.get("method"), value.get("params", _NO_PARAMS)
    if "id" in value and (isinstance(identifier, bool) or not isinstance(identifier, str | int)):
        if "method" in value or identifier is not None:
            raise RpcError(INVALID_REQUEST, "a request id is a string or an integer")
        return Response(None)
    if "method" not in value:
        if "id" not in value or ("result" in value) == ("error" in value):
            raise RpcError(INVALID_REQUEST, "neither a request, a notification nor a response")
        return Response(identifier)
    if not isinstance(method, str) or not isinstance(params, dict):
        raise RpcError(INVALID_REQUEST, "method is a string and params an object")
    return Request(identifier, method, params) if isinstance(identifier, str | int) else Notification(method, params)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
