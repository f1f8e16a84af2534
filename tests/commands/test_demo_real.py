"""The demo as it is: the official Python SDK's own server, and the reference server, over real HTTP."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reattach.clauses import About, load_registry
from reattach.commands.running import Probed, run_probe
from reattach.live.demo import reference_options, sdk_options
from reattach.oracle.verdict import Outcome

ROOT = Path(__file__).parents[2]
SEED = 1
AT_LEAST = {"cross-session-leak", "silent-gap", "bad-cursor-silent", "stream-not-ended"}
NEVER_ON_THE_WIRE = {"MOD-2", "MOD-3", "MOD-4", "WIN-3"}


def sdk_python() -> str:
    python = os.environ.get("REATTACH_SDK_PYTHON", "")
    if not Path(python).is_file():
        pytest.skip(reason="REATTACH_SDK_PYTHON names no interpreter that has the SDK (make test-real sets it)")
    return python


def faults(probed: Probed) -> set[str]:
    return {finding.fault.value for finding in probed.report.findings}


@pytest.mark.real
def test_the_faults_of_the_official_python_sdk_are_found() -> None:
    probed = run_probe(sdk_options(sdk_python(), SEED, None))
    assert probed.run.stopped == ""
    assert faults(probed) >= AT_LEAST
    # What it does when resumed while the old connection is open: the new view gets nothing that comes later.
    assert faults(probed) & {"split-view", "takeover-refused"}


@pytest.mark.real
def test_the_reference_server_violates_nothing_and_all_that_can_be_seen_is_seen() -> None:
    registry = load_registry()
    probed = run_probe(reference_options(SEED, None))
    assert probed.run.stopped == ""
    assert [(finding.clause, finding.fault.value, finding.summary) for finding in probed.report.findings] == []
    unseen = {
        result.clause
        for result in probed.report.clauses
        if result.outcome is Outcome.NOT_OBSERVED and registry[result.clause].about is not About.CLIENT
    }
    assert unseen == NEVER_ON_THE_WIRE


@pytest.mark.real
def test_a_demo_with_little_time_shows_what_it_has(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "model"), "REATTACH_SDK_PYTHON": sdk_python()}
    command = [sys.executable, "-m", "reattach.cli", "demo", "--budget", "1", "--seed", "3"]
    shown = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in shown.stdout + shown.stderr
    assert "official Python SDK" in shown.stdout
    assert "to repeat: reattach demo --seed 3 --budget 1" in shown.stdout
