"""No clause without a check, no check without a clause, and no clause that does not exist."""

from pathlib import Path

from attrs import evolve
from tests.spec.holding import (
    ROOT,
    checks_against_judges,
    checks_against_machine,
    checks_against_tests,
    ids_against_registry,
    read_texts,
)

from reattach.clauses import Check, Registry, load_registry
from reattach.oracle.clients.bench import JUDGED as BENCH_JUDGED
from reattach.oracle.oracle import JUDGED

REGISTRY = load_registry()
MACHINE = read_texts(ROOT, "model/reattach/machine/*.py", "tests/machine/*.py")


def test_the_oracle_judges_what_the_registry_says_and_nothing_else() -> None:
    assert checks_against_judges(REGISTRY, JUDGED) == []


def test_the_bench_judges_what_the_registry_says_and_nothing_else() -> None:
    assert checks_against_judges(REGISTRY, BENCH_JUDGED, Check.BENCH) == []
    assert checks_against_judges(REGISTRY, BENCH_JUDGED - {"CLI-2"}, Check.BENCH) == [
        "CLI-2 is not judged by the bench, as the registry says"
    ]


def test_a_clause_that_only_one_of_them_knows_is_found() -> None:
    agreed = {clause.id for clause in REGISTRY.values() if "oracle" in clause.checks}
    assert checks_against_judges(REGISTRY, agreed) == []
    assert checks_against_judges(REGISTRY, agreed - {"CUR-7"}) == [
        "CUR-7 is not judged by the oracle, as the registry says"
    ]
    assert checks_against_judges(REGISTRY, agreed | {"WIN-3"}) == [
        "WIN-3 is judged by the oracle, which the registry does not say"
    ]


def test_the_machine_or_its_tests_name_what_they_are_said_to_hold() -> None:
    assert checks_against_machine(REGISTRY, MACHINE) == []


def test_a_clause_that_the_machine_does_not_name_is_found() -> None:
    only = Registry({"CUR-7": REGISTRY["CUR-7"]})
    assert checks_against_machine(only, {"a.py": "# MOD-2", "b.py": "# granted (CUR-7)"}) == []
    assert checks_against_machine(only, {"a.py": "# MOD-2", "b.py": "# CUR-" + "70"}) == [
        "the registry says that the machine holds CUR-7, which neither it nor its tests name"
    ]


def test_every_test_that_is_named_exists() -> None:
    assert checks_against_tests(REGISTRY, ROOT) == []


def test_a_test_that_does_not_exist_is_found(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("class TestB:\n    def test_c(self): ...\n", encoding="utf-8")
    for check, found in (
        ("test_a.py::TestB::test_c", []),
        ("test_a.py::TestB::test_", ["CUR-7: no test test_a.py::TestB::test_"]),
        ("test_b.py::test_c", ["CUR-7: no test test_b.py::test_c"]),
    ):
        named = Registry({"CUR-7": evolve(REGISTRY["CUR-7"], checks=("oracle", check))})
        assert checks_against_tests(named, tmp_path) == found


def test_every_clause_that_is_named_anywhere_exists() -> None:
    texts = read_texts(ROOT, "*.md", "Makefile", "spec/**/*", "docs/**/*.md", "model/**/*.py", "proofs/**/*.py")
    texts |= read_texts(ROOT, "tests/**/*.py")
    assert len(texts) > 20
    assert ids_against_registry(REGISTRY, texts) == []


def test_a_clause_that_does_not_exist_is_found_with_its_place() -> None:
    unknown = "CUR-" + "99"
    assert ids_against_registry(REGISTRY, {"a.py": f"# CUR-7\n# {unknown}, and CUR-9"}) == [
        f"a.py:2 names {unknown}, which is no clause"
    ]
