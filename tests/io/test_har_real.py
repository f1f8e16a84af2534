"""HAR files that a real browser and a real proxy have made of the reference server and of a mutant of it, judged.

`make test-real` installs both. Where one of them is not, its test is skipped, except in continuous integration.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.browser.chromium import chromium, needs_chromium
from tests.commands.test_probe import environment
from tests.io.hars import INITIALIZE

from reattach.cli import main
from reattach.live.target import free_port

ROOT = Path(__file__).parents[2]
PAGE = Path(__file__).with_name("page.js")
MITMDUMP = ROOT / ".venvs" / "mitmproxy" / "bin" / "mitmdump"
IN_CI = bool(os.environ.get("CI"))
BOUND = 60
MUTANT = "inclusive-cursor"

proxy_only = pytest.mark.skipif(not IN_CI and not MITMDUMP.is_file(), reason="needs mitmproxy: make test-real")
pytestmark = pytest.mark.real


@contextmanager
def server(*options: str) -> Iterator[str]:
    """The reference server, or a mutant of it, at a URL."""
    command = [sys.executable, "-m", "reattach.cli", "serve", *options]
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None
        told = (re.search(r"http://\S+", line) for line in process.stdout)
        yield next(found[0] for found in told if found is not None)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=BOUND)


def browse(url: str, file: Path) -> None:
    """What a page does with the server, recorded by the browser."""
    with chromium() as browser:
        context = browser.new_context(record_har_path=file)
        page = context.new_page()
        page.goto(url)
        assert page.evaluate(PAGE.read_text(encoding="utf-8"), url) == 404
        context.close()


@contextmanager
def proxy(url: str, file: Path, folder: Path) -> Iterator[str]:
    """mitmproxy before the server; it writes the file when it ends."""
    target = httpx.URL(url)
    port = free_port()
    options = {"hardump": file, "confdir": folder}
    command = [str(MITMDUMP), "--quiet", "--listen-host", "127.0.0.1", "--listen-port", str(port)]
    command += ["--mode", f"reverse:http://127.0.0.1:{target.port}"]
    command += [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + BOUND
        while not _answers(port):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        yield str(target.copy_with(port=port))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(BOUND)


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def use(url: str) -> None:
    """A session with a call read to its end, resumed from the middle, and deleted."""
    accept = {"Accept": "application/json, text/event-stream"}
    call = {"name": "reattach_emit", "arguments": {"count": 6, "interval_ms": 5, "label": "whole"}}
    with httpx.Client(timeout=BOUND, headers=accept) as client:
        session = client.post(url, json=INITIALIZE).headers["mcp-session-id"]
        client.headers.update({"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"})
        client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        sent = client.post(url, json={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}).text
        ids = re.findall(r"^id: ?(.*)$", sent, re.MULTILINE)
        client.get(url, headers={"Accept": "text/event-stream", "Last-Event-ID": ids[3]})
        client.delete(url)
        assert client.post(url, json={"jsonrpc": "2.0", "id": 3, "method": "ping"}).status_code == 404


def check(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = main(["check", *map(str, arguments), "--format", "json"])
    out, err = capsys.readouterr()
    assert err == ""
    report: dict[str, Any] = json.loads(out)
    return code, report


def held(report: dict[str, Any]) -> set[str]:
    return {clause["id"] for clause in report["clauses"] if clause["outcome"] == "held"}


EXPECTED = {"SES-1", "SES-2", "SES-4", "SES-6", "EVT-1", "EVT-3", "EVT-4", "DEL-1", "DEL-5", "DEL-6", "DEL-7", "DEL-9"}


def is_right(code: int, report: dict[str, Any]) -> None:
    assert (code, report["verdict"], report["findings"]) == (0, "conforms", [])
    assert held(report) >= EXPECTED


def is_found(code: int, report: dict[str, Any], file: Path) -> None:
    assert (code, report["verdict"]) == (1, "violates")
    finding = next(each for each in report["findings"] if each["clause"] == "DEL-1")
    assert (finding["fault"], finding["kind"]) == ("duplicate-delivery", "breaks its own contract")
    entries = json.loads(file.read_text(encoding="utf-8"))["log"]["entries"]
    number = int(re.match(r"entry (\d+): ", finding["summary"])[1])  # type: ignore[index]
    assert "Last-Event-ID" in {pair["name"] for pair in entries[number - 1]["request"]["headers"]}


@needs_chromium
def test_what_a_browser_recorded_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "browser.har"
    with server() as url:
        browse(url, file)
    code, report = check(capsys, file)
    is_right(code, report)
    assert any(note.startswith("Cut, or not known to be whole: entry ") for note in report["notes"])
    with server("--mutant", MUTANT) as url:
        browse(url, file)
    is_found(*check(capsys, file), file)


@proxy_only
def test_what_a_proxy_recorded_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "proxy.har"
    with server() as url, proxy(url, file, tmp_path) as through:
        use(through)
    is_right(*check(capsys, file))
    with server("--mutant", MUTANT) as url, proxy(url, file, tmp_path) as through:
        use(through)
    is_found(*check(capsys, file), file)
