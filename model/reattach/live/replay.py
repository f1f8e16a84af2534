"""Showing one finding again: its experiment alone, with the parameters it had.

What a systematic experiment shows it shows every time; what needs luck is tried again and again, within a bound.
"""

from attrs import evolve, frozen

from reattach.live.experiments import EXPERIMENTS, Cost, ParameterError, Parameters
from reattach.live.preflight import Situation
from reattach.live.probe import Driver, Job, OnProgress, OptionsError, ProbeOptions, ProbeResult, driving
from reattach.oracle.verdict import Report

TRIES = {Cost.SYSTEMATIC: 3, Cost.SLOW: 2, Cost.ALONE: 2, Cost.RACY: 40}
"""How often an experiment of each cost is run at most."""


@frozen(kw_only=True)
class Shown:
    """Which finding to show again."""

    experiment: str
    """The experiment's name; empty for what the preflight shows."""
    parameters: Parameters
    clause: str
    fault: str


@frozen(kw_only=True)
class Replayed:
    """What came of it."""

    shown: bool
    """Whether the finding was seen again."""
    tries: int
    """How often the experiment was run."""
    result: ProbeResult


async def replay(options: ProbeOptions, finding: Shown, on_progress: OnProgress | None = None) -> Replayed:
    """Run a finding's experiment until the finding is seen, or often enough to say that it is not.

    Raises what ``probe`` raises, and ``OptionsError`` if there is no such experiment, or not with such parameters.
    """
    if finding.experiment and finding.experiment not in EXPERIMENTS:
        raise OptionsError(f"there is no experiment {finding.experiment!r}; the file is of another version of reattach")
    # The budget is for choosing among experiments; here there is one, with a bound of its own.
    async with driving(evolve(options, budget_ms=None, only=()), on_progress) as driver:
        again = _Again(driver, finding)
        try:
            result = await driver.run(again.drive)
        except ParameterError as error:
            raise OptionsError(f"{finding.experiment}: {error}") from error
    return Replayed(shown=_sees(result.report, finding), tries=again.tries, result=result)


class _Again:
    def __init__(self, driver: Driver, finding: Shown) -> None:
        self._driver = driver
        self._finding = finding
        self.tries = 0

    async def drive(self, situation: Situation) -> None:
        if not self._finding.experiment:
            return
        experiment = EXPERIMENTS[self._finding.experiment]
        missing = self._driver.missing(experiment, situation)
        if missing:
            self._driver.notes.append(f"not run: {experiment.name}: needs {missing[0].value}")
            return
        while self.tries < TRIES[experiment.cost] and not _sees(self._report(), self._finding):
            self.tries += 1
            tag = f"{experiment.name}/{self.tries}"
            job = Job(experiment=experiment, parameters=self._finding.parameters, tag=tag, first=True)
            await self._driver.run_jobs([job], experiment.cost)

    def _report(self) -> Report:
        return self._driver.oracle.report(self._driver.options.profile)


def _sees(report: Report, finding: Shown) -> bool:
    return any((found.clause, found.fault.value) == (finding.clause, finding.fault) for found in report.findings)
