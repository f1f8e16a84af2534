"""Smaller histories: what is tried, in this order, to find the part of a history that matters.

Steps name calls and cursors relatively, so any of them can be left out. Playing a history takes real time, so what
takes away most comes first, and each change is one that a reader of the exchange would notice.
"""

from collections.abc import Iterator

from attrs import evolve

from reattach.live.experiments import history
from reattach.live.experiments.history import Cut, History, Step


def smaller(made: History) -> Iterator[History]:
    """Histories that are smaller than this one by one change: without some steps, or with one that is simpler."""
    steps = made.steps
    size = len(steps)
    while size > 0:
        for at in range(0, len(steps), size):
            if size < len(steps):
                yield History((*steps[:at], *steps[at + size :]))
        size //= 2
    for at, step in enumerate(steps):
        for simpler in _simpler(step):
            yield History((*steps[:at], simpler, *steps[at + 1 :]))


def _simpler(step: Step) -> Iterator[Step]:
    match step:
        case history.Call(session, count, _, cut):
            yield from (evolve(step, session=0) for _ in range(session))
            yield from (evolve(step, cut=each) for each in _simpler_cuts(cut))
            yield from (evolve(step, count=each) for each in _fewer(count, 1))
        case history.Resume(_, back, cut):
            yield from (evolve(step, back=each) for each in _fewer(back, 0))
            yield from (evolve(step, cut=each) for each in _simpler_cuts(cut))
        case history.Read(_, events):
            yield from (evolve(step, events=each) for each in _fewer(events, 1))
        case history.Push(_, count):
            yield from (evolve(step, count=each) for each in _fewer(count, 1))
        case history.Wait(ms):
            yield from (evolve(step, ms=each) for each in _fewer(ms, 1))
        case _:
            return


def _simpler_cuts(cut: Cut | None) -> Iterator[Cut | None]:
    if cut is None:
        return
    yield None
    plain = Cut(cut.events)
    if cut != plain:
        yield plain
    yield from (evolve(cut, events=each) for each in _fewer(cut.events, 0))


def _fewer(number: int, least: int) -> list[int]:
    """The least, half as many, and one fewer, without what is no less."""
    return sorted({each for each in (least, number // 2, number - 1) if least <= each < number})
