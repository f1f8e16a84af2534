"""The public Hypothesis strategies: what they draw is what they say it is, by the machine's own judgement."""

import re
from pathlib import Path

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from reattach.forged import malformed
from reattach.live.experiments.history import Call, Push
from reattach.machine.cursor import Presence, parse_cursor
from reattach.machine.decision import Fresh, Reason, Reattach, Refuse, decide_cursor
from reattach.machine.policy import Policy, is_valid
from reattach.machine.session import Session
from reattach.machine.transition import Emit, OpenStream, open_session, step
from reattach.strategies import Bearing, LastEventId, cursors, event_ids, histories, last_event_ids, policies, tags

ROOT = Path(__file__).parents[2]
TAG = "abcdefghijklmnopqrstuv"
OTHER_TAG = "ABCDEFGHIJKLMNOPQRSTUV"
DECIDED = {
    Bearing.MALFORMED: Reason.CURSOR_MALFORMED,
    Bearing.FOREIGN: Reason.CURSOR_FOREIGN,
    Bearing.AHEAD: Reason.CURSOR_AHEAD,
    Bearing.MISMATCH: Reason.CURSOR_MISMATCH,
}


def two_streams() -> Session:
    """A session whose two request streams were sent events in turn."""
    session = open_session(TAG, "", 0)
    for connection in (1, 2):
        session = step(Policy(), session, 0, OpenStream(connection)).session
    numbers = requests(session)
    for n in range(8):
        session = step(Policy(), session, 1, Emit(numbers[n % 2], 1, "message")).session
    return session


def requests(session: Session) -> list[int]:
    """The numbers of its request streams."""
    return [stream.number for stream in session.streams][-2:]


SESSION = two_streams()
FIRST, SECOND = (
    [f"{TAG}.{number}.{event.seq}" for event in SESSION.window.held if event.stream == number]
    for number in requests(SESSION)
)
FOREIGN = [f"{OTHER_TAG}.1.1"]


def headers(*bearings: Bearing) -> st.SearchStrategy[LastEventId]:
    return last_event_ids(FIRST, others=SECOND, foreign=FOREIGN, bearings=bearings or tuple(Bearing))


@given(headers())
def test_the_machine_decides_as_the_bearing_says(presented: LastEventId) -> None:
    decision = decide_cursor(SESSION, parse_cursor(presented.headers))
    match presented.bearing:
        case Bearing.NONE:
            assert decision == Fresh()
        case Bearing.GOOD:
            assert isinstance(decision, Reattach)
            assert presented.headers == (f"{TAG}.{decision.stream}.{decision.position}",)
        case _:
            assert isinstance(decision, Refuse)
            assert decision.reason is DECIDED[presented.bearing]


@pytest.mark.parametrize("bearing", [bearing for bearing in Bearing if bearing is not Bearing.UNKNOWN])
def test_every_bearing_is_drawn_alone_and_among_all(bearing: Bearing) -> None:
    alone = find(headers(bearing), lambda _: True)
    assert alone.bearing is bearing
    assert find(headers(), lambda presented: presented.bearing is bearing).bearing is bearing


@pytest.mark.parametrize("value", malformed(FIRST[-1]))
def test_what_the_probe_presents_is_drawn(value: tuple[str, ...]) -> None:
    wanted = last_event_ids(FIRST[-1:], bearings=[Bearing.MALFORMED])
    assert find(wanted, lambda presented: presented.headers == value, settings=settings(max_examples=20_000))


@given(st.data())
def test_ids_of_any_form_will_do(data: st.DataObject) -> None:
    issued = data.draw(st.lists(st.uuids().map(str), min_size=1, max_size=4, unique=True))
    foreign = data.draw(st.lists(st.uuids().map(str), max_size=3))
    presented = data.draw(last_event_ids(issued, foreign=foreign))
    assert presented.bearing in (Bearing.NONE, Bearing.GOOD, Bearing.MALFORMED, Bearing.FOREIGN)
    given_ids = [value for value in presented.headers if value in issued]
    assert (presented.bearing is Bearing.GOOD) == (len(presented.headers) == 1 and bool(given_ids))
    if presented.bearing is Bearing.FOREIGN:
        assert presented.headers[0] in foreign


def test_what_cannot_be_drawn_is_told() -> None:
    with pytest.raises(ValueError, match="at least one id"):
        last_event_ids([])
    with pytest.raises(ValueError, match="nothing can be made of ahead"):
        last_event_ids(["one-two"], bearings=[Bearing.AHEAD])


@given(policies())
def test_policies_are_valid(policy: Policy) -> None:
    assert is_valid(policy)


@given(tags(), st.data())
def test_event_ids_parse_to_what_they_name(tag: str, data: st.DataObject) -> None:
    parsed = parse_cursor((data.draw(event_ids(tag)),))
    assert (parsed.presence, parsed.tag) == (Presence.PRESENT, tag)
    assert parse_cursor((data.draw(event_ids()),)).presence is Presence.PRESENT


@given(st.data())
def test_histories_keep_to_what_the_server_has(data: st.DataObject) -> None:
    policy = data.draw(policies())
    steps = data.draw(histories(policy, pushes=False)).steps
    assert steps
    assert isinstance(steps[0], Call)
    assert not any(isinstance(step, Push) for step in steps)


def test_histories_push_where_that_is_possible() -> None:
    pushes = find(
        histories(Policy()),
        lambda history: any(isinstance(step, Push) for step in history.steps),
        settings=settings(phases=(Phase.generate,)),
    )
    assert any(isinstance(step, Push) for step in pushes.steps)


def test_cursors_are_of_the_session_and_of_others() -> None:
    drawn = cursors("T", stream=2, seq=3)
    for presence in Presence:
        assert find(drawn, lambda cursor, presence=presence: cursor.presence is presence)  # type: ignore[misc]
    assert find(drawn, lambda cursor: cursor.presence is Presence.PRESENT and cursor.tag != "T")
    assert find(drawn, lambda cursor: (cursor.tag, cursor.stream, cursor.seq) == ("T", 2, 3))


def test_the_example_of_the_documentation_runs() -> None:
    text = (ROOT / "docs" / "strategies.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "docs/strategies.md", "exec"), names)
    test = names["test_only_good_cursors_resume"]
    assert callable(test)
    test()
    # It is no empty test: a store that takes a cursor by its number alone fails it.
    careless = example.replace(
        "if cursor in self.ids else None", "if cursor in self.ids else ([] if cursor.count('.') == 2 else None)"
    )
    assert careless != example
    exec(compile(careless, "docs/strategies.md", "exec"), names)
    test = names["test_only_good_cursors_resume"]
    assert callable(test)
    with pytest.raises(AssertionError):
        test()
