"""Whose a message is: which session, and which call, can have caused it."""

from attrs import frozen

from reattach.oracle.bearing import is_distinctive
from reattach.oracle.flat import AnyFrame
from reattach.oracle.message import (
    label_of_key,
    likeness,
)
from reattach.oracle.record import (
    Call,
    Event,
    Exchange,
    Run,
    Session,
    View,
)


@frozen
class _Owner:
    session: Session
    event: Event | None
    exchange: Exchange | None


def owner_of(run: Run, view: View, frame: AnyFrame, key: str | None, label: str | None) -> _Owner | None:
    """The other session that a message belongs to, if that is certain; and its event, if it was delivered there.

    ``key`` is None if it does not name the message.
    """
    session = view.stream.session
    if session.id is None:
        return None
    for event in run.issued_as(frame.id or ""):
        if (
            event.session is not session
            and event.message
            and event.likeness == likeness(frame.payload)
            and is_distinctive(event.id or "")
        ):
            return _Owner(event.session, event, event.exchange)
    if key is None:
        return None
    here = session.event_of(key)
    if here is not None and here.likeness == likeness(frame.payload):
        return _twin(run, view, key, frame, here)
    if label is not None and not session.is_claimed(label):
        calls = run.claims.get(label, ())
        others = {id(call.session): call for call in calls if call.session is not None}
        if len(others) == 1:
            (call,) = others.values()
            assert call.session is not None
            return _Owner(call.session, call.session.known(key), call.exchange)
    unasked = key.startswith("response:") and key[9:] not in session.calls and not session.forgotten_calls
    if unasked and session.opener is not None:
        asking = [other for other in run.asked_ids.get(key[9:], ()) if other is not session]
        if len(asking) == 1:
            return _response_of(asking[0], key, likeness(frame.payload))
    return None


def _twin(run: Run, view: View, key: str, frame: AnyFrame, here: Event) -> _Owner | None:
    """A message like one of this session, under another id: another session's, if that session's events came before."""
    others = [other for other in run.asked_ids.get(key[9:], ()) if other is not view.stream.session]
    owner = view.foreign_owner
    if owner is None or owner not in others or not frame.id or frame.id == here.id:
        return None
    call = owner.calls.get(key[9:])
    return _Owner(owner, owner.known(key), call.exchange if call is not None else None)


def _response_of(other: Session, key: str, content: bytes) -> _Owner | None:
    """A response to nothing that this session asked: the other's, if it got the same one, or still waits for one."""
    known, call = other.known(key), other.calls.get(key[9:])
    same = known is not None and known.likeness == content
    missing = call is not None and key[9:] in call.outstanding
    return _Owner(other, known, call.exchange if call is not None else None) if same or missing else None


def owner_call_of(session: Session, key: str, label: str | None) -> Call | None:
    """The call of this session that asked for a message's series, or that it answers, if exactly one did."""
    if key.startswith("response:"):
        return None if key[9:] in session.reused else session.calls.get(key[9:])
    return session.claimant(label) if label is not None else None


def is_asked_for(run: Run, session: Session, key: str) -> bool:
    """Whether a call of the session is known to cause a message."""
    calls = run.claims.get(label_of_key(key) or "", ())
    return any(key in (call.pushed or ()) for call in calls if call.session is session)


def enter_claim(run: Run, label: str, call: Call) -> None:
    """Note that a call may cause a series of messages."""
    call.labels.add(label)
    if call.session is not None and call.session.claims.setdefault(label, call) is not call:
        call.session.reused.add(label)
    claims = run.claims.setdefault(label, [])
    if call not in claims:
        claims.append(call)
        del claims[:-8]
