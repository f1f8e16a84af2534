"""Starting a server from a command line, and leaving nothing behind."""

import asyncio
import shlex
import sys
from pathlib import Path

import psutil
import pytest

from reattach.live.target import BadCommandError, Command, DidNotStartError, DiedError

BOUND = 30

SERVER = """
import subprocess, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(405)
        self.end_headers()
    def log_message(self, *args):
        pass

{extra}
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
CHILD = f"""
child = subprocess.Popen({SLEEPER!r})
stray = subprocess.Popen({SLEEPER!r}, start_new_session=True)
with open(sys.argv[2], "w") as file:
    file.write(f"{{child.pid}} {{stray.pid}}")
"""
TIDY = """
import os, signal
def tidy(*_):
    open(sys.argv[2], "w").write("everything is in order")
    os._exit(0)
signal.signal(signal.SIGTERM, tidy)
"""
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
"""


def command(tmp_path: Path, extra: str = "") -> tuple[Command, Path]:
    script, pids = tmp_path / "server.py", tmp_path / "pids"
    script.write_text(SERVER.replace("{extra}", extra))
    return Command(shlex.join([sys.executable, str(script), "{port}", str(pids)])), pids


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("extra", ["", CHILD, STUBBORN + CHILD], ids=["alone", "children", "ignores-sigterm"])
def test_what_was_started_is_ended(tmp_path: Path, extra: str) -> None:
    async def run() -> None:
        server, pids = command(tmp_path, extra)
        async with asyncio.timeout(BOUND):
            await server.start()
            pid = server.pid
            assert pid is not None
            started = [pid, *map(int, pids.read_text().split())] if extra else [pid]
            assert all(lives(one) for one in started)
            assert server.endpoint.url == f"http://127.0.0.1:{server.port}/mcp"
            await server.stop()
            assert not any(lives(one) for one in started)
            await server.stop()

    asyncio.run(run())


@pytest.mark.parametrize("asked", [True, False], ids=["stop", "kill"])
def test_what_is_killed_puts_nothing_in_order(tmp_path: Path, asked: bool) -> None:
    async def run() -> None:
        server, written = command(tmp_path, TIDY)
        async with asyncio.timeout(BOUND):
            await server.start()
            pid = server.pid
            assert pid is not None
            await (server.stop() if asked else server.kill())
            assert not lives(pid)
            assert written.exists() == asked

    asyncio.run(run())


def test_a_restart_keeps_the_port(tmp_path: Path) -> None:
    async def run() -> None:
        server, _ = command(tmp_path)
        async with asyncio.timeout(BOUND):
            await server.start()
            before = server.port, server.pid
            await server.stop()
            await server.start()
            assert server.port == before[0]
            assert server.pid not in (None, before[1])
            await server.stop()

    asyncio.run(run())


def test_a_cancelled_start_leaves_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        pids = tmp_path / "pids"
        code = "import os, sys, time; open(sys.argv[2], 'w').write(str(os.getpid())); time.sleep(600)"
        server = Command(shlex.join([sys.executable, "-c", code, "{port}", str(pids)]))
        async with asyncio.timeout(BOUND):
            starting = asyncio.create_task(server.start())
            while not pids.exists() or not pids.read_text():
                await asyncio.sleep(0.02)
            starting.cancel()
            await asyncio.wait({starting})
            assert starting.cancelled()
        assert not lives(int(pids.read_text()))

    asyncio.run(run())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("server --port 80", "{port}"),
        ("server '{port}", "words"),
        ("/nonexistent/reattach-server {port}", "cannot run"),
    ],
)
def test_a_command_that_cannot_be_used(line: str, says: str) -> None:
    with pytest.raises(BadCommandError, match=says):
        asyncio.run(Command(line).start())


def test_a_command_that_ends_at_once_shows_its_last_words() -> None:
    line = shlex.join([sys.executable, "-c", "import sys; sys.exit('no such option: --prot')", "{port}"])
    with pytest.raises(DidNotStartError, match="exit status 1; last on stderr: no such option: --prot"):
        asyncio.run(Command(line).start())


def test_a_command_that_never_answers_is_given_up() -> None:
    server = Command(shlex.join([*SLEEPER, "{port}"]), start_ms=300)
    with pytest.raises(DidNotStartError, match="within 300 ms"):
        asyncio.run(server.start())
    assert server.pid is None


def test_a_server_that_dies_is_noticed(tmp_path: Path) -> None:
    async def run() -> None:
        server, _ = command(tmp_path)
        async with asyncio.timeout(BOUND):
            await server.start()
            server.check()
            assert server.pid is not None
            psutil.Process(server.pid).kill()
            while server.pid is not None:
                await asyncio.sleep(0.02)
            with pytest.raises(DiedError, match="signal 9"):
                server.check()
            await server.stop()

    asyncio.run(run())
