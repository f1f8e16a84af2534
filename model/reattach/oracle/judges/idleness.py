"""IDL: readers that stop reading, and clients that stay away."""

from collections.abc import Iterator

from reattach.machine.revision import TRAITS
from reattach.oracle.evidence import cursor_of, evidence, expectation_of, named
from reattach.oracle.gaps import gap_of, is_in_doubt
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.judges.sessions import is_being_terminated, is_success
from reattach.oracle.moments import (
    AGAIN,
    HELD_UP,
    LEFT_ALONE,
    PAUSED,
    RESPONSE,
    UNFINISHED,
    Answered,
    Delivered,
    Rested,
    Unanswered,
)
from reattach.oracle.observation import Party
from reattach.oracle.record import (
    SLACK_MS,
    Exchange,
    Life,
    Pause,
    Run,
    Seen,
    StreamKind,
    View,
    may_have_ended,
    payload_of,
)
from reattach.oracle.verdict import Fault

FRAMING_BYTES = 4_096
"""What headers and framing may add to the bytes of data that lie in buffers."""


def _length(pause: Pause) -> int:
    return pause.ended.at - pause.begun.at if pause.ended is not None else 0


def _is_finished(view: View) -> bool:
    """Whether the view brought its stream to its end."""
    finished = view.stream.finished
    return finished is not None and finished.raw.connection == view.exchange.number


def _was_ended(view: View) -> bool:
    """Whether the server ended the view before the end of its stream."""
    if view.ended_because is not None:
        return True
    return view.exchange.ended_by is Party.SERVER and not _is_finished(view)


@judge("IDL-1", "IDL-2", on=Rested, only=PAUSED)
def stalled_views_are_ended(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A view that was not read for longer than the stall budget, and then was."""
    view, stall = moment.view, run.declaration.stall_ms
    if stall is None or view.successor is not None or view.stream.session.ended is not None:
        return
    pause = next((p for p in reversed(view.exchange.pauses) if _length(p) >= stall + SLACK_MS), None)
    if pause is None or (view.exchange.ended_by is Party.CLIENT and view.exchange.rested is None):
        return
    buffers = run.declaration.transport_buffer_bytes
    if buffers is None or pause.bytes_after <= _room(view, buffers):
        if _was_ended(view):
            for clause in ("IDL-1", *(["IDL-2"] if buffers is not None else [])):
                if view.once(clause):
                    yield Held(clause)
        return
    if not _was_behind(view, pause, buffers, stall):
        return
    shown = evidence(
        view.exchange, show=(*expectation_of(view), pause.begun, pause.ended, view.last_word), last=moment.seen
    )
    waited = f"after a pause of {_length(pause)} ms the view delivered {pause.bytes_after} bytes more"
    if not _was_ended(view):
        if view.once("IDL-1"):
            yield Broken("IDL-1", Fault.IDLE_NOT_ENFORCED, f"{waited} and was never ended", shown)
    elif view.once("IDL-2"):
        yield Broken("IDL-2", Fault.UNBOUNDED_MEMORY, f"{waited} than the declared buffers hold", shown)


def _room(view: View, buffers: int) -> int:
    """The most bytes of data that can lie between server and client; one event may be half in and half out."""
    return buffers + 2 * view.exchange.largest + FRAMING_BYTES


def _was_behind(view: View, pause: Pause, buffers: int, stall: int) -> bool:
    """Whether the tool surely went on during the pause, so that the view was behind for the whole budget."""
    call, largest = view.stream.call, view.exchange.largest
    if call is None or call.pace_ms is None or largest == 0:
        return False
    filled_ms = (_room(view, buffers) // largest + 1) * call.pace_ms
    return _length(pause) >= filled_ms + stall + SLACK_MS


@judge("IDL-1", on=Rested, only=PAUSED)
def healthy_views_are_not_ended(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A view that was ended as stalled although it was read within its budget."""
    view, stall = moment.view, run.declaration.stall_ms
    if stall is None or view.ended_because != "stalled":
        return
    if max((_length(pause) for pause in view.exchange.pauses), default=0) > max(0, stall - SLACK_MS):
        return
    if not view.exchange.paused and view.once("IDL-1 healthy"):
        yield Broken(
            "IDL-1",
            Fault.HEALTHY_VIEW_ENDED,
            f"a view that was read was ended as stalled, against a declared budget of {stall} ms",
            evidence(view.exchange, show=(view.last_word,), last=moment.seen),
        )


@judge("IDL-3", on=Rested, only=PAUSED)
def overtaken_views_are_ended(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A view that was not read for a while, and then was."""
    view = moment.view
    if not view.exchange.pauses or view.exchange.paused:
        return
    gap = gap_of(view, view.cursor)
    if gap is not None:
        if not is_in_doubt(gap, moment) and view.once("IDL-3"):
            yield Broken(
                "IDL-3",
                Fault.SILENT_GAP,
                f"a slow view was moved forward over {', '.join(gap.keys[:4])} to {named(gap.after)}",
                evidence(
                    view.stream.opener,
                    view.exchange,
                    show=(*cursor_of(view), *expectation_of(view)),
                    last=view.delivered.get(gap.after.seq, moment.seen),
                ),
            )
    elif _was_ended(view) and (view.ended_because == "overtaken" or _was_flooded(run, view)) and view.once("IDL-3"):
        yield Held("IDL-3")


def _was_flooded(run: Run, view: View) -> bool:
    """Whether other streams of the session were given more than the declared window during a pause."""
    limit, session = run.declaration.window_events, view.stream.session
    if limit is None:
        return False
    for pause in view.exchange.pauses:
        end = pause.ended.index if pause.ended is not None else 0
        others = (s for s in session.streams if s is not view.stream)
        if sum(1 for s in others for e in s.messages if pause.begun.index < e.seen.index < end) > limit:
            return True
    return False


@judge("IDL-4", on=Answered, only=LEFT_ALONE)
def absence_ends_a_session(run: Run, moment: Answered) -> Iterator[Judgement]:
    """The first request after a session was left alone, with everything closed and every call answered."""
    exchange, budget = moment.exchange, run.declaration.absence_ms
    session = exchange.session
    if budget is None or session is None or exchange.life is not Life.LIVE:
        return
    if not exchange.owner_asks or session.restarted:
        return
    if exchange.idle_ms is not None and exchange.idle_ms > budget + SLACK_MS:
        if exchange.status == 404:
            yield Held("IDL-4")
        elif is_success(exchange.status):
            yield Broken(
                "IDL-4",
                Fault.IDLE_NOT_ENFORCED,
                f"a session left alone for {exchange.idle_ms} ms lives, against a declared budget of {budget} ms",
                evidence(exchange, last=moment.seen),
            )
    elif exchange.status == 404 and not may_have_ended(run, exchange) and not (exchange.resumes or exchange.follows):
        yield Broken(
            "IDL-4",
            Fault.HEALTHY_VIEW_ENDED,
            f"a session left alone for {exchange.away_ms} ms was gone, against a declared budget of {budget} ms",
            evidence(exchange, last=moment.seen),
        )


@judge("IDL-5", on=Rested, only=UNFINISHED)
def retry_comes_before_the_end(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A request's stream that the server ended before its response."""
    view, exchange = moment.view, moment.view.exchange
    call = view.stream.call
    if not moment.over or exchange.ended_by is not Party.SERVER or not exchange.ended_cleanly or call is None:
        return
    if view.stream.kind is not StreamKind.REQUEST or call.answered or call.cancelled is not None:
        return
    session = view.stream.session
    if is_being_terminated(session) or view.successor is not None or view.position is None:
        return
    # What a resumption brings about may be seen before its answer.
    if any(_takes_over(other, view) for other in session.open_exchanges()):
        return
    if any(payload_of(event.seen) is None for event in view.stream.messages):
        return  # a message that is not recorded may have been the response
    if not TRAITS[exchange.revision].priming or not view.once("IDL-5"):
        return
    if any(each.retry for each in view.stream.views):  # a client keeps what an earlier connection of the stream said
        yield Held("IDL-5")
        return
    yield Broken(
        "IDL-5",
        Fault.RETRY_MISSING,
        "the server ended the body before the response without having sent `retry`",
        evidence(exchange, show=cursor_of(view), last=moment.seen),
    )


def _takes_over(other: Exchange, view: View) -> bool:
    """Whether a request that is under way asks for the stream of a view."""
    return other.answer is None and other.cursor is not None and other.cursor.stream is view.stream


# IDL-6


@judge("IDL-6", on=Rested, only=UNFINISHED)
def silence_beside_a_slow_reader(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A call that is silent while another connection of its session is not read: held up, if it goes on after that."""
    exchange, call = moment.view.exchange, moment.view.stream.call
    if not moment.over and call is not None and not call.answered and not exchange.paused:
        exchange.held_up_by = _paused_beside(exchange)
    yield from ()


@judge("IDL-6", on=Unanswered)
def no_answer_beside_a_slow_reader(run: Run, moment: Unanswered) -> Iterator[Judgement]:
    """A request that gets no answer while another connection of its session is not read."""
    if moment.exchange.end is None:
        moment.exchange.held_up_by = _paused_beside(moment.exchange)
    yield from ()


def _paused_beside(exchange: Exchange) -> Exchange | None:
    session = exchange.session
    if session is None:
        return None
    others = (other for other in session.open_exchanges() if other is not exchange and other.paused)
    # One that has had its response has nothing more to leave unread.
    return next((other for other in others if other.call is None or not other.call.answered), None)


@judge("IDL-6", on=Answered, only=HELD_UP)
def an_answer_came_late(run: Run, moment: Answered) -> Iterator[Judgement]:
    """The answer to a request that had got none."""
    yield from _held_up(moment.exchange, moment.seen)


@judge("IDL-6", on=Delivered, only=HELD_UP | RESPONSE | AGAIN)
def one_slow_reader_holds_only_itself(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """The first event after a silence, or the response to a call."""
    view, exchange, event = moment.view, moment.view.exchange, moment.event
    if event is None or event.stream is not view.stream or not event.message:
        return
    if moment.first:
        yield from _held_up(exchange, moment.seen)
    if event.response and not exchange.paused and _paused_beside(exchange) is not None:
        yield Held("IDL-6")


def _held_up(exchange: Exchange, seen: Seen) -> Iterator[Judgement]:
    slow, exchange.held_up_by = exchange.held_up_by, None
    if slow is None or (slow.paused and slow.end is None):
        return
    read_on = slow.pauses[-1].ended if slow.pauses else None
    yield Broken(
        "IDL-6",
        Fault.HEAD_OF_LINE_BLOCKING,
        "a call stood still until another connection of its session was read or closed",
        evidence(slow, exchange, show=(exchange.rested, exchange.hung, read_on), last=seen),
    )
