"""More than one process: a restart of the server, and a second URL of the same deployment.

What is asked of both is the same: a stream is resumed without loss, or the session (or the cursor) is refused. Never a
silent gap, and never what another client was sent under an old cursor. The second needs ids that come again, so before
anything is resumed another session is made to have calls like those that are resumed: where ids are counted, by the
process or by the instance, they are the same then.
"""

import asyncio

from reattach.live.bench import Bench, Call
from reattach.live.client import Session
from reattach.live.experiments.registry import Cost, Need, Parameters, experiment
from reattach.live.view import CutPlan

_AGAIN = 3
"""How many calls are made so that ids that are counted come again."""


@experiment(
    "second-url",
    *("DEL-2", "DEL-8", "ATT-4", "SES-5", "EVT-1", "EVT-4", "CUR-10", "MOD-1"),
    needs=[Need.SESSIONS, Need.STIMULUS, Need.ALSO],
)
async def second_url(bench: Bench, _: Parameters) -> None:
    """A running call and a finished one, both cut, are followed through the other URL of the deployment alone."""
    assert bench.also is not None
    session = await bench.session()
    other = await bench.session(client=bench.also)
    finished = await _cut(bench, session)
    await asyncio.gather(*[(await bench.call(other, count=8)).follow(to_the_end=False) for _ in range(2)])
    running = await bench.call(session, count=20, interval_ms=25, plan=CutPlan(4))
    await running.post.over(bench.pace.patience_ms)
    # If the session is unknown there it is refused, and what comes then is no refusal of a cursor.
    await bench.ping(session, bench.also)
    for call in (running, finished):
        call.through = bench.also
        await _follow(call)
    await bench.ping(session, bench.also)
    await bench.ping(session)
    for call in (running, finished):
        # A client that is refused there may still come back here.
        call.through = None
        if not call.responded:
            await _follow(call)


@experiment(
    "restart",
    *("DEL-2", "DEL-8", "ATT-4", "SES-4", "SES-5", "EVT-1", "EVT-4", "CUR-3", "CUR-10", "MOD-1"),
    needs=[Need.SESSIONS, Need.STIMULUS, Need.RESTART],
    cost=Cost.ALONE,
)
async def restart(bench: Bench, _: Parameters) -> None:
    """The server is killed under a running call, one cut and one read to its end, and started; all are resumed."""
    assert bench.restart is not None
    # Once before, so that what a process counts from its start is small, and comes again after the next.
    await bench.restart()
    session = await bench.session()
    whole = await bench.call(session, count=8)
    await whole.follow(to_the_end=False)
    cut = await _cut(bench, session)
    for _attempt in range(_AGAIN):
        await (await bench.call(session, count=8)).follow(to_the_end=False)
    running = await bench.call(session, count=60, interval_ms=50)
    await running.events(4)
    await bench.restart()
    await running.post.over(bench.pace.patience_ms)
    other = await bench.session()
    for _attempt in range(_AGAIN):
        again = await bench.call(other, count=8, plan=CutPlan(4))
        await again.post.over(bench.pace.patience_ms)
        await again.follow(to_the_end=False)
    alive = await bench.ping(session)
    for cursor in whole.ids[:1]:
        view = await session.listen(cursor)
        await bench.until_answered(view, whole)
        await bench.look(view)
    for call in (cut, running):
        await _follow(call)
    if alive == 200:
        # What the session is sent from now on must not come under ids that it knows already. Where ids are counted by
        # the process, they are now those of its later calls before.
        later = await bench.call(session, count=8)
        await later.follow(to_the_end=False)
    await bench.ping(session)
    for cursor in whole.ids[-1:]:
        await bench.look(await other.listen(cursor))


async def _cut(bench: Bench, session: Session) -> Call:
    """A call that was cut after its first events, and has come to its end without us."""
    call = await bench.call(session, count=8, plan=CutPlan(4))
    await call.post.over(bench.pace.patience_ms)
    await bench.ping(session)
    await asyncio.sleep(bench.pace.quiet_ms / 1000)
    return call


async def _follow(call: Call) -> None:
    """Resume a call, and follow it to its response or to what keeps it away."""
    if call.cursor is not None:
        await call.resume()
        await call.follow(to_the_end=False)
