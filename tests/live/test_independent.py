"""Two servers written from the MCP text alone, without the machine: a right one, and one with three faults at once."""

import ast
import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from reattach.io.run import FailOn, counts
from reattach.live import probe as probing
from reattach.live.probe import ProbeOptions, ProbeResult, probe
from reattach.oracle.verdict import Fault, Kind, Outcome

SERVER = Path(__file__).parents[1] / "servers" / "independent" / "server.py"
BOUND = 120

SHOWN_BY = {
    "lossy-hand-over": ("DEL-2", Fault.SILENT_GAP),
    "mixed-replay": ("DEL-3", Fault.CROSS_STREAM_REPLAY),
    "undead-session": ("SES-4", Fault.SESSION_RESURRECTED),
}
"""For each fault of the server: the clause that it breaks, and the class of the fault."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "DEFAULT_BUDGET_MS", 0)  # every experiment once, racy ones not again


def run(*faults: str) -> ProbeResult:
    switches = [word for fault in faults for word in ("--fault", fault)]
    command = f"{shlex.join([sys.executable, str(SERVER), *switches])} --port {{port}}"
    return asyncio.run(asyncio.wait_for(probe(ProbeOptions(command=command, seed=4)), BOUND))


def test_it_imports_nothing_of_reattach() -> None:
    imported = set()
    for node in ast.walk(ast.parse(SERVER.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add((node.module or "").partition(".")[0])
    assert "starlette" in imported
    assert imported - sys.stdlib_module_names == {"starlette", "uvicorn"}


def test_nothing_is_found_on_the_right_one() -> None:
    result = run()
    found = [(each.clause, each.fault.value, each.summary) for each in result.report.findings]
    # What the text leaves open may differ; nothing that it obliges or advises is missed.
    assert [each for each in result.report.findings if counts(each.kind, FailOn.SHOULD)] == [], found
    assert result.stopped == ""
    held = {each.clause for each in result.report.clauses if each.outcome is Outcome.HELD}
    assert {clause for clause, _ in SHOWN_BY.values()} <= held
    assert {"SES-2", "SES-5", "EVT-1", "EVT-3", "DEL-4", "DEL-5", "DEL-8", "DEL-9", "GET-1", "CUR-8", "ATT-4"} <= held


def test_all_three_faults_of_the_other_are_found_each_in_its_class() -> None:
    result = run(*SHOWN_BY)
    found = {(each.clause, each.fault) for each in result.report.findings if each.kind is not Kind.UNDEFINED_AREA}
    assert set(SHOWN_BY.values()) <= found
    assert result.stopped == ""


@pytest.mark.parametrize("fault", SHOWN_BY)
def test_each_fault_alone_is_found_and_is_not_taken_for_another(fault: str) -> None:
    result = run(fault)
    found = {(each.clause, each.fault) for each in result.report.findings if counts(each.kind, FailOn.MUST)}
    assert SHOWN_BY[fault] in found
    assert found.isdisjoint(set(SHOWN_BY.values()) - {SHOWN_BY[fault]}), found
