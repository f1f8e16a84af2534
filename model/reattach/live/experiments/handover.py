"""The hand-over from replay to live: a call cut again and again while it emits, and resumed from the last id read.

Whatever a server does between reading its store and going live, an event that falls into that gap is lost for good. It
takes luck to hit, so this is tried many times, with cuts at random places.
"""

import random
from collections.abc import Sequence

from reattach.live.bench import Bench
from reattach.live.experiments.registry import Cost, Need, ParameterError, Parameters, experiment, integer
from reattach.live.view import CutPlan
from reattach.live.wire import Cut
from reattach.oracle.observation import Json

EVENTS = 60
INTERVAL_MS = 3
CUTS = 4
TRIALS = 10
"""Trials of a plan; the probe plans again while it has time."""


def _trials(rng: random.Random) -> Sequence[Parameters]:
    return [_trial(rng) for _ in range(TRIALS)]


def _trial(rng: random.Random) -> Parameters:
    cuts: list[Json] = [
        {
            "events": rng.randrange(1, 16),
            "inside": rng.choice((0, 0, rng.randrange(1, 60))),
            "how": rng.choice(("reset", "close")),
            # A resumption is cut at its first event without a message, if it has one, every other time: such an event
            # moves the cursor, and must not move it past what was not delivered.
            "bare": hop > 0 and rng.random() < 0.5,
        }
        for hop in range(rng.randrange(3, CUTS + 1))
    ]
    return {"count": EVENTS, "interval_ms": INTERVAL_MS, "cuts": cuts}


@experiment(
    "hand-over",
    *("DEL-1", "DEL-2", "DEL-6", "DEL-8", "ATT-1", "ATT-4", "EVT-4", "EVT-6"),
    needs=[Need.SESSIONS, Need.STIMULUS],
    cost=Cost.RACY,
    plan=_trials,
)
async def hand_over(bench: Bench, parameters: Parameters) -> None:
    """A call that emits fast, cut up to four times at random places and resumed at once each time."""
    cuts = [_cut_plan(cut) for cut in _list(parameters, "cuts")]
    session = await bench.session()
    call = await bench.call(
        session,
        count=integer(parameters, "count"),
        interval_ms=integer(parameters, "interval_ms"),
        plan=cuts[0] if cuts else None,
    )
    for following in [*cuts[1:], None]:
        await bench.until_cut(call.last)
        if call.responded or not call.last.cut_short or call.cursor is None:
            break
        await call.resume(plan=following)
    await call.follow(to_the_end=False)
    await call.look_back()


def _list(parameters: Parameters, name: str) -> Sequence[Json]:
    value = parameters.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ParameterError(f"parameter {name}: a list is needed, not {value!r}")
    return value


def _cut_plan(value: Json) -> CutPlan:
    if not isinstance(value, dict):
        raise ParameterError(f"parameter cuts: an object is needed, not {value!r}")
    how = value.get("how")
    if how not in ("reset", "close"):
        raise ParameterError(f"parameter cuts: how is reset or close, not {how!r}")
    bare = value.get("bare")
    if not isinstance(bare, bool):
        raise ParameterError(f"parameter cuts: bare is true or false, not {bare!r}")
    return CutPlan(integer(value, "events"), integer(value, "inside"), Cut(how), bare)
