"""The ledger: what is written is what was found, and what stands in the standard is in step with the theorems."""

import json
import re
from pathlib import Path

import pytest
from attrs import evolve
from tests.proofs import toys
from tests.proofs.test_prover import BOTH, source

from reattach import lines
from reattach.clauses import load_registry
from reattach.io.report_text import to_text
from reattach_proofs import ledger, sources
from reattach_proofs.exemptions import EXEMPT
from reattach_proofs.ledger import (
    KERNEL,
    LeftOver,
    clauses_table,
    render,
    shapes_table,
    statements,
    to_json,
    to_markdown,
)
from reattach_proofs.proof import Proof, summarized
from reattach_proofs.prover import Engine, Task, decide

LEDGER = Path(__file__).parents[2] / "spec" / "ledger.md"
REGISTRY = load_registry()


def section(title: str) -> list[str]:
    """The lines of one section of the ledger of the standard."""
    text = LEDGER.read_text(encoding="utf-8").partition(f"\n## {title}\n\n")[2]
    return text.partition("\n## ")[0].strip().splitlines()


def shapes_in_the_ledger() -> dict[str, tuple[int, int]]:
    """Of each shape the number of its obligations and of their paths, as the ledger of the standard has them."""
    rows = (re.fullmatch(r"\| (.*) \| (\d+) \| (\d+) \|", line) for line in section("Shapes"))
    found = {row[1]: (int(row[2]), int(row[3])) for row in rows if row is not None}
    return {"" if shape == ledger.NO_SHAPE else shape: numbers for shape, numbers in found.items()}


def test_the_standards_ledger_has_every_theorem_as_it_is() -> None:
    assert section("Theorems") == list(statements(sources.theorems())), "make prove writes spec/ledger.md again"


def test_the_standards_ledger_has_every_clause_as_it_is() -> None:
    assert section("Clauses") == list(clauses_table(REGISTRY, sources.theorems()))


def test_the_standards_ledger_has_every_shape_with_its_obligations() -> None:
    expected: dict[str, int] = {}
    for each in sources.SOURCES:
        for obligation in each.obligations():
            expected[obligation.shape] = expected.get(obligation.shape, 0) + 1
    assert {shape: count for shape, (count, _) in shapes_in_the_ledger().items()} == expected


def test_the_standards_ledger_says_of_every_theorem_that_both_solvers_proved_it() -> None:
    rows = [line.split(" | ") for line in section("What was decided")[2:]]
    assert [row[0].removeprefix("| ") for row in rows] == [theorem.name for theorem in sources.theorems()]
    assert {row[-2:][0] for row in rows} | {row[-1].removesuffix(" |") for row in rows} == {"proved"}


def test_the_standards_ledger_lists_the_lines_on_no_path_with_reasons() -> None:
    exempt = {f"- `{each.module}.{each.function}`: {each.reason}" for each in EXEMPT}
    assert set(section("Lines of the machine that are on no path")) <= exempt


def test_every_clause_of_a_theorem_is_a_clause_of_the_standard() -> None:
    assert [each for theorem in sources.theorems() for each in theorem.clauses if each not in REGISTRY] == []
    names = [theorem.name for theorem in sources.theorems()]
    assert len(names) == len(set(names))


def test_every_theorem_has_a_witness_named() -> None:
    for each in sources.SOURCES:
        assert [theorem.name for theorem in each.theorems if not each.witnesses.get(theorem.name)] == []


def test_every_clause_is_proved_or_tested_or_said_to_be_neither() -> None:
    for line in clauses_table(REGISTRY, sources.theorems()):
        assert not line.endswith("|  |")


def test_every_exemption_is_of_a_function_that_is_there_and_says_why() -> None:
    known = {(function.module, function.name) for module in KERNEL for function in lines.functions(module)}
    assert [each for each in EXEMPT if (each.module, each.function) not in known or not each.reason] == []


# What is shown


@pytest.fixture(params=["proved", "refuted", "vacuous"])
def shown(request: pytest.FixtureRequest) -> tuple[str, Proof]:
    runs = {"proved": [toys.true], "refuted": [toys.true, toys.false], "vacuous": [toys.contradictory]}
    of = source(*runs[request.param])
    decided = tuple(decide(each, BOTH) for each in of.obligations())
    results = tuple(summarized(of, decided, BOTH, whole=True))
    return request.param, Proof(theorems=results, decided=decided, expected=len(decided))


def test_the_table_says_what_was_found(shown: tuple[str, Proof]) -> None:
    verdict, proof = shown
    text = to_text(render(proof, {"toy": "3 of 4"}))
    (row,) = [line for line in text.splitlines() if line.startswith("toy ")]
    assert row.split()[:2] == ["toy", "CUR-7"]
    assert verdict in row
    assert "3 of 4" in row
    assert ("1 of 1 theorems proved" in text) is (verdict == "proved")
    if verdict == "refuted":
        assert "toy: refuted by z3: x is it" in text
        assert "toy: refuted by cvc5: x is it" in text
        assert re.search(r"for example x = -?\d+, y = -?\d+", text)
    if verdict == "vacuous":
        assert "never seen to be possible: y is higher" in text
        assert "what is assumed is contradictory" in text


def test_json_says_what_was_found(shown: tuple[str, Proof]) -> None:
    verdict, proof = shown
    document = json.loads(to_json(proof, {"toy": "3 of 4"}, (LeftOver("decision", "f", (1, 2), ""),)))
    assert document["schema"] == "reattach-proofs/1"
    (theorem,) = document["theorems"]
    assert theorem["verdicts"]["z3"] == verdict
    assert theorem["mutants_refuted"] == "3 of 4"
    assert document["proved"] is (verdict == "proved")
    assert bool(theorem["failures"]) is (verdict != "proved")
    assert document["lines_on_no_path"] == [{"module": "decision", "function": "f", "lines": [1, 2], "reason": ""}]


def test_an_interrupted_proof_says_how_much_is_left() -> None:
    stopped = Proof(theorems=(), decided=(), expected=7, interrupted=True)
    assert "interrupted: 7 obligations undecided" in to_text(render(stopped, {}))


def test_a_solver_that_was_not_asked_says_nothing() -> None:
    of = source(toys.true)
    task = evolve(BOTH, engines=(Engine.Z3,))
    decided = tuple(decide(each, task) for each in of.obligations())
    proof = Proof(theorems=tuple(summarized(of, decided, task, whole=True)), decided=decided, expected=1)
    assert list(proof.theorems[0].verdicts) == [Engine.Z3]
    (row,) = [line for line in to_text(render(proof, {})).splitlines() if line.startswith("toy ")]
    assert row.split()[-4:-2] == ["–", "–"]
    assert "| proved | – |" in to_markdown(proof, REGISTRY, ())


def test_shapes_are_added_up() -> None:
    assert list(shapes_table([("one", 2), ("two", 1), ("one", 3), ("", 1)]))[2:] == [
        "| one | 2 | 5 |",
        "| two | 1 | 1 |",
        "| a new session | 1 | 1 |",
    ]


# Lines of the machine


def test_the_lines_that_a_path_executes_are_recorded() -> None:
    every = next(each for each in sources.SOURCES[0].obligations() if each.name.endswith("no view | tick"))
    every = next(each for each in sources.SOURCES[0].obligations() if each.name == f"{every.shape} | resume malformed")
    executed = decide(every, Task(replay=True, record=True)).lines
    assert decide(every).lines == frozenset()
    decision = {function.name: function for function in lines.functions("decision")}
    assert ("decision", min(decision["decide_cursor"].lines)) in executed
    left = dict(lines.left_over("decision", executed))
    assert decision["status_of"] in left
    assert left[decision["decide_cursor"]]
    assert left[decision["decide_cursor"]] != tuple(sorted(decision["decide_cursor"].lines))


def test_a_line_that_no_path_executes_is_left_over_with_its_reason_or_as_a_gap() -> None:
    nothing = Proof(theorems=(), decided=(), expected=0)
    left = {(each.module, each.function): each.reason for each in ledger.unexecuted(nothing)}
    assert left["decision", "decide_cursor"] == ""
    assert all(left[each.module, each.function] == each.reason for each in EXEMPT)
    assert "no reason is given" in to_text(render(nothing, {}, ledger.unexecuted(nothing)))
