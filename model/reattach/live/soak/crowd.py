"""Many clients that do not come back: sessions with calls whose events nobody reads."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import chain
from typing import TypeAlias

from attrs import define, field

from reattach.live.bench import Bench
from reattach.live.client import ProtocolError, Session
from reattach.live.view import CutPlan
from reattach.live.wire import WireError
from reattach.oracle.observation import Observation
from reattach.oracle.verdict import Finding

AT_ONCE = 16
"""How many requests are under way at the same time."""
RpcId: TypeAlias = str | int | None
CALL_MS = 30_000
"""How long a call that is read to its end may take."""


class NobodyJudges:
    """Takes observations that nobody needs: those of the crowd, of which a sample is enough for the oracle."""

    def observe(self, observation: Observation, *, experiment: str = "") -> Sequence[Finding]:
        """Nothing comes to light."""
        return ()


@define(eq=False)
class Member:
    """A client of the crowd."""

    bench: Bench
    session: Session
    judged: bool
    """Whether the oracle sees what passes."""
    firsts: list[tuple[str, RpcId]] = field(factory=list)
    """Of each of its calls, in order, the first event id, which is the earliest cursor, and the JSON-RPC id."""


@define(eq=False)
class Crowd:
    """The sessions that are held at once."""

    plain: Callable[[], Bench]
    """Makes a bench that the oracle does not see ..."""
    judged: Callable[[], Bench]
    """... and one that it does."""
    abandons: bool
    """Whether calls are cut at their first event, and go on without a reader; else they are read to their end."""
    members: list[Member] = field(factory=list)
    refused: str = ""
    """Why the server opened no more sessions; empty if it opened all."""
    lost: int = 0
    """How many sessions were gone when they were to emit."""

    async def open(self, count: int, sample: Iterable[int] = ()) -> int:
        """Open sessions; those of the sample, by number, are seen by the oracle. Returns how many there are.

        A server that opens no more of them bounds its sessions, which is its right; ``refused`` then says why.
        """
        chosen = frozenset(sample)
        plain, judged = self.plain(), self.judged()

        async def one(number: int) -> None:
            if self.refused:
                return
            bench = judged if number in chosen else plain
            try:
                self.members.append(Member(bench, await bench.session(), number in chosen))
            except ProtocolError as error:
                self.refused = str(error)

        await at_once(one(number) for number in range(count))
        return len(self.members)

    async def emit(self, count: int, size: int) -> int:
        """One call in every session; returns how many messages that makes, by what was asked for.

        A session that is gone (its idle budget was short) is replaced, so that as many are held as before.
        """
        if count == 0:
            return 0

        async def one(member: Member) -> int:
            if await self._call(member, count, size):
                return 1
            self.lost += 1
            member.firsts.clear()
            with contextlib.suppress(ProtocolError):
                member.session = await member.bench.session()
                return await self._call(member, count, size)
            return 0

        done = await at_once(one(member) for member in self.members)
        return sum(done) * count

    async def _call(self, member: Member, count: int, size: int) -> bool:
        """Make the call; False if the session is gone."""
        plan = CutPlan(1) if self.abandons else None
        call = await member.bench.call(member.session, count=count, size=size, plan=plan)
        if self.abandons:
            await call.post.over(member.bench.pace.patience_ms)
        else:
            await call.post.wait(lambda _: call.responded, CALL_MS)
        await call.post.cut()
        if call.ids:
            member.firsts.append((call.ids[0], call.post.request.rpc_id))
        # What the exchange brought is of no use any more, and there are many.
        if not member.judged:
            member.session.views.remove(call.post)
        return call.post.status is not None and 200 <= call.post.status < 300

    async def delete(self) -> int:
        """DELETE every session, and forget them; returns how many DELETEs were answered with success."""
        members, self.members = self.members, []

        async def one(member: Member) -> int:
            status = await member.session.delete()
            return status is not None and 200 <= status < 300

        return sum(await at_once(one(member) for member in members))

    async def alive(self) -> int:
        """Ask in every session whether it lives; in those that the oracle sees, with a cursor too."""

        async def one(member: Member) -> int:
            status = await member.bench.ping(member.session)
            if member.judged and member.firsts:
                await member.bench.look(await member.session.listen(member.firsts[-1][0]))
            return status is not None and 200 <= status < 300

        return sum(await at_once(one(member) for member in self.members))


async def at_once(work: "Iterable[Awaitable[int | None]]") -> list[int]:
    """Do many things, a few at a time; the first that fails ends all, except that a request that breaks counts as 0."""
    waiting = iter(work)
    results: list[int] = []

    async def worker() -> None:
        for each in waiting:
            try:
                results.append(int(await each or 0))
            except WireError:
                results.append(0)

    workers = [asyncio.create_task(worker()) for _ in range(AT_ONCE)]
    try:
        await asyncio.gather(*workers)
    finally:
        for each in workers:
            each.cancel()
        await asyncio.wait(workers)
        for rest in chain(waiting):
            rest.close()  # type: ignore[attr-defined]  # a coroutine that is never awaited says so loudly
    return results
