"""Every real client builds, starts, and shows two scripts nothing of level MUST but what its baseline expects."""

import asyncio
from pathlib import Path

import pytest
from tests.matrix.clients.runs import run
from tests.matrix.manifest import Client, build, clients
from tests.matrix.table import FAILING

from reattach.clauses import load_registry
from reattach.oracle.verdict import Outcome

SCRIPTS = ("undisturbed", "cut-after-two")
BUILD_AND_RUN_SECONDS = 1500


@pytest.mark.real
@pytest.mark.timeout(BUILD_AND_RUN_SECONDS)
@pytest.mark.parametrize("client", clients(), ids=lambda client: client.name)
def test_a_real_client_shows_what_is_known_of_it(client: Client, tmp_path: Path) -> None:
    build(client)
    ran = asyncio.run(run(client, 1, tmp_path, load_registry(), SCRIPTS))
    assert ran.stopped == ""
    assert Outcome.HELD in ran.outcomes.values()
    assert ran.scripts[0].ended == "answered"
    new = [f"{each.clause} {each.fault}: {each.summary}" for each in ran.findings if each.expected is None]
    assert [each for each in ran.findings if each.kind in FAILING and each.expected is None] == [], new
