"""The numbers a deployment chooses, as data.

Every limit and every budget of the standard is a field here and nowhere else. Times are integer milliseconds,
counts are integers, sizes are bytes.
"""

from collections.abc import Callable

from attrs import frozen


@frozen
class Policy:
    """What a server promises about retention and patience. Defaults are the seed's (N = 256 events, T = 300 s)."""

    window_events: int = 256
    """N: the most events one session holds (WIN-1)."""
    window_ms: int = 300_000
    """T: the age in milliseconds past which no event is held (WIN-2)."""
    window_bytes: int = 16_777_216
    """B: the most bytes of messages one session holds (WIN-1)."""
    stall_ms: int = 30_000
    """The stall budget: how long a view may leave something unread (IDL-1)."""
    stall_reads: int = 1
    """R: writes a view that is behind must have accepted in each stall budget (the seed's read-rate threshold)."""
    absence_ms: int = 300_000
    """The absence budget: how long a session may go without any sign of its client (IDL-4)."""
    open_streams: int = 64
    """The most streams of a session that are unfinished or have a view (WIN-3)."""
    sessions: int = 1_024
    """The most sessions a server holds (WIN-3)."""
    heartbeat_ms: int = 15_000
    """How long a view may be quiet before a comment is written to it; under 60 s, to find half-open connections."""
    retry_ms: int = 1_000
    """The reconnection delay that is announced before a server-side close (IDL-5)."""
    refusal_status: int = 409
    """HTTP status of a refused cursor: 409, or 404 as the seed also allows (CUR-9 is then given up)."""


SHORT = Policy(
    window_events=16,
    window_ms=3_000,
    window_bytes=1_048_576,
    stall_ms=1_000,
    absence_ms=5_000,
    open_streams=16,
    sessions=64,
    heartbeat_ms=500,
    retry_ms=200,
)
"""The policy of demos and probes: small enough that every limit can be reached in seconds."""


CONDITIONS: dict[str, Callable[[Policy], bool]] = {
    "window_events >= 2": lambda policy: policy.window_events >= 2,
    "window_bytes >= 1": lambda policy: policy.window_bytes >= 1,
    "stall_reads >= 1": lambda policy: policy.stall_reads >= 1,
    "0 < stall_ms < window_ms": lambda policy: 0 < policy.stall_ms < policy.window_ms,
    "0 <= retry_ms < absence_ms": lambda policy: 0 <= policy.retry_ms < policy.absence_ms,
    "open_streams >= 2": lambda policy: policy.open_streams >= 2,
    "sessions >= 1": lambda policy: policy.sessions >= 1,
    "400 <= refusal_status < 500": lambda policy: 400 <= policy.refusal_status < 500,
    "0 < heartbeat_ms < 60000": lambda policy: 0 < policy.heartbeat_ms < 60_000,
}
"""What makes the numbers fit each other, by what it says.

N >= 2: one event may be written and one held. stall < T: a reader inside its budget does not lose to age what it was
about to read. retry < absence: a client that obeys ``retry`` comes back to a living session. open_streams >= 2: the
standalone stream is always one of them. heartbeat < 60 s: below the shortest idle limit of common load balancers.
"""


def is_valid(policy: Policy) -> bool:
    """Whether the numbers fit each other; the precondition of every theorem."""
    return all(holds(policy) for holds in CONDITIONS.values())
