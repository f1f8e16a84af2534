"""Probing mutants: each is started as a process of its own, and probed until its fault is reported, or to the end.

The server runs by the policy ``short`` and is held to it, and two principals know it, as in the demo. A mutant counts
as found when a finding has both its clause and its class; what else was reported on the way is listed beside it.
"""

import asyncio
import time
from collections.abc import Sequence

from attrs import define, evolve, field, frozen

from reattach.io.exchange import steps_of
from reattach.live.demo import reference_options
from reattach.live.mutants.base import Mutant
from reattach.live.mutants.generated import Generated
from reattach.live.preflight import PreflightError
from reattach.live.probe import Driver, ProbeOptions, ProbeResult, Progress, driving
from reattach.live.target import DidNotStartError
from reattach.oracle.verdict import Fault, Finding, Outcome, Profile

BOUND_MS = 60_000
"""The longest a mutant is probed."""
AGAIN_MS = 15_000
"""With less time left than this a mutant is not probed again."""
GENERATED_MS = 10_000
"""After this time no experiment is begun on a generated mutant."""
WHOLE_MS = 150_000
"""The longest a server is probed of which everything is to be known."""


@frozen
class Aim:
    """What a finding must say."""

    clause: str
    fault: Fault

    def is_met_by(self, finding: Finding) -> bool:
        """Whether this is the finding."""
        return (finding.clause, finding.fault) == (self.clause, self.fault)


@frozen(kw_only=True)
class Probed:
    """What the probe said of one server."""

    findings: tuple[Finding, ...]
    aim: Aim | None
    first_ms: int | None
    """Milliseconds from the start of the probe, the server answering, to the first finding that meets the aim."""
    elapsed_ms: int
    stopped: str
    """Why the probe ended before its end, other than by finding what it was after."""
    observed: frozenset[str] = frozenset()
    """The clauses that were exercised."""

    @property
    def found(self) -> bool:
        """Whether the aim was met, or, where there is none, whether anything was found."""
        return self.first_ms is not None

    @property
    def lines(self) -> int | None:
        """The length of the shortest exchange that shows what was aimed at."""
        met = [finding for finding in self.findings if self.aim is None or self.aim.is_met_by(finding)]
        return min((len(steps_of(finding.evidence)) for finding in met), default=None)

    @property
    def classes(self) -> tuple[str, ...]:
        """Clauses and classes that were reported, in the order of the clauses."""
        return tuple(dict.fromkeys(f"{finding.clause} {finding.fault.value}" for finding in self.findings))


def mutant_options(name: str | None, seed: int, budget_ms: int | None = None) -> ProbeOptions:
    """How a served mutant, or the server without any, is probed."""
    return reference_options(seed, budget_ms, mutant=name)


async def probe_until(options: ProbeOptions, aim: Aim | None, bound_ms: int = BOUND_MS) -> Probed:
    """Probe until a finding meets the aim, or anything at all was found if there is none; at most ``bound_ms``."""
    watch = _Watch(aim)
    return await _probe(options, watch, bound_ms)


async def probe_whole(options: ProbeOptions) -> Probed:
    """Probe to the end, whatever is found."""
    return await _probe(options, _Watch(None, stops=False), WHOLE_MS)


async def _probe(options: ProbeOptions, watch: "_Watch", bound_ms: int) -> Probed:
    async with driving(options, watch.look) as driver:
        watch.driver = driver
        began = time.monotonic_ns()
        run = asyncio.create_task(driver.run(driver.experiments))
        watch.run, watch.began = run, began
        late = asyncio.get_running_loop().call_later(bound_ms / 1000, run.cancel)
        try:
            result = await run
        finally:
            late.cancel()
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError  # the probe has taken it for its own end
        elapsed = (time.monotonic_ns() - began) // 1_000_000
    watch.see(result.report.findings, elapsed)
    stopped = "" if watch.stopped and result.stopped == "interrupted" else result.stopped
    return Probed(
        findings=result.report.findings,
        aim=watch.aim,
        first_ms=watch.first_ms,
        elapsed_ms=elapsed,
        stopped=stopped,
        observed=frozenset(each.clause for each in result.report.clauses if each.outcome is not Outcome.NOT_OBSERVED),
    )


async def probe_mutant(mutant: Mutant, seed: int) -> Probed:
    """Probe one of the registered mutants; again with the next seed, if the probe did not find it and there is time.

    Some experiments wait for a budget of the server, and show nothing on a machine that is busy with other things.
    """
    aim = Aim(mutant.clause, mutant.fault)
    probed = await probe_until(mutant_options(mutant.name, seed), aim)
    while not probed.found and not probed.stopped and probed.elapsed_ms < BOUND_MS - AGAIN_MS:
        seed += 1
        again = await probe_until(mutant_options(mutant.name, seed), aim, BOUND_MS - probed.elapsed_ms)
        probed = evolve(
            again,
            findings=(*probed.findings, *again.findings),
            first_ms=None if again.first_ms is None else probed.elapsed_ms + again.first_ms,
            elapsed_ms=probed.elapsed_ms + again.elapsed_ms,
        )
    return probed


@frozen(kw_only=True)
class Fate:
    """What became of a generated mutant."""

    mutant: Generated
    shown: str
    """The first clause and class that were reported, or why there is no verdict; empty if there was nothing."""
    unseen: tuple[str, ...] = ()
    """If there was nothing: the clauses that are observed of the server without a mutant, and were not of this one."""

    @property
    def survives(self) -> bool:
        """Whether nothing at all tells it from the server without a mutant."""
        return not self.shown and not self.unseen


async def fate_of(mutant: Generated, seed: int, observed: frozenset[str]) -> Fate:
    """Probe a generated mutant until anything is found. ``observed`` is what is seen of the server without one."""
    try:
        probed = await probe_until(mutant_options(mutant.name, seed, GENERATED_MS), None)
    except (PreflightError, DidNotStartError) as error:
        return Fate(mutant=mutant, shown=f"no verdict: {error}")
    if probed.classes:
        return Fate(mutant=mutant, shown=probed.classes[0])
    if probed.stopped:
        return Fate(mutant=mutant, shown=f"no verdict: {probed.stopped}")
    return Fate(mutant=mutant, shown="", unseen=tuple(sorted(observed - probed.observed)))


async def fates(chosen: Sequence[Generated], seed: int, bound_s: float) -> list[Fate]:
    """What becomes of generated mutants, as many of them as the time allows, in their order, two at a time."""
    observed = (await probe_until(mutant_options(None, seed, GENERATED_MS), None)).observed
    deadline = time.monotonic() + bound_s
    waiting, done = list(chosen), dict[str, Fate]()

    async def work() -> None:
        while waiting and time.monotonic() < deadline:
            mutant = waiting.pop(0)
            done[mutant.name] = await fate_of(mutant, seed, observed)

    await asyncio.gather(work(), work())
    return [done[mutant.name] for mutant in chosen if mutant.name in done]


@define
class _Watch:
    aim: Aim | None
    stops: bool = True
    """Whether to stop the probe once it has what it is after."""
    stopped: bool = False
    driver: Driver | None = None
    run: "asyncio.Task[ProbeResult] | None" = None
    began: int = 0
    first_ms: int | None = None
    _counted: int = field(init=False, default=0)

    def look(self, now: Progress) -> None:
        """Stop the probe if that is due; but not before its first experiment, when it has no result."""
        if self.driver is None or self.run is None:
            return
        if now.findings > self._counted:
            self._counted = now.findings
            findings = self.driver.oracle.report(Profile.REATTACH).findings
            self.see(findings, (time.monotonic_ns() - self.began) // 1_000_000)
        if self.stops and self.first_ms is not None and now.running:
            self.stopped = True
            self.run.cancel()

    def see(self, findings: Sequence[Finding], at_ms: int) -> None:
        """Remember when the aim was met first."""
        met = any(self.aim is None or self.aim.is_met_by(finding) for finding in findings)
        if met and self.first_ms is None:
            self.first_ms = at_ms
