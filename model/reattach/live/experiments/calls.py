"""One call, cut and resumed: after every event, while it runs, after it has ended, and more than once."""

import asyncio
import random
from collections.abc import Sequence

from reattach.live.bench import Bench, Call, progress
from reattach.live.experiments.registry import Need, Parameters, experiment, integer
from reattach.live.stimulus import CLOSE
from reattach.live.view import CutPlan

_CALL = [Need.STIMULUS]
_RESUMED = [Need.SESSIONS, Need.STIMULUS]


@experiment("uncut-call", "SES-1", "EVT-1", "EVT-2", "EVT-3", "EVT-5", "DEL-4", "DEL-5", "DEL-6", "DEL-7", needs=_CALL)
async def uncut_call(bench: Bench, _: Parameters) -> None:
    """A call that is left alone, beside an open listener."""
    session = await bench.session()
    listener = await session.listen()
    call = await bench.call(session, count=6, interval_ms=5)
    await call.follow()
    await bench.look(listener)


def _each_cut(_: random.Random) -> Sequence[Parameters]:
    return [{"after": after} for after in range(1, 9)]


@experiment(
    "cut-after-each-event",
    *("DEL-1", "DEL-2", "DEL-3", "DEL-9", "ATT-1", "ATT-4", "EVT-4", "EVT-6", "CUR-8", "MOD-1", "GET-1"),
    needs=_RESUMED,
    plan=_each_cut,
)
async def cut_after_each_event(bench: Bench, parameters: Parameters) -> None:
    """A call cut after its n-th event, resumed once it has finished, then resumed from each earlier id."""
    after = integer(parameters, "after")
    session = await bench.session()
    call = await bench.call(session, count=6, plan=CutPlan(after, inside=(after * 7) % 40))
    await call.post.over(bench.pace.patience_ms)
    if call.cursor is None:
        await call.follow()
        return
    # Let the call run to its end without us, so that what is resumed is a finished stream.
    await bench.ping(session)
    await asyncio.sleep(bench.pace.quiet_ms / 1000)
    await call.resume()
    await call.follow()
    if after in (1, 4):
        for cursor in call.ids:
            view = await session.listen(cursor)
            await progress(view, lambda seen: seen.answers(call.post.request.rpc_id), bench.pace.patience_ms)
            await bench.look(view)


@experiment(
    "resume-while-running",
    *("DEL-1", "DEL-2", "DEL-6", "DEL-7", "DEL-8", "ATT-1", "ATT-4", "EVT-4", "EVT-6"),
    needs=_RESUMED,
)
async def resume_while_running(bench: Bench, _: Parameters) -> None:
    """A call cut early and resumed at once, with most of its events still to come."""
    session = await bench.session()
    call = await bench.call(session, count=20, interval_ms=40, plan=CutPlan(4))
    await call.post.over(bench.pace.patience_ms)
    if call.cursor is not None:
        await call.resume()
    await call.follow()


@experiment("resume-twice", "DEL-1", "DEL-2", "EVT-4", "ATT-1", "ATT-4", "DEL-6", needs=_RESUMED)
async def resume_twice(bench: Bench, _: Parameters) -> None:
    """A running call resumed twice in a row from one cursor, the first resumption cut before it brought anything."""
    session = await bench.session()
    call = await bench.call(session, count=20, interval_ms=40, plan=CutPlan(4))
    await call.post.over(bench.pace.patience_ms)
    cursor = call.cursor
    if cursor is not None:
        await call.resume(cursor, plan=CutPlan(0))
        await call.last.over(bench.pace.patience_ms)
        await call.resume(cursor, plan=CutPlan(3))
        await call.last.over(bench.pace.patience_ms)
        await call.last.cut()
        await call.resume(cursor)
    await call.follow()


@experiment("resume-finished", "DEL-9", "CUR-8", "EVT-4", "EVT-6", "DEL-1", "DEL-2", needs=_RESUMED)
async def resume_finished(bench: Bench, _: Parameters) -> None:
    """A call read to its end, then resumed from its newest id, from its first, and from what a resumption added."""
    session = await bench.session()
    call = await bench.call(session, count=4)
    await call.follow()
    if not call.ids:
        return
    newest, first = call.ids[-1], call.ids[0]
    view = await session.listen(newest)
    await bench.end(view)
    for cursor in dict.fromkeys([first, *(frame.id for frame in view.frames if frame.id)]):
        view = await session.listen(cursor)
        await bench.end(view)


@experiment("closed-by-the-server", "IDL-5", "ATT-4", "DEL-2", needs=[Need.SESSIONS, Need.CLOSES])
async def closed_by_the_server(bench: Bench, _: Parameters) -> None:
    """A call whose stream the server closes before the response, which the client then comes back for."""
    session = await bench.session()
    view = await session.request("tools/call", {"name": CLOSE, "arguments": {}})
    await Call(bench, session, view, [view], None, False).follow()


@experiment("two-calls", "DEL-3", "DEL-4", "DEL-5", "DEL-2", "DEL-1", "EVT-1", "EVT-2", needs=_RESUMED)
async def two_calls(bench: Bench, _: Parameters) -> None:
    """Two calls at once beside a listener; both cut, each resumed with its own cursor."""
    session = await bench.session()
    listener = await session.listen()
    calls = [await bench.call(session, count=12, interval_ms=25, plan=CutPlan(cut)) for cut in (3, 6)]
    for call in calls:
        await call.post.over(bench.pace.patience_ms)
    for call in calls:
        if call.cursor is not None:
            await call.resume()
    await asyncio.gather(*(call.follow() for call in calls))
    await bench.look(listener)


@experiment("declared-client", "ATT-1", "DEL-2", "EVT-6", needs=_RESUMED)
async def declared_client(bench: Bench, _: Parameters) -> None:
    """A client that declares the capability ``reattach``: a call cut and resumed."""
    session = await bench.session(capabilities={"experimental": {"reattach": {}}})
    call = await bench.call(session, count=6, interval_ms=20, plan=CutPlan(3))
    await call.post.over(bench.pace.patience_ms)
    if call.cursor is not None:
        await call.resume()
    await call.follow()


@experiment("cancelled-call", "DEL-7", needs=_RESUMED)
async def cancelled_call(bench: Bench, _: Parameters) -> None:
    """A running call is cancelled; its stream is then read until it ends or is quiet."""
    session = await bench.session()
    call = await bench.call(session, count=100, interval_ms=30)
    await call.events(3)
    view = await session.send(
        "POST",
        message={
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": call.post.request.rpc_id, "reason": "the probe cancels it"},
        },
    )
    await view.answered(bench.client.answer_ms)
    await view.cut()
    await bench.end(call.post)
