"""The reference server as a process: it says where it is, and ends at once when it is told to."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from tests.live.raw import BOUND, Answer, Client, initialize_params, numbers

from reattach.live.serve import ServeError, ServeOptions, serving
from reattach.live.wire import ConnectionLostError, parse_url

COMMAND = [sys.executable, "-m", "reattach.cli", "serve", "--policy", "short"]


@contextlib.asynccontextmanager
async def process(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The server in a process of its own, and its URL."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started = await asyncio.create_subprocess_exec(
        *COMMAND, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    try:
        assert started.stdout is not None
        async with asyncio.timeout(BOUND):
            line = (await started.stdout.readline()).decode()
        yield started, line.strip().rpartition(" ")[2]
    finally:
        with contextlib.suppress(ProcessLookupError):
            started.kill()
        await started.communicate()


async def is_ended(answer: Answer) -> bool:
    with contextlib.suppress(ConnectionLostError):
        await answer.rest()
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_with_open_views_and_running_calls(number: signal.Signals) -> None:
    async def run() -> None:
        async with process() as (started, url):
            client = Client(parse_url(url))
            answer = await client.request("initialize", initialize_params("2025-11-25"))
            client = Client(client.endpoint, answer.head.get("mcp-session-id"))
            listener = await client.get()
            call = await client.call("reattach_emit", count=2, interval_ms=60_000)
            blocked = await client.call("reattach_emit", 8, count=50, size=50_000, receive_buffer=4_096)
            for each in (listener, call, blocked):
                assert numbers([await each.event()]) == ["bare"]
            started.send_signal(number)
            async with asyncio.timeout(BOUND):
                assert await started.wait() == 0
                for each in (listener, call, blocked):
                    assert await is_ended(each)
            assert started.stdout is not None
            assert started.stderr is not None
            assert (await started.stdout.read(), await started.stderr.read()) == (b"", b"")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--allow-remote"),
        (["--host", "no.such.host.invalid", "--allow-remote"], "cannot listen"),
    ],
)
def test_what_cannot_be_served_is_one_line(arguments: list[str], said: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=30, env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_an_error() -> None:
    async def run(port: int) -> None:
        with pytest.raises(ServeError, match=f"port {port}"):
            async with serving(ServeOptions(port=port)):
                pass

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        asyncio.run(run(taken.getsockname()[1]))


def test_it_listens_on_ipv6_too() -> None:
    async def run() -> None:
        async with serving(ServeOptions(host="::1")) as running:
            assert running.url == f"http://[::1]:{running.port}/mcp"
            answer = await Client(parse_url(running.url)).request("initialize", initialize_params("2025-11-25"))
            assert answer.status == 200

    if not socket.has_ipv6:
        pytest.skip(reason="no IPv6 here")
    asyncio.run(run())
