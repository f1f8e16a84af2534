"""What the phases of a soak stand on: the server and its process, the clock, and what was measured so far."""

import random
import ssl
from collections.abc import Iterable

from attrs import define, evolve, field

from reattach.live.bench import Bench
from reattach.live.client import Client, Principal
from reattach.live.experiments.window import MARGIN_MS
from reattach.live.pace import Pace
from reattach.live.preflight import Situation
from reattach.live.probe import ANSWER_MS
from reattach.live.recorder import Recorder
from reattach.live.soak.crowd import Crowd, NobodyJudges
from reattach.live.soak.options import OnSoakProgress, SoakOptions, SoakProgress
from reattach.live.soak.process import Monitor, Tree
from reattach.live.wire import Endpoint, tls_for
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.oracle import Oracle
from reattach.oracle.soak import Phase, Round, Soak, diagnosis

FEW = 16
"""The most events that a session is given in the phase *sessions*."""
SAMPLE = 3
"""How many of the sessions that are held the oracle sees, and are resumed to count what they hold."""
SHARES = {Phase.SESSIONS: 0.3, Phase.EVENTS: 0.6, Phase.RELEASE: 0.85, Phase.PROBED: 1.0}
"""By which share of the time a phase begins nothing more."""


@define(eq=False)
class Ground:
    """One soak of one server."""

    options: SoakOptions
    endpoint: Endpoint
    tree: Tree
    on_progress: OnSoakProgress | None
    soaked: Soak = field(init=False)
    """What was measured so far."""
    situation: Situation | None = field(init=False, default=None)
    """What the preflight found out, once it has."""
    crowd: Crowd = field(init=False)
    """The sessions that are held."""
    abandons: bool = field(init=False, default=False)
    """Whether a call goes on when its client is gone."""
    deletes: int | None = field(init=False, default=None)
    """The status of a DELETE ..."""
    ends: bool = field(init=False, default=False)
    """... and whether the session was gone after it."""
    notes: list[str] = field(init=False, factory=list)
    oracle: Oracle = field(init=False)
    monitor: Monitor = field(init=False)
    _tls: ssl.SSLContext | None = field(init=False)
    _pace: Pace = field(init=False, factory=Pace)
    _recorder: Recorder = field(init=False)
    _apart: Recorder = field(init=False)
    _rng: random.Random = field(init=False)
    _first_id: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        options = self.options
        self._tls = tls_for(options.ca, self.endpoint)
        self._rng = random.Random(options.seed)
        self.oracle = Oracle(
            revision=options.revision or NEWEST_WITH_RESUMPTION, declaration=options.declaration, complete=True
        )
        self._recorder = Recorder(self.oracle)
        self._apart = Recorder(NobodyJudges())
        self.monitor = Monitor(self.tree, self._recorder.now)
        self.crowd = self.new_crowd()
        self.soaked = Soak(
            sessions=options.sessions,
            events=0,
            event_bytes=0,
            few=0,
            limit=options.limit_bytes,
            start=self.tree.resident(),
            declared_window=options.declaration.window_events,
        )

    def settle_in(self, situation: Situation) -> None:
        """Take note of what the preflight found out."""
        self.situation = situation
        self.notes += situation.notes
        if situation.stimulus is not None:
            count = self.options.events
            few = situation.stimulus.events(min(count, FEW))
            self.soaked = evolve(
                self.soaked, events=situation.stimulus.events(count), few=few, start=self.tree.resident()
            )

    # Clients

    def bench(self, experiment: str = "soak", *, judged: bool = True) -> Bench:
        """Tools for clients that the oracle sees, or does not see."""
        options = self.options
        client = Client(
            endpoint=self.endpoint,
            recorder=self._recorder if judged else self._apart,
            revision=options.revision or NEWEST_WITH_RESUMPTION,
            principal=Principal(None, options.headers),
            tls=self._tls,
            experiment=experiment,
            answer_ms=ANSWER_MS,
        )
        return Bench(
            client=client,
            pace=self._pace,
            rng=self._rng,
            stimulus=None if self.situation is None else self.situation.stimulus,
            declaration=options.declaration,
            take_ids=self._take_ids,
            on_note=self.note,
        )

    def new_crowd(self) -> Crowd:
        """A crowd without sessions."""
        return Crowd(lambda: self.bench(judged=False), self.bench, abandons=self.abandons)

    async def open_crowd(self) -> int:
        """Hold as many sessions as are wanted, or as many as the server opens; return how many there are."""
        self.crowd = self.new_crowd()
        wanted = self.options.sessions
        opened = await self.crowd.open(wanted, self._rng.sample(range(wanted), min(SAMPLE, wanted)))
        self.soaked = evolve(self.soaked, sessions=opened)
        if self.crowd.refused and opened:
            self.note(f"the server held {opened} sessions and refused more: {self.crowd.refused}")
        return opened

    async def emit(self) -> int:
        """A call in every session that is held; returns how many events that makes."""
        return await self.crowd.emit(self.soaked.events, self.options.size)

    def _take_ids(self) -> int:
        self._first_id += 1_000
        return self._first_id

    # Measurements

    async def round(self, phase: Phase, amount: int, *, warm_up: bool) -> bool:
        """Read memory after a round; whether the phase has to be broken off at the limit."""
        settled = await self.monitor.settled()
        done = Round(phase=phase, at_ms=settled.at_ms, amount=amount, resident=settled.resident, warm_up=warm_up)
        self.soaked = evolve(self.soaked, rounds=(*self.soaked.rounds, done))
        self.tell(phase, settled.resident)
        if settled.resident < self.options.limit_bytes:
            return False
        self.soaked = evolve(self.soaked, limit_passed=(*self.soaked.limit_passed, phase))
        return True

    def note(self, text: str) -> None:
        """Add a line to the notes of the report, once."""
        if text not in self.notes:
            self.notes.append(text)

    def unseen(self, clauses: Iterable[str], why: str) -> None:
        """Say why nothing was done that would have shown clauses: as a note, and with each of them."""
        self.note(why)
        self.soaked = evolve(self.soaked, unseen={**dict.fromkeys(clauses, why), **self.soaked.unseen})

    def not_done(self, phase: Phase, why: str) -> None:
        """Say why a phase did not come about."""
        self.soaked = evolve(self.soaked, not_done={**self.soaked.not_done, phase: why})

    def tell(self, phase: Phase, resident: int) -> None:
        """Show how far the soak has come."""
        if self.on_progress is not None:
            self.on_progress(
                SoakProgress(
                    phase=phase,
                    rounds=len(self.soaked.rounds_of(phase)),
                    resident=resident,
                    elapsed_ms=self.now(),
                    budget_ms=self.options.budget_ms,
                    said=diagnosis(self.soaked),
                )
            )

    # Time

    def now(self) -> int:
        """Milliseconds since the soak began."""
        return self._recorder.now()

    def has_time(self, phase: Phase, needed_ms: int = 0) -> bool:
        """Whether a phase may begin something that takes so long.

        What the idle budget takes is kept for the phase that waits for it, if it is less than half of the time.
        """
        budget, kept = self.options.budget_ms, (self.options.declaration.absence_ms or 0) + MARGIN_MS
        if Phase.RELEASE in self.options.phases and phase in (Phase.SESSIONS, Phase.EVENTS) and kept < budget // 2:
            budget -= kept
        return self.now() + needed_ms < SHARES[phase] * budget
