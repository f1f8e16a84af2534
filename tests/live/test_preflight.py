"""What a probe says of targets that cannot be probed: a typed error with one clear line, and nothing left running."""

import asyncio
import json
import shlex
import socket
import sys
from pathlib import Path

import psutil
import pytest
from tests.live.scripted import STREAM_HEAD, Handler, Received, chunk, head, serve, whole
from tests.live.toy import toy

from reattach.live import probe as probing
from reattach.live.preflight import NoAnswerError, NotMcpError, UnreachableError
from reattach.live.probe import OptionsError, ProbeOptions, probe
from reattach.live.stimulus import StimulusError
from reattach.live.target import DidNotStartError
from reattach.live.wire import BadUrlError

BOUND = 30


def answering(data: bytes) -> Handler:
    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return answer


async def never(_: Received, __: asyncio.StreamWriter) -> None:
    await asyncio.sleep(BOUND)


RPC_ERROR = json.dumps({"jsonrpc": "2.0", "id": 1000, "error": {"code": -32600, "message": "go away"}}).encode()


@pytest.mark.parametrize(
    ("handler", "error", "says"),
    [
        (answering(whole(200, "text/html", b"<html>hello</html>")), NotMcpError, "HTML"),
        (answering(whole(404, "text/html", b"<html>nope</html>")), NotMcpError, "HTML .HTTP 404."),
        (answering(whole(405, "text/plain", b"no")), NotMcpError, "HTTP 405"),
        (answering(whole(401, "application/json", b"{}")), NotMcpError, "credentials"),
        (answering(whole(200, "application/json", b'{"hello": "world"}')), NotMcpError, "no JSON-RPC response"),
        (answering(whole(200, "application/json", b"not json")), NotMcpError, "no JSON-RPC response"),
        (answering(whole(400, "application/json", RPC_ERROR)), NotMcpError, "refused: go away"),
        (answering(head(204, {})), NotMcpError, "no content type"),
        (answering(STREAM_HEAD + chunk(b": hello\n\n") + chunk(b"")), NotMcpError, "without a JSON-RPC response"),
        (answering(b""), NotMcpError, "closed before any answer"),
        (answering(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), NotMcpError, "closed before any answer|HTTP"),
        (never, NoAnswerError, "no answer to initialize within 300 ms"),
    ],
    ids=["html", "html-404", "405", "401", "json", "not-json", "rpc-error", "empty", "sse", "closed", "ssh", "silent"],
)
def test_a_target_that_is_no_mcp_server(
    handler: Handler, error: type[Exception], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with asyncio.timeout(BOUND), serve(handler) as server:
            with pytest.raises(error, match=says) as caught:
                await probe(ProbeOptions(url=server.url))
            assert server.url in str(caught.value)
            assert "\n" not in str(caught.value)

    monkeypatch.setattr(probing, "ANSWER_MS", 300)
    asyncio.run(run())


def test_a_target_that_is_down() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
        with pytest.raises(UnreachableError, match="cannot connect"):
            asyncio.run(probe(ProbeOptions(url=url)))


def test_a_command_whose_server_is_no_mcp_server_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import http.server, os, sys; open(sys.argv[2], 'w').write(str(os.getpid()));"
        "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), http.server.BaseHTTPRequestHandler).serve_forever()"
    )
    with pytest.raises(NotMcpError, match="501"):
        asyncio.run(probe(ProbeOptions(command=shlex.join([sys.executable, "-c", code, "{port}", str(pid)]))))
    assert not psutil.pid_exists(int(pid.read_text()))


def test_a_command_whose_server_crashes_at_the_first_request_says_so(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "import http.server, os, sys\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_POST(self):\n"
        "        print('out of cheese', file=sys.stderr, flush=True)\n"
        "        os._exit(3)\n"
        "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()\n"
    )
    with pytest.raises(UnreachableError, match="exit status 3; last on stderr: out of cheese"):
        asyncio.run(probe(ProbeOptions(command=shlex.join([sys.executable, str(script), "{port}"]))))


def test_a_command_that_ends_at_once() -> None:
    with pytest.raises(DidNotStartError, match="exit status 7"):
        asyncio.run(probe(ProbeOptions(command=f"{sys.executable} -c 'raise SystemExit(7)' {{port}}")))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (ProbeOptions(), OptionsError),
        (ProbeOptions(url="http://h/", command="x {port}"), OptionsError),
        (ProbeOptions(url="http://h/", restart=True), OptionsError),
        (ProbeOptions(url="mcp"), BadUrlError),
        (ProbeOptions(url="http://h/", also="mcp"), BadUrlError),
    ],
)
def test_options_that_do_not_fit(options: ProbeOptions, error: type[Exception]) -> None:
    with pytest.raises(error):
        asyncio.run(probe(options))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "neither a preset"),
        ("tool = ", "not TOML"),
        ("progress = true", "name of a tool"),
        ("tool = 'x'\nprogress = 1", "true or false"),
        ("tool = 'x'\narguments = 3", "table"),
        ("tool = 'x'\nwhen = 1", "unknown key 'when'"),
        ("tool = 'x'\n[arguments]\nwhen = 2025-11-25", "no form in JSON"),
        ("tool = 'no_such_tool'", "no tool 'no_such_tool'"),
    ],
)
def test_a_stimulus_that_cannot_be_used(text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "stimulus.toml"
    if text is not None:
        path.write_text(text)

    async def run() -> None:
        async with asyncio.timeout(BOUND), toy() as server:
            with pytest.raises(StimulusError, match=says):
                await probe(ProbeOptions(url=server.url, stimulus=str(path)))

    asyncio.run(run())


def test_a_server_of_2026_alone_is_probed_for_era_1() -> None:
    """It has no initialize, answers POSTs with JSON, and anything else with 405."""

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        message = json.loads(request.body) if request.body else {}
        if request.method != "POST":
            writer.write(head(405, {"Content-Length": "0"}))
        elif request.get("mcp-protocol-version") != "2026-07-28" or message["method"] == "initialize":
            error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}
            writer.write(whole(404, "application/json", json.dumps(error).encode()))
        else:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}
            writer.write(whole(200, "application/json", json.dumps(reply).encode()))
        await writer.drain()

    async def run() -> None:
        async with asyncio.timeout(BOUND), serve(answer) as server:
            result = await probe(ProbeOptions(url=server.url))
            assert result.revision == "2026-07-28"
            assert any("only ERA-1" in note for note in result.report.notes)
            methods = {request.method for request in server.received}
            assert methods == {"POST", "GET", "DELETE"}
            posted = [request for request in server.received if request.get("last-event-id")]
            assert posted

    asyncio.run(run())
