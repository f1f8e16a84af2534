"""The reference server's edge: media types, sizes, JSON-RPC, batches, tools, resumption by POST, and 2026-07-28."""

import asyncio
import contextlib
import gc
import json
import socket
from itertools import product
from typing import Any

import pytest
from attrs import evolve
from tests.live.raw import (
    BOUND,
    PATIENT,
    Client,
    connect,
    initialize_params,
    last_id,
    message,
    numbers,
    server,
    session_of,
    until,
)

from reattach.live.server import tools
from reattach.live.server.wire import Wire
from reattach.live.wire import parse_url

PING = message("ping", None, 9)
META = "io.modelcontextprotocol/"


def test_accept() -> None:
    cases = [
        ("GET", "application/json", 406),
        ("GET", "", 406),
        ("GET", "text/event-stream", 200),
        ("GET", "text/*;q=0.5, application/json", 200),
        ("POST", "application/json", 406),
        ("POST", "text/event-stream", 406),
        ("POST", "*/*", 200),
        ("POST", "Text/Event-Stream;q=1,Application/JSON", 200),
    ]

    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            for method, accept, status in cases:
                answer = await client.send(method, PING if method == "POST" else None, headers={"Accept": accept})
                assert answer.status == status, (method, accept)

    asyncio.run(run())


def test_what_is_wrong_as_http_is_said_as_http() -> None:
    async def run() -> None:
        async with server(max_body=1_000) as running:
            client = await connect(running)
            assert (await client.send("POST", PING, headers={"Content-Type": "text/plain"})).status == 415
            assert (await client.send("POST", PING, headers={"Content-Type": ""})).status == 415
            utf8 = await client.send("POST", PING, headers={"Content-Type": "Application/JSON; charset=utf-8"})
            assert utf8.status == 200
            assert (await client.send("POST", b" " * 1_001)).status == 413
            for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
                answer = await client.send(method)
                assert (answer.status, answer.head.get("allow")) == (405, "GET, POST, DELETE")
            elsewhere = await evolve(client, endpoint=evolve(client.endpoint, path="/other")).get()
            assert elsewhere.status == 404

    asyncio.run(run())


def test_what_is_no_http_is_refused_and_hurts_nobody() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            for garbage in (b"\x16\x03\x01 hello\r\n\r\n", b"GET /mcp HTTP/1.1\r\nX: " + b"x" * 140_000 + b"\r\n\r\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
                writer.write(garbage)
                # What a peer is still sending when it is turned away may reset its connection.
                with contextlib.suppress(ConnectionResetError):
                    async with asyncio.timeout(BOUND):
                        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
                    assert head.startswith(b"HTTP/1.1 400 ")
                    assert json.loads(body)["error"]["code"] == -32600
                writer.close()
            assert numbers(await (await client.request("ping")).rest()) == ["bare", "result"]

    asyncio.run(run())


def test_a_connection_that_is_over_leaves_nothing_for_the_collector() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            gc.collect()
            gc.disable()
            try:
                for _ in range(10):
                    assert numbers(await (await client.request("ping")).rest()) == ["bare", "result"]
                    (await client.call("reattach_emit", count=5)).cut()
                async with asyncio.timeout(BOUND):
                    while any(isinstance(each, Wire) for each in gc.get_objects()):
                        await asyncio.sleep(0.01)
            finally:
                gc.enable()

    asyncio.run(run())


def test_a_client_that_goes_in_the_middle_of_its_request_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            _, writer = await asyncio.open_connection("127.0.0.1", running.port)
            head = (
                f"POST /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: {client.session}\r\n"
                "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
                "Content-Length: 100\r\n\r\n{"
            )
            writer.write(head.encode())
            await until(lambda: requests_of(running, client) == 1)
            writer.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
            )
            writer.transport.abort()
            await until(lambda: requests_of(running, client) == 0)

    def requests_of(running: Any, client: Client) -> int:
        session = session_of(running, client)
        return -1 if session is None else session.requests

    asyncio.run(run())
    assert caplog.records == []


BAD_BODIES = [
    (b"", -32700),
    (b"{", -32700),
    (b"\xff", -32700),
    (b"[" * 100_000, -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}', -32700),
    (b"1" * 5_000, -32700),
    (b"7", -32600),
    (b"null", -32600),
    (b"[]", -32600),
    (b"[1]", -32600),
    (b'{"id": 1, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}', -32600),
    (b'{"jsonrpc": "2.0"}', -32600),
]


def test_bodies_that_are_not_json_rpc() -> None:
    async def run() -> None:
        async with server() as running:
            for client, (body, code) in product([await connect(running), Client(parse_url(running.url))], BAD_BODIES):
                answer = await client.send("POST", body)
                assert answer.status == 400, body[:80]
                said = await answer.json()
                assert (said["id"], said["error"]["code"]) == (None, code), body[:80]

    asyncio.run(run())


def test_initialize_negotiates() -> None:
    async def run() -> None:
        async with server() as running:
            client = Client(parse_url(running.url))
            for asked, given in [
                ("2025-03-26", "2025-03-26"),
                ("2024-11-05", "2025-11-25"),
                ("2026-07-28", "2025-11-25"),
            ]:
                answer = await client.request("initialize", initialize_params(asked), "i")
                session = answer.head.get("mcp-session-id") or ""
                assert session
                assert all("!" <= character <= "~" for character in session)
                result = (await answer.json())["result"]
                assert result["protocolVersion"] == given
                assert result["capabilities"] == {"tools": {}, "logging": {}}
            for params in ({}, {"protocolVersion": 7}, {"protocolVersion": "2025-11-25", "capabilities": []}):
                answer = await client.request("initialize", params, "i")
                assert answer.status == 400
                assert answer.head.get("mcp-session-id") is None
                said = await answer.json()
                assert (said["id"], said["error"]["code"]) == ("i", -32602)

    asyncio.run(run())


def test_a_session_is_initialized_once() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            answer = await client.request("initialize", initialize_params("2025-11-25"))
            assert answer.status == 400
            assert (await answer.json())["error"]["code"] == -32600

    asyncio.run(run())


def test_what_is_owed_no_answer_gets_202_and_nothing_else() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            for said in (
                message("notifications/anything", None, None),
                {"jsonrpc": "2.0", "id": 4, "result": {}},
                {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
            ):
                answer = await client.send("POST", said)
                assert (answer.status, await answer.body()) == (202, b"")

    asyncio.run(run())


async def result_of(client: Client, method: str, params: Any = None) -> Any:
    events = await (await client.request(method, params)).rest()
    said = json.loads(events[-1].data or "")
    assert said["id"] == 7
    return said.get("result", said.get("error"))


def test_methods_and_tools() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, window_bytes=50_000)) as running:
            client = await connect(running)
            assert await result_of(client, "ping") == {}
            assert (await result_of(client, "no/such"))["code"] == -32601
            listed = (await result_of(client, "tools/list"))["tools"]
            assert [tool["name"] for tool in listed] == ["reattach_emit", "reattach_push", "test_reconnection"]
            assert [tool["inputSchema"].get("required") for tool in listed] == [["count"], ["count"], None]
            assert (await result_of(client, "tools/call", {"name": "x"}))["code"] == -32602
            assert (await result_of(client, "tools/call"))["code"] == -32602
            good = await result_of(client, "tools/call", {"name": "reattach_emit", "arguments": {"count": 0}})
            assert not good["isError"]
            bad: list[Any] = [
                None,
                {},
                [],
                {"count": -1},
                {"count": True},
                {"count": 1.5},
                {"count": "1"},
                {"count": 10_001},
                {"count": 1, "interval_ms": 60_001},
                {"count": 1, "size": -1},
                {"count": 1, "label": 7},
                {"count": 1, "typo": 1},
                {"count": 1, "size": 60_000},  # larger than everything that the session may hold
            ]
            for arguments in bad:
                said = await result_of(client, "tools/call", {"name": "reattach_emit", "arguments": arguments})
                assert said["isError"], arguments

    asyncio.run(run())


def test_a_message_carries_its_label_its_number_and_its_padding() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            events = await (await client.call("reattach_emit", count=2, size=5, label="é\n\ud800")).rest()
            assert json.loads(events[2].data or "")["params"] == {
                "level": "info",
                "logger": "reattach",
                "data": {"label": "é\n\ud800", "n": 2, "padding": "xxxxx"},
            }

    asyncio.run(run())


def test_a_result_that_the_session_cannot_hold_is_an_error() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, window_bytes=300)) as running:
            client = await connect(running)
            said = await result_of(client, "tools/list")
            assert (said["code"], said["message"]) == (-32603, "the result is too large")

    asyncio.run(run())


def test_a_fault_of_the_server_is_an_error_and_not_silence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("a fault")

    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            monkeypatch.setattr(tools, "answer", fail)
            assert (await result_of(client, "ping"))["code"] == -32603

    asyncio.run(run())
    assert "a call failed" in caplog.text


def test_the_log_level_is_obeyed() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            assert await result_of(client, "logging/setLevel", {"level": "warning"}) == {}
            assert numbers(await (await client.call("reattach_emit", count=2)).rest()) == ["bare", "result"]
            assert await result_of(client, "logging/setLevel", {"level": "info"}) == {}
            assert numbers(await (await client.call("reattach_emit", count=2)).rest()) == ["bare", 1, 2, "result"]
            assert (await result_of(client, "logging/setLevel", {"level": "loud"}))["code"] == -32602

    asyncio.run(run())


# Batches


def test_a_batch_has_one_stream_that_ends_after_its_last_response() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running, "2025-03-26")
            batch = [
                message("tools/call", {"name": "reattach_emit", "arguments": {"count": 3, "interval_ms": 5}}, 1),
                message("notifications/anything", None, None),
                message("ping", None, 2),
            ]
            events = await (await client.send("POST", batch)).rest()
            assert numbers(events) == ["result", 1, 2, 3, "result"]
            assert [json.loads(events[index].data or "")["id"] for index in (0, -1)] == [2, 1]
            # Resumed before the second response, it delivers that one too.
            assert numbers(await (await client.get(events[0].id or "")).rest()) == [1, 2, 3, "result"]
            assert (await client.send("POST", [message("notifications/x", None, None)])).status == 202

    asyncio.run(run())


def test_cancelling_one_of_a_batch_leaves_the_others() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running, "2025-03-26")
            slow = {"name": "reattach_emit", "arguments": {"count": 1, "interval_ms": 60_000}}
            answer = await client.send(
                "POST", [message("tools/call", slow, 1), message("tools/call", slow, 2), message("ping", None, 3)]
            )
            assert numbers([await answer.event()]) == ["result"]
            await client.notify("notifications/cancelled", {"requestId": 1})
            await client.notify("notifications/cancelled", {"requestId": 2})
            assert await answer.rest() == []

    asyncio.run(run())


def test_batches_exist_in_the_oldest_revision_alone() -> None:
    async def run() -> None:
        async with server() as running:
            oldest = await connect(running, "2025-03-26")
            batch = [message("initialize", initialize_params("2025-03-26"), 1)]
            assert (await oldest.send("POST", batch)).status == 400  # never in a batch
            for revision in ("2025-06-18", "2025-11-25"):
                answer = await (await connect(running, revision)).send("POST", [PING])
                assert answer.status == 400
                assert (await answer.json())["error"]["code"] == -32600

    asyncio.run(run())


# Resumption by POST


def test_a_post_without_a_body_resumes_as_a_get_does() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            events = await (await client.call("reattach_emit", count=3)).rest()
            resumed = await client.send("POST", cursors=[events[1].id or ""], headers={"Content-Type": ""})
            assert numbers(await resumed.rest()) == ["bare", 2, 3, "result"]
            refused = await client.send("POST", cursors=["x"])
            assert await refused.refusal() == (400, "cursor-malformed")
            unknown = await evolve(client, session="never-issued").send("POST", cursors=[last_id(events)])
            assert await unknown.refusal() == (404, "session-unknown")

    asyncio.run(run())


def test_a_post_with_a_message_is_that_message_whatever_its_cursor() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            cursor = last_id(await (await client.call("reattach_emit", count=3)).rest())
            for cursors in ([cursor], ["x"], [cursor, cursor]):
                events = await (await client.send("POST", PING, cursors=cursors)).rest()
                assert numbers(events) == ["bare", "result"]
                assert events[0].id not in cursors

    asyncio.run(run())


# 2026-07-28


def envelope(method: str, params: Any = None, level: str | None = "debug") -> dict[str, Any]:
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
    if level is not None:
        meta[f"{META}logLevel"] = level
    return message(method, {**(params or {}), "_meta": meta}, 1)


def routed(body: dict[str, Any]) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": body["method"]}
    if body["method"] == "tools/call":
        headers["Mcp-Name"] = body["params"]["name"]
    return headers


def emit(count: int, level: str | None = "debug", **arguments: Any) -> dict[str, Any]:
    params = {"name": "reattach_emit", "arguments": {"count": count, **arguments}}
    return envelope("tools/call", params, level)


def test_without_sessions_nothing_resumes() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            before = session_of(running, client)
            events = await (await client.call("reattach_emit", count=2)).rest()
            after = session_of(running, client)
            assert after is not before
            version = {"MCP-Protocol-Version": "2026-07-28"}
            for method in ("GET", "DELETE"):
                answer = await client.send(method, cursors=[events[0].id or ""], headers=version)
                assert (answer.status, answer.head.get("allow")) == (405, "POST")
            body = emit(2)
            for name, cursors in [(client.session, [events[0].id or ""]), ("never-issued", ["x"]), (None, [])]:
                answer = await evolve(client, session=name).send("POST", body, cursors=cursors, headers=routed(body))
                assert answer.head.get("mcp-session-id") is None
                got = await answer.rest()
                assert numbers(got) == [1, 2, "result"]
                assert {(event.id, event.retry) for event in got} == {(None, None)}
                assert json.loads(got[-1].data or "")["result"]["resultType"] == "complete"
            assert session_of(running, client) is after  # the older era's session saw none of it

    asyncio.run(run())


def test_without_sessions_a_request_says_what_it_needs() -> None:
    async def run() -> None:
        async with server() as running:
            client = Client(parse_url(running.url))
            body = envelope("server/discover")
            result = (await (await client.send("POST", body, headers=routed(body))).json())["result"]
            assert result["supportedVersions"] == ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
            body = envelope("tools/list")
            result = (await (await client.send("POST", body, headers=routed(body))).json())["result"]
            assert [tool["name"] for tool in result["tools"]] == ["reattach_emit"]  # there is nothing to push to
            said = message("notifications/anything", None, None)
            assert (await client.send("POST", said, headers={"MCP-Protocol-Version": "2026-07-28"})).status == 202
            # No log level, no log notifications.
            for level, expected in [(None, ["result"]), ("error", ["result"]), ("info", [1, 2, "result"])]:
                answer = await client.send("POST", emit(2, level), headers=routed(emit(2)))
                assert numbers(await answer.rest()) == expected

    asyncio.run(run())


def test_without_sessions_errors_have_their_statuses() -> None:
    async def run() -> None:
        async with server() as running:
            client = Client(parse_url(running.url))
            good = emit(1)
            bare = message("tools/list", {}, 1)
            partial = message("tools/list", {"_meta": {f"{META}protocolVersion": "2026-07-28"}}, 1)
            other = envelope("tools/list")
            other["params"]["_meta"][f"{META}protocolVersion"] = "2025-11-25"
            wrong: list[tuple[Any, dict[str, str], int, int]] = [
                (bare, routed(bare), 400, -32602),
                (partial, routed(partial), 400, -32602),
                (other, routed(other), 400, -32020),
                (good, routed(good) | {"Mcp-Method": "tools/list"}, 400, -32020),
                (good, routed(good) | {"Mcp-Name": "other"}, 400, -32020),
                (good, {"MCP-Protocol-Version": "2026-07-28"}, 400, -32020),
                (envelope("initialize"), routed(envelope("initialize")), 404, -32601),
                (emit(1, "loud"), routed(good), 400, -32602),
                ([good], routed(good), 400, -32600),
            ]
            push = envelope("tools/call", {"name": "reattach_push", "arguments": {"count": 1}})
            wrong.append((push, routed(push), 400, -32602))
            for body, headers, status, code in wrong:
                answer = await client.send("POST", body, headers=headers)
                assert (answer.status, (await answer.json())["error"]["code"]) == (status, code), body

    asyncio.run(run())


def test_without_sessions_a_disconnect_is_the_cancellation() -> None:
    async def run() -> None:
        async with server() as running:
            client = Client(parse_url(running.url))
            body = emit(1_000, interval_ms=1)
            answer = await client.send("POST", body, headers=routed(body))
            assert numbers([await answer.event()]) == [1]
            running_calls = [task for task in asyncio.all_tasks() if "_Stream._run" in repr(task)]
            assert len(running_calls) == 1
            answer.cut()
            await until(lambda: running_calls[0].done())
            assert running_calls[0].cancelled()

    asyncio.run(run())


def test_without_sessions_a_stalled_reader_is_ended() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, stall_ms=100)) as running:
            client = Client(parse_url(running.url))
            body = emit(5, size=500_000)
            answer = await client.send("POST", body, headers=routed(body), receive_buffer=4_096)
            await until(lambda: not [task for task in asyncio.all_tasks() if "_Stream._run" in repr(task)])
            with pytest.raises(Exception, match="connection"):
                await answer.rest()

    asyncio.run(run())
