"""What a process's resident memory says about its sessions and its events: pure functions on measurements.

A soak measures in rounds. Each round puts the same load on the server again, and ends with one reading of its memory,
taken when the process has come to rest. In the phase *sessions* each round opens sessions with a few events, abandons
and releases them; in the phase *events* the sessions stay the same, and each round emits more in every one of them. So
a leak per session shows in the first and a leak per event in the second, each as a slope.

**The interval.** A line is fitted by least squares, and its slope has the ordinary confidence interval: with n
readings, residual variance s^2 = SSE / (n - 2), the slope's standard error is s / sqrt(Sxx), and the interval is the
slope plus and minus that times Student's t quantile with n - 2 degrees of freedom. It takes errors to be independent
and of one size. An allocator that takes memory in steps is neither, so an interval alone decides nothing:

* it **grows** if the interval lies above what is worth calling growth (``least``), *and* growth at the interval's lower
  end is more than the noise of an allocator and a collector (``visible_bytes``), *and* each quarter of the readings
  lies above the one before it by at least half of what the line says. One step of any height fails that,
  and so does growth that levels off; steps that keep coming do not.
* it is **flat** if the readings end with a stretch, long enough for a fit, whose interval lies below ``least``, *and*
  what was put in during that stretch is at least as much as the process had resident when it began. Less could hide in
  memory that was freed before, and so would be no proof of anything.
* otherwise it is **open**, with the reason. Unknown is never a pass.
"""

import math
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from statistics import fmean, linear_regression

from attrs import evolve, field, frozen

CONFIDENCE = 0.99
"""Of the intervals, two-sided."""
FITTED = 8
"""How many readings are needed at least; quarters of two."""
BYTES_OF_EVENT = 100
"""What each event must leave behind for good, in bytes, to be called a leak. It is no share of the event's size: a
store that keeps every event may keep what they have in common once."""
BYTES_OF_SESSION = 1_024
"""What each released session must leave behind for good, in bytes, to be called a leak."""
VISIBLE_BYTES = 4_000_000
"""Growth by less than this can not be told from the noise of an allocator ..."""
VISIBLE_SHARE = 4
"""... and by less than this part of what a process had before, from what a collector lets lie: that of CPython comes
when what waits for it is a quarter of all objects, and until then looks like steady growth."""


class Phase(Enum):
    """What a soak does for a while. The words complete "in the phase ..."."""

    SESSIONS = "sessions"
    """Rounds of sessions that are opened, given a few events, abandoned and released."""
    EVENTS = "events"
    """Rounds of events in sessions that stay the same, read by nobody."""
    RELEASE = "release"
    """These sessions are released; then comes the same load again."""
    PROBED = "probed"
    """The probe's experiments about windows, slow readers and absent clients."""


class Growth(Enum):
    """What became of memory."""

    FLAT = "flat"
    GROWS = "grows"
    OPEN = "open"


class Way(Enum):
    """How sessions are released."""

    DELETE = "DELETE"
    IDLE = "the idle budget"


@frozen(kw_only=True)
class Reading:
    """Resident memory at some time."""

    at_ms: int
    resident: int
    """Bytes, of the process and everything it started."""


@frozen(kw_only=True)
class Round:
    """A round, read when the process had come to rest after it."""

    phase: Phase
    at_ms: int
    amount: int
    """Sessions released, or events emitted, in this phase so far."""
    resident: int
    """Bytes."""
    warm_up: bool
    """Whether it is left out of the fit: caches, pools and windows fill up first."""


@frozen
class Fit:
    """A fitted line's slope and its confidence interval, in bytes per session or per event."""

    slope: float
    low: float
    high: float
    readings: int


@frozen(kw_only=True)
class Trend:
    """What a phase's readings say."""

    growth: Growth
    fit: Fit | None
    """Of all readings after warm-up if it grows, of the flat stretch if it is flat; None if there are too few."""
    reason: str = ""
    """Why it is open; empty if it is not."""


@frozen(kw_only=True)
class Reuse:
    """Two loads of the same size, with a release in between. Allocators keep what is freed, so falling memory is not
    asked for; but what was released the second load must find."""

    way: Way
    before: int
    """Bytes that were resident before the first load."""
    first: int
    """Bytes by which the first load made memory grow."""
    second: int
    """Bytes by which memory was greater after the second load than before the release."""

    @property
    def growth(self) -> Growth:
        """Grows: little or nothing was reused. Flat: most of it was. Open: the load is too small, or it is between."""
        if self.first < visible_bytes(self.before):
            return Growth.OPEN
        if self.second > self.first / 2:
            return Growth.GROWS
        return Growth.FLAT if self.second < self.first / 4 else Growth.OPEN


def visible_bytes(resident: int) -> int:
    """The growth, in bytes, from which on it can be told from noise in a process that had so much before."""
    return max(VISIBLE_BYTES, resident // VISIBLE_SHARE)


def student_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution with whole degrees of freedom, for a probability from 1/2 up to 1.

    By bisection of the distribution function, which for whole degrees of freedom is a finite sum (Abramowitz and
    Stegun, 26.7.3 and 26.7.4).
    """
    if not 0.5 <= probability < 1 or freedom < 1:
        raise ValueError("a probability from 1/2 up to 1 and at least one degree of freedom are needed")
    low, high = 0.0, 1.0
    while _student(high, freedom) < probability:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _student(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def _student(t: float, freedom: int) -> float:
    """The distribution function, for t >= 0."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    term, total = (cosine, 0.0) if freedom % 2 else (1.0, 0.0)
    for power in range(1 if freedom % 2 else 0, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (power + 1) / (power + 2)
    within = math.sin(angle) * total
    if freedom % 2:
        within = 2 / math.pi * (angle + within)
    return 0.5 + within / 2


def fit_line(xs: Sequence[float], ys: Sequence[float], confidence: float = CONFIDENCE) -> Fit:
    """The least-squares slope of ys over xs with its confidence interval. Needs three readings at different xs."""
    count = len(xs)
    if count < 3:
        raise ValueError("an interval needs three readings at least")
    slope, intercept = linear_regression(xs, ys)
    centre = fmean(xs)
    spread = sum((x - centre) ** 2 for x in xs)
    errors = sum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    half = student_quantile((1 + confidence) / 2, count - 2) * math.sqrt(errors / (count - 2) / spread)
    return Fit(slope, slope - half, slope + half, count)


def trend_of(rounds: Sequence[Round], *, least: float, put_in: float) -> Trend:
    """What the rounds of one phase say of its memory.

    ``least`` is the growth, in bytes per session or event, from which on it is called one; ``put_in`` how many bytes
    the load puts in with each.
    """
    fitted = [each for each in rounds if not each.warm_up]
    if len(fitted) < FITTED:
        return Trend(growth=Growth.OPEN, fit=None, reason=f"rounds after warm-up: {len(fitted)} of {FITTED} needed")
    whole = _fit(fitted)
    seen = whole.low * (fitted[-1].amount - fitted[0].amount) > visible_bytes(fitted[0].resident)
    if whole.low > least and seen and _each_quarter_rises(fitted, whole.slope / 2):
        return Trend(growth=Growth.GROWS, fit=whole)
    for start in range(len(fitted) - FITTED + 1):
        stretch = fitted[start:]
        fit = _fit(stretch)
        if fit.high < least:
            amount = (stretch[-1].amount - stretch[0].amount) * put_in
            if amount >= stretch[0].resident:
                return Trend(growth=Growth.FLAT, fit=fit)
            return Trend(
                growth=Growth.OPEN,
                fit=fit,
                reason=f"it stayed flat, but the {megabytes(amount)} that were put in meanwhile might hide in the"
                f" {megabytes(stretch[0].resident)} that the process has anyway (--sessions, --size, --budget)",
            )
    return Trend(
        growth=Growth.OPEN,
        fit=whole,
        reason=f"{interval(whole)} is neither steady growth nor the lack of it",
    )


def _fit(rounds: Sequence[Round]) -> Fit:
    return fit_line([each.amount for each in rounds], [each.resident for each in rounds])


def _each_quarter_rises(rounds: Sequence[Round], least: float) -> bool:
    count = len(rounds)
    quarters = [rounds[count * quarter // 4 : count * (quarter + 1) // 4] for quarter in range(4)]
    centres = [(fmean(each.amount for each in part), fmean(each.resident for each in part)) for part in quarters]
    return all(after[1] - before[1] > least * (after[0] - before[0]) for before, after in pairwise(centres))


def interval(fit: Fit) -> str:
    """A slope with its interval, in words for a report."""
    return f"{amount_of(fit.slope)} ({amount_of(fit.low)} to {amount_of(fit.high)} at {CONFIDENCE:.0%})"


def amount_of(size: float) -> str:
    """Bytes for people, with a sign only if negative."""
    for unit, factor in (("MB", 1_000_000), ("kB", 1_000)):
        if abs(size) >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size:.0f} bytes"


def megabytes(size: float) -> str:
    """Bytes in whole megabytes, for people."""
    return f"{size / 1_000_000:.0f} MB"


# What a whole soak brought


@frozen(kw_only=True)
class Span:
    """The time that a phase took."""

    phase: Phase
    begin_ms: int
    end_ms: int


@frozen(kw_only=True)
class Retained:
    """How many events one session still gave back, by resuming from its earliest cursors."""

    least: int
    most: int
    """More than ``least`` where the oldest call that was refused may be held in part."""


@frozen(kw_only=True)
class Left:
    """Sessions that were left alone for the idle budget."""

    waited_ms: int
    sessions: int
    alive: int
    """How many of them still answered."""


@frozen(kw_only=True)
class Soak:
    """What was measured, whatever it means. Nothing in it is a secret."""

    sessions: int
    """How many sessions were held at once."""
    events: int
    """How many events a call emits."""
    event_bytes: int
    """The size of one of them as it was received: the JSON of its message."""
    few: int
    """How many events a session is given in the phase *sessions*."""
    limit: int
    """Bytes at which a phase is broken off."""
    start: int
    """Bytes that the process had resident before anything was done."""
    readings: tuple[Reading, ...] = ()
    spans: tuple[Span, ...] = ()
    rounds: tuple[Round, ...] = ()
    declared_window: int | None = None
    """The declared number of events that a session holds: then windows are full when the warm-up is over."""
    before_load: int | None = None
    """Bytes that were resident before the sessions of the phase *events* were opened."""
    limit_passed: tuple[Phase, ...] = ()
    """Phases that were broken off at the limit."""
    per_session: int | None = None
    """Bytes by which memory grew for each session, from before they were opened to when their events had all been
    emitted."""
    retained: tuple[Retained, ...] = ()
    """Of a sample of sessions."""
    released: Way = Way.DELETE
    """How sessions are released in the phase *sessions*."""
    left: Left | None = None
    reuses: tuple[Reuse, ...] = ()
    not_done: dict[Phase, str] = field(factory=dict)
    """Why a phase, or what it was to show, did not come about."""
    unseen: dict[str, str] = field(factory=dict)
    """By clause, why what would have shown it was not done."""

    @property
    def filled(self) -> Round | None:
        """The last round of the warm-up of the phase *events*; None if it was not come to."""
        return next((each for each in reversed(self.rounds_of(Phase.EVENTS)) if each.warm_up), None)

    def rounds_of(self, phase: Phase) -> tuple[Round, ...]:
        """The rounds of a phase."""
        return tuple(each for each in self.rounds if each.phase is phase)

    def trend(self, phase: Phase) -> Trend:
        """What the rounds of *sessions* or *events* say."""
        rounds = self.rounds_of(phase)
        if not rounds:
            return Trend(growth=Growth.OPEN, fit=None, reason=self.not_done.get(phase, "not begun"))
        trend = trend_of(rounds, least=self.least(phase), put_in=self.put_in(phase))
        if phase in self.limit_passed and trend.growth is Growth.OPEN:
            return evolve(trend, reason=f"broken off at the limit of {megabytes(self.limit)}: {trend.reason}")
        return trend

    def put_in(self, phase: Phase) -> float:
        """Bytes that each session, or each event, brings."""
        return float(self.event_bytes * (self.few if phase is Phase.SESSIONS else 1))

    def least(self, phase: Phase) -> float:
        """The growth, in bytes per session or event, that is called one."""
        return BYTES_OF_SESSION if phase is Phase.SESSIONS else BYTES_OF_EVENT


def diagnosis(soak: Soak) -> str:
    """The measurements in a sentence: which leak there is, if any."""
    growths = {phase: soak.trend(phase).growth for phase in (Phase.SESSIONS, Phase.EVENTS)}
    leaks = [f"per {_UNIT[phase]}" for phase, growth in growths.items() if growth is Growth.GROWS]
    if leaks:
        return f"a leak {' and a leak '.join(leaks)}"
    opened = [f"per {_UNIT[phase]}" for phase, growth in growths.items() if growth is Growth.OPEN]
    flat = [f"per {_UNIT[phase]}" for phase, growth in growths.items() if growth is Growth.FLAT]
    parts = [f"no leak {' and no leak '.join(flat)}"] if flat else []
    return "; ".join([*parts, *(f"{each}: not known" for each in opened)])


_UNIT = {Phase.SESSIONS: "session", Phase.EVENTS: "event"}
