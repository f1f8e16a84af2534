"""Vectors of the decision: a server's state and one request in, a decision out (spec/04-cursors.md)."""

from collections.abc import Iterator

from attrs import evolve, frozen

from reattach.machine.cursor import MAX_INTEGER, format_event_id, parse_cursor
from reattach.machine.decision import Admitted, Credential, Decision, Reason, Reattach, Refuse, Replay, admit
from reattach.machine.modes import Deployment, Mode, mode_of
from reattach.machine.policy import Policy
from reattach.machine.server import Server, decide
from reattach.machine.session import Session, Stream, StreamKind, find_stream, mark_of
from reattach.machine.transition import Disconnect, Emit, Finish, Input, OpenStream, Tick, open_session, step
from reattach.machine.window import Entry, Window
from reattach.vectors.plain import FOREIGN_TAG, TAG, refusal_to_plain
from reattach.vectors.vector import EXPECT, Case, Kind, Plain

ABOUT = """\
# Vectors of the decision

The answer to a request for a view, all steps from 0 to 10 of [chapter 4](../../04-cursors.md), with the modes of
[chapter 8](../../08-modes.md).

| field | meaning |
|---|---|
| `refusal_status` | the status that the policy has for the cursors that are refused at steps 5 to 9 |
| `deployment.mode` | `re-attach`, `replay` or `refuse`: what the deployment may offer (chapter 8) |
| `deployment.stateless` | its clients keep no session: in mode `replay` a cursor's tag can stand for the session id |
| `sessions` | the living sessions, by id, at the moment of the request: time has been applied |
| `….principal` | who opened it; empty without authentication |
| `….streams` | those not forgotten; `first` is the seq of the birth, `last` that of the newest event, or `first` |
| `….held` | the window, oldest first: each event's seq, its stream, and the seq before it on its stream |
| `request.origin_allowed`, `.version_supported` | what the edge found |
| `request.credential` | `not-required`, `good`, `missing` (or not valid) or `forbidden` (not allowed here) |
| `request.session` | the session id; null without the header |
| `request.principal` | who asks |
| `request.last_event_id` | the headers, as in the vectors of the cursor parser |
| `expect.decision` | `fresh`, `re-attach`, `replay` or `refuse` |
| `expect.status` | the HTTP status |
| `expect.stream`, `expect.position` | of a view that is granted: what it starts strictly after |
| `expect.reason` | of a refusal |
| `expect.held` | of a refusal: from where to where the stream can be resumed; only where the cursor reached step 7 |

In the mode `replay` steps 7 to 9 make way for one question: is everything of the stream, from its birth on, still held?
Then it is replayed from its birth; else the cursor is out of window. In the mode `refuse` every stream is as if
forgotten.
"""

NAME, PRINCIPAL, OTHERS = "session-1", "alice", ("aaron", "mallory")
LATER_TAG = "yet-another-session-tag"
"""Of another session too, and after this session's in the alphabet."""
_AGED = Policy().window_ms + 1
NEVER_OPENED = 9
"""The number of a stream that no session here has."""

_DEPLOYMENTS = {
    (Mode.REATTACH, False): Deployment(),
    (Mode.REPLAY, False): Deployment(ids_monotonic=False),
    (Mode.REPLAY, True): Deployment(client_stateless=True),
    (Mode.REFUSE, False): Deployment(ids_monotonic=False, ids_unique=False),
    (Mode.REFUSE, True): Deployment(client_stateless=True, ids_unique=False),
}
"""A deployment of each mode, with clients that keep a session and without."""

CLAUSES = {
    Reason.SESSION_MISSING: "SES-3",
    Reason.SESSION_UNKNOWN: "SES-2",
    Reason.CURSOR_MALFORMED: "CUR-2",
    Reason.CURSOR_FOREIGN: "CUR-3",
    Reason.CURSOR_OUT_OF_WINDOW: "CUR-4",
    Reason.CURSOR_AHEAD: "CUR-5",
    Reason.CURSOR_MISMATCH: "CUR-6",
}
"""The clause that each reason follows from."""


@frozen
class State:
    """A session that came about by a history."""

    name: str
    told: str
    session: Session
    streams: tuple[int, ...]
    """Those whose cursors are asked about."""


def _after(*inputs: Input, events: int = 2, wait_ms: int = 0, mode: Mode = Mode.REATTACH) -> Session:
    policy = Policy(window_events=events, absence_ms=2 * _AGED)
    session = open_session(TAG, PRINCIPAL, 0, mode)
    for given in inputs:
        session = step(policy, session, 0, given).session
    return step(policy, session, wait_ms, Tick()).session


def _emits(*streams: int) -> tuple[Emit, ...]:
    return tuple(Emit(stream, 1, None) for stream in streams)


_CALL: tuple[Input, ...] = (OpenStream(1), Disconnect(1))


def _states(mode: Mode = Mode.REATTACH) -> tuple[State, ...]:
    gone: tuple[Input, ...] = (*_CALL, *_emits(2, 2), Finish(2), *_CALL, *_emits(1, 1))
    return (
        State("new", "a session in which nothing happened", _after(mode=mode), (1,)),
        State("one-event", "a session with one event, held", _after(*_emits(1), mode=mode), (1,)),
        State(
            "nothing-held",
            "a session whose two events are too old",
            _after(*_emits(1, 1), wait_ms=_AGED, mode=mode),
            (1,),
        ),
        State("evicted", "a session of four events with a window of two", _after(*_emits(1, 1, 1, 1), mode=mode), (1,)),
        State(
            "finished",
            "a session with a finished call, of which one event is held",
            _after(*_CALL, *_emits(2, 2), Finish(2), *_emits(1), mode=mode),
            (2,),
        ),
        State(
            "forgotten",
            "a session with a finished call that is forgotten, and a later one",
            _after(*gone, mode=mode),
            (2,),
        ),
        State(
            "pushed-out",
            "a session with an unfinished call, whose events another stream has pushed out",
            _after(*_CALL, *_emits(2, 2, 1, 1), mode=mode),
            (1, 2),
        ),
        State(
            "interleaved",
            "two streams that take turns in a window of seven events",
            _after(*_CALL, *_emits(2, 1, 2, 1, 1, 2, 1, 1, 2, 1), events=7, mode=mode),
            (1, 2),
        ),
    )


def cases() -> tuple[Case, ...]:
    """Every step of the decision, each cursor at a boundary of every state, and every mode."""
    return (*_boundaries(), *_wrongs(), *_texts(), *_modes(), *_statuses())


def answered(question: Plain) -> Plain:
    """What the machine decides."""
    policy = Policy(refusal_status=question["refusal_status"])
    deployment = _DEPLOYMENTS[Mode(question["deployment"]["mode"]), question["deployment"]["stateless"]]
    request = question["request"]
    sessions = {name: _session_from(plain, mode_of(deployment)) for name, plain in question["sessions"].items()}
    cursor = parse_cursor(tuple(request["last_event_id"]))
    decision: Admitted | Decision = admit(
        request["origin_allowed"], Credential(request["credential"]), request["version_supported"]
    )
    if isinstance(decision, Admitted):
        server = Server(policy, deployment, sessions)
        decision = decide(server, 0, request["session"] or "", request["principal"], cursor)
    return {**question, EXPECT: _to_plain(policy, decision)}


def _to_plain(policy: Policy, decision: Decision) -> Plain:
    match decision:
        case Refuse():
            return {"decision": "refuse", **refusal_to_plain(policy, decision)}
        case Reattach(stream, position):
            return {"decision": "re-attach", "status": 200, "stream": stream, "position": position}
        case Replay(stream, position):
            return {"decision": "replay", "status": 200, "stream": stream, "position": position}
    return {"decision": "fresh", "status": 200}


def _session_to_plain(session: Session) -> Plain:
    return {
        "tag": session.tag,
        "principal": session.principal,
        "streams": [{"number": each.number, "first": each.first, "last": each.last} for each in session.streams],
        "held": [{"seq": each.seq, "stream": each.stream, "prev": each.prev} for each in session.window.held],
    }


def _session_from(plain: Plain, mode: Mode) -> Session:
    """A session of which the decision sees nothing else: views, sizes and times are left out."""
    held = tuple(
        Entry(each["seq"], each["stream"], each["prev"], at=0, count=place, start=0, size=0, message=None)
        for place, each in enumerate(plain["held"], 1)
    )
    streams = tuple(
        Stream(each["number"], StreamKind.REQUEST, each["first"], each["last"], finished=False)
        for each in plain["streams"]
    )
    after = max(each.last for each in streams) + 1
    window = Window(held, held[0].seq if held else after, after, count=len(held))
    opened = open_session(plain["tag"], plain["principal"], 0, mode)
    return evolve(opened, window=window, streams=streams, opened=len(streams))


def _question(
    session: Session,
    headers: tuple[str, ...],
    stateless: bool = False,
    status: int = 409,
    named: str | None = NAME,
    principal: str = PRINCIPAL,
) -> Plain:
    request = {
        "origin_allowed": True,
        "credential": Credential.GOOD.value,
        "version_supported": True,
        "session": named,
        "principal": principal,
        "last_event_id": list(headers),
    }
    return {
        "refusal_status": status,
        "deployment": {"mode": session.mode.value, "stateless": stateless},
        "sessions": {NAME: _session_to_plain(session)},
        "request": request,
    }


def _case(name: str, told: str, question: Plain) -> Case:
    """A case whose clauses and last words come from the machine's own answer."""
    expected = answered(question)[EXPECT]
    match expected["decision"]:
        case "refuse":
            reason = Reason(expected["reason"])
            clauses: tuple[str, ...] = (CLAUSES[reason],) if reason in CLAUSES else ()
        case "re-attach":
            clauses = ("CUR-7", "CUR-8")
        case "replay":
            clauses = ("MOD-3",)
        case _:
            clauses = ("CUR-1",)
    answer = expected.get("reason", expected["decision"])
    return Case(name, f"{told[0].upper()}{told[1:]}: {answer}.", clauses, question)


def _cursor(stream: int, seq: int, tag: str = TAG) -> tuple[str, ...]:
    return (format_event_id(tag, stream, seq),)


def _boundaries() -> Iterator[Case]:
    """In every state: no cursor, and of each stream the cursors at each boundary, one below it and one above it."""
    for state in _states():
        yield _case(f"{state.name}-no-cursor", f"{state.told}; no cursor", _question(state.session, ()))
        for number in state.streams:
            for seq in _seqs(state.session, find_stream(state.session, number)):
                where = _where(state.session, find_stream(state.session, number), seq)
                yield _case(
                    f"{state.name}-stream-{number}-seq-{seq}-{where}".replace(" ", "-"),
                    f"{state.told}; seq {seq} of stream {number}, {where}",
                    _question(state.session, _cursor(number, seq)),
                )
        number = NEVER_OPENED
        yield _case(
            f"{state.name}-stream-never-opened",
            f"{state.told}; a stream that was never opened",
            _question(state.session, _cursor(number, 1)),
        )


def _seqs(session: Session, stream: Stream) -> tuple[int, ...]:
    if stream.number == 0:
        return (2, 3, 4, 5, MAX_INTEGER)  # forgotten: what it was no longer matters
    mark, last = mark_of(session, stream), stream.last
    held = [entry.seq for entry in session.window.held if entry.stream == stream.number]
    asked = {stream.first, mark - 1, mark, mark + 1, *held, last - 1, last, last + 1, MAX_INTEGER}
    return tuple(sorted(seq for seq in asked if seq >= 1))


def _where(session: Session, stream: Stream, seq: int) -> str:
    mark, last = mark_of(session, stream), stream.last
    if stream.number == 0:
        return "forgotten"
    if seq == MAX_INTEGER:
        return "the greatest"
    if seq > last:
        return f"{seq - last} above the last"
    if seq < mark:
        return f"{mark - seq} below the mark"
    if seq == mark:
        return "the mark and the last" if mark == last else "the mark"
    if seq == last:
        return "the last"
    held = any(entry.seq == seq and entry.stream == stream.number for entry in session.window.held)
    return "held" if held else "of another stream"


_WRONGS: dict[str, dict[str, object]] = {
    "origin-forbidden": {"origin_allowed": False},
    "credential-missing": {"credential": Credential.MISSING.value},
    "credential-forbidden": {"credential": Credential.FORBIDDEN.value},
    "version-unsupported": {"version_supported": False},
    "session-missing": {"session": None},
    "session-never-issued": {"session": "session-2"},
    "another-principal": {"principal": OTHERS[0]},
    "cursor-repeated": {"last_event_id": [*_cursor(NEVER_OPENED, 1, FOREIGN_TAG), *_cursor(1, 1)]},
    "cursor-empty": {"last_event_id": [""]},
    "cursor-malformed": {"last_event_id": ["1"]},
    "cursor-foreign": {"last_event_id": list(_cursor(NEVER_OPENED, MAX_INTEGER, FOREIGN_TAG))},
    "stream-never-opened": {"last_event_id": list(_cursor(NEVER_OPENED, MAX_INTEGER))},
    "cursor-ahead": {"last_event_id": list(_cursor(1, MAX_INTEGER))},
}
"""What may be wrong with a request, in the order of the questions."""


def _wrongs() -> Iterator[Case]:
    """Each of them alone, and each with everything that comes after it: the first that applies decides."""
    good = _question(_after(*_emits(1, 1, 1)), _cursor(1, 4))
    yield _case("good", "nothing is wrong with the request", good)
    open_to_all = {**good, "request": good["request"] | {"credential": Credential.NOT_REQUIRED.value}}
    yield _case("credential-not-required", "no credentials are required", open_to_all)
    names = list(_WRONGS)
    for place, name in enumerate(names):
        words = name.replace("-", " ")
        alone = {**good, "request": good["request"] | _WRONGS[name]}
        yield _case(f"only-{name}", f"one thing is wrong with the request, {words}", alone)
        request = good["request"]
        for other in reversed(names[place:]):
            request = request | _WRONGS[other]
        if request != alone["request"]:
            told = f"{words} and all that is asked later are wrong with the request"
            yield _case(f"{name}-before-all-later", told, {**good, "request": request})


def _texts() -> Iterator[Case]:
    """Tags and principals are equal or not; which comes first in the alphabet says nothing."""
    session = _after(*_emits(1))
    tags = {
        "earlier-in-the-alphabet": FOREIGN_TAG,
        "later-in-the-alphabet": LATER_TAG,
        "in-capitals": TAG.upper(),
        "one-longer": f"{TAG}0",
        "with-another-end": f"{TAG[:-1]}0",
    }
    for name, tag in tags.items():
        told = f"a tag that is not the session's, {name.replace('-', ' ')}"
        yield _case(f"tag-{name}", told, _question(session, _cursor(1, 1, tag)))
    principals = {
        "earlier-in-the-alphabet": OTHERS[0],
        "later-in-the-alphabet": OTHERS[1],
        "in-capitals": PRINCIPAL.upper(),
        "without-a-name": "",
    }
    for name, principal in principals.items():
        told = f"a principal that is not the session's, {name.replace('-', ' ')}"
        yield _case(f"principal-{name}", told, _question(session, _cursor(1, 1), principal=principal))


def _modes() -> Iterator[Case]:
    """Replay and refusal: the same cursors in every state, with clients that keep a session and that do not."""
    for mode, stateless in _DEPLOYMENTS:
        kind = f"{mode.value}{'-stateless' if stateless else ''}"
        if mode is not Mode.REATTACH:
            for state in _states(mode):
                number = state.streams[-1]
                stream = find_stream(state.session, number)
                for seq in (1,) if stream.number == 0 else (stream.first, stream.last + 1):
                    yield _case(
                        f"{kind}-{state.name}-seq-{seq}",
                        f"{state.told}, in a deployment of mode {kind}; seq {seq} of stream {number}",
                        _question(state.session, _cursor(number, seq), stateless),
                    )
        one = _after(*_emits(1), mode=mode)
        for name, headers in {
            "no-cursor": (),
            "malformed": ("",),
            "foreign": _cursor(1, 1, FOREIGN_TAG),
            "foreign-later": _cursor(1, 1, LATER_TAG),
            "good": _cursor(1, 1),
        }.items():
            yield _case(
                f"{kind}-no-session-id-{name}",
                f"no session id in a deployment of mode {kind}; cursor: {name.replace('-', ' ')}",
                _question(one, headers, stateless, named=None),
            )
            if mode is not Mode.REATTACH and name != "good":
                yield _case(
                    f"{kind}-{name}",
                    f"a deployment of mode {kind}; cursor: {name.replace('-', ' ')}",
                    _question(one, headers, stateless),
                )
        yield _case(
            f"{kind}-no-session-id-another-principal",
            f"no session id in a deployment of mode {kind}; a cursor of another principal's session",
            _question(one, _cursor(1, 1), stateless, named=None, principal=OTHERS[0]),
        )


def _statuses() -> Iterator[Case]:
    """A policy that answers 404: to the cursors that cannot be honoured, and to nothing else."""
    session = _after(*_CALL, *_emits(2, 1, 1, 2))
    for name, headers in {
        "malformed": ("",),
        "foreign": _cursor(1, 1, FOREIGN_TAG),
        "out-of-window": _cursor(2, 2),
        "ahead": _cursor(2, 7),
        "mismatch": _cursor(1, 5),
        "good": _cursor(2, 6),
        "absent": (),
    }.items():
        question = _question(session, headers, status=404)
        yield _case(f"status-404-{name}", f"a policy that refuses with 404; cursor: {name.replace('-', ' ')}", question)


DECISION = Kind("decision", ABOUT, cases, answered)
