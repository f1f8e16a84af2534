"""The examples in TypeScript and Go pass the vectors; with any one of their comparisons broken, they do not."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from attrs import frozen

from reattach.vectors.kinds import KINDS

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "spec/vectors"


@frozen
class Runner:
    """An example: how it is run, and how its lines can be broken."""

    folder: str
    program: str
    command: tuple[str, ...]
    source: str
    passed: str
    """What the output says before the number of tests, or before each of them."""
    breaks: tuple[tuple[str, str], ...]


TYPESCRIPT = Runner(
    "vectors-typescript",
    "node",
    ("--test", "--test-reporter=tap"),
    "resumption.mjs",
    "\nok ",
    (
        ("headers.length === 1", "headers.length >= 1"),
        ("{22,32}", "{22,33}"),
        ("stream > Number.MAX_SAFE_INTEGER", "stream > Number.MAX_SAFE_INTEGER + 1"),
        ("seq > Number.MAX_SAFE_INTEGER", "seq >= Number.MAX_SAFE_INTEGER"),
        ("session.principal !== request.principal", "false"),
        ("cursor.tag !== session.tag", "false"),
        ("mark !== stream.first", "mark > stream.last"),
        ("cursor.seq > stream.last", "cursor.seq >= stream.last"),
        ("cursor.seq > stream.last", "cursor.seq > stream.last + 1"),
        ("cursor.seq < mark", "cursor.seq <= mark"),
        ("cursor.seq < mark", "cursor.seq < mark - 1"),
        ("cursor.seq !== mark &&", ""),
        ("event.seq === cursor.seq", "event.seq <= cursor.seq"),
        ("event.stream === stream.number", "true"),
    ),
)

GO = Runner(
    "vectors-go",
    "go",
    ("test", "-v", "./..."),
    "resumption.go",
    "\n    --- PASS: ",
    (
        ("len(headers) > 1 ||", ""),
        ("{22,32}", "{21,32}"),
        ("stream > greatest", "stream >= greatest"),
        ("seq > greatest", "seq > greatest+1"),
        ("session.Principal != request.Principal", "false"),
        ("cursor.Tag != session.Tag", "false"),
        ("mark != stream.First", "mark > stream.Last"),
        ("cursor.Seq > stream.Last", "cursor.Seq >= stream.Last"),
        ("cursor.Seq > stream.Last", "cursor.Seq > stream.Last+1"),
        ("cursor.Seq < mark", "cursor.Seq <= mark"),
        ("cursor.Seq < mark", "cursor.Seq < mark-1"),
        ("cursor.Seq != mark && ", ""),
        ("event.Seq == seq", "event.Seq <= seq"),
        ("event.Stream == stream.Number", "true"),
    ),
)

RUNNERS = {"typescript": TYPESCRIPT, "go": GO}
BREAKS = [(name, was, becomes) for name, runner in RUNNERS.items() for was, becomes in runner.breaks]


def run(runner: Runner, folder: Path, was: str = "", becomes: str = "") -> subprocess.CompletedProcess[str]:
    """The example in a folder of its own, with one piece of it replaced."""
    program = shutil.which(runner.program)
    if program is None:
        pytest.skip(reason=f"{runner.program} is not installed")
    example = folder / runner.folder
    shutil.copytree(ROOT / "docs/examples" / runner.folder, example)
    source = example / runner.source
    text = source.read_text(encoding="utf-8")
    if was:
        assert text.count(was) == 1
        source.write_text(text.replace(was, becomes), encoding="utf-8")
    environment = {**os.environ, "VECTORS": str(VECTORS), "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    command = [program, *runner.command]
    return subprocess.run(
        command, cwd=example, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("name", RUNNERS)
def test_the_example_passes_every_vector(name: str, tmp_path: Path) -> None:
    done = run(RUNNERS[name], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = sum(len(KINDS[kind].cases()) for kind in ("cursor", "decision"))
    assert done.stdout.count(RUNNERS[name].passed) == asked


@pytest.mark.parametrize(("name", "was", "becomes"), BREAKS)
def test_a_broken_comparison_fails(name: str, was: str, becomes: str, tmp_path: Path) -> None:
    done = run(RUNNERS[name], tmp_path, was, becomes)
    assert done.returncode == 1
    # It ran, and vectors passed: what fails is a verdict.
    assert RUNNERS[name].passed in done.stdout
    assert "not ok" in done.stdout or "--- FAIL: " in done.stdout
