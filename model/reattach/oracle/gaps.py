"""What a view should have delivered and did not: the one place where a loss is computed (DEL-2, ATT-4, EVT-6, IDL-3).

Three sources say what lies between two events of a stream, and each is enough: the driver's numbered expectation, the
numbers in the messages themselves, and the record (what this stream was seen to deliver on any view).
"""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from attrs import frozen

from reattach.oracle.message import Numbered, is_progress, key_of, label_of_key, labels_claimed
from reattach.oracle.moments import Rested
from reattach.oracle.record import Call, Event, Seen, Stream, View

UNIT_STEPS = 3
"""So many successive steps of exactly one, and none of another size, make progress a numbering."""


_DOUBTS = 64
"""So many moments of a session are kept to be judged again; a bound on the record."""


@frozen
class Gap:
    """Messages that a view passed over."""

    keys: tuple[str, ...]
    """Their keys, in order."""
    after: Event
    """The first event that the view delivered although they lie before it."""
    known: tuple[Event, ...] = ()
    """Those of them that were delivered on another view."""
    counted: bool = False
    """Whether the numbers in the messages alone say that something is missing."""


def gap_of(view: View, start: Event | None) -> Gap | None:
    """What a view passed over between ``start`` (its cursor, say; None: the start of the stream) and its last message.

    What was delivered on another stream of the session instead was not lost, and is left out.
    """
    if not view.order:
        return None
    return _by_expectation(view, start) or _by_number(view, start) or _by_record(view, start)


def is_in_doubt(gap: Gap, moment: Rested) -> bool:
    """Whether what a view passed over may yet come on another stream of the session, where it would be no loss.

    Two connections have no common order: what the server sent before the view rested may be read after. If so, the
    moment comes again when another view of the session has rested.
    """
    view = moment.view
    session = view.stream.session
    others = (other for stream in session.streams if stream is not view.stream for other in stream.open_views())
    if gap.known or (not session.unfollowed and all(drained_since(other, moment.seen) for other in others)):
        return False
    session.doubts.append(moment)
    del session.doubts[:-_DOUBTS]
    return True


def drained_since(view: View, seen: Seen) -> bool:
    """Whether a view was quiet after something that was seen elsewhere."""
    return view.exchange.rested is not None and view.exchange.rested.index > seen.index


def has_basis(view: View, start: Event | None) -> bool:
    """Whether anything says what the view should have delivered after ``start``."""
    call = view.stream.call
    if call is not None and call.places and any(call.place(event) >= 0 for event in view.order):
        return True
    if any(_counts(view.stream, event) for event in view.order):
        return True
    return any(event.exchange is not view.exchange for event in view.order)


def _by_expectation(view: View, start: Event | None) -> Gap | None:
    call = view.stream.call
    if call is None or not call.places or call.expected is None:
        return None
    have = {call.place(event): event for event in view.order if call.place(event) >= 0 and not event.failed}
    if not have:
        return None
    begin = call.place(start.anchor if start is not None else None)
    begin = min(have) if begin == -2 or view.floor else begin
    missing = [
        place
        for place in range(begin + 1, max(have))
        if place not in have and not _elsewhere(view, call.expected[place])
    ]
    if not missing:
        return None
    after = have[min(place for place in have if place > missing[0])]
    keys = tuple(call.expected[place] for place in missing)
    return Gap(keys, after, _known(view, keys))


def _by_number(view: View, start: Event | None) -> Gap | None:
    """By the numbers in the messages, series by series."""
    series: dict[str, dict[int, Event]] = {}
    for event in view.order:
        if event.number is not None and event.stream is view.stream and _counts(view.stream, event):
            series.setdefault(event.number.label, {})[event.number.n] = event
    anchor = start.anchor if start is not None else None
    for label, have in series.items():
        before = anchor.number if anchor is not None else None
        begin = before.n if before is not None and before.label == label and not view.floor else min(have)
        missing = [n for n in range(begin + 1, max(have)) if n not in have][:256]
        keys = tuple(key for n in missing if not _elsewhere(view, key := key_of(Numbered(label, n))))
        if not keys:
            continue
        if not view.stream.session.is_claimed(label) or label.startswith("progress:"):
            numbers = [event.number for event in view.stream.messages if event.number is not None]
            if len(missing) > sum(each.label == label and each.n < missing[0] for each in numbers):
                continue  # nobody said that these numbers count: a leap beyond all that came before is no loss
        known = _known(view, keys)
        return Gap(keys, have[min(n for n in have if n > missing[0])], known, counted=not known)
    return None


def _by_record(view: View, start: Event | None) -> Gap | None:
    """By what the stream delivered on other views."""
    if view.last is None:
        return None
    missing = tuple(
        event
        for event in view.stream.after(start)
        if event.rank < view.last.rank and event.seq not in view.delivered and event.seq > view.floor
    )
    if not missing:
        return None
    after = next((event for event in view.order if event.rank > missing[0].rank), view.last)
    return Gap(tuple(event.key for event in missing), after, missing)


def _counts(stream: Stream, event: Event) -> bool:
    """Whether the number of an event is one of an unbroken series."""
    if event.number is None or event.number.label in stream.session.reused:
        return False
    return not is_progress(event.number) or stream.steps >= UNIT_STEPS


def _elsewhere(view: View, key: str) -> bool:
    other = view.stream.session.known(key)
    return other is not None and other.stream is not view.stream


def _known(view: View, keys: tuple[str, ...]) -> tuple[Event, ...]:
    events = (view.stream.session.known(key) for key in keys)
    return tuple(event for event in events if event is not None and event.stream is view.stream)


@frozen
class Comparison:
    """A settled call beside what it was expected to send."""

    complete: bool
    tail: tuple[str, ...] = ()
    """What is missing after the last event that came."""
    inner: tuple[Gap, ...] = ()
    """What is missing before some event that came, and which one."""
    extra: tuple[Event, ...] = ()
    """What came once more than it should have."""


def compare(call: Call) -> Comparison | None:
    """Compare what came on a call's stream with the driver's expectation; None if there is none to compare with."""
    stream = call.stream
    if stream is None or call.expected is None:
        return None
    metamorphic = call.origin == "metamorphic"
    own = labels_claimed(call.exchange.request.payload)
    events = [event for event in stream.messages if not _is_another_calls(event, call, own)]
    came = [event.normal if metamorphic else event.key for event in events]
    failed = any(event.failed for event in events)
    if not failed and came == list(call.expected):
        return Comparison(True)
    deficit = Counter(call.expected) - Counter(came)
    if not metamorphic and call.session is not None:
        deficit = Counter({key: n for key, n in deficit.items() if call.session.known(key) is None})
    tail: tuple[str, ...] = ()
    inner: list[Gap] = []
    for _, begin, end, _, later in SequenceMatcher(None, call.expected, came, autojunk=False).get_opcodes():
        missing = tuple(key for key in call.expected[begin:end] if deficit[key] > 0 and _take(deficit, key))
        if missing and later < len(events):
            if not events[later].failed:
                inner.append(Gap(missing, events[later]))
        elif missing:
            tail = missing
    surplus = Counter(came) - Counter(call.expected)
    extra = tuple(event for event, key in _last_first(events, came) if surplus[key] > 0 and _take(surplus, key))
    if failed:
        # An error says that no more will come, which is a loss, and no silent one.
        tail, extra = (), tuple(event for event in extra if not event.failed)
    return Comparison(not tail and not inner and not failed, tail, tuple(inner), extra if metamorphic else ())


def _is_another_calls(event: Event, call: Call, own: tuple[str, ...]) -> bool:
    """Whether a message says itself that it is another call's: then where it came is DEL-3's and DEL-5's business."""
    if event.response:
        return event.key.removeprefix("response:") not in call.ids
    label = label_of_key(event.key)
    return label is not None and label.startswith("progress:") and label not in own


def _last_first(events: list[Event], keys: list[str]) -> Iterator[tuple[Event, str]]:
    return zip(reversed(events), reversed(keys), strict=True)


def _take(counter: "Counter[str]", key: str) -> bool:
    counter[key] -= 1
    return True
