"""What the server can be asked to do: the tools that drivers use to make it send numbered messages, and the methods
that clients need to find and call them.

A tool sends through a ``Channel`` and knows neither sessions nor streams. The two tools are the probe's stimulus
(design.md section 9): each message says its number, so that an observer can tell what is missing, twice or late.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from attrs import field, frozen

import reattach
from reattach.live.server.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Json, Request, RpcError, notification

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LEVEL = "info"
"""The level of every log notification that is sent."""
MAX_COUNT = 10_000
MAX_INTERVAL_MS = 60_000
MAX_SIZE = 1_000_000

SERVER_INFO: Mapping[str, Json] = {
    "name": "reattach-reference",
    "title": "Reattach reference server",
    "version": reattach.__version__,
}
CAPABILITIES: Mapping[str, Json] = {"tools": {}, "logging": {}}
INSTRUCTIONS = (
    "The reference server of MCP Streamable HTTP session resumption. Its tools send numbered log notifications, so "
    "that an observer can tell what a resumption lost or repeated."
)


class UndeliverableError(Exception):
    """The stream can carry no more: it is finished, or its session is over. Ends a tool quietly."""


class TooLargeError(Exception):
    """One message is larger than everything a session may hold (``Policy.window_bytes``)."""


class Channel(Protocol):
    """Where a call's messages go."""

    @property
    def level(self) -> str:
        """The least level of log notifications that the client wants."""

    async def send(self, message: Mapping[str, Json]) -> None:
        """Send on the stream of the request. May wait. Raises ``UndeliverableError`` or ``TooLargeError``."""

    async def push(self, message: Mapping[str, Json]) -> None:
        """Send on the stream of what belongs to no request. Like ``send``."""

    def set_level(self, level: str) -> None:
        """From now on the client wants log notifications of this level and above."""

    def let_go(self) -> None:
        """End the view of the request's stream as soon as it has written what it owes; its client has to resume."""


@frozen
class Arguments:
    """What a call of one of the tools asks for."""

    count: int
    interval_ms: int
    size: int
    label: str


@frozen
class Tool:
    """A tool as clients see it, and what it does."""

    name: str
    title: str
    description: str
    run: Callable[[Channel, Arguments], Awaitable[None]]
    needs_session: bool = False
    """It needs what only a session has: a standalone stream, or a resumption."""
    schema: Mapping[str, Json] = field(factory=lambda: INPUT_SCHEMA)


async def _emit(channel: Channel, arguments: Arguments) -> None:
    await _send_numbered(channel.send, channel, arguments)


async def _push(channel: Channel, arguments: Arguments) -> None:
    await _send_numbered(channel.push, channel, arguments)


def _integer(maximum: int, default: int, description: str) -> dict[str, Json]:
    return {"type": "integer", "minimum": 0, "maximum": maximum, "default": default, "description": description}


INPUT_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 0, "maximum": MAX_COUNT, "description": "How many messages to send."},
        "interval_ms": _integer(MAX_INTERVAL_MS, 0, "Milliseconds before each message."),
        "size": _integer(MAX_SIZE, 0, "Characters of padding in each message."),
        "label": {"type": "string", "default": "", "description": "Repeated in every message."},
    },
    "required": ["count"],
    "additionalProperties": False,
}
NO_ARGUMENTS: Mapping[str, Json] = {"type": "object", "properties": {}, "additionalProperties": False}
_AWAY_MS = 100
"""How long the response is held back after the view was let go."""


async def _reconnect(channel: Channel, _: Arguments) -> None:
    channel.let_go()
    await asyncio.sleep(_AWAY_MS / 1000)


TOOLS: tuple[Tool, ...] = (
    Tool(
        "reattach_emit",
        "Emit numbered messages",
        "Sends numbered log notifications on the stream of this request, then the result.",
        _emit,
    ),
    Tool(
        "reattach_push",
        "Push numbered messages",
        "Sends numbered log notifications on the standalone stream of the session, then the result on the stream of "
        "this request.",
        _push,
        needs_session=True,
    ),
    Tool(
        "test_reconnection",
        "Close the stream and answer on its resumption",
        "Closes the stream of this request before its response; a client that comes back with Last-Event-ID is given "
        "it. The official conformance suite calls this tool.",
        _reconnect,
        needs_session=True,
        schema=NO_ARGUMENTS,
    ),
)


def list_tools(with_session: bool) -> list[Json]:
    """The ``tools`` of a ``tools/list`` result."""
    return [
        {"name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": tool.schema}
        for tool in TOOLS
        if with_session or not tool.needs_session
    ]


async def call_tool(request: Request, channel: Channel, with_session: bool) -> dict[str, Json]:
    """Do what a ``tools/call`` asks; its result.

    Bad arguments and messages that are too large are results with ``isError`` (MCP 2025-11-25, Tools, Error handling).
    Raises ``RpcError`` for an unknown tool, ``UndeliverableError`` if the stream ends under it.
    """
    tool = find_tool(request, with_session)
    try:
        arguments = _read_arguments(request.params.get("arguments", {}), tool.schema)
        await tool.run(channel, arguments)
    except ValueError as error:
        return _tool_result(str(error), True)
    except TooLargeError:
        return _tool_result("a message of this size exceeds what a session may hold", True)
    return _tool_result(f"sent {arguments.count} messages", False)


def find_tool(request: Request, with_session: bool) -> Tool:
    """The tool that a ``tools/call`` names. Raises ``RpcError``."""
    name = request.params.get("name")
    for tool in TOOLS:
        if tool.name == name and (with_session or not tool.needs_session):
            return tool
    raise RpcError(INVALID_PARAMS, f"unknown tool: {str(name)[:80]}")


def read_level(value: Json) -> str:
    """A log level. Raises ``RpcError``."""
    if not isinstance(value, str) or value not in LEVELS:
        raise RpcError(INVALID_PARAMS, f"level is one of {', '.join(LEVELS)}")
    return value


async def answer(request: Request, channel: Channel) -> dict[str, Json]:
    """The result of a request within a session. Raises ``RpcError`` or ``UndeliverableError``."""
    match request.method:
        case "ping":
            return {}
        case "tools/list":
            return {"tools": list_tools(with_session=True)}
        case "tools/call":
            return await call_tool(request, channel, with_session=True)
        case "logging/setLevel":
            channel.set_level(read_level(request.params.get("level")))
            return {}
        case _:
            raise RpcError(METHOD_NOT_FOUND, f"unknown method: {request.method[:80]}")


def _read_arguments(value: Json, schema: Mapping[str, Json]) -> Arguments:
    if not isinstance(value, Mapping):
        raise ValueError("arguments: an object is needed")
    known = schema["properties"]
    assert isinstance(known, Mapping)
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise ValueError(f"{unknown[0][:80]}: there is no such argument")
    if not known:
        return Arguments(0, 0, 0, "")
    label = value.get("label", "")
    if not isinstance(label, str):
        raise ValueError("label: a string is needed")
    return Arguments(
        _read_integer(value, "count", MAX_COUNT),
        _read_integer(value, "interval_ms", MAX_INTERVAL_MS),
        _read_integer(value, "size", MAX_SIZE),
        label,
    )


def _read_integer(values: Mapping[str, Json], name: str, maximum: int) -> int:
    value = values.get(name, None if name == "count" else 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise ValueError(f"{name}: an integer from 0 to {maximum} is needed")
    return value


async def _send_numbered(
    send: Callable[[Mapping[str, Json]], Awaitable[None]], channel: Channel, arguments: Arguments
) -> None:
    padding = "x" * arguments.size
    for number in range(1, arguments.count + 1):
        # Also with no interval: other tasks get their turn between two messages.
        await asyncio.sleep(arguments.interval_ms / 1000)
        if LEVELS.index(channel.level) <= LEVELS.index(LEVEL):
            data: dict[str, Json] = {"label": arguments.label, "n": number, "padding": padding}
            await send(notification("notifications/message", {"level": LEVEL, "logger": "reattach", "data": data}))


def _tool_result(text: str, is_error: bool) -> dict[str, Json]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
