"""What to soak and how, how far it has come, and what came of it."""

from collections.abc import Callable

from attrs import frozen

from reattach.machine.revision import Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.soak import Phase, Soak
from reattach.oracle.verdict import Profile, Report


@frozen(kw_only=True)
class SoakOptions:
    """What to soak and how. Exactly one of ``url`` and ``command`` is given, and ``pid`` with ``url``."""

    url: str | None = None
    command: str | None = None
    path: str = "/mcp"
    """The endpoint's path on a server that is started by ``command``."""
    pid: int | None = None
    """The server's process, of which the children count too."""
    profile: Profile = Profile.REATTACH
    """Memory and idleness belong to this one; under ``mcp`` they are a server's own business."""
    revision: Revision | None = None
    """The revision to ask for; the newest with resumption, if None."""
    declaration: Declaration = NOTHING_DECLARED
    stimulus: str | None = None
    """A preset or a file; chosen by what the server has, if None."""
    seed: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request."""
    ca: str | None = None
    """A file with a private certificate authority (PEM)."""
    phases: tuple[Phase, ...] = tuple(Phase)
    sessions: int = 200
    """How many sessions are held at once."""
    events: int = 64
    """How many events each call emits."""
    size: int = 4_096
    """Bytes of padding in each, where the stimulus takes a size."""
    limit_bytes: int = 1_024_000_000
    """A phase is broken off when so much is resident."""
    budget_ms: int = 600_000


@frozen(kw_only=True)
class SoakResult:
    """What a soak found, also if it was stopped before its end."""

    report: Report
    soak: Soak
    target: str
    """The URL, or the command."""
    server: str
    revision: str
    stimulus: str
    elapsed_ms: int
    stopped: str
    """Why it stopped before its end; empty if it did not."""


@frozen(kw_only=True)
class SoakProgress:
    """How far a soak has come."""

    phase: Phase
    rounds: int
    resident: int
    """Bytes."""
    elapsed_ms: int
    budget_ms: int
    said: str
    """What is known so far."""


OnSoakProgress = Callable[[SoakProgress], None]
