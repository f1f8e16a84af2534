"""A HAR judged: each MCP endpoint in it as a recording of its own, and what the file as a whole does not show."""

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from reattach.clauses import Registry
from reattach.io.har import Har, read_har
from reattach.io.har_file import HarError
from reattach.io.recordings import INCOMPLETE, Judged, begin, how_far, merge_reports, unreadable
from reattach.io.trace import TraceHeader
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.verdict import ClauseResult, Finding, Outcome, Profile, Report

NOT_SHOWN = {
    **dict.fromkeys(
        ("IDL-1", "IDL-2", "IDL-3", "IDL-4", "IDL-6", "WIN-6"), "a HAR does not show when a view was read, and when not"
    ),
    "SES-7": "a HAR does not show who sent a request: credentials may have been renewed",
}
"""The clauses that a HAR cannot show, and why."""
_SHOWN = 20
"""How many entries a note names one by one."""


def judge_har(path: Path, *, profile: Profile, declaration: Declaration | None = None, registry: Registry) -> Judged:
    """Judge one HAR. What is bad about it, and an interruption, are told in the result and not raised."""
    interrupted = False
    reports: list[tuple[str, Report]] = []
    read = 0
    try:
        har = read_har(path)
    except HarError as error:
        return unreadable(path, error)
    except KeyboardInterrupt:
        return unreadable(path, None, interrupted=True)
    promised = declaration or NOTHING_DECLARED
    try:
        for endpoint in har.endpoints:
            header = TraceHeader(target=endpoint.url, revision=endpoint.revision)
            judging = begin(path, header, profile=profile, declaration=_as_far_as_it_binds(promised), registry=registry)
            try:
                for observation in endpoint.observations:
                    judging.omissions.see(observation)
                    judging.oracle.observe(observation)
                    read += 1
            finally:
                report = judging.oracle.report(profile)
                explained = evolve(report, clauses=judging.omissions.explained(report.clauses))
                reports.append((endpoint.url, _as_far_as_shown(explained)))
    except KeyboardInterrupt:
        interrupted = True
    merged = reports[0][1] if len(reports) == 1 else merge_reports(reports, registry) if reports else Report(clauses=())
    revisions = {endpoint.revision for endpoint in har.endpoints}
    notes = (*merged.notes, *_notes(har, promised), how_far(read, har.problem, interrupted=interrupted))
    return Judged(
        path=path,
        header=TraceHeader(revision=revisions.pop() if len(revisions) == 1 else ""),
        report=evolve(merged, notes=notes),
        problem=har.problem,
        interrupted=interrupted,
    )


def _as_far_as_it_binds(declaration: Declaration) -> Declaration:
    """What is declared, without what a HAR does not show: when within a body an event came, and what ends a session."""
    return evolve(declaration, window_ms=None, absence_ms=None)


def _as_far_as_shown(report: Report) -> Report:
    """The report without what only one can say who read the answers himself; its findings with their entries."""
    return evolve(
        report,
        clauses=tuple(_unless_hidden(each) for each in report.clauses),
        findings=tuple(_with_entry(each) for each in report.findings if each.clause not in NOT_SHOWN),
    )


def _unless_hidden(result: ClauseResult) -> ClauseResult:
    why = NOT_SHOWN.get(result.clause)
    return result if why is None else evolve(result, outcome=Outcome.NOT_OBSERVED, observations=0, note=why)


def _with_entry(finding: Finding) -> Finding:
    """The finding with the entries that its evidence is of: connections are numbered by them."""
    entries = tuple(observation.connection for observation in finding.evidence)
    return evolve(
        finding, places=entries, summary=f"entry {entries[-1]}: {finding.summary}" if entries else finding.summary
    )


def _notes(har: Har, promised: Declaration) -> tuple[str, ...]:
    urls = ", ".join(endpoint.url for endpoint in har.endpoints) or "no endpoint"
    ignored = "; ".join(f"{count} {reason}" for reason, count in sorted(har.ignored.items()))
    cut = [number for endpoint in har.endpoints for number in endpoint.cut]
    unknown = [number for endpoint in har.endpoints for number in endpoint.unknown]
    said = (
        (har.endpoints, INCOMPLETE),
        (har.entries, f"HAR of {_count(har.entries)}, of MCP: {urls}."),
        (ignored, f"Entries ignored: {ignored}."),
        (cut, f"Cut, or not known to be whole: {_named(cut)}; from what is not in them nothing is concluded."),
        (unknown, f"Without a time at which the answer came: {_named(unknown)}; those answers are left out."),
        (
            promised.window_ms is not None,
            "Not held against it, since a HAR does not say when an event came: window_ms.",
        ),
        (
            promised.absence_ms is not None,
            "Not held against it, since a HAR shows neither restarts nor whether a reader read: absence_ms.",
        ),
        *(
            (
                each.sessionless,
                f"{each.url}: no session id is in the file. If they were taken out, rely on nothing here.",
            )
            for each in har.endpoints
        ),
        *((url, f"{url} is not judged: its session ids were taken out of the file.") for url in har.redacted),
    )
    return tuple(note for applies, note in said if applies)


def _named(entries: Sequence[int]) -> str:
    more = f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else ""
    return f"entry {entries[0]}" if len(entries) == 1 else f"entries {', '.join(map(str, entries[:_SHOWN]))}{more}"


def _count(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"
