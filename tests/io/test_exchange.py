"""Exchanges in HTTP terms."""

from reattach.io.exchange import describe_message, exchange_lines, steps_of
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Exited,
    Frame,
    Json,
    Observation,
    Party,
    Printed,
    Quiet,
    Request,
    Response,
    Restarted,
    Settled,
)
from reattach.oracle.verdict import Report


def frames(count: int, connection: int = 1) -> list[Observation]:
    return [Frame(at=n, connection=connection, id=str(n), payload={"n": n}, has_data=True) for n in range(count)]


def texts(*observations: Observation) -> list[str]:
    return [step.text for step in steps_of(observations)]


def test_a_whole_exchange(report: Report) -> None:
    lines = exchange_lines(report.findings[0])
    assert lines == [
        '     0 ms  A > POST tools/call id 3 reattach_emit {"count": 9}',
        "     0 ms  A >   Mcp-Session-Id: c9f09f890cb2454b9abe017cbc48367b",
        "     0 ms  A >   MCP-Protocol-Version: 2025-11-25",
        "     0 ms  A . this call owes 2 messages (numbered)",
        "     4 ms  A < 200 text/event-stream",
        "     4 ms  A <   id: c9f09f..7b.1.1  retry: 500  (no message)",
        r"     7 ms  A <   id: c9f09f..7b.1.2  notifications/message \u001b[31mred#2",
        "     8 ms  A <   ... 5 more events",
        r"    13 ms  A <   id: c9f09f..7b.1.8  notifications/message \u001b[31mred#8",
        r"    14 ms  A <   id: c9f09f..7b.1.9  notifications/message \u001b[31mred#9",
        "    20 ms  A . cut by the client",
        "    21 ms  B > GET (as two)",
        "    21 ms  B >   Mcp-Session-Id: 0b33aa890cb2454b9abe017cbc48367b",
        "    21 ms  B >   Last-Event-ID: 0b33aa..7b.1.9",
        "    25 ms  B < 200 text/event-stream",
        "    25 ms  B <   : c9f09f890cb2454b9abe017cbc48367b sent Bearer hunter22hunter22",
        '    26 ms  B <   id: c9f09f..b.1.10  result id 3 [{"type": "text", "text": "sent 9"}]'
        "   <== cross-session-leak",
    ]


def test_the_last_observation_is_marked_and_never_left_out() -> None:
    steps = steps_of(frames(40))
    assert [step.wrong for step in steps] == [False] * (len(steps) - 1) + [True]
    assert steps[-1].text.endswith('{"n": 39}')
    assert len(steps) == 6


def test_few_events_are_all_shown() -> None:
    assert len(steps_of([*frames(6), Quiet(at=9, connection=1, waited=5)])) == 7


def test_events_of_two_connections_are_not_counted_together() -> None:
    mixed = [frame for pair in zip(frames(8, 1), frames(8, 2), strict=True) for frame in pair]
    assert len(steps_of(mixed)) == 16


def test_nothing_gives_nothing() -> None:
    assert steps_of([]) == ()


def test_headers_that_say_little_or_too_much() -> None:
    lines = texts(Request(at=0, connection=1, method="GET", cursors=("", "a" * 9_000, "\u0664"), origin="http://evil"))
    assert lines[1] == "  Origin: http://evil"
    assert lines[2] == "  Last-Event-ID: (empty)"
    assert lines[3].startswith("  Last-Event-ID: aaaaaa")
    assert max(map(len, lines)) <= 78
    assert lines[4] == "  Last-Event-ID: \u0664"


def test_what_repeats_itself_is_shown_once() -> None:
    post = {"method": "POST", "revision": "2025-11-25"}
    assert texts(
        Request(at=0, connection=1, method="POST", rpc_method="initialize"),
        Response(at=0, connection=1, status=200, session="one"),
        Request(at=0, connection=2, session="one", **post),  # type: ignore[arg-type]
        Response(at=0, connection=2, status=200, session="one"),
        Request(at=0, connection=3, session="one", **post),  # type: ignore[arg-type]
        Response(at=0, connection=3, status=200, session="two"),
        Request(at=0, connection=4, method="GET", session="one", revision="2025-06-18"),
    ) == [
        "POST initialize",
        "200",
        "  Mcp-Session-Id: one",
        "POST",
        "  Mcp-Session-Id: one",
        "  MCP-Protocol-Version: 2025-11-25",
        "200",
        "POST",
        "  Mcp-Session-Id: one",
        "200",
        "  Mcp-Session-Id: two",
        "GET",
        "  Mcp-Session-Id: one",
        "  MCP-Protocol-Version: 2025-06-18",
    ]


def test_long_ids_stay_apart() -> None:
    ids = ["a" * 20 + middle + "b" * 20 for middle in ("x", "y")]
    shown = texts(*(Frame(at=0, connection=1, id=each) for each in ids))
    assert len(set(shown)) == 2


def test_what_happened_to_a_connection() -> None:
    assert texts(
        Closed(at=0, connection=1, by=Party.SERVER),
        Closed(at=0, connection=2, by=Party.SERVER, clean=False),
        Closed(at=0, connection=3, by=Party.NETWORK, clean=False),
        Settled(at=0, connection=1, last=3),
        Restarted(at=0),
        Printed(at=0, payload={"applied": {"level": "info", "data": {"label": "a", "n": 2}}}),
        Printed(at=0, payload={"applied": {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"n": 1}}}),
        Printed(at=0, payload={"error": "lost", "call": "a"}),
        Printed(at=0, size=3),
        Exited(at=0, status=2),
        Exited(at=0),
        Comment(at=0, connection=3, text="\x1b]0;title\x07"),
        Body(at=0, connection=3, size=12),
        Body(at=0, connection=3, payload={"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "no"}}),
        Response(at=0, connection=3, status=500),
        Frame(at=0, connection=3, has_data=True, size=7),
    ) == [
        "ended by the server",
        "broken off by the server",
        "broken off by the network",
        "followed until the server had no more; the last connection was C",
        "the server was ended and started again",
        "the client says: applied notifications/message a#2",
        'the client says: applied notifications/progress {"n": 1}',
        'the client says: {"error": "lost", "call": "a"}',
        "the client says: 3 characters that are not of the contract",
        "the client is over, with exit status 2",
        "the client was not over in time, and was ended",
        "  : \\u001b]0;title\\u0007",
        "  a body of 12 bytes that is not JSON",
        '  error {"code": -1, "message": "no"}',
        "500",
        "  7 bytes that are not JSON",
    ]


def test_connections_after_the_twenty_sixth() -> None:
    steps = steps_of([Closed(at=0, connection=n, by=Party.CLIENT) for n in range(28)])
    assert [steps[0].connection, steps[25].connection, steps[26].connection, steps[27].connection] == [
        "A",
        "Z",
        "AA",
        "AB",
    ]


def test_messages_in_a_few_words() -> None:
    initialize: Json = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {}}}
    assert describe_message(initialize) == 'result id 1 {"protocolVersion": "2025-11-25"}'
    assert describe_message({"jsonrpc": "2.0", "id": "a", "result": {}}) == 'result id "a" {}'
    assert describe_message({"jsonrpc": "2.0", "method": "ping"}) == "ping"
    asked: Json = {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}
    assert describe_message(asked) == 'initialize id 1 {"protocolVersion": "2025-11-25"}'
    other: Json = {"method": "notifications/message", "params": {"level": "info", "data": {"label": 1, "n": 2, "x": 3}}}
    assert describe_message(other) == 'notifications/message {"label": 1, "n": 2, "x": 3}'
    assert describe_message({"method": "notifications/x", "params": [1]}) == "notifications/x [1]"
    assert describe_message([1, None]) == "[1, null]"
    assert describe_message({"id": 1, "result": {"text": "y" * 100}}) == (
        f'result id 1 {{"text": "{"y" * 24}... (100 characters)"}}'
    )
