"""Every real server builds, starts, and soon shows nothing of level MUST but what its baseline expects."""

import asyncio
from pathlib import Path

import pytest
from tests.matrix.manifest import Server, build, servers
from tests.matrix.runs import Planned, Purpose, newest_with_resumption, run
from tests.matrix.table import FAILING

from reattach.clauses import load_registry
from reattach.oracle.verdict import Outcome

SECONDS = 15
BUILD_AND_PROBE_SECONDS = 1500


@pytest.mark.real
@pytest.mark.timeout(BUILD_AND_PROBE_SECONDS)
@pytest.mark.parametrize("server", servers(), ids=lambda server: server.name)
def test_a_real_server_shows_what_is_known_of_it(server: Server, tmp_path: Path) -> None:
    build(server)
    planned = Planned(server=server, purpose=Purpose.SHORT, revision=newest_with_resumption(server), seconds=SECONDS)
    ran = asyncio.run(run(planned, 1, tmp_path, load_registry()))
    assert ran.stopped == ""
    assert Outcome.HELD in ran.outcomes.values()
    new = [f"{each.clause} {each.fault}: {each.summary}" for each in ran.new if each.kind in FAILING]
    assert new == []
