"""Views: where they are cut, what is recorded, and what stopping to read does."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.live.scripted import STREAM_HEAD, Handler, Received, chunk, head, serve, whole

from reattach.live.client import Client
from reattach.live.recorder import Recorder
from reattach.live.view import CutPlan, View
from reattach.live.wire import Cut, parse_url
from reattach.machine.revision import Revision
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Frame,
    Observation,
    Party,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
)
from reattach.oracle.verdict import Finding

BOUND = 20


class Notes:
    """A judge that only writes down what it is shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Observation]] = []

    def observe(self, observation: Observation, *, experiment: str = "") -> Sequence[Finding]:
        self.seen.append((experiment, observation))
        return ()

    def of(self, view: View) -> list[Observation]:
        return [one for _, one in self.seen if one.connection == view.connection]

    def kinds(self, view: View) -> list[type]:
        return [type(one) for one in self.of(view)]


def client(url: str) -> tuple[Client, Notes]:
    notes = Notes()
    return Client(parse_url(url), Recorder(notes), Revision.R2025_11_25, experiment="a test"), notes


def block(number: int) -> bytes:
    return f'id: {number}\ndata: {{"n": {number}}}\n\n'.encode()


def streaming(*pieces: bytes, end: bool = True) -> Handler:
    """A server that sends these pieces as chunks of an event stream; without ``end`` it then waits."""

    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for piece in pieces:
            writer.write(chunk(piece))
        await writer.drain()
        if end:
            writer.write(chunk(b""))
            await writer.drain()
        else:
            await asyncio.sleep(BOUND)

    return answer


def test_a_stream_is_recorded_in_order() -> None:
    async def run() -> None:
        pieces = [b": hello\n\n", b"id: p\nretry: 50\ndata:\n\n", block(1)[:9], block(1)[9:], b"data: x\n\n"]
        async with asyncio.timeout(BOUND), serve(streaming(*pieces)) as server:
            made, notes = client(server.url)
            view = await made.send("GET", session="s", cursors=("a", "b"))
            assert await view.over(BOUND * 1000)
            request, response, comment, priming, event, text, closed = notes.of(view)
            assert isinstance(request, Request)
            assert (request.method, request.session, request.cursors) == ("GET", "s", ("a", "b"))
            assert request.revision == "2025-11-25"
            assert isinstance(response, Response)
            assert (response.status, response.content_type) == (200, "text/event-stream")
            assert isinstance(comment, Comment)
            assert comment.text == "hello"
            assert isinstance(priming, Frame)
            assert (priming.id, priming.retry, priming.payload, priming.has_data) == ("p", 50, None, False)
            assert isinstance(event, Frame)
            assert (event.id, event.payload, event.has_data, event.size) == ("1", {"n": 1}, True, 8)
            assert isinstance(text, Frame)
            assert (text.id, text.payload, text.has_data) == (None, None, True)
            assert isinstance(closed, Closed)
            assert (closed.by, closed.clean) == (Party.SERVER, True)
            assert {tag for tag, _ in notes.seen} == {"a test"}
            assert view.cursor == "1"

    asyncio.run(run())


@pytest.mark.parametrize("events", [0, 1, 3])
@pytest.mark.parametrize("inside", [0, 5])
def test_a_cut_is_where_the_plan_says(events: int, inside: int) -> None:
    """All five events are in the kernel's buffer at once; none beyond the cut is seen."""

    async def run() -> None:
        async with asyncio.timeout(BOUND), serve(streaming(b"".join(map(block, range(1, 6))), end=False)) as server:
            made, notes = client(server.url)
            view = await made.send("GET", plan=CutPlan(events, inside, Cut.RESET))
            assert await view.over(BOUND * 1000)
            assert [frame.id for frame in view.frames] == [str(number) for number in range(1, events + 1)]
            assert view.cut_short
            assert notes.kinds(view) == [Request, Response, *[Frame] * events, Closed]
            assert view.closed is not None
            assert view.closed.by is Party.CLIENT

    asyncio.run(run())


def test_a_cut_inside_an_event_waits_for_its_bytes() -> None:
    """The event after the cut is sent in two halves: the cut comes with the first and the event is never seen."""

    async def run() -> None:
        half = asyncio.Event()
        rest = asyncio.Event()

        async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(STREAM_HEAD + chunk(block(1)))
            await writer.drain()
            await half.wait()
            writer.write(chunk(block(2)[:6]))
            await writer.drain()
            await rest.wait()

        async with asyncio.timeout(BOUND), serve(answer) as server:
            made, _ = client(server.url)
            view = await made.send("GET", plan=CutPlan(1, inside=6))
            assert await view.wait(lambda seen: len(seen.frames) == 1, BOUND * 1000)
            assert view.closed is None
            half.set()
            assert await view.over(BOUND * 1000)
            assert [frame.id for frame in view.frames] == ["1"]
            rest.set()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "clean"),
    [
        (STREAM_HEAD + chunk(block(1) + block(2)[:9]) + chunk(b""), True),
        (STREAM_HEAD + chunk(block(1) + block(2)[:9]), False),
        (STREAM_HEAD + chunk(block(1)) + b"5\r\nab", False),
    ],
    ids=["end-inside-an-event", "no-end", "inside-a-chunk"],
)
def test_how_the_server_ended_it_is_recorded(answer: bytes, clean: bool) -> None:
    async def run() -> None:
        async def send(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(answer)
            await writer.drain()

        async with asyncio.timeout(BOUND), serve(send) as server:
            made, notes = client(server.url)
            view = await made.send("GET")
            assert await view.over(BOUND * 1000)
            assert notes.kinds(view) == [Request, Response, Frame, Closed]
            assert view.closed is not None
            assert (view.closed.by, view.closed.clean) == (Party.SERVER, clean)

    asyncio.run(run())


def test_a_body_that_is_no_stream_is_recorded_whole() -> None:
    async def run() -> None:
        async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(whole(409, "application/json; charset=utf-8", b'{"id": 7, "error": {}}'))
            await writer.drain()

        async with asyncio.timeout(BOUND), serve(answer) as server:
            made, notes = client(server.url)
            view = await made.send("POST", message={"jsonrpc": "2.0", "id": 7, "method": "ping"})
            assert await view.over(BOUND * 1000)
            request, response, body, _ = notes.of(view)
            assert isinstance(request, Request)
            assert (request.rpc_id, request.rpc_method) == (7, "ping")
            assert isinstance(response, Response)
            assert (response.status, response.content_type) == (409, "application/json")
            assert isinstance(body, Body)
            assert (body.payload, body.size) == ({"id": 7, "error": {}}, 22)
            assert view.answers(7)
            assert not view.answers(8)

    asyncio.run(run())


def test_silence_is_recorded_and_a_heartbeat_does_not_break_it() -> None:
    async def run() -> None:
        async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(STREAM_HEAD + chunk(block(1)))
            while not writer.transport.is_closing():
                writer.write(chunk(b": heartbeat\n\n"))
                await writer.drain()
                await asyncio.sleep(0.01)

        async with asyncio.timeout(BOUND), serve(answer) as server:
            made, notes = client(server.url)
            view = await made.send("GET")
            assert await view.wait(lambda seen: len(seen.frames) == 1, BOUND * 1000)
            assert await view.quiet(100, BOUND * 1000)
            quiet = notes.of(view)[-1]
            assert isinstance(quiet, Quiet)
            assert quiet.waited >= 100
            assert len(view.comments) > 1
            await view.cut()

    asyncio.run(run())


def test_events_break_a_silence() -> None:
    async def run() -> None:
        async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(STREAM_HEAD)
            for number in range(1, 1_000_000):
                writer.write(chunk(block(number)))
                await writer.drain()
                await asyncio.sleep(0.005)

        async with asyncio.timeout(BOUND), serve(answer) as server:
            made, notes = client(server.url)
            view = await made.send("GET")
            assert not await view.quiet(1_000, 100)
            assert Quiet not in notes.kinds(view)
            await view.cut()

    asyncio.run(run())


def test_no_answer_is_silence_before_a_response() -> None:
    async def run() -> None:
        async def answer(_: Received, __: asyncio.StreamWriter) -> None:
            await asyncio.sleep(BOUND)

        async with asyncio.timeout(BOUND), serve(answer) as server:
            made, notes = client(server.url)
            view = await made.send("GET")
            assert not await view.answered(50)
            assert notes.kinds(view) == [Request, Quiet]
            await view.cut()

    asyncio.run(run())


def test_a_paused_reader_sees_nothing_until_it_goes_on() -> None:
    async def run() -> None:
        go = asyncio.Event()

        async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(STREAM_HEAD + chunk(block(1)))
            await writer.drain()
            await go.wait()
            writer.write(chunk(block(2)) + chunk(b""))
            await writer.drain()

        async with asyncio.timeout(BOUND), serve(answer) as server:
            made, notes = client(server.url)
            view = await made.send("GET")
            assert await view.wait(lambda seen: len(seen.frames) == 1, BOUND * 1000)
            view.pause()
            view.pause()
            go.set()
            assert not await view.wait(lambda seen: len(seen.frames) == 2, 200)
            view.resume()
            assert await view.over(BOUND * 1000)
            assert notes.kinds(view) == [Request, Response, Frame, ReadPaused, ReadResumed, Frame, Closed]

    asyncio.run(run())


def test_a_request_that_finds_no_server_is_recorded_as_broken() -> None:
    async def run() -> None:
        async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(200, {}))

        async with serve(answer) as server:
            url = server.url
        made, notes = client(url)
        with pytest.raises(Exception, match="cannot connect"):
            await made.send("GET")
        assert [type(one) for _, one in notes.seen] == [Request, Closed]
        closed = notes.seen[-1][1]
        assert isinstance(closed, Closed)
        assert closed.by is Party.NETWORK

    asyncio.run(run())


def test_a_fault_of_the_reader_is_not_taken_for_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(View, "_take", broken)

    async def run() -> None:
        async with asyncio.timeout(BOUND), serve(streaming(block(1), end=False)) as server:
            made, _ = client(server.url)
            view = await made.send("GET")
            with pytest.raises(ZeroDivisionError):
                await view.wait(lambda seen: len(seen.frames) == 1, 200)
            await view.cut()

    asyncio.run(run())
