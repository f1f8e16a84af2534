"""More than one process: a restart of the server, and a second URL of the same deployment."""

from reattach.live.bench import Bench
from reattach.live.experiments.registry import Cost, Need, Parameters, experiment
from reattach.live.view import CutPlan


@experiment("second-url", "DEL-2", "CUR-10", "MOD-1", "SES-5", needs=[Need.SESSIONS, Need.STIMULUS, Need.ALSO])
async def second_url(bench: Bench, _: Parameters) -> None:
    """A call is cut and resumed through the other URL of the deployment."""
    assert bench.also is not None
    session = await bench.session()
    call = await bench.call(session, count=20, interval_ms=25, plan=CutPlan(4))
    await call.post.over(bench.pace.patience_ms)
    if call.cursor is not None:
        view = await bench.also.send("GET", session=session.id, cursors=(call.cursor,))
        session.views.append(view)
        await view.answered(bench.client.answer_ms)
        call.chain.append(view)
        if view.is_stream:
            await bench.until_answered(view, call)
        await view.cut()
    await call.follow(to_the_end=False)
    await bench.ping(session, bench.also)
    await bench.ping(session)


@experiment(
    "restart",
    *("DEL-2", "CUR-3", "CUR-10", "EVT-4", "MOD-1"),
    needs=[Need.SESSIONS, Need.STIMULUS, Need.RESTART],
    cost=Cost.ALONE,
)
async def restart(bench: Bench, _: Parameters) -> None:
    """The server is restarted under a running call and a finished one; then both are resumed."""
    assert bench.restart is not None
    session = await bench.session()
    finished = await bench.call(session, count=4)
    await finished.follow(to_the_end=False)
    running = await bench.call(session, count=60, interval_ms=50)
    await running.events(4)
    await bench.restart()
    await running.post.over(bench.pace.patience_ms)
    for call in (running, finished):
        for cursor in call.ids[-1:]:
            await bench.look(await session.listen(cursor))
    await bench.ping(session)
    fresh = await bench.session()
    again = await bench.call(fresh, count=4, plan=CutPlan(2))
    await again.post.over(bench.pace.patience_ms)
    if again.cursor is not None:
        await again.resume()
    await again.follow()
    for cursor in finished.ids[-1:]:
        await bench.look(await fresh.listen(cursor))
