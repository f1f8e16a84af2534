"""Bad cursors: malformed, ahead, of another stream, never issued, evicted; and none at all."""

import asyncio
import random
from collections.abc import Sequence

from reattach.forged import between, following, malformed, unissued
from reattach.live.bench import Bench, Call
from reattach.live.client import Session
from reattach.live.experiments.registry import Need, Parameters, experiment, integer
from reattach.live.view import CutPlan

_NEEDS = [Need.SESSIONS, Need.STIMULUS]

AHEAD = 5
"""By so much a cursor is ahead of a running call: the call will send that many events, and has not yet."""
AGAIN = 120
"""So often one cursor is resumed: more than common servers hold events of a stream."""
_INTERVAL_MS = 40
_TRIES = 3
HANGS = 3
"""After so many requests without any answer, an experiment stops trying further cursors."""


@experiment("malformed-cursors", "CUR-2", "CUR-9", "CUR-10", "GET-1", "MOD-1", needs=_NEEDS)
async def malformed_cursors(bench: Bench, _: Parameters) -> None:
    """Cursors that are none, beside a running call and an open listener that must not suffer."""
    session, finished = await _with_finished_call(bench)
    if not finished.ids:
        return
    bystander = await bench.call(session, count=40, interval_ms=40)
    await _try(bench, session, malformed(finished.ids[-1]))
    await bench.ping(session)
    await bystander.follow()
    await finished.resume(finished.ids[0])
    await finished.follow()


@experiment("unissued-cursors", "CUR-2", "CUR-5", "CUR-6", "CUR-9", "CUR-10", "MOD-1", needs=_NEEDS)
async def unissued_cursors(bench: Bench, _: Parameters) -> None:
    """Well-formed cursors that were never issued: ahead by one and by many, of another stream, of no stream."""
    session, finished = await _with_finished_call(bench)
    other = await bench.call(session, count=3)
    await other.follow()
    if not finished.ids or not other.ids:
        return
    await _try(bench, session, [(cursor,) for cursor in unissued(finished.ids, other.ids, bench.rng)])
    await bench.ping(session)
    at_once = [await bench.call(session, count=6, interval_ms=10) for _ in range(2)]
    await asyncio.gather(*(call.follow() for call in at_once))
    await _try(bench, session, [(cursor,) for cursor in between(at_once[0].message_ids, at_once[1].message_ids)])
    await bench.ping(session)


@experiment("ahead-of-a-running-call", "CUR-5", "DEL-2", "EVT-4", "CUR-10", needs=_NEEDS)
async def ahead_of_a_running_call(bench: Bench, _: Parameters) -> None:
    """A running call, cut, and resumed from an id that is still to come; then, later, honestly from what that brought.

    In between it goes on without a view, so that the honest resumption is a replay.
    """
    session = await bench.session()
    call = await bench.call(session, count=40, interval_ms=_INTERVAL_MS, plan=CutPlan(4))
    await call.post.over(bench.pace.patience_ms)
    ahead = following(call.ids, AHEAD)
    if ahead is None:
        await call.follow()
        return
    for _again in range(_TRIES):
        await call.resume(ahead, plan=CutPlan(3))
        if call.last.status != 409:
            break
        await asyncio.sleep(bench.pace.quiet_ms / 1000)  # the server has yet to see that the connection was cut
    await call.last.over(bench.pace.patience_ms)
    if call.cursor is not None:
        await asyncio.sleep(2 * AHEAD * _INTERVAL_MS / 1000)
        await call.resume()
    await call.follow()


@experiment("flooded-cursors", "CUR-4", "CUR-9", "DEL-2", "EVT-1", needs=[Need.SESSIONS, Need.NUMBERED])
async def flooded_cursors(bench: Bench, _: Parameters) -> None:
    """A call that sends far more than most servers hold, then resumed from its first events and from recent ones."""
    session = await bench.session()
    call = await bench.call(session, count=700)
    await call.follow()
    ids = call.ids
    for position in (0, 1, len(ids) // 2, len(ids) - 3):
        if 0 <= position < len(ids):
            view = await session.listen(ids[position])
            await bench.until_answered(view, call)
            await view.cut()
    await bench.ping(session)


@experiment("one-cursor-again", "CUR-4", "CUR-7", "WIN-5", "EVT-1", "MOD-1", needs=_NEEDS)
async def one_cursor_again(bench: Bench, _: Parameters) -> None:
    """A finished call resumed from one cursor very often: what a resumption stores of its own pushes no event out."""
    session, finished = await _with_finished_call(bench)
    for _again in range(AGAIN if finished.ids else 0):
        view = await session.listen(finished.ids[0])
        await bench.until_answered(view, finished)
        answered = view.answers(finished.post.request.rpc_id)
        await view.cut()
        if not answered:
            break
    await bench.ping(session)


def _two_of_many(rng: random.Random) -> Sequence[Parameters]:
    return [{"earlier": rng.randrange(1, 5)}, {"earlier": rng.randrange(5, 9)}]


@experiment("earlier-cursor", "DEL-1", "DEL-2", "EVT-4", "DEL-6", needs=_NEEDS, plan=_two_of_many)
async def earlier_cursor(bench: Bench, parameters: Parameters) -> None:
    """A running call, cut, is resumed from some events before the last one read: the client lost its newest state."""
    earlier = integer(parameters, "earlier")
    session = await bench.session()
    call = await bench.call(session, count=20, interval_ms=25)
    await call.events(10)
    await call.post.cut()
    if len(call.ids) > earlier:
        await call.resume(call.ids[-1 - earlier])
    await call.follow(to_the_end=False)


async def _with_finished_call(bench: Bench) -> tuple[Session, Call]:
    session = await bench.session()
    await session.listen()
    call = await bench.call(session, count=3)
    await call.follow()
    return session, call


async def _try(bench: Bench, session: Session, headers: Sequence[tuple[str, ...]]) -> None:
    """A GET with each of these, one after the other, each looked at until it is refused, over or quiet."""
    hangs = 0
    for cursors in headers:
        view = await session.listen(*cursors)
        hangs += view.head is None
        await bench.look(view)
        if hangs == HANGS:
            bench.note(f"{bench.client.experiment}: stopped after {HANGS} cursors that got no answer")
            return
