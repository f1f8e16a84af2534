"""The executor tells of the code that runs: paths and runs on ordinary integers agree, in both directions.

Forward: each path is run again on the integers of a model (``reattach_proofs.fidelity``), which test_theorems does for
a sample and ``make prove`` for all. Backward: here. Sessions that random inputs lead to are put into the shape they are
of, and must then take exactly one path of each obligation, with an equal result.
"""

import random
from functools import cache
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.machine.strategies import Script, as_input, policies, scripts
from tests.proofs.fitting import Fitted, answered, decides, fitted

from reattach.machine import transition
from reattach.machine.cursor import ABSENT, Cursor, Presence
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import Session, is_viewed
from reattach.machine.transition import (
    Accepted,
    Disconnect,
    Emit,
    Emitted,
    Finish,
    Input,
    OpenStream,
    Resume,
    Write,
    advance,
    open_session,
    react,
)
from reattach.machine.window import Entry, Window
from reattach_proofs import fidelity, history, obligations, shapes
from reattach_proofs.executor import Path, explore
from reattach_proofs.history import History, SymbolicWindow
from reattach_proofs.obligations import Obligation, Outcome
from reattach_proofs.prover import Task, decide
from reattach_proofs.symbolic import Concrete, Untrue, executing
from reattach_proofs.terms import FALSE, TRUE, Interpretation

BY_NAME = {obligation.name: obligation for obligation in obligations.obligations()}


@cache
def explored(name: str) -> list[Path[Outcome]]:
    return explore(BY_NAME[name].run)


def lived(policy: Policy, script: Script, mode: Mode = Mode.REATTACH) -> tuple[Session, tuple[Entry, ...]]:
    """The session that inputs lead to, and all the events it ever had."""
    session, now = open_session("T", "", 0, mode), 0
    events: tuple[Entry, ...] = ()
    for connection, (later, each) in enumerate(script, 1):
        now = max(now, now + later)
        present = advance(policy, session, now).session
        if not present.alive:
            break
        given = as_input(each, connection)
        after = react(policy, present, given)
        if isinstance(after.result, Emitted) and isinstance(given, Emit):
            events = (*events, after.session.window.held[-1])
        session = after.session
    return session, events


ASKED = (
    "time",
    "resume subject",
    "resume other",
    "emit to subject",
    "emit to other",
    "write subject",
    "accepted subject",
    "finish subject",
    "listen",
    "push",
    "open stream",
    "terminate",
)


@st.composite
def situations(draw: st.DrawFn) -> tuple[Fitted, str, dict[str, int]]:
    """A session in its shape, an input, and the integers that it comes with."""
    policy = draw(policies)
    session, events = lived(policy, draw(scripts))
    assume(session.alive)
    fits = list(fitted(policy, session, events))
    assume(fits)
    (fit,) = fits
    given = {
        "given.seq": draw(st.integers(-1, session.window.next + 1)),
        "given.size": draw(st.integers(0, 7)),
        "any": draw(st.integers(0, session.window.next)),
        "time": session.now + draw(st.integers(-1, 15)),
    }
    return fit, draw(st.sampled_from(ASKED)), given


def test_a_session_of_each_shape_can_be_reached() -> None:
    chance = random.Random(0)
    missing = set(shapes.shapes())
    for _ in range(20_000):
        mode = chance.choice([Mode.REATTACH, Mode.REATTACH, Mode.REATTACH, Mode.REPLAY, Mode.REFUSE])
        session = open_session("T", "", 0, mode)
        for opening in OPENING[: chance.randrange(len(OPENING) + 1)]:
            session = react(ROOMY, session, opening).session
        for connection in range(10, 10 + chance.randrange(12)):
            session = react(ROOMY, session, some(chance, session, connection)).session
        missing -= {fit.shape for fit in fitted(ROOMY, session, session.window.held)}
        if not missing:
            break
    assert missing == set()


ROOMY = Policy(window_events=3, window_ms=30, stall_ms=20, absence_ms=50, open_streams=4, retry_ms=0)


OPENING: list[Input] = [
    *(Resume(1, ABSENT), Write(1), Accepted(1)),
    *(OpenStream(2), Write(2), Accepted(2)),
    *(Resume(3, ABSENT), Write(1), Write(3), Accepted(3)),
]
"""A listener, a call, another listener, who takes the place of the first: more than chance soon comes to."""


def some(chance: random.Random, session: Session, connection: int) -> Input:
    """An input that the session has an answer to, by chance."""
    stream = chance.choice(session.streams)
    viewed = [each.view.connection for each in session.streams if is_viewed(each)] or [0]
    inputs: list[Input] = [
        Resume(connection, ABSENT),
        Resume(connection, Cursor(Presence.PRESENT, "T", stream.number, stream.last)),
        OpenStream(connection),
        Emit(stream.number, 1, None),
        *[Write(connection) for connection in viewed],
        *[Accepted(connection) for connection in viewed],
        Disconnect(chance.choice(viewed)),
        Finish(stream.number),
    ]
    return chance.choice(inputs)


@settings(max_examples=200, derandomize=True, suppress_health_check=list(HealthCheck))
@given(situations())
def test_a_session_takes_exactly_one_path_and_comes_to_the_same(situation: tuple[Fitted, str, dict[str, int]]) -> None:
    fit, asked, given = situation
    obligation = BY_NAME[f"{fit.shape.name()} | {asked}"]
    meaning = fit.meaning(fit.events, **given)
    with executing(Concrete(meaning, fit.seqs)):
        assert shapes.session(fit.shape, History(universals=[])) == fit.session
        step: Any = obligation.run().steps[0]
    new = [entry for entry in step.session.window.held if entry.seq not in fit.seqs]
    events = (*fit.events, *new)
    meaning = fit.meaning(events, **given)
    taken = [path for path in explored(obligation.name) if decides(path, meaning, events)]
    assert len(taken) == 1
    ordinary = fidelity.compare(obligation.run, taken[0], answered(taken[0], meaning, events), fit.seqs)
    assert [claim.name for claim in ordinary.claims if claim.formula is not TRUE] == []


# A comparison that finds nothing would be none


def replayed(obligation: Obligation) -> list[str]:
    """What is refuted when each path is run again on ordinary integers."""
    return [failure.what for failure in decide(obligation, Task(replay=True)).failures]


def named(end: str) -> Obligation:
    return next(obligation for name, obligation in BY_NAME.items() if name.endswith(end))


def test_a_contract_that_says_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    emissions = [
        obligation
        for name, obligation in BY_NAME.items()
        if name.endswith("no view + request 2 with a view that reads | emit to subject")
    ]
    assert [what for obligation in emissions for what in replayed(obligation)] == []

    def first_counted(window: SymbolicWindow, count: int) -> int:
        return window._first("first_counted", history.AT, count)

    monkeypatch.setattr(SymbolicWindow, "first_counted", first_counted)
    found = [what for obligation in emissions for what in replayed(obligation)]
    assert any(what.startswith("on ordinary integers") for what in found)


def test_a_machine_that_tells_symbolic_from_ordinary_integers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    obligation = named("| terminate")

    def terminated(session: Session) -> Session:
        return evolve(session, alive=False, window=Window(), streams=(), requests=int(type(session.now) is int))

    assert replayed(obligation) == []
    monkeypatch.setattr(transition, "_terminated", terminated)
    assert any(what.startswith("on ordinary integers") for what in replayed(obligation))


def test_values_that_do_not_take_the_path_are_refused() -> None:
    obligation = named("| tick")
    (path, *_) = explored(obligation.name)
    interpretation = path.model.interpretation
    seqs = fidelity.seqs_of(path, interpretation)
    fidelity.compare(obligation.run, path, interpretation, seqs)
    other = Interpretation({**interpretation.names, "policy.window_events": 1}, interpretation.functions)
    with pytest.raises(Untrue):
        fidelity.compare(obligation.run, path, other, seqs)


def test_a_formula_that_is_not_the_claim_is_found() -> None:
    obligation = named("| tick")
    (path, *_) = explored(obligation.name)
    doctored = evolve(path.result, claims=(evolve(path.result.claims[0], formula=FALSE), *path.result.claims[1:]))
    with pytest.raises(Untrue):
        fidelity.replay(obligation.run, evolve(path, result=doctored))


def test_another_result_is_found() -> None:
    obligation = named("| arrive")
    (path, *_) = explored(obligation.name)
    step: Any = path.result.steps[0]
    other = evolve(path.result, steps=(evolve(step, session=evolve(step.session, requests=step.session.requests + 1)),))
    fidelity.replay(obligation.run, path)
    with pytest.raises(Untrue):
        fidelity.replay(obligation.run, evolve(path, result=other))
