"""``reattach prove``."""

import contextlib
import importlib.util
import signal
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from attrs import frozen
from rich.progress import MofNCompleteColumn

from reattach.clauses import load_registry, registry_path
from reattach.commands.options import show
from reattach.commands.progress import bar
from reattach.io.files import OutputError, check_writable, write_atomically

if TYPE_CHECKING:
    from reattach_proofs.proof import Proof, Refuted

NEEDED = {"z3": "z3-solver", "cvc5": "cvc5"}
"""Modules of the extra ``proofs``, and the packages they come in."""

EXIT_PROVED, EXIT_FAILED, EXIT_NO_VERDICT = 0, 1, 3


@frozen
class ProveError(Exception):
    """Nothing can be proved as asked; ``str()`` says why."""

    reason: str

    def __str__(self) -> str:
        return self.reason


class Format(Enum):
    """How the ledger is shown."""

    TEXT = "text"
    JSON = "json"


class Solver(Enum):
    """Which solvers decide."""

    Z3 = "z3"
    CVC5 = "cvc5"
    BOTH = "both"


def prove(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Theorems; all, if none is named.")] = None,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Refute the named mutants too, and show how each breaks its theorem.")
    ] = False,
    format: Annotated[Format, typer.Option("--format", help="How the ledger is shown.")] = Format.TEXT,
    solver: Annotated[Solver, typer.Option("--solver", help="Which solvers decide.")] = Solver.Z3,
    emit_smt: Annotated[
        Path | None,
        typer.Option("--emit-smt", metavar="DIR", show_default=False, help="Write every question as SMT-LIB 2 here."),
    ] = None,
) -> int:
    """Prove the theorems about the machine, for every history, and print the ledger."""
    missing = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise ProveError(f"prove needs {' and '.join(missing)}: install reattach[proofs]")
    from reattach_proofs import ledger, proof
    from reattach_proofs.prover import Engine, Task

    chosen = tuple(names or ())
    engines = tuple(Engine) if solver is Solver.BOTH else (Engine(solver.value),)
    try:
        proof.chosen_sources(chosen)
    except proof.UnknownTheoremError as error:
        raise ProveError(str(error)) from None
    if emit_smt is not None:
        _make_folder(emit_smt)
    task = Task(engines=engines, replay=True, record=not chosen, emit=emit_smt)
    refuted: tuple[Refuted, ...] = ()
    with _terminable():
        with bar("proving", MofNCompleteColumn()) as update:
            proved = proof.prove(
                chosen, task, on_decided=lambda each, done, total: update(done, total, each.obligation)
            )
        if mutants and not proved.interrupted:
            with bar("refuting mutants", MofNCompleteColumn()) as update, contextlib.suppress(KeyboardInterrupt):
                refuted = proof.refute(chosen, on_refuted=lambda each, done, total: update(done, total, each.mutant))
    whole = not chosen and not proved.interrupted
    left = ledger.unexecuted(proved) if whole else ()
    counts = _counts(refuted)
    if format is Format.JSON:
        print(ledger.to_json(proved, counts, left), end="")
    else:
        for each in refuted:
            print(f"{each.diagram or f'{each.mutant}: no exchange was found that breaks {each.theorem}'}\n")
        show(ledger.render(proved, counts, left))
    if whole and solver is Solver.BOTH:
        _write_ledger(ledger.to_markdown(proved, load_registry(), left))
    survived = any(not each.refuted for each in refuted)
    gaps = any(not each.reason for each in left)
    return _exit_code(proved, survived or gaps)


def _exit_code(proved: "Proof", failed: bool) -> int:
    if failed or proved.failed:
        return EXIT_FAILED
    if proved.interrupted:
        return EXIT_NO_VERDICT
    return EXIT_PROVED if proved.proved else EXIT_FAILED


def _counts(refuted: "tuple[Refuted, ...]") -> dict[str, str]:
    """Of each theorem how many of its mutants were refuted, of how many."""
    counts: dict[str, str] = {}
    for theorem in {each.theorem for each in refuted}:
        own = [each.refuted for each in refuted if each.theorem == theorem]
        counts[theorem] = f"{sum(own)} of {len(own)}"
    return counts


def _write_ledger(text: str) -> None:
    """Write ``spec/ledger.md``, where there is a standard beside the code."""
    folder = registry_path().parent
    if folder.name == "spec":
        write_atomically(folder / "ledger.md", text)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(path, error.strerror or str(error)) from error
    check_writable(path / "questions.smt2")


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a proof as SIGINT does, with what was found."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
