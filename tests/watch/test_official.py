"""Official clients and official servers, with the proxy between them and nothing else said to it: what it finds."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.clients.process import run_to_end
from tests.watch.ground import watcher

from reattach.live.mutants.conformance import BOUND_S, Checks, find_suite, run_suite
from reattach.live.target import Command
from reattach.live.watch.plan import Plan
from reattach.live.watch.proxy import Proxy, ProxyOptions, proxying
from reattach.live.watch.sentence import read_sentence
from reattach.oracle.observation import Observation
from reattach.oracle.verdict import Finding

pytestmark = pytest.mark.real
ROOT = Path(__file__).parents[2]
BOUND = 60
TRIES = 6
"""The hand-over is a race; by passing traffic it shows in most trials."""
SERVERS = {
    "python-2": ROOT / "model" / "reattach" / "live" / "demo_server.py",
    "python-1": ROOT / "tests" / "servers" / "python-1" / "server.py",
}


def python_of(sdk: str) -> str:
    """The interpreter that has an SDK; skipped where there is none."""
    named = os.environ.get("REATTACH_SDK_PYTHON", "") if sdk == "python-2" else ""
    built = ROOT / ".build" / "servers" / sdk / "bin" / "python"
    python = named or str(built)
    if not python or not Path(python).exists():
        pytest.skip(reason=f"the SDK of {sdk} is not installed (make test-real, make matrix)")
    return python


@asynccontextmanager
async def between(sdk: str, *faults: str) -> AsyncIterator[tuple[Proxy, list[Finding]]]:
    """The proxy before a server on an SDK."""
    server = Command(f"{python_of(sdk)} {SERVERS[sdk]} --port {{port}} --store unbounded")
    notes: list[Observation] = []
    findings: list[Finding] = []
    watching = watcher(notes, findings, complete=False)
    await server.start()
    try:
        plan = Plan(tuple(read_sentence(each) for each in faults))
        async with proxying(ProxyOptions(endpoint=server.endpoint), watching, plan) as proxy:
            yield proxy, findings
        if watching.crash is not None:
            raise watching.crash
    finally:
        await server.stop()


async def run_client(sdk: str, url: str, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run an official client program; what it told."""
    clients = ROOT / "tests" / "clients"
    env = {**os.environ, "PYTHONPATH": str(clients / "contract"), "REATTACH_CALLS": json.dumps(calls)}
    _, output, _ = await run_to_end(python_of(sdk), str(clients / sdk / "client.py"), url, bound=BOUND, env=env)
    return [json.loads(line) for line in output.splitlines()]


def emit(label: str, count: int, interval_ms: int) -> dict[str, Any]:
    arguments = {"count": count, "interval_ms": interval_ms, "label": label}
    return {"label": label, "tool": "reattach_emit", "arguments": arguments}


@pytest.mark.parametrize("sdk", ["python-2", "python-1"])
def test_the_leak_between_sessions_is_found_from_passing_traffic(sdk: str) -> None:
    """Two clients count their requests alike, and the server keys what it stored by that; one is cut, and resumes."""

    async def work() -> None:
        async with between(sdk, "cut a call after 5 events") as (proxy, findings):
            told = await asyncio.gather(
                run_client(sdk, proxy.url, [emit("one", 60, 50)]),
                run_client(sdk, proxy.url, [emit("two", 60, 50)]),
            )
            assert proxy.plan.acted == [1]
            found = [each for each in findings if each.clause == "SES-" + "5"]
            assert found, findings
            assert {each.fault.value for each in found} == {"cross-session-leak"}
            labels = [
                {line["applied"]["data"]["label"] for line in lines if "applied" in line and "data" in line["applied"]}
                for lines in told
            ]
            assert {"one", "two"} in labels  # the client was really given what is another's

    asyncio.run(work())


@pytest.mark.parametrize("sdk", ["python-2", "python-1"])
def test_the_loss_at_the_hand_over_is_found_from_passing_traffic(sdk: str) -> None:
    async def work() -> None:
        async with between(sdk, "cut every call after 5 events") as (proxy, findings):
            found: list[Finding] = []
            for number in range(TRIES):
                await run_client(sdk, proxy.url, [emit(f"call-{number}", 900, 2)])
                found = [each for each in findings if each.clause == "DEL-" + "2"]
                if found:
                    break
            assert found, (proxy.plan.acted, findings)
            assert {each.fault.value for each in found} == {"silent-gap"}
            assert "call-" in found[0].summary

    asyncio.run(work())


@asynccontextmanager
async def serving_python_2() -> AsyncIterator[Command]:
    server = Command(f"{python_of('python-2')} {SERVERS['python-2']} --port {{port}}")
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def test_the_official_conformance_suite_says_the_same() -> None:
    if shutil.which("node") is None:
        pytest.skip(reason="Node.js is not installed")
    suite = find_suite(ROOT / "tests" / "conformance")
    if suite is None:
        pytest.skip(reason="the official conformance suite is not installed (make test-real)")

    async def work() -> None:
        async with serving_python_2() as server:
            direct = await run_suite(suite, server.endpoint.url)
        async with serving_python_2() as server:
            notes: list[Observation] = []
            watching = watcher(notes, [], complete=False)
            async with proxying(ProxyOptions(endpoint=server.endpoint), watching, Plan()) as proxy:
                through = await run_suite(suite, proxy.url)
            assert watching.crash is None
        assert isinstance(direct, Checks)
        assert direct.passed > 0
        assert through == direct
        assert len(notes) > 20

    assert BOUND_S < BOUND
    asyncio.run(work())
