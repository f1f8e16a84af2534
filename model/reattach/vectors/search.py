"""Shortest histories: for each thing that a step may do, the first one found in which a step does it."""

from collections.abc import Callable

from attrs import evolve, frozen

from reattach.machine.cursor import ABSENT, MALFORMED, Cursor, Presence
from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.session import (
    Session,
    absence_deadline,
    age_deadline,
    is_behind,
    is_viewed,
    stall_deadline,
)
from reattach.machine.step_invariants import Happened
from reattach.machine.transition import Emit, Input, OpenStream, Resume, Tick, open_session, step
from reattach.vectors.plain import FOREIGN_TAG, TAG

LONGEST = 9
"""Inputs of a history; what is not reached by then is not in the scene. Time alone would have no end."""

RESUMING = 2
"""The connection on which the cursors are tried."""


@frozen
class Given:
    """An input and when it is given, in milliseconds."""

    at: int
    given: Input


@frozen
class Target:
    """A thing that a step may do."""

    name: str
    clauses: tuple[str, ...]
    reached: Callable[[Happened], bool]


@frozen
class Scene:
    """Where a target is looked for: as few inputs as it takes."""

    policy: Policy
    inputs: tuple[Input, ...]
    targets: tuple[Target, ...]
    cursors: bool = False
    """Whether every cursor of every stream is an input too, one of a foreign tag, one that is malformed, and none."""
    time: bool = False
    """Whether time may go on: to each deadline, to one before it, and far."""
    events: int = 4
    streams: int = 3
    mode: Mode = Mode.REATTACH


def shortest(scene: Scene) -> dict[Target, tuple[Given, ...]]:
    """A history for each target, whose last step reaches it; breadth first, so that none is shorter.

    Raises LookupError if there is none for a target.
    """
    session = open_session(TAG, "", 0, scene.mode)
    found: dict[Target, tuple[Given, ...]] = {}
    seen = {session}
    layer: list[tuple[Session, tuple[Given, ...]]] = [(session, ())]
    while len(found) < len(scene.targets):
        if not layer or len(layer[0][1]) == LONGEST:
            raise LookupError([target.name for target in scene.targets if target not in found])
        deeper = []
        for before, history in layer:
            for each in _next(scene, before):
                happened = Happened(
                    scene.policy, before, each.at, each.given, step(scene.policy, before, each.at, each.given)
                )
                for target in scene.targets:
                    if target not in found and target.reached(happened):
                        found[target] = (*history, each)
                if happened.after not in seen:
                    seen.add(happened.after)
                    deeper.append((happened.after, (*history, each)))
        layer = deeper
    return found


def _next(scene: Scene, session: Session) -> list[Given]:
    at = session.now
    inputs = [Given(at, _numbered(session, given)) for given in scene.inputs if _has_room(scene, session, given)]
    if scene.cursors:
        inputs += [Given(at, Resume(RESUMING, cursor)) for cursor in _cursors(session)]
    if scene.time:
        inputs += [Given(moment, Tick()) for moment in _moments(scene.policy, session)]
    return inputs


def _has_room(scene: Scene, session: Session, given: Input) -> bool:
    if isinstance(given, Emit):
        return session.window.count < scene.events
    return not isinstance(given, OpenStream) or session.opened < scene.streams


def _numbered(session: Session, given: Input) -> Input:
    """An emission with a message that names it: the messages of a session are counted."""
    return evolve(given, message=f"message {session.window.count + 1}") if isinstance(given, Emit) else given


def _cursors(session: Session) -> list[Cursor]:
    numbers = range(1, session.opened + 2)
    seqs = range(1, session.window.next + 1)
    known = [Cursor(Presence.PRESENT, session.tag, number, seq) for number in numbers for seq in seqs]
    return [ABSENT, MALFORMED, Cursor(Presence.PRESENT, FOREIGN_TAG, 1, 1), *known]


def _moments(policy: Policy, session: Session) -> list[int]:
    deadlines = [age_deadline(policy, session.window.held[0].at)] if session.window.held else []
    for stream in session.streams:
        if is_viewed(stream):
            deadlines.append(stream.view.wrote + policy.heartbeat_ms)
            if is_behind(stream):
                deadlines.append(stall_deadline(policy, stream))
    deadlines.append(absence_deadline(policy, session))
    near = {moment for deadline in deadlines for moment in (deadline - 1, deadline, deadline + policy.absence_ms + 1)}
    return sorted(moment for moment in near if moment > session.now)
