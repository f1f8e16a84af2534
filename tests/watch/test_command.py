"""``reattach watch`` as a command: what it says and when, its exit codes, and whom it lets in."""

import asyncio
import json
import os
import shlex
import signal
import ssl
from pathlib import Path

import pytest
import trustme
from tests.live.scripted import Received, serve
from tests.live.scripted import whole as answer
from tests.watch.ground import (
    BOUND,
    CALL,
    EOF,
    INITIALIZE,
    LAST,
    RESET,
    STREAM,
    chunk,
    event,
    get,
    post,
    run,
    standing,
    whole,
)
from tests.watch.pages import PAGE, faults_table, rewritten
from tests.watch.test_recording import start

from reattach.cli import main
from reattach.io.trace import read_trace
from reattach.live.serve import ServeError
from reattach.live.watch.fault import TABLE
from reattach.live.watch.proxy import ProxyOptions, proxying
from reattach.live.wire import parse_url, tls_context
from reattach.oracle.observation import Frame

TARGET = "http://127.0.0.1:9/mcp"
BAD: dict[str, tuple[list[str], str]] = {
    "no target": ([], "Missing option '--target'"),
    "no URL": (["--target", "example"], "an http or https URL is needed"),
    "no port": (["--target", TARGET, "--listen", "here"], "[HOST:]PORT is needed"),
    "a port too high": (["--target", TARGET, "--listen", "127.0.0.1:99999"], "[HOST:]PORT is needed"),
    "elsewhere": (["--target", TARGET, "--listen", "0.0.0.0:0"], "--allow-remote"),
    "no sentence": (["--target", TARGET, "--fault", "explode"], "it has to begin with one of"),
    "no file": (["--target", TARGET, "--faults", "none.toml"], "none.toml: cannot be read"),
    "no folder": (["--target", TARGET, "--record", "none/r.jsonl"], "cannot be written"),
    "one file for two": (["--target", TARGET, "--record", "r.jsonl", "--output", "./r.jsonl"], "the same file"),
    "a name with a port": (["--target", TARGET, "--allow-host", "a:1"], "without a port"),
    "no policy": (["--target", TARGET, "--policy", "none.toml"], "neither a preset"),
    "nothing to draw": (["--target", TARGET, "--every", "5"], "without --random-faults"),
    "no seed": (["--target", TARGET, "--seed", "5"], "without --random-faults"),
    "digests of nothing": (["--target", TARGET, "--payloads", "digest"], "without --record"),
    "a CA for nothing": (["--target", TARGET, "--ca", "a.pem"], "is for https"),
    "no CA": (["--target", "https://127.0.0.1:9/", "--ca", "none.pem"], "cannot use the CA file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_usage_is_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, words = BAD[name]
    assert main(["watch", *arguments]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


SECRET = "session-id-that-is-a-secret-0123"


async def leaky(request: Received, writer: asyncio.StreamWriter) -> None:
    """A server that sends a message twice."""
    message = json.loads(request.body or b"{}")
    if message.get("method") == "initialize":
        said = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}
        body = json.dumps(said).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {SECRET}\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    elif request.method == "POST":
        twice = event(1, method="notifications/message", params={"data": {"label": SECRET, "n": 1}})
        writer.write(STREAM + chunk(b"id: p\ndata:\n\n") + 2 * chunk(twice) + chunk(event(9, id=7, result={})) + LAST)
    else:
        writer.write(answer(405, "text/plain", b""))
    await writer.drain()


async def play(url: str) -> None:
    """A session with it."""
    endpoint = parse_url(url)
    for request in (post(INITIALIZE), post(CALL, session=SECRET)):
        reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        writer.write(request)
        await reader.read()
        writer.close()
        await writer.wait_closed()


def test_the_values_of_a_query_pass_and_are_never_written(tmp_path: Path) -> None:
    query = "?api_key=key-in-a-url-777&t=short7"
    record, report = tmp_path / "r.jsonl", tmp_path / "report.json"
    asked: list[str] = []

    async def echo(request: Received, writer: asyncio.StreamWriter) -> None:
        asked.append(request.path)
        said = {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": request.path}}
        writer.write(answer(400, "application/json", json.dumps(said).encode()))
        await writer.drain()

    async def work() -> None:
        async with serve(echo) as server:
            options = ("--random-faults", "--record", str(record), "--output", str(report), "--format", "json")
            process, url = await start(server.url + query, *options)
            assert url.endswith("?api_key=…&t=…")
            endpoint = parse_url(url.replace("?api_key=…&t=…", query))
            reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
            writer.write(post(INITIALIZE).replace(b"/mcp", f"/mcp{query}".encode(), 1))
            await reader.read()
            writer.close()
            process.send_signal(signal.SIGTERM)
            texts = [part.decode() for part in await process.communicate()]
        assert asked == [f"/mcp{query}"]
        texts += [record.read_text(), report.read_text()]
        assert "secret-" in texts[2]
        assert [text for text in texts if "key-in-a-url-777" in text or "short7" in text.replace("&t=short7", "")] == []
        assert "api_key=…&t=…" in json.loads(report.read_text())["run"]["command"]
        assert "api_key=…&t=…" in json.loads(record.read_text().partition("\n")[0])["target"]

    run(work())


def test_a_broken_clause_is_told_when_it_breaks_and_in_the_report(tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"

    async def work() -> None:
        async with serve(leaky) as server:
            process, url = await start(server.url, "--show", "--record", str(record))
            assert process.stderr is not None
            assert process.stdout is not None
            try:
                await play(url)
                async with asyncio.timeout(BOUND):
                    line = (await process.stderr.readline()).decode()
                assert f"DEL-{1} duplicate-delivery (breaks its own contract): " in line  # while it runs
                await play(url)
                process.send_signal(signal.SIGINT)
                async with asyncio.timeout(BOUND):
                    report, rest = (part.decode() for part in await process.communicate())
            finally:
                if process.returncode is None:
                    process.kill()
            assert process.returncode == 1
            assert "^ duplicate-delivery" in rest  # the exchange
            assert "A MUST NOT" in rest or "MUST" in rest  # the clause
            assert rest.count("duplicate-delivery (") == 0  # the second time is only counted
            assert "seen 2 times" in report
            assert "verdict: violates (exit 1)" in report
            for text in (line, rest, report, record.read_text()):
                assert SECRET not in text

    run(work())
    assert len([each for each in read_trace(record).observations if isinstance(each, Frame)]) == 8


def test_a_recording_that_cannot_be_gone_on_with_is_told_at_once(tmp_path: Path) -> None:
    record = tmp_path / "pipe"
    os.mkfifo(record)
    reading = os.open(record, os.O_RDONLY | os.O_NONBLOCK)

    async def work() -> None:
        async with serve(leaky) as server:
            process, url = await start(server.url, "--record", str(record))
            assert process.stderr is not None
            os.close(reading)
            await play(url)
            async with asyncio.timeout(BOUND):
                line = (await process.stderr.readline()).decode()
            assert line.startswith(f"reattach watch: the recording ends here: {record}")
            process.send_signal(signal.SIGTERM)
            report, rest = (part.decode() for part in await process.communicate())
            assert process.returncode == 1  # and the traffic was judged all the same
            assert "the recording ends" not in rest
            assert "recorded in" in report

    run(work())


def test_a_pipe_that_nobody_reads_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main(["watch", "--target", TARGET, "--record", str(tmp_path / "pipe")]) == 2
    assert "pipe: cannot be written: " in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_the_end_of_its_terminal_ends_it_with_a_report(number: signal.Signals) -> None:
    async def work() -> None:
        process, _ = await start(TARGET)
        process.send_signal(number)
        report = (await process.communicate())[0].decode()
        assert process.returncode == 3
        assert "verdict: no-verdict (exit 3)" in report

    run(work())


def test_nothing_that_passes_is_no_verdict_and_a_server_that_is_not_there_is_named() -> None:
    async def work() -> None:
        process, url = await start(TARGET, "--random-faults", "--fault", "reset")
        assert process.stderr is not None
        repeat = (await process.stderr.readline()).decode()
        reader, writer = await asyncio.open_connection("127.0.0.1", parse_url(url).port)
        writer.write(get())
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        process.send_signal(signal.SIGTERM)
        report = (await process.communicate())[0].decode()
        assert process.returncode == 3
        assert "verdict: no-verdict (exit 3)" in report
        assert "The target could not be reached, once: cannot connect to 127.0.0.1:9" in report
        words = shlex.split(repeat.partition("to repeat: ")[2])
        assert words[:6] == ["reattach", "watch", "--target", TARGET, "--fault", "reset"]
        assert words[6:8] == ["--random-faults", "--seed"]

    run(work())


def test_a_page_whose_name_was_made_to_point_here_is_kept_out() -> None:
    async def work() -> None:
        async with standing(allow_hosts=("proxy.test",)) as stand:
            client = await stand.client()
            await client.send(post(CALL).replace(b"Host: 127.0.0.1", b"Host: evil.example:80"))
            first, fields = await client.head()
            assert first.startswith(b"HTTP/1.1 421 ")
            await client.read(next(int(value) for name, value in fields if name == b"Content-Length"))
            assert await stand.unasked()
            await client.send(post(CALL).replace(b"Host: 127.0.0.1", b"Host: proxy.test:80"))
            server = await stand.server()
            _, fields = await server.head()
            assert (b"Host", stand.authority) in fields

    run(work())


def test_the_host_is_kept_if_that_is_asked_for() -> None:
    async def work() -> None:
        async with standing(keep_host=True) as stand:
            client = await stand.client()
            await client.send(get().replace(b"Host: 127.0.0.1", b"Host: localhost:81"))
            server = await stand.server()
            _, fields = await server.head()
            assert fields == [(b"Host", b"localhost:81")]

    run(work())


def test_what_is_no_request_is_answered_as_such_and_reaches_nobody() -> None:
    async def work() -> None:
        async with standing() as stand:
            for rubbish in (
                b"\x16\x03\x01 hello\r\n\r\n",
                b"GET /mcp\r\n\r\n",
                b"GET /mcp HTTP/1.1\r\nA : b\r\n\r\n",
            ):
                client = await stand.client()
                await client.send(rubbish)
                assert (await client.rest()).startswith(b"HTTP/1.1 400 ")
            client = await stand.client()
            await client.send(b"GET /mcp HTTP/1.1\r\nA: " + b"x" * 200_000)
            assert (await client.rest()).startswith(b"HTTP/1.1 431 ") or client.ended == RESET
            assert await stand.unasked()
            assert stand.notes == []
            assert stand.proxy is not None
            refused = stand.proxy.watcher.refused
            assert {reason.partition(",")[0] for reason in refused} == {"not an HTTP/1.1 request"}
            assert refused.total() == 4

    run(work())


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "switches protocols"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 200_000, "a head of over"),
        (b"SSH-2.0-server\r\n\r\n", "is not HTTP/1.1"),
    ],
    ids=["101", "a huge head", "no HTTP"],
)
def test_what_the_proxy_cannot_pass_is_a_reset_and_not_held_against_the_server(said: bytes, reason: str) -> None:
    async def work() -> None:
        async with standing() as stand:
            client = await stand.client()
            await client.send(post(CALL))
            server = await stand.server()
            await server.request()
            await server.send(said)
            assert await client.rest() == b""
            assert client.ended == RESET
            assert stand.kinds == ["request", "closed"]
            assert stand.told[-1]["by"] == "network"
            assert stand.proxy is not None
            ((told, count),) = stand.proxy.watcher.unread.items()
            assert reason in told
            assert count == 1

    run(work())


def test_an_older_client_need_not_name_a_host() -> None:
    async def work() -> None:
        async with standing() as stand:
            client = await stand.client()
            await client.send(b"GET /mcp HTTP/1.0\r\n\r\n")
            server = await stand.server()
            assert await server.head() == (b"GET /mcp HTTP/1.1", [(b"Host", stand.authority)])
            await server.send(STREAM + chunk(event(1)) + LAST)
            head, _, body = (await client.rest()).partition(b"\r\n\r\n")
            assert b"Transfer-Encoding" not in head
            assert b"connection: close" in head.lower()
            assert body == event(1)
            assert stand.kinds == ["request", "response", "frame", "closed"]

    run(work())


def test_other_paths_pass_and_are_not_judged() -> None:
    async def work() -> None:
        async with standing() as stand:
            client = await stand.client()
            await client.send(get().replace(b"/mcp", b"/.well-known/oauth-protected-resource"))
            server = await stand.server()
            assert await server.request() == b"GET /.well-known/oauth-protected-resource HTTP/1.1"
            await server.send(whole(b"{}"))
            await client.head()
            assert await client.read(2) == b"{}"
            assert stand.notes == []

    run(work())


def test_compressed_answers_are_read_and_pass_as_they_are() -> None:
    import gzip

    async def work() -> None:
        async with standing() as stand:
            client, packed = await stand.client(), gzip.compress(event(1))
            await client.send(post(CALL))
            server = await stand.server()
            await server.request()
            await server.send(STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + chunk(packed) + LAST)
            await client.head()
            assert await client.chunk() == packed
            await client.read(LAST)
            assert stand.kinds == ["request", "response", "frame", "closed"]
            await client.send(post(CALL))
            await server.request()
            await server.send(whole(b"??", "Content-Encoding: br"))
            await client.head()
            assert await client.read(2) == b"??"
            assert stand.proxy is not None
            assert stand.proxy.watcher.unread == {"answers are compressed (br)": 1}
            assert "no longer complete" in stand.proxy.watcher.blinded

    run(work())


def test_a_target_with_tls_is_checked_and_its_end_is_an_end() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    async def work() -> None:
        async def one(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(STREAM + chunk(event(1)))
            await writer.drain()

        async with serve(one, tls=context) as server:
            with authority.cert_pem.tempfile() as path:
                trusting = tls_context(path)
            for tls, begins in ((trusting, b"HTTP/1.1 200 "), (tls_context(None), b"")):
                async with standing() as stand:
                    assert stand.proxy is not None
                    options = ProxyOptions(endpoint=parse_url(server.url), tls=tls)
                    async with proxying(options, stand.proxy.watcher, stand.proxy.plan) as proxy:
                        stand.port = proxy.port
                        client = await stand.client()
                        await client.send(post(CALL))
                        assert (await client.rest()).startswith(begins)
                        assert client.ended == (EOF if begins else RESET)
                        assert bool(proxy.failures) is not bool(begins)

    run(work())


def test_it_does_not_listen_elsewhere_by_itself() -> None:
    async def work() -> None:
        async with standing() as stand:
            assert stand.proxy is not None
            options = ProxyOptions(endpoint=parse_url(TARGET), host="0.0.0.0")
            with pytest.raises(ServeError, match="allow-remote"):
                async with proxying(options, stand.proxy.watcher, stand.proxy.plan):
                    pass

    run(work())


def test_the_page_about_faults_is_in_step() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert rewritten(text) == text, "make readme writes it again"
    assert rewritten(text.replace("resets both connections", "does something")) == text
    for about in TABLE.values():
        assert f"`{about.example}`" in faults_table()
