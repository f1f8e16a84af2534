"""A run of ``reattach watch``: stand between, judge, record, and say at the end what was seen."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from reattach.clauses import Registry
from reattach.io.digests import Digester, Payloads
from reattach.io.files import OutputError
from reattach.io.recorder_file import RecordingFile
from reattach.io.trace import TraceHeader
from reattach.live.watch.chance import Chance
from reattach.live.watch.clients import MOST_SEEN, Clients
from reattach.live.watch.fault import Fault, counted
from reattach.live.watch.plan import Plan
from reattach.live.watch.proxy import Proxy, ProxyOptions, proxying
from reattach.live.watch.watcher import Watcher
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.observation import Vantage
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Finding, Profile, Report


@frozen(kw_only=True)
class WatchOptions:
    """What to stand before, how to judge it, and what to break."""

    proxy: ProxyOptions
    profile: Profile = Profile.MCP
    revision: Revision = NEWEST_WITH_RESUMPTION
    """That of requests which name none, before their session's is known."""
    declaration: Declaration = NOTHING_DECLARED
    complete: bool = False
    """Whether all clients of the server come through here, from before the first session on."""
    faults: tuple[Fault, ...] = ()
    chance: Chance | None = None
    record: Path | None = None
    payloads: Payloads = Payloads.WHOLE
    """What is recorded of messages."""


@frozen(kw_only=True)
class Watched:
    """What a run says."""

    report: Report
    server: str
    """The name and version that the server gives itself."""
    elapsed_ms: int
    stopped: str
    """Why there is no verdict on the whole of it; empty if there is."""
    credentials: tuple[str, ...]
    """Values of headers that must not be written."""


OnReady = Callable[[Proxy], None]


async def watch(
    options: WatchOptions,
    registry: Registry,
    *,
    stop: asyncio.Event,
    on_ready: OnReady,
    on_finding: Callable[[Watcher, Finding], None],
    on_problem: Callable[[OutputError], None],
) -> Watched:
    """Watch until ``stop``; a recording that cannot be gone on with is told at once.

    Raises ServeError if it cannot listen, OutputError if it cannot record.
    """
    oracle = Oracle(
        revision=options.revision, declaration=options.declaration, complete=options.complete, registry=registry
    )

    def told(finding: Finding) -> None:
        on_finding(watcher, finding)

    watcher = Watcher(
        oracle=oracle,
        profile=options.profile,
        on_finding=told,
        complete=options.complete,
        clients=Clients(registry, options.profile, told),
    )
    plan = Plan(options.faults, options.chance) if options.chance is not None else Plan(options.faults)
    async with proxying(options.proxy, watcher, plan) as proxy:
        watcher.recording = _recording(options, watcher, on_problem)
        try:
            on_ready(proxy)
            await stop.wait()
        finally:
            if watcher.recording is not None:
                watcher.recording.close()
    report = oracle.report(options.profile)
    clauses, findings = watcher.clients.results(options.revision)
    return Watched(
        report=Report(
            clauses=(*report.clauses, *clauses),
            findings=(*report.findings, *findings),
            notes=(*report.notes, *_notes(options, watcher, plan, proxy)),
        ),
        server=watcher.server,
        elapsed_ms=watcher.recorder.now(),
        stopped=watcher.blinded,
        credentials=watcher.redactor.credentials,
    )


def _recording(
    options: WatchOptions, watcher: Watcher, on_problem: Callable[[OutputError], None]
) -> RecordingFile | None:
    if options.record is None:
        return None
    digester = Digester() if options.payloads is Payloads.DIGEST else None
    recording = RecordingFile(options.record, watcher.redactor, digester)
    recording.open(
        TraceHeader(
            vantage=Vantage.BETWEEN,
            target=options.proxy.endpoint.url,
            revision=options.revision.value,
            profile=options.profile.value,
            declaration=options.declaration,
            complete=options.complete,
        )
    )
    recording.on_problem = on_problem  # one that cannot even be begun is an error of its own
    return recording


def _notes(options: WatchOptions, watcher: Watcher, plan: Plan, proxy: Proxy) -> list[str]:
    """What happened beside what was judged."""
    notes = [f"{counted(proxy.links, 'connection')}, {counted(watcher.recorder.observations, 'observation')}."]
    if not options.complete:
        notes.append(
            "Clients may have come by another way (--complete says that none did): no cursor or session id is taken for"
            " one that was never issued."
        )
    notes += [f"Fault: {fault}: acted {times(count)}." for fault, count in zip(plan.faults, plan.acted, strict=True)]
    if options.chance is not None:
        notes.append(f"Random faults, seed {options.chance.seed}: {counted(plan.drawn, 'fault')} acted.")
    notes += [f"The target could not be reached, {times(count)}: {why}." for why, count in proxy.failures.items()]
    notes += [f"Not read to the end, {counted(count, 'exchange')}: {why}." for why, count in watcher.unread.items()]
    notes += [f"Answered by the proxy itself, {times(count)}: {why}." for why, count in watcher.refused.items()]
    if watcher.clients.unjudged:
        many = counted(watcher.clients.unjudged, "session")
        notes.append(f"{many} had more than {MOST_SEEN} observations: their clients are not judged.")
    recording = watcher.recording
    if recording is not None:
        what = f"{counted(recording.lines, 'observation')} recorded in {recording.path}"
        notes.append(f"{what}; then {recording.problem}" if recording.problem is not None else f"{what}.")
    return notes


def times(count: int) -> str:
    """``once``, ``3 times``, ``never``."""
    return {0: "never", 1: "once"}.get(count, f"{count} times")
