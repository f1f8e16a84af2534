"""Two sessions that use the same JSON-RPC ids on purpose: neither may see anything of the other."""

import asyncio

from reattach.live.bench import Bench
from reattach.live.experiments.registry import Need, Parameters, experiment
from reattach.live.view import CutPlan

_NEEDS = [Need.SESSIONS, Need.STIMULUS]


@experiment("same-ids-resumed", "SES-5", "DEL-3", "DEL-2", "EVT-1", needs=_NEEDS)
async def same_ids_resumed(bench: Bench, _: Parameters) -> None:
    """The same request id in two sessions; both calls cut while running, each resumed with its own cursor."""
    first_id = bench.take_ids()
    sessions = [await bench.session(first_id=first_id) for _ in range(2)]
    rpc_id = first_id + 100
    calls = [
        await bench.call(session, count=12, interval_ms=25, rpc_id=rpc_id, plan=CutPlan(cut))
        for session, cut in zip(sessions, (3, 5), strict=True)
    ]
    for call in calls:
        await call.post.over(bench.pace.patience_ms)
        if call.cursor is not None:
            await call.resume()
    await asyncio.gather(*(call.follow(to_the_end=False) for call in calls))


@experiment("same-ids-finished", "SES-5", "CUR-3", "CUR-9", "CUR-10", "DEL-3", "MOD-1", needs=_NEEDS)
async def same_ids_finished(bench: Bench, _: Parameters) -> None:
    """The same request id in two sessions, calls finished: each resumed from its first id, then from the other's."""
    first_id = bench.take_ids()
    sessions = [await bench.session(first_id=first_id) for _ in range(2)]
    rpc_id = first_id + 100
    calls = [await bench.call(session, count=4, rpc_id=rpc_id) for session in sessions]
    await asyncio.gather(*(call.follow(to_the_end=False) for call in calls))
    for session, own, other in (
        (sessions[0], calls[0], calls[1]),
        (sessions[1], calls[1], calls[0]),
    ):
        for cursor in own.ids[:1]:
            await bench.look(await session.listen(cursor))
        for cursor in dict.fromkeys((*other.ids[:1], *other.ids[-1:])):
            await bench.look(await session.listen(cursor))
        await bench.ping(session)


@experiment("foreign-while-running", "SES-5", "CUR-3", "CUR-10", needs=_NEEDS)
async def foreign_while_running(bench: Bench, _: Parameters) -> None:
    """The cursor of a call that runs in another session, whose own connection stays open."""
    owner, thief = await bench.session(), await bench.session()
    call = await bench.call(owner, count=30, interval_ms=30)
    await call.events(5)
    if call.cursor is not None:
        await bench.look(await thief.listen(call.cursor))
    await call.follow()
    await bench.ping(thief)


@experiment("same-standalone", "SES-5", "CUR-3", "DEL-3", needs=[Need.SESSIONS, Need.PUSHES])
async def same_standalone(bench: Bench, _: Parameters) -> None:
    """The standalone streams of two sessions, each cut and resumed with its own cursor, then with the other's."""
    sessions = [await bench.session() for _ in range(2)]
    listeners = [await session.listen() for session in sessions]
    for session in sessions:
        await bench.push(session, 2)
    for view in listeners:
        await view.wait(lambda seen: len(seen.messages) >= 2, bench.pace.patience_ms)
        await view.cut()
    for session in sessions:
        await bench.push(session, 2)
    cursors = [view.cursor for view in listeners]
    for session, own, other in ((sessions[0], cursors[0], cursors[1]), (sessions[1], cursors[1], cursors[0])):
        for cursor in (own, other):
            if cursor is not None:
                await bench.look(await session.listen(cursor))
        await bench.ping(session)
