"""The official clients work against the reference server, and lose nothing to a cut: newest Python and TypeScript SDKs.

A cut is made by a proxy between the two, in the middle of a call and in the middle of a push. Each message must reach
the client's handler once, in order, and the call must return its result.
"""

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from tests.clients.cutting import Cut, cutting
from tests.clients.process import run_to_end

from reattach.live.serve import ServeOptions, serving
from reattach.live.server.settings import Settings
from reattach.machine.policy import Policy

BOUND = 45
POLICY = evolve(Policy(), retry_ms=200)
"""A window that holds what is emitted while a client waits to reconnect, and a short wait."""
HERE = Path(__file__).parent
TYPESCRIPT = HERE / "typescript"
IN_A_CALL, IN_A_PUSH = b'"label":"emit","n":7,', b'"label":"push","n":4,'


def command(client: str) -> list[str]:
    """What runs an official client; skipped where its SDK is not installed (`make test-real` installs it)."""
    sdk, kind = client.split("-")
    if sdk == "python":
        python = os.environ.get("REATTACH_SDK_PYTHON", "")
        if not python or not Path(python).exists():
            pytest.skip(reason="REATTACH_SDK_PYTHON names no interpreter that has the SDK")
        return [python, str(HERE / "python_sdk" / "exercise.py"), kind]
    node = shutil.which("node")
    if node is None or not (TYPESCRIPT / "node_modules").exists():
        pytest.skip(reason="Node.js or the TypeScript clients are not installed")
    return [node, str(TYPESCRIPT / "exercise.mjs"), kind]


async def run_client(client: str, *cuts: Cut) -> dict[str, Any]:
    """Run a client against a fresh server through the cutting proxy; what it saw."""
    async with (
        serving(ServeOptions(settings=Settings(policy=POLICY))) as running,
        cutting(running.port, *cuts) as proxy,
    ):
        code, output, errors = await run_to_end(*command(client), f"http://127.0.0.1:{proxy.port}/mcp", bound=BOUND)
        assert code == 0, errors.decode()
        assert proxy.made == list(cuts), errors.decode()
        assert running.endpoint.host.session_names == ()  # each client says goodbye with DELETE
        seen: dict[str, Any] = json.loads(output)
        return seen


CUTS = {
    "uncut": [],
    "cut": [Cut(IN_A_CALL), Cut(IN_A_PUSH)],
    "half-cut": [Cut(IN_A_CALL, server_sees_it=False), Cut(IN_A_PUSH, server_sees_it=False)],
}


@pytest.mark.real
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("client", ["python-sessions", "typescript-v1", "typescript-v2"])
def test_an_official_client_loses_nothing(client: str, cuts: list[Cut]) -> None:
    seen = asyncio.run(run_client(client, *cuts))
    assert seen["revision"] == "2025-11-25"
    assert seen["tools"] == ["reattach_emit", "reattach_push", "test_reconnection"]
    assert seen["emitted"] == list(range(1, 31))
    assert seen["pushed"] == list(range(1, 11))
    assert seen["results"] == ["sent 30 messages", "sent 10 messages"]


@pytest.mark.real
@pytest.mark.parametrize("client", ["typescript-v1", "typescript-v2"])
def test_an_official_client_loses_nothing_to_cut_after_cut(client: str) -> None:
    # The Python client (2.3.0) is not here: after the second cut of one call it resumes from where it resumed before,
    # so that what came between is applied twice, and after the third it gives up.
    cuts = [Cut(b'"label":"emit","n":%d,' % number) for number in (3, 12, 20, 28)]
    seen = asyncio.run(run_client(client, *cuts))
    assert seen["emitted"] == list(range(1, 31))
    assert seen["results"][0] == "sent 30 messages"


@pytest.mark.real
@pytest.mark.parametrize("client", ["python-stateless", "typescript-stateless"])
def test_an_official_client_of_the_newer_era_is_served(client: str) -> None:
    seen = asyncio.run(run_client(client))
    assert seen["tools"] == ["reattach_emit"]
    assert seen["emitted"] == list(range(1, 31))
    assert seen["results"] == ["sent 30 messages"]
