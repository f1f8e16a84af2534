"""What passing traffic shows of clients: of right ones nothing, of wrong ones their class."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.watch.ground import CALL, LAST, REGISTRY, Stand, chunk, event, get, post, run, standing, streaming

from reattach.live.watch import watcher
from reattach.live.watch.clients import ON_THE_WIRE
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.clients.beside import ATTEMPTS_MOST
from reattach.oracle.verdict import Outcome

SESSION = "S" * 32
TAG = b"kQ3vZ8pL1mXw5RtB9cYd2e"


def ours(number: int, **message: Any) -> bytes:
    """An event whose id is in the standard's grammar: of others the machine's client knows no place to wait at."""
    return event(number, **message).replace(b"id: e", b"id: " + TAG + b".2.")


async def cut_call(stand: Stand, *events: bytes) -> None:
    """A call whose stream the server breaks off after some events."""
    client, server = await streaming(stand, post(CALL, session=SESSION))
    await server.send(b"".join(chunk(each) for each in events))
    for each in events:
        assert await client.chunk() == each
    server.close()
    await client.rest()


async def resume(stand: Stand, cursor: str, *events: bytes) -> None:
    client = await stand.client()
    await client.send(get(f"Mcp-Session-Id: {SESSION}", f"Last-Event-ID: {cursor}"))
    server = await stand.server()
    await server.request()
    await server.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    await server.send(b"".join(chunk(each) for each in events) + LAST)
    await client.read(LAST)
    client.close()
    server.close()


async def well(stand: Stand) -> None:
    await cut_call(stand, b"id: p\ndata:\n\n", event(1))
    await resume(stand, "e1", event(2), event(9, id=7, result={}))


async def hasty(stand: Stand) -> None:
    await cut_call(stand, b"id: " + TAG + b".2.1\nretry: 5000\ndata:\n\n", ours(2))
    await resume(stand, TAG.decode() + ".2.2", ours(3), ours(4, id=7, result={}))


async def storming(stand: Stand) -> None:
    await cut_call(stand, event(1))
    for _ in range(ATTEMPTS_MOST + 2):
        await resume(stand, "e1")


async def late(stand: Stand) -> None:
    await cut_call(stand, event(1))
    await resume(stand, "e1", event(9, id=7, result={}))
    await resume(stand, "e9")


async def told_too_late(stand: Stand) -> None:
    """The last ``retry`` came alone, and perhaps not at all: the connection broke upon it."""
    await cut_call(stand, b"id: " + TAG + b".2.1\nretry: 1\ndata:\n\n", ours(2), b"retry: 5000\n\n")
    await resume(stand, TAG.decode() + ".2.2", ours(3), ours(4, id=7, result={}))


async def unread(stand: Stand) -> None:
    """An event is larger than what is looked at, and the cursor comes after it."""
    await cut_call(stand, ours(1), ours(2, method="x", params={"text": "x" * 2_000}), ours(3))
    await resume(stand, TAG.decode() + ".2.3", ours(4), ours(5, id=7, result={}))


WRONG = {
    "hasty": (hasty, "CLI-" + "4", "retry-ignored"),
    "storming": (storming, "CLI-" + "11", "client-reconnect-storm"),
    "late": (late, "CLI-" + "10", "resume-after-result"),
}


def test_a_client_that_does_well_breaks_nothing() -> None:
    async def work() -> None:
        async with standing() as stand:
            await well(stand)
            assert stand.proxy is not None
            clauses, findings = stand.proxy.watcher.clients.results(NEWEST_WITH_RESUMPTION)
            assert findings == ()
            outcomes = {each.clause: each.outcome for each in clauses}
            assert outcomes["CLI-" + "5"] is outcomes["CLI-" + "10"] is Outcome.HELD
            assert all(outcomes[each] is Outcome.NOT_OBSERVED for each in outcomes.keys() - set(ON_THE_WIRE))

    run(work())


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_client_is_found(name: str) -> None:
    play, clause, fault = WRONG[name]

    async def work() -> None:
        async with standing() as stand:
            await play(stand)
            assert stand.proxy is not None
            told = {each.clause for each in stand.findings}
            _, findings = stand.proxy.watcher.clients.results(NEWEST_WITH_RESUMPTION)
            assert [(each.clause, each.fault.value) for each in findings] == [(clause, fault)]
            assert (clause in told) is (name == "storming")  # a storm is told while it lasts

    run(work())


@pytest.mark.parametrize("play", [told_too_late, unread])
def test_what_a_client_may_not_have_had_is_not_held_against_it(
    play: Callable[[Stand], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "LARGEST", 1_000)

    async def work() -> None:
        async with standing() as stand:
            await play(stand)
            assert stand.proxy is not None
            assert stand.proxy.watcher.clients.results(NEWEST_WITH_RESUMPTION)[1] == ()

    run(work())


def test_what_is_judged_on_the_wire_are_clauses_about_clients() -> None:
    assert set(ON_THE_WIRE) <= set(REGISTRY)
