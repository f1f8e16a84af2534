"""The part of docs/watch.md that is written from the code: ``make readme`` writes it, a test holds it in step."""

import re
import sys
from pathlib import Path

from reattach.live.watch.fault import TABLE
from reattach.live.watch.sentence import read_sentence

PAGE = Path(__file__).parents[2] / "docs" / "watch.md"
_BLOCK = re.compile(r"(<!-- faults:[^>]*-->\n)(.*?)(<!-- /faults -->)", re.DOTALL)


def faults_table() -> str:
    """A row for each kind of fault."""
    rows = [
        "| `--fault` | what it does | the client sees | the server sees | recorded | which is read as |",
        "|---|---|---|---|---|---|",
    ]
    for about in TABLE.values():
        usual = f"`{read_sentence(about.example)}`"
        rows.append(
            f"| `{about.example}` | {about.effect} | {about.client} | {about.server} | {about.recorded} | {usual} |"
        )
    return "\n".join(rows)


def rewritten(text: str) -> str:
    """The page with its block as it should be."""
    if not _BLOCK.search(text):
        raise ValueError("the page has no block for the faults")
    return _BLOCK.sub(lambda match: f"{match[1]}\n{faults_table()}\n\n{match[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
