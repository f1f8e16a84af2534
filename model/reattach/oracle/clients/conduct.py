"""CLI-2, CLI-3, CLI-4, CLI-7, CLI-9, CLI-11, CLI-12: what the client does, what it leaves, and what it tells."""

from collections.abc import Iterator, Mapping, Sequence

from reattach.machine import client as machine
from reattach.machine.client import News
from reattach.oracle.clients.beside import ATTEMPTS_MOST, Beside, Exchange, Resumption, Sent, Stream, label_of
from reattach.oracle.clients.cursors import NO_RESUMPTION, in_anothers_place, neglected
from reattach.oracle.clients.judgement import (
    LATE_MS,
    PATIENCE_MS,
    PROMPT_MS,
    SILENT,
    SLACK_MS,
    Judgement,
    Unseen,
    broken,
    count,
    gone,
    judge,
    named,
    position_of,
)
from reattach.oracle.clients.reading import NOT_NOW
from reattach.oracle.judges.base import Held
from reattach.oracle.message import digest
from reattach.oracle.observation import Frame, Json
from reattach.oracle.record import Seen
from reattach.oracle.verdict import Fault

_UNDISTURBED = "nothing happened to the calls of the run"
_NO_MORE = "the program ended after the 404: nothing shows whether its next request would have begun a session"
_UNSENT = (
    "after the 404 the client failed the next call without a request: to begin a session is left to its application"
)
_EVENTS = {News.GAP: "gap", News.SESSION_LOST: "session-lost"}
_LONGEST_WAIT_MS = machine.Client().longest_wait_ms
"""A ``retry`` that a client need not wait for."""


@judge("CLI-2")
def nothing_is_applied_twice(run: Beside) -> Iterator[Judgement]:
    """How often each message was sent as an event of its own, and how often it was applied."""
    if not run.speaks:
        yield Unseen("CLI-2", SILENT)
        return
    sent: dict[str, list[Sent]] = {}
    for stream in run.streams.values():
        for each in stream.sent:
            if each.key and not each.final:
                sent.setdefault(each.key, []).append(each)
    exercised = False
    for key, deliveries in sent.items():
        lines = run.said.applied.get(key, [])
        # What a server sends on two streams is one event of each: no client can know better.
        events = len({(id(each.exchange.stream), each.id) for each in deliveries if each.id})
        events += sum(not each.id for each in deliveries)
        if len(lines) > events:
            yield _twice(run, named(deliveries[0]), deliveries, lines, events)
            return
        exercised = exercised or (bool(lines) and any(each.exchange.cursor is not None for each in deliveries))
    for stream in run.calls:
        lines = run.said.results.get(stream.label, [])
        answers = [each for each in stream.sent if each.final]
        if len(lines) > 1 and answers and _is_only(run, stream):
            yield _twice(run, "the response", answers, lines, 1)
            return
    yield Held("CLI-2") if exercised else Unseen("CLI-2", "nothing was applied from a resumed view")


def _twice(run: Beside, what: str, deliveries: Sequence[Sent], lines: Sequence[Seen], events: int) -> Judgement:
    return broken(
        run,
        "CLI-2",
        Fault.CLIENT_DUPLICATE,
        f"the client applied {what} {len(lines)} times; it was {'one event' if events == 1 else f'{events} events'}",
        *deliveries,
        *lines[:events],
        last=lines[events],
    )


def _is_only(run: Beside, stream: Stream) -> bool:
    return [each.label for each in run.calls].count(stream.label) == 1


@judge("CLI-3")
def a_lost_session_is_begun_anew(run: Beside) -> Iterator[Judgement]:
    """What follows the first 404 under a session."""
    first = min(gone(run), key=lambda each: each.answer.index if each.answer else 0, default=None)
    if first is None or first.answer is None:
        yield Unseen("CLI-3", "the client asked for nothing under a session that was gone")
        return
    lost, told = first.request.session, first.answer
    later = [each for each in run.exchanges.values() if each.asked.index > told.index]
    begun = [each for each in later if each.request.rpc_method == "initialize"]
    named_again = [each for each in begun if each.request.session is not None]
    kept = [
        each
        for each in later
        if each.request.session == lost
        and each.request.method != "DELETE"
        and each not in named_again
        and _knows(run, each, first, told)
    ]
    old = {sent.id for stream in run.streams.values() for sent in stream.sent if sent.seen.index < told.index}
    carried = [each for each in later if each.request.session != lost and each.cursor in old - {""}]
    for wrong, fault, summary in (
        (
            named_again,
            Fault.CLIENT_NO_REINITIALIZE,
            "the client was told 404, and initialized under the old session id",
        ),
        (kept, Fault.CLIENT_NO_REINITIALIZE, "the client was told 404, and went on under the session"),
        (carried, Fault.CURSOR_KEPT_AFTER_404, "the client resumed a stream of a session that is gone, in another one"),
        (begun[1:], Fault.REINITIALIZED_TWICE, "one session was gone, and the client initialized more than once"),
    ):
        if wrong:
            yield broken(run, "CLI-3", fault, summary, first, *begun[:1], last=wrong[0].asked)
    if not (named_again or kept or carried or begun[1:]):
        yield Held("CLI-3") if begun else Unseen("CLI-3", _UNSENT if _fails_unsent(run, told) else _NO_MORE)


def _fails_unsent(run: Beside, told: Seen) -> bool:
    """Whether a call failed after the 404 that was never sent: the client answers for itself that it is closed."""
    sent = {stream.label for stream in run.calls} | {""}
    return any(label not in sent and lines[0].index > told.index for label, lines in run.said.errors.items())


def _knows(run: Beside, exchange: Exchange, first: Exchange, told: Seen) -> bool:
    """Whether the client surely had the 404 when it sent a request: others may have been on their way."""
    if exchange.asked.at > told.at + LATE_MS or _comes_back(run, exchange, first):
        return True
    if exchange.request.rpc_method != "tools/call" or first.stream is None:
        return False
    failed, waits = run.said.failure(first.stream.label), run.after.get(label_of(exchange.request.payload))
    if first is first.stream.opener and waits == first.stream.label:
        return True  # the 404 is the only end that the call it waited for has had
    # No program of the contract makes a call that it has not begun with, but after another one's end.
    return failed is not None and told.index < failed.index < exchange.asked.index


def _comes_back(run: Beside, exchange: Exchange, first: Exchange) -> bool:
    """Whether a request is for the stream that was answered 404, by a client that reads each stream by itself."""
    stream = first.stream
    return stream is not None and exchange.stream is stream and not neglected(run, stream, exchange.asked)


@judge("CLI-4")
def retry_is_obeyed(run: Beside) -> Iterator[Judgement]:
    """How long after the end of a stream's connection it was resumed."""
    waits = [each for each in run.resumptions if each.before is not None and each.before.retry_ms > 0]
    timed = [each for each in waits if _waits_for_its_own(run, each) and _had_retry(each)]
    for resumption in timed:
        before, asked = resumption.before, resumption.exchange.asked
        assert before is not None
        if asked.at + SLACK_MS >= before.ready:
            yield Held("CLI-4")
            continue
        last = _last_connection(resumption)
        yield broken(
            run,
            "CLI-4",
            Fault.RETRY_IGNORED,
            f"the client was given `retry: {before.retry_ms}`, and came back"
            f" {asked.at - before.ready + before.retry_ms} ms after its connection had ended",
            *_retries(resumption)[-1:],
            last,
            last=asked,
        )
    if not timed:
        yield Unseen("CLI-4", NO_RESUMPTION if not run.resumptions else "no `retry` was given that is more than 0")


def _waits_for_its_own(run: Beside, resumption: Resumption) -> bool:
    """Whether it is the end of this stream's connection that the client waits after, and not another's (CLI-10)."""
    stream, before = resumption.exchange.stream, resumption.before
    ended = before is not None and before.connection == 0
    return ended and stream is not None and not neglected(run, stream, resumption.exchange.asked)


def _retries(resumption: Resumption) -> list[Sent]:
    return [
        each for each in resumption.past if isinstance(each.seen.observation, Frame) and each.seen.observation.retry
    ]


def _had_retry(resumption: Resumption) -> bool:
    """Whether the client surely had the ``retry`` that counts: it came with the client's cursor, or before it."""
    place, given, before = position_of(resumption), _retries(resumption), resumption.before
    if place is None or not given or before is None or resumption.past.index(given[-1]) > place:
        return False
    last = given[-1].seen.observation  # one that came alone, without an id, has no place on the stream
    return isinstance(last, Frame) and last.retry == before.retry_ms


def _last_connection(resumption: Resumption) -> Exchange | None:
    stream = resumption.exchange.stream
    earlier = [] if stream is None else [each for each in stream.exchanges if each is not resumption.exchange]
    ended = [each for each in earlier if each.end is not None and each.end.index < resumption.exchange.asked.index]
    return ended[-1] if ended else None


@judge("CLI-7")
def a_disconnect_is_no_cancellation(run: Beside) -> Iterator[Judgement]:
    """What became of each call whose connection was ended while the client had a cursor for it."""
    cut = [stream for stream in run.calls if stream.has_ids and stream.interruptions]
    if not cut:
        yield Unseen("CLI-7", _UNDISTURBED)
    for stream in cut:
        yield from _disconnected(run, stream, stream.interruptions[0])


def _disconnected(run: Beside, stream: Stream, interruption: Exchange) -> Iterator[Judgement]:
    end = interruption.end
    assert end is not None
    cancelled = next((each for each in run.exchanges.values() if _cancels(each, stream, end)), None)
    resumed = stream.resumptions[0].exchange if stream.resumptions else None
    early = cancelled is not None and (resumed is None or cancelled.asked.index < resumed.asked.index)
    if cancelled is not None and early and cancelled.asked.at <= end.at + PROMPT_MS:
        yield broken(
            run,
            "CLI-7",
            Fault.DISCONNECT_CANCELS,
            f"the connection of call {stream.label} ended, and the client cancelled the call",
            *[each for each in stream.sent if each.id][-1:],
            interruption,
            last=cancelled.asked,
        )
        return
    failed = run.said.failure(stream.label)
    if resumed is not None:
        yield Held("CLI-7")
    elif failed is not None and failed.index > end.index and not _has_other_reasons(run, stream):
        yield broken(
            run,
            "CLI-7",
            Fault.DISCONNECT_CANCELS,
            f"the connection of call {stream.label} ended, and the client gave the call up without trying to resume it",
            *[each for each in stream.sent if each.id][-1:],
            interruption,
            last=failed,
        )
    else:
        yield Unseen("CLI-7", NO_RESUMPTION)


def _cancels(exchange: Exchange, stream: Stream, after: Seen) -> bool:
    payload = exchange.request.payload
    params = payload.get("params") if isinstance(payload, Mapping) else None
    about = params.get("requestId") if isinstance(params, Mapping) else None
    cancels = exchange.request.rpc_method == "notifications/cancelled"
    return cancels and exchange.asked.index > after.index and str(about) == stream.asked


def _has_other_reasons(run: Beside, stream: Stream) -> bool:
    """Whether a call may have been given up for more than a disconnect: the session is gone, the client was asked to
    wait longer than it need, or it resumed another stream in its place (CLI-10)."""
    frames = [each.seen.observation for each in stream.sent]
    asked_to_wait = any(isinstance(each, Frame) and (each.retry or 0) > _LONGEST_WAIT_MS for each in frames)
    others = [each for each in run.streams.values() if each is not stream]
    in_its_place = any(len(each.resumptions) > len(each.interruptions) for each in others) or any(
        in_anothers_place(run, each) for each in run.resumptions
    )
    return asked_to_wait or in_its_place or bool(list(gone(run)))


@judge("CLI-9")
def the_application_is_told(run: Beside) -> Iterator[Judgement]:
    """Each call that was made is answered or failed; gaps and lost sessions are told by programs that tell them."""
    if not run.speaks:
        yield Unseen("CLI-9", SILENT)
        return
    for stream in run.calls:
        yield from _told_of_call(run, stream)
    for news, event in _EVENTS.items():
        told = [each for each in run.told if each.news is news and _is_loss(run, each.stream, each.upon)]
        if news is News.GAP and "session-lost" in run.said.events:
            # Who has heard that the session is lost knows that of its streams too.
            lost = {each.upon.index for each in run.told if each.news is News.SESSION_LOST}
            told = [each for each in told if each.upon.index not in lost]
        if told and event in run.said.tells:
            line = next(iter(run.said.events.get(event, ())), None)
            yield (
                Held("CLI-9")
                if line is not None
                else _silent(run, f"the application was not told of a {event.replace('-', ' ')}", None, told[0].upon)
            )
    yield from _after_refusal(run)


def _told_of_call(run: Beside, stream: Stream) -> Iterator[Judgement]:
    if run.said.answer(stream.label) is not None:
        return
    disturbed = bool(stream.interruptions) or any(each.status >= 400 for each in stream.exchanges)
    if run.said.failure(stream.label) is not None:
        if disturbed:
            yield Held("CLI-9")
        return
    last = stream.interruptions[-1] if stream.interruptions else stream.exchanges[-1]
    if run.ended_by_itself:
        yield _silent(run, f"the program ended without a word about call {stream.label}", last, run.exited)
        return
    lost = _lost_at(run, stream)
    waited = 0 if lost is None or run.exited is None else run.exited.at - lost.at
    if lost is not None and waited >= PATIENCE_MS:
        what = f"call {stream.label} was not followed any more, and within {waited} ms nothing was said of it"
        yield _silent(run, what, run.exchange_of(lost), run.exited)
    elif disturbed:
        yield Unseen("CLI-9", "the client was still at it when its time was over")


def _lost_at(run: Beside, stream: Stream) -> Seen | None:
    """When a call was given up by the machine's client, or by this one: its last connection has ended, and ``retry``
    would long have let it come back."""
    given_up = next((each.upon for each in run.told if each.stream is stream), None)
    last = stream.exchanges[-1]
    waits = next((each.retry_ms for each in machine.find_by_handle(run.client, stream.handle)), 0)
    return given_up or (last.end if last.interrupted and waits < PATIENCE_MS else None)


def _silent(run: Beside, summary: str, exchange: Exchange | None, last: Seen | None) -> Judgement:
    assert last is not None
    return broken(run, "CLI-9", Fault.SILENT_LOSS, summary, exchange, last=last)


def _is_loss(run: Beside, stream: Stream | None, upon: Seen) -> bool:
    """Whether something was lost: not what ends with the client's own goodbye, nor a GET that was never served."""
    said_goodbye = run.left is not None and run.left.index < upon.index
    served = stream is None or any(each.status == 200 for each in stream.exchanges)
    return not said_goodbye and served


def _after_refusal(run: Beside) -> Iterator[Judgement]:
    """A refused cursor is dropped, and the session kept."""
    refused = [each for each in run.resumptions if _is_refusal(each.exchange)]
    for resumption in refused:
        first, answer = resumption.exchange, resumption.exchange.answer
        assert answer is not None
        again = [
            each.exchange
            for each in run.resumptions
            if each.exchange.cursor == first.cursor and each.exchange.asked.index > answer.index
        ]
        if again:
            yield broken(
                run,
                "CLI-9",
                Fault.CURSOR_KEPT_AFTER_REFUSAL,
                f"a cursor was refused ({first.status}), and the client sent it again",
                first,
                last=again[0].asked,
            )
            return
    begun = [each for each in run.exchanges.values() if each.request.rpc_method == "initialize"]
    dropped = next((each for each in begun[1:] if refused and each.asked.index > refused[0].exchange.asked.index), None)
    if dropped is not None and not list(gone(run)):
        yield broken(
            run,
            "CLI-9",
            Fault.SESSION_DROPPED,
            f"a cursor was refused ({refused[0].exchange.status}), and the client threw the session away",
            refused[0].exchange,
            last=dropped.asked,
        )


def _is_refusal(exchange: Exchange) -> bool:
    return 400 <= exchange.status != 404 and exchange.status not in NOT_NOW


@judge("CLI-11")
def attempts_are_bounded(run: Beside) -> Iterator[Judgement]:
    """How often each stream was resumed without an event that was applied."""
    tried = False
    for stream in run.streams.values():
        attempts = _fruitless(stream)
        if len(attempts) > ATTEMPTS_MOST:
            last = attempts[ATTEMPTS_MOST].asked
            took = last.at - attempts[0].asked.at
            yield broken(
                run,
                "CLI-11",
                Fault.CLIENT_RECONNECT_STORM,
                f"the client resumed a stream {ATTEMPTS_MOST} times in {took} ms without an event, and came back again",
                attempts[0],
                *attempts[ATTEMPTS_MOST - 1 : ATTEMPTS_MOST],
                last=last,
            )
        elif len(attempts) >= 2:
            tried = True
            yield _stopped(run, stream, len(attempts))
    if not tried:
        yield Unseen("CLI-11", "the client did not come back twice in vain")


def _fruitless(stream: Stream) -> list[Exchange]:
    """The longest sequence of resumptions without progress."""
    longest: list[Exchange] = []
    current: list[Exchange] = []
    for resumption in stream.resumptions:
        if resumption.before is not None and resumption.before.attempts == 0:
            current = []
        current.append(resumption.exchange)
        longest = max(longest, current[:], key=len)
    if longest and any(each.key and each.exchange is longest[-1] for each in stream.sent):
        longest = longest[:-1]
    return longest


def _stopped(run: Beside, stream: Stream, attempts: int) -> Judgement:
    """Whether it is clear that the client has stopped trying: it says so, or the stream went on after all."""
    stopped = run.ended_by_itself or run.said.failure(stream.label) is not None or stream.answered is not None
    if stopped:
        return Held("CLI-11")
    return Unseen("CLI-11", f"the client was still at it when its time was over, after {count(attempts, 'attempt')}")


@judge("CLI-12")
def calls_are_not_resent(run: Beside) -> Iterator[Judgement]:
    """How often each call was sent."""
    calls: dict[str, list[Stream]] = {}
    for stream in run.calls:
        calls.setdefault(_what(stream.opener.request.payload), []).append(stream)
    disturbed = False
    for same in calls.values():
        first = same[0]
        if len(same) > 1:
            yield broken(
                run,
                "CLI-12",
                Fault.CLIENT_RESEND,
                f"the client sent call {first.label} again by itself",
                first.opener,
                *first.interruptions[:1],
                last=same[1].opener.asked,
            )
        elif first.interruptions or any(each.status >= 400 for each in first.exchanges):
            disturbed = True
            yield Held("CLI-12")
    if not disturbed:
        yield Unseen("CLI-12", _UNDISTURBED)


def _what(payload: Json) -> str:
    """A call, apart from its id and its progress token."""
    params = payload.get("params") if isinstance(payload, Mapping) else None
    if not isinstance(params, Mapping):
        return ""
    return digest({"name": params.get("name"), "arguments": params.get("arguments")})
