"""What the oracle says: an outcome per clause, and findings (design.md sections 3 and 9)."""

from enum import Enum

from attrs import field, frozen

from reattach.oracle.observation import Observation


class Profile(Enum):
    """Which obligations are applied to one and the same run. ``reattach`` holds all of ``mcp`` and more."""

    MCP = "mcp"
    REATTACH = "reattach"


class Level(Enum):
    """How strongly a clause binds."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Outcome(Enum):
    """What was seen of one clause. Not observed is never a pass."""

    HELD = "held"
    VIOLATED = "violated"
    NOT_OBSERVED = "not observed"


class Kind(Enum):
    """What a finding is."""

    VIOLATES_MUST = "violates a MUST"
    AGAINST_SHOULD = "goes against a SHOULD"
    BREAKS_CONTRACT = "breaks its own contract"
    UNDEFINED_AREA = "differs in an undefined area"


class Fault(Enum):
    """The class of a fault, by its name on the command line and in reports. A fixed list; it grows at the end."""

    DUPLICATE_DELIVERY = "duplicate-delivery"
    SILENT_GAP = "silent-gap"
    OUT_OF_ORDER = "out-of-order"
    CROSS_STREAM_REPLAY = "cross-stream-replay"
    CROSS_SESSION_LEAK = "cross-session-leak"
    REPLAY_FROM_START = "replay-from-start"
    BAD_CURSOR_SILENT = "bad-cursor-silent"
    BAD_CURSOR_CRASH = "bad-cursor-crash"
    BAD_CURSOR_HANG = "bad-cursor-hang"
    BAD_CURSOR_KILLS_SESSION = "bad-cursor-kills-session"
    DEAF_AFTER_RESUME = "deaf-after-resume"
    STREAM_NOT_ENDED = "stream-not-ended"
    BROADCAST = "broadcast"
    RESPONSE_ON_WRONG_STREAM = "response-on-wrong-stream"
    TAKEOVER_REFUSED = "takeover-refused"
    SPLIT_VIEW = "split-view"
    ID_NOT_UNIQUE = "id-not-unique"
    ID_CHANGED_MEANING = "id-changed-meaning"
    PRIMING_SKIPS_EVENTS = "priming-skips-events"
    WRONG_STATUS = "wrong-status"
    SESSION_RESURRECTED = "session-resurrected"
    PRINCIPAL_CONFUSION = "principal-confusion"
    HEAD_OF_LINE_BLOCKING = "head-of-line-blocking"
    UNBOUNDED_MEMORY = "unbounded-memory"
    IDLE_NOT_ENFORCED = "idle-not-enforced"
    RESUMPTION_IN_SESSIONLESS_REVISION = "resumption-in-sessionless-revision"
    CLIENT_DUPLICATE = "client-duplicate"
    CLIENT_RESEND = "client-resend"
    CLIENT_NO_REINITIALIZE = "client-no-reinitialize"
    CLIENT_RECONNECT_STORM = "client-reconnect-storm"
    RETRY_IGNORED = "retry-ignored"
    # Beyond the first list of design.md:
    GOOD_CURSOR_REFUSED = "good-cursor-refused"
    PRIMING_MISSING = "priming-missing"
    POSITION_NOT_STATED = "position-not-stated"
    HEALTHY_VIEW_ENDED = "healthy-view-ended"
    INVALID_ID = "invalid-id"
    RETRY_MISSING = "retry-missing"
    CURSOR_NOT_ADVANCED = "cursor-not-advanced"
    CURSOR_AHEAD = "cursor-ahead"
    CURSOR_SHARED = "cursor-shared"
    CURSOR_KEPT_AFTER_404 = "cursor-kept-after-404"
    CURSOR_KEPT_AFTER_REFUSAL = "cursor-kept-after-refusal"
    REINITIALIZED_TWICE = "reinitialized-twice"
    SESSION_DROPPED = "session-dropped"
    RESUMED_BY_POST = "resumed-by-post"
    RESUME_AFTER_RESULT = "resume-after-result"
    OLD_CONNECTION_READ = "old-connection-read"
    DISCONNECT_CANCELS = "disconnect-cancels"
    POSITION_IGNORED = "position-ignored"
    SILENT_LOSS = "silent-loss"
    CURSOR_LOST = "cursor-lost"


OF_CLIENTS = frozenset(
    {
        Fault.CLIENT_DUPLICATE,
        Fault.CLIENT_RESEND,
        Fault.CLIENT_NO_REINITIALIZE,
        Fault.CLIENT_RECONNECT_STORM,
        Fault.RETRY_IGNORED,
        Fault.CURSOR_NOT_ADVANCED,
        Fault.CURSOR_AHEAD,
        Fault.CURSOR_SHARED,
        Fault.CURSOR_KEPT_AFTER_404,
        Fault.CURSOR_KEPT_AFTER_REFUSAL,
        Fault.REINITIALIZED_TWICE,
        Fault.SESSION_DROPPED,
        Fault.RESUMED_BY_POST,
        Fault.RESUME_AFTER_RESULT,
        Fault.OLD_CONNECTION_READ,
        Fault.DISCONNECT_CANCELS,
        Fault.POSITION_IGNORED,
        Fault.SILENT_LOSS,
        Fault.CURSOR_LOST,
    }
)
"""What clients do; every other class is of servers."""


@frozen(kw_only=True)
class Finding:
    """One way in which a clause does not hold, with the shortest exchange that shows it."""

    clause: str
    level: Level
    kind: Kind
    fault: Fault
    summary: str
    """One sentence, in HTTP terms, about what the server (or client) did."""
    evidence: tuple[Observation, ...] = ()
    """The observations that show it, and no others, in order; the last one is the first wrong thing."""
    places: tuple[int, ...] = ()
    """Where each of them stands in what it comes from: its line, or which observation of the run it was, from 1."""
    experiment: str = ""
    """The probe's experiment during which it was seen; empty for recordings."""
    times: int = 1
    """How often it was seen."""
    reproduced: tuple[int, int] | None = None
    """In how many of how many plays of its smallest history it showed again; None if it was not played again."""


@frozen(kw_only=True)
class ClauseResult:
    """What was seen of one clause."""

    clause: str
    level: Level
    outcome: Outcome
    observations: int = 0
    """How often the clause was exercised."""
    note: str = ""
    """Why it was not observed, or what limits the verdict (a horizon, a relation that could not be used)."""


@frozen(kw_only=True)
class Report:
    """The whole verdict on one run."""

    clauses: tuple[ClauseResult, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """What limits the run as a whole: horizons, exemptions, relations not used."""
