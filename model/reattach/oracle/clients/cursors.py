"""CLI-1, CLI-5, CLI-6, CLI-8, CLI-10: what the client does with its cursors, and with what comes on its connections."""

from collections.abc import Iterator

from reattach.oracle.clients.beside import Beside, Exchange, Resumption, Sent, Stream
from reattach.oracle.clients.judgement import (
    LATE_MS,
    SILENT,
    Judgement,
    Unseen,
    broken,
    is_before,
    judge,
    named,
    position_of,
    was_taken,
)
from reattach.oracle.judges.base import Held
from reattach.oracle.record import Seen
from reattach.oracle.verdict import Fault

NO_RESUMPTION = "the client resumed no stream"


@judge("CLI-1")
def cursor_follows_application(run: Beside) -> Iterator[Judgement]:
    """Each resumption's cursor: the last event that was applied, neither before nor after it."""
    if not run.resumptions:
        yield Unseen("CLI-1", NO_RESUMPTION)
    for resumption in run.resumptions:
        if any(each.key for each in resumption.past):
            yield from _cursor(run, resumption)


def _cursor(run: Beside, resumption: Resumption) -> Iterator[Judgement]:
    exchange, past, place = resumption.exchange, resumption.past, position_of(resumption)
    if place is None:
        yield broken(
            run,
            "CLI-1",
            Fault.CURSOR_AHEAD,
            f"the client resumed from {exchange.cursor}, which was never sent whole",
            *past[-1:],
            *[sent.exchange for sent in past[-1:]],
            last=exchange.asked,
        )
        return
    behind = next((sent for sent in past[place + 1 :] if sent.key and was_taken(run, sent, exchange.asked)), None)
    if behind is not None:
        yield broken(
            run,
            "CLI-1",
            Fault.CURSOR_NOT_ADVANCED,
            f"the client resumed from {exchange.cursor}, though it had applied {named(behind)} after it",
            past[place],
            behind,
            behind.exchange,
            *run.said.applied.get(behind.key, ())[:1],
            last=exchange.asked,
        )
        return
    if not run.applies and any(sent.key for sent in past[place + 1 :]):
        yield Unseen("CLI-1", SILENT)
        return
    shared = any(in_anothers_place(run, each) for each in run.resumptions)  # that is CLI-10's
    cut_short = run.exited is not None and not run.ended_by_itself and run.exited.at < exchange.asked.at + LATE_MS
    told = not shared and not cut_short
    lost = next((sent for sent in past[: place + 1] if told and _is_never_applied(run, sent)), None)
    if lost is not None:
        yield broken(
            run,
            "CLI-1",
            Fault.CURSOR_AHEAD,
            f"the client resumed from {exchange.cursor} and never applied {named(lost)}, which had come by then",
            lost,
            lost.exchange,
            last=exchange.asked,
        )
        return
    yield Held("CLI-1")


def _is_never_applied(run: Beside, sent: Sent) -> bool:
    """Whether a message that the program would have printed was not: it prints the others."""
    return bool(sent.key) and not sent.final and sent.read and run.applies and sent.key not in run.said.applied


@judge("CLI-5")
def resumption_is_a_get(run: Beside) -> Iterator[Judgement]:
    """The method of each resumption of a call's stream."""
    if not run.resumptions:
        yield Unseen("CLI-5", NO_RESUMPTION)
    for resumption in run.resumptions:
        if resumption.exchange.request.method == "GET":
            yield Held("CLI-5")
        else:
            yield broken(
                run,
                "CLI-5",
                Fault.RESUMED_BY_POST,
                f"the client resumed a stream by {resumption.exchange.request.method}",
                *(sent for sent in resumption.past if sent.id == resumption.exchange.cursor),
                last=resumption.exchange.asked,
            )


@judge("CLI-6")
def old_frames_are_ignored(run: Beside) -> Iterator[Judgement]:
    """What came on a connection after its stream had been resumed on another."""
    late = [
        sent
        for stream in run.streams.values()
        for sent in stream.sent
        if sent.key and sent.resumed is not None and sent.seen.index > sent.resumed.asked.index
    ]
    if not late:
        yield Unseen("CLI-6", "no old connection was open any more when its stream was resumed")
    elif not run.speaks:
        yield Unseen("CLI-6", SILENT)
    for sent in late if run.speaks else ():
        applied = _applied_by(run, sent)
        if applied is None:
            yield Held("CLI-6")
        else:
            yield broken(
                run,
                "CLI-6",
                Fault.OLD_CONNECTION_READ,
                f"the client applied {named(sent)}, which came on the old connection after it had resumed the stream",
                sent,
                sent.resumed,
                last=applied,
            )


@judge("CLI-8")
def wrong_position_is_an_error(run: Beside) -> Iterator[Judgement]:
    """What came on a view that had stated another position than the client's cursor."""
    wrong = [(stream, each) for stream in run.streams.values() for each in stream.exchanges if each.misplaced]
    if not wrong:
        yield Unseen("CLI-8", NO_RESUMPTION if not run.resumptions else "no view stated a wrong position")
    for stream, exchange in wrong:
        if not run.speaks:
            yield Unseen("CLI-8", SILENT)
        else:
            yield from _misplaced(run, stream, exchange)


def _misplaced(run: Beside, stream: Stream, exchange: Exchange) -> Iterator[Judgement]:
    after = [sent for sent in stream.sent if sent.exchange is exchange and sent.key]
    for sent in after:
        applied = _applied_by(run, sent)
        if applied is not None:
            yield broken(
                run,
                "CLI-8",
                Fault.POSITION_IGNORED,
                f"the client asked for what follows {exchange.cursor}, was told another position, and applied"
                f" {named(sent)} of that view",
                *(each for each in stream.sent if each.id == exchange.cursor),
                exchange.misplaced,
                sent,
                last=applied,
            )
            return
    if after:
        yield Held("CLI-8")


def _applied_by(run: Beside, sent: Sent) -> Seen | None:
    """The line that shows that a message was applied, if it came on no other connection."""
    stream = sent.exchange.stream
    assert stream is not None
    if sent.final:
        others = [each for each in run.calls if each.label == stream.label and each.answered is not None]
        only = others == [stream] and all(each.exchange is sent.exchange for each in stream.sent if each.final)
        return run.said.answer(stream.label) if only else None
    everywhere = [each for one in run.streams.values() for each in one.sent if each.key == sent.key]
    only = all(each.exchange is sent.exchange for each in everywhere)
    return next(iter(run.said.applied.get(sent.key, ())), None) if only else None


@judge("CLI-10")
def one_cursor_per_stream(run: Beside) -> Iterator[Judgement]:
    """No stream is resumed in another's place, and none that has given its response."""
    for stream in run.streams.values():
        yield from _after_result(run, stream)
        yield from _lost(run, stream)
    for resumption in run.resumptions:
        yield from _shared(run, resumption)
    if not any(stream.answered is not None and stream.has_ids for stream in run.streams.values()):
        yield Unseen("CLI-10", "no call with event ids was answered")


def _after_result(run: Beside, stream: Stream) -> Iterator[Judgement]:
    answered = stream.answered
    if answered is None or not answered.id or answered.exchange.end is None:
        return
    for resumption in stream.resumptions:
        asked = resumption.exchange.asked
        line = run.said.answer(stream.label) if stream.is_call else None
        had = resumption.exchange.cursor == answered.id or (line is not None and is_before(line, asked))
        if answered.seen.index < asked.index and had:
            others = [each for each in neglected(run, stream, asked) if each.is_call]
            yield broken(
                run,
                "CLI-10",
                Fault.CURSOR_SHARED if others else Fault.RESUME_AFTER_RESULT,
                "the client resumed a stream whose response it had"
                + (", and another one, which was cut, never" if others else ""),
                *[other.interruptions[0] for other in others[:1]],
                answered,
                answered.exchange,
                last=asked,
            )
            return
    if stream.is_call:
        yield Held("CLI-10")


def _lost(run: Beside, stream: Stream) -> Iterator[Judgement]:
    """A GET without a cursor, though the client listens already, where a call waits to be resumed."""
    last = stream.exchanges[-1]
    if not stream.is_call or not stream.has_ids or not last.interrupted or last.end is None:
        return
    session = stream.opener.request.session
    for other in run.streams.values():
        asked, request = other.opener.asked, other.opener.request
        alone = not any(_is_open(each, asked) for each in _listening(run, session))
        if request.method != "GET" or request.session != session or alone:
            continue
        if not last.end.index < asked.index or asked.at > last.end.at + LATE_MS:
            continue
        yield broken(
            run,
            "CLI-10",
            Fault.CURSOR_LOST,
            f"the client had a cursor for call {stream.label}, and came back without any",
            *[sent for sent in stream.sent if sent.id][-1:],
            *[each.exchange for each in stream.resumptions],
            last,
            last=asked,
        )
        return


def _listening(run: Beside, session: str | None) -> list[Exchange]:
    """The connections of the standalone streams of a session."""
    alone = [stream for stream in run.streams.values() if stream.asked is None]
    return [each for stream in alone for each in stream.exchanges if each.request.session == session]


def _is_open(exchange: Exchange, when: Seen) -> bool:
    answered = exchange.answer is not None and exchange.answer.index < when.index
    return answered and exchange.status == 200 and (exchange.end is None or exchange.end.index > when.index)


def _shared(run: Beside, resumption: Resumption) -> Iterator[Judgement]:
    stream = resumption.exchange.stream
    for other in in_anothers_place(run, resumption)[:1]:
        assert stream is not None
        yield broken(
            run,
            "CLI-10",
            Fault.CURSOR_SHARED,
            "the client resumed a stream that it was reading, and another one, which was cut, never",
            *[sent for sent in other.sent if sent.id][-1:],
            other.interruptions[0],
            *[each for each in stream.exchanges if each.request.connection == _read_on(resumption)],
            last=resumption.exchange.asked,
        )


def _read_on(resumption: Resumption) -> int:
    """The connection on which the stream was being read."""
    return 0 if resumption.before is None else resumption.before.connection


def in_anothers_place(run: Beside, resumption: Resumption) -> list[Stream]:
    """The streams that wait in vain for a resumption, while this one is of a stream that is being read already."""
    asked, before = resumption.exchange.asked, resumption.before
    stream = resumption.exchange.stream
    if before is None or before.connection == 0 or stream is None:
        return []
    return neglected(run, stream, asked)


def neglected(run: Beside, stream: Stream, before: Seen) -> list[Stream]:
    """The other streams that were cut before something, and that the client never resumed though it could."""
    return [
        other
        for other in run.streams.values()
        if other is not stream
        and other.has_ids
        and not other.resumptions
        and any(each.end is not None and each.end.index < before.index for each in other.interruptions)
    ]
