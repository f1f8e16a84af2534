"""Two short ways of the oracle, beside the general one: frames entered without judges, judges asked of some moments.

Every history is told to three oracles: one that goes the short ways, one that asks the judges of each frame, and one
that asks all judges of every moment. They say the same, finding by finding and count by count.
"""

import json
import random
from collections.abc import Callable, Iterable, Sequence

import pytest
from attrs import define, evolve, field
from hypothesis import example, given, settings
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
from tests.oracle.wire import Exchange as WireExchange
from tests.oracle.wire import Session, Wire, event_id, log, result
from tests.oracle.world import World

from reattach.machine.policy import SHORT
from reattach.machine.revision import Revision
from reattach.oracle import oracle as general
from reattach.oracle import swift
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration, declaration_of
from reattach.oracle.judges import JUDGES
from reattach.oracle.message import Numbered
from reattach.oracle.observation import Closed, Frame, Json, Observation
from reattach.oracle.oracle import ObservationError, Oracle
from reattach.oracle.reconstruct import take
from reattach.oracle.record import Run, Seen
from reattach.oracle.stretch import Stretch
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


LARGE = 5_000
STEPS = (
    *("log", "log", "log", "progress", "progress", "result", "cut", "resume"),
    *("other log", "plain", "again", "bare", "bare again", "retry", "skip", "large log", "large result", "lower id"),
    *("error", "result of the other", "unknown result", "batch", "other stream's id", "strange id", "unclaimed"),
    *("quiet", "pause", "read on", "pause the other", "take over", "expect", "expect less", "delete", "ping", "end"),
    *("another call", "listen", "push", "another session", "soon", "later", "text", "deep", "true", "settle"),
)
"""What may come next on a call, or beside it."""


@define
class Script:
    """A call that is told step by step, whatever comes of it."""

    rng: random.Random
    wire: Wire = field(factory=Wire)
    seq: int = 1
    n: int = 0
    done: int = 0
    at: str = ""
    wait: int = 200
    session: Session = field(init=False)
    call: WireExchange = field(init=False)
    view: WireExchange = field(init=False)
    other: WireExchange = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.session = self.wire.session()
        self._call()
        self.other = self.call

    def _call(self) -> None:
        arguments: Json = {"label": "A"}
        params: Json = {"name": "reattach_emit", "arguments": arguments, "_meta": {"progressToken": "t"}}
        self.call = self.view = self.session.call(
            payload={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}, rpc_id=2
        ).answer()

    def _id(self) -> str:
        self.seq += 1
        self.at = event_id(2, self.seq)
        return self.at

    def _event(self, payload: Json, size: int = 60) -> None:
        self.view.event(self._id(), payload, size=size)

    def take(self, step: str) -> None:
        """Tell what a step is."""
        view, wire = self.view, self.wire
        match step:
            case "log" | "large log" | "skip" | "again" | "other log" | "unclaimed":
                self.n += {"skip": 2, "again": 0}.get(step, 1)
                label = {"other log": "B", "unclaimed": "Z"}.get(step, "A")
                self._event(log(label, self.n), LARGE if step == "large log" else 60)
            case "text" | "deep" | "true":
                self.n += 1
                numbered: Json = {"label": "A", "n": True if step == "true" else self.n}
                data: Json = json.dumps(numbered) if step == "text" else [numbered]
                said: Json = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": data}}
                self._event(said)
            case "progress":
                self.done += 1
                done: Json = {"progressToken": "t", "progress": self.done}
                self._event({"jsonrpc": "2.0", "method": "notifications/progress", "params": done})
            case "plain":
                self._event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            case "result" | "large result":
                self._event(result(2, "12 ms"), LARGE if step == "large result" else 60)
            case "error":
                self._event({"jsonrpc": "2.0", "id": 2, "error": {"code": 1}})
            case "result of the other" | "unknown result":
                self._event(result(3 if step == "result of the other" else 9))
            case "batch":
                self._event([result(2), log("A", self.n)])
            case "bare" | "retry":
                view.bare(self._id(), retry=10 if step == "retry" else None)
            case "bare again":
                view.bare(self.at)
            case "lower id":
                view.log(event_id(2, 1), "A", self.n)
            case "other stream's id":
                view.log(event_id(7, self.seq), "A", self.n)
            case "strange id":
                self.n += 1
                view.log(self.rng.choice(["x", None, f"{self.at}0000000000000000", "\u0663"]), "A", self.n)
            case "quiet":
                view.quiet()
            case "pause":
                view.pause()
            case "read on":
                view.read_on()
            case "pause the other":
                self.other.pause()
            case "cut" | "end":
                view.cut() if step == "cut" else view.end()
            case "resume" | "take over":
                if step == "resume":
                    view.cut()
                    wire.pass_time(10)
                self.view = self.session.get(self.at).answer().comment(f"resumed {self.at}")
            case "expect" | "expect less":
                self.call.expect_logs("A", self.n + (3 if step == "expect" else -1))
            case "settle":
                self.call.settle(view)
            case "delete":
                self.session.delete()
            case "ping":
                self.session.ping()
            case "another call":
                self.other = self.session.emit("B", 4).bare(event_id(3, 900)).log(event_id(3, 901), "B", 1)
            case "listen":
                self.other = self.session.get().answer().bare(event_id(1, 800 + self.seq))
            case "push":
                self.other.log(event_id(1, 850 + self.seq), "P", self.seq)
            case "another session":
                self.wire.session().emit("A", 4).log(event_id(2, self.seq + 1), "A", self.n + 1)
            case "soon":
                self.wait = 5
            case "later":
                self.wait = 200
        wire.pass_time(self.wait)


def _scripted(steps: Sequence[str], seed: int = 0) -> Wire:
    script = Script(random.Random(seed))
    for step in steps:
        script.take(step)
    return script.wire


@settings(max_examples=150)
@example(["large result", "log", "quiet"], 4096, 0)
@example(
    ["resume", "unclaimed", "batch", "progress", "large log", "large log", "text", "large log", "log", "log", "result",
     "another session", "log", "strange id", "log", "log", "progress", "log", "large log", "log", "log", "end"],
    16,
    0,
)  # fmt: skip
@given(st.lists(st.sampled_from(STEPS), max_size=24), st.sampled_from([16, 4096]), st.integers(0, 3))
def test_a_call_step_by_step_is_judged_the_same(steps: list[str], horizon: int, seed: int) -> None:
    assert not _differs(_scripted(["bare", *steps], seed).observations, horizon=horizon)


@pytest.mark.parametrize("step", sorted(set(STEPS)))
@pytest.mark.parametrize("place", [1, 2, 4, 6])
@pytest.mark.parametrize("cut", [False, True])
def test_one_step_that_is_not_as_it_should_be(step: str, place: int, cut: bool) -> None:
    steps = ["bare", "log", "log", *(["resume"] if cut else []), "log", "progress", "result", "end"]
    steps.insert(place, step)
    assert not _differs(_scripted(steps).observations)
    assert not _differs(_scripted(["soon", *steps]).observations, DECLARED)


def test_what_is_as_it_should_be_goes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a call's stream, and its end; of a resumption all but the first message, and the end."""
    generally: list[Observation] = []

    def spy(run: Run, seen: Seen) -> object:
        generally.append(seen.observation)
        return take(run, seen)

    monkeypatch.setattr(general, "take", spy)
    call, more = ["bare", "log", "log", "progress", "large log"], ["large result", "end"]
    for steps, left in ((call, 0), (call + more, 0), ([*call, "resume", "bare again", "log", "log", *more], 3)):
        oracle = Oracle(revision=Revision.R2025_11_25)
        wire = _scripted(steps)
        opened = next(n for n, each in enumerate(wire.observations) if isinstance(each, Frame))
        generally.clear()
        for observation in wire.observations:
            oracle.observe(observation)
        observed = [each for each in generally if each in wire.observations[opened:]]
        assert len([each for each in observed if isinstance(each, Frame | Closed)]) == left


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("_is_next", lambda steady, payload, label, n: True),
        ("_is_free", lambda exchange, view: True),
        ("_is_answer", lambda steady, name, payload: True),
        ("said", lambda payload: ("A#2", "A", Numbered("A", 2), False)),
        ("note_responses", lambda session, seen, payload: None),
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
    plain = ["bare", "log", "log", "progress", "resume", "log", "result", "end"]
    histories = [_scripted([*plain[:place], step, *plain[place:]]) for step in set(STEPS) for place in (1, 3, 6)]
    assert any(_differs(wire.observations, horizon=16) for wire in histories)


def _begins_anyway(stretch: Stretch, label: str, n: int) -> bool:
    stretch.view.stream.session.series[label] = stretch
    stretch.reached[label] = n
    return True


@pytest.mark.parametrize(
    ("name", "changed"),
    [("enter", lambda stretch: stretch._leave()), ("begin", _begins_anyway)],
)
def test_a_stretch_that_is_not_entered_as_it_came_is_found_out(
    name: str, changed: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stretch, name, changed)
    calls = (["progress", "result", "again", "end"], ["resume", "log", "result", "end"])
    assert any(_differs(_scripted(["bare", "log", "log", "log", *call]).observations) for call in calls)


def test_a_judge_that_is_not_asked_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general, "judges_of", lambda moment: _all_judges(moment)[1:])
    quickly = _say(Oracle(revision=Revision.R2025_11_25), _call(["nothing"] * 4).observations)
    monkeypatch.setattr(general, "judges_of", _all_judges)
    assert quickly != _say(Oracle(revision=Revision.R2025_11_25), _call(["nothing"] * 4).observations)
