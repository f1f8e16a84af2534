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
from collections.abc import AsyncIterator, Awaitable, Callable

from attrs import evolve

from reattach.clauses import load_registry
from reattach.io.redact import without_query
from reattach.live.bench import CLOSE_MS
from reattach.live.client import ProtocolError
from reattach.live.preflight import preflight
from reattach.live.probe import PREFLIGHT, OptionsError
from reattach.live.soak import phases
from reattach.live.soak.ground import Ground
from reattach.live.soak.options import OnSoakProgress, SoakOptions, SoakResult
from reattach.live.soak.process import EndedError, NoProcessError, Tree
from reattach.live.target import Command
from reattach.live.wire import Endpoint, WireError, parse_url
from reattach.oracle.soak import Phase, Span
from reattach.oracle.soak_verdict import soak_report

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_RUN: dict[Phase, Callable[[Ground], Awaitable[None]]] = {
    Phase.SESSIONS: phases.sessions,
    Phase.EVENTS: phases.events,
    Phase.RELEASE: phases.release,
    Phase.PROBED: phases.probed,
}


async def soak(options: SoakOptions, on_progress: OnSoakProgress | None = None) -> SoakResult:
    """Soak a server.

    Raises ``OptionsError``, ``NoProcessError``, ``BadUrlError``, ``TlsFailedError``, ``StimulusError``, ``TargetError``
    (a command) or ``PreflightError`` if it cannot begin. If it is cancelled after that, or the server ends, it returns
    what it has found so far, and ``stopped`` says why. A server that it started is ended in every case.
    """
    async with _server(options) as (endpoint, pid):
        tree = Tree(pid)
        ground = Ground(options, endpoint, tree, on_progress)
        ground.settle_in(await preflight(ground.bench(PREFLIGHT), options.stimulus))
        if endpoint.host in _LOOPBACK and not tree.serves(endpoint.port):
            raise NoProcessError(f"neither process {pid} nor anything it started listens on port {endpoint.port}")
        stopped = await _measured(ground)
        if options.url is not None:
            # A server that goes on is left as it was found.
            with contextlib.suppress(TimeoutError, WireError):
                async with asyncio.timeout(CLOSE_MS / 1000):
                    await ground.crowd.delete()
        return _result(ground, stopped)


@contextlib.asynccontextmanager
async def _server(options: SoakOptions) -> AsyncIterator[tuple[Endpoint, int]]:
    if (options.url is None) == (options.command is None):
        raise OptionsError("give either a URL or --command")
    if (options.url is None) == (options.pid is not None):
        raise OptionsError("--pid says which process serves the URL; one that --command starts is known")
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


async def _measured(ground: Ground) -> str:
    """Go through the phases; why that ended before its end, empty if it did not."""
    reading = asyncio.create_task(ground.monitor.run())
    try:
        await _phases(ground)
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        return "interrupted"
    except EndedError as error:
        return str(error)
    except (WireError, ProtocolError) as error:
        try:
            ground.tree.resident()
        except EndedError as ended:
            return str(ended)
        return f"the server stopped answering: {error}"
    finally:
        reading.cancel()
        await asyncio.wait({reading})
    return ""


async def _phases(ground: Ground) -> None:
    assert ground.situation is not None
    if not ground.situation.sessions:
        for phase in Phase:
            ground.not_done(phase, "the server mints no session ids")
        return
    await phases.calibrate(ground)
    for phase, run in _RUN.items():
        if phase not in ground.options.phases:
            ground.not_done(phase, "not asked for (--phase)")
            continue
        begin = ground.now()
        try:
            await run(ground)
        finally:
            span = Span(phase=phase, begin_ms=begin, end_ms=ground.now())
            ground.soaked = evolve(ground.soaked, spans=(*ground.soaked.spans, span))


def _result(ground: Ground, stopped: str) -> SoakResult:
    options, situation = ground.options, ground.situation
    assert situation is not None
    ground.soaked = evolve(ground.soaked, readings=tuple(ground.monitor.readings))
    if ground.crowd.lost:
        ground.note(f"{ground.crowd.lost} sessions were gone when they were to emit, and were replaced")
    if ground.monitor.restless:
        ground.note(f"{ground.monitor.restless} times the process did not come to rest before it was read")
    report = soak_report(ground.oracle.report(options.profile), ground.soaked, load_registry(), options.profile)
    return SoakResult(
        report=evolve(report, notes=(*report.notes, *ground.notes)),
        soak=ground.soaked,
        target=without_query(options.url) if options.url else options.command or "",
        server=situation.server,
        revision=situation.revision.value,
        stimulus=situation.stimulus.name if situation.stimulus is not None else "",
        elapsed_ms=ground.now(),
        stopped=stopped,
    )
