"""``reattach demo``: the official Python SDK's server and the reference server, probed and shown side by side.

Both are probed with the same seed and the same time under the profile ``reattach``; the reference server runs by the
short policy and is held to it. A clause that the profile ``mcp`` does not oblige only *differs* on the SDK's server,
and is shown apart. The demo's job is to show faults, so its exit code says whether the demo itself worked: both servers
were probed to the end, and the reference server violates nothing.
"""

import secrets
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve
from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reattach.clauses import About, Registry
from reattach.io.plain import plain
from reattach.io.policy_file import read_declaration
from reattach.io.report_text import finding_text
from reattach.io.run import EXIT_CODES, Presented, Verdict
from reattach.live.probe import ProbeOptions
from reattach.oracle.verdict import ClauseResult, Finding, Outcome, Profile

PACKAGE = "mcp"
POLICY = "short"
SDK_NAME = "official Python SDK"
REFERENCE_NAME = "reference server"

_STYLES = {"held": "green", "violated": "bold red", "differs": "magenta", "not observed": "yellow"}


class DemoError(Exception):
    """The demo cannot begin. One line of text."""


def sdk_version(python: str) -> str:
    """The version of the SDK that an interpreter has. Raises DemoError if it has none."""
    program = f"import importlib.metadata as metadata; print(metadata.version({PACKAGE!r}))"
    try:
        asked = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DemoError(f"{python} cannot be run: {error}") from error
    if asked.returncode != 0:
        raise DemoError(f"{python} has no package {PACKAGE}: `make demo` sets one up, --sdk-python names another")
    return asked.stdout.strip()


def sdk_options(python: str, seed: int, budget_ms: int | None) -> ProbeOptions:
    """How the SDK's server is probed."""
    server = Path(__file__).with_name("demo_server.py")
    command = f"{shlex.join([python, str(server)])} --port {{port}}"
    return ProbeOptions(command=command, profile=Profile.REATTACH, seed=seed, budget_ms=budget_ms)


def reference_options(seed: int, budget_ms: int | None, mutant: str | None = None) -> ProbeOptions:
    """How the reference server, or a mutant of it, is probed: by the policy that it runs by, and as two principals."""
    tokens = {name: secrets.token_urlsafe(24) for name in ("first", "second")}
    given = [word for name, token in tokens.items() for word in ("--token", f"{name}={token}")]
    given += ["--mutant", mutant] if mutant is not None else []
    program = [sys.executable, "-m", "reattach.cli", "serve", "--policy", POLICY, *given]
    headers = {name: (("Authorization", f"Bearer {token}"),) for name, token in tokens.items()}
    return ProbeOptions(
        command=f"{shlex.join(program)} --port {{port}}",
        profile=Profile.REATTACH,
        declaration=read_declaration(POLICY),
        headers=headers["first"],
        second_principal=headers["second"],
        seed=seed,
        budget_ms=budget_ms,
    )


def everything(sdk: Presented, reference: Presented, version: str, registry: Registry) -> RenderableType:
    """All that the demo shows: the table, the faults by their exchanges, the summary."""
    parts: list[RenderableType] = []
    if sdk.report.clauses and reference.report.clauses:
        parts += [comparison(sdk, reference, version, registry), ""]
        parts += [findings_text(SDK_NAME, sdk, registry), findings_text(REFERENCE_NAME, reference, registry)]
    return Group(*parts, summary(sdk, reference, version, registry))


def comparison(sdk: Presented, reference: Presented, version: str, registry: Registry) -> RenderableType:
    """The clauses about servers, and what each of the two did."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("clause", "level", "what"):
        table.add_column(name, no_wrap=True)
    table.add_column(Text(f"{SDK_NAME}\n{PACKAGE} {version}"))
    table.add_column(Text(f"{REFERENCE_NAME}\npolicy {POLICY}"), min_width=len("not observed"))
    ours = {result.clause: result for result in reference.report.clauses}
    for result in sdk.report.clauses:
        if _is_about_servers(result, registry):
            clause = registry[result.clause]
            cells = [Text(clause.id), Text(clause.level.value), Text(clause.title)]
            table.add_row(*cells, _cell(result, sdk, registry), _cell(ours[clause.id], reference, registry))
    legend = Text(
        "violated: by the text of MCP, or by breaking what the server itself accepted. differs: MCP leaves it open, the"
        " stricter profile reattach does not. not observed: never counted as a pass.",
        style="dim",
    )
    return Group(table, "", legend)


def findings_text(name: str, presented: Presented, registry: Registry) -> RenderableType:
    """The faults of a server, each by its shortest exchange: first what is violated, then what differs."""
    parts: list[RenderableType] = []
    number = 0
    for word, obliged in (("violated", True), ("differs", False)):
        chosen = [
            (evolve(finding, kind=registry[finding.clause].translated(finding.kind, Profile.MCP)), replay)
            for finding, replay in shortest_findings(presented)
            if registry[finding.clause].obliges(Profile.MCP) is obliged
        ]
        if chosen:
            parts += [Text(f"{name}: {word}", style="bold underline"), ""]
        for finding, replay in chosen:
            number += 1
            parts += [finding_text(number, finding, replay, registry), ""]
    return Group(*parts)


def shortest_findings(presented: Presented) -> list[tuple[Finding, str | None]]:
    """For each clause and fault the finding with the shortest exchange, with its replay file, in clause order."""
    pairs = zip(presented.report.findings, presented.replays, strict=True)
    longest_first = sorted(pairs, key=lambda pair: len(pair[0].evidence), reverse=True)
    shortest = {(finding.clause, finding.fault): (finding, replay) for finding, replay in longest_first}
    order = [result.clause for result in presented.report.clauses]
    return sorted(shortest.values(), key=lambda pair: (order.index(pair[0].clause), pair[0].fault.value))


def summary(sdk: Presented, reference: Presented, version: str, registry: Registry) -> RenderableType:
    """What came out, in a few lines."""
    lines: list[RenderableType] = []
    for name, presented in ((f"{SDK_NAME} ({PACKAGE} {version})", sdk), (REFERENCE_NAME, reference)):
        words = [_word(result, registry) for result in presented.report.clauses if _is_about_servers(result, registry)]
        counts = ", ".join(f"{words.count(word)} {word}" for word in _STYLES if word in words)
        lines.append(Text.assemble((name, "bold"), f": {counts or 'nothing observed'}"))
        faults = sorted({finding.fault.value for finding in presented.report.findings})
        if faults:
            lines.append(_indented(f"faults: {', '.join(faults)}"))
        if presented.run.stopped:
            lines.append(_indented(f"stopped early: {plain(presented.run.stopped)}", style="bold yellow"))
    lines.append(Text(f"to repeat: {plain(sdk.run.command)}", style="dim"))
    return Group(*lines)


def _indented(text: str, style: str = "") -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, 3))


def exit_code(sdk: Presented, reference: Presented) -> int:
    """0 if the demo worked: both were probed to the end, and the reference server violates nothing."""
    if any(presented.run.stopped or not presented.report.clauses for presented in (sdk, reference)):
        return EXIT_CODES[Verdict.NO_VERDICT]
    return EXIT_CODES[Verdict.VIOLATES if reference.report.findings else Verdict.CONFORMS]


def _is_about_servers(result: ClauseResult, registry: Registry) -> bool:
    return registry[result.clause].about is not About.CLIENT


def _word(result: ClauseResult, registry: Registry) -> str:
    if result.outcome is Outcome.VIOLATED and not registry[result.clause].obliges(Profile.MCP):
        return "differs"
    return result.outcome.value


def _cell(result: ClauseResult, presented: Presented, registry: Registry) -> Text:
    word = _word(result, registry)
    faults = _faults([finding for finding in presented.report.findings if finding.clause == result.clause])
    return Text.assemble((word, _STYLES[word]), f": {faults}" if faults else "")


def _faults(findings: Sequence[Finding]) -> str:
    return ", ".join(dict.fromkeys(finding.fault.value for finding in findings))
