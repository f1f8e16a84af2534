"""The parts of the README that are written from the code: ``make readme`` writes them, a test holds them in step."""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import typer
from attrs import asdict

from reattach.clauses import load_registry
from reattach.cli import app
from reattach.commands.replay import read_finding
from reattach.io.redact import make_redactor, redact_report
from reattach.io.report_text import finding_text, to_text
from reattach.io.trace import read_trace
from reattach.live.clients.mutants import MUTANTS
from reattach.live.clients.scripts import ACTS, SCRIPTS, Act, random_script
from reattach.machine.policy import SHORT
from reattach.oracle.verdict import Report

README = Path(__file__).parents[2] / "README.md"
CLIENTS = README.parent / "docs" / "clients.md"
SAMPLE = Path(__file__).with_name("silent-gap.jsonl")
"""A replay file of `make demo`: what the official Python SDK's server lost at the hand-over from replay to live."""


def commands_table() -> str:
    """A row for each command: how it is called, and the first sentence of its help."""
    group = typer.main.get_command(app)
    rows = ["| command | what it does |", "|---|---|"]
    for name, command in group.commands.items():  # type: ignore[attr-defined]  # a group
        context = typer.Context(command, info_name=name)
        arguments = [word for word in command.collect_usage_pieces(context) if word != "[OPTIONS]"]
        usage = " ".join(
            ["reattach", name, *(re.sub(r"^(\[\[|\{)([^\]}]*)[\]}]+(\.\.\.)?$", _argument, word) for word in arguments)]
        )
        about = " ".join((command.help or "").partition("\n\n")[0].split())
        rows.append(f"| `{usage}` | {about} |")
    return "\n".join(rows)


def _argument(match: re.Match[str]) -> str:
    return f"{f'[{match[2]}]' if match[1] == '[[' else match[2]}{match[3] or ''}"


def sample() -> str:
    """One finding of a real run, as the text report shows it now."""
    registry = load_registry()
    finding, _, _ = read_finding(SAMPLE, read_trace(SAMPLE), registry)
    shown = redact_report(Report(clauses=(), findings=(finding,)), make_redactor(finding.evidence)).findings[0]
    return f"```text\n{to_text(finding_text(1, shown, None, registry)).rstrip()}\n```"


def policy() -> str:
    """The preset ``short`` as a file."""
    lines = [f"{key} = {value}" for key, value in asdict(SHORT).items()]
    return "\n".join(["```toml", *lines, "```"])


def scripts_table() -> str:
    """A row for each script of the client bench."""
    rows = ["| script | what the server does |", "|---|---|"]
    every = (*SCRIPTS.values(), random_script(0))
    return "\n".join([*rows, *(f"| `{script.name}` | {script.does} |" for script in every)])


def acts_table() -> str:
    """A row for each act of a script."""
    rows = ["| act | what is done |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{act.value}` | {ACTS[act]} |" for act in Act)])


def faulty_table() -> str:
    """A row for each faulty client."""
    rows = ["| mutant | what it does wrong | reported as | shown by | seen in |", "|---|---|---|---|---|"]
    return "\n".join(
        [
            *rows,
            *(
                f"| `{each.name}` | {each.wrong} | {each.clause} {each.fault.value} |"
                f" {', '.join(each.scripts)} | {each.seen} |"
                for each in MUTANTS.values()
            ),
        ]
    )


BLOCKS = {"commands": commands_table, "sample": sample, "policy": policy}
"""What each marked block of the README is written by."""
BLOCKS_OF_CLIENTS = {"scripts": scripts_table, "acts": acts_table, "faulty": faulty_table}
"""Likewise of docs/clients.md."""


def block_pattern(name: str) -> re.Pattern[str]:
    """Finds a block: its opening mark, its text, its closing mark."""
    return re.compile(rf"(<!-- {name}:[^>]*-->\n)(.*?)(<!-- /{name} -->)", re.DOTALL)


def rewritten(text: str, blocks: Mapping[str, Callable[[], str]] = BLOCKS) -> str:
    """A document with its blocks as they should be."""
    for name, write in blocks.items():
        pattern = block_pattern(name)
        if not pattern.search(text):
            raise ValueError(f"the document has no block {name!r}")
        written = write()
        text = pattern.sub(lambda match, written=written: f"{match[1]}\n{written}\n\n{match[3]}", text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    for document, blocks in ((README, BLOCKS), (CLIENTS, BLOCKS_OF_CLIENTS)):
        document.write_text(rewritten(document.read_text(encoding="utf-8"), blocks), encoding="utf-8")
    sys.exit(0)
