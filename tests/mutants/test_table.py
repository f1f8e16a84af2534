"""The kill table: the document says what the registry says, and a mutant that was not found is told."""

import datetime
from pathlib import Path

from reattach.live.mutants.conformance import Checks, find_suite, summed
from reattach.live.mutants.generated import sample
from reattach.live.mutants.probing import Aim, Fate, Probed
from reattach.live.mutants.registry import MUTANTS
from reattach.live.mutants.survivors import SURVIVORS
from reattach.live.mutants.table import HEAD, Row, Table, aimed, code, described, survived, to_markdown
from reattach.oracle.verdict import Fault, Finding, Kind, Level

DOCUMENT = Path(__file__).parents[2] / "docs/mutants.md"
NAMES = ("inclusive-cursor", "no-ttl")
CHANGES = sample(1, 4)
CLEAN = Checks(passed=8, failures=(), warnings=())
FINDING = Finding(
    clause="DEL-1",
    level=Level.MUST,
    kind=Kind.VIOLATES_MUST,
    fault=Fault.DUPLICATE_DELIVERY,
    summary="twice",
)


def probed(name: str, *findings: Finding, first_ms: int | None = None) -> Probed:
    mutant = MUTANTS[name]
    aim = Aim(mutant.clause, mutant.fault)
    return Probed(findings=findings, aim=aim, first_ms=first_ms, elapsed_ms=9_000, stopped="")


def table(suite: Checks | None) -> Table:
    failing = None if suite is None else summed([{"id": "resume", "status": "FAILURE"}], [])
    whole = Probed(findings=(), aim=None, first_ms=None, elapsed_ms=40_000, stopped="")
    return Table(
        unmutated=Row(name="", probe=whole, suite=suite),
        sdk=None,
        sdk_version="",
        mutants=(
            Row(name=NAMES[0], probe=probed(NAMES[0], FINDING, first_ms=321), suite=failing),
            Row(name=NAMES[1], probe=probed(NAMES[1]), suite=suite),
        ),
        generated=(
            Fate(mutant=CHANGES[0], shown="DEL-1 duplicate-delivery"),
            Fate(mutant=CHANGES[1], shown="no verdict: it does not answer"),
            Fate(mutant=CHANGES[2], shown="", unseen=("CUR-7",)),
            Fate(mutant=CHANGES[3], shown=""),
        ),
        of=700,
        seed=1,
        suite_version="1",
        node_version="2",
        day=datetime.date(2026, 11, 30),
        seconds=1,
    )


def shown(suite: Checks | None) -> str:
    return to_markdown(table(suite), {name: MUTANTS[name] for name in NAMES})


def rows(name: str, text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]


def test_what_was_found_and_what_was_not_are_told() -> None:
    text = shown(CLEAN)
    assert rows(NAMES[0], text)[0] == f"{aimed(MUTANTS[NAMES[0]])} yes | 321 ms | 0 |  | 0 passed, fails resume |"
    assert rows(NAMES[1], text)[0] == f"{aimed(MUTANTS[NAMES[1]])} **no** |  |  |  | 8 passed |"
    assert "1 of 2 mutants found" in text
    assert "1 of 2 change any of its checks, 1 fail one" in text


def test_without_the_suite_its_column_says_so() -> None:
    text = shown(None)
    assert all(line.endswith("| not run |") for name in NAMES for line in rows(name, text)[:1])
    assert "not installed here" in text


def test_a_generated_mutant_that_survives_has_a_reason_or_is_a_gap() -> None:
    text = shown(CLEAN)
    assert "4 of 700 were probed: 1 found, 1 without a verdict" in text
    assert "1 under which less can be observed (never a pass either), 1 survive" in text
    assert f"| {code(CHANGES[2].wrong)} | not observed any more: CUR-7 |" in text
    assert text.splitlines()[-1] == survived(CHANGES[3].wrong)
    assert survived("no such change").endswith("| **gap**: nobody has judged it |")


def test_a_scenario_that_does_not_end_is_a_failure() -> None:
    checks = [{"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "WARNING"}, {"id": "c", "status": "INFO"}]
    assert summed(checks, ["hung"]) == Checks(passed=1, failures=("hung",), warnings=("b",))


def test_a_folder_without_the_suite_has_none(tmp_path: Path) -> None:
    assert find_suite(tmp_path) is None


def test_the_document_says_what_the_registry_says() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    for mutant in MUTANTS.values():
        row, description = rows(mutant.name, text)
        assert row.startswith(aimed(mutant))
        assert description == described(mutant)
    tables = text[text.index("## Mutants") : text.index("## Generated mutants")]
    assert len([line for line in tables.splitlines() if line.startswith("| `")]) == 2 * len(MUTANTS)


def test_every_survivor_in_the_document_is_judged_as_the_data_says() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    lines = [line for line in text[text.index("### Survivors") :].splitlines() if line.startswith("| ``")]
    reasons = {survived(change) for change in SURVIVORS}
    assert [line for line in lines if line not in reasons] == []
