"""``reattach serve --mutant``."""

import subprocess
import sys

import pytest

from reattach.cli import main
from reattach.live.mutants.__main__ import main as probe_mutants
from reattach.live.mutants.registry import MUTANTS


def test_the_list_has_every_mutant_and_what_it_does_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--mutant", "list"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [f"{mutant.name}: {mutant.wrong}" for mutant in MUTANTS.values()]
    assert err == ""


def test_an_unknown_mutant_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--mutant", "no-such-mutant"]) == 2
    assert probe_mutants(["no-such-mutant"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.count("no-such-mutant") for line in err.splitlines()] == [1, 1]


def test_an_sdk_that_is_not_there_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe_mutants(["--sdk-python", "no-such-python"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_server_with_a_mistake_says_so() -> None:
    command = [sys.executable, "-m", "reattach.cli", "serve", "--mutant", "no-ttl", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline().startswith("reattach reference server: http://127.0.0.1:")
        finally:
            process.terminate()
        assert process.stderr.read() == f"with a mistake, no-ttl: {MUTANTS['no-ttl'].wrong}\n"
        assert process.wait(timeout=20) == 0
