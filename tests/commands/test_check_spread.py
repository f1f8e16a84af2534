"""``reattach check`` on several processes and on a cluster: what is said is what one process says, byte for byte."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import psutil
import pytest
from attrs import evolve
from tests.commands.tasks import Dying, Failing
from tests.commands.test_check import foreign_cursor, write
from tests.commands.test_probe import environment
from tests.io.hars import entries_of, har
from tests.io.hostile_hars import HARS
from tests.oracle.wire import Wire

from reattach.cli import main
from reattach.io import spread
from reattach.io.trace import SCHEMA, TraceHeader
from reattach.oracle.verdict import Profile

BOUND = 120
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def running(*arguments: object) -> tuple[int, str, str]:
        code = main(["check", *map(str, arguments)])
        out, err = capfd.readouterr()
        return code, out, err

    return running


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A right server and a wrong one, a HAR, a bad file, one that ends early, and one in which nothing happens."""
    folder = tmp_path_factory.mktemp("archive")
    seen = foreign_cursor().observations
    wrong = Wire()
    session = wrong.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).log("a1", "A", 2).cut()
    files = [
        write(folder / "wrong.jsonl", wrong.observations),
        write(folder / "part.jsonl", seen, TraceHeader()),
        folder / "browser.har",
        folder / "bad.har",
        folder / "cut.jsonl",
        write(folder / "nothing.jsonl", []),
        write(folder / "whole.jsonl", seen),
        folder / "none.jsonl",
    ]
    files[2].write_text(json.dumps(har(entries_of(wrong.observations))))
    files[3].write_bytes(HARS["cut in an entry"][0])
    files[4].write_bytes(files[6].read_bytes()[:-20])
    return files


def test_processes_say_what_one_process_says(archive: list[Path], run: Run) -> None:
    alone = run("--jobs", 1, *archive)
    assert alone[0] == 1
    assert alone[2].count("\n") == 3
    assert run("--jobs", 2, *archive) == alone
    assert active_children() == []


def test_the_number_of_processes_is_that_of_the_cores_if_it_is_worth_it(
    archive: list[Path], monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    asked: list[int] = []

    def on_cores(paths: list[Path], task: spread.Task, jobs: int) -> Iterator[Any]:
        asked.append(jobs)
        return spread.in_turn(paths, task)

    monkeypatch.setattr("reattach.commands.check.on_cores", on_cores)
    monkeypatch.setattr("reattach.commands.check.cores", lambda: 7)
    alone = run(*archive)
    assert asked == []
    monkeypatch.setattr("reattach.io.spread.WORTH_PROCESSES", 1)
    assert run(*archive) == alone
    assert asked == [7]
    run(archive[0])
    run(*archive, "--jobs", 1)
    assert asked == [7]


@pytest.mark.parametrize("jobs", ["0", "-1", "x"])
def test_a_number_of_processes_that_is_none(archive: list[Path], jobs: str, run: Run) -> None:
    code, out, err = run(archive[0], "--jobs", jobs)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_process_that_ends_by_itself_is_told(archive: list[Path]) -> None:
    task = Dying(profile=Profile.MCP)
    (judged,) = spread.on_cores(archive[:1], task, 2)
    assert str(judged.problem) == f"{archive[0]}: the process that was to judge it has ended by itself"


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Path]:
    """A recording that is longer than a test: a pipe into which something goes on writing."""
    pipe = tmp_path / "endless.jsonl"
    os.mkfifo(pipe)
    code = (
        "import sys\n"
        "with open(sys.argv[1], 'w') as file:\n"
        f'    file.write(\'{{"schema": "{SCHEMA}"}}\\n\')\n'
        "    try:\n"
        "        for n in range(1, 10**9):\n"
        '            file.write(\'{"type": "request", "at": %d, "connection": %d, "method": "GET"}\\n\' % (n, n))\n'
        "    except BrokenPipeError:\n"
        "        sys.exit(0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(pipe)], stderr=subprocess.DEVNULL)
    yield pipe
    process.kill()
    process.wait(BOUND)


def test_an_interruption_keeps_what_was_found_and_leaves_no_process(
    archive: list[Path], writer: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "reattach.cli", "check", str(archive[0]), str(writer), str(archive[6])]
    command += ["--jobs", "2", "--format", "json", "--output", str(report)]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started = psutil.Process(process.pid)
    deadline = time.monotonic() + BOUND
    while not _reads(started, writer):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    children = started.children(recursive=True)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=BOUND)
    assert (process.returncode, err) == (1, ""), out
    told = json.loads(report.read_text())
    assert {each["clause"] for each in told["findings"]} >= {"EVT-1"}
    assert f"interrupted while {writer} was being read" in told["run"]["stopped"]
    assert any(f"{writer}: Interrupted: " in note for note in told["notes"])
    assert psutil.wait_procs(children, timeout=BOUND)[1] == []


def _reads(process: psutil.Process, pipe: Path) -> bool:
    """Whether the process or one that it started has the pipe open."""
    with contextlib.suppress(psutil.NoSuchProcess, OSError):
        return any(
            os.path.realpath(opened) == str(pipe.resolve())
            for one in (process, *process.children(recursive=True))
            for opened in Path(f"/proc/{one.pid}/fd").iterdir()
        )
    return False


# On a cluster


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a cluster on this machine: a scheduler, and a worker in a process of its own."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("default")  # Dask's own
def test_a_cluster_says_what_one_process_says(archive: list[Path], scheduler: str, run: Run) -> None:
    alone = run("--jobs", 1, *archive, "--format", "json")
    assert run("--dask", scheduler, *archive, "--format", "json") == alone


@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_does_not_answer_is_one_line(
    archive: list[Path], monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    pytest.importorskip("distributed", reason="needs the extra dask")
    monkeypatch.setattr("reattach.io.cluster.CONNECT_S", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense", "tcp://127.0.0.1:notaport"):
        code, out, err = run("--dask", address, archive[0])
        assert (code, out, err.count("\n")) == (2, "", 1), address
        assert err.startswith(f"reattach: --dask {address}: no scheduler answers: ")


def test_no_address_is_one_line(archive: list[Path], run: Run) -> None:
    assert run("--dask", " ", archive[0]) == (2, "", "reattach: --dask  : the address of a scheduler is needed\n")


def test_without_the_extra_it_says_what_to_install(
    archive: list[Path], monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, out, err = run("--dask", "tcp://127.0.0.1:9", archive[0])
    assert (code, out) == (2, "")
    assert err == "reattach: --dask tcp://127.0.0.1:9: Dask is not installed: pip install 'reattach[dask]'\n"


@pytest.mark.filterwarnings("default")
def test_a_worker_that_fails_is_one_line(
    archive: list[Path], scheduler: str, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr("reattach.commands.check.Task", Failing)
    code, out, err = run("--dask", scheduler, archive[0])
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"reattach: --dask {scheduler}: a worker failed: ")


def test_a_judged_recording_goes_to_another_process_and_back(archive: list[Path]) -> None:
    judged = spread.Task(profile=Profile.MCP)(archive[0])
    assert evolve(judged) == judged
