"""The standalone stream: listened to, cut, resumed, listened to twice, and not listened to at all."""

from reattach.live.bench import Bench
from reattach.live.experiments.registry import Need, Parameters, experiment

_NEEDS = [Need.SESSIONS, Need.PUSHES]


@experiment(
    "standalone-resumed", "DEL-1", "DEL-2", "DEL-8", "ATT-1", "ATT-4", "GET-1", "EVT-1", "EVT-4", "CUR-8", needs=_NEEDS
)
async def standalone_resumed(bench: Bench, _: Parameters) -> None:
    """A listener is cut; what is pushed meanwhile comes on the resumption, and what is pushed later comes live."""
    session = await bench.session()
    listener = await session.listen()
    await bench.delivered(listener, await bench.push(session, 3), 3)
    await listener.cut()
    cursor = listener.cursor
    if cursor is None:
        return
    missed = await bench.push(session, 2)
    resumed = await session.listen(cursor)
    await bench.delivered(resumed, missed, 2)
    await bench.quiet(resumed, bench.pace.quiet_ms)
    await bench.delivered(resumed, await bench.push(session, 2), 4)
    await resumed.cut()
    # The first id again: what followed it is still owed, in the same order.
    first = next(frame.id for frame in listener.frames if frame.id)
    again = await session.listen(first)
    await again.wait(lambda seen: len(seen.messages) >= 6, bench.pace.patience_ms)
    await bench.look(again)


@experiment("standalone-quiet", "CUR-8", "ATT-1", "DEL-8", needs=_NEEDS)
async def standalone_quiet(bench: Bench, _: Parameters) -> None:
    """A listener that has everything is cut and resumes from its newest id; then something is pushed."""
    session = await bench.session()
    listener = await session.listen()
    await bench.delivered(listener, await bench.push(session, 2), 2)
    await listener.cut()
    if listener.cursor is None:
        return
    resumed = await session.listen(listener.cursor)
    await bench.quiet(resumed, bench.pace.quiet_ms)
    await bench.delivered(resumed, await bench.push(session, 1), 1)
    await bench.look(resumed)


@experiment("pushed-unheard", "CUR-1", "GET-1", needs=_NEEDS)
async def pushed_unheard(bench: Bench, _: Parameters) -> None:
    """Something is pushed before anyone listens; then a first listener comes."""
    session = await bench.session()
    await bench.push(session, 2)
    listener = await session.listen()
    await bench.quiet(listener, bench.pace.quiet_ms)
    await bench.push(session, 2)
    await bench.look(listener)


@experiment("second-listener", "DEL-4", "CUR-1", "GET-1", "MOD-1", needs=_NEEDS)
async def second_listener(bench: Bench, _: Parameters) -> None:
    """A plain GET beside one that is open; what is pushed then must not come on both."""
    session = await bench.session()
    first = await session.listen()
    await bench.delivered(first, await bench.push(session, 2), 2)
    second = await session.listen()
    await bench.push(session, 4)
    await bench.quiet(second, bench.pace.quiet_ms)
    await bench.look(first)
    await bench.look(second)


@experiment("later-listener", "CUR-1", "GET-1", "DEL-2", needs=_NEEDS)
async def later_listener(bench: Bench, _: Parameters) -> None:
    """A listener is cut and a new one comes without a cursor; then the old one's cursor is used after all."""
    session = await bench.session()
    first = await session.listen()
    await bench.delivered(first, await bench.push(session, 2), 2)
    await first.cut()
    await bench.push(session, 1)
    second = await session.listen()
    await bench.quiet(second, bench.pace.quiet_ms)
    await bench.push(session, 1)
    await bench.look(second)
    if first.cursor is not None:
        await bench.look(await session.listen(first.cursor))
