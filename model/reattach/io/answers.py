"""What the oracle answers to a test suite that asks as it goes: ``reattach-oracle/1``, lines of JSON.

docs/oracle.md says what they mean, spec/schema/oracle-1.schema.json how they look. An answer is about a **run**: what
stands between a header and its end. Secrets are replaced in each answer by itself: a pseudonym is the same within one.
"""

from collections.abc import Mapping, Sequence

import reattach
from reattach.clauses import Registry
from reattach.io.exchange import connection_letters, exchange_lines
from reattach.io.recordings import Judging
from reattach.io.redact import make_redactor, redact_report
from reattach.io.report_json import report_to_json
from reattach.io.run import FailOn, Presented, counts
from reattach.io.shadow_text import right
from reattach.oracle.observation import Json, Observation
from reattach.oracle.shadow import shadow_of_last
from reattach.oracle.verdict import Finding, Report

SCHEMA = "reattach-oracle/1"

Answer = dict[str, Json]


def ready() -> Answer:
    """The first line of all: what is spoken here."""
    return {"type": "ready", "schema": SCHEMA, "tool": {"name": "reattach", "version": reattach.__version__}}


def finding_answer(
    run: str,
    told: int,
    finding: Finding,
    judging: Judging,
    before: Sequence[Observation],
    fail_on: FailOn,
    registry: Registry,
) -> Answer:
    """Something is wrong: which step of the run, and what the reference machine does there.

    ``told`` is the line that shows it; ``before`` all that was observed up to the wrong step, if that is known.
    """
    redactor = make_redactor(finding.evidence)
    (shown,) = redact_report(Report(clauses=(), findings=(finding,)), redactor).findings
    letters = connection_letters(shown.evidence)
    return {
        "type": "finding",
        "run": run,
        "line": shown.places[-1],
        "told": told,
        "clause": shown.clause,
        "level": shown.level.value,
        "kind": shown.kind.value,
        "fault": shown.fault.value,
        "fails": counts(shown.kind, fail_on),
        "summary": shown.summary,
        "right": redactor.text(_right(finding, judging, before, letters)),
        "rule": registry[shown.clause].statement,
        "places": list(shown.places),
        "connections": {letter: connection for connection, letter in letters.items()},
        "steps": exchange_lines(shown),
        "experiment": shown.experiment,
    }


def _right(finding: Finding, judging: Judging, before: Sequence[Observation], letters: Mapping[int, str]) -> str:
    """What the machine does instead: it is asked with all that was observed, else with what the finding shows."""
    revision, declaration = judging.revision, judging.declaration
    wrong = finding.evidence[-1]
    if before:
        said = right(shadow_of_last(before, revision, declaration, finding.clause), wrong, letters)
        if said:
            return said
    return right(shadow_of_last(finding.evidence, revision, declaration, finding.clause), wrong, letters)


def verdict_answer(run: str, line: int, presented: Presented, *, closing: bool) -> Answer:
    """What holds of a run up to a line."""
    return {"type": "verdict", "run": run, "line": line, "closing": closing, "report": report_to_json(presented)}


def error_answer(line: int, reason: str, ends: Sequence[str] = ()) -> Answer:
    """A line that cannot be taken, and the runs whose judging that ends."""
    return {"type": "error", "line": line, "reason": reason, "ends": list(ends)}
