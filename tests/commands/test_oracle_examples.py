"""The examples in TypeScript and Go ask ``reattach oracle`` and pass; with a line of them broken, they fail by it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import frozen

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("oracle-examples")]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples"
INSTALLED = ROOT / ".venvs/oracle-typescript/node_modules"
"""What the example in TypeScript needs (`make test-real` installs it)."""
BOUND = 280
CALL, MIX, FOREIGN = "a call goes on where it was cut", "calls of one session do not mix", "another session's cursor"


@frozen
class Break:
    """A line of an example that is changed, and what fails then."""

    file: str
    was: str
    becomes: str
    test: str
    says: str


TYPESCRIPT = [
    Break("server.ts", "event.seq > last.seq", "event.seq >= last.seq", CALL, "DEL-1: "),
    Break("server.ts", "event.seq > last.seq", "event.seq > last.seq + 1", CALL, "DEL-2: "),
    Break("server.ts", " && event.stream === last.stream", "", MIX, "DEL-3: "),
    Break("server.ts", "new Events()", "((globalThis as any).events ??= new Events())", FOREIGN, "SES-5: "),
    Break("server.ts", "n <= count", "n < count", CALL, "DEL-2: "),
    Break("client.ts", "...block,", "...block, id: undefined,", CALL, "not observed"),
    Break("oracle.ts", "each.fails)", "!each.fails)", CALL, "ATT-1: "),
]

GO = [
    Break("server.go", "events[index+1:]", "events[index:]", "TestACallGoesOnWhereItWasCut", "DEL-1: "),
    Break(
        "server.go", "events[index+1:]", "events[min(index+2, len(events)):]", "TestACallGoesOnWhereItWasCut", "DEL-2: "
    ),
    Break(
        "server.go",
        "return stream{session, id}",
        'return stream{"", id}',
        "TestAnotherSessionsCursorBringsNothingOfIt",
        "SES-5: ",
    ),
    Break("server.go", "n <= asked.Count", "n < asked.Count", "TestCallsOfOneSessionDoNotMix", "DEL-2: "),
    Break(
        "client_test.go",
        'block["id"], e.Cursor = value, value',
        "e.Cursor = value",
        "TestACallGoesOnWhereItWasCut",
        "not observed",
    ),
    Break("oracle_test.go", "&& verdict.Fails", "&& !verdict.Fails", "TestACallGoesOnWhereItWasCut", "ATT-1: "),
]


def laid_out(folder: Path, example: str, breaks: list[Break]) -> None:
    """The example as it is in ``right``, and in ``broken-N`` with one line changed."""
    shutil.copytree(EXAMPLES / example, folder / "right")
    for number, broken in enumerate(breaks):
        shutil.copytree(EXAMPLES / example, folder / f"broken-{number}")
        source = folder / f"broken-{number}" / broken.file
        text = source.read_text(encoding="utf-8")
        assert text.count(broken.was) == 1
        source.write_text(text.replace(broken.was, broken.becomes), encoding="utf-8")


def run(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    program = folder / "reattach"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reattach.cli "$@"\n')
    program.chmod(0o755)
    paths = os.pathsep.join(str(ROOT / part) for part in ("model", "proofs"))
    environment = {**os.environ, "REATTACH": str(program), "PYTHONPATH": paths, "GOTOOLCHAIN": "local"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=BOUND
    )


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(reason=f"{program} is not installed")
    return found


Told = dict[tuple[str, str], str]
"""By folder and test: what its failure says; empty if it passed."""


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Told:
    node = needs("node")
    if not INSTALLED.exists():
        pytest.skip(reason="what the example in TypeScript needs is not installed")
    folder = tmp_path_factory.mktemp("typescript")
    laid_out(folder, "oracle-typescript", TYPESCRIPT)
    (folder / "node_modules").symlink_to(INSTALLED)
    types = run([node, str(INSTALLED / "typescript/bin/tsc"), "-p", "right"], folder)
    assert types.returncode == 0, types.stdout
    # A reporter of JSON tells the message of a failure alone, cut off.
    (folder / "vitest.config.mjs").write_text("export default { test: { chaiConfig: { truncateThreshold: 0 } } };\n")
    options = ["--reporter=json", "--maxWorkers=2"]
    done = run([node, str(INSTALLED / "vitest/vitest.mjs"), "run", *options], folder)
    report = json.loads(done.stdout)
    return {
        (Path(file["name"]).parent.name, test["title"]): "\n".join(test["failureMessages"])
        for file in report["testResults"]
        for test in file["assertionResults"]
    }


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Told:
    program = needs("go")
    folder = tmp_path_factory.mktemp("go")
    laid_out(folder, "oracle-go", GO)
    for name in ("go.mod", "go.sum"):
        shutil.copy(folder / "right" / name, folder / name)
        for each in folder.glob(f"*/{name}"):
            each.unlink()
    done = run([program, "test", "-json", "./..."], folder)
    told: Told = {}
    for event in map(json.loads, done.stdout.splitlines()):
        if "Test" in event:
            key = (event["Package"].rpartition("/")[2], event["Test"])
            told[key] = told.get(key, "") + event.get("Output", "")
            if event["Action"] == "pass":
                told[key] = ""
    assert told, done.stdout + done.stderr
    return told


def test_the_example_in_typescript_passes(typescript: Told) -> None:
    outcomes = {test: said for (folder, test), said in typescript.items() if folder == "right"}
    assert len(outcomes) == 3
    assert set(outcomes.values()) == {""}


def test_the_example_in_go_passes(go: Told) -> None:
    outcomes = {test: said for (folder, test), said in go.items() if folder == "right"}
    assert len(outcomes) == 3
    assert set(outcomes.values()) == {""}


@pytest.mark.parametrize("number", range(len(TYPESCRIPT)), ids=lambda number: TYPESCRIPT[number].becomes)
def test_a_broken_line_of_it_in_typescript_fails(typescript: Told, number: int) -> None:
    fails(typescript, number, TYPESCRIPT[number])


@pytest.mark.parametrize("number", range(len(GO)), ids=lambda number: GO[number].becomes)
def test_a_broken_line_of_it_in_go_fails(go: Told, number: int) -> None:
    fails(go, number, GO[number])


def fails(told: Told, number: int, broken: Break) -> None:
    (said,) = (
        said for (folder, test), said in told.items() if folder == f"broken-{number}" and test.startswith(broken.test)
    )
    assert broken.says in said
    if re.match(r"[A-Z]{3}-\d+: $", broken.says):
        assert "right: " in said
        assert "<==" in said
