"""The observations that show a finding, and no others: enough of each exchange to be read on its own."""

from collections.abc import Iterable

from reattach.oracle.message import is_progress, said
from reattach.oracle.observation import Frame
from reattach.oracle.record import Event, Exchange, Run, Seen, View


def evidence(*exchanges: Exchange | None, show: Iterable[Seen | None] = (), last: Seen) -> tuple[Seen, ...]:
    """What shows that ``last`` is wrong.

    Of each exchange: request, status line, body, first event, pauses and end; of their sessions: the initialize that
    opened them, with its status line; of the view that ``last`` is on, the message that it delivered before; the call
    that is known to have caused the message of ``last``. ``show`` adds observations, such as the event of a cursor.
    Nothing after ``last`` is kept, and ``last`` comes last.
    """
    chosen: dict[int, Seen] = {}
    _add(chosen, _delivered_before(last))
    cause = _cause_of(last)
    if cause is not None:
        _add(chosen, cause.asked, cause.answer)
    for exchange in (one for one in exchanges if one is not None):
        opener = exchange.session.opener if exchange.session is not None else None
        if opener is not None and opener is not exchange:
            _add(chosen, opener.asked, opener.answer)
        _add(chosen, exchange.asked, exchange.answer, exchange.body, exchange.first_frame, exchange.end)
        for pause in exchange.pauses[-2:]:
            _add(chosen, pause.begun, pause.ended)
    for seen in show:
        _add(chosen, seen)
        if seen is not None and seen.exchange is not None:
            _add(chosen, seen.exchange.asked, seen.exchange.answer)
    return (*(chosen[index] for index in sorted(chosen) if index < last.index), last)


def _delivered_before(last: Seen) -> Seen | None:
    view = last.exchange.view if last.exchange is not None else None
    earlier = [seen for seen in view.delivered.values() if seen.index < last.index] if view is not None else []
    return max(earlier, key=lambda seen: seen.index, default=None)


def _cause_of(last: Seen) -> Exchange | None:
    """The exchange of the call whose series a message is of: without it nobody could have the message sent again."""
    session = last.exchange.session if last.exchange is not None else None
    frame = last.observation
    if session is None or not isinstance(frame, Frame):
        return None
    label = said(frame.payload)[1]
    call = session.claimant(label) if label is not None else None
    return call.exchange if call is not None else None


def cursor_of(view: View) -> tuple[Seen, ...]:
    """The delivery that gave a view its cursor."""
    return (view.cursor.seen,) if view.cursor is not None else ()


def issued_of(run: Run, exchange: Exchange) -> tuple[Seen, ...]:
    """The delivery that first gave anyone the cursor of a request, whatever session that was."""
    cursors = exchange.request.cursors
    return tuple(event.seen for event in run.issued_as(cursors[0])[:1]) if len(cursors) == 1 else ()


def expectation_of(view: View) -> tuple[Seen, ...]:
    """What the driver said that the call behind a view sends."""
    call = view.stream.call
    return (call.expectation,) if call is not None and call.expectation is not None else ()


def _add(chosen: dict[int, Seen], *seen: Seen | None) -> None:
    for one in seen:
        if one is not None:
            chosen[one.index] = one


def named(event: Event | None) -> str:
    """An event for a sentence: by its number, if it has one, else by its id."""
    if event is None:
        return "the start of the stream"
    if event.number is not None:
        return event.key
    if event.response:
        return f"the response to {event.key.removeprefix('response:')}"
    return _short(event.id or event.key)


def by_numbers(event: Event) -> str:
    """What a sentence adds if its ground is a number that no call claimed: for that reading the reader has to vouch."""
    number = event.number
    if number is None or (event.session.is_claimed(number.label) and not is_progress(number)):
        return ""
    return " (by the numbers that the messages carry)"


def position(cursor: Event | None) -> str:
    """A cursor for a sentence."""
    return named(cursor) if cursor is None else _short(cursor.id or cursor.key)


def _short(text: str) -> str:
    return text if len(text) <= 48 else text[:45] + "..."
