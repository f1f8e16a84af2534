"""Re-attach or replay: which of the two a deployment may offer at all (MOD-2, MOD-3).

Re-attachment hands out each event once and needs the server to know where a client stands. Where it cannot know, replay
is all there is, and then the client has to tell what it has seen before. This file decides by the deployment's own
description of itself; the decision on a single request is in ``decision``.
"""

from enum import Enum

from attrs import frozen


class Mode(Enum):
    """What a deployment's answer to a cursor may be."""

    REATTACH = "re-attach"
    REPLAY = "replay"
    REFUSE = "refuse"


@frozen
class Deployment:
    """What is true of a server and its clients. The defaults are those of the reference server."""

    window_bounded: bool = True
    ids_monotonic: bool = True
    """Event ids grow within the session and never restart at a reconnect (EVT-2)."""
    client_stateless: bool = False
    """The client keeps no session."""
    ids_unique: bool = True
    ids_stable: bool = True
    """An id, sent again, carries the same message (EVT-4)."""
    dedup_memory: int = 0
    """How far back, in seqs of the session, each client recognises an event of the stream that it has applied."""
    longest_replay: int = 0
    """How far back, in seqs of the session, a replay may begin; those of other streams in between count too."""
    tag_unguessable: bool = True
    """Nobody can make up another's cursor."""


def mode_of(deployment: Deployment) -> Mode:
    """Re-attach where it is sound; replay where it is not but dedup makes it safe; else refuse (MOD-2, MOD-3)."""
    if deployment.window_bounded and deployment.ids_monotonic and not deployment.client_stateless:
        return Mode.REATTACH
    if not (deployment.ids_unique and deployment.ids_stable):
        return Mode.REFUSE  # reused ids: dedup would drop what was never applied (MOD-4)
    if deployment.dedup_memory < deployment.longest_replay:
        return Mode.REFUSE  # too little memory: the oldest of the replay would be applied again (MOD-4)
    if deployment.client_stateless and not deployment.tag_unguessable:
        return Mode.REFUSE  # a cursor is then all that stands between two clients (MOD-3)
    return Mode.REPLAY
