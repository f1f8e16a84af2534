"""What memory readings say: a straight line, a flat one, a noisy one, one that goes in steps, and too little of any."""

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reattach.oracle.soak import (
    BYTES_OF_EVENT,
    BYTES_OF_SESSION,
    FITTED,
    VISIBLE_BYTES,
    Growth,
    Phase,
    Reuse,
    Round,
    Soak,
    Way,
    diagnosis,
    fit_line,
    student_quantile,
    trend_of,
)

MB = 1_000_000
PER_ROUND = 12_800
"""Events of a round: 200 sessions with 64 each."""
SIZE = 4_200
"""Bytes of an event."""
START = 60 * MB


def rounds(memory: Callable[[int], float], count: int, *, warm_up: int = 2, amount: int = PER_ROUND) -> list[Round]:
    return [
        Round(
            phase=Phase.EVENTS,
            at_ms=number * 1_000,
            amount=number * amount,
            resident=START + round(memory(number)),
            warm_up=number <= warm_up,
        )
        for number in range(1, count + 1)
    ]


def events(memory: Callable[[int], float], count: int = 12) -> Growth:
    return trend_of(rounds(memory, count), least=BYTES_OF_EVENT, put_in=SIZE).growth


def noise(of: float, seed: int = 1) -> Callable[[int], float]:
    rng = random.Random(seed)
    return lambda _: rng.uniform(-of, of)


# The interval


@pytest.mark.parametrize(
    ("probability", "freedom", "quantile"),
    # The tables that every textbook has.
    [(0.975, 1, 12.706), (0.995, 2, 9.925), (0.975, 3, 3.182), (0.995, 6, 3.707), (0.995, 10, 3.169), (0.9, 30, 1.310)],
)
def test_student_quantiles(probability: float, freedom: int, quantile: float) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(quantile, abs=6e-4)


@pytest.mark.parametrize(("probability", "freedom"), [(1.0, 3), (0.4, 3), (0.9, 0)])
def test_there_is_no_quantile_of_that(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="degree of freedom"):
        student_quantile(probability, freedom)


def test_a_fit_of_known_numbers() -> None:
    # By hand: Sxx 10, Sxy 7, SSE 1.9; the slope's error is sqrt(1.9 / 3 / 10) = 0.25166, and t(0.975, 3) is 3.18245.
    fit = fit_line([1, 2, 3, 4, 5], [1, 3, 2, 4, 4], confidence=0.95)
    assert fit.slope == pytest.approx(0.7)
    assert fit.low == pytest.approx(0.7 - 0.80090, abs=1e-5)
    assert fit.high == pytest.approx(0.7 + 0.80090, abs=1e-5)


def test_the_interval_covers_the_slope_as_often_as_it_says() -> None:
    rng = random.Random(5)
    covered = 0
    for _ in range(2_000):
        fit = fit_line(range(10), [3 * x + rng.gauss(0, 4) for x in range(10)], confidence=0.9)
        covered += fit.low <= 3 <= fit.high
    assert 0.88 <= covered / 2_000 <= 0.92


def test_two_readings_have_no_interval() -> None:
    with pytest.raises(ValueError, match="three"):
        fit_line([1, 2], [1, 2])


# Growth


@pytest.mark.parametrize("seed", range(20))
def test_flat_with_noise(seed: int) -> None:
    assert events(noise(2 * MB, seed), 16) is Growth.FLAT


@pytest.mark.parametrize("seed", range(20))
def test_a_line_with_noise(seed: int) -> None:
    wobble = noise(5 * MB, seed)
    assert events(lambda n: n * PER_ROUND * SIZE + wobble(n)) is Growth.GROWS


@pytest.mark.parametrize("seed", range(20))
def test_a_line_under_a_garbage_collector(seed: int) -> None:
    """A sawtooth of a third of the heap on top of a leak."""
    wobble = noise(1 * MB, seed)
    assert events(lambda n: n * 50 * MB + (n % 3) * 20 * MB + wobble(n), 18) is Growth.GROWS


@pytest.mark.parametrize("seed", range(20))
def test_a_garbage_collector_without_a_leak_is_no_leak(seed: int) -> None:
    wobble = noise(1 * MB, seed)
    assert events(lambda n: (n % 3) * 20 * MB + wobble(n), 18) is not Growth.GROWS


@pytest.mark.parametrize("at", range(3, 24))
@pytest.mark.parametrize("height", [1 * MB, 30 * MB, 400 * MB])
def test_one_step_of_any_height_is_no_growth(at: int, height: int) -> None:
    wobble = noise(MB / 4)
    assert events(lambda n: (height if n >= at else 0) + wobble(n), 24) is not Growth.GROWS


def test_after_one_step_it_is_flat_again() -> None:
    assert events(lambda n: 30 * MB if n >= 6 else 0, 24) is Growth.FLAT


def test_steps_that_keep_coming_are_growth() -> None:
    """An allocator that takes memory in 128 MB at a time, under a store that keeps everything."""
    assert events(lambda n: (n * PER_ROUND * SIZE // (128 * MB)) * 128 * MB, 26) is Growth.GROWS


def test_growth_that_levels_off_is_none() -> None:
    assert events(lambda n: 80 * MB * (1 - 0.5**n), 24) is Growth.FLAT


@pytest.mark.parametrize("full", range(4, 12))
def test_a_window_that_fills_up_and_is_full_is_flat(full: int) -> None:
    assert events(lambda n: min(n, full) * 50 * MB, full + 30) is Growth.FLAT


def test_too_few_rounds_say_nothing() -> None:
    trend = trend_of(rounds(lambda n: n * 50 * MB, FITTED + 1), least=BYTES_OF_EVENT, put_in=SIZE)
    assert (trend.growth, trend.fit) == (Growth.OPEN, None)
    assert trend.reason == f"rounds after warm-up: {FITTED - 1} of {FITTED} needed"


def test_what_fits_into_memory_that_was_there_before_proves_nothing() -> None:
    trend = trend_of(rounds(lambda _: 0, 12, amount=100), least=BYTES_OF_EVENT, put_in=SIZE)
    assert trend.growth is Growth.OPEN
    assert "might hide" in trend.reason


def test_what_waits_for_the_collector_is_not_growth_yet() -> None:
    """Objects in circles, a quarter of all of them before any is collected: as steady as a leak, for so long."""
    assert events(lambda n: n * 1.3 * MB, 12) is Growth.OPEN
    assert events(lambda n: n * 1.3 * MB, 40) is Growth.GROWS  # no collector lets that lie


def test_growth_too_small_to_be_told_from_noise_is_open() -> None:
    assert events(lambda n: n * VISIBLE_BYTES / 100, 12) is not Growth.GROWS


@given(st.lists(st.integers(0, 10**9), min_size=10, max_size=40))
def test_any_readings_have_an_answer_and_open_has_a_reason(memory: Sequence[int]) -> None:
    trend = trend_of(rounds(lambda n: memory[n - 1], len(memory)), least=BYTES_OF_EVENT, put_in=SIZE)
    assert (trend.growth is Growth.OPEN) == bool(trend.reason)


# A soak


def soak(
    *,
    per_session: float = 0,
    per_event: float = 0,
    window: int | None = 256,
    wobble: float = MB / 4,
    reuses: Sequence[Reuse] = (),
    count: int = 24,
) -> Soak:
    shake = noise(wobble)
    small = [
        Round(phase=Phase.SESSIONS, at_ms=n, amount=200 * n, resident=START + round(200 * n * per_session + shake(n)),
              warm_up=n <= 2)
        for n in range(1, count + 1)
    ]  # fmt: skip
    big = [
        Round(phase=Phase.EVENTS, at_ms=100 + n, amount=PER_ROUND * n,
              resident=START + round(PER_ROUND * n * per_event + shake(n)), warm_up=n <= 2)
        for n in range(1, count + 1)
    ]  # fmt: skip
    return Soak(
        sessions=200,
        events=64,
        event_bytes=SIZE,
        few=16,
        limit=1_000 * MB,
        start=START,
        rounds=(*small, *big),
        declared_window=window,
        reuses=tuple(reuses),
    )


@pytest.mark.parametrize(
    ("leaks", "found"),
    [
        ({}, "no leak per session and no leak per event"),
        ({"per_session": 16 * SIZE}, "a leak per session"),
        ({"per_session": 2 * BYTES_OF_SESSION, "count": 60}, "a leak per session"),
        ({"per_event": SIZE}, "a leak per event"),
        ({"per_event": 2 * BYTES_OF_EVENT}, "a leak per event"),
        ({"per_session": 16 * SIZE, "per_event": SIZE}, "a leak per session and a leak per event"),
    ],
)
def test_the_two_leaks_are_told_apart(leaks: dict[str, float], found: str) -> None:
    assert diagnosis(soak(**leaks)) == found  # type: ignore[arg-type]


def test_what_was_not_done_is_not_known() -> None:
    empty = Soak(sessions=1, events=1, event_bytes=1, few=1, limit=1, start=1, not_done={Phase.EVENTS: "no tool"})
    assert empty.trend(Phase.EVENTS).reason == "no tool"
    assert empty.trend(Phase.SESSIONS).reason == "not begun"
    assert diagnosis(empty) == "per session: not known; per event: not known"


@pytest.mark.parametrize(
    ("first", "second", "growth"),
    [
        (100 * MB, 100 * MB, Growth.GROWS),
        (100 * MB, 60 * MB, Growth.GROWS),
        (100 * MB, 40 * MB, Growth.OPEN),
        (100 * MB, 5 * MB, Growth.FLAT),
        (100 * MB, -30 * MB, Growth.FLAT),
        (VISIBLE_BYTES - 1, 0, Growth.OPEN),
    ],
)
def test_a_second_load_tells_what_was_released(first: int, second: int, growth: Growth) -> None:
    assert Reuse(way=Way.DELETE, before=MB, first=first, second=second).growth is growth


def test_a_load_that_is_small_beside_the_process_tells_nothing() -> None:
    """What was seen of the reference server: 5.1 MB and then a step of as much, in a process of 65 MB."""
    assert Reuse(way=Way.IDLE, before=65 * MB, first=5_132_288, second=5_000_000).growth is Growth.OPEN
    assert Reuse(way=Way.IDLE, before=65 * MB, first=17 * MB, second=16 * MB).growth is Growth.GROWS
