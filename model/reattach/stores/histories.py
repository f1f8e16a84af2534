"""Histories that Hypothesis makes up, and shrinks to the smallest that still goes wrong."""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reattach.stores.play import Played
from reattach.stores.script import CALL, OTHER_CALL, STANDALONE, Replay, Step, Store, after_each, spread

LONGEST = 30

_PRIMING = st.sampled_from((False, False, False, True))
_STORES = st.builds(Store, st.sampled_from((CALL, OTHER_CALL, STANDALONE)), priming=_PRIMING)
_PLACES = st.integers(0, LONGEST)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Step, ...]:
    """Stores and replays of one session, with cursors from everywhere; at the end, a replay after every event."""
    steps: list[Step] = []
    stored = 0
    for each in draw(st.lists(st.one_of(_STORES, _PLACES), max_size=LONGEST)):
        if isinstance(each, Store):
            steps.append(each)
            stored += 1
        elif stored:
            steps.append(Replay(1 + each % stored))
    return spread(*steps, *after_each(range(1, stored + 1)))


def first_wrong_history(play: Callable[[tuple[Step, ...]], Played], examples: int) -> Played | None:
    """The smallest history found that goes wrong, as it was played; None if none did."""
    found: list[Played] = []

    phases = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)

    @settings(max_examples=examples, deadline=None, phases=phases, suppress_health_check=list(HealthCheck))
    @given(histories())
    def goes_well(steps: tuple[Step, ...]) -> None:
        played = play(steps)
        if played.wrongs:
            found.append(played)
            raise AssertionError(played.wrongs[0])

    try:
        goes_well()
    except AssertionError:
        return found[-1]
    return None
