"""What a judge of clients is, and what it shows: functions from a whole run to what was kept, broken or left unseen."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from attrs import frozen

from reattach.oracle.clients.beside import Beside, Exchange, Resumption, Sent
from reattach.oracle.judges.base import Broken, Held
from reattach.oracle.record import Seen
from reattach.oracle.verdict import Fault

GRACE_MS = 50
"""So long before a request a line has to have been printed to be taken for older than it: the two come on two ways."""
LATE_MS = 2_000
"""For so long an answer may be on its way to a program that is busy."""
PROMPT_MS = 5_000
"""For so long something has to do with what came before it."""
PATIENCE_MS = 10_000
"""For so long a program has to be silent, while it runs, to be taken for one that will say nothing."""
SLACK_MS = 10
"""By how much a timer may go off early."""


@frozen
class Unseen:
    """A clause that a run could not decide, and why."""

    clause: str
    why: str


Judgement: TypeAlias = Held | Broken | Unseen
Judge: TypeAlias = Callable[[Beside], Iterator[Judgement]]
JUDGES: dict[str, Judge] = {}
"""By clause."""

SILENT = "the program prints no line of the contract that shows what it applied"


def judge(clause: str) -> Callable[[Judge], Judge]:
    """Register the judge of a clause."""

    def register(function: Judge) -> Judge:
        JUDGES[clause] = function
        return function

    return register


def broken(
    run: Beside, clause: str, fault: Fault, summary: str, *shown: Exchange | Sent | Seen | None, last: Seen
) -> Broken:
    """A clause that is broken, with what shows it: of exchanges the request, the status and the end."""
    return Broken(clause, fault, summary, evidence(run, *shown, last=last))


def evidence(run: Beside, *shown: Exchange | Sent | Seen | None, last: Seen) -> tuple[Seen, ...]:
    """The observations that show something, in order; nothing after ``last``, which comes last."""
    chosen: dict[int, Seen] = {}
    for each in shown:
        match each:
            case Exchange():
                _add(chosen, each.asked, each.answer, each.end)
            case Sent():
                _add(chosen, each.exchange.asked, each.exchange.answer, each.seen)
            case Seen():
                _add(chosen, each)
    about = run.exchange_of(last)
    if about is not None:
        _add(chosen, about.asked, about.answer)
    return (*(chosen[index] for index in sorted(chosen) if index < last.index), last)


def _add(chosen: dict[int, Seen], *seen: Seen | None) -> None:
    chosen |= {each.index: each for each in seen if each is not None}


def was_taken(run: Beside, sent: Sent, before: Seen) -> bool:
    """Whether the client surely had something when it sent a request."""
    return any(is_before(line, before) for line in run.said.applied.get(sent.key, ()))


def is_before(line: Seen, request: Seen) -> bool:
    """Whether a line was surely printed before a request was sent."""
    return line.index < request.index and line.at + GRACE_MS <= request.at


def position_of(resumption: Resumption) -> int | None:
    """Where the client stood on the stream, by its cursor: an index into what had been sent; None if nowhere."""
    places = [place for place, sent in enumerate(resumption.past) if sent.id == resumption.exchange.cursor]
    return places[-1] if places else None


def named(sent: Sent) -> str:
    """A message for a sentence."""
    if sent.final:
        return "the response"
    return sent.key or "the priming event"


def count(number: int, noun: str) -> str:
    """``1 attempt``, ``2 attempts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def gone(run: Beside) -> Iterable[Exchange]:
    """The exchanges under a session id that were answered 404."""
    return [each for each in run.exchanges.values() if each.status == 404 and each.request.session is not None]
