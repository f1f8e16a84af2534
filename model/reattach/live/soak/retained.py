"""How many events a session still holds, as far as its client can get at them: by resuming, and counting what comes."""

from reattach.live.bench import progress
from reattach.live.soak.crowd import Member, RpcId
from reattach.oracle.soak import Retained


async def retained(member: Member, count: int, size: int) -> Retained:
    """Resume the member's calls from their earliest cursors, the newest call first, until one is refused.

    A call holds ``count`` events and its response. What the first refused call holds is not known, unless it is the
    newest: then a further call is made, read to its end, and the oldest cursor in it that is served is looked for.
    """
    held = 0
    for first, rpc_id in reversed(member.firsts):
        came = await _after(member, first, rpc_id)
        if came == 0:
            return Retained(least=held, most=held + count) if held else await _by_halves(member, count, size)
        held += came
    return Retained(least=held, most=held)


async def _by_halves(member: Member, count: int, size: int) -> Retained:
    call = await member.bench.call(member.session, count=count, size=size)
    await call.follow()
    ids = call.ids
    # Served from ids[high] on, as far as is known: nothing follows the last.
    low, high, held = 0, max(len(ids) - 1, 0), 0
    while low < high:
        middle = (low + high) // 2
        came = await _after(member, ids[middle], call.post.request.rpc_id)
        if came:
            high, held = middle, came
        else:
            low = middle + 1
    return Retained(least=held, most=held)


async def _after(member: Member, cursor: str, rpc_id: RpcId) -> int:
    """How many messages come after a cursor, up to the response; 0 if it is refused, or nothing comes."""
    view = await member.session.listen(cursor)
    await progress(view, lambda seen: seen.answers(rpc_id), member.bench.pace.quiet_ms)
    await view.cut()
    return len(view.messages) if view.is_stream else 0
