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
    kinds: tuple[str, ...] = ("cursor", "decision")

    def asked(self) -> int:
        """So many vectors are asked: all of its kinds, but those of a client that recognises what it has applied."""
        cases = [case for kind in self.kinds for case in KINDS[kind].cases()]
        return sum(case.question.get("memory", 0) == 0 for case in cases)


TYPESCRIPT = Runner(
    "vectors-typescript",
    "node",
    ("--test", "--test-reporter=tap", "resumption.test.mjs"),
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

CLIENT = Runner(
    "vectors-typescript",
    "node",
    ("--test", "--test-reporter=tap", "client.test.mjs"),
    "client.mjs",
    "\nok ",
    (
        ("stream.connection === 0", "true"),
        ("stream.attempts >= this.attemptsLimit", "stream.attempts > this.attemptsLimit"),
        ("stream.retry > this.longestWait", "stream.retry >= this.longestWait"),
        ("at < stream.ready", "at <= stream.ready"),
        ("at < stream.ready", "at < stream.ready - 1"),
        ("attempts: stream.attempts + 1", "attempts: stream.attempts"),
        ("cursor: id ?? stream.cursor", "cursor: id"),
        ("cursor, attempts: 0 });\n      if", "cursor });\n      if"),
        ("if (final) this.#over(stream);", ""),
        ("stream.cursor = id ?? stream.cursor", "stream.cursor ??= id"),
        ("id !== stream.cursor", "false"),
        ("status === 404", "status >= 400"),
        ("stream.cursor === null", "false"),
        ("ready: at + stream.retry", "ready: stream.retry"),
        ('["end", "reset", "resumption-required"]', '["reset", "resumption-required"]'),
        ('this.told.push({ news: "session-lost" });', ""),
        ("{ session: null, initializing: 0 }", "{ initializing: 0 }"),
    ),
    ("client",),
)

RUNNERS = {"typescript": TYPESCRIPT, "go": GO, "client in typescript": CLIENT}
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
    assert done.stdout.count(RUNNERS[name].passed) == RUNNERS[name].asked()


@pytest.mark.parametrize(("name", "was", "becomes"), BREAKS)
def test_a_broken_comparison_fails(name: str, was: str, becomes: str, tmp_path: Path) -> None:
    done = run(RUNNERS[name], tmp_path, was, becomes)
    assert done.returncode == 1
    # It ran, and vectors passed: what fails is a verdict.
    assert RUNNERS[name].passed in done.stdout
    assert "not ok" in done.stdout or "--- FAIL: " in done.stdout
