"""The registry: what a file has to be to be one, and what ours says."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve
from tests.spec.holding import examples_against_notation, statements_against_levels, wire_against_reasons

from reattach.clauses import (
    TOPICS,
    About,
    BadClauseError,
    Clause,
    DuplicateClauseError,
    Profile,
    Registry,
    RegistryMissingError,
    RegistryUnreadableError,
    UnknownClauseError,
    load_registry,
    parse_registry,
    registry_path,
)
from reattach.machine.decision import Reason, status_of
from reattach.machine.policy import Policy
from reattach.machine.revision import TRAITS, Revision
from reattach.oracle.verdict import Kind, Level

REGISTRY = load_registry()

GOOD = """
[[clause]]
id = "SES-1"
title = "a title"
level = "MUST"
profile = "mcp"
about = "server"
revisions = ["2025-11-25"]
statement = "It MUST."
reason = "Because."
source = "somewhere"
checks = ["oracle", "tests/spec/test_registry.py::test_x"]
example = "> GET"
"""


def doctored(identifier: str, change: Callable[[Clause], Clause]) -> Registry:
    """The registry with one clause changed."""
    return Registry({name: change(clause) if name == identifier else clause for name, clause in REGISTRY.items()})


def test_a_good_entry_is_read_as_it_stands() -> None:
    clause = parse_registry(GOOD)["SES-1"]
    assert (clause.level, clause.profile, clause.about) == (Level.MUST, Profile.MCP, About.SERVER)
    assert clause.revisions == (Revision.R2025_11_25,)
    assert clause.checks == ("oracle", "tests/spec/test_registry.py::test_x")
    assert (clause.contract, clause.needs, clause.unchecked) == (False, (), "")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('level = "MUST"', 'level = "must"', "level 'must' is none of MUST, SHOULD, MAY"),
        ('profile = "mcp"', 'profile = "strict"', "profile 'strict' is none of mcp, reattach"),
        ('about = "server"', 'about = "proxy"', "about 'proxy' is none of"),
        ('["2025-11-25"]', '["2025-11-26"]', "revisions '2025-11-26' is none of"),
        ('["2025-11-25"]', "[]", "revisions is empty"),
        ('["2025-11-25"]', '["2025-11-25", "2025-11-25"]', "revisions repeats itself"),
        ('["2025-11-25"]', '"2025-11-25"', "revisions must be a list of texts"),
        ('statement = "It MUST."', "", "no statement"),
        ('statement = "It MUST."', 'statement = " "', "statement must be text"),
        ('reason = "Because."', "reason = 1", "reason must be text"),
        ('id = "SES-1"', "", "clause 1: no id"),
        ('id = "SES-1"', 'id = "SES-' + '01"', "id must be one of SES, EVT"),
        ('id = "SES-1"', 'id = "ABC-1"', "id must be one of SES, EVT"),
        ('example = "> GET"', "", "no example"),
        ('example = "> GET"', 'example = "> GET"\ncontract = "yes"', "contract must be true or false"),
        ('example = "> GET"', 'example = "> GET"\nneeds = ["luck"]', "needs 'luck' is none of"),
        ('example = "> GET"', 'example = "> GET"\nauthor = "me"', "unknown field 'author'"),
        ('["oracle", "tests/spec/test_registry.py::test_x"]', '["oracel"]', "checks 'oracel' is none of"),
        ('["oracle", "tests/spec/test_registry.py::test_x"]', "[]", "needs either checks, or unchecked"),
        ('example = "> GET"', 'example = "> GET"\nunchecked = "no way"', "needs either checks, or unchecked"),
    ],
)
def test_a_bad_entry_is_refused_with_its_id_and_what_is_wrong(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(BadClauseError) as caught:
        parse_registry(GOOD.replace(old, new), "some.toml")
    assert str(caught.value).startswith("some.toml: ")
    assert says in str(caught.value)


@pytest.mark.parametrize("text", ["", "clause = 1", "clause = []", "title = 'x'", "[clause]\nid = 'SES-1'", "= = ="])
def test_what_is_no_registry_is_refused(text: str) -> None:
    with pytest.raises(RegistryUnreadableError, match=r"some\.toml"):
        parse_registry(text, "some.toml")


def test_an_entry_that_is_no_table_is_refused() -> None:
    with pytest.raises(BadClauseError, match="not a table"):
        parse_registry("clause = [1]")


def test_an_id_is_given_once() -> None:
    with pytest.raises(DuplicateClauseError, match="clause 2: SES-1"):
        parse_registry(GOOD + GOOD)


def test_a_missing_file_and_a_file_that_is_no_text_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(RegistryMissingError, match="nowhere"):
        load_registry(tmp_path / "nowhere.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RegistryUnreadableError, match="binary"):
        load_registry(binary)
    with pytest.raises(RegistryUnreadableError):
        load_registry(tmp_path)


def test_the_registry_is_the_one_of_the_repository() -> None:
    assert registry_path().read_bytes() == (Path(__file__).parents[2] / "spec" / "clauses.toml").read_bytes()


@pytest.mark.parametrize("asked", ["CUR-7", "cur-7", " Cur7 ", "cur_7"])
def test_a_clause_is_found_however_it_is_written(asked: str) -> None:
    assert REGISTRY.find(asked).id == "CUR-7"


def test_an_unknown_clause_names_the_nearest() -> None:
    unknown = "CUR-" + "77"
    with pytest.raises(UnknownClauseError) as caught:
        REGISTRY.find(unknown)
    assert caught.value.nearest[0] == "CUR-7"
    assert str(caught.value).startswith(f"no clause '{unknown}'; did you mean CUR-7 or ")
    with pytest.raises(UnknownClauseError) as caught:
        REGISTRY.find("att")
    assert caught.value.nearest == ("ATT-1", "ATT-2", "ATT-3", "ATT-4")
    with pytest.raises(UnknownClauseError) as caught:
        REGISTRY.find("[bold]")
    assert str(caught.value) == "no clause '[bold]'"


def test_every_topic_has_clauses_numbered_from_one_without_a_hole() -> None:
    for topic in TOPICS:
        numbers = [int(clause.id.partition("-")[2]) for clause in REGISTRY.values() if clause.topic == topic]
        assert numbers == list(range(1, len(numbers) + 1)), topic
        assert numbers


def test_resumption_clauses_hold_where_resumption_exists() -> None:
    for clause in REGISTRY.values():
        for revision in clause.revisions:
            assert TRAITS[revision].resumption == (clause.topic != "ERA"), clause.id
    only = [clause.id for clause in REGISTRY.values() if clause.revisions == (Revision.R2025_11_25,)]
    assert only == ["EVT-3", "IDL-5", "CLI-4"]
    for revision, traits in TRAITS.items():
        assert ("EVT-3" in REGISTRY.for_revision(revision, Profile.MCP)) == traits.priming
        assert ("DEL-3" in REGISTRY.for_revision(revision, Profile.MCP)) == traits.resumption


def test_profile_reattach_holds_all_of_mcp_and_more() -> None:
    for revision in Revision:
        mcp = REGISTRY.for_revision(revision, Profile.MCP)
        reattach = REGISTRY.for_revision(revision, Profile.REATTACH)
        assert set(mcp) <= set(reattach)
        assert list(reattach) == [name for name, clause in REGISTRY.items() if revision in clause.revisions]
    assert "CUR-2" not in REGISTRY.for_revision(Revision.R2025_11_25, Profile.MCP)
    assert "DEL-2" in REGISTRY.for_revision(Revision.R2025_11_25, Profile.MCP)


@pytest.mark.parametrize(
    ("clause", "mcp", "reattach"),
    [
        ("SES-5", Kind.VIOLATES_MUST, Kind.VIOLATES_MUST),
        ("DEL-7", Kind.AGAINST_SHOULD, Kind.AGAINST_SHOULD),
        ("DEL-2", Kind.BREAKS_CONTRACT, Kind.VIOLATES_MUST),
        ("DEL-6", Kind.BREAKS_CONTRACT, Kind.VIOLATES_MUST),
        ("CUR-2", Kind.UNDEFINED_AREA, Kind.VIOLATES_MUST),
        ("ATT-3", Kind.UNDEFINED_AREA, Kind.AGAINST_SHOULD),
    ],
)
def test_the_kind_of_a_violation_follows_from_clause_and_profile(clause: str, mcp: Kind, reattach: Kind) -> None:
    assert REGISTRY[clause].kind(Profile.MCP) is mcp
    assert REGISTRY[clause].kind(Profile.REATTACH) is reattach


def test_a_may_is_never_violated() -> None:
    may = evolve(REGISTRY["SES-5"], level=Level.MAY)
    assert may.kind(Profile.MCP) is may.kind(Profile.REATTACH) is Kind.UNDEFINED_AREA


def test_titles_are_short_and_unlike() -> None:
    titles = [clause.title for clause in REGISTRY.values()]
    assert len(set(titles)) == len(titles)
    assert all(2 <= len(re.findall(r"[\w`-]+", title)) <= 6 for title in titles)


def test_statements_have_the_word_of_their_level() -> None:
    assert statements_against_levels(REGISTRY) == []


@pytest.mark.parametrize("statement", ["It works.", "It SHOULD work.", "It MUST work and SHOULD shine."])
def test_a_statement_with_another_word_is_found(statement: str) -> None:
    level = Level.SHOULD if "MUST" in statement else Level.MUST
    wrong = doctored("CUR-7", lambda clause: evolve(clause, statement=statement, level=level))
    assert [problem[:5] for problem in statements_against_levels(wrong)] == ["CUR-7"]


def test_examples_are_in_the_notation_and_show_both_sides() -> None:
    assert examples_against_notation(REGISTRY) == []


@pytest.mark.parametrize("example", ["> GET\n< 200\n", "! < 500\n", "> GET\n! < 500\nand then\n", "> GET\n\n! < 500\n"])
def test_an_example_that_shows_one_side_or_is_not_in_the_notation_is_found(example: str) -> None:
    wrong = doctored("CUR-7", lambda clause: evolve(clause, example=example))
    assert [problem[:5] for problem in examples_against_notation(wrong)] == ["CUR-7"]


def test_refusals_in_examples_have_the_statuses_of_the_machine() -> None:
    seen = set()
    for clause in REGISTRY.values():
        for status, reason in re.findall(r"^[a-z]?< (\d{3}) ([a-z]+-[a-z-]+)", clause.example, re.M):
            assert status_of(Policy(), Reason(reason)) == int(status), clause.id
            seen.add(reason)
    assert len(seen) >= 4


def test_every_clause_is_judged_on_the_wire_or_says_why_not() -> None:
    assert wire_against_reasons(REGISTRY) == []


def test_a_clause_that_is_not_judged_on_the_wire_without_a_reason_is_found() -> None:
    silent = doctored("WIN-3", lambda clause: evolve(clause, not_on_the_wire=""))
    assert [problem[:5] for problem in wire_against_reasons(silent)] == ["WIN-3"]
    both = doctored("CUR-7", lambda clause: evolve(clause, not_on_the_wire="it cannot be seen"))
    assert [problem[:5] for problem in wire_against_reasons(both)] == ["CUR-7"]


def test_of_the_clauses_about_servers_four_are_not_on_the_wire() -> None:
    servers = [clause for clause in REGISTRY.values() if clause.about is About.SERVER]
    assert [clause.id for clause in servers if clause.not_on_the_wire] == ["WIN-3", "MOD-2", "MOD-3", "MOD-4"]
