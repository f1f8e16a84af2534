"""What the documents in docs/ refer to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\]\((?P<target>[^)#]+)")
CODE = re.compile(r"`(?P<code>[^`\n]+)`")
MAKE = re.compile(r"^([a-z-]+):[^#\n]*## ", re.MULTILINE)


def dead(text: str, folder: Path) -> list[str]:
    """Relative links, paths in code spans, make targets and options that lead nowhere."""
    found = [
        match["target"]
        for match in LINK.finditer(text)
        if "://" not in match["target"] and not (folder / match["target"]).exists()
    ]
    targets = set(MAKE.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    for match in CODE.finditer(text):
        code = match["code"]
        if re.fullmatch(r"(tests|spec|docs|model|proofs)/[\w./-]+", code) and not (ROOT / code).exists():
            found.append(code)
        if re.fullmatch(r"make [a-z-]+", code) and code.removeprefix("make ") not in targets:
            found.append(code)
    return found


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_in_a_document_leads_nowhere(path: Path) -> None:
    assert dead(path.read_text(encoding="utf-8"), path.parent) == []


def test_what_leads_nowhere_is_found(tmp_path: Path) -> None:
    text = "[a](b.md) [c](https://example.org/) `tests/none.py` `make nothing` `make test` `tests/project`"
    assert dead(text, tmp_path) == ["b.md", "tests/none.py", "make nothing"]
