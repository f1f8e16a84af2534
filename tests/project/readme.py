"""The parts of the README that are written from the code: ``make readme`` writes them, a test holds them in step."""

import re
import sys
from pathlib import Path

import typer

from reattach.cli import app

README = Path(__file__).parents[2] / "README.md"


def commands_table() -> str:
    """A row for each command: how it is called, and the first sentence of its help."""
    group = typer.main.get_command(app)
    rows = ["| command | what it does |", "|---|---|"]
    for name, command in group.commands.items():  # type: ignore[attr-defined]  # a group
        context = typer.Context(command, info_name=name)
        arguments = [word for word in command.collect_usage_pieces(context) if word != "[OPTIONS]"]
        usage = " ".join(
            ["reattach", name, *(re.sub(r"^(\[\[|\{)(.*?)[\]}]+$", _argument, word) for word in arguments)]
        )
        about = " ".join((command.help or "").partition("\n\n")[0].split())
        rows.append(f"| `{usage}` | {about} |")
    return "\n".join(rows)


def _argument(match: re.Match[str]) -> str:
    return f"[{match[2]}]" if match[1] == "[[" else match[2]


BLOCKS = {"commands": commands_table}
"""What each marked block of the README is written by."""


def block_pattern(name: str) -> re.Pattern[str]:
    """Finds a block: its opening mark, its text, its closing mark."""
    return re.compile(rf"(<!-- {name}:[^>]*-->\n)(.*?)(<!-- /{name} -->)", re.DOTALL)


def rewritten(text: str) -> str:
    """The README with its blocks as they should be."""
    for name, write in BLOCKS.items():
        pattern = block_pattern(name)
        if not pattern.search(text):
            raise ValueError(f"the README has no block {name!r}")
        written = write()
        text = pattern.sub(lambda match, written=written: f"{match[1]}\n{written}\n\n{match[3]}", text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    README.write_text(rewritten(README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
