"""Replay: correct only with dedup at the client, memory for the longest replay, and ids that name one event for ever.

A replay gives a client events that it has applied before. What then keeps each event applied once is the client alone:
``machine.client`` recognises what lies within its memory. The theorem says that this is enough as long as a replay
begins within that memory, and exactly what happens where it does not. The three counterexamples (no dedup, too little
memory, reused ids) are its witnesses: each must be possible. ``machine.modes`` offers replay only where none is.
"""

from collections.abc import Iterator

from reattach.machine.client import Client, ClientStream, Phase, receive
from reattach.machine.cursor import Cursor, Presence
from reattach.machine.modes import Deployment, Mode, mode_of
from reattach.machine.network import Delivered
from reattach.machine.session import StreamKind
from reattach_proofs import shapes
from reattach_proofs.obligations import Obligation, Outcome, stated
from reattach_proofs.promises import Claim, Theorem
from reattach_proofs.shapes import SUBJECT, TAG

REPLAY = Theorem(
    "replay-needs-dedup",
    ("MOD-3", "MOD-4"),
    "With dedup whose memory reaches as far back as a replay begins, and ids that name one event for ever, each event "
    "is applied once; without dedup, with too little memory and with reused ids there is a counterexample each, and "
    "replay is offered only where there is none.",
)

SIGHTS = (
    "a repeated event is recognised",
    "a new event is applied",
    "without dedup a repeated event is applied again",
    "with too little memory a repeated event is applied again",
    "with reused ids an event that is new is never applied",
    "a deployment re-attaches",
    "a deployment replays",
    "a deployment refuses",
)
"""Its interesting cases, the three counterexamples among them."""

_CONNECTION, _HANDLE = 12, 1


def obligations() -> Iterator[Obligation]:
    """One event that is read, one id that is read twice, and the choice of a mode."""
    yield Obligation("replay | an event is read", _read)
    yield Obligation("replay | an id is read twice", _read_twice)
    yield Obligation("replay | a mode is chosen", _choose)


def _client() -> tuple[Client, ClientStream]:
    """A client with an arbitrary cursor and an arbitrary memory."""
    cursor = Cursor(Presence.PRESENT, TAG, SUBJECT, shapes.number("cursor.seq"))
    stream = ClientStream(_HANDLE, StreamKind.REQUEST, _CONNECTION, cursor, shapes.number("attempts"))
    client = Client(
        attempts_limit=shapes.number("attempts.limit"),
        memory=shapes.natural("memory"),
        phase=Phase.CONNECTED,
        session=TAG,
        streams=(stream,),
        handles=_HANDLE,
    )
    return client, stream


def _event(seq: int) -> Delivered:
    return Delivered(Cursor(Presence.PRESENT, TAG, SUBJECT, seq), shapes.truth("final"))


def _read() -> Outcome:
    client, stream = _client()
    seq = shapes.number("given.seq")
    received = receive(client, _CONNECTION, _event(seq))
    applied, position = received.applied, stream.cursor.seq
    claims = (
        Claim(
            REPLAY.name,
            "what is within memory is not applied again",
            lambda: not applied or seq > position or seq <= position - client.memory,
        ),
        Claim(REPLAY.name, "what is new is applied", lambda: applied or seq <= position),
        Claim(REPLAY.name, "what is recognised changes nothing", lambda: applied or received.client is client),
        Claim(REPLAY.name, "the cursor is what was applied", lambda: not applied or _stands_at(received.client, seq)),
    )
    sights = (
        Claim(REPLAY.name, SIGHTS[0], lambda: seq <= position and not applied),
        Claim(REPLAY.name, SIGHTS[1], lambda: seq > position and applied),
        Claim(REPLAY.name, SIGHTS[2], lambda: client.memory == 0 and seq <= position and applied),
        Claim(REPLAY.name, SIGHTS[3], lambda: client.memory > 0 and seq <= position and applied),
    )
    return Outcome(stated(iter(claims)), (received,), sights=stated(iter(sights)))


def _stands_at(client: Client, seq: int) -> bool:
    """The stream is over, or its cursor is this event."""
    return all(stream.cursor.seq == seq for stream in client.streams)


def _read_twice() -> Outcome:
    """An id that names one event for ever is applied once, however often it comes; a reused one hides an event."""
    client, stream = _client()
    shapes.assume(client.memory >= 1)
    seq = shapes.number("given.seq")
    shapes.assume(seq > stream.cursor.seq)
    once = receive(client, _CONNECTION, _event(seq))
    twice = receive(once.client, _CONNECTION, _event(seq))
    claims = (
        Claim(REPLAY.name, "an id is applied the first time", lambda: once.applied),
        Claim(REPLAY.name, "an id is applied once", lambda: not twice.applied),
    )
    hidden = Claim(REPLAY.name, SIGHTS[4], lambda: len(once.client.streams) == 1 and not twice.applied)
    return Outcome(stated(iter(claims)), (once, twice), sights=stated(iter((hidden,))))


def _choose() -> Outcome:
    deployment = Deployment(
        window_bounded=shapes.truth("bounded"),
        ids_monotonic=shapes.truth("monotonic"),
        client_stateless=shapes.truth("stateless"),
        ids_unique=shapes.truth("unique"),
        ids_stable=shapes.truth("stable"),
        dedup_memory=shapes.natural("memory"),
        longest_replay=shapes.natural("longest"),
        tag_unguessable=shapes.truth("unguessable"),
    )
    mode = mode_of(deployment)
    claims = (
        Claim(
            REPLAY.name,
            "re-attachment is offered where it is sound",
            lambda: (mode is Mode.REATTACH) == _is_sound(deployment),
        ),
        Claim(
            REPLAY.name,
            "replay is offered only where dedup makes it safe",
            lambda: mode is not Mode.REPLAY or (not _is_sound(deployment) and _is_safe(deployment)),
        ),
        Claim(
            REPLAY.name,
            "refusal is left where neither is",
            lambda: mode is not Mode.REFUSE or not (_is_sound(deployment) or _is_safe(deployment)),
        ),
    )
    names = {Mode.REATTACH: SIGHTS[5], Mode.REPLAY: SIGHTS[6], Mode.REFUSE: SIGHTS[7]}
    sight = Claim(REPLAY.name, names[mode], lambda: True)
    return Outcome(stated(iter(claims)), (), sights=stated(iter((sight,))))


def _is_sound(deployment: Deployment) -> bool:
    """The seed's conditions for re-attachment (MOD-2)."""
    return bool(deployment.window_bounded and deployment.ids_monotonic and not deployment.client_stateless)


def _is_safe(deployment: Deployment) -> bool:
    """Each of the three counterexamples is excluded, and a bearer's cursor cannot be guessed (MOD-3)."""
    return bool(
        deployment.ids_unique
        and deployment.ids_stable
        and deployment.longest_replay <= deployment.dedup_memory
        and (deployment.tag_unguessable or not deployment.client_stateless)
    )
