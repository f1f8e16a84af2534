"""The decision on a resumption request, and every refusal there is.

The order of the questions is part of the standard (spec/04-cursors.md): a request that is wrong in several ways gets
the first reason that applies, so that two conforming servers differ in no answer. ``decide_cursor`` is the heart of
the model: five comparisons of integers that grant a re-attachment iff it is lossless (CUR-7).
"""

from enum import Enum
from typing import TypeAlias

from attrs import frozen

from reattach.machine.cursor import Cursor, Presence
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import Session, find_stream, mark_of


class Reason(Enum):
    """Why a request was refused; the machine-readable name that goes on the wire."""

    ORIGIN_FORBIDDEN = "origin-forbidden"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    VERSION_UNSUPPORTED = "version-unsupported"
    SESSION_MISSING = "session-missing"
    SESSION_UNKNOWN = "session-unknown"
    CURSOR_MALFORMED = "cursor-malformed"
    CURSOR_FOREIGN = "cursor-foreign"
    CURSOR_OUT_OF_WINDOW = "cursor-out-of-window"
    CURSOR_AHEAD = "cursor-ahead"
    CURSOR_MISMATCH = "cursor-mismatch"
    STREAMS_EXHAUSTED = "streams-exhausted"
    SESSIONS_EXHAUSTED = "sessions-exhausted"
    STREAM_FINISHED = "stream-finished"
    MESSAGE_TOO_LARGE = "message-too-large"


_STATUS = {
    Reason.ORIGIN_FORBIDDEN: 403,
    Reason.UNAUTHENTICATED: 401,
    Reason.FORBIDDEN: 403,
    Reason.VERSION_UNSUPPORTED: 400,
    Reason.SESSION_MISSING: 400,  # SES-3
    Reason.SESSION_UNKNOWN: 404,  # SES-2, SES-7, SES-8
    Reason.CURSOR_MALFORMED: 400,  # CUR-2
    Reason.STREAMS_EXHAUSTED: 503,
    Reason.SESSIONS_EXHAUSTED: 503,
    Reason.STREAM_FINISHED: 500,
    Reason.MESSAGE_TOO_LARGE: 500,
}


def status_of(policy: Policy, reason: Reason) -> int:
    """The HTTP status of a refusal; a well-formed cursor that cannot be honoured gets the policy's (CUR-9)."""
    return _STATUS.get(reason, policy.refusal_status)


@frozen
class Fresh:
    """No cursor: a fresh view, with nothing that any earlier view was given (CUR-1)."""


@frozen
class Reattach:
    """A view that starts strictly after ``position`` on ``stream`` (DEL-1, DEL-2)."""

    stream: int
    position: int


@frozen
class Replay:
    """Everything of ``stream`` after ``position``, its birth, duplicates included; correct only with dedup (MOD-3)."""

    stream: int
    position: int


@frozen
class Refuse:
    """An explicit refusal. ``mark`` and ``last`` say from where to where the named stream can still be resumed."""

    reason: Reason
    stream: int = 0
    mark: int = 0
    last: int = 0


Decision: TypeAlias = Fresh | Reattach | Replay | Refuse
"""Exactly one of these answers every resumption request (MOD-1)."""


class Credential(Enum):
    """What the edge found out about a request's credentials."""

    NOT_REQUIRED = "not-required"
    GOOD = "good"
    MISSING = "missing"
    FORBIDDEN = "forbidden"


@frozen
class Admitted:
    """The request may be looked at."""


def admit(origin_allowed: bool, credential: Credential, version_supported: bool) -> Admitted | Refuse:
    """Step 0, the same for POST, GET and DELETE: Origin, authentication, version, in this order."""
    if not origin_allowed:
        return Refuse(Reason.ORIGIN_FORBIDDEN)
    if credential is Credential.MISSING:
        return Refuse(Reason.UNAUTHENTICATED)
    if credential is Credential.FORBIDDEN:
        return Refuse(Reason.FORBIDDEN)
    if not version_supported:
        return Refuse(Reason.VERSION_UNSUPPORTED)
    return Admitted()


def decide_cursor(session: Session, cursor: Cursor) -> Decision:
    """Steps 3 to 10, for a living session at its own present (MOD-2: what is granted has all four conditions)."""
    if cursor.presence is Presence.ABSENT:
        return Fresh()  # CUR-1
    if cursor.presence is Presence.MALFORMED:
        return Refuse(Reason.CURSOR_MALFORMED)  # CUR-2
    if cursor.tag != session.tag:
        return Refuse(Reason.CURSOR_FOREIGN)  # CUR-3
    stream = find_stream(session, cursor.stream)
    if stream.number == 0 or session.mode is Mode.REFUSE:
        return Refuse(Reason.CURSOR_OUT_OF_WINDOW)  # CUR-4: no such stream, or forgotten; MOD-2: nothing can be resumed
    mark = mark_of(session, stream)
    if session.mode is Mode.REPLAY:
        # The seq is not to be relied on, so only the whole stream surely holds what the client lacks (MOD-3).
        return Replay(stream.number, mark) if mark == stream.first else Refuse(Reason.CURSOR_OUT_OF_WINDOW)
    if cursor.seq > stream.last:
        return Refuse(Reason.CURSOR_AHEAD, stream.number, mark, stream.last)  # CUR-5
    if cursor.seq < mark:
        return Refuse(Reason.CURSOR_OUT_OF_WINDOW, stream.number, mark, stream.last)  # CUR-4
    if cursor.seq != mark and session.window.successor(stream.number, cursor.seq - 1).seq != cursor.seq:
        return Refuse(Reason.CURSOR_MISMATCH, stream.number, mark, stream.last)  # CUR-6
    return Reattach(stream.number, cursor.seq)  # CUR-7, CUR-8
