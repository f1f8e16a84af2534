"""The report for code scanning: SARIF 2.1.0, a rule per clause and a result per finding.

A finding's exchange is its code flow, one location per line of the exchange, the first wrong one marked *essential*.
There are no source files to point at: locations name the target. A finding that the baseline expects is a suppressed
result with the reason as its justification; a violated clause whose finding got lost is a result too.
"""

import json

import reattach
from reattach.clauses import Clause, Registry
from reattach.io.baseline import expectation_of
from reattach.io.exchange import exchange_lines, steps_of
from reattach.io.run import Presented, Run, Verdict, exit_code_of, stale, verdict_of
from reattach.oracle.observation import Json
from reattach.oracle.verdict import ClauseResult, Finding, Kind, Level, Outcome

VERSION = "2.1.0"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {
    Kind.VIOLATES_MUST: "error",
    Kind.BREAKS_CONTRACT: "error",
    Kind.AGAINST_SHOULD: "warning",
    Kind.UNDEFINED_AREA: "note",
}
_RULE_LEVELS = {Level.MUST: "error", Level.SHOULD: "warning", Level.MAY: "note"}


def render_sarif(presented: Presented, registry: Registry) -> str:
    """The report as SARIF text: indented, ASCII."""
    return json.dumps(report_to_sarif(presented, registry), indent=2) + "\n"


def report_to_sarif(presented: Presented, registry: Registry) -> dict[str, Json]:
    """The report as a SARIF log with one run."""
    report, run = presented.report, presented.run
    names = dict.fromkeys([*(result.clause for result in report.clauses), *(each.clause for each in report.findings)])
    places = {name: place for place, name in enumerate(names)}
    explained = {finding.clause for finding in report.findings}
    lost = [
        result
        for result in report.clauses
        if result.outcome is Outcome.VIOLATED and result.clause not in explained
    ]  # fmt: skip
    return {
        "$schema": _SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "reattach",
                        "version": reattach.__version__,
                        "rules": [_rule(name, registry.get(name)) for name in names],
                    }
                },
                "invocations": [_invocation(presented)],
                "results": [
                    *(
                        _result(finding, replay, places[finding.clause], run)
                        for finding, replay in zip(report.findings, presented.replays, strict=True)
                    ),
                    *(_lost(result, places[result.clause], run) for result in lost),
                ],
                "properties": {
                    "verdict": verdict_of(report, run).value,
                    "server": run.server,
                    "revision": run.revision,
                    "profile": run.profile,
                    "seed": run.seed,
                    "outcomes": {result.clause: result.outcome.value for result in report.clauses},
                },
            }
        ],
    }


def _rule(name: str, clause: Clause | None) -> dict[str, Json]:
    if clause is None:
        return {"id": name}
    return {
        "id": clause.id,
        "name": clause.title,
        "shortDescription": {"text": clause.title},
        "fullDescription": {"text": clause.statement},
        "help": {"text": f"{clause.statement}\n\nWhy: {clause.reason}\n\nSource: {clause.source}\n\n{clause.example}"},
        "defaultConfiguration": {"level": _RULE_LEVELS[clause.level]},
        "properties": {"profile": clause.profile.value, "tags": [clause.topic]},
    }


def _invocation(presented: Presented) -> dict[str, Json]:
    report, run = presented.report, presented.run
    verdict = verdict_of(report, run)
    notices: list[Json] = [_notice("note", note) for note in report.notes]
    notices += [_notice("error", f"stale in the baseline: {entry}") for entry in stale(report, run)]
    if verdict is Verdict.NO_VERDICT or run.stopped:
        notices.append(_notice("error", run.stopped or "nothing was observed"))
    invocation: dict[str, Json] = {
        "executionSuccessful": verdict is not Verdict.NO_VERDICT and not run.stopped,
        "exitCode": exit_code_of(report, run),
        "exitCodeDescription": verdict.value,
        "toolExecutionNotifications": notices,
    }
    return {**invocation, "commandLine": run.command} if run.command else invocation


def _notice(level: str, text: str) -> dict[str, Json]:
    return {"level": level, "message": {"text": text}}


def _result(finding: Finding, replay: str | None, place: int, run: Run) -> dict[str, Json]:
    lines = [f"{finding.fault.value} ({finding.kind.value}): {finding.summary}", "", *exchange_lines(finding)]
    if replay:
        lines += ["", f"reattach replay {replay}"]
    expected = expectation_of(finding, run.baseline)
    result: dict[str, Json] = {
        "ruleId": finding.clause,
        "ruleIndex": place,
        # A recorded finding that was not seen again is there to be looked at.
        "kind": "review" if run.recorded else "fail",
        "level": "none" if run.recorded else _LEVELS[finding.kind],
        "message": {"text": "\n".join(lines)},
        "locations": [_location(run)],
        "occurrenceCount": finding.times,
        "partialFingerprints": {"clauseAndFault/v1": f"{finding.clause}/{finding.fault.value}"},
        "suppressions": []
        if expected is None
        else [{"kind": "external", "status": "accepted", "justification": expected.reason}],
        "properties": {
            "fault": finding.fault.value,
            "kind": finding.kind.value,
            "experiment": finding.experiment,
            "replay": replay,
        },
    }
    steps = steps_of(finding.evidence)
    flow = {
        "threadFlows": [
            {
                "locations": [
                    {
                        "executionOrder": number,
                        "importance": "essential" if step.wrong else "important",
                        "location": {**_location(run), "message": {"text": str(step)}},
                    }
                    for number, step in enumerate(steps, start=1)
                ]
            }
        ]
    }
    return {**result, "codeFlows": [flow]} if steps else result


def _lost(result: ClauseResult, place: int, run: Run) -> dict[str, Json]:
    return {
        "ruleId": result.clause,
        "ruleIndex": place,
        "level": _RULE_LEVELS[result.level],
        "message": {"text": result.note or "violated"},
        "locations": [_location(run)],
    }


def _location(run: Run) -> dict[str, Json]:
    return {"logicalLocations": [{"fullyQualifiedName": run.target, "kind": "resource"}]}
