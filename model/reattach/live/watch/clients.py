"""What passing traffic shows of clients: a session is a run of a client, and the machine's client is stepped beside it.

The judges are those of the client bench. Nobody prints here what was applied, and nobody knows whose wish a call or a
cancellation was, so only those clauses are judged that the wire alone decides.
"""

from collections import OrderedDict
from collections.abc import Callable

from attrs import define, evolve, field

from reattach.clauses import Registry
from reattach.machine.revision import Revision
from reattach.oracle.clients import bench  # noqa: F401  (importing registers the judges)
from reattach.oracle.clients.beside import ATTEMPTS_MOST, Beside
from reattach.oracle.clients.judgement import JUDGES, Unseen
from reattach.oracle.clients.tally import Tally
from reattach.oracle.ledger import Ledger
from reattach.oracle.observation import Body, Frame, Observation, Request
from reattach.oracle.reconstruct.forgetting import compact
from reattach.oracle.record import Seen
from reattach.oracle.verdict import ClauseResult, Finding, Profile

ON_THE_WIRE = ("CLI-1", "CLI-3", "CLI-4", "CLI-5", "CLI-10", "CLI-11")
"""The clauses about clients that what passes can decide."""
STORM = "CLI-11"
MOST_SESSIONS = 256
MOST_SEEN = 20_000
"""Observations of one session; of a session that has more, no client is judged."""
MOST_KEPT = 100_000
"""Observations of all of them together; the oldest sessions are judged by what they showed so far, and forgotten."""
_SILENT = "only what its program prints shows it"
_NEVER = "nothing in this run exercised it"


@define(eq=False)
class Clients:
    """The clients of a run, a session at a time."""

    registry: Registry
    profile: Profile
    on_finding: Callable[[Finding], None]
    unjudged: int = field(init=False, default=0)
    """Sessions that were too long to be kept."""
    _tally: Tally = field(init=False)
    _unseen: dict[str, str] = field(init=False, factory=dict)
    """By clause, why it could not be decided, the last time."""
    _runs: "OrderedDict[str, Beside | None]" = field(init=False, factory=OrderedDict)
    """By session id, the one that was used last comes last; None: too long, or not read to the end."""
    _count: int = field(init=False, default=0)
    _kept: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._tally = Tally(self.registry)

    def take(self, session: str, observation: Observation) -> None:
        """Take what a client of a session sent, or was given."""
        self._count += 1
        run = self._runs.setdefault(session, Beside())
        self._runs.move_to_end(session)
        if run is None:
            return
        kept = compact(observation) if isinstance(observation, Request | Body | Frame) else observation
        run.take(Seen(self._count, kept))
        self._kept += 1
        if isinstance(observation, Request) and observation.cursors:
            self._look_for_a_storm(run)
        if len(run.seen) > MOST_SEEN:
            self._kept -= len(run.seen)
            self._runs[session] = None
            self.unjudged += 1
        while len(self._runs) > MOST_SESSIONS or (self._kept > MOST_KEPT and len(self._runs) > 1):
            self._judge(self._runs.popitem(last=False)[1])

    def leave(self, session: str) -> None:
        """Judge no client of a session any more: what it was given could not be read to the end."""
        run = self._runs.get(session)
        if run is not None:
            self._kept -= len(run.seen)
        self._runs[session] = None

    def results(self, revision: Revision) -> tuple[tuple[ClauseResult, ...], tuple[Finding, ...]]:
        """The outcomes of the clauses about clients, and the findings."""
        while self._runs:
            self._judge(self._runs.popitem(last=False)[1])
        clauses, findings = self._tally.results(self.profile, revision, self._why)
        return clauses, tuple(evolve(each, places=()) for each in findings)

    def _why(self, clause: str) -> str:
        return self._unseen.get(clause, _NEVER) if clause in ON_THE_WIRE else _SILENT

    def _judge(self, run: Beside | None) -> None:
        if run is None:
            return
        self._kept -= len(run.seen)
        for clause in ON_THE_WIRE:
            for judgement in JUDGES[clause](run):
                if isinstance(judgement, Unseen):
                    self._unseen[clause] = judgement.why
                else:
                    self._tally.enter(judgement, self.profile)

    def _look_for_a_storm(self, run: Beside) -> None:
        """Tell of a storm while it lasts: it is entered when the session is judged."""
        many = (len(stream.resumptions) for stream in run.streams.values())
        if not any(count > 0 and count % (ATTEMPTS_MOST + 1) == 0 for count in many):
            return
        for judgement in JUDGES[STORM](run):
            if not isinstance(judgement, Unseen):
                finding = Ledger(self.registry).enter(judgement, self.profile)
                if finding is not None:
                    self.on_finding(finding)
