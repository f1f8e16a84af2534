"""Faults from sentences and from TOML: what is read, and what is said about what cannot be."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reattach.live.watch.fault import FORBIDDEN, TABLE, Do, Fault, FaultError, To, make_fault
from reattach.live.watch.fault_file import read_faults
from reattach.live.watch.sentence import VERBS, read_sentence

SENTENCES: dict[str, Fault] = {
    "cut the third view after two events": make_fault(Do.CUT, to=To.VIEW, begin=3, times=1, after=2),
    "cut inside the fourth event": make_fault(Do.CUT, to=To.VIEW, after=3, inside=True),
    "accept and go silent": make_fault(Do.SILENCE),
    "reset": make_fault(Do.RESET),
    "half-open: keep the server's side": make_fault(Do.HALF_OPEN),
    "delay": make_fault(Do.DELAY),
    "slow reader": make_fault(Do.SLOW),
    "refuse the next two reconnects with 503": make_fault(Do.ANSWER, to=To.RECONNECT, begin=1, times=2, status=503),
    "drop Last-Event-ID": make_fault(Do.DROP, header="Last-Event-ID"),
    "answer 404 once": make_fault(Do.ANSWER, status=404, times=1),
    "split CR and LF over two chunks": make_fault(Do.SPLIT),
    "repeat a frame": make_fault(Do.REPEAT),
    # Other ways to say things.
    "delay 1 request": make_fault(Do.DELAY, to=To.REQUEST, times=1),
    "Cut Every View, after 10 events.": make_fault(Do.CUT, to=To.VIEW, times=0, after=10),
    "reset from the second call on": make_fault(Do.RESET, to=To.CALL, begin=2, times=0),
    "reset 3 calls from the 2nd on": make_fault(Do.RESET, to=To.CALL, begin=2, times=3),
    "cut a view after no events": make_fault(Do.CUT, to=To.VIEW, after=0),
    "cut in the middle of the 12th event twice": make_fault(Do.CUT, after=11, inside=True, times=2),
    "delay every call by 2 s": make_fault(Do.DELAY, to=To.CALL, times=0, ms=2_000),
    "delay the first view by 30ms after an event": make_fault(Do.DELAY, to=To.VIEW, begin=1, after=1, ms=30),
    "slow reader of the second view, 20 ms per event": make_fault(Do.SLOW, to=To.VIEW, begin=2, ms=20),
    "answer 404 to the second delete": make_fault(Do.ANSWER, to=To.DELETE, begin=2, status=404),
    "go silent on the first resumption": make_fault(Do.SILENCE, to=To.RECONNECT, begin=1),
    "go silent after 3 events": make_fault(Do.SILENCE, after=3),
    "drop X-Api-Key of every request": make_fault(Do.DROP, to=To.REQUEST, times=0, header="X-Api-Key"),
    "repeat the third event": make_fault(Do.REPEAT, to=To.VIEW, after=3),
    "refuse a listener with 405": make_fault(Do.ANSWER, to=To.LISTEN, status=405),
    "refuse the initialize": make_fault(Do.ANSWER, to=To.INITIALIZE, status=503),
}


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_is_read(text: str) -> None:
    assert read_sentence(text) == SENTENCES[text]


def test_every_kind_of_fault_has_an_example_that_is_read_as_it() -> None:
    assert {read_sentence(about.example).do for about in TABLE.values()} == set(Do)
    for do, about in TABLE.items():
        assert read_sentence(about.example).do is do


WORDS = ("cut", "the", "view", "3", "after", "events", "404", "ms", "every", "on", "third", "inside", "with", "reset")

BAD: dict[str, str] = {
    "": "it has to begin with one of",
    "destroy everything": "it has to begin with one of",
    "cut the third viewer": "'the third viewer' cannot be read here",
    "cut the third view the fourth view": "'the fourth view' cannot be read here",
    "cut after two events after three events": "'after three events' cannot be read here",
    "cut the third view with 503": "cut has no status",
    "answer 99": "it has to begin with",
    "answer 999": "status: an integer from 200 to 599",
    "answer 404 to a call with 503": "contradicts",
    "refuse a view": "only the answer tells that an exchange is a view",
    "drop": "it has to begin with",
    "drop Host": "without Host there is no request",
    "drop (x)": "the name of a request header",
    "cut a view by 3 ms": "cut does not wait",
    "slow reader after 3 events": "slow has no place in the stream",
    "delay inside the third event": "delay cannot act inside an event",
    "cut the 0th view": "from: an integer from 1",
    "delay by 99999999 s": "ms: an integer from 1 to 86400000",
    "repeat the 0th event": "events are counted from 1",
}


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_read_is_told_with_the_sentence(text: str) -> None:
    with pytest.raises(FaultError) as error:
        read_sentence(text)
    assert BAD[text] in str(error.value)
    assert str(error.value).startswith(repr(text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_an_error_names_is_one(verb: str) -> None:
    read_sentence(verb.replace("STATUS", "503").replace("HEADER", "X-Any"))


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    said: dict[str, Any] = {"to": draw(st.sampled_from([None, *To]))}
    do = draw(st.sampled_from(Do))
    if draw(st.booleans()):
        said["begin"] = draw(st.integers(1, 200))
    if draw(st.booleans()):
        said["times"] = draw(st.integers(0, 200))
    if draw(st.booleans()):
        said["after"] = draw(st.integers(0, 200))
        said["inside"] = draw(st.booleans())
    if do in (Do.DELAY, Do.SLOW):
        said["ms"] = draw(st.integers(1, 100_000))
    if do is Do.ANSWER:
        said["status"] = draw(st.integers(200, 599))
    if do is Do.DROP:
        said["header"] = draw(st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,20}", fullmatch=True))
    try:
        return make_fault(do, **said)
    except FaultError:
        return make_fault(Do.CUT)


@given(faults())
def test_a_fault_says_itself_so_that_it_is_read_again(fault: Fault) -> None:
    assert read_sentence(str(fault)) == fault


@settings(max_examples=40)
@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_no_text_is_more_than_an_error(text: str) -> None:
    with contextlib.suppress(FaultError):
        read_sentence(text)


def test_a_file_has_sentences_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text(
        """
faults = ["cut the third view after two events", "drop Last-Event-ID"]
[[fault]]
do = "answer"
to = "reconnect"
from = 1
times = 2
status = 503
[[fault]]
do = "cut"
after_events = 3
inside = true
"""
    )
    assert read_faults(path) == (
        SENTENCES["cut the third view after two events"],
        SENTENCES["drop Last-Event-ID"],
        SENTENCES["refuse the next two reconnects with 503"],
        SENTENCES["cut inside the fourth event"],
    )


BAD_FILES: dict[str, str] = {
    "faults = [": "not TOML",
    'faults = ["cut it"]': "faults[1]: 'cut it': 'it' cannot be read here",
    "faults = 3": "faults: a list is needed",
    "fault = 3": "fault: a list is needed",
    "fault = [1]": "a table is needed",
    "[[fault]]\nto = 'view'": "fault[1]: do: missing",
    "[[fault]]\ndo = 'cut'\n[[fault]]\ndo = 'explode'": "fault[2]: do: one of cut, reset,",
    "[[fault]]\ndo = 'cut'\ntimes = 'x'": "fault[1]: times:",
    "[[fault]]\ndo = 'cut'\nfrom = 0": "fault[1]: from: an integer from 1",
    "[[fault]]\ndo = 'cut'\nafter = 1": "fault[1]: unknown key: after",
    "fauts = []": "unknown key: fauts",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_what_is_wrong_in_a_file_is_told_with_its_place(text: str, tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text(text)
    with pytest.raises(FaultError) as error:
        read_faults(path)
    assert str(error.value).startswith(f"{path}: ")
    assert BAD_FILES[text] in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(FaultError, match="cannot be read: No such file"):
        read_faults(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FaultError, match="not UTF-8"):
        read_faults(tmp_path / "binary.toml")


def test_what_makes_a_request_cannot_be_dropped() -> None:
    for header in FORBIDDEN:
        with pytest.raises(FaultError, match=re.escape(header)):
            make_fault(Do.DROP, header=header)
