"""`reattach explain`: everything the registry has of a clause, for people."""

import re

import pytest
from attrs import evolve
from rich.console import Console, RenderableType

from reattach.clauses import TOPICS, Profile, Registry, load_registry
from reattach.io.explain import explain, explain_all
from reattach.machine.revision import Revision

REGISTRY = load_registry()


def shown(what: RenderableType, width: int = 100) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return capture.get()


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_all_clauses_are_listed_under_their_topics() -> None:
    lines = shown(explain_all(REGISTRY)).split("\n")
    listed = [line.split()[0] for line in lines if re.match(r"[A-Z]{3}-\d+ ", line)]
    assert listed == list(REGISTRY)
    for topic, (name, _) in TOPICS.items():
        assert any(line.startswith(topic + " ") and name in line for line in lines), topic
    assert "CUR-7   MUST    reattach*  server  granted iff lossless" in "\n".join(lines)


def test_a_filtered_registry_lists_what_is_left() -> None:
    text = shown(explain_all(REGISTRY.for_revision(Revision.R2026_07_28, Profile.MCP)))
    assert "ERA-1" in text
    assert "SES-1" not in text


@pytest.mark.parametrize("width", [50, 100])
@pytest.mark.parametrize("name", REGISTRY)
def test_a_clause_is_shown_with_all_that_the_registry_has(name: str, width: int) -> None:
    clause = REGISTRY[name]
    text = words(shown(explain(clause, REGISTRY), width))
    assert clause.statement in text
    assert f"{clause.level.value} · profile {clause.profile.value}" in text
    for said in (clause.reason, clause.source, clause.not_on_the_wire, clause.unchecked):
        assert said in text
    for revision in clause.revisions:
        assert revision.value in text
    assert f"spec/{TOPICS[clause.topic][1]}" in text


def test_every_line_of_the_example_is_there() -> None:
    for clause in REGISTRY.values():
        lines = [line.strip() for line in shown(explain(clause, REGISTRY), width=160).split("\n")]
        assert set(clause.example.rstrip("\n").split("\n")) <= set(lines), clause.id


def test_the_checks_are_told() -> None:
    text = words(shown(explain(REGISTRY["CUR-7"], REGISTRY)))
    assert "Checked by the oracle, on the wire the tests and invariants of the machine" in text
    assert "Observed with a declared policy (--policy);" in text
    assert "(breaks its own contract under mcp)" in text
    named = evolve(REGISTRY["CUR-7"], checks=("oracle", "tests/a.py::test_b"))
    assert "the oracle, on the wire tests/a.py::test_b" in words(shown(explain(named, REGISTRY)))
    assert "oracle, tests" in shown(explain_all(Registry({"CUR-7": named})))
    unchecked = evolve(REGISTRY["CUR-7"], checks=(), unchecked="it is beyond us")
    assert "Checked by nothing: it is beyond us" in words(shown(explain(unchecked, REGISTRY)))
    assert "nothing" in shown(explain_all(Registry({"CUR-7": unchecked})))


def test_clauses_that_are_mentioned_are_named() -> None:
    text = words(shown(explain(REGISTRY["CUR-3"], REGISTRY)))
    assert "See also SES-5" in text
    assert "See also" not in shown(explain(evolve(REGISTRY["CUR-3"], reason="Because."), REGISTRY))


def test_text_of_the_registry_is_never_markup() -> None:
    tricky = "[bold]not bold[/bold] [/oops]"
    clause = evolve(REGISTRY["CUR-7"], title=tricky, statement=tricky, reason=tricky, source=tricky, example=tricky)
    for what in (explain(clause, REGISTRY), explain_all(Registry({"CUR-7": clause}))):
        assert tricky in words(shown(what))


def test_what_is_wrong_in_an_example_is_in_another_colour() -> None:
    console = Console(width=100, force_terminal=True, color_system="standard", no_color=False)
    with console.capture() as capture:
        console.print(explain(REGISTRY["ATT-2"], REGISTRY))
    styled = capture.get()
    wrong = next(line for line in styled.split("\n") if "! a<" in line)
    right = next(line for line in styled.split("\n") if "b> GET" in line)
    red = "\x1b[31m"
    assert red in wrong
    assert red not in right
