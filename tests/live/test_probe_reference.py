"""The probe against the reference server: everything is held, and everything that the wire can show is observed."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from reattach.clauses import load_registry
from reattach.io.policy_file import read_declaration
from reattach.live.probe import ProbeOptions, ProbeResult, probe
from reattach.oracle.verdict import Outcome, Profile

BOUND = 200
NOT_ON_THE_WIRE = {"MOD-2", "MOD-3", "MOD-4", "WIN-3"}


def reference(seed: int) -> ProbeOptions:
    command = [sys.executable, "-m", "reattach.cli", "serve", "--policy", "short", "--token", "a=A", "--token", "b=B"]
    return ProbeOptions(
        command=f"{shlex.join(command)} --port {{port}}",
        profile=Profile.REATTACH,
        declaration=read_declaration("short"),
        headers=(("Authorization", "Bearer A"),),
        second_principal=(("Authorization", "Bearer B"),),
        restart=True,
        seed=seed,
    )


def run(options: ProbeOptions) -> ProbeResult:
    return asyncio.run(asyncio.wait_for(probe(options), BOUND))


@pytest.mark.slow
def test_the_reference_server_holds_every_clause_that_the_wire_can_show() -> None:
    result = run(reference(seed=1))
    assert [(each.clause, each.fault.value, each.summary, each.experiment) for each in result.report.findings] == []
    assert result.stopped == ""
    about_servers = {clause.id for clause in load_registry().values() if clause.about.value != "client"}
    outcomes = {each.clause: each.outcome for each in result.report.clauses}
    unseen = {clause for clause in about_servers if outcomes.get(clause, Outcome.NOT_OBSERVED) is Outcome.NOT_OBSERVED}
    assert unseen == NOT_ON_THE_WIRE


SDK_PYTHON = os.environ.get("REATTACH_SDK_PYTHON", "")
SDK_FAULTS = {"cross-session-leak", "silent-gap", "bad-cursor-silent", "stream-not-ended"}


@pytest.mark.real
@pytest.mark.skipif(not Path(SDK_PYTHON).is_file(), reason="REATTACH_SDK_PYTHON names no interpreter with mcp")
def test_the_official_python_sdk_shows_the_same_faults_with_any_seed() -> None:
    demo_server = Path(probe.__code__.co_filename).with_name("demo_server.py")
    command = f"{shlex.quote(SDK_PYTHON)} {shlex.quote(str(demo_server))} --port {{port}}"
    found = []
    for seed in (1, 2):
        result = run(ProbeOptions(command=command, profile=Profile.REATTACH, seed=seed))
        assert result.stopped == ""
        found.append({each.fault.value for each in result.report.findings})
    assert found[0] >= SDK_FAULTS
    assert found[1] == found[0]
