"""The idle budgets, where they are declared: readers that stall or are overtaken, and clients that are absent."""

import asyncio

from reattach.live.bench import Bench, volume
from reattach.live.experiments.registry import Cost, Need, Parameters, experiment
from reattach.live.experiments.slow_reader import RECEIVE_BUFFER, STOPS
from reattach.live.experiments.window import LONGEST_MS, MARGIN_MS
from reattach.live.view import CutPlan, Pacing

_STALL = [Need.SESSIONS, Need.NUMBERED, Need.STALL]


@experiment("stalled-reader", "IDL-1", "IDL-2", "IDL-5", "ATT-4", "DEL-2", "WIN-6", needs=_STALL, cost=Cost.SLOW)
async def stalled_reader(bench: Bench, _: Parameters) -> None:
    """A reader stops for longer than the stall budget, then looks what has become of its view, and resumes."""
    stall = bench.declaration.stall_ms
    assert stall is not None
    if stall > LONGEST_MS:
        bench.note(f"{bench.client.experiment}: not run: a stall budget of {stall} ms is too long to wait for")
        return
    session = await bench.session()
    count, size = volume(bench.declaration)
    call = await bench.call(session, count=count, size=size, pacing=STOPS)
    await call.events(2)
    await asyncio.sleep((stall + MARGIN_MS) / 1000)
    call.post.resume()
    await bench.end(call.post)
    await call.follow()


@experiment("overtaken-reader", "IDL-2", "IDL-3", "IDL-5", "DEL-2", needs=[*_STALL, Need.WINDOW], cost=Cost.SLOW)
async def overtaken_reader(bench: Bench, _: Parameters) -> None:
    """A reader stops for less than the stall budget while another call pushes its next event out of the window."""
    stall, held = bench.declaration.stall_ms, bench.declaration.window_events
    assert stall is not None
    assert held is not None
    session = await bench.session()
    count, size = volume(bench.declaration)
    call = await bench.call(session, count=count, size=size, pacing=STOPS)
    await call.events(2)
    other = await bench.call(session, count=held + 8)
    await other.answered()
    call.post.resume()
    await bench.end(call.post)
    await other.follow()
    await call.follow()


@experiment("patient-reader", "WIN-6", "IDL-1", "DEL-6", needs=[*_STALL, Need.WINDOW, Need.AGE], cost=Cost.SLOW)
async def patient_reader(bench: Bench, _: Parameters) -> None:
    """A reader that is slow, but takes something in every stall budget, is given everything."""
    stall, held, age = bench.declaration.stall_ms, bench.declaration.window_events, bench.declaration.window_ms
    assert stall is not None
    assert held is not None
    assert age is not None
    buffer = bench.declaration.transport_buffer_bytes
    assert buffer is not None
    session = await bench.session()
    # A whole window must be read before its oldest event is T old, or age would rightly take it.
    delay = max(min(stall, age // (2 * held)) // 4, 1)
    size = max(buffer // 8, 2 * RECEIVE_BUFFER)
    call = await bench.call(
        session, count=2 * held + 4, size=size, pacing=Pacing(read_delay_ms=delay, receive_buffer=RECEIVE_BUFFER)
    )
    await call.answered()
    await call.follow()


@experiment("absent-client", "IDL-4", needs=[Need.SESSIONS, Need.ABSENCE], cost=Cost.SLOW)
async def absent_client(bench: Bench, _: Parameters) -> None:
    """A session left alone for a little less than the absence budget lives; left alone for longer, it does not."""
    absence = _absence(bench)
    if absence is None:
        return
    session = await bench.session()
    await asyncio.sleep(max(absence - MARGIN_MS, 0) / 1000)
    await bench.ping(session)
    await asyncio.sleep((absence + MARGIN_MS) / 1000)
    await bench.ping(session)
    view = await session.listen()
    await bench.look(view)


@experiment("absent-but-listening", "IDL-4", needs=[Need.SESSIONS, Need.ABSENCE], cost=Cost.SLOW)
async def absent_but_listening(bench: Bench, _: Parameters) -> None:
    """A session whose client only listens is not absent."""
    absence = _absence(bench)
    if absence is None:
        return
    session = await bench.session()
    listener = await session.listen()
    await asyncio.sleep((absence + MARGIN_MS) / 1000)
    await bench.ping(session)
    await bench.look(listener)


@experiment("absent-but-working", "IDL-4", "ATT-4", needs=[Need.SESSIONS, Need.NUMBERED, Need.ABSENCE], cost=Cost.SLOW)
async def absent_but_working(bench: Bench, _: Parameters) -> None:
    """A session whose call still runs is not absent, though its client is gone; the call can be resumed."""
    absence = _absence(bench)
    if absence is None:
        return
    session = await bench.session()
    interval = (absence + 2 * MARGIN_MS) // 10
    call = await bench.call(session, count=10, interval_ms=interval, plan=CutPlan(2))
    await call.post.over(absence)
    await asyncio.sleep((absence + MARGIN_MS - interval) / 1000)
    if call.cursor is not None:
        await call.resume()
    await call.follow()


def _absence(bench: Bench) -> int | None:
    absence = bench.declaration.absence_ms
    assert absence is not None
    if absence <= LONGEST_MS:
        return absence
    bench.note(f"{bench.client.experiment}: not run: an absence budget of {absence} ms is too long to wait for")
    return None
