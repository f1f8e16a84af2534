"""The chapters say what the registry says, and what the machine does."""

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from attrs import evolve, fields
from tests.spec.holding import ROOT, chapters_against_registry, links_against_files, read_chapters, sections, standing

from reattach.clauses import TOPICS, About, Clause, Need, Profile, Registry, load_registry
from reattach.machine.cursor import MAX_INTEGER, TAG_LENGTHS, Presence, parse_cursor
from reattach.machine.decision import Reason, status_of
from reattach.machine.modes import Deployment, Mode, mode_of
from reattach.machine.policy import SHORT, Policy
from reattach.machine.revision import TRAITS, Revision
from reattach.oracle.observation import Observation
from reattach.oracle.verdict import Kind, Outcome

REGISTRY = load_registry()
FOLDER = ROOT / "spec"
CHAPTERS = read_chapters(FOLDER)


def rows(chapter: str, header: str, chapters: Mapping[str, str] = CHAPTERS) -> list[list[str]]:
    """The cells of the table whose header row begins with ``header``, which begins with ``|`` after an empty cell."""
    lines = chapters[chapter].split("\n")
    (start,) = [number for number, line in enumerate(lines) if line.startswith(f"| {header} |")]
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def with_change(chapter: str, old: str, new: str) -> dict[str, str]:
    """The chapters with one change."""
    assert CHAPTERS[chapter].count(old) == 1
    return {**CHAPTERS, chapter: CHAPTERS[chapter].replace(old, new)}


def test_every_clause_is_in_the_chapter_of_its_topic_in_its_own_words() -> None:
    assert chapters_against_registry(REGISTRY, CHAPTERS) == []
    assert [section.id for section in sections(CHAPTERS)] != []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("### CUR-7 — granted", "### CUR-9 — granted", "CUR-9 is in 04-cursors.md and in 04-cursors.md"),
        ("### CUR-7 — granted", "#### CUR-7 — granted", "no chapter has CUR-7"),
        ("### CUR-7 — granted iff lossless", "### CUR-7 — granted iff possible", "CUR-7: 04-cursors.md has the title"),
        ("### CUR-7 — granted", "### CUR-" + "77 — granted", "04-cursors.md has CUR-" + "77, which is not in the reg"),
        ("### CUR-7 — granted", "### ATT-1 — granted", "ATT-1 is in 04-cursors.md, not in 05-attachment.md"),
        ("> For a cursor that the stream really sent", "> For a cursor that the stream sent", "has the statement"),
        ("> granted if and only if", "> granted if", "has the statement"),
        ("> the server still holds what it needs to know.", "> possible.", "CUR-6: 04-cursors.md has the statement"),
    ],
)
def test_a_chapter_that_says_something_else_is_found(old: str, new: str, says: str) -> None:
    problems = chapters_against_registry(REGISTRY, with_change("04-cursors.md", old, new))
    assert any(says in problem for problem in problems), problems


def test_a_chapter_with_another_level_is_found() -> None:
    weaker = with_change("05-attachment.md", "SHOULD · reattach", "MUST · reattach")
    assert [problem[:32] for problem in chapters_against_registry(REGISTRY, weaker)] == [
        "ATT-3: 05-attachment.md has the "
    ]


def test_clauses_out_of_order_are_found() -> None:
    head, first, second, rest = CHAPTERS["01-sessions.md"].split("### SES-", 3)
    swapped = {"01-sessions.md": "### SES-".join((head, second, first, rest))}
    assert "01-sessions.md: SES-1 comes after SES-2" in chapters_against_registry(REGISTRY, swapped)


def test_a_clause_that_only_the_registry_has_is_found() -> None:
    unknown = "SES-" + "99"
    extra = evolve(REGISTRY["SES-1"], id=unknown)
    assert chapters_against_registry(Registry({**REGISTRY, unknown: extra}), CHAPTERS) == [f"no chapter has {unknown}"]


def test_a_heading_inside_a_code_block_is_no_clause() -> None:
    assert sections({"x.md": "```\n### CUR-7 — granted\nMUST · mcp\n\n> It.\n```\n"}) == []


def test_the_standing_of_a_clause_tells_what_limits_it() -> None:
    assert standing(REGISTRY["SES-1"]) == "MUST · mcp"
    assert standing(REGISTRY["CUR-7"]) == "MUST · reattach · a contract under mcp"
    assert standing(REGISTRY["IDL-5"]) == "SHOULD · mcp · 2025-11-25 only"


def test_links_lead_somewhere_and_the_index_everywhere() -> None:
    assert links_against_files(CHAPTERS, FOLDER) == []
    assert {chapter for _, chapter in TOPICS.values()} <= set(CHAPTERS)


def test_a_dead_link_and_a_chapter_without_one_are_found(tmp_path: Path) -> None:
    (tmp_path / "01-a.md").touch()
    chapters = {"README.md": "[a](01-a.md) [b](02-b.md#x) [far](https://example.org/)", "01-a.md": "", "03-c.md": ""}
    assert links_against_files(chapters, tmp_path) == [
        "README.md links to 02-b.md, which is not there",
        "the index does not lead to 03-c.md",
    ]


def test_chapters_are_readable_at_120_columns() -> None:
    long = [
        f"{name}:{number}"
        for name, text in CHAPTERS.items()
        for number, line in enumerate(text.split("\n"), start=1)
        if len(line) > 120 and not line.startswith("|")
    ]
    assert long == []


# The index


def test_the_index_describes_every_field_of_an_entry_and_their_values() -> None:
    described = {name for row in rows("README.md", "field") for name in re.findall(r"`([a-z_]+)`", row[0])}
    assert described == {attribute.name for attribute in fields(Clause)}
    for member in (*About, *Need, *Profile):
        assert f"`{member.value}`" in CHAPTERS["README.md"], member


def test_the_index_names_the_topics_of_each_chapter() -> None:
    listed = {}
    for _, link, topics, _ in rows("README.md", "| chapter"):
        match = re.search(r"\((.+)\)", link)
        assert match is not None
        listed.update({topic: match[1] for topic in topics.split(", ") if topic})
    assert listed == {topic: chapter for topic, (_, chapter) in TOPICS.items()}


def test_the_chapter_on_observation_names_every_outcome_kind_and_observation() -> None:
    text = CHAPTERS["11-observation.md"]
    assert all(f"**{outcome.value}**" in text for outcome in Outcome)
    assert all(f"*{kind.value}*" in text for kind in Kind)
    seen = " ".join(row[0] for row in rows("11-observation.md", "observation"))
    for observation in Observation.__args__:
        words = re.findall(r"[A-Z][a-z]+", observation.__name__)
        assert "-".join(words).lower() in seen, observation


# The numbers


def test_the_limits_in_the_chapter_on_the_window_are_the_policys() -> None:
    units = {"": 1, "s": 1_000, "KiB": 1024, "MiB": 1024**2}
    for _, _, field, default, short in rows("06-window.md", "limit"):
        for policy, cell in ((Policy(), default), (SHORT, short)):
            amount, _, unit = cell.partition(" ")
            assert getattr(policy, field.strip("`")) == int(amount) * units[unit], (field, cell)


def test_the_budgets_in_the_chapter_on_idleness_are_the_policys() -> None:
    budgets = {row[0].partition(",")[0]: int(row[0].split()[1]) for row in rows("07-idleness.md", "budget")}
    assert budgets == {"stall": Policy().stall_ms // 1_000, "absence": Policy().absence_ms // 1_000}


# The decision and its forms on the wire

INTERNAL = {Reason.STREAM_FINISHED, Reason.MESSAGE_TOO_LARGE}
"""Answers to an emitter, which no request gets."""


def test_the_refusals_on_the_wire_are_those_of_the_machine() -> None:
    listed = {Reason(row[0].strip("`")): int(row[1]) for row in rows("12-wire.md", "reason")}
    assert listed == {reason: status_of(Policy(), reason) for reason in Reason if reason not in INTERNAL}


def test_the_decision_table_has_the_statuses_and_every_reason_of_a_resumption() -> None:
    named = set()
    for _, _, decision, status in rows("04-cursors.md", "step"):
        for reason, code in zip(re.findall(r"\*([a-z]+(?:-[a-z]+)*)\*", decision), status.split(", "), strict=False):
            if reason in {"fresh", "re-attach", "replay"}:
                continue
            assert status_of(Policy(), Reason(reason)) == int(code)
            named.add(Reason(reason))
    beside = {Reason.STREAMS_EXHAUSTED, Reason.SESSIONS_EXHAUSTED}
    assert named == set(Reason) - INTERNAL - beside


def test_the_grammar_on_the_wire_is_that_of_the_parser() -> None:
    text = CHAPTERS["12-wire.md"]
    assert f"tag      = {TAG_LENGTHS.start}*{TAG_LENGTHS.stop - 1}(" in text
    assert MAX_INTEGER == 2**53 - 1
    assert "2^53 - 1" in text
    assert len(str(MAX_INTEGER)) == 16  # "*15DIGIT" after the first, and "a seventeenth digit"
    tag = "A" * TAG_LENGTHS.start
    assert parse_cursor((f"{tag}.2.{MAX_INTEGER}",)).presence is Presence.PRESENT
    malformed = ("", f'"{tag}.2.7"', f"{tag}.2.+7", f"{tag}.2. 7", f"{tag}.2.07", f"{tag}.2.1_0", f"{tag}.2.\u0667")
    for value in (*malformed, f"{tag}.2.7, {tag}.2.8", f"{tag}.2.{'1' * 17}", f"{tag}.2.{MAX_INTEGER + 1}"):
        assert parse_cursor((value,)).presence is Presence.MALFORMED, value
    assert parse_cursor((f"{tag}.2.7", f"{tag}.2.7")).presence is Presence.MALFORMED


# Deployments and revisions


def _matches(row: list[str], deployment: Deployment) -> bool:
    bounded, monotonic, stateful, stable, covered, guessable, _ = row
    three = (deployment.window_bounded, deployment.ids_monotonic, not deployment.client_stateless)
    if bounded == "yes":
        return all(three) and (monotonic, stateful) == ("yes", "yes")
    exposed = deployment.client_stateless and not deployment.tag_unguessable
    return (
        not all(three)
        and _agrees(stable, deployment.ids_unique and deployment.ids_stable)
        and _agrees(covered, deployment.dedup_memory >= deployment.longest_replay)
        and (guessable == "–" or (guessable == "otherwise") != exposed)
    )


def _agrees(cell: str, value: bool) -> bool:
    return cell == "–" or (cell == "yes") == value


def test_the_table_of_deployments_is_the_decision_of_the_machine() -> None:
    table = rows("08-modes.md", "the window is bounded")
    flags = (True, False)
    for bounded, monotonic, stateless, unique, stable, unguessable in product(flags, repeat=6):
        for memory, longest in ((0, 0), (3, 4), (4, 4), (5, 4)):
            deployment = Deployment(bounded, monotonic, stateless, unique, stable, memory, longest, unguessable)
            first = next(row for row in table if _matches(row, deployment))
            assert Mode(first[-1].strip("*")) is mode_of(deployment), deployment


def test_the_table_of_revisions_is_that_of_the_machine() -> None:
    table = {
        row[0]: [cell.strip("*").startswith("yes") for cell in row[1:]] for row in rows("10-eras.md", "| 2025-03-26")
    }

    def row(begins: str) -> list[bool]:
        (found,) = [cells for name, cells in table.items() if name.startswith(begins)]
        return found

    traits = [TRAITS[revision] for revision in Revision]
    assert row("sessions, GET, DELETE") == [trait.resumption for trait in traits]
    assert row("a POST may carry a batch") == [trait.batches for trait in traits]
    assert row("`MCP-Protocol-Version`") == [trait.version_header for trait in traits]
    assert row("priming;") == [trait.priming for trait in traits]
