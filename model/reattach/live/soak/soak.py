"""The soak: phases of load, with the memory of the server's process read in between.

1. *sessions*: rounds of sessions that are opened, given a few events, abandoned, and ended with DELETE. What is left of
   each is a leak per session.
2. *events*: sessions that stay, in which each round emits more that nobody reads. What stays of each event, once the
   windows are full, is a leak per event. A sample of the sessions is resumed, to count what they hold.
3. *release*: these sessions are left alone for the idle budget, if it is declared; then comes the same load again,
   which must find what was released. The same with DELETE.
4. *probed*: the probe's own experiments about windows, readers that stop reading, and clients that stay away.

The oracle sees a sample of the sessions and judges what passes; about memory ``oracle.soak_verdict`` decides.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable

from attrs import define, evolve, field, frozen

from reattach.clauses import Registry, load_registry
from reattach.live.bench import CLOSE_MS, Bench
from reattach.live.client import Client, Principal, ProtocolError
from reattach.live.experiments import EXPERIMENTS
from reattach.live.experiments.window import LONGEST_MS, MARGIN_MS
from reattach.live.pace import Pace
from reattach.live.preflight import Situation, preflight
from reattach.live.probe import ANSWER_MS, PREFLIGHT, OptionsError
from reattach.live.recorder import Recorder, monotonic_ms
from reattach.live.soak.crowd import Crowd, NobodyJudges
from reattach.live.soak.process import EndedError, Monitor, NoProcessError, Tree
from reattach.live.soak.retained import retained
from reattach.live.target import Command
from reattach.live.view import CutPlan
from reattach.live.wire import Endpoint, WireError, parse_url, tls_context
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.oracle import Oracle
from reattach.oracle.soak import Growth, Left, Phase, Retained, Reuse, Round, Soak, Span, Way, diagnosis
from reattach.oracle.soak_verdict import soak_report
from reattach.oracle.verdict import Profile, Report

FEW = 16
"""The most events that a session is given in the phase *sessions*."""
SAMPLE = 3
"""How many of the sessions that are held the oracle sees, and are resumed to count what they hold."""
WARM_UP = 2
"""Rounds that are left out of each fit, at least."""
MOST_ROUNDS = 100
"""Rounds of a phase, at most."""
SHARES = {Phase.SESSIONS: 0.3, Phase.EVENTS: 0.7}
"""By which share of the time a phase is over, at the latest."""


@frozen(kw_only=True)
class SoakOptions:
    """What to soak and how. Exactly one of ``url`` and ``command`` is given, and ``pid`` with ``url``."""

    url: str | None = None
    command: str | None = None
    path: str = "/mcp"
    pid: int | None = None
    """The server's process, of which the children count too."""
    profile: Profile = Profile.REATTACH
    revision: Revision | None = None
    declaration: Declaration = NOTHING_DECLARED
    stimulus: str | None = None
    seed: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    ca: str | None = None
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
    elapsed_ms: int
    budget_ms: int
    said: str
    """What is known so far."""


OnSoakProgress = Callable[[SoakProgress], None]


async def soak(options: SoakOptions, on_progress: OnSoakProgress | None = None) -> SoakResult:
    """Soak a server.

    Raises ``OptionsError``, ``NoProcessError``, ``BadUrlError``, ``TlsFailedError``, ``StimulusError``, ``TargetError``
    (a command) or ``PreflightError`` if it cannot begin. If it is cancelled after that, or the server ends, it returns
    what it has found so far, and ``stopped`` says why. A server that it started is ended in every case.
    """
    async with _server(options) as (endpoint, pid):
        soaker = Soaker(options, endpoint, Tree(pid), on_progress)
        return await soaker.run()


@contextlib.asynccontextmanager
async def _server(options: SoakOptions) -> AsyncIterator[tuple[Endpoint, int]]:
    if (options.url is None) == (options.command is None):
        raise OptionsError("give either a URL or --command")
    if (options.url is None) == (options.pid is not None):
        raise OptionsError("with a URL --pid says which process serves it; a server that --command starts needs none")
    if options.url is not None:
        assert options.pid is not None
        yield parse_url(options.url), options.pid
        return
    assert options.command is not None
    command = Command(options.command, path=options.path)
    try:
        await command.start()
        assert command.pid is not None
        yield command.endpoint, command.pid
    finally:
        await command.stop()


@define(eq=False)
class Soaker:
    """One soak of one server."""

    options: SoakOptions
    endpoint: Endpoint
    tree: Tree
    on_progress: OnSoakProgress | None
    registry: Registry = field(init=False, factory=load_registry)
    notes: list[str] = field(init=False, factory=list)
    pace: Pace = field(init=False, factory=Pace)
    soaked: Soak = field(init=False)
    """What was measured so far."""
    _oracle: Oracle = field(init=False)
    _recorder: Recorder = field(init=False)
    _apart: Recorder = field(init=False)
    _monitor: Monitor = field(init=False)
    _situation: Situation = field(init=False)
    _rng: random.Random = field(init=False)
    _first_id: int = field(init=False, default=0)
    _crowd: Crowd = field(init=False)
    _abandons: bool = field(init=False, default=False)
    _deletes: bool = field(init=False, default=False)
    _before_load: int = field(init=False, default=0)
    """What was resident before the sessions of the phase *events* were opened ..."""
    _filled: int = field(init=False, default=0)
    """... when their windows were full ..."""
    _fill_rounds: int = field(init=False, default=0)
    """... after so many rounds, warm-up included ..."""
    _load_ms: int = field(init=False, default=0)
    """... which took so long."""

    def __attrs_post_init__(self) -> None:
        options = self.options
        self._rng = random.Random(options.seed)
        self._oracle = Oracle(
            revision=options.revision or NEWEST_WITH_RESUMPTION, declaration=options.declaration, complete=True
        )
        self._recorder = Recorder(self._oracle)
        self._apart = Recorder(NobodyJudges())
        self._monitor = Monitor(self.tree, self._recorder.now)

    async def run(self) -> SoakResult:
        """All phases, as far as the time goes; then the verdict."""
        situation = self._situation = await preflight(self._bench(PREFLIGHT), self.options.stimulus)
        self.notes += situation.notes
        self.soaked = Soak(
            sessions=self.options.sessions,
            events=self._events,
            event_bytes=0,
            few=self._few,
            limit=self.options.limit_bytes,
            start=self.tree.resident(),
            declared_window=self.options.declaration.window_events is not None,
        )
        self._crowd = self._new_crowd()
        stopped = ""
        reading = asyncio.create_task(self._monitor.run())
        try:
            await self._phases()
        except asyncio.CancelledError:
            stopped = "interrupted"
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
        except EndedError as error:
            stopped = str(error)
        finally:
            reading.cancel()
            await asyncio.wait({reading})
        await self._leave()
        return self._result(stopped)

    async def _phases(self) -> None:
        if not self._situation.sessions:
            for phase in Phase:
                self._not_done(phase, "the server mints no session ids")
            return
        try:
            await self._calibrate()
            for phase, run in (
                (Phase.SESSIONS, self._sessions),
                (Phase.EVENTS, self._events_phase),
                (Phase.RELEASE, self._release),
                (Phase.PROBED, self._probed),
            ):
                begin = self._now()
                try:
                    await run()
                finally:
                    span = Span(phase=phase, begin_ms=begin, end_ms=self._now())
                    self.soaked = evolve(self.soaked, spans=(*self.soaked.spans, span))
        except (WireError, ProtocolError) as error:
            self.tree.resident()  # raises if the server has ended, which explains it better
            raise EndedError(f"the server stopped answering: {error}") from error

    # Before anything is measured

    async def _calibrate(self) -> None:
        """How large an event is, whether a call goes on without its client, and whether DELETE ends a session."""
        bench = self._bench("soak/calibration")
        if self._situation.stimulus is not None:
            session = await bench.session()
            whole = await bench.call(session, count=4, size=self.options.size)
            await whole.follow()
            sizes = [frame.size for view in whole.chain for frame in view.frames if frame.payload is not None]
            sizes = sizes[:-1] if len(sizes) > 1 else sizes  # without the response
            self.soaked = evolve(self.soaked, event_bytes=sum(sizes) // max(len(sizes), 1))
            cut = await bench.call(session, count=4, size=self.options.size, plan=CutPlan(1))
            await cut.post.over(self.pace.patience_ms)
            self._abandons = cut.cursor is not None and await cut.follow()
            if not self._abandons:
                self.notes.append("a call does not go on without its client here: calls are read to their end instead")
        session = await bench.session()
        answered = await session.delete()
        self._deletes = session.deleted and await bench.ping(session) == 404
        if not self._deletes:
            self.notes.append(f"DELETE, answered with {answered}, does not end a session")
        await bench.close()

    # The phases

    async def _sessions(self) -> None:
        """Rounds of sessions that are opened, given a few events, abandoned and deleted."""
        if not self._deletes and not self._answers_delete():
            self._not_done(Phase.SESSIONS, "DELETE is not supported, so sessions cannot be ended by a client")
            return
        if self.soaked.event_bytes == 0:
            self._not_done(Phase.SESSIONS, "nothing makes the server send events")
            return
        done = 0
        for number in range(MOST_ROUNDS):
            if self._is_late(Phase.SESSIONS):
                break
            crowd = self._new_crowd()
            opened = await crowd.open(self.options.sessions)
            if not opened:
                self._not_done(Phase.SESSIONS, f"no session could be opened: {crowd.refused}")
                return
            await crowd.emit(self._few, self.options.size)
            await self._monitor.settled()  # what goes on in a session must be over before it is deleted
            await crowd.delete()
            done += opened
            if await self._round(Phase.SESSIONS, done, warm_up=number < WARM_UP):
                break
            if self.soaked.trend(Phase.SESSIONS).growth is not Growth.OPEN:
                break

    async def _events_phase(self) -> None:
        """Rounds of events in the same sessions."""
        if self.soaked.event_bytes == 0:
            self._not_done(Phase.EVENTS, "nothing makes the server send events")
            return
        self._before_load, began = (await self._monitor.settled()).resident, self._now()
        if not await self._open_crowd():
            self._not_done(Phase.EVENTS, f"no session could be opened: {self._crowd.refused}")
            return
        done = 0
        warm_up = self._warm_up()
        for number in range(MOST_ROUNDS):
            if self._is_late(Phase.EVENTS):
                break
            done += await self._crowd.emit(self._events, self.options.size)
            if await self._round(Phase.EVENTS, done, warm_up=number < warm_up):
                break
            if number < warm_up:
                self._filled, self._fill_rounds = self.soaked.rounds[-1].resident, number + 1
                self._load_ms = self._now() - began
                continue
            growth = self.soaked.trend(Phase.EVENTS).growth
            # Without a declared window memory may still level off; it is given the time, up to the limit.
            if growth is Growth.FLAT or (growth is Growth.GROWS and self.soaked.declared_window):
                break
        if self.soaked.rounds_of(Phase.EVENTS):
            grew = self.soaked.rounds[-1].resident - self._before_load
            self.soaked = evolve(self.soaked, per_session=max(grew, 0) // max(len(self._crowd.members), 1))
        await self._count_retained()

    async def _count_retained(self) -> None:
        found: list[Retained] = []
        for member in self._crowd.members:
            if member.judged and member.firsts:
                found.append(await retained(member, self._events, self.options.size))
        self.soaked = evolve(self.soaked, retained=tuple(found))

    async def _release(self) -> None:
        """The sessions of the phase before are released; then comes the same load again."""
        if not self._crowd.members or not self._fill_rounds:
            self._not_done(Phase.RELEASE, "there was no load to release")
            return
        await self._leave_alone()
        if self._deletes:
            await self._reload(Way.DELETE)
        else:
            self._not_done(Phase.RELEASE, "DELETE does not end sessions")

    async def _leave_alone(self) -> None:
        """Leave the sessions alone for the idle budget; if that ends them all, load again."""
        absence = self.options.declaration.absence_ms
        if absence is None:
            self.notes.append("no idle budget is declared (--policy, --idle): nothing is said about leaving sessions")
            return
        waiting = absence + MARGIN_MS
        if waiting + self._load_ms > self._left_ms():
            self.notes.append(
                f"sessions were not left alone for the idle budget of {absence} ms: the time is over (--budget)"
            )
            return
        for member in self._crowd.members:
            for view in member.session.views:
                await view.cut()
        full = (await self._monitor.settled()).resident
        await asyncio.sleep(waiting / 1000)
        count = len(self._crowd.members)
        alive = await self._crowd.alive()
        self.soaked = evolve(self.soaked, left=Left(waited_ms=waiting, sessions=count, alive=alive))
        if alive == 0:
            self._crowd = self._new_crowd()
            await self._load_again(Way.IDLE, full)

    async def _reload(self, way: Way) -> None:
        if self._load_ms > self._left_ms():
            self.notes.append(f"no second load after {way.value}: the time is over (--budget)")
            return
        full = (await self._monitor.settled()).resident
        await self._crowd.delete()
        await self._load_again(way, full)

    async def _load_again(self, way: Way, full: int) -> None:
        """The load that filled the windows, once more; ``full`` is what was resident before the release."""
        if not await self._open_crowd():
            self.notes.append(f"no second load after {way.value}: {self._crowd.refused}")
            return
        for _ in range(self._fill_rounds):
            await self._crowd.emit(self._events, self.options.size)
            after = (await self._monitor.settled()).resident
            self._tell(Phase.RELEASE, after)
        reuse = Reuse(way=way, first=self._filled - self._before_load, second=after - full)
        self.soaked = evolve(self.soaked, reuses=(*self.soaked.reuses, reuse))

    async def _probed(self) -> None:
        """What a probe would show of the same clauses."""
        await self._crowd.delete()
        stimulus, declared = self._situation.stimulus, self.options.declaration
        if stimulus is None or not stimulus.numbered:
            self._not_done(Phase.PROBED, "it takes the tool reattach_emit")
            return
        chosen = {
            "slow-reader": True,
            "stalled-reader": None not in (declared.stall_ms, declared.transport_buffer_bytes),
            "window-boundaries": declared.window_events is not None,
            "window-age": declared.window_ms is not None,
            "absent-client": declared.absence_ms is not None and declared.absence_ms <= LONGEST_MS,
        }
        for name in (name for name, has_what_it_needs in chosen.items() if has_what_it_needs):
            if self._left_ms() <= 0:
                self.notes.append(f"{name}: not run: the time is over (--budget)")
                continue
            self._tell(Phase.PROBED, self.tree.resident())
            bench = self._bench(name)
            try:
                await EXPERIMENTS[name].run(bench, {})
            finally:
                await bench.close()

    # What the phases share

    def _warm_up(self) -> int:
        """Rounds until the windows are full, if their size is declared, and then some."""
        window = self.options.declaration.window_events
        return WARM_UP if window is None else WARM_UP + -(-window // (self._events + 1))

    @property
    def _events(self) -> int:
        stimulus = self._situation.stimulus
        return 0 if stimulus is None else stimulus.events(self.options.events)

    @property
    def _few(self) -> int:
        stimulus = self._situation.stimulus
        return 0 if stimulus is None else stimulus.events(min(self.options.events, FEW))

    async def _open_crowd(self) -> int:
        self._crowd = self._new_crowd()
        wanted = self.options.sessions
        opened = await self._crowd.open(wanted, self._rng.sample(range(wanted), min(SAMPLE, wanted)))
        self.soaked = evolve(self.soaked, sessions=opened)
        if self._crowd.refused and opened:
            self._note(f"the server held {opened} sessions and refused more: {self._crowd.refused}")
        return opened

    async def _round(self, phase: Phase, amount: int, *, warm_up: bool) -> bool:
        """Read memory after a round; whether the phase has to be broken off at the limit."""
        settled = await self._monitor.settled()
        done = Round(phase=phase, at_ms=settled.at_ms, amount=amount, resident=settled.resident, warm_up=warm_up)
        self.soaked = evolve(self.soaked, rounds=(*self.soaked.rounds, done))
        self._tell(phase, settled.resident)
        if settled.resident < self.options.limit_bytes:
            return False
        self.soaked = evolve(self.soaked, limit_passed=(*self.soaked.limit_passed, phase))
        return True

    def _answers_delete(self) -> bool:
        return any(note.startswith("DELETE, answered with 2") for note in self.notes)

    def _new_crowd(self) -> Crowd:
        return Crowd(lambda: self._bench("soak", judged=False), lambda: self._bench("soak"), abandons=self._abandons)

    def _bench(self, experiment: str, *, judged: bool = True) -> Bench:
        options = self.options
        client = Client(
            endpoint=self.endpoint,
            recorder=self._recorder if judged else self._apart,
            revision=options.revision or NEWEST_WITH_RESUMPTION,
            principal=Principal(None, options.headers),
            tls=tls_context(options.ca) if self.endpoint.scheme == "https" else None,
            experiment=experiment,
            answer_ms=ANSWER_MS,
        )
        return Bench(
            client=client,
            pace=self.pace,
            rng=self._rng,
            stimulus=self._situation.stimulus if hasattr(self, "_situation") else None,
            declaration=options.declaration,
            take_ids=self._take_ids,
            on_note=self._note,
        )

    def _take_ids(self) -> int:
        self._first_id += 1_000
        return self._first_id

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _not_done(self, phase: Phase, why: str) -> None:
        self.soaked = evolve(self.soaked, not_done={**self.soaked.not_done, phase: why})

    def _now(self) -> int:
        return self._recorder.now()

    def _left_ms(self) -> int:
        return self.options.budget_ms - self._now()

    def _is_late(self, phase: Phase) -> bool:
        """Whether a phase has had its share of the time; what the idle budget takes is kept for it."""
        kept = (self.options.declaration.absence_ms or 0) + MARGIN_MS
        kept = kept if kept < self.options.budget_ms // 2 else 0
        return self._now() > SHARES[phase] * (self.options.budget_ms - kept)

    def _tell(self, phase: Phase, resident: int) -> None:
        if self.on_progress is not None:
            self.on_progress(
                SoakProgress(
                    phase=phase,
                    rounds=len(self.soaked.rounds_of(phase)),
                    resident=resident,
                    elapsed_ms=self._now(),
                    budget_ms=self.options.budget_ms,
                    said=diagnosis(self.soaked),
                )
            )

    async def _leave(self) -> None:
        """Delete what is still open, for the sake of a server that goes on."""
        if self.options.url is None:
            return
        with contextlib.suppress(TimeoutError, WireError):
            async with asyncio.timeout(CLOSE_MS / 1000):
                await self._crowd.delete()

    def _result(self, stopped: str) -> SoakResult:
        options, situation = self.options, self._situation
        self.soaked = evolve(self.soaked, readings=tuple(self._monitor.readings))
        if self._crowd.lost:
            self._note(f"{self._crowd.lost} sessions were gone when they were to emit, and were replaced")
        if self._monitor.restless:
            self._note(f"{self._monitor.restless} times the process did not come to rest before it was read")
        wire = self._oracle.report(options.profile)
        report = soak_report(wire, self.soaked, self.registry, options.profile)
        return SoakResult(
            report=evolve(report, notes=(*report.notes, *self.notes)),
            soak=self.soaked,
            target=options.url or options.command or "",
            server=situation.server,
            revision=situation.revision.value,
            stimulus=situation.stimulus.name if situation.stimulus is not None else "",
            elapsed_ms=self._now(),
            stopped=stopped,
        )


__all__ = ["NoProcessError", "SoakOptions", "SoakProgress", "SoakResult", "monotonic_ms", "soak"]
