"""Recordings judged: each file on its own, a line at a time, and what several of them say together.

A file has an oracle of its own and is never held whole. One that cannot be read to its end is judged up to there, and
its problem is kept beside what was found: nothing is half-read silently.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import define, evolve, frozen

from reattach.clauses import Registry
from reattach.io.omissions import Omissions
from reattach.io.policy_file import PolicyError, check_declaration
from reattach.io.run import FailOn, Run
from reattach.io.trace import TraceError, TraceHeader, open_flat
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.flat import FlatFrame
from reattach.oracle.observation import Observation, Vantage
from reattach.oracle.oracle import ObservationError, Oracle
from reattach.oracle.verdict import ClauseResult, Finding, Outcome, Profile, Report

INCOMPLETE = (
    "The recording does not say that it is complete: no cursor or session id is taken for one that was never issued."
)
ONE_SIDED = (
    "It was recorded between clients and a server, and holds what the server did: clients are judged while `reattach"
    " watch` runs, not here."
)


@frozen(kw_only=True)
class Judged:
    """What one recording says."""

    path: Path
    header: TraceHeader | None
    """None: not even the header could be read."""
    report: Report
    """What could be judged."""
    problem: TraceError | None = None
    """Why it could not be read to its end; None if it could."""
    interrupted: bool = False
    """Whether the judging was ended before the file was."""

    @property
    def stopped(self) -> str:
        """Why there is no verdict on the whole of it, also when nothing was found; empty if there is one."""
        if self.problem is not None:
            return str(self.problem)
        if self.interrupted:
            return f"interrupted while {self.path} was being read"
        observed = any(result.outcome is not Outcome.NOT_OBSERVED for result in self.report.clauses)
        return "" if observed else f"{self.path}: nothing in it exercises a clause"


@define
class Judging:
    """A recording while it is judged, a line at a time."""

    path: Path
    header: TraceHeader
    profile: Profile
    revision: Revision
    """That of requests which name none."""
    declaration: Declaration
    oracle: Oracle
    omissions: Omissions
    read: int = 0
    """How many observations were judged."""
    _at: int = 0

    def observe(
        self,
        lines: Iterable[tuple[int, Observation | FlatFrame, str]],
        on_found: Callable[[Finding], None] = lambda _: None,
    ) -> None:
        """Judge lines: the number of each, what is on it, and its experiment. Tells what findings they decide.

        Raises TraceError: nothing more can be judged then.
        """
        observe, omissions, seen = self.oracle.observe, self.omissions, self.omissions.seen
        profile, last, read = self.profile, self._at, self.read
        try:
            for number, observation, experiment in lines:
                at = observation.at
                if at < last:
                    raise TraceError(self.path, number, f"at: {at} is before {last}, on a line before")
                last = at
                if type(observation) not in seen:
                    omissions.see(observation)
                for each in observe(observation, experiment, number, profile):
                    on_found(each)
                read += 1
        except ObservationError as error:
            raise TraceError(self.path, number, str(error)) from None
        finally:
            self._at, self.read = last, read

    def judged(self, problem: TraceError | None = None, *, interrupted: bool = False) -> Judged:
        """What it says so far. ``problem`` is why it could not be read to its end."""
        report = self.oracle.report(self.profile)
        incomplete = () if self.header.complete else (INCOMPLETE,)
        one_sided = (ONE_SIDED,) if self.header.vantage is Vantage.BETWEEN else ()
        notes = (*report.notes, *incomplete, *one_sided, how_far(self.read, problem, interrupted=interrupted))
        return Judged(
            path=self.path,
            header=self.header,
            report=evolve(report, clauses=self.omissions.explained(report.clauses), notes=notes),
            problem=problem,
            interrupted=interrupted,
        )


def begin(
    path: Path,
    header: TraceHeader,
    *,
    line: int = 1,
    profile: Profile,
    declaration: Declaration | None = None,
    registry: Registry,
) -> Judging:
    """Begin to judge what has this header, which stands on a line. ``declaration`` goes before the header's own.

    Raises TraceError.
    """
    revisions = {revision.value: revision for revision in Revision}
    if header.revision and header.revision not in revisions:
        raise TraceError(path, line, f"revision: one of {', '.join(revisions)} is needed")
    if declaration is None:
        declaration = header.declaration
        try:
            check_declaration("declaration", declaration)
        except PolicyError as error:
            raise TraceError(path, line, str(error)) from None
    revision = revisions.get(header.revision, NEWEST_WITH_RESUMPTION)
    oracle = Oracle(revision=revision, declaration=declaration, complete=header.complete, registry=registry)
    return Judging(path, header, profile, revision, declaration, oracle, Omissions(header.complete))


def judge_recording(
    path: Path, *, profile: Profile, declaration: Declaration | None = None, registry: Registry
) -> Judged:
    """Judge one recording. What is bad about it, and an interruption, are told in the result and not raised.

    ``declaration`` goes before the one in the header.
    """
    judging: Judging | None = None
    problem: TraceError | None = None
    interrupted = False
    with seldom_collected():
        try:
            with open_flat(path) as (header, lines):
                judging = begin(path, header, profile=profile, declaration=declaration, registry=registry)
                judging.observe(lines)
        except TraceError as error:
            problem = error
        except KeyboardInterrupt:
            interrupted = True
        if judging is None:
            return unreadable(path, problem, interrupted=interrupted)
        judged = judging.judged(problem, interrupted=interrupted)
        judging.oracle.close()
        return judged


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Within it the garbage collector looks for cycles less often: what is judged is much, and leaves few."""
    before = gc.get_threshold()
    gc.set_threshold(3_000_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def unreadable(path: Path, problem: TraceError | None, *, interrupted: bool = False) -> Judged:
    """What is said of a recording of which not even the header could be read."""
    report = Report(clauses=(), notes=(how_far(0, problem, interrupted=interrupted),))
    return Judged(path=path, header=None, report=report, problem=problem, interrupted=interrupted)


def how_far(read: int, problem: TraceError | None, *, interrupted: bool) -> str:
    """How much of a recording was judged, and why no more."""
    judged = "1 observation was" if read == 1 else f"{read} observations were"
    if problem is not None:
        return f"bad at {problem}; {judged} before that judged, and nothing after it."
    return f"Interrupted: {judged} judged, and nothing after that." if interrupted else f"{judged} judged."


def merge(judged: Sequence[Judged], registry: Registry) -> Report:
    """What several recordings say together; findings and notes name the file that they are of."""
    if len(judged) == 1:
        return judged[0].report
    return merge_reports([(str(each.path), each.report) for each in judged], registry)


def merge_reports(named: Sequence[tuple[str, Report]], registry: Registry) -> Report:
    """What several reports say together: of each clause the worst, of each finding its shortest exchange."""
    findings: dict[tuple[str, str, str], Finding] = {}
    for name, report in named:
        for finding in report.findings:
            key = (finding.clause, finding.fault.value, finding.kind.value)
            shown = evolve(finding, summary=f"{name}: {finding.summary}")
            known = findings.get(key, shown)
            shortest = shown if len(shown.evidence) < len(known.evidence) else known
            findings[key] = evolve(shortest, times=finding.times + (known.times if key in findings else 0))
    order = {clause: place for place, clause in enumerate(registry)}
    return Report(
        clauses=_merged_clauses([report for _, report in named], order),
        findings=tuple(sorted(findings.values(), key=lambda each: (order[each.clause], each.fault.value))),
        notes=_merged_notes(named),
    )


_WORST_FIRST = (Outcome.VIOLATED, Outcome.HELD, Outcome.NOT_OBSERVED)


def _merged_clauses(reports: Sequence[Report], order: dict[str, int]) -> tuple[ClauseResult, ...]:
    by_clause: dict[str, list[ClauseResult]] = {}
    for report in reports:
        for result in report.clauses:
            by_clause.setdefault(result.clause, []).append(result)
    merged = []
    for clause in sorted(by_clause, key=order.__getitem__):
        results = by_clause[clause]
        outcome = min((result.outcome for result in results), key=_WORST_FIRST.index)
        reasons = dict.fromkeys(result.note for result in results if result.outcome is outcome and result.note)
        count = sum(result.observations for result in results)
        merged.append(evolve(results[0], outcome=outcome, observations=count, note="; or ".join(reasons)))
    return tuple(merged)


def _merged_notes(named: Sequence[tuple[str, Report]]) -> tuple[str, ...]:
    """What holds of all is said once, and the rest under the names of the files; so are the faults of each."""
    common = [note for note in named[0][1].notes if all(note in report.notes for _, report in named)]
    notes = list(common)
    for name, report in named:
        faults = dict.fromkeys(f"{finding.clause} {finding.fault.value}" for finding in report.findings)
        notes += [f"{name}: {note}" for note in report.notes if note not in common]
        notes += [f"{name}: {', '.join(faults)}"] if faults else []
    return tuple(notes)


def run_of_judged(
    judged: Sequence[Judged], profile: Profile, fail_on: FailOn, declaration: Declaration | None, repeat: str = ""
) -> Run:
    """The run that a report about them is of: what the headers say, where they agree."""
    reasons = [each.stopped for each in judged if each.stopped]
    more = f" (and {len(reasons) - 1} more: see the notes)" if len(reasons) > 1 else ""
    headers = [each.header for each in judged if each.header is not None]

    def agreed(of: Callable[[TraceHeader], str]) -> str:
        said = {of(header) for header in headers}
        return said.pop() if len(said) == 1 else ""

    declared = {header.declaration for header in headers} if declaration is None else {declaration}
    return Run(
        target=str(judged[0].path) if len(judged) == 1 else f"{len(judged)} recordings",
        server=agreed(lambda header: header.server),
        revision=agreed(lambda header: header.revision),
        profile=profile.value,
        stimulus=agreed(lambda header: header.stimulus),
        declaration=declared.pop() if len(declared) == 1 else NOTHING_DECLARED,
        command=repeat,
        stopped=f"{reasons[0]}{more}" if reasons else "",
        fail_on=fail_on,
        bad_input=any(each.problem is not None for each in judged),
    )
