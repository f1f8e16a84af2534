"""The report for programs: ``reattach-report/1``, described by spec/schema/report-1.schema.json."""

import json

import reattach
from reattach.io.baseline import Expected, expectation_of
from reattach.io.exchange import exchange_lines
from reattach.io.run import Presented, exit_code_of, stale, verdict_of
from reattach.io.soak_shown import soak_to_json
from reattach.io.trace import observation_to_json
from reattach.oracle.observation import Json
from reattach.oracle.verdict import ClauseResult

SCHEMA = "reattach-report/1"


def report_to_json(presented: Presented) -> dict[str, Json]:
    """The report as a JSON object."""
    report, run = presented.report, presented.run
    return {
        "schema": SCHEMA,
        "tool": {"name": "reattach", "version": reattach.__version__},
        "verdict": verdict_of(report, run).value,
        "exit_code": exit_code_of(report, run),
        "run": {
            "target": run.target,
            "server": run.server,
            **({"client": run.client} if run.client else {}),
            "revision": run.revision,
            "profile": run.profile,
            "seed": run.seed,
            "stimulus": run.stimulus,
            "elapsed_ms": run.elapsed_ms,
            "fail_on": run.fail_on.value,
            "stopped": run.stopped,
            "command": run.command,
        },
        "notes": list(report.notes),
        "clauses": [_clause(result) for result in report.clauses],
        "findings": [
            {
                "clause": finding.clause,
                "level": finding.level.value,
                "kind": finding.kind.value,
                "fault": finding.fault.value,
                "summary": finding.summary,
                "times": finding.times,
                "reproduced": None if finding.reproduced is None else list(finding.reproduced),
                "experiment": finding.experiment,
                "steps": exchange_lines(finding),
                "evidence": [observation_to_json(observation) for observation in finding.evidence],
                "places": list(finding.places),
                "replay": replay,
                "expected": _reason(expectation_of(finding, run.baseline)),
            }
            for finding, replay in zip(report.findings, presented.replays, strict=True)
        ],
        "stale": [
            {"clause": entry.clause, "fault": entry.fault, "reason": entry.reason} for entry in stale(report, run)
        ],
        **({} if presented.soak is None else {"soak": soak_to_json(presented.soak)}),
    }


def render_json(presented: Presented) -> str:
    """The report as text: indented, ASCII."""
    return json.dumps(report_to_json(presented), indent=2) + "\n"


def _reason(expected: Expected | None) -> str | None:
    return None if expected is None else expected.reason


def _clause(result: ClauseResult) -> dict[str, Json]:
    return {
        "id": result.clause,
        "level": result.level.value,
        "outcome": result.outcome.value,
        "observations": result.observations,
        "note": result.note,
    }
