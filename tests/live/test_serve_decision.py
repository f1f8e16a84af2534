"""The reference server refuses: every row of the decision, its status, its reason, and the order of the questions."""

import asyncio
import json
from itertools import product
from typing import Any

from attrs import evolve
from tests.live.raw import (
    BOUND,
    PATIENT,
    Client,
    at_seq,
    connect,
    initialize_params,
    last_id,
    numbers,
    server,
    session_of,
    until,
)

from reattach.live.wire import parse_url

METHODS = ["GET", "POST", "DELETE"]
PING = {"jsonrpc": "2.0", "id": 9, "method": "ping"}


def body_for(method: str) -> Any:
    return PING if method == "POST" else None


def test_a_foreign_origin_is_forbidden() -> None:
    origins = ["https://example.com", "null", "http://localhost.example.com", "file://localhost", "http://[", "x"]

    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            for method, origin in product(METHODS, origins):
                answer = await client.send(method, body_for(method), headers={"Origin": origin})
                assert await answer.refusal() == (403, "origin-forbidden"), (method, origin)
            assert session_of(running, client) is not None

    asyncio.run(run())


def test_loopback_and_configured_origins_are_allowed() -> None:
    origins = ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8080", "https://allowed.example"]

    async def run() -> None:
        async with server(origins=frozenset({"https://allowed.example"})) as running:
            for origin in origins:
                client = await connect(running)
                for method in METHODS:
                    answer = await client.send(method, body_for(method), headers={"Origin": origin})
                    assert answer.status in (200, 204), (method, origin)

    asyncio.run(run())


def test_credentials_are_required_where_there_are_tokens() -> None:
    async def run() -> None:
        async with server(tokens={"alice": "a-secret"}) as running:
            client = await connect(running, headers={"Authorization": "Bearer a-secret"})
            for method, given in product(METHODS, ["", "Bearer wrong", "Basic a-secret", "Bearer", "a-secret"]):
                answer = await client.send(method, body_for(method), headers={"Authorization": given})
                assert (answer.head.get("www-authenticate") or "").startswith("Bearer")
                assert await answer.refusal() == (401, "unauthenticated"), (method, given)

    asyncio.run(run())


def test_an_unknown_version_is_refused() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            for method, version in product(METHODS, ["2024-11-05", "2099-01-01", "x", "2025-11-25, 2025-11-25"]):
                answer = await client.send(method, body_for(method), headers={"MCP-Protocol-Version": version})
                assert answer.status == 400, (method, version)
                error = (await answer.json())["error"]
                assert error["data"]["reason"] == "version-unsupported"
                assert error["data"]["requested"] == version
                assert "2025-11-25" in error["data"]["supported"]

    asyncio.run(run())


def test_a_missing_session_is_400_and_an_unknown_one_404() -> None:
    async def run() -> None:
        async with server() as running:
            nobody = Client(parse_url(running.url))
            for method in METHODS:
                answer = await nobody.send(method, body_for(method))
                assert await answer.refusal() == (400, "session-missing"), method
                for name in ("never-issued", "a,b", "é"):
                    answer = await evolve(nobody, session=name).send(method, body_for(method), cursors=["x"])
                    assert await answer.refusal() == (404, "session-unknown"), (method, name)

    asyncio.run(run())


def test_a_terminated_session_is_404_on_every_method_with_and_without_a_cursor() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            cursor = last_id(await (await client.call("reattach_emit", count=2)).rest())
            assert (await client.send("DELETE")).status == 204
            assert session_of(running, client) is None
            for method in METHODS:
                for cursors in ([], [cursor]):
                    answer = await client.send(method, body_for(method), cursors=cursors)
                    assert await answer.refusal() == (404, "session-unknown")
            answer = await client.request("initialize", initialize_params("2025-11-25"))
            assert await answer.refusal() == (404, "session-unknown")

    asyncio.run(run())


def test_a_session_that_ends_while_a_request_arrives_is_unknown_to_it() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
            body = json.dumps(PING).encode()
            fields = {
                "Host": "x",
                "Mcp-Session-Id": client.session,
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "Content-Length": len(body),
                "Connection": "close",
            }
            head = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            writer.write(head.encode() + b"\r\n" + body[:5])
            await until(lambda: (session := session_of(running, client)) is not None and session.requests == 1)
            assert (await client.send("DELETE")).status == 204
            writer.write(body[5:])
            async with asyncio.timeout(BOUND):
                answer = await reader.read()
            writer.close()
            assert answer.startswith(b"HTTP/1.1 404 ")
            said = json.loads(answer.partition(b"\r\n\r\n")[2])
            assert (said["id"], said["error"]["data"]["reason"]) == (9, "session-unknown")
            # Even a body that cannot be read is first of all a request of a session that is not there.
            assert await (await client.send("POST", b"{")).refusal() == (404, "session-unknown")

    asyncio.run(run())


def test_another_principals_session_is_like_one_that_never_was() -> None:
    async def run() -> None:
        async with server(tokens={"alice": "a-secret", "bob": "b-secret"}) as running:
            alice = await connect(running, headers={"Authorization": "Bearer a-secret"})
            cursor = last_id(await (await alice.call("reattach_emit", count=2)).rest())
            before = session_of(running, alice)
            bob = evolve(alice, headers=(("Authorization", "bearer b-secret"),))
            for method in METHODS:
                for cursors in ([], [cursor], ["nonsense"]):
                    his = await bob.send(method, body_for(method), cursors=cursors)
                    nobodys = await evolve(bob, session="never-issued").send(method, body_for(method), cursors=cursors)
                    assert his.status == nobodys.status == 404
                    assert await his.body() == await nobodys.body()
            assert session_of(running, alice) is before  # not even a sign of its client
            assert numbers(await (await alice.get(cursor)).rest()) == ["bare"]

    asyncio.run(run())


MALFORMED = [
    "",
    "x",
    "1",
    "..",
    "TAG.1",
    "TAG.1.2.3",
    "TAG.01.2",
    "TAG.1.+2",
    "TAG.1.-2",
    "TAG.1.2_0",
    "TAG.1. 2",
    "TAG.1.٢",
    "TAG.1.9007199254740992",
    "TAG.1.99999999999999999999",
    "TAG.0.1",
    '"TAG.1.2"',
    "short.1.2",
    "TAG.1.2, TAG.1.2",
    "x" * 100_000,
]


def test_a_malformed_cursor_is_refused_and_the_session_lives() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            sent = await (await client.call("reattach_emit", count=3)).rest()
            tag = last_id(sent).split(".")[0]
            for text in MALFORMED:
                answer = await client.get(text.replace("TAG", tag))
                assert answer.status == 400, text
                data = (await answer.json())["error"]["data"]
                assert data["reason"] == "cursor-malformed"
                assert "held" not in data
                assert len(data["cursor"]) <= 128
                assert all("!" <= character <= "~" for character in data["cursor"])
            assert numbers(await (await client.get(sent[1].id or "")).rest()) == ["bare", 2, 3, "result"]

    asyncio.run(run())


def test_a_repeated_cursor_is_malformed_even_if_both_are_good() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            cursor = last_id(await (await client.call("reattach_emit", count=3)).rest())
            assert await (await client.get(cursor, cursor)).refusal() == (400, "cursor-malformed")

    asyncio.run(run())


def test_cursors_that_cannot_be_honoured_are_conflicts_that_say_what_is_held() -> None:
    async def run() -> None:
        async with server() as running:
            client, other = await connect(running), await connect(running)
            foreign = last_id(await (await other.call("reattach_emit", count=1)).rest())
            first = await (await client.call("reattach_emit", count=4)).rest()
            second = await (await client.call("reattach_emit", count=4)).rest()
            tag, stream, last = last_id(second).split(".")
            held = {"stream": int(stream), "mark": int(last) - 5, "last": int(last)}
            wrong: list[tuple[str, str, Any]] = [
                (foreign, "cursor-foreign", None),
                (f"{tag}.99.3", "cursor-out-of-window", None),
                (at_seq(last_id(second), int(last) + 1), "cursor-ahead", held),
                (at_seq(last_id(second), 2**53 - 1), "cursor-ahead", held),
                # The last event of the first stream, under the name of the second: below the second's mark.
                (at_seq(last_id(second), int(last_id(first).split(".")[2])), "cursor-out-of-window", held),
            ]
            for cursor, reason, what in wrong:
                answer = await client.get(cursor)
                assert answer.status == 409, cursor
                error = (await answer.json())["error"]
                assert error["data"] == {"reason": reason, "cursor": cursor} | ({"held": what} if what else {})
            assert numbers(await (await client.get(second[0].id or "")).rest()) == ["bare", 1, 2, 3, 4, "result"]

    asyncio.run(run())


def test_a_seq_of_another_stream_is_a_mismatch() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            slow = await client.call("reattach_emit", count=2, interval_ms=60_000)  # born, and still open
            born = await slow.event()
            between = last_id(await (await client.call("reattach_push", identifier=8, count=1)).rest())
            await client.notify("notifications/cancelled", {"requestId": 7})
            assert await slow.rest() == []
            standalone = at_seq(born.id or "", 1).replace(".2.", ".1.")
            # The standalone stream has its birth (1) and the push; the seqs between belong to others.
            seq = int(between.split(".")[2])
            [pushed] = [each for each in range(2, seq) if (await client.get(at_seq(standalone, each))).status == 200]
            assert pushed > 2
            for each in range(2, pushed):
                answer = await client.get(at_seq(standalone, each))
                assert await answer.refusal() == (409, "cursor-mismatch")

    asyncio.run(run())


def test_a_cursor_older_than_the_window_is_refused_and_the_mark_is_granted() -> None:
    async def run() -> None:
        async with server() as running:
            client = await connect(running)
            events = await (await client.call("reattach_emit", count=40)).rest()
            assert numbers(events) == ["bare", *range(1, 41), "result"]
            refused = await client.get(events[0].id or "")
            assert refused.status == 409
            held = (await refused.json())["error"]["data"]["held"]
            assert held["last"] - held["mark"] == PATIENT.window_events
            cursor = events[0].id or ""
            granted = await (await client.get(at_seq(cursor, held["mark"]))).rest()
            assert numbers(granted) == ["bare", *range(26, 41), "result"]
            answer = await client.get(at_seq(cursor, held["mark"] - 1))
            assert await answer.refusal() == (409, "cursor-out-of-window")

    asyncio.run(run())


def test_a_policy_may_refuse_cursors_with_404() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, refusal_status=404)) as running:
            client = await connect(running)
            cursor = last_id(await (await client.call("reattach_emit", count=1)).rest())
            answer = await client.get(at_seq(cursor, 999))
            assert await answer.refusal() == (404, "cursor-ahead")

    asyncio.run(run())


def test_streams_and_sessions_have_limits() -> None:
    async def run() -> None:
        async with server(evolve(PATIENT, open_streams=3, sessions=2)) as running:
            client = await connect(running)
            await connect(running)
            third = await Client(parse_url(running.url)).request("initialize", initialize_params("2025-11-25"), "i")
            assert third.status == 503
            said = await third.json()
            assert (said["id"], said["error"]["data"]["reason"]) == ("i", "sessions-exhausted")
            for identifier in (1, 2):
                await client.call("reattach_emit", identifier, count=1, interval_ms=60_000)
            refused = await client.call("reattach_emit", "third", count=1)
            assert refused.status == 503
            said = await refused.json()
            assert (said["id"], said["error"]["data"]["reason"]) == ("third", "streams-exhausted")
            assert (await client.send("DELETE")).status == 204  # which makes room for a session
            assert await connect(running)

    asyncio.run(run())


def test_the_questions_are_asked_in_the_standards_order() -> None:
    async def run() -> None:
        async with server(tokens={"alice": "a-secret"}) as running:
            client = await connect(running, headers={"Authorization": "Bearer a-secret"})
            wrong = {
                "Origin": "https://example.com",
                "Authorization": "Bearer wrong",
                "MCP-Protocol-Version": "2099-01-01",
                "Mcp-Session-Id": "never-issued",
            }
            expected = [
                (403, "origin-forbidden"),
                (401, "unauthenticated"),
                (400, "version-unsupported"),
                (404, "session-unknown"),
            ]
            for refusal in expected:
                answer = await client.get("malformed", headers=wrong)
                assert await answer.refusal() == refusal
                del wrong[next(iter(wrong))]
            assert await (await client.get("malformed")).refusal() == (400, "cursor-malformed")

    asyncio.run(run())
