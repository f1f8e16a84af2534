"""The phases of a soak. They put load on the server and measure; what it means is for ``oracle.soak`` to say."""

import asyncio
import contextlib
from functools import partial

from attrs import evolve

from reattach.live.experiments import EXPERIMENTS, Need
from reattach.live.experiments.window import LONGEST_MS, MARGIN_MS
from reattach.live.soak.ground import Ground
from reattach.live.soak.retained import retained
from reattach.live.view import CutPlan
from reattach.oracle.soak import Growth, Left, Phase, Reuse, Way

CALIBRATED = 4
"""Events of a call by which is found out how large they are, and whether it goes on without its client."""
WARM_UP = 2
"""Rounds that are left out of each fit, at least."""
MOST_ROUNDS = 100
"""Rounds of a phase, at most."""


async def calibrate(ground: Ground) -> None:
    """How large an event is, whether a call goes on without its client, and whether DELETE ends a session."""
    bench = ground.bench("soak/calibration")
    if bench.stimulus is not None:
        session = await bench.session()
        whole = await bench.call(session, count=CALIBRATED, size=ground.options.size)
        await whole.follow()
        sizes = [frame.size for view in whole.chain for frame in view.frames if frame.payload is not None]
        events = sizes[:-1] or sizes  # the last one is the response
        ground.soaked = evolve(ground.soaked, event_bytes=sum(events) // max(len(events), 1))
        cut = await bench.call(session, count=CALIBRATED, size=ground.options.size, plan=CutPlan(1))
        await cut.post.over(bench.pace.patience_ms)
        ground.abandons = cut.cursor is not None and await cut.follow()
        if not ground.abandons:
            ground.note("a call does not go on without its client here: calls are read to their end instead")
    session = await bench.session()
    ground.deletes = await session.delete()
    ground.ends = session.deleted and await bench.ping(session) == 404
    if not ground.ends:
        ground.note(f"DELETE, answered with {ground.deletes}, does not end a session")
    await bench.close()


async def sessions(ground: Ground) -> None:
    """Rounds of sessions that are opened, given a few events, abandoned and deleted."""
    if ground.deletes is None or not 200 <= ground.deletes < 300:
        ground.not_done(Phase.SESSIONS, "DELETE is not supported, so no client can end a session")
        return
    if not ground.soaked.event_bytes:
        ground.not_done(Phase.SESSIONS, "nothing makes the server send events")
        return
    done = 0
    for number in range(MOST_ROUNDS):
        if not ground.has_time(Phase.SESSIONS):
            break
        crowd = ground.crowd = ground.new_crowd()
        opened = await crowd.open(ground.options.sessions)
        if not opened:
            ground.not_done(Phase.SESSIONS, f"no session could be opened: {crowd.refused}")
            break
        await crowd.emit(ground.soaked.few, ground.options.size)
        await ground.monitor.settled()  # what goes on in a session must be over before it is deleted
        await crowd.delete()
        done += opened
        if await ground.round(Phase.SESSIONS, done, warm_up=number < WARM_UP):
            break
        if ground.soaked.trend(Phase.SESSIONS).growth is not Growth.OPEN:
            break


async def events(ground: Ground) -> None:
    """Rounds of events in the same sessions; then some of them are resumed, to count what they hold."""
    if not ground.soaked.event_bytes:
        ground.not_done(Phase.EVENTS, "nothing makes the server send events")
        return
    before = (await ground.monitor.settled()).resident
    if not await ground.open_crowd():
        ground.not_done(Phase.EVENTS, f"no session could be opened: {ground.crowd.refused}")
        return
    done, warm_up = 0, _rounds_to_fill(ground)
    for number in range(MOST_ROUNDS):
        if not ground.has_time(Phase.EVENTS):
            break
        done += await ground.emit()
        if await ground.round(Phase.EVENTS, done, warm_up=number < warm_up):
            break
        growth = ground.soaked.trend(Phase.EVENTS).growth
        # Without a declared window memory may still level off; it is given the time, up to the limit.
        if growth is Growth.FLAT or (growth is Growth.GROWS and ground.soaked.declared_window is not None):
            break
    if done:
        grew = ground.soaked.rounds[-1].resident - before
        ground.soaked = evolve(
            ground.soaked, before_load=before, per_session=max(grew, 0) // max(len(ground.crowd.members), 1)
        )
    await _count_retained(ground)


def _rounds_to_fill(ground: Ground) -> int:
    """Rounds until the windows are full, if their size is declared, and then some."""
    window = ground.soaked.declared_window
    return WARM_UP if window is None else WARM_UP + -(-window // (ground.soaked.events + 1))


async def _count_retained(ground: Ground) -> None:
    sample = [member for member in ground.crowd.members if member.judged and member.firsts]
    looked = [retained(member, ground.soaked.events, ground.options.size) for member in sample]
    ground.soaked = evolve(ground.soaked, retained=tuple(await asyncio.gather(*looked)))


async def release(ground: Ground) -> None:
    """The sessions that are held are released, by either way; each time the same load comes again."""
    if not ground.crowd.members or ground.soaked.filled is None:
        why = "there was no load to release"
        ground.not_done(Phase.RELEASE, why)
        ground.unseen(["IDL-4"], f"sessions were not left alone: {why}")
        return
    await _leave_alone(ground)
    if not ground.ends:
        ground.not_done(Phase.RELEASE, "DELETE does not end sessions")
    elif not ground.has_time(Phase.RELEASE, _load_ms(ground)):
        ground.note("no second load after DELETE: the time is over (--budget)")
    else:
        full = (await ground.monitor.settled()).resident
        await ground.crowd.delete()
        await _load_again(ground, Way.DELETE, full)


async def _leave_alone(ground: Ground) -> None:
    """Leave the sessions alone for the idle budget; if that ends them all, load again."""
    absence = ground.options.declaration.absence_ms
    if absence is None:
        ground.unseen(["IDL-4"], "no idle budget is declared (--policy, --idle)")
        return
    waiting = absence + MARGIN_MS
    if not ground.has_time(Phase.RELEASE, waiting + _load_ms(ground)):
        why = f"sessions were not left alone for the idle budget of {absence} ms: too little time (--budget)"
        ground.unseen(["IDL-4"], why)
        return
    for member in ground.crowd.members:
        for view in member.session.views:
            await view.cut()
    full = (await ground.monitor.settled()).resident
    await asyncio.sleep(waiting / 1000)
    count, alive = len(ground.crowd.members), await ground.crowd.alive()
    ground.soaked = evolve(ground.soaked, left=Left(waited_ms=waiting, sessions=count, alive=alive))
    if alive == 0:
        await _load_again(ground, Way.IDLE, full)


async def _load_again(ground: Ground, way: Way, full: int) -> None:
    """The load that filled the windows, once more; ``full`` is what was resident before the release."""
    filled, before = ground.soaked.filled, ground.soaked.before_load
    assert filled is not None
    assert before is not None
    if not await ground.open_crowd():
        ground.note(f"no second load after {way.value}: {ground.crowd.refused}")
        return
    after = full
    for _ in range(_fill_rounds(ground)):
        await ground.emit()
        after = (await ground.monitor.settled()).resident
        ground.tell(Phase.RELEASE, after)
    reuse = Reuse(way=way, before=before, first=filled.resident - before, second=after - full)
    ground.soaked = evolve(ground.soaked, reuses=(*ground.soaked.reuses, reuse))


def _fill_rounds(ground: Ground) -> int:
    return sum(1 for each in ground.soaked.rounds_of(Phase.EVENTS) if each.warm_up)


def _load_ms(ground: Ground) -> int:
    """How long the first load took."""
    filled, began = ground.soaked.filled, ground.soaked.spans[-1].begin_ms
    return 0 if filled is None else filled.at_ms - began


async def probed(ground: Ground) -> None:
    """What a probe would show of the same clauses."""
    await ground.crowd.delete()
    situation, declared = ground.situation, ground.options.declaration
    if situation is None or situation.stimulus is None or not situation.stimulus.numbered:
        ground.unseen(["IDL-6"], f"a reader that stops needs {Need.NUMBERED.value}")
        return
    chosen = {
        "slow-reader": True,
        "stalled-reader": None not in (declared.stall_ms, declared.transport_buffer_bytes),
        "window-boundaries": declared.window_events is not None,
        "window-age": declared.window_ms is not None,
        "absent-client": declared.absence_ms is not None and declared.absence_ms <= LONGEST_MS,
    }
    for name in (name for name, has_what_it_needs in chosen.items() if has_what_it_needs):
        if not ground.has_time(Phase.PROBED):
            ground.unseen(EXPERIMENTS[name].clauses, f"{name}: not run: the time is over (--budget)")
            continue
        ground.tell(Phase.PROBED, ground.tree.resident())
        bench = ground.bench(name)
        bench.on_note = partial(ground.unseen, EXPERIMENTS[name].clauses)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(bench.close)
            await EXPERIMENTS[name].run(bench, {})
