"""The report for people: what was run, a table of clauses by outcome, then each finding as an exchange."""

from io import StringIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reattach.clauses import Registry
from reattach.io.baseline import Baseline, expectation_of
from reattach.io.exchange import Step, steps_of
from reattach.io.plain import plain
from reattach.io.run import Presented, Run, Verdict, exit_code_of, results_by_outcome, stale, verdict_of
from reattach.io.soak_shown import soak_text
from reattach.io.wording import clause_counts, facts_of, finding_counts, remark_of, reproduction, title_of
from reattach.oracle.verdict import ClauseResult, Finding, Outcome

WIDTH = 100
"""Columns of a report that does not go to a terminal."""

_STYLES = {Outcome.VIOLATED: "bold red", Outcome.HELD: "green", Outcome.NOT_OBSERVED: "yellow"}
_VERDICT_STYLES = {Verdict.CONFORMS: "bold green", Verdict.VIOLATES: "bold red", Verdict.NO_VERDICT: "bold yellow"}
_STEP_STYLES = {">": "cyan", "<": "default", ".": "dim"}


def render_text(presented: Presented, registry: Registry) -> str:
    """The report as plain text."""
    return to_text(text_report(presented, registry))


def to_text(shown: RenderableType) -> str:
    """Anything for a Rich console as plain text of 100 columns, without styles and trailing spaces."""
    file = StringIO()
    Console(file=file, width=WIDTH, no_color=True, force_terminal=False, legacy_windows=False).print(shown)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def text_report(presented: Presented, registry: Registry) -> RenderableType:
    """The report for a Rich console."""
    parts: list[RenderableType] = [_header(presented.run), ""]
    if presented.soak is not None:
        parts += [soak_text(presented.soak), ""]
    results = results_by_outcome(presented.report)
    for outcome in (Outcome.VIOLATED, Outcome.HELD):
        if results[outcome]:
            parts += [_table(outcome, results[outcome], presented, registry), ""]
    if results[Outcome.NOT_OBSERVED]:
        parts += [_not_observed(results[Outcome.NOT_OBSERVED], registry), ""]
    if presented.report.notes:
        parts += [*(Text(f"note: {plain(note)}", style="dim") for note in presented.report.notes), ""]
    findings = zip(presented.report.findings, presented.replays, strict=True)
    for number, (finding, replay) in enumerate(findings, start=1):
        parts += [finding_text(number, finding, replay, registry, presented.run.baseline), ""]
    parts.append(_summary(presented))
    return Group(*parts)


def finding_text(
    number: int, finding: Finding, replay: str | None, registry: Registry, baseline: Baseline = ()
) -> RenderableType:
    """One finding: what it is, the clause's words, and the exchange that shows it."""
    clause = registry.get(finding.clause)
    head = Text.assemble(
        (f"{number}. ", "bold"),
        (finding.fault.value, "bold red"),
        f"  {finding.clause} {finding.level.value}  {finding.kind.value}",
        "" if finding.times == 1 else f"  seen {finding.times} times",
        "" if finding.reproduced is None else f"  reproduced: {reproduction(finding.reproduced)}",
    )
    body: list[RenderableType] = [Text(plain(finding.summary))]
    expected = expectation_of(finding, baseline)
    body += [Text(f"expected: {plain(expected.reason)}", style="bold")] if expected is not None else []
    if clause is not None:
        body.append(Text(f"{clause.id}: {clause.statement}", style="italic"))
    steps = steps_of(finding.evidence)
    body += ["", exchange_text(steps, finding.fault.value), ""] if steps else []
    body += [Text(f"reattach replay {plain(replay)}", style="dim")] if replay else []
    return Group(head, Padding(Group(*body), (0, 0, 0, 3)))


def exchange_text(steps: tuple[Step, ...], fault: str) -> RenderableType:
    """The lines of an exchange, with the first wrong thing marked."""
    lines: list[RenderableType] = []
    for step in steps:
        line = Text(str(step), style="bold red" if step.wrong else _STEP_STYLES[step.direction], no_wrap=True)
        lines.append(line)
        if step.wrong:
            lines.append(Text(f"{'':>13}^ {fault}", style="bold red"))
    return Group(*lines)


def _header(run: Run) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, value in facts_of(run):
        table.add_row(Text(name, style="dim"), Text(plain(value), overflow="fold"))
    return table


def _table(outcome: Outcome, results: list[ClauseResult], presented: Presented, registry: Registry) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("clause", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("what", ratio=3)
    table.add_column("seen", justify="right", no_wrap=True)
    table.add_column("fault" if outcome is Outcome.VIOLATED else "note", ratio=3)
    for result in results:
        remark = remark_of(result, presented.report)
        cells = [result.clause, result.level.value, title_of(result.clause, registry), str(result.observations), remark]
        table.add_row(*(Text(plain(cell)) for cell in cells))
    return Group(_heading(outcome, len(results)), table)


def _not_observed(results: list[ClauseResult], registry: Registry) -> RenderableType:
    """What was not exercised, by reason: many clauses share one."""
    reasons: dict[str, list[ClauseResult]] = {}
    for result in results:
        reasons.setdefault(result.note, []).append(result)
    parts: list[RenderableType] = [_heading(Outcome.NOT_OBSERVED, len(results))]
    for reason, group in reasons.items():
        names = "; ".join(f"{result.clause} {title_of(result.clause, registry)}".rstrip() for result in group)
        parts += [Text(plain(names)), Padding(Text(plain(reason), style="dim"), (0, 0, 0, 3))]
    return Group(*parts)


def _heading(outcome: Outcome, count: int) -> Text:
    return Text(f"{outcome.value}: {count}", style=_STYLES[outcome])


def _summary(presented: Presented) -> RenderableType:
    report, run = presented.report, presented.run
    verdict = verdict_of(report, run)
    found = finding_counts(report)
    lines = [
        Text.assemble(
            ("verdict: ", "bold"), (verdict.value, _VERDICT_STYLES[verdict]), f" (exit {exit_code_of(report, run)})"
        ),
        Text(f"clauses: {', '.join(clause_counts(report))}"),
    ]
    lines += [Text(f"findings: {', '.join(found)}; --fail-on {run.fail_on.value}")] if found else []
    lines += [
        Text(f"stale in the baseline: {plain(str(entry))}: its finding did not come", style="bold red")
        for entry in stale(report, run)
    ]
    lines += [Text(f"stopped early: {plain(run.stopped)}", style="bold yellow")] if run.stopped else []
    lines += [Text(f"to repeat: {plain(run.command)}", style="dim", overflow="fold")] if run.command else []
    return Group(*lines)
