"""What a middlebox does to the contract, seen from both of its sides: a client of ours, and the reference server.

Nothing here goes by the clock alone: whether a message is held back is told by what the server is doing at the moment
at which the client gets it.
"""

import asyncio
import contextlib
import json
import shlex
from collections.abc import AsyncIterator, Callable, Sequence

from attrs import evolve, frozen
from tests.matrix.manifest import Middlebox, Variant

from reattach.live.client import Client, Session
from reattach.live.recorder import Recorder
from reattach.live.serve import Running, ServeOptions, serving
from reattach.live.server.settings import Settings
from reattach.live.target import Command
from reattach.live.view import CutPlan, View
from reattach.live.wire import parse_url
from reattach.machine.policy import Policy
from reattach.machine.revision import Revision
from reattach.machine.session import Stream, StreamKind
from reattach.oracle.message import is_response
from reattach.oracle.observation import Json, Observation
from reattach.oracle.verdict import Finding

COUNT = 3
INTERVAL_MS = 800
"""So long a call is going on after each of its messages but the last."""
QUIET_MS = 2_500
BOUND_MS = 30_000
"""The bound on waiting for what has to come: a gateway may start programs before it answers."""
HEAD_MS = 5_000
"""That on waiting for the head of a GET's response, which need not come."""
ELSEWHERE_MS = 2_000
"""That on waiting for messages of a call that have not come on its stream, and may come on the standalone one."""
STARTING_MS = 60_000
OFTEN = evolve(Policy(), heartbeat_ms=300, retry_ms=200)
"""A policy with heartbeats more often than any timeout here."""
SELDOM = evolve(OFTEN, heartbeat_ms=50_000)
"""One with none during a quiet call."""


@frozen(kw_only=True)
class Effects:
    """What was seen of a middlebox. Every text is a cell of the page."""

    session: str
    """Whose session id the client has."""
    ids: str
    """Whose event ids."""
    priming: str
    """Whether the event that gives a client its first cursor comes before the first message is there."""
    messages: str
    """What came of a call's messages on its stream, and when."""
    listening: str
    """What a plain GET gets."""
    moved: int
    """How many of a call's messages came on the standalone stream."""
    crossed: int
    """How many of one call's came on the stream of another."""
    resumed: str
    """What a client gets that is cut and resumes."""
    goodbye: str
    """What DELETE does."""
    quiet: str
    """A call of which nothing comes for ``QUIET_MS``."""
    heartbeats: str
    """The same where the server sends comments meanwhile."""


class _Unjudged:
    def observe(self, observation: Observation, *, experiment: str = "") -> Sequence[Finding]:
        return ()


@contextlib.asynccontextmanager
async def behind(box: Middlebox | None, variant: Variant | None, upstream: str, port: int = 0) -> AsyncIterator[str]:
    """Start a middlebox in front of a server, and end it; the URL to use, which is the server's if there is no box."""
    if box is None:
        yield upstream
        return
    words = box.command(variant.run if variant is not None else box.run)
    line = shlex.join(word.replace("{upstream}", upstream) for word in words)
    command = Command(line, path=box.path, start_ms=STARTING_MS, port=port)
    await command.start()
    try:
        yield f"http://{command.endpoint.authority}{box.path}"
    finally:
        await command.stop()


async def observe(box: Middlebox | None, variant: Variant | None = None) -> Effects:
    """Everything once, each part with a server and a middlebox of its own making where a policy is."""
    async with _through(box, variant, OFTEN) as (running, session):
        whose = "the server's" if session.id in running.endpoint.host.session_names else "its own"
        standalone = await session.send("GET")
        await standalone.answered(HEAD_MS)
        alone = await _alone(running, session)
        await standalone.wait(lambda seen: alone.count + len(_of("alone", seen)) >= COUNT, ELSEWHERE_MS)
        moved = len(_of("alone", standalone))
        await standalone.cut()
        crossed = await _crossed(session)
        resumed = await _resumed(session)
        heartbeats = await _quiet(session)
        goodbye = await _goodbye(running, session)
    async with _through(box, variant, SELDOM) as (_, session):
        quiet = await _quiet(session)
    return Effects(
        session=whose if session.id is not None else "none",
        ids=alone.ids,
        priming=alone.priming,
        messages=alone.messages,
        listening="a stream" if standalone.is_stream else _status(standalone),
        moved=moved,
        crossed=crossed,
        resumed=resumed,
        goodbye=goodbye,
        quiet=quiet,
        heartbeats=heartbeats,
    )


@contextlib.asynccontextmanager
async def _through(
    box: Middlebox | None, variant: Variant | None, policy: Policy
) -> AsyncIterator[tuple[Running, Session]]:
    """A server, and a session with it through the middlebox."""
    async with (
        serving(ServeOptions(settings=Settings(policy=policy))) as running,
        behind(box, variant, running.url) as url,
    ):
        client = Client(parse_url(url), Recorder(_Unjudged()), Revision("2025-11-25"), answer_ms=BOUND_MS)
        session = await Session.open(client)
        await session.result("logging/setLevel", {"level": "debug"})
        try:
            yield running, session
        finally:
            await session.close()


async def _call(session: Session, label: str, *, count: int, interval_ms: int, plan: CutPlan | None = None) -> View:
    arguments: dict[str, Json] = {"count": count, "interval_ms": interval_ms, "label": label}
    return await session.request("tools/call", {"name": "reattach_emit", "arguments": arguments}, plan=plan)


def _of(label: str, view: View) -> list[Json]:
    """The messages of a call, its response aside, as they are or changed."""
    return [each for each in view.messages if not is_response(each) and label in json.dumps(each)]


def _going_on(running: Running) -> list[Stream]:
    """The calls that the server has not answered yet."""
    host = running.endpoint.host
    sessions = [session for name in host.session_names if (session := host.session(name)) is not None]
    return [
        stream
        for session in sessions
        for stream in session.streams
        if stream.kind is StreamKind.REQUEST and not stream.finished
    ]


@frozen(kw_only=True)
class _Alone:
    ids: str
    priming: str
    messages: str
    count: int


async def _alone(running: Running, session: Session) -> _Alone:
    view = await _call(session, "alone", count=COUNT, interval_ms=INTERVAL_MS)
    await view.wait(lambda seen: bool(seen.frames), BOUND_MS)
    bare = bool(view.frames) and not view.frames[0].has_data
    early = bare and all(stream.last == stream.first for stream in _going_on(running)) and bool(_going_on(running))
    await view.wait(lambda seen: bool(_of("alone", seen)), BOUND_MS)
    as_they_come = bool(_going_on(running))
    await view.wait(lambda seen: seen.answers(seen.request.rpc_id), BOUND_MS)
    mine = _of("alone", view)
    changed = ", changed" if any(not _as_sent(each) for each in mine) else ""
    when = (", as they come" if as_they_come else ", once the call is over") if mine else ""
    return _Alone(
        ids=_whose(running, view),
        priming=("at once" if early else "held back") if bare else "none",
        messages=f"{len(mine)} of {COUNT}{changed}{when}",
        count=len(mine),
    )


def _as_sent(message: Json) -> bool:
    """Whether the data of a log notification is the object that the server's tool sends."""
    params = message.get("params") if isinstance(message, dict) else None
    data = params.get("data") if isinstance(params, dict) else None
    return isinstance(data, dict) and "n" in data


def _status(view: View) -> str:
    return f"status {view.status}" if view.status is not None else "no answer"


def _whose(running: Running, view: View) -> str:
    host = running.endpoint.host
    tags = tuple(session.tag for name in host.session_names if (session := host.session(name)) is not None)
    ids = [frame.id for frame in view.frames if frame.id is not None]
    if not ids:
        return "none"
    return "the server's" if all(each.startswith(tags) for each in ids) else "its own"


async def _crossed(session: Session) -> int:
    """Two calls at once."""
    first, second = [await _call(session, label, count=COUNT, interval_ms=50) for label in ("first", "second")]
    for view in (first, second):
        await view.wait(lambda seen: seen.answers(seen.request.rpc_id), BOUND_MS)
    return len(_of("second", first)) + len(_of("first", second))


async def _resumed(session: Session) -> str:
    """A call that is cut after its priming, or after its second message where there is none, and resumed by GET."""
    count = 2 * COUNT
    view = await _call(session, "cut", count=count, interval_ms=100, plan=CutPlan(events=2, bare=True))
    await view.over(BOUND_MS)
    if view.answers(view.request.rpc_id):
        return "not cut: it was over"
    if view.cursor is None:
        return f"{len(_of('cut', view))} of {count} before the cut, and no id to resume by"
    again = await session.listen(view.cursor)
    await again.wait(lambda seen: seen.answers(view.request.rpc_id), BOUND_MS // 3)
    if not again.is_stream:
        return f"refused: {_status(again)}"
    came = len(_of("cut", view)) + len(_of("cut", again))
    answered = "and the response" if again.answers(view.request.rpc_id) else "no response"
    await again.cut()
    return f"{came} of {count}, {answered}"


async def _quiet(session: Session) -> str:
    view = await _call(session, "quiet", count=1, interval_ms=QUIET_MS)
    await view.wait(lambda seen: seen.answers(seen.request.rpc_id), BOUND_MS)
    if view.answers(view.request.rpc_id):
        return "answered"
    if view.status is not None and view.status != 200:
        return f"{_status(view)} before the answer"
    return "ended before the answer" if view.closed is not None else "no answer"


async def _goodbye(running: Running, session: Session) -> str:
    before = running.endpoint.host.session_names
    status = await session.delete()
    ended = await _until(lambda: len(running.endpoint.host.session_names) < len(before), BOUND_MS // 5)
    return f"{status}, and the server's session ends" if ended else f"{status}, and the server's session lives on"


async def _until(condition: Callable[[], bool], bound_ms: int) -> bool:
    """Wait for something that tells nobody when it happens."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(bound_ms / 1000):
            while not condition():
                await asyncio.sleep(0.02)
    return condition()
