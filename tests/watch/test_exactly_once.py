"""Our own client and server with a breaking proxy between them: everything is applied once, and nobody is to blame."""

import asyncio
from collections import Counter

import pytest
from attrs import evolve
from tests.watch.ground import run, watcher

from reattach.live.client import Client, Session
from reattach.live.recorder import Recorder
from reattach.live.serve import ServeOptions, serving
from reattach.live.server.settings import Settings
from reattach.live.view import View
from reattach.live.watch.chance import Chance
from reattach.live.watch.plan import Plan
from reattach.live.watch.proxy import ProxyOptions, proxying
from reattach.live.wire import WireError, parse_url
from reattach.machine.policy import Policy
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.message import Numbered, numbered_log
from reattach.oracle.observation import Closed, Observation, Party
from reattach.oracle.verdict import Finding, Outcome, Profile

ROOMY = evolve(Policy(), window_events=100_000, window_bytes=1 << 30, retry_ms=0, open_streams=64)
"""A window that holds whatever is emitted while nobody reads."""
ANSWER_MS = 20_000


class Nobody:
    """Judges nothing: the proxy does."""

    def observe(self, observation: Observation, *, experiment: str = "") -> tuple[()]:
        return ()


async def follow(session: Session, label: str, count: int, applied: "Counter[Numbered]") -> int:
    """Make a call and follow its stream until its response; how many connections that took."""
    view: View | None = await session.request(
        "tools/call", {"name": "reattach_emit", "arguments": {"count": count, "label": label}}
    )
    assert view is not None
    rpc_id, cursor, tries = view.request.rpc_id, "", 1
    while True:
        if view is not None:
            await view.over(ANSWER_MS)
            assert view.closed is not None, "the view neither went on nor ended"
            applied.update(number for payload in view.messages if (number := numbered_log(payload)) is not None)
            if view.answers(rpc_id):
                return tries
            cursor = view.cursor or cursor
        assert cursor, f"it was cut before any cursor: {view and (view.status, view.closed)}"
        tries += 1
        try:
            view = await session.listen(cursor)
            assert view.status in (None, 200, 503), view.status
        except WireError:
            view = None


async def exchange_everything(seed: int, every: int, calls: int, count: int, least: int) -> None:
    notes: list[Observation] = []
    findings: list[Finding] = []
    applied: Counter[Numbered] = Counter()
    watching = watcher(notes, findings)
    plan = Plan((), Chance(seed, every))
    async with serving(ServeOptions(settings=Settings(policy=ROOMY))) as running:
        options = ProxyOptions(endpoint=parse_url(running.url))
        async with proxying(options, watching, plan) as proxy:
            client = Client(parse_url(proxy.url), Recorder(Nobody()), NEWEST_WITH_RESUMPTION, answer_ms=ANSWER_MS)

            lanes = 2

            async def lane(number: int) -> None:
                session = await Session.open(client)
                for call in range(number, calls, lanes):
                    await follow(session, f"call-{call}", count, applied)

            await asyncio.gather(*(lane(number) for number in range(lanes)))
    if watching.crash is not None:
        raise watching.crash
    assert findings == []
    expected = {Numbered(f"call-{call}", n) for call in range(calls) for n in range(1, count + 1)}
    assert set(applied) == expected
    assert set(applied.values()) == {1}
    cuts = [each for each in notes if isinstance(each, Closed) and each.by is Party.NETWORK]
    assert len(cuts) >= least
    assert plan.drawn >= len(cuts)
    held = {each.clause for each in watching.oracle.report(Profile.REATTACH).clauses if each.outcome is Outcome.HELD}
    assert {"DEL-" + "1", "DEL-" + "2", "DEL-" + "6", "ATT-" + "1"} <= held
    print(f"{len(applied)} events applied once, {len(cuts)} cuts, {plan.drawn} faults, {len(notes)} observations")


def test_everything_is_applied_once() -> None:
    run(exchange_everything(seed=7, every=20, calls=4, count=250, least=30))


@pytest.mark.real
def test_everything_is_applied_once_with_ten_thousand_events_and_three_hundred_cuts() -> None:
    asyncio.run(exchange_everything(seed=11, every=24, calls=10, count=1_000, least=300))
