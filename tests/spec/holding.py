"""What holds the standard together: each function compares two of registry, chapters, code and checks.

Each returns the disagreements in words, none if there are none. That they find what they are for is shown on doctored
registries and chapters in the tests beside this file.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from attrs import frozen

from reattach.clauses import TOPICS, Check, Clause, Registry
from reattach.oracle.verdict import Level

ROOT = Path(__file__).resolve().parents[2]
ID = re.compile(rf"\b(?:{'|'.join(TOPICS)})-\d+\b")

_HEADING = re.compile(r"^### (?P<id>[A-Z]{3}-\d+) — (?P<title>.+)$", re.M)
_LINK = re.compile(r"\]\((?P<target>[^)#]+)(?:#[^)]*)?\)")
_EXAMPLE_LINE = re.compile(r"(?:! )?(?:[a-z]?[<>] \S.*|# \S.*)")


@frozen
class Section:
    """One clause as a chapter has it."""

    chapter: str
    id: str
    title: str
    standing: str
    """The line under the heading."""
    statement: str
    """The block quote under it, on one line."""


def read_chapters(folder: Path) -> dict[str, str]:
    """The chapters and the index, by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def sections(chapters: Mapping[str, str]) -> list[Section]:
    """Every clause section of every chapter, in order."""
    found = []
    for name, text in chapters.items():
        prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        matches = list(_HEADING.finditer(prose))
        ends = [match.start() for match in matches[1:]] + [len(prose)]
        for match, end in zip(matches, ends, strict=False):
            lines = prose[match.end() : end].strip("\n").split("\n")
            quote = []
            for line in lines[2:]:
                if not line.startswith(">"):
                    break
                quote.append(line.removeprefix(">").strip())
            found.append(Section(name, match["id"], match["title"], lines[0], " ".join(quote)))
    return found


def standing(clause: Clause) -> str:
    """The line that a chapter has under the heading of a clause."""
    parts = [clause.level.value, clause.profile.value]
    if clause.contract:
        parts.append("a contract under mcp")
    if len(clause.revisions) == 1:
        parts.append(f"{clause.revisions[0].value} only")
    return " · ".join(parts)


def chapters_against_registry(registry: Registry, chapters: Mapping[str, str]) -> list[str]:
    """Each clause is in exactly one chapter, that of its topic, in order, with the registry's words."""
    wrong = []
    claimed: dict[str, str] = {}
    for section in sections(chapters):
        clause = registry.get(section.id)
        if clause is None:
            wrong.append(f"{section.chapter} has {section.id}, which is not in the registry")
            continue
        if section.id in claimed:
            wrong.append(f"{section.id} is in {claimed[section.id]} and in {section.chapter}")
        claimed[section.id] = section.chapter
        if section.chapter != TOPICS[clause.topic][1]:
            wrong.append(f"{section.id} is in {section.chapter}, not in {TOPICS[clause.topic][1]}")
        for what, said, meant in (
            ("title", section.title, clause.title),
            ("standing", section.standing, standing(clause)),
            ("statement", section.statement, clause.statement),
        ):
            if said != meant:
                wrong.append(f"{section.id}: {section.chapter} has the {what}\n  {said}\n  for\n  {meant}")
    wrong += [f"no chapter has {identifier}" for identifier in registry if identifier not in claimed]
    order = {identifier: number for number, identifier in enumerate(registry)}
    for one, next_ in pairwise(section for section in sections(chapters) if section.id in order):
        if one.chapter == next_.chapter and order[one.id] > order[next_.id]:
            wrong.append(f"{one.chapter}: {next_.id} comes after {one.id}")
    return wrong


def links_against_files(chapters: Mapping[str, str], folder: Path) -> list[str]:
    """Every relative link leads to a file, and the index to every chapter."""
    wrong = [
        f"{name} links to {match['target']}, which is not there"
        for name, text in chapters.items()
        for match in _LINK.finditer(text)
        if "://" not in match["target"] and not (folder / match["target"]).exists()
    ]
    indexed = {match["target"] for match in _LINK.finditer(chapters.get("README.md", ""))}
    wrong += [f"the index does not lead to {name}" for name in chapters if name not in {*indexed, "README.md"}]
    return wrong


def statements_against_levels(registry: Registry) -> list[str]:
    """The sentence of a clause has the word of its level, and none of a stronger one."""
    words = [level.value for level in (Level.MUST, Level.SHOULD, Level.MAY)]
    wrong = []
    for clause in registry.values():
        used = [word for word in words if re.search(rf"\b{word}\b", clause.statement)]
        if not used or used[0] != clause.level.value:
            wrong.append(f"{clause.id} is a {clause.level.value} and says {', '.join(used) or 'none of the words'}")
    return wrong


def examples_against_notation(registry: Registry) -> list[str]:
    """An example is in the notation of spec/README.md, and shows the clause kept and broken."""
    wrong = []
    for clause in registry.values():
        lines = clause.example.rstrip("\n").split("\n")
        wrong += [f"{clause.id}: not in the notation: {line}" for line in lines if not _EXAMPLE_LINE.fullmatch(line)]
        broken = [line for line in lines if line.startswith("! ")]
        if not broken or len(broken) == len(lines):
            wrong.append(f"{clause.id}: the example does not show it both kept and broken")
    return wrong


def checks_against_judges(registry: Registry, judged: Iterable[str], by: Check = Check.ORACLE) -> list[str]:
    """What the registry says that the oracle (or the bench) judges, and what it judges, are the same clauses."""
    said = {clause.id for clause in registry.values() if by.value in clause.checks}
    does = set(judged)
    return [f"{name} is judged by the {by.value}, which the registry does not say" for name in sorted(does - said)] + [
        f"{name} is not judged by the {by.value}, as the registry says" for name in sorted(said - does)
    ]


def checks_against_machine(registry: Registry, sources: Mapping[str, str]) -> list[str]:
    """A clause that the machine is said to hold is named in the machine or its tests."""
    named = {match.group() for text in sources.values() for match in ID.finditer(text)}
    return [
        f"the registry says that the machine holds {clause.id}, which neither it nor its tests name"
        for clause in registry.values()
        if Check.MACHINE.value in clause.checks and clause.id not in named
    ]


def checks_against_tests(registry: Registry, root: Path) -> list[str]:
    """A test that is named in ``checks`` exists."""
    wrong = []
    for clause in registry.values():
        for check in clause.checks:
            path, _, names = check.partition("::")
            if not names:
                continue
            file = root / path
            text = file.read_text(encoding="utf-8") if file.is_file() else ""
            for name in names.split("::"):
                if not re.search(rf"^\s*(?:async )?(?:def|class) {re.escape(name)}\b", text, re.M):
                    wrong.append(f"{clause.id}: no test {check}")
    return wrong


def wire_against_reasons(registry: Registry) -> list[str]:
    """A probe can decide a clause, or the registry says why not; what the oracle judges a probe can decide."""
    wrong = []
    for clause in registry.values():
        on_the_wire = Check.ORACLE.value in clause.checks
        explained = bool(clause.not_on_the_wire or clause.unchecked)
        if on_the_wire == explained:
            what = "is judged on the wire, and not" if on_the_wire else "is not judged on the wire, without a reason"
            wrong.append(f"{clause.id} {what}")
    return wrong


def ids_against_registry(registry: Registry, texts: Mapping[str, str]) -> list[str]:
    """Every clause that is named anywhere exists."""
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1} names {match.group()}, which is no clause"
        for name, text in texts.items()
        for match in ID.finditer(text)
        if match.group() not in registry
    ]


def read_texts(root: Path, *patterns: str) -> dict[str, str]:
    """The files under ``root`` that match, by their path from it."""
    paths = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
