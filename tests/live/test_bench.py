"""Following a call: what the driver has seen of the last view before it says that this is all."""

import asyncio
import random

import pytest
from tests.live.raw import server

from reattach.live import bench as benches
from reattach.live.bench import FOLLOW_ATTEMPTS, Bench
from reattach.live.client import Client
from reattach.live.pace import Pace
from reattach.live.recorder import Recorder
from reattach.live.stimulus import PRESETS
from reattach.live.view import CutPlan
from reattach.live.wire import parse_url
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.observation import Observation, Quiet, Settled
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Fault, Profile


class Hurried(Pace):
    """A pace without patience, so that a call that stands still is given up soon."""

    @property
    def patience_ms(self) -> int:
        return 60


def test_a_call_that_stands_still_is_settled_on_a_view_that_was_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benches, "RETRY_MS", 1)
    seen: list[Observation] = []
    oracle = Oracle(revision=NEWEST_WITH_RESUMPTION)

    async def run() -> None:
        async with server() as running:
            client = Client(
                endpoint=parse_url(running.url),
                recorder=Recorder(oracle, sink=lambda observation, _: seen.append(observation)),
                revision=NEWEST_WITH_RESUMPTION,
                experiment="test",
            )
            bench = Bench(client=client, pace=Hurried(), rng=random.Random(1), stimulus=PRESETS["emit"])
            call = await bench.call(await bench.session(), count=1, interval_ms=60_000, plan=CutPlan(1))
            await call.post.over(1_000)
            assert not await call.follow()
            assert len(call.chain) == FOLLOW_ATTEMPTS
            await bench.close()

    asyncio.run(run())
    [settled] = [each for each in seen if isinstance(each, Settled)]
    before = seen[: seen.index(settled)]
    assert any(isinstance(each, Quiet) and each.connection == settled.last for each in before)
    found = {(finding.clause, finding.fault) for finding in oracle.report(Profile.REATTACH).findings}
    assert found == {("DEL-8", Fault.DEAF_AFTER_RESUME)}
