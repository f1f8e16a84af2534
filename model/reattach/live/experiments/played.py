"""A history, played on a real server: the experiment of a campaign.

Nothing here judges, and nothing here chooses: the steps are the parameters. After the last one every call is followed
to its response, and whatever is still open is read until it is quiet, so that what is missing is surely missing.
"""

import asyncio
import random
from collections.abc import Sequence

from attrs import define, field

from reattach.forged import misused
from reattach.live.bench import Bench, Call
from reattach.live.client import Session
from reattach.live.experiments import history
from reattach.live.experiments.history import read_history
from reattach.live.experiments.registry import Cost, Need, Parameters, experiment
from reattach.live.view import CutPlan, View
from reattach.live.wire import Cut


def _none(_: random.Random) -> Sequence[Parameters]:
    return []


@experiment(
    "history",
    *("DEL-1", "DEL-2", "DEL-3", "DEL-4", "DEL-6", "DEL-8", "ATT-1", "ATT-2", "ATT-4", "EVT-4", "EVT-6", "CUR-7"),
    needs=[Need.SESSIONS, Need.STIMULUS],
    cost=Cost.RACY,
    plan=_none,  # a campaign makes them
)
async def play(bench: Bench, parameters: Parameters) -> None:
    """A generated history of calls, cuts, resumptions, listeners, pushes, pauses and deletions."""
    player = _Player(bench)
    for step in read_history(parameters).steps:
        await player.take(step)
    await player.finish()


@define(eq=False)
class _Listener:
    session: int
    view: View


@define(eq=False)
class _Player:
    """A history under way."""

    bench: Bench
    sessions: dict[int, Session] = field(factory=dict)
    calls: list[tuple[int, Call]] = field(factory=list)
    """Each with the number of its session."""
    listeners: list[_Listener] = field(factory=list)
    looks: list[tuple[View, Call]] = field(factory=list)
    """Resumptions that no call is followed on, each with the call whose cursor it had."""

    async def take(self, step: history.Step) -> None:
        """Do one step."""
        match step:
            case history.Call(session, count, interval_ms, cut):
                call = await self.bench.call(
                    await self._session(session), count=count, interval_ms=interval_ms, plan=_plan(cut)
                )
                self.calls.append((session, call))
            case history.Listen(session, back):
                known = self._ids(session)
                cursors = [known[-1 - back % len(known)]] if back is not None and known else []
                view = await (await self._session(session)).listen(*cursors)
                self.listeners.append(_Listener(session, view))
            case history.CutListener(session):
                for listener in self.listeners[::-1]:
                    if listener.session == session and listener.view.closed is None:
                        await listener.view.cut()
                        break
            case history.Push(session, count):
                if self.bench.pushes and not (await self._session(session)).deleted:
                    await self.bench.push(await self._session(session), count)
            case history.Wait(ms):
                await asyncio.sleep(ms / 1000)
            case history.Delete(session):
                if session in self.sessions:
                    await self.sessions[session].delete()
            case _:
                if self.calls:
                    await self._on_call(step, self.calls[step.call % len(self.calls)][1])

    async def _on_call(self, step: history.OfCall, call: Call) -> None:
        match step:
            case history.Read(_, events):
                await call.events(events)
            case history.CutNow():
                await call.last.cut()
            case history.Pause():
                call.last.pause()
            case history.Unpause():
                call.last.resume()
            case history.Resume(_, 0, cut) if call.ids:
                await call.resume(plan=_plan(cut))
            case history.Resume(_, back, cut) if call.ids:
                view = await call.session.listen(call.ids[-1 - back % len(call.ids)], plan=_plan(cut))
                self.looks.append((view, call))
            case history.ResumeElsewhere(_, session) if call.ids:
                view = await (await self._session(session)).listen(call.ids[-1])
                self.looks.append((view, call))
            case history.Misuse(_, which) if call.ids:
                others = [identifier for _, other in self.calls if other is not call for identifier in other.ids]
                view = await call.session.listen(*misused(call.ids, others or call.ids, which))
                self.looks.append((view, call))
            case _:
                pass

    async def finish(self) -> None:
        """Follow every call of a living session to its response; read what else is open until it is quiet."""
        for _, call in self.calls:
            for view in call.chain:
                view.resume()
        await asyncio.gather(*(self._follow(call) for _, call in self.calls if not call.session.deleted))
        views = [view for view, _ in self.looks] + [listener.view for listener in self.listeners]
        views += [view for _, call in self.calls for view in call.chain]
        await asyncio.gather(*(self.bench.look(view) for view in views if view.closed is None))

    async def _follow(self, call: Call) -> None:
        await call.follow(to_the_end=False)
        await call.look_back()

    async def _session(self, number: int) -> Session:
        if number not in self.sessions:
            self.sessions[number] = await self.bench.session()
        return self.sessions[number]

    def _ids(self, session: int) -> list[str]:
        views = [listener.view for listener in self.listeners if listener.session == session]
        return list(dict.fromkeys(frame.id for view in views for frame in view.frames if frame.id))


def _plan(cut: history.Cut | None) -> CutPlan | None:
    return None if cut is None else CutPlan(cut.events, cut.inside, Cut(cut.how))
