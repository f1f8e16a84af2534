"""Faults as data: what is done, to which exchanges, and where in them.

``TABLE`` says of each what it does and which side sees it. The rule for what is recorded is one: a recording holds what
the *server* did, as far as its client consumed it. A request is recorded as the server got it, an event as the client
took it; what the proxy made up (an answer of its own, a frame repeated) is in neither, since the server did not do it.
"""

import re
from collections.abc import Callable
from enum import Enum

from attrs import frozen

LONGEST_MS = 86_400_000
"""The longest wait that a fault may have: a day."""
MOST = 1_000_000
"""The largest count of exchanges or events that a fault may name."""
DELAY_MS = 1_000
SLOW_MS = 100
FORBIDDEN = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""Request headers that cannot be dropped: they are what makes it a request of this connection."""
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class FaultError(Exception):
    """A fault cannot be read or makes no sense. One line: where it stands, and what is wrong with it."""


class Do(Enum):
    """What is done."""

    CUT = "cut"
    RESET = "reset"
    HALF_OPEN = "half-open"
    SILENCE = "silence"
    DELAY = "delay"
    SLOW = "slow"
    ANSWER = "answer"
    DROP = "drop"
    SPLIT = "split"
    REPEAT = "repeat"


class To(Enum):
    """To which exchanges."""

    REQUEST = "request"
    """All but ``initialize``."""
    VIEW = "view"
    """Those that are answered with an event stream, but for ``initialize``."""
    RECONNECT = "reconnect"
    """Requests with ``Last-Event-ID``."""
    CALL = "call"
    INITIALIZE = "initialize"
    LISTEN = "listen"
    """GET without a cursor."""
    DELETE = "delete"


@frozen(kw_only=True)
class Fault:
    """One fault. Made by ``make_fault``, which fills in what was not said and refuses what makes no sense."""

    do: Do
    to: To
    begin: int
    """The first exchange of its kind that it acts on, counted from 1; 0: the first that comes to the place."""
    times: int
    """On how many of them it acts; 0: on all from then on."""
    after: int | None
    """Events of the stream that pass before it acts. None: it acts before the answer passes (``REPEAT``: on the first
    event that has a message)."""
    inside: bool
    """Whether it acts in the middle of the event that follows them."""
    ms: int
    """Milliseconds of a wait."""
    status: int
    header: str
    """A request header's name."""

    def hits(self, number: int) -> bool:
        """Whether it may act on the ``number``-th exchange of its kind."""
        return number >= self.begin and (self.begin * self.times == 0 or number < self.begin + self.times)

    @property
    def before_sending(self) -> bool:
        """Whether it acts on a request before the server gets it."""
        return self.do in (Do.ANSWER, Do.DROP) or (self.do is Do.SILENCE and self.after is None)

    @property
    def before_answer(self) -> bool:
        """Whether it acts once the answer is there, before any of it has passed."""
        return self.after is None and self.do in (Do.CUT, Do.RESET, Do.HALF_OPEN, Do.DELAY)

    def __str__(self) -> str:
        """The fault as a sentence that is read as this very fault."""
        return describe(self)


@frozen
class About:
    """What there is to know of one kind of fault, for people."""

    example: str
    effect: str
    client: str
    """What the client sees."""
    server: str
    """What the server sees."""
    recorded: str
    to: To
    """On what it acts if nothing is said."""
    always: bool = False
    """Whether it acts on all of them if nothing is said; otherwise once."""
    where: bool = True
    """Whether it can act at a point in the stream."""


TABLE: dict[Do, About] = {
    Do.CUT: About(
        "cut the third view after two events",
        "ends both connections in the middle of the answer",
        "an end without an end: FIN, the body unfinished",
        "a client that went away",
        "what passed, then *closed* by the network",
        To.VIEW,
    ),
    Do.RESET: About(
        "reset the first call",
        "resets both connections",
        "RST; what it had not read is lost",
        "RST",
        "what passed, then *closed* by the network",
        To.REQUEST,
    ),
    Do.HALF_OPEN: About(
        "half-open: keep the server's side",
        "resets the client's connection and keeps the server's, unread",
        "RST",
        "a client that is still there and does not read",
        "what passed, then *read-paused*",
        To.VIEW,
    ),
    Do.SILENCE: About(
        "accept and go silent",
        "takes the request and never answers; with `after N events`, passes no more of the stream",
        "a connection on which nothing comes",
        "nothing (`after N events`: a client that does not read)",
        "nothing (`after N events`: what passed, then *read-paused*)",
        To.REQUEST,
    ),
    Do.DELAY: About(
        "delay every call by 300 ms",
        "waits once, before the answer or after so many events",
        "the answer, later",
        "a client that reads later",
        "what passed, when it passed",
        To.REQUEST,
        always=True,
    ),
    Do.SLOW: About(
        "slow reader",
        "waits after each event before it passes more",
        "events, later",
        "a client that reads slowly: backpressure",
        "what passed, when it passed; *read-paused* for long waits",
        To.VIEW,
        always=True,
        where=False,
    ),
    Do.ANSWER: About(
        "refuse the next two reconnects with 503",
        "answers with this status in the server's place",
        "an answer with that status and a JSON-RPC error",
        "nothing",
        "nothing",
        To.REQUEST,
        where=False,
    ),
    Do.DROP: About(
        "drop Last-Event-ID",
        "leaves a header out of requests",
        "the answer to a request that it did not send",
        "a request without the header",
        "the request without the header, as the server got it",
        To.REQUEST,
        always=True,
        where=False,
    ),
    Do.SPLIT: About(
        "split CR and LF over two chunks",
        "ends a chunk between CR and LF, and waits a moment",
        "the same bytes in other pieces",
        "nothing",
        "what passed",
        To.VIEW,
        always=True,
        where=False,
    ),
    Do.REPEAT: About(
        "repeat a frame",
        "sends one event a second time, byte for byte",
        "an event twice",
        "nothing",
        "the event once, as the server sent it",
        To.VIEW,
    ),
}


def make_fault(
    do: Do,
    *,
    to: To | None = None,
    begin: int | None = None,
    times: int | None = None,
    after: int | None = None,
    inside: bool = False,
    ms: int | None = None,
    status: int | None = None,
    header: str | None = None,
) -> Fault:
    """A fault from what was said of it; None: not said. Raises FaultError."""
    about = TABLE[do]
    target = to or about.to
    if do is Do.ANSWER and to is None and status is None:
        target = To.RECONNECT
    if do is Do.DROP and to is None and header is not None and header.lower() == "last-event-id":
        target = To.RECONNECT
    in_stream = after is not None or inside
    if in_stream and not about.where:
        raise FaultError(f"{do.value} has no place in the stream: it acts on the whole answer or request")
    if inside and do not in (Do.CUT, Do.RESET, Do.HALF_OPEN, Do.SILENCE):
        raise FaultError(f"{do.value} cannot act inside an event")
    if in_stream and to is None:
        target = To.VIEW
    if target is To.VIEW and after is None and do in (Do.CUT, Do.RESET, Do.HALF_OPEN, Do.SILENCE):
        after = 1  # a view is known by the head of its answer, which has passed; with an event there may be a cursor
    if target is To.VIEW and (do in (Do.ANSWER, Do.DROP)):
        raise FaultError(f"{do.value} acts on requests, and only the answer tells that an exchange is a view")
    if do is Do.REPEAT and after == 0:
        raise FaultError("repeat: events are counted from 1")
    if begin is not None and times is None:
        times = 1
    return Fault(
        do=do,
        to=target,
        begin=0 if begin is None else _bounded("from", begin, 1, MOST),
        times=_bounded("times", (0 if about.always else 1) if times is None else times, 0, MOST),
        after=(0 if inside else None) if after is None else _bounded("after_events", after, 0, MOST),
        inside=inside,
        ms=_wait(do, ms),
        status=_status(do, status),
        header=_header(do, header),
    )


def _bounded(name: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise FaultError(f"{name}: an integer from {least} to {most} is needed")
    return value


def _wait(do: Do, ms: int | None) -> int:
    usual = {Do.DELAY: DELAY_MS, Do.SLOW: SLOW_MS}
    if do not in usual:
        if ms is not None:
            raise FaultError(f"{do.value} does not wait")
        return 0
    return _bounded("ms", usual[do] if ms is None else ms, 1, LONGEST_MS)


def _status(do: Do, status: int | None) -> int:
    if do is not Do.ANSWER:
        if status is not None:
            raise FaultError(f"{do.value} has no status")
        return 0
    return _bounded("status", 503 if status is None else status, 200, 599)


def _header(do: Do, header: str | None) -> str:
    if do is not Do.DROP:
        if header is not None:
            raise FaultError(f"{do.value} is not about a header")
        return ""
    if header is None or not _HEADER.fullmatch(header):
        raise FaultError("drop: the name of a request header is needed")
    if header.lower() in FORBIDDEN:
        raise FaultError(f"drop: without {header} there is no request")
    return header


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def ordinal(number: int) -> str:
    """``third``, ``13th``."""
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    suffix = "th" if number // 10 % 10 == 1 else _SUFFIXES.get(number % 10, "th")
    return f"{number}{suffix}"


def counted(number: int, noun: str) -> str:
    """``1 event``, ``2 events``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _target(fault: Fault) -> str:
    noun = fault.to.value
    if fault.times == 0:
        return f"every {noun}" if fault.begin == 0 else f"from the {ordinal(fault.begin)} {noun} on"
    if fault.begin == 0:
        one = "1" if TABLE[fault.do].always else "a"  # `a` says no number, and then it may act on all of them
        return f"{one} {noun}" if fault.times == 1 else f"{fault.times} {noun}s"
    if fault.times == 1:
        return f"the {ordinal(fault.begin)} {noun}"
    if fault.begin == 1:
        return f"the first {fault.times} {noun}s"
    return f"{fault.times} {noun}s from the {ordinal(fault.begin)} on"


def _place(fault: Fault) -> str:
    if fault.after is None:
        return ""
    if fault.do is Do.REPEAT:
        return f" at the {ordinal(fault.after)} event"
    if fault.inside:
        return f" inside the {ordinal(fault.after + 1)} event"
    return f" after {counted(fault.after, 'event')}"


_PHRASES: dict[Do, Callable[[Fault], str]] = {
    Do.CUT: lambda fault: f"cut {_target(fault)}",
    Do.RESET: lambda fault: f"reset {_target(fault)}",
    Do.HALF_OPEN: lambda fault: f"half-open {_target(fault)}",
    Do.SILENCE: lambda fault: f"go silent on {_target(fault)}",
    Do.DELAY: lambda fault: f"delay {_target(fault)} by {fault.ms} ms",
    Do.SLOW: lambda fault: f"slow reader of {_target(fault)}, {fault.ms} ms per event",
    Do.ANSWER: lambda fault: f"answer {fault.status} to {_target(fault)}",
    Do.DROP: lambda fault: f"drop {fault.header} of {_target(fault)}",
    Do.SPLIT: lambda fault: f"split CR and LF of {_target(fault)}",
    Do.REPEAT: lambda fault: f"repeat a frame of {_target(fault)}",
}
assert set(_PHRASES) == set(TABLE) == set(Do)


def describe(fault: Fault) -> str:
    """A fault as a sentence; ``read_sentence`` reads it as this very fault."""
    return _PHRASES[fault.do](fault) + _place(fault)
