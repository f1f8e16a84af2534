"""What Hypothesis draws: inputs, and sessions that inputs can reach. What others draw too is in reattach.strategies."""

from attrs import frozen
from hypothesis import strategies as st

from reattach import strategies
from reattach.machine.cursor import Cursor
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import Session
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Depart,
    Disconnect,
    Emit,
    Finish,
    Input,
    OpenStream,
    Resume,
    Terminate,
    Tick,
    Write,
    open_session,
    step,
)

TAG = "T"

policies = strategies.policies()


@frozen
class Fresh:
    """An input that takes the next free connection: a call, or a resumption with this cursor."""

    cursor: Cursor | None


cursors = strategies.cursors(TAG)
connections = st.integers(0, 6)
streams = st.integers(0, 5)

moments = st.one_of(st.just(0), st.just(0), st.integers(-2, 3), st.integers(0, 15))
"""By how much the next input's time differs from the last one's; clocks may disagree a little."""

given_inputs = st.one_of(
    st.sampled_from([Tick(), Arrive(), Depart()]),
    st.builds(Fresh, st.one_of(st.none(), cursors)),
    st.builds(Emit, streams, st.integers(0, 7), st.just("message")),
    st.builds(Emit, streams, st.integers(0, 2), st.just("message")),
    st.builds(Write, connections),
    st.builds(Write, connections),
    st.builds(Accepted, connections),
    st.builds(Disconnect, connections),
    st.builds(Finish, streams),
)
"""All but termination, which ends every play."""

Script = list[tuple[int, "Fresh | Input"]]

scripts = st.lists(st.tuples(moments, given_inputs), max_size=30)


def as_input(given: "Fresh | Input", connection: int) -> Input:
    """The input itself, on this connection if it needs a fresh one."""
    if not isinstance(given, Fresh):
        return given
    return OpenStream(connection) if given.cursor is None else Resume(connection, given.cursor)


@st.composite
def reached(draw: st.DrawFn, with_end: bool = True) -> tuple[Policy, Session]:
    """A policy, and a session that a script of inputs leads to under it."""
    policy = draw(policies)
    mode = draw(st.sampled_from([Mode.REATTACH, Mode.REATTACH, Mode.REPLAY, Mode.REFUSE]))
    session, now = open_session(TAG, "", 0, mode), 0
    script: Script = draw(scripts)
    if with_end and draw(st.integers(0, 9)) == 0:
        script = [*script, (0, Terminate())]
    for connection, (later, given) in enumerate(script, 1):
        now = max(0, now + later)
        session = step(policy, session, now, as_input(given, connection)).session
    return policy, session
