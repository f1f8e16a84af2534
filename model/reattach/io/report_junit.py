"""The report for continuous integration: JUnit XML, a suite per topic and a case per clause.

A clause that was not observed is *skipped*, with its reason; one whose findings do not count at the ``--fail-on``
level, or are expected by the baseline, passes, and its findings are in its output. A stale entry of the baseline adds a
case that *fails*; a run without a verdict adds one that is an *error*, so that it can never look like a pass.
"""

import re
from xml.etree import ElementTree

from reattach.clauses import Registry
from reattach.io.baseline import expectation_of
from reattach.io.exchange import exchange_lines
from reattach.io.plain import plain_lines
from reattach.io.run import Case, Presented, Run, Verdict, case_of, stale, verdict_of
from reattach.oracle.verdict import Finding

# What XML 1.0 cannot hold even as a reference. `plain_lines` has escaped the rest of what does not print.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(presented: Presented, registry: Registry) -> str:
    """The report as JUnit XML."""
    report, run = presented.report, presented.run
    root = ElementTree.Element("testsuites", name=_text(f"reattach {run.target}"))
    suites: dict[str, ElementTree.Element] = {}
    for result in report.clauses:
        topic = result.clause.partition("-")[0]
        if topic not in suites:
            suites[topic] = ElementTree.SubElement(root, "testsuite", name=topic)
        _case(suites[topic], case_of(result, presented), run, registry)
    refuted = stale(report, run)
    if refuted:
        suite = ElementTree.SubElement(root, "testsuite", name="baseline")
        for entry in refuted:
            name = f"{entry.clause} {entry.fault}"
            case = ElementTree.SubElement(suite, "testcase", classname="reattach.baseline", name=name)
            message = f"stale: expected ({entry.reason}) and not found"
            ElementTree.SubElement(case, "failure", type="stale", message=_text(message))
    if verdict_of(report, run) is Verdict.NO_VERDICT:
        suite = ElementTree.SubElement(root, "testsuite", name="run")
        case = ElementTree.SubElement(suite, "testcase", classname="reattach.run", name="verdict")
        reason = run.stopped or "nothing was observed"
        ElementTree.SubElement(case, "error", type="no-verdict", message=_text(reason))
    for element in [*root.findall("testsuite"), root]:
        _count(element)
    root.set("time", f"{run.elapsed_ms / 1000:.3f}")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _case(suite: ElementTree.Element, case: Case, run: Run, registry: Registry) -> None:
    result = case.result
    clause = registry.get(result.clause)
    title = f"{result.clause} {clause.title}" if clause else result.clause
    classname = f"reattach.{suite.get('name')}"
    element = ElementTree.SubElement(suite, "testcase", classname=classname, name=_text(title), time="0")
    if case.failing:
        faults = ", ".join(dict.fromkeys(finding.fault.value for finding, _ in case.failing))
        first = case.failing[0][0]
        message = f"{faults}: {first.summary}"
        failure = ElementTree.SubElement(element, "failure", type=first.kind.value, message=_text(message))
        statement = [f"{result.level.value}: {clause.statement}"] if clause else []
        failure.text = _text("\n\n".join(statement + [_finding(*item, run) for item in case.failing]))
    elif case.failed:
        ElementTree.SubElement(element, "failure", type="violated", message=_text(result.note or "violated"))
    elif case.skipped:
        ElementTree.SubElement(element, "skipped", message=_text(result.note or "not observed"))
    if case.other:
        ElementTree.SubElement(element, "system-out").text = _text(
            "\n\n".join(_finding(*item, run) for item in case.other)
        )


def _finding(finding: Finding, replay: str | None, run: Run) -> str:
    lines = [f"{finding.fault.value} ({finding.kind.value}): {finding.summary}", *exchange_lines(finding)]
    expected = expectation_of(finding, run.baseline)
    if expected is not None:
        lines.insert(1, f"expected: {expected.reason}")
    if replay:
        lines.append(f"reattach replay {replay}")
    return "\n".join(lines)


def _count(element: ElementTree.Element) -> None:
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(len(element.findall(f".//{tag}"))))


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", plain_lines(text))
