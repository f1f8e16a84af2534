"""What a report says beside its clauses: the run it came from, the verdict, and the exit code.

The verdict is decided here and nowhere else, from the findings' kinds and the clauses' outcomes. Unknown is never a
pass: a run that observed nothing, or that stopped before its end without finding anything, has no verdict.
"""

from enum import Enum

from attrs import frozen

from reattach.io.baseline import Baseline, expectation_of, stale_entries
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.soak import Soak
from reattach.oracle.verdict import ClauseResult, Finding, Kind, Level, Outcome, Report


class Verdict(Enum):
    """The answer to "does it conform?"."""

    CONFORMS = "conforms"
    VIOLATES = "violates"
    NO_VERDICT = "no-verdict"


class FailOn(Enum):
    """Which findings make a run fail. Each level includes the one before."""

    MUST = "must"
    """Violated MUSTs and broken own contracts."""
    SHOULD = "should"
    ANY = "any"
    """Differences in undefined areas too."""


EXIT_CODES = {Verdict.CONFORMS: 0, Verdict.VIOLATES: 1, Verdict.NO_VERDICT: 3}
EXIT_USAGE = 2
"""Bad usage or input."""

_FAILS_FROM = {
    Kind.VIOLATES_MUST: FailOn.MUST,
    Kind.BREAKS_CONTRACT: FailOn.MUST,
    Kind.AGAINST_SHOULD: FailOn.SHOULD,
    Kind.UNDEFINED_AREA: FailOn.ANY,
}
_FAILS_FROM_LEVEL = {Level.MUST: FailOn.MUST, Level.SHOULD: FailOn.SHOULD, Level.MAY: FailOn.ANY}
_ORDER = list(FailOn)


@frozen(kw_only=True)
class Run:
    """How a report came about."""

    target: str
    """The URL, or the command that was started."""
    server: str = ""
    """The name and version that the server gives itself."""
    client: str = ""
    """The name and version that the client gives itself, if it is the client that is judged."""
    revision: str = ""
    profile: str = ""
    seed: int | None = None
    stimulus: str = ""
    declaration: Declaration = NOTHING_DECLARED
    elapsed_ms: int = 0
    command: str = ""
    """The command that repeats the run; empty if there is none. Credentials are left out."""
    stopped: str = ""
    """Why the run ended before its end; empty if it did not."""
    fail_on: FailOn = FailOn.MUST
    bad_input: bool = False
    """Whether a part of what it was to judge could not be read; ``stopped`` says which."""
    recorded: bool = False
    """Whether its findings are shown as they were recorded and were not seen again: then they decide nothing."""
    baseline: Baseline = ()
    """The findings that are expected; those of the clauses that the run is about."""


@frozen(kw_only=True)
class Presented:
    """What a report is rendered from. Redacted already: renderers show what they are given."""

    report: Report
    run: Run
    replays: tuple[str | None, ...]
    """For each finding the file that replays it, None if none was written."""
    soak: Soak | None = None
    """What a soak measured; None if the run was none."""


def verdict_of(report: Report, run: Run) -> Verdict:
    """The verdict on a run at its ``fail_on`` level."""
    unexplained = any(_reaches(level, run.fail_on) for level in _unexplained(report))
    if unexplained or any(fails(finding, run) for finding in report.findings) or stale(report, run):
        return Verdict.VIOLATES
    observed = any(result.outcome is not Outcome.NOT_OBSERVED for result in report.clauses)
    return Verdict.CONFORMS if observed and not run.stopped else Verdict.NO_VERDICT


def exit_code_of(report: Report, run: Run) -> int:
    """The exit code of a run. Bad input keeps it from passing, and does not hide what was found besides."""
    verdict = verdict_of(report, run)
    return EXIT_USAGE if run.bad_input and verdict is not Verdict.VIOLATES else EXIT_CODES[verdict]


def counts(kind: Kind, fail_on: FailOn) -> bool:
    """Whether a finding of this kind makes a run fail at this level, if nobody expects it."""
    return _reaches(_FAILS_FROM[kind], fail_on)


def fails(finding: Finding, run: Run) -> bool:
    """Whether a finding makes its run fail: it was seen, it counts, and the baseline does not expect it."""
    return not run.recorded and counts(finding.kind, run.fail_on) and expectation_of(finding, run.baseline) is None


@frozen(kw_only=True)
class Case:
    """What a clause is to a test suite: a test that passes, fails or is skipped."""

    result: ClauseResult
    failing: tuple[tuple[Finding, str | None], ...]
    """The findings about it that make the run fail, each with the file that replays it."""
    other: tuple[tuple[Finding, str | None], ...]
    """Those that do not: they do not count at the ``fail_on`` level, or are expected."""

    @property
    def failed(self) -> bool:
        """Whether it fails: also if it is violated and the finding got lost, which must not become a pass."""
        lost = self.result.outcome is Outcome.VIOLATED and not self.failing and not self.other
        return bool(self.failing) or lost

    @property
    def skipped(self) -> bool:
        """Whether it was not observed; the result's note says why."""
        return self.result.outcome is Outcome.NOT_OBSERVED and not self.failed


def case_of(result: ClauseResult, presented: Presented) -> Case:
    """One clause of a report as a test."""
    shown = zip(presented.report.findings, presented.replays, strict=True)
    about = [pair for pair in shown if pair[0].clause == result.clause]
    failing = tuple(pair for pair in about if fails(pair[0], presented.run))
    return Case(result=result, failing=failing, other=tuple(pair for pair in about if pair not in failing))


def stale(report: Report, run: Run) -> Baseline:
    """The entries of the run's baseline that it has refuted. A run that did not come to its end refutes none."""
    return () if run.stopped else stale_entries(report, run.baseline)


def results_by_outcome(report: Report) -> dict[Outcome, list[ClauseResult]]:
    """The clauses' results, by outcome, each in the report's order."""
    return {outcome: [result for result in report.clauses if result.outcome is outcome] for outcome in Outcome}


def _unexplained(report: Report) -> list[FailOn]:
    """Violated clauses without a finding count by their level: a finding that got lost must not become a pass."""
    explained = {finding.clause for finding in report.findings}
    violated = [result for result in report.clauses if result.outcome is Outcome.VIOLATED]
    return [_FAILS_FROM_LEVEL[result.level] for result in violated if result.clause not in explained]


def _reaches(level: FailOn, fail_on: FailOn) -> bool:
    return _ORDER.index(level) <= _ORDER.index(fail_on)
