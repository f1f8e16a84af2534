"""The ledger: what is proved of each theorem, and what that means for each clause.

Three forms of one content: a table for people, JSON for programs (``reattach-proofs/1``), and ``spec/ledger.md``, which
stands beside the standard and says of each clause what is proved, what is tested, and what is neither. What depends on
the machine it ran on, the times, is not in the file.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import reattach
from reattach.clauses import Check, Clause, Registry
from reattach.lines import left_over
from reattach_proofs import smt, solver
from reattach_proofs.exemptions import EXEMPT, Exemption
from reattach_proofs.promises import Theorem
from reattach_proofs.proof import Proof, TheoremResult
from reattach_proofs.prover import Engine, Failure, Verdict

SCHEMA = "reattach-proofs/1"

VERSIONS = {Engine.Z3: solver.VERSION, Engine.CVC5: smt.VERSION}

KERNEL = ("decision", "session", "transition", "modes", "server", "client", "network", "system", "inductive")
"""The modules whose lines are accounted for. A contract stands in for the window, which is therefore not among them."""


@frozen
class LeftOver:
    """A function of the machine of which some lines were executed on no path."""

    module: str
    function: str
    lines: tuple[int, ...]
    reason: str
    """Why that is no gap; empty if it is one."""


def unexecuted(proof: Proof) -> tuple[LeftOver, ...]:
    """The lines of the machine that no path of a proof executed, those that are exempt with their reason."""
    executed = {line for each in proof.decided for line in each.lines}
    return tuple(
        LeftOver(module, function.name, lines, _reason(module, function.name, EXEMPT))
        for module in KERNEL
        for function, lines in left_over(module, executed)
    )


def _reason(module: str, function: str, exemptions: Iterable[Exemption]) -> str:
    for exemption in exemptions:
        if (exemption.module, exemption.function) == (module, function):
            return exemption.reason
    return ""


# For people


def render(proof: Proof, refuted: Mapping[str, str], left: Sequence[LeftOver] = ()) -> RenderableType:
    """The table, and below it what failed. ``refuted``: of each theorem how many of its mutants were refuted."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("theorem", no_wrap=True)
    table.add_column("clauses")
    for name in ("shapes", "paths"):
        table.add_column(name, justify="right")
    for engine in Engine:
        table.add_column(engine.value, no_wrap=True)
    table.add_column("mutants refuted", justify="right")
    table.add_column("time", justify="right", no_wrap=True)
    for result in proof.theorems:
        table.add_row(
            result.theorem.name,
            " ".join(result.theorem.clauses),
            str(result.shapes),
            str(result.paths),
            *(_verdict(result, engine) for engine in Engine),
            refuted.get(result.theorem.name, "–"),
            f"{result.seconds:.1f} s",
        )
    parts: list[RenderableType] = [table, Text()]
    for result in proof.theorems:
        parts += _trouble(result)
    parts += _lines_left(left)
    parts.append(_summary(proof))
    return Group(*parts)


_STYLES = {Verdict.PROVED: "green", Verdict.UNDECIDED: "yellow"}


def _verdict(result: TheoremResult, engine: Engine) -> Text:
    verdict = result.verdicts.get(engine)
    return Text("–") if verdict is None else Text(verdict.value, style=_STYLES.get(verdict, "bold red"))


def _trouble(result: TheoremResult) -> Iterator[RenderableType]:
    for case in result.unseen:
        yield Text(f"{result.theorem.name}: never seen to be possible: {case}", style="bold red")
    shown: set[tuple[str, Engine]] = set()
    for failure in result.failures:
        if (failure.what, failure.engine) not in shown:
            shown.add((failure.what, failure.engine))
            others = sum(each.what == failure.what and each.engine is failure.engine for each in result.failures) - 1
            yield from _failure(result.theorem, failure, others)


def _failure(theorem: Theorem, failure: Failure, others: int) -> Iterator[RenderableType]:
    head = f"{theorem.name}: {failure.verdict.value} by {failure.engine.value}: {failure.what}"
    yield Text(head, style="bold red", overflow="fold")
    more = f" (and on {others} other paths)" if others else ""
    yield Text(f"   {failure.obligation}{more}", overflow="fold")
    numbers = ", ".join(f"{name} = {value}" for name, value in failure.example if "!" not in name)
    if numbers:
        yield Text(f"   for example {numbers}", style="dim", overflow="fold")


def _lines_left(left: Sequence[LeftOver]) -> Iterator[RenderableType]:
    for each in left:
        where = f"machine/{each.module}.py, {each.function}, lines {', '.join(map(str, each.lines))}"
        style = "dim" if each.reason else "bold red"
        yield Text(f"on no path: {where}: {each.reason or 'no reason is given'}", style=style, overflow="fold")


def _summary(proof: Proof) -> RenderableType:
    good = sum(result.proved for result in proof.theorems)
    paths = sum(each.paths for each in proof.decided)
    lines = [
        Text(f"{good} of {len(proof.theorems)} theorems proved; {len(proof.decided)} obligations, {paths} paths"),
    ]
    if proof.interrupted:
        lines.append(Text(f"interrupted: {proof.expected - len(proof.decided)} obligations undecided", style="yellow"))
    return Group(*lines)


# For programs


def to_json(proof: Proof, refuted: Mapping[str, str], left: Sequence[LeftOver] = ()) -> str:
    """The same as text: indented, ASCII."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "reattach", "version": reattach.__version__},
        "solvers": {engine.value: VERSIONS[engine] for engine in Engine},
        "proved": proof.proved,
        "interrupted": proof.interrupted,
        "obligations": {"decided": len(proof.decided), "expected": proof.expected},
        "paths": sum(each.paths for each in proof.decided),
        "theorems": [
            {
                "name": result.theorem.name,
                "says": result.theorem.says,
                "clauses": list(result.theorem.clauses),
                "shapes": result.shapes,
                "paths": result.paths,
                "claims": result.claims,
                "verdicts": {engine.value: verdict.value for engine, verdict in result.verdicts.items()},
                "unseen": list(result.unseen),
                "mutants_refuted": refuted.get(result.theorem.name),
                "seconds": round(result.seconds, 3),
                "failures": [_failure_json(failure) for failure in result.failures],
            }
            for result in proof.theorems
        ],
        "lines_on_no_path": [
            {"module": each.module, "function": each.function, "lines": list(each.lines), "reason": each.reason}
            for each in left
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _failure_json(failure: Failure) -> dict[str, object]:
    return {
        "verdict": failure.verdict.value,
        "solver": failure.engine.value,
        "what": failure.what,
        "obligation": failure.obligation,
        "example": dict(failure.example),
    }


# For the standard


def to_markdown(proof: Proof, registry: Registry, left: Sequence[LeftOver]) -> str:
    """What is written to ``spec/ledger.md``."""
    return "\n".join(
        [
            HEAD,
            *statements(result.theorem for result in proof.theorems),
            "",
            "## What was decided",
            "",
            *_numbers(proof),
            "",
            "## Shapes",
            "",
            *shapes_table((each.shape, each.paths) for each in proof.decided),
            "",
            "## Clauses",
            "",
            *clauses_table(registry, [result.theorem for result in proof.theorems]),
            "",
            "## Lines of the machine that are on no path",
            "",
            *([f"- `{each.module}.{each.function}`: {each.reason}" for each in left] or ["None."]),
            "",
        ]
    )


HEAD = """\
# The ledger of proofs

Written by `make prove`. [docs/proofs.md](../docs/proofs.md) says what the words mean and what is assumed.

## Theorems
"""


def statements(theorems: Iterable[Theorem]) -> Iterator[str]:
    """Each theorem with what it says and the clauses that it supports."""
    yield "| theorem | says | clauses |"
    yield "|---|---|---|"
    for theorem in theorems:
        yield f"| {theorem.name} | {theorem.says} | {', '.join(theorem.clauses)} |"


def _numbers(proof: Proof) -> Iterator[str]:
    yield "| theorem | shapes | paths | claims | " + " | ".join(VERSIONS[engine] for engine in Engine) + " |"
    yield "|---|---:|---:|---:|" + "---|" * len(Engine)
    for result in proof.theorems:
        verdicts = " | ".join(result.verdicts[engine].value if engine in result.verdicts else "–" for engine in Engine)
        yield f"| {result.theorem.name} | {result.shapes} | {result.paths} | {result.claims} | {verdicts} |"


NO_SHAPE = "a new session"
"""What stands for the shape of an obligation that has none."""


def shapes_table(decided: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Each shape with its number of obligations and of paths."""
    totals: dict[str, tuple[int, int]] = {}
    for shape, paths in decided:
        obligations, before = totals.get(shape, (0, 0))
        totals[shape] = (obligations + 1, before + paths)
    yield "| shape | obligations | paths |"
    yield "|---|---:|---:|"
    for shape, (obligations, paths) in totals.items():
        yield f"| {shape or NO_SHAPE} | {obligations} | {paths} |"


def clauses_table(registry: Registry, theorems: Sequence[Theorem]) -> Iterator[str]:
    """Each clause with what is proved, what is tested, and what is neither."""
    yield "| clause | what | proved | tested |"
    yield "|---|---|---|---|"
    for clause in registry.values():
        proved = ", ".join(theorem.name for theorem in theorems if clause.id in theorem.clauses)
        yield f"| {clause.id} | {clause.title} | {proved or '–'} | {_tested(clause)} |"


_TESTED = {
    Check.ORACLE.value: "judged by the oracle",
    Check.MACHINE.value: "tests of the machine",
    Check.BENCH.value: "judged by the bench",
}


def _tested(clause: Clause) -> str:
    if clause.unchecked:
        return f"neither: {clause.unchecked}"
    return ", ".join(_TESTED.get(check, f"`{check}`") for check in clause.checks)
