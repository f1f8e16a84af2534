"""Which exchange a fault acts on, what it does to a stream's bytes, what chance draws, what passes of a head."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reattach.live.sse import CommentLine, Decoder, Event
from reattach.live.watch.chance import SPARED, Chance
from reattach.live.watch.fault import Do, Fault, To
from reattach.live.watch.heads import Hosts, passed_on, with_host
from reattach.live.watch.plan import Armed, Asked, Plan, kinds_of
from reattach.live.watch.script import SPLIT_MS, Extra, Pass, Script, Step, Stop, Wait
from reattach.live.watch.sentence import read_sentence

CALL = Asked(method="POST", cursor=False, rpc_method="tools/call")
INITIALIZE = Asked(method="POST", cursor=False, rpc_method="initialize")
LISTEN = Asked(method="GET", cursor=False)
RECONNECT = Asked(method="GET", cursor=True)
DELETE = Asked(method="DELETE", cursor=False)


def plan(*sentences: str) -> Plan:
    return Plan(tuple(read_sentence(each) for each in sentences))


def acts(made: Plan, asked: Asked) -> list[str]:
    """What acts on a request whose faults all come to their places."""
    return [armed.fault.do.value for armed in made.asked(asked) if armed.claim()]


def test_requests_are_of_kinds() -> None:
    assert kinds_of(CALL) == {To.REQUEST, To.CALL}
    assert kinds_of(INITIALIZE) == {To.INITIALIZE}
    assert kinds_of(LISTEN) == {To.REQUEST, To.LISTEN}
    assert kinds_of(RECONNECT) == {To.REQUEST, To.RECONNECT}
    assert kinds_of(DELETE) == {To.REQUEST, To.DELETE}


def test_the_third_is_the_third_of_its_kind() -> None:
    made = plan("answer 404 to the third call")
    assert [acts(made, each) for each in (CALL, RECONNECT, CALL, LISTEN, CALL, CALL)] == [
        [],
        [],
        [],
        [],
        ["answer"],
        [],
    ]
    assert made.acted == [1]


def test_the_next_two_are_the_first_two() -> None:
    made = plan("refuse the next two reconnects with 503")
    assert [len(acts(made, RECONNECT)) for _ in range(4)] == [1, 1, 0, 0]


def test_from_then_on_is_for_ever() -> None:
    made = plan("reset from the second call on")
    assert [len(acts(made, CALL)) for _ in range(4)] == [0, 1, 1, 1]


def test_without_a_number_it_is_the_first_that_comes_to_the_place() -> None:
    made = plan("cut inside the fourth event")
    first, second, third = made.viewed(), made.viewed(), made.viewed()
    assert [len(each) for each in (first, second, third)] == [1, 1, 1]
    assert second[0].claim()  # the first view ended before its fourth event
    assert not third[0].claim()
    assert not first[0].claim()
    assert made.acted == [1]
    assert made.viewed()[0].fault.hits(4)


def test_bodies_are_looked_at_only_if_they_decide_something() -> None:
    assert not plan("cut the third view after two events", "drop Last-Event-ID", "refuse a reconnect").reads_bodies
    assert plan("reset the second call").reads_bodies
    assert Plan().empty
    assert not Plan((), Chance(1)).empty


# The script


def said(number: int, crlf: bool = False) -> bytes:
    text = f"id: e{number}\ndata: {{}}\n\n"
    return (text.replace("\n", "\r\n") if crlf else text).encode()


STREAM = b"id: p\n\n" + b": comment\n\n" + b"".join(said(number) for number in range(2, 6))
"""Priming, a comment, four events with a message: five events."""


def script(*sentences: str) -> Script:
    made = plan(*sentences)
    return Script(made.viewed())


def play(made: Script, *pieces: bytes) -> list[Step]:
    steps = made.opened()
    for piece in pieces:
        steps += made.feed(piece)
    return steps + made.ended()


def passed(steps: list[Step], *, extra: bool = False) -> bytes:
    return b"".join(step.data for step in steps if isinstance(step, Pass) or (extra and isinstance(step, Extra)))


def cut_up(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return [piece for piece in [*pieces, data[at:]] if piece]


SIZES = st.lists(st.integers(1, 40), max_size=20)


@given(SIZES)
def test_a_cut_lets_so_many_events_pass_and_no_more(sizes: list[int]) -> None:
    steps = play(script("cut a view after two events"), *cut_up(STREAM, sizes))
    assert passed(steps).startswith(STREAM[: STREAM.index(b"id: e3")])
    assert passed(steps).count(b"\n\n") == 3  # and the comment
    assert isinstance(steps[-1], Stop)


@given(SIZES)
def test_a_cut_inside_an_event_is_inside(sizes: list[int]) -> None:
    steps = play(script("cut inside the fourth event"), *cut_up(STREAM, sizes))
    begin = STREAM.index(b"id: e4")
    assert begin < len(passed(steps)) < begin + len(said(4)) - 2
    assert STREAM.startswith(passed(steps))
    assert isinstance(steps[-1], Stop)


@given(SIZES)
def test_what_comes_to_no_place_passes_whole(sizes: list[int]) -> None:
    steps = play(script("cut a view after 9 events", "repeat the 20th event"), *cut_up(STREAM, sizes))
    assert passed(steps, extra=True) == STREAM
    assert not any(isinstance(step, Stop) for step in steps)


@given(SIZES)
def test_a_repeated_event_is_extra(sizes: list[int]) -> None:
    steps = play(script("repeat the third event"), *cut_up(STREAM, sizes))
    assert passed(steps) == STREAM
    assert [step.data for step in steps if isinstance(step, Extra)] == [said(3)]


def test_by_itself_it_repeats_what_has_a_message() -> None:
    steps = play(script("repeat a frame"), STREAM, STREAM)
    assert [step.data for step in steps if isinstance(step, Extra)] == [said(2)]


@given(SIZES, st.booleans())
def test_halves_of_a_line_end_are_apart(sizes: list[int], crlf: bool) -> None:
    stream = b"".join(said(number, crlf) for number in range(4))
    steps = play(script("split CR and LF over two chunks"), *cut_up(stream, sizes))
    assert passed(steps) == stream
    assert not any(isinstance(step, Pass) and b"\r\n" in step.data for step in steps)
    assert {step.ms for step in steps if isinstance(step, Wait)} <= {SPLIT_MS}


def test_a_slow_reader_waits_after_each_event() -> None:
    steps = play(script("slow reader, 30 ms per event"), STREAM)
    assert passed(steps) == STREAM
    assert [step.ms for step in steps if isinstance(step, Wait)] == [30] * 5


def test_a_delay_waits_once_in_its_place() -> None:
    steps = play(script("delay a view by 30 ms after two events"), STREAM)
    place = steps.index(Wait(30))
    assert passed(steps[:place]).endswith(said(2))
    assert passed(steps) == STREAM
    assert steps.count(Wait(30)) == 1


def test_a_stream_that_is_stopped_stays_so() -> None:
    made = script("go silent after an event")
    assert made.feed(STREAM)[-1] == Stop(read_sentence("go silent after an event"))
    assert made.feed(STREAM) == made.ended() == []


def test_what_nobody_can_read_passes() -> None:
    made = script("cut inside the second event")
    made._decoder = Decoder(limit=100)
    endless = b"x" * 200
    assert passed([*made.feed(endless), *made.feed(endless), *made.ended()]) == endless * 2


@given(
    st.sampled_from([read_sentence(text) for text in ("cut after 3 events", "repeat the second event", "slow reader")]),
    SIZES,
)
def test_what_passes_is_a_beginning_of_what_came(fault: Fault, sizes: list[int]) -> None:
    steps = play(Script([Armed(fault, lambda: True)]), *cut_up(STREAM, sizes))
    assert STREAM.startswith(passed(steps))


# Chance


def test_a_seed_draws_the_same_and_another_draws_others() -> None:
    one = [Chance(1)(To.VIEW, number) for number in range(1, 200)]
    assert one == [Chance(1)(To.VIEW, number) for number in range(1, 200)]
    assert one != [Chance(2)(To.VIEW, number) for number in range(1, 200)]


def test_chance_draws_all_kinds_that_lose_nothing_and_no_others() -> None:
    drawn = [fault for number in range(1, 500) for kind in To for fault in Chance(3)(kind, number)]
    counts = Counter((fault.to, fault.do) for fault in drawn)
    assert set(counts) == {
        (To.VIEW, Do.CUT),
        (To.VIEW, Do.RESET),
        (To.VIEW, Do.HALF_OPEN),
        (To.VIEW, Do.DELAY),
        (To.VIEW, Do.SPLIT),
        (To.RECONNECT, Do.ANSWER),
        (To.RECONNECT, Do.RESET),
    }
    places = [
        fault.after or 0 for fault in drawn if fault.do in (Do.CUT, Do.RESET, Do.HALF_OPEN) and fault.to is To.VIEW
    ]
    assert 18 < sum(places) / len(places) < 22
    assert min(places) == SPARED
    assert len(places) == 499  # each view is broken, if it has so many events
    assert {fault.inside for fault in drawn if fault.do is Do.CUT} == {True, False}


# Heads


def test_what_is_of_one_hop_is_taken_out() -> None:
    fields = [
        (b"Host", b"a"),
        (b"Connection", b"close, X-Hop"),
        (b"X-Hop", b"1"),
        (b"X-Stays", b"2"),
        (b"TE", b"trailers"),
        (b"Upgrade", b"h2c"),
        (b"Proxy-Authorization", b"3"),
        (b"Keep-Alive", b"timeout=5"),
    ]
    assert passed_on(fields) == [
        (b"Host", b"a"),
        (b"Connection", b"close"),
        (b"X-Stays", b"2"),
        (b"Keep-Alive", b"timeout=5"),
    ]
    assert passed_on([(b"Connection", b"Upgrade"), (b"connection", b"Keep-Alive")]) == [(b"connection", b"Keep-Alive")]
    assert passed_on([(b"A", b"1"), (b"a", b"2"), (b"B", b"3")], {b"a"}) == [(b"B", b"3")]


def test_the_host_is_replaced_where_it_stands() -> None:
    assert with_host([(b"A", b"1"), (b"hOsT", b"x"), (b"B", b"2")], "t:80") == [
        (b"A", b"1"),
        (b"hOsT", b"t:80"),
        (b"B", b"2"),
    ]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.9.9.9:1", "[::1]:80", "proxy.test:1"]
)
def test_a_host_that_is_known_is_let_in(host: str) -> None:
    assert Hosts(frozenset({"proxy.test"})).admit([(b"Host", host.encode())])


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "["],
)
def test_a_host_that_is_not_is_kept_out(host: str) -> None:
    hosts = Hosts(frozenset({"proxy.test"}))
    assert not hosts.admit([(b"Host", host.encode())])
    assert not hosts.admit([(b"Host", b"localhost"), (b"host", host.encode())])


@given(st.binary(max_size=300))
def test_a_decoder_with_a_limit_reads_what_one_without_does(data: bytes) -> None:
    items: list[list[Event | CommentLine]] = [list(Decoder(limit).feed(data)) for limit in (1_000, 10**9)]
    assert items[0] == items[1]
