"""What passes on the wire, as the oracle sees it (design.md section 7).

An observation is one fact about one connection at one time. ``at`` is monotonic integer milliseconds of whoever
recorded it; ``connection`` numbers the HTTP exchange (one request and its response), never the TCP socket. A recording
is a sequence of these in the order in which the recorder consumed them; order across two connections means no more
than that.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from attrs import field, frozen

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


class Vantage(Enum):
    """Where the recorder stood."""

    CLIENT = "client"
    SERVER = "server"
    BETWEEN = "between"


class Party(Enum):
    """Who ended a connection."""

    CLIENT = "client"
    SERVER = "server"
    NETWORK = "network"


@frozen(kw_only=True)
class Request:
    """An HTTP request was sent (or seen)."""

    at: int
    connection: int
    method: str
    """GET, POST or DELETE."""
    session: str | None = None
    """The ``Mcp-Session-Id`` header."""
    cursors: tuple[str, ...] = ()
    """Every ``Last-Event-ID`` header, in order. Empty: absent. Two or more: repeated."""
    revision: str | None = None
    """The ``MCP-Protocol-Version`` header."""
    principal: str | None = None
    """A name (never the secret) for the credentials that were sent."""
    origin: str | None = None
    """The ``Origin`` header."""
    rpc_id: str | int | None = None
    rpc_method: str | None = None
    payload: Json = None
    """The JSON-RPC message of a POST, if it was recorded."""


@frozen(kw_only=True)
class Response:
    """The status line and headers of an answer arrived."""

    at: int
    connection: int
    status: int
    content_type: str = ""
    """Media type without parameters, lower case."""
    session: str | None = None
    """The ``Mcp-Session-Id`` header of the answer."""


@frozen(kw_only=True)
class Body:
    """A whole answer that is not an event stream: JSON if it parsed, else None with its size."""

    at: int
    connection: int
    payload: Json = None
    size: int = 0
    """Bytes."""


@frozen(kw_only=True)
class Frame:
    """One SSE event was consumed. An event cut short never becomes a frame."""

    at: int
    connection: int
    id: str | None = None
    event: str | None = None
    retry: int | None = None
    """Milliseconds."""
    payload: Json = None
    """The JSON-RPC message; None if the data was empty, absent or not JSON."""
    has_data: bool = False
    """Whether there was a ``data`` field that is not empty."""
    size: int = 0
    """Bytes of data."""


@frozen(kw_only=True)
class Comment:
    """An SSE comment was consumed."""

    at: int
    connection: int
    text: str


@frozen(kw_only=True)
class ReadPaused:
    """The reader stopped reading this connection."""

    at: int
    connection: int


@frozen(kw_only=True)
class ReadResumed:
    """The reader went on reading this connection."""

    at: int
    connection: int


@frozen(kw_only=True)
class Closed:
    """The exchange is over: the body ended, or the connection was cut."""

    at: int
    connection: int
    by: Party
    clean: bool = True
    """True if the body ended as HTTP says; False for a reset or a truncated body."""


@frozen(kw_only=True)
class Quiet:
    """The reader read and nothing came for ``waited`` milliseconds; before a Response: no answer came.

    Quiescence is an observation too: without it nothing can be said about what a server did not send.
    """

    at: int
    connection: int
    waited: int


@frozen(kw_only=True)
class Expect:
    """What a driver knows of a request: the keys (see ``message_key``) of the messages it sends, in order.

    The last key is that of the response, if the call ends in one. ``origin`` says how it is known: ``numbered`` (the
    driver asked for numbered messages) or ``metamorphic`` (the same call left alone, twice or more, gave this).
    ``connection`` is the POST that made the call; a push's expectation names the POST that asked for it, and
    ``standalone`` is true: the messages come on the standalone stream.
    """

    at: int
    connection: int
    keys: tuple[str, ...]
    origin: str = "numbered"
    standalone: bool = False
    pace_ms: int | None = None
    """The longest that the tool waits between two messages, in milliseconds; 0: it sends as fast as the server takes
    them. None if that is not known. Without it nobody can tell a backlog from what was said later (IDL-1, IDL-2)."""


@frozen(kw_only=True)
class Settled:
    """A driver has finished following the call made by ``connection``: it resumed until the server had no more.

    Only then is a missing message a loss and not merely late. ``last`` is the last connection of the chain.
    """

    at: int
    connection: int
    last: int


@frozen(kw_only=True)
class Restarted:
    """The server process was ended and started again (``--restart``)."""

    at: int
    connection: int = field(default=0)


@frozen(kw_only=True)
class Printed:
    """A client program under test wrote a line to its standard output: what its application got, or was told.

    What the lines mean is the contract ``reattach-client/1`` (docs/clients.md).
    """

    at: int
    connection: int = field(default=0)
    payload: Json = None
    """The line as JSON; None if it is none."""
    size: int = 0
    """Characters of the line."""


@frozen(kw_only=True)
class Exited:
    """A client program under test is over."""

    at: int
    connection: int = field(default=0)
    status: int | None = None
    """Its exit status as a shell tells it, 128 and more for a signal; None: it was not over in time, and was ended."""


Observation: TypeAlias = (
    Request
    | Response
    | Body
    | Frame
    | Comment
    | ReadPaused
    | ReadResumed
    | Closed
    | Quiet
    | Expect
    | Settled
    | Restarted
    | Printed
    | Exited
)
