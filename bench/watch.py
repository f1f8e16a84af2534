"""What ``reattach watch`` adds: the latency of each event and the throughput of a stream, beside a direct connection.

A sender in a process of its own stamps each event with the time at which it sends it; the clock is the system's, which
all processes share. The same client reads from it directly, through the proxy, and through one that records, in turns,
so that what else the machine does falls on all of them alike.
"""

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from attrs import frozen

from reattach.live.sse import Decoder, Event
from reattach.live.wire import exchange, parse_url

PAUSE_S = 0.004
TEXT = "x" * 160
"""What a log notification says."""
BOUND_S = 120


@frozen
class Way:
    """What was measured of one way from the sender to the client."""

    name: str
    median_us: float
    """Microseconds from an event's sending to its being read."""
    p99_us: float
    events_per_s: float
    """Of the fastest round."""


@frozen(kw_only=True)
class Load:
    """How much is sent."""

    paced: int = 300
    """Events of a round about latency, each after a pause."""
    rounds: int = 6
    flood: int = 20_000
    """Events of a round about throughput, sent as fast as they are taken."""
    floods: int = 3


def measure_watch(load: Load = Load()) -> tuple[Way, ...]:
    """Direct, through the proxy, and through one that records."""
    return asyncio.run(_measure(load))


def watch_table(ways: tuple[Way, ...]) -> str:
    """The figures as a table, with what the proxy adds."""
    direct = ways[0]
    rows = [
        "| way | latency of an event, median | 99 % below | added, median | events/s |",
        "|---|---:|---:|---:|---:|",
    ]
    for way in ways:
        added = "" if way is direct else f"{way.median_us - direct.median_us:.0f} µs"
        figures = f"{way.median_us:.0f} µs | {way.p99_us:.0f} µs | {added} | {way.events_per_s:,.0f}"
        rows.append(f"| {way.name} | {figures} |")
    return "\n".join(rows)


async def _measure(load: Load) -> tuple[Way, ...]:
    with tempfile.TemporaryDirectory() as folder, _sender() as port:
        target = f"http://127.0.0.1:{port}/mcp"
        record = str(Path(folder) / "watched.jsonl")
        async with _watch(target) as through, _watch(target, "--record", record) as recording:
            urls = {"direct": target, "watch": through, "watch --record": recording}
            delays: dict[str, list[int]] = {name: [] for name in urls}
            speeds: dict[str, float] = dict.fromkeys(urls, 0.0)
            for _ in range(load.rounds):
                for name, url in urls.items():
                    delays[name] += (await _read(f"{url}?paced={load.paced}"))[1]
            for _ in range(load.floods):
                for name, url in urls.items():
                    elapsed, _seen = await _read(f"{url}?flood={load.flood}")
                    speeds[name] = max(speeds[name], load.flood / elapsed)
    return tuple(
        Way(name, _quantile(delays[name], 0.5) / 1_000, _quantile(delays[name], 0.99) / 1_000, speeds[name])
        for name in urls
    )


def _quantile(values: list[int], share: float) -> float:
    return float(sorted(values)[min(int(len(values) * share), len(values) - 1)])


async def _read(url: str) -> tuple[float, list[int]]:
    """Read a stream to its end: seconds, and each event's delay in nanoseconds."""
    endpoint = parse_url(url)
    async with asyncio.timeout(BOUND_S):
        sent = await exchange(endpoint, "GET", [("Accept", "text/event-stream"), ("Mcp-Session-Id", "bench" * 6)])
        await sent.head()
        decoder, delays, begun = Decoder(), [], time.monotonic_ns()
        while (piece := await sent.read()) is not None:
            now = time.monotonic_ns()
            for item in decoder.feed(piece):
                if isinstance(item, Event) and item.data:
                    delays.append(now - json.loads(item.data)["params"]["data"]["sent"])
        return (time.monotonic_ns() - begun) / 1e9, delays


@contextlib.asynccontextmanager
async def _watch(target: str, *options: str) -> AsyncIterator[str]:
    """``reattach watch`` as a process; its URL."""
    command = [sys.executable, "-m", "reattach.cli", "watch", "--target", target, *options]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(BOUND_S):
            line = (await process.stderr.readline()).decode()
        yield line.split()[2]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


@contextlib.contextmanager
def _sender() -> Iterator[int]:
    """The sender as a process; its port."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.watch", "--send"], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate()


def _write(table: str) -> None:
    """Put the table into docs/watch.md, with the load of the machine."""
    page = Path(__file__).parents[1] / "docs" / "watch.md"
    remark = f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the end."
    written = f"<!-- cost: written by `make bench` -->\n\n{table}\n\n{remark}\n\n<!-- /cost -->"
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"<!-- cost:.*<!-- /cost -->", lambda _: written, text, flags=re.DOTALL), encoding="utf-8")


def _send() -> None:
    """Answer one connection after the other with a stream of stamped events."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65_536)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            kind, _, count = head.split(b" ")[1].partition(b"?")[2].partition(b"=")
            for number in range(1, int(count) + 1):
                if kind == b"paced":
                    time.sleep(PAUSE_S)
                data = {"label": "bench", "n": number, "text": TEXT, "sent": time.monotonic_ns()}
                message = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": data}}
                event = f"id: bench.{number}\ndata: {json.dumps(message)}\n\n".encode()
                connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
            connection.sendall(b"0\r\n\r\n")
            connection.recv(1)


if __name__ == "__main__":
    if sys.argv[1:] == ["--send"]:
        _send()
    else:
        _write(watch_table(measure_watch()))
