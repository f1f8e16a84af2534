"""Witnesses: for each theorem the interesting cases, which must be possible, or the theorem says nothing.

A promise about evicted events is empty if no event is ever evicted. So each theorem names the cases that it is about,
and the prover looks for a path on which each can happen; a theorem whose case is nowhere found fails. Each sight is a
predicate over one step, like a claim, but one that only has to be possible.
"""

from collections.abc import Iterator
from functools import partial

from reattach.machine import inductive
from reattach.machine.cursor import Presence
from reattach.machine.decision import Reason, Refuse
from reattach.machine.policy import Policy
from reattach.machine.session import Session, find_stream, find_viewed, is_viewed
from reattach.machine.transition import (
    Cause,
    Disconnect,
    Done,
    Emit,
    Emitted,
    Gone,
    Input,
    Opened,
    Resume,
    Step,
    Terminate,
    Wait,
    Write,
    WriteEnd,
    WriteEvent,
    WriteOvertaken,
)
from reattach.machine.window import Entry
from reattach_proofs import promises
from reattach_proofs.promises import Claim, Events

WITNESSES = {
    promises.INVARIANT.name: ("an event is emitted",),
    promises.BOUNDED.name: ("N evicts an event", "B evicts an event", "T evicts an event", "a stream is forgotten"),
    promises.BACKPRESSURE.name: ("an emission waits", "an emission evicts what another stream's view has unread"),
    promises.BUDGETS.name: ("a stalled view is ended", "an absent client's session is ended"),
    promises.LOSSLESS.name: (
        "a cursor that was sent is granted",
        "a cursor that was sent is refused",
        "a cursor is granted that events follow",
    ),
    promises.EXPLICIT.name: tuple(
        f"a cursor is refused: {reason.value}"
        for reason in (
            Reason.CURSOR_MALFORMED,
            Reason.CURSOR_FOREIGN,
            Reason.CURSOR_OUT_OF_WINDOW,
            Reason.CURSOR_AHEAD,
            Reason.CURSOR_MISMATCH,
        )
    ),
    promises.DECISION.name: ("a resumption is granted", "a resumption is refused", "a fresh view is given"),
    promises.NO_DUPLICATE.name: ("an event is written",),
    promises.NO_SILENT_LOSS.name: ("a view is overtaken", "a view ends cleanly"),
    promises.ISOLATION.name: ("an event of another stream lies before the one written",),
    promises.ONE_VIEW.name: ("a view is taken over", "a view is lost"),
    promises.FINAL.name: ("termination ends a view", "a terminated session is asked"),
    promises.PROGRESS.name: ("an event is written and another is left",),
}
"""Of each theorem the cases that must be possible."""


def time_sights(old: Session, after: Step, event: Entry) -> Iterator[Claim]:
    """What the passing of time may do."""
    new = after.session
    if not new.alive:
        yield Claim(promises.BUDGETS.name, "an absent client's session is ended", _surely)
        return
    yield Claim(promises.BOUNDED.name, "T evicts an event", lambda: _is_evicted(old, new, event))
    if any(find_stream(new, stream.number).number == 0 for stream in old.streams):
        yield Claim(promises.BOUNDED.name, "a stream is forgotten", _surely)
    if any(ending.cause is Cause.STALLED for ending in after.endings):
        yield Claim(promises.BUDGETS.name, "a stalled view is ended", _surely)


def step_sights(
    policy: Policy, old: Session, given: Input, after: Step, events: Events, event: Entry
) -> Iterator[Claim]:
    """What an input may do."""
    match given:
        case Emit():
            yield from _of_emission(policy, old, given, after, event)
        case Resume():
            yield from _of_resumption(old, given, after, events)
        case Write():
            yield from _of_write(old, given, after, event)
        case Disconnect() if isinstance(after.result, Done):
            yield Claim(promises.ONE_VIEW.name, "a view is lost", _surely)
        case Terminate() if after.endings:
            yield Claim(promises.FINAL.name, "termination ends a view", _surely)


def dead_sights(after: Step) -> Iterator[Claim]:
    """What an input to a terminated session may do: nothing, but it must be possible to try."""
    if isinstance(after.result, Gone):
        yield Claim(promises.FINAL.name, "a terminated session is asked", _surely)


def _of_emission(policy: Policy, old: Session, given: Emit, after: Step, event: Entry) -> Iterator[Claim]:
    window, new = old.window, after.session
    match after.result:
        case Wait():
            yield Claim(promises.BACKPRESSURE.name, "an emission waits", _surely)
        case Emitted(number):
            yield Claim(promises.INVARIANT.name, "an event is emitted", _surely)
            yield Claim(
                promises.BOUNDED.name,
                "N evicts an event",
                lambda: _is_evicted(old, new, event) and window.size + given.size - event.start <= policy.window_bytes,
            )
            yield Claim(
                promises.BOUNDED.name,
                "B evicts an event",
                lambda: _is_evicted(old, new, event) and window.count - event.count + 2 <= policy.window_events,
            )
            for stream in old.streams:
                if is_viewed(stream) and stream.number != number:
                    yield Claim(
                        promises.BACKPRESSURE.name,
                        "an emission evicts what another stream's view has unread",
                        partial(_is_unread_and_evicted, old, new, stream.number, event),
                    )


def _of_resumption(old: Session, given: Resume, after: Step, events: Events) -> Iterator[Claim]:
    cursor, stream = given.cursor, find_stream(old, given.cursor.stream)
    at_cursor = events.entry(cursor.seq)
    sent = cursor.tag == old.tag and stream.number != 0

    def was_sent() -> bool:
        return sent and promises.was_sent(stream, cursor.seq, at_cursor)

    match after.result:
        case Opened() if cursor.presence is Presence.PRESENT:
            yield Claim(promises.DECISION.name, "a resumption is granted", _surely)
            yield Claim(promises.LOSSLESS.name, "a cursor that was sent is granted", was_sent)
            yield Claim(
                promises.LOSSLESS.name, "a cursor is granted that events follow", lambda: cursor.seq < stream.last
            )
            if after.endings:
                yield Claim(promises.ONE_VIEW.name, "a view is taken over", _surely)
        case Opened():
            yield Claim(promises.DECISION.name, "a fresh view is given", _surely)
        case Refuse(reason):
            yield Claim(promises.DECISION.name, "a resumption is refused", _surely)
            yield Claim(promises.EXPLICIT.name, f"a cursor is refused: {reason.value}", _surely)
            yield Claim(promises.LOSSLESS.name, "a cursor that was sent is refused", was_sent)


def _of_write(old: Session, given: Write, after: Step, event: Entry) -> Iterator[Claim]:
    stream = find_viewed(old, given.connection)
    match after.result:
        case WriteEvent(_, seq):
            yield Claim(promises.NO_DUPLICATE.name, "an event is written", _surely)
            yield Claim(
                promises.ISOLATION.name,
                "an event of another stream lies before the one written",
                lambda: (
                    inductive.is_emitted(old, event)
                    and event.stream != stream.number
                    and event.seq > stream.view.position
                    and event.seq < seq
                ),
            )
            yield Claim(promises.PROGRESS.name, "an event is written and another is left", lambda: seq < stream.last)
        case WriteOvertaken():
            yield Claim(promises.NO_SILENT_LOSS.name, "a view is overtaken", _surely)
        case WriteEnd():
            yield Claim(promises.NO_SILENT_LOSS.name, "a view ends cleanly", _surely)


def _is_evicted(old: Session, new: Session, entry: Entry) -> bool:
    """Whether the event was held and is no longer."""
    return inductive.is_emitted(old, entry) and entry.seq >= old.window.low and entry.seq < new.window.low


def _is_unread_and_evicted(old: Session, new: Session, number: int, entry: Entry) -> bool:
    return (
        _is_evicted(old, new, entry) and entry.stream == number and entry.seq > find_stream(old, number).view.position
    )


def _surely() -> bool:
    return True
