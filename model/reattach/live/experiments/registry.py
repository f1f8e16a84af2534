"""Experiments by name: what each is for, what it needs, and with which parameters it is run.

An experiment is a function that drives the server, and parameters that are plain JSON. Everything random about a run is
drawn from its seed into the parameters beforehand, so a finding can be shown again from the experiment's name and its
parameters alone.
"""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum, auto

from attrs import frozen

from reattach.live.bench import Bench
from reattach.oracle.observation import Json

Parameters = Mapping[str, Json]
Run = Callable[[Bench, Parameters], Awaitable[None]]
Plan = Callable[[random.Random], Sequence[Parameters]]


class Cost(Enum):
    """When an experiment is run, and how often."""

    SYSTEMATIC = auto()
    """Once, first: takes a second or two, and shows the same thing every time."""
    SLOW = auto()
    """Once, beside the others: waits for a budget of the server to pass."""
    RACY = auto()
    """As often as the budget allows: what it looks for needs luck."""
    ALONE = auto()
    """Once, after all that is run once, with nothing beside it: it disturbs every session of the server."""


class Need(Enum):
    """What an experiment needs of the server or of the options. The text completes "not run: needs ..."."""

    SESSIONS = "session ids"
    STIMULUS = "a tool that makes the server send something (--stimulus)"
    NUMBERED = "a tool that numbers its messages (reattach_emit or reattach_progress)"
    PUSHES = "the tool reattach_push"
    CLOSES = "the tool test_reconnection"
    SECOND_PRINCIPAL = "a second principal (--second-principal)"
    RESTART = "a server that may be restarted (--command with --restart)"
    ALSO = "a second URL of the same deployment (--also)"
    WINDOW = "a declared number of events held (--policy: window_events)"
    AGE = "a declared age of events held (--policy: window_ms)"
    BYTES = "a declared number of bytes held (--policy: window_bytes)"
    STALL = "a declared stall budget and transport buffer (--policy: stall_ms, transport_buffer_bytes)"
    ABSENCE = "a declared absence budget (--policy: absence_ms)"


@frozen
class Experiment:
    """A registered experiment."""

    name: str
    clauses: tuple[str, ...]
    """The clauses it is meant to exercise; ``--only`` selects by them."""
    cost: Cost
    needs: frozenset[Need]
    run: Run
    plan: Plan
    about: str
    """One line: what it does."""


class ParameterError(Exception):
    """A parameter is missing or of the wrong type: a replay file that was changed. One line of text."""


EXPERIMENTS: dict[str, Experiment] = {}
"""Every experiment, in the order in which they are started."""


def _once(_: random.Random) -> Sequence[Parameters]:
    return [{}]


def experiment(
    name: str,
    *clauses: str,
    needs: Sequence[Need] = (),
    cost: Cost = Cost.SYSTEMATIC,
    plan: Plan = _once,
) -> Callable[[Run], Run]:
    """Register the decorated function; the first line of its docstring says what it does."""

    def register(run: Run) -> Run:
        assert name not in EXPERIMENTS, f"two experiments are named {name}"
        about = (run.__doc__ or "").strip().splitlines()[0]
        EXPERIMENTS[name] = Experiment(name, clauses, cost, frozenset(needs), run, plan, about)
        return run

    return register


def integer(parameters: Parameters, name: str) -> int:
    """A parameter that is an integer. Raises ``ParameterError`` if it is missing or something else."""
    value = parameters.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"parameter {name}: an integer is needed, not {value!r}")
    return value
