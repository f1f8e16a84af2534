"""Hypothesis strategies: policies, histories, event ids, cursors, and ``Last-Event-ID`` headers, good and bad ones.

For tests of servers, clients, stores and parsers that have to do with resumption; docs/strategies.md has examples.
Needs Hypothesis (``reattach[campaign]``).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import frozen
from hypothesis import strategies as st

from reattach.forged import malformed, similar
from reattach.machine.cursor import (
    ABSENT,
    MALFORMED,
    MAX_INTEGER,
    TAG_LENGTHS,
    Cursor,
    Presence,
    format_event_id,
    parse_cursor,
)
from reattach.machine.policy import Policy, is_valid
from reattach.oracle.record import Bearing

if TYPE_CHECKING:
    from reattach.live.experiments.history import History

__all__ = ["Bearing", "LastEventId", "cursors", "event_ids", "histories", "last_event_ids", "policies", "tags"]

_NUMBERS = st.one_of(st.integers(1, 20), st.integers(1, MAX_INTEGER))


def policies() -> st.SearchStrategy[Policy]:
    """Valid policies, so small that each limit and budget is reached by a few events or milliseconds."""
    return st.builds(
        Policy,
        window_events=st.integers(2, 5),
        window_ms=st.integers(5, 12),
        window_bytes=st.integers(1, 6),
        stall_ms=st.integers(1, 4),
        stall_reads=st.integers(1, 3),
        absence_ms=st.integers(1, 9),
        open_streams=st.integers(2, 4),
        sessions=st.integers(1, 3),
        heartbeat_ms=st.integers(1, 6),
        retry_ms=st.just(0),
    ).filter(is_valid)


def tags() -> st.SearchStrategy[str]:
    """Session tags, as event ids carry them."""
    return st.from_regex(rf"[A-Za-z0-9_-]{{{TAG_LENGTHS.start},{TAG_LENGTHS.stop - 1}}}", fullmatch=True)


def event_ids(tag: str | None = None) -> st.SearchStrategy[str]:
    """Event ids in the standard's grammar, ``TAG.STREAM.SEQ``: of one session, or of any."""
    return st.builds(format_event_id, tags() if tag is None else st.just(tag), _NUMBERS, _NUMBERS)


def cursors(tag: str, *, stream: int = 5, seq: int = 20) -> st.SearchStrategy[Cursor]:
    """Parsed cursors, as ``decide_cursor`` takes them: absent, malformed, mostly of the session, sometimes another's.

    ``stream`` and ``seq`` are the largest numbers in them; both begin at 0, which no event has.
    """
    mostly = st.sampled_from([tag, tag, tag, tag, f"not-{tag}"])
    named = st.builds(Cursor, st.just(Presence.PRESENT), mostly, st.integers(0, stream), st.integers(0, seq))
    return st.one_of(st.just(ABSENT), st.just(MALFORMED), named)


def histories(policy: Policy, *, pushes: bool = True) -> st.SearchStrategy["History"]:
    """What a client and a network may do, as a campaign plays it on a server that runs by ``policy``.

    Each step is chosen with the machine's state in view. ``pushes`` only if the server has the tool ``reattach_push``.
    ``History.parameters()`` is its form in JSON.
    """
    # What plays histories comes with sockets; the other strategies do without.
    from reattach.live.campaign.strategies import histories as of_campaign

    return of_campaign(policy, pushes)


@frozen
class LastEventId:
    """The ``Last-Event-ID`` headers of a request, and what they mean to the session that they are presented to."""

    bearing: Bearing
    headers: tuple[str, ...]
    """Every header's value, in order: none if absent, two if repeated."""


def last_event_ids(
    issued: Sequence[str],
    *,
    others: Sequence[str] = (),
    foreign: Sequence[str] = (),
    bearings: Sequence[Bearing] = tuple(Bearing),
) -> st.SearchStrategy[LastEventId]:
    """``Last-Event-ID`` headers for a session that was given the ids ``issued``, all of one stream, in order.

    ``others`` are ids of its other streams, ``foreign`` those of other sessions. ``bearings`` selects: NONE (absent),
    GOOD, MALFORMED, FOREIGN, AHEAD (of its stream) and MISMATCH (a seq of another stream, among those of its own).
    AHEAD and MISMATCH are made of ids in the standard's grammar alone, MISMATCH only if ``others`` allow it; FOREIGN
    also of ``foreign`` as they are. A server whose ids have another form, numbers say, may read as an id what is
    MALFORMED in the grammar. Raises ValueError if ``issued`` is empty, or nothing can be made of ``bearings``.
    """
    if not issued:
        raise ValueError("last_event_ids needs at least one id that was issued")
    known = {*issued, *others}
    made: dict[Bearing, st.SearchStrategy[tuple[str, ...]]] = {
        Bearing.NONE: st.just(()),
        Bearing.GOOD: st.sampled_from(issued).map(_alone),
        Bearing.MALFORMED: _malformed(issued),
    }
    strange = [each for each in foreign if each not in known]
    drawn = [st.sampled_from(strange)] if strange else []
    newest = parse_cursor((issued[-1],))
    if newest.presence is Presence.PRESENT:
        drawn.append(tags().filter(lambda tag: tag != newest.tag).flatmap(event_ids))
        drawn.append(st.randoms(use_true_random=False).map(lambda rng: _renamed(newest, similar(newest.tag, rng))))
        last = max(parse_cursor((each,)).seq for each in issued)
        made[Bearing.AHEAD] = st.one_of(st.integers(last + 1, last + 3), st.integers(last + 1, MAX_INTEGER)).map(
            lambda seq: _alone(format_event_id(newest.tag, newest.stream, seq))
        )
        elsewhere = sorted({seq for seq in _seqs(others) if min(_seqs(issued)) < seq < last} - set(_seqs(issued)))
        if elsewhere:
            made[Bearing.MISMATCH] = st.sampled_from(elsewhere).map(
                lambda seq: _alone(format_event_id(newest.tag, newest.stream, seq))
            )
    if drawn:
        made[Bearing.FOREIGN] = st.one_of(drawn).filter(lambda cursor: cursor not in known).map(_alone)
    chosen = [
        st.builds(LastEventId, st.just(bearing), headers) for bearing, headers in made.items() if bearing in bearings
    ]
    if not chosen:
        raise ValueError(f"nothing can be made of {', '.join(bearing.value for bearing in bearings)} from these ids")
    return st.one_of(chosen)


def _malformed(issued: Sequence[str]) -> st.SearchStrategy[tuple[str, ...]]:
    """What the probe presents, and any text that no grammar of ids has reason to accept."""
    forged = st.sampled_from(issued).flatmap(lambda good: st.sampled_from(malformed(good)))
    text = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
    free = text.filter(lambda value: value.strip() not in issued and parse_cursor((value,)) is MALFORMED).map(_alone)
    return st.one_of(forged, free).filter(lambda headers: len(headers) != 1 or headers[0] not in issued)


def _renamed(cursor: Cursor, tag: str) -> str:
    return format_event_id(tag, cursor.stream, cursor.seq)


def _seqs(ids: Sequence[str]) -> list[int]:
    parsed = [parse_cursor((each,)) for each in ids]
    return [cursor.seq for cursor in parsed if cursor.presence is Presence.PRESENT]


def _alone(value: str) -> tuple[str, ...]:
    return (value,)
