"""Histories, as a Hypothesis strategy: each step chosen with the machine's state in view.

Swarm style: each history first draws which kinds of steps it may have, so that some histories are all takeovers and
others have none.
"""

from hypothesis import strategies as st

from reattach.live.campaign.twin import Twin
from reattach.live.experiments import history
from reattach.live.experiments.history import History, Step
from reattach.machine.policy import Policy

STEPS = 14
"""The most steps of a history."""
_INTERVALS_MS = (3, 0, 20)
_WAITS_MS = (5, 20, 100, 300)
_LONGEST_STALL_MS = 2_000
_SESSIONS = (0, 0, 1)
_MORE = st.integers(0, 7).map(bool)
"""Whether there is another step: mostly."""


def cuts() -> st.SearchStrategy[history.Cut]:
    """Where a view is cut: after a few events, between two or inside of one."""
    return st.builds(
        history.Cut,
        events=st.integers(0, 12),
        inside=st.sampled_from((0, 0, 5, 40)),
        how=st.sampled_from(("reset", "close")),
    )


def counts(policy: Policy) -> st.SearchStrategy[int]:
    """How many messages a call sends: a few, or about as many as the window holds."""
    few = st.integers(1, 8)
    around = policy.window_events
    if around > 128:
        return st.one_of(few, st.sampled_from((20, 60)))
    return st.one_of(few, st.sampled_from((20, 60, around - 1, around, around + 1, 2 * around)))


@st.composite
def histories(draw: st.DrawFn, policy: Policy, pushes: bool = True) -> History:
    """Histories of one or two sessions; with ``pushes`` only if the server has a tool that pushes."""
    kinds = draw(st.sets(st.sampled_from(_KINDS if pushes else _OF_CALLS)))
    twin, steps = Twin(policy, traced=False), [draw(_calls(policy))]
    twin.take(steps[0])
    while len(steps) < STEPS and draw(_MORE):
        step = draw(st.one_of([_choices(twin, policy, kind) for kind in _KINDS if kind in kinds | {"resume"}]))
        steps.append(step)
        twin.take(step)
    return History(tuple(steps))


def _calls(policy: Policy) -> st.SearchStrategy[Step]:
    return st.builds(
        history.Call,
        session=st.sampled_from(_SESSIONS),
        count=counts(policy),
        interval_ms=st.sampled_from(_INTERVALS_MS),
        cut=st.none() | cuts(),
    )


def _choices(twin: Twin, policy: Policy, kind: str) -> st.SearchStrategy[Step]:
    calls = st.integers(0, max(len(twin.calls) - 1, 0))
    match kind:
        case "resume":
            return calls.flatmap(lambda call: _resumptions(twin, call))
        case "call":
            return _calls(policy)
        case "read":
            return st.builds(history.Read, calls, st.integers(1, 12))
        case "cut":
            return st.builds(history.CutNow, calls)
        case "wait":
            return st.builds(history.Wait, st.sampled_from((_stalls(policy) if twin.is_paused else []) or _WAITS_MS))
        case "pause":
            return st.builds(history.Pause, calls) | st.builds(history.Unpause, calls)
        case "elsewhere":
            return st.builds(history.ResumeElsewhere, calls, st.sampled_from((1, 0)))
        case "misuse":
            return st.builds(history.Misuse, calls, st.integers(18, 23) | st.integers(0, 17))
        case "delete":
            return st.builds(history.Delete, st.sampled_from(_SESSIONS))
        case "push":
            return st.builds(history.Push, st.sampled_from(_SESSIONS), st.integers(1, 4))
        case "listen":
            return st.builds(history.Listen, st.sampled_from(_SESSIONS), st.none() | st.integers(0, 6))
        case _:
            return st.builds(history.CutListener, st.sampled_from(_SESSIONS))


def _stalls(policy: Policy) -> list[int]:
    """A wait in which a reader that has stopped stalls, if its budget is short enough to wait for."""
    return [policy.stall_ms + 200] if policy.stall_ms <= _LONGEST_STALL_MS else []


def _resumptions(twin: Twin, call: int) -> st.SearchStrategy[Step]:
    """From the newest id, or from one that is interesting to the machine as it stands."""
    backs = sorted(set(twin.cursors(call).values())) if twin.calls else []
    return st.builds(history.Resume, st.just(call), st.sampled_from(backs or [0]), st.none() | cuts())


_OF_CALLS = ("resume", "call", "read", "cut", "wait", "pause", "elsewhere", "misuse", "delete")
_KINDS = (*_OF_CALLS, "push", "listen", "unlisten")
