"""The window, where its numbers are declared: exactly N events, nothing older than T, at most B bytes."""

import asyncio

from reattach.live.bench import Bench, Call
from reattach.live.experiments.registry import Cost, Need, Parameters, experiment
from reattach.live.view import CutPlan
from reattach.oracle.oracle import SLACK_MS

MARGIN_MS = SLACK_MS + 500
"""How far from a budget's end a look is taken, so that the oracle can tell inside from outside."""
LONGEST_MS = 15_000
"""The longest declared time that a probe waits for."""
LARGEST = 900_000
"""Bytes of one message that our tools are asked for at most."""

_NEEDS = [Need.SESSIONS, Need.NUMBERED]


@experiment(
    "window-boundaries",
    *("WIN-1", "WIN-5", "WIN-6", "CUR-4", "CUR-7", "CUR-8", "CUR-9", "DEL-9"),
    needs=[*_NEEDS, Need.WINDOW],
)
async def window_boundaries(bench: Bench, _: Parameters) -> None:
    """A call that fills the window twice over, resumed from the ids on both sides of each boundary."""
    held = bench.declaration.window_events
    assert held is not None
    session = await bench.session()
    call = await bench.call(session, count=2 * held + 8)
    await call.follow(to_the_end=False)
    ids = call.message_ids
    if len(ids) < held + 3:
        return
    for cursor in (
        ids[-held - 1],  # the mark: everything that is held follows it
        ids[-held - 2],  # evicted by one
        ids[-held],
        call.ids[0],  # evicted by many
        ids[-2],
        ids[-1],  # the newest: nothing follows it
    ):
        await _resume_all(bench, call, cursor)
    await bench.ping(session)


@experiment("window-of-two-streams", "WIN-1", "WIN-5", "CUR-4", "CUR-7", needs=[*_NEEDS, Need.WINDOW])
async def window_of_two_streams(bench: Bench, _: Parameters) -> None:
    """One call's events are pushed out of the window by another call of the session."""
    held = bench.declaration.window_events
    assert held is not None
    session = await bench.session()
    first = await bench.call(session, count=3)
    await first.follow(to_the_end=False)
    second = await bench.call(session, count=held - 3)
    await second.follow(to_the_end=False)
    # N - 2 events came after the first call's four: its last two are held, its first two are not.
    for cursor in first.message_ids:
        await _resume_all(bench, first, cursor)
    await _resume_all(bench, second, second.ids[0]) if second.ids else None
    await bench.ping(session)


@experiment("window-age", "WIN-2", "WIN-5", "CUR-4", "CUR-7", needs=[*_NEEDS, Need.AGE], cost=Cost.SLOW)
async def window_age(bench: Bench, _: Parameters) -> None:
    """A finished call resumed from its first event while that is younger than T, and again when it is older."""
    age = bench.declaration.window_ms
    assert age is not None
    if not _worth_waiting(bench, "T", age):
        return
    session = await bench.session()
    call = await bench.call(session, count=5)
    await call.follow(to_the_end=False)
    if not call.ids:
        return
    await asyncio.sleep(max(age - MARGIN_MS, 0) / 1000)
    await _resume_all(bench, call, call.ids[0])
    await asyncio.sleep(2 * MARGIN_MS / 1000)
    for cursor in (call.ids[0], call.ids[-1]):
        await _resume_all(bench, call, cursor)
    await bench.ping(session)


@experiment("window-age-running", "WIN-2", "CUR-4", "CUR-7", "CUR-8", needs=[*_NEEDS, Need.AGE], cost=Cost.SLOW)
async def window_age_running(bench: Bench, _: Parameters) -> None:
    """A running call whose first events are older than T, resumed from its first and then from its last."""
    age = bench.declaration.window_ms
    assert age is not None
    if not _worth_waiting(bench, "T", age):
        return
    session = await bench.session()
    interval = (age + MARGIN_MS) // 8
    call = await bench.call(session, count=12, interval_ms=interval, plan=CutPlan(11))
    await call.post.over(age + 10 * MARGIN_MS)
    last = call.cursor
    if last is None:
        await call.follow()
        return
    view = await session.listen(call.ids[1])
    await bench.look(view)
    await call.resume(last)
    await call.follow()


@experiment(
    "window-empty", "CUR-8", "CUR-7", "DEL-8", "WIN-2", needs=[Need.SESSIONS, Need.PUSHES, Need.AGE], cost=Cost.SLOW
)
async def window_empty(bench: Bench, _: Parameters) -> None:
    """A listener that has everything, and of which nothing is held any more, is cut and resumes; then comes a push."""
    age = bench.declaration.window_ms
    assert age is not None
    if not _worth_waiting(bench, "T", age):
        return
    session = await bench.session()
    listener = await session.listen()
    await bench.delivered(listener, await bench.push(session, 2), 2)
    await asyncio.sleep((age + MARGIN_MS) / 1000)
    await listener.cut()
    if listener.cursor is None:
        return
    resumed = await session.listen(listener.cursor)
    await bench.quiet(resumed, bench.pace.quiet_ms)
    await bench.delivered(resumed, await bench.push(session, 1), 1)
    await bench.look(resumed)


@experiment("window-bytes", "WIN-1", "WIN-5", "CUR-4", "CUR-7", needs=[*_NEEDS, Need.BYTES])
async def window_bytes(bench: Bench, _: Parameters) -> None:
    """A call of a few large messages, more than B bytes of them, resumed from its first and from its last ones."""
    limit = bench.declaration.window_bytes
    assert limit is not None
    size = limit // 10
    if size > LARGEST:
        bench.note(f"{bench.client.experiment}: not run: {limit} bytes are too many to send")
        return
    session = await bench.session()
    call = await bench.call(session, count=14, size=size)
    await call.follow(to_the_end=False)
    ids = call.message_ids
    for cursor in (*ids[:1], *ids[-5:-4], *ids[-1:]):
        await _resume_all(bench, call, cursor)
    await bench.ping(session)


async def _resume_all(bench: Bench, call: Call, cursor: str) -> None:
    """Resume and read until the response is here, or the view is refused, over or silent."""
    view = await call.session.listen(cursor)
    await bench.until_answered(view, call)
    await bench.look(view)


def _worth_waiting(bench: Bench, name: str, milliseconds: int) -> bool:
    if milliseconds <= LONGEST_MS:
        return True
    bench.note(f"{bench.client.experiment}: not run: {name} = {milliseconds} ms is too long to wait for")
    return False
