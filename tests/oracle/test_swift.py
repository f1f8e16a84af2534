"""Two short ways of the oracle, beside the general one: frames entered without judges, judges asked of some moments.

Every history is told to three oracles: one that goes the short ways, one that asks the judges of each frame, and one
that asks all judges of every moment. They say the same, finding by finding and count by count.
"""

from collections.abc import Callable, Iterable, Sequence

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.episodes import EPISODES, walk
from tests.oracle.test_hostile import declarations, others, requests
from tests.oracle.test_machine import FAULTS
from tests.oracle.twins import (  # noqa: F401  (importing registers)
    attachment,
    cursors,
    delivery,
    eras,
    events,
    idleness,
    sessions,
    window,
)
from tests.oracle.twins.base import TWINS, Twin
from tests.oracle.wire import Wire, event_id, log
from tests.oracle.world import World

from reattach.machine.policy import SHORT
from reattach.machine.revision import Revision
from reattach.oracle import oracle as general
from reattach.oracle import swift
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration, declaration_of
from reattach.oracle.judges import JUDGES
from reattach.oracle.message import Numbered
from reattach.oracle.observation import Frame, Observation
from reattach.oracle.oracle import ObservationError, Oracle
from reattach.oracle.verdict import Finding, Profile, Report

Said = tuple[list[tuple[Finding, ...] | str], Report]


def _all_judges(moment: object) -> Sequence[object]:
    return JUDGES.get(type(moment), ())


def _say(oracle: Oracle, observations: Iterable[Observation]) -> Said:
    found: list[tuple[Finding, ...] | str] = []
    for observation in observations:
        try:
            found.append(oracle.observe(observation, "e", profile=Profile.REATTACH))
        except ObservationError as error:
            found.append(str(error))
    return found, oracle.report(Profile.REATTACH)


def _differs(
    observations: Sequence[Observation],
    declaration: Declaration = NOTHING_DECLARED,
    *,
    horizon: int = 4096,
    complete: bool = True,
    revision: Revision = Revision.R2025_11_25,
) -> bool:
    def oracle(*, short: bool) -> Oracle:
        made = Oracle(revision=revision, declaration=declaration, complete=complete, horizon=horizon)
        if not short:
            made._swift = None
        return made

    quickly = _say(oracle(short=True), observations)
    generally = _say(oracle(short=False), observations)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(general, "judges_of", _all_judges)
        wholly = _say(oracle(short=False), observations)
    return not quickly == generally == wholly


def _played(seed: int, fault: str = "") -> World:
    world = World(seed, frozenset({fault} if fault else ()))
    for episode in world.rng.sample(EPISODES, len(EPISODES)):
        episode(world)
    return world


DECLARED = declaration_of(SHORT, takeover=True, transport_buffer_bytes=12_000)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("horizon", [16, 4096])
def test_the_machine_is_judged_the_same(seed: int, horizon: int) -> None:
    world = _played(seed)
    walk(world)
    assert not _differs(world.observations, DECLARED, horizon=horizon)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_changed_machine_is_judged_the_same(fault: str) -> None:
    assert not _differs(_played(1, fault).observations, DECLARED)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_a_twin_is_judged_the_same(twin: Twin) -> None:
    for bad in (False, True):
        wire = Wire(declaration=twin.declaration, revision=twin.revision)
        twin.build(wire, bad)
        assert not _differs(wire.observations, twin.declaration, revision=twin.revision)


@settings(max_examples=40)
@given(
    st.lists(st.one_of(requests, others, others), max_size=60), declarations, st.booleans(), st.sampled_from(Revision)
)
def test_any_sequence_is_judged_the_same(
    observations: list[Observation], declaration: Declaration, complete: bool, revision: Revision
) -> None:
    assert not _differs(observations, declaration, horizon=16, complete=complete, revision=revision)


CHANGES: dict[str, Callable[[Frame, Frame], Frame]] = {
    "nothing": lambda frame, _: frame,
    "the id before": lambda frame, before: evolve(frame, id=before.id),
    "the message before": lambda frame, before: evolve(frame, payload=before.payload),
    "no id": lambda frame, _: evolve(frame, id=None),
    "another stream's id": lambda frame, _: evolve(frame, id=event_id(9, int((frame.id or "0").rpartition(".")[2]))),
    "an id that is no number": lambda frame, _: evolve(frame, id=f"{frame.id}x"),
    "a lower id": lambda frame, _: evolve(frame, id=event_id(2, 1)),
    "no data": lambda frame, _: evolve(frame, has_data=False),
    "another's message": lambda frame, _: evolve(frame, payload=log("B", 1)),
    "a number too far": lambda frame, _: evolve(frame, payload=log("A", 40)),
    "a time": lambda frame, _: evolve(frame, retry=5),
}


@settings(max_examples=25)
@given(st.lists(st.sampled_from(list(CHANGES)), min_size=4, max_size=14), st.sampled_from([0, 3, 6, 9]), st.booleans())
def test_a_call_with_anything_in_it_is_judged_the_same(changes: list[str], cut_at: int, beside: bool) -> None:
    wire = _call(changes, cut_at, beside=beside)
    assert not _differs(wire.observations)


def _call(changes: Sequence[str], cut_at: int = 0, *, beside: bool = False) -> Wire:
    wire = Wire()
    session = wire.session()
    view = session.emit("A", len(changes)).bare(event_id(2, 2))
    if beside:
        session.emit("B", 3).bare(event_id(3, 30)).log(event_id(3, 31), "B", 1)
    before = Frame(at=0, connection=view.number, id=event_id(2, 3), payload=log("A", 1), has_data=True)
    for n, change in enumerate(changes, start=1):
        if n == cut_at:
            view.cut()
            wire.pass_time(10)
            view = session.get(before.id or "").answer().comment(f"resumed {before.id}")
        frame = Frame(at=0, connection=view.number, id=event_id(2, n + 2), payload=log("A", n), has_data=True, size=60)
        before = CHANGES[change](frame, before)
        wire.tell(evolve(before, at=wire.now))
        wire.pass_time(200)
    view.end()
    return wire


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("_follows", lambda view, previous, name: swift._follows(view, previous, name) or 10**6),
        ("_is_steady", lambda view, frame: True),
        ("said", lambda payload: ("A#2", "A", Numbered("A", 2), False)),
    ],
)  # fmt: skip
def test_a_short_way_that_takes_too_much_is_found_out(
    name: str, changed: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = getattr(swift, name)

    def careless(*given: object) -> object:
        monkeypatch.setattr(swift, name, before)
        try:
            return changed(*given)
        finally:
            monkeypatch.setattr(swift, name, careless)

    monkeypatch.setattr(swift, name, careless)
    histories = [_call(["nothing", change, change, *(["nothing"] * 4)], cut) for change in CHANGES for cut in (0, 4)]
    assert any(_differs(wire.observations) for wire in histories)


def test_a_judge_that_is_not_asked_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general, "judges_of", lambda moment: _all_judges(moment)[1:])
    quickly = _say(Oracle(revision=Revision.R2025_11_25), _call(["nothing"] * 4).observations)
    monkeypatch.setattr(general, "judges_of", _all_judges)
    assert quickly != _say(Oracle(revision=Revision.R2025_11_25), _call(["nothing"] * 4).observations)
