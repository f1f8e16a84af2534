"""ATT, DEL-10: what a re-attached view begins with, and what becomes of the view before it."""

from collections.abc import Iterator

from reattach.oracle.evidence import cursor_of, evidence, named, position
from reattach.oracle.judges.base import Broken, Held, Judgement, judge
from reattach.oracle.judges.cursors import is_conflict
from reattach.oracle.moments import ASKS_FOR_MORE, RESUMED, TAKEN_OVER, Delivered, Explained, Rested
from reattach.oracle.observation import Party
from reattach.oracle.record import Bearing, Event, Life, Resolution, Run, Seen, View, drained, frame_of
from reattach.oracle.verdict import Fault

# ATT-1


@judge("ATT-1", on=Delivered, only=RESUMED)
def the_position_comes_first(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """The first message on a resumed view."""
    if moment.view.resumed and (moment.event is not None or moment.owner is not None) and not _is_bare(moment):
        yield from _position(moment.view, moment.seen)


@judge("ATT-1", on=Rested, only=RESUMED)
def the_position_is_stated(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A resumed view on which nothing came."""
    view = moment.view
    if view.resumed and (view.exchange.had_its_say or view.stated is not None):
        yield from _position(view, moment.seen)


def _is_bare(moment: Delivered) -> bool:
    return not frame_of(moment.seen).has_data


def _position(view: View, seen: Seen) -> Iterator[Judgement]:
    if not view.once("ATT-1"):
        return
    cursor, stated = view.exchange.request.cursors[-1], view.stated
    if stated in ("", cursor):
        yield Held("ATT-1")
        return
    what = (
        f"the view resumed from {position(view.cursor)} did not begin by stating its position"
        if stated is None
        else f"the view resumed from {position(view.cursor)} stated another position, {stated[:48]}"
    )
    yield Broken(
        "ATT-1",
        Fault.POSITION_NOT_STATED,
        what,
        evidence(view.cursor.exchange if view.cursor else None, view.exchange, show=cursor_of(view), last=seen),
    )


# ATT-2, ATT-3, DEL-10


@judge("ATT-2", "ATT-3", "DEL-10", on=Delivered, only=TAKEN_OVER)
def the_old_view_gets_nothing(run: Run, moment: Delivered) -> Iterator[Judgement]:
    """A message on a view whose stream has been resumed on another connection."""
    old, event = moment.view, moment.event
    new = old.successor
    if new is None or event is None or not frame_of(moment.seen).has_data or not _is_beyond(new, event):
        return
    granted = new.exchange.answer
    end = new.exchange.end
    over = end is not None and new.exchange.had_its_say and new.ended_because is None and not _was_taken(new, end)
    finished = any(other.response for other in new.order)
    if granted is None:
        return
    late = drained(old.exchange, moment.seen, granted)
    if event.seq in new.delivered:
        if late:
            what = f"{named(event)} came on the resumed view and, later, on the old one"
            yield from _both(old, new, what, moment.seen)
        return
    if over and event.seen is moment.seen:
        yield from _split(old, new, event, moment.seen)
        if not finished and old.once("ATT-3"):
            yield Broken(
                "ATT-3",
                Fault.TAKEOVER_REFUSED,
                "a resumption was granted and ended at once, and the stream went on where nobody reads",
                _takeover_evidence(old, new, moment.seen),
            )


def _was_taken(view: View, seen: Seen) -> bool:
    """Whether a view had itself lost its stream to a later one by then."""
    answer = view.successor.exchange.answer if view.successor is not None else None
    return answer is not None and answer.index < seen.index


def _is_beyond(new: View, event: Event) -> bool:
    anchor = new.cursor.anchor if new.cursor is not None else None
    return event.stream is new.stream and (anchor is None or event.rank > anchor.rank)


def _both(old: View, new: View, what: str, seen: Seen) -> Iterator[Judgement]:
    shown = _takeover_evidence(old, new, seen)
    if old.once("DEL-10"):
        yield Broken("DEL-10", Fault.BROADCAST, what, shown)
    if old.once("ATT-2"):
        yield Broken("ATT-2", Fault.BROADCAST, what, shown)


def _split(old: View, new: View, event: Event, seen: Seen) -> Iterator[Judgement]:
    if old.once("ATT-2"):
        yield Broken(
            "ATT-2",
            Fault.SPLIT_VIEW,
            f"after the resumption from {position(new.cursor)}, {named(event)} came on the old connection"
            " and never on the new one",
            _takeover_evidence(old, new, seen),
        )
    if new.delivered and _has_news_after(new, event) and old.once("DEL-10"):
        yield Broken(
            "DEL-10",
            Fault.SPLIT_VIEW,
            f"the events of one stream were divided between two connections, {named(event)} on the old one",
            _takeover_evidence(old, new, seen),
        )


def _has_news_after(new: View, event: Event) -> bool:
    return any(other.exchange is new.exchange and other.rank > event.rank for other in new.order)


def _takeover_evidence(old: View, new: View, seen: Seen) -> tuple[Seen, ...]:
    return evidence(old.stream.opener, old.exchange, new.exchange, show=cursor_of(new), last=seen)


@judge("ATT-2", "DEL-10", on=Rested, only=RESUMED)
def nothing_is_split(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A resumed view that is over or quiet, beside what the old views were given since it was granted."""
    new = moment.view
    granted = new.exchange.answer
    if not new.takeover_of or granted is None or new.cursor is None or new.ended_because is not None:
        return
    if not new.exchange.had_its_say or _was_taken(new, moment.seen):
        return
    for old in new.takeover_of:
        for event in old.order:
            seen = old.delivered.get(event.seq)
            if seen is None or seen.index < granted.index or event.seq in new.delivered or not _is_beyond(new, event):
                continue
            yield from _split(old, new, event, moment.seen)
            break


@judge("ATT-2", "DEL-10", on=Rested, only=TAKEN_OVER)
def the_old_view_is_over(run: Run, moment: Rested) -> Iterator[Judgement]:
    """An old view that was ended, or has been quiet, after its stream was resumed elsewhere."""
    old = moment.view
    new = old.successor
    granted = new.exchange.answer if new is not None else None
    if new is None or new.cursor is None or granted is None or moment.seen.index < granted.index:
        return
    if old.exchange.ended_by is Party.CLIENT or (not moment.over and not new.order):
        return
    since = [e for e in old.order if (seen := old.delivered.get(e.seq)) is not None and seen.index > granted.index]
    if all(event.seq in new.delivered or not _is_beyond(new, event) for event in since):
        for clause in ("ATT-2", "DEL-10"):
            if old.once(clause):
                yield Held(clause)


@judge("ATT-3", on=Explained, only=ASKS_FOR_MORE)
def takeover_is_not_refused(run: Run, moment: Explained) -> Iterator[Judgement]:
    """A refusal of a good cursor while a view of its stream was open, or had just been cut."""
    exchange, cursor = moment.exchange, moment.exchange.cursor
    if not exchange.resumes or exchange.bearing is not Bearing.GOOD or exchange.resolution is not Resolution.REFUSED:
        return
    if cursor is None or exchange.life is not Life.LIVE or not is_conflict(exchange):
        return
    yield Broken(
        "ATT-3",
        Fault.TAKEOVER_REFUSED,
        f"the resumption from {position(cursor)} was refused ({exchange.status}) because of the old connection",
        evidence(exchange.rivals[-1].exchange, cursor.exchange, exchange, show=(cursor.seen,), last=moment.seen),
    )


@judge("ATT-3", on=Rested, only=RESUMED)
def takeover_works(run: Run, moment: Rested) -> Iterator[Judgement]:
    """A resumption that was granted beside an old view, and then was given something new or ended with its stream."""
    new, finished = moment.view, moment.view.stream.finished
    if not new.takeover_of or new.cursor is None:
        return
    news = any(event.exchange is new.exchange for event in new.order)
    ended = finished is not None and new.exchange.ended_by is Party.SERVER
    if (news or ended) and not any("ATT-3" in old.judged for old in new.takeover_of) and new.once("ATT-3"):
        yield Held("ATT-3")
