"""``reattach prove``: what it shows, its exit codes, and that it can be interrupted."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.proofs import toys
from tests.proofs.test_prover import source

from reattach.cli import main
from reattach.commands import prove as command
from reattach_proofs import ledger, proof, sources
from reattach_proofs.obligations import Outcome
from reattach_proofs.proof import Refuted
from reattach_proofs.prover import Decided, Task

Toys = Callable[..., None]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Toys]:
    """Make these the only obligations there are, decided in this process."""

    def use(*runs: Callable[[], Outcome]) -> None:
        monkeypatch.setattr(sources, "SOURCES", (source(*runs),))
        monkeypatch.setattr(proof, "_processors", lambda: 1)
        monkeypatch.setattr(ledger, "KERNEL", ())
        proof._by_name.cache_clear()
        proof._seen.clear()

    yield use
    proof._by_name.cache_clear()
    proof._seen.clear()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["prove", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_what_is_proved_exits_0(toy: Toys, capsys: pytest.CaptureFixture[str]) -> None:
    toy(toys.true)
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    assert "1 of 1 theorems proved; 1 obligations, 2 paths" in out


@pytest.mark.parametrize("run_", [toys.false, toys.contradictory, toys.raising, toys.unsupported])
def test_what_is_not_proved_exits_1(toy: Toys, capsys: pytest.CaptureFixture[str], run_: Callable[[], Outcome]) -> None:
    toy(toys.true, run_)
    code, out, err = run(capsys)
    assert (code, err) == (1, "")
    assert "0 of 1 theorems proved" in out
    assert "shape 1 | happens" in out


def test_lines_of_the_machine_without_a_reason_exit_1(
    toy: Toys, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy(toys.true)
    monkeypatch.setattr(ledger, "KERNEL", ("decision",))
    code, out, _ = run(capsys)
    assert code == 1
    assert "no reason is given" in out
    code, out, _ = run(capsys, "toy")  # of one theorem, not all lines are expected
    assert code == 0


@pytest.mark.parametrize(("solver", "asked"), [("z3", {"z3"}), ("cvc5", {"cvc5"}), ("both", {"z3", "cvc5"})])
def test_the_solvers_that_are_asked_decide(
    toy: Toys, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, solver: str, asked: set[str]
) -> None:
    toy(toys.false)
    monkeypatch.setattr(command, "_write_ledger", lambda text: None)
    code, out, _ = run(capsys, "--solver", solver, "--format", "json")
    (theorem,) = json.loads(out)["theorems"]
    assert code == 1
    assert theorem["verdicts"] == dict.fromkeys(sorted(asked, reverse=True), "refuted")


def test_the_questions_are_written(toy: Toys, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    toy(toys.true, toys.true)
    code, _, _ = run(capsys, "--emit-smt", str(tmp_path / "new" / "folder"))
    assert code == 0
    written = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert written == ["shape-0-happens.smt2", "shape-1-happens.smt2"]


def test_the_ledger_of_the_standard_is_written_by_both_solvers_alone(
    toy: Toys, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy(toys.true)
    written: list[str] = []
    monkeypatch.setattr(command, "_write_ledger", written.append)
    run(capsys)
    run(capsys, "toy", "--solver", "both")
    assert written == []
    run(capsys, "--solver", "both")
    (text,) = written
    assert text.startswith("# The ledger of proofs")
    assert "| toy | 1 | 2 | 4 | proved | proved |" in text


def test_mutants_are_shown_and_counted(
    toy: Toys, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy(toys.true)
    found = [Refuted("one", "toy", True, "the exchange that shows one"), Refuted("two", "toy", True, "the other")]
    monkeypatch.setattr(proof, "refute", lambda names, on_refuted: tuple(found))
    code, out, _ = run(capsys, "--mutants")
    assert code == 0
    assert "the exchange that shows one" in out
    assert "2 of 2" in out
    for survivor in (Refuted("three", "toy", False, "shown"), Refuted("three", "toy", True, "")):
        monkeypatch.setattr(proof, "refute", lambda names, on_refuted, one=survivor: (*found, one))
        code, out, _ = run(capsys, "--mutants")
        assert code == 1
        assert "2 of 3" in out
    assert "three: no exchange was found that breaks toy" in out


def test_an_interruption_keeps_what_was_found(
    toy: Toys, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(runs: list[Callable[[], Outcome]]) -> tuple[int, str]:
        toy(*runs)
        decide = proof._decide
        decided: list[str] = []

        def once(task: Task, name: str) -> Decided:
            if decided:
                os.kill(os.getpid(), signal.SIGTERM)
            decided.append(name)
            return decide(task, name)

        with monkeypatch.context() as patched:
            patched.setattr(proof, "_decide", once)
            code, out, err = run(capsys)
        assert err == ""
        return code, out

    code, out = interrupted([toys.true, toys.true, toys.true])
    assert code == 3
    assert "interrupted: 2 obligations undecided" in out
    assert "undecided" in out
    code, out = interrupted([toys.false, toys.true, toys.true])
    assert code == 1
    assert "x is it" in out


def test_an_unknown_theorem_is_one_line_and_exit_2(toy: Toys, capsys: pytest.CaptureFixture[str]) -> None:
    toy(toys.true)
    code, out, err = run(capsys, "nope")
    assert (code, out) == (2, "")
    assert err == "reattach: no theorem 'nope'; there are toy\n"


def test_a_folder_that_cannot_be_written_is_one_line_and_exit_2(
    toy: Toys, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    toy(toys.true)
    (tmp_path / "file").write_text("kept")
    code, out, err = run(capsys, "--emit-smt", str(tmp_path / "file"))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize(("module", "package"), sorted(command.NEEDED.items()))
def test_a_missing_solver_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, module: str, package: str
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find(name))
    code, out, err = run(capsys)
    assert (code, out) == (2, "")
    assert err == f"reattach: prove needs {package}: install reattach[proofs]\n"


def test_the_command_line_does_not_need_the_solvers() -> None:
    """Everything but prove works where only the package's own dependencies are installed."""
    without = "import sys; sys.modules.update(dict.fromkeys(['z3', 'cvc5'])); import reattach.cli"
    ran = subprocess.run(
        [sys.executable, "-c", f"{without}; sys.exit(reattach.cli.main(['explain', 'CUR-7']))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_several_processes_prove_as_one_does() -> None:
    """The command as users run it: processes of its own, and the real obligations; an interruption ends most."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "reattach.cli", "prove", "sessions", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = process.communicate(timeout=280)
    assert (process.returncode, err) == (0, "")
    document = json.loads(out)
    assert document["proved"] is True
    assert [theorem["name"] for theorem in document["theorems"]] == ["sessions"]
