"""What no tracked file may hold, and what the project's own files owe each other."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BEGINNINGS = ("Added", "Changed", "Fixed", "Removed")

# Written in pieces, so that this file does not hold what it looks for.
DOT = r"\."
HOSTS = re.compile(
    f"(pypi{DOT}org|pythonhosted{DOT}org|registry{DOT}npmjs|proxy{DOT}golang|crates{DOT}io|repo1?{DOT}maven)"
)
MACHINE_PATHS = re.compile("(?<![\\w.])/(work|ro" + "ot|home|Us" + "ers|tmp)/\\w")
LOCK_FILES = {"package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "Cargo.lock"}


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def hits(pattern: re.Pattern[str], text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if pattern.search(line)]


@pytest.mark.parametrize("pattern", [HOSTS, MACHINE_PATHS], ids=["registry host", "path of one machine"])
def test_no_tracked_file_holds(pattern: re.Pattern[str]) -> None:
    found = {
        str(path.relative_to(ROOT)): hits(pattern, path.read_text(encoding="utf-8", errors="replace"))
        for path in tracked()
    }
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (HOSTS, "https://py" + "pi.org/simple"),
        (MACHINE_PATHS, "see /ro" + "ot/notes"),
        (MACHINE_PATHS, '"/wo' + 'rk/main"'),
    ],
)
def test_the_patterns_find_what_they_are_for(pattern: re.Pattern[str], line: str) -> None:
    assert hits(pattern, line) == [line]


def test_no_lock_files() -> None:
    assert [path for path in tracked() if path.name in LOCK_FILES] == []


def test_every_changelog_fragment_says_what_kind_of_change_it_is() -> None:
    fragments = [path for path in (ROOT / "changelog.d").glob("*.md") if path.name != "README.md"]
    assert [path.name for path in fragments if not path.read_text().startswith(BEGINNINGS)] == []


def test_the_licence_is_the_one_that_is_named() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
