"""A history: what a campaign does to a server, as plain data.

A history is a list of steps of a client and of the network: calls, cuts, resumptions, listeners, pushes, pauses and
deletions. It names calls by their number and cursors by how many ids back they lie, never by what a server sent, so
that the same history can be run on any server, again, and with steps left out. A step that finds nothing to act on does
nothing.
"""

from typing import Literal, TypeAlias

from attrs import frozen
from cattrs.errors import BaseValidationError
from cattrs.strategies import configure_tagged_union

from reattach.io.trace import first_reason, strict_converter
from reattach.live.experiments.registry import ParameterError, Parameters
from reattach.oracle.observation import Json


@frozen
class Cut:
    """Where a view is cut: after ``events`` frames, and ``inside`` bytes into what follows."""

    events: int
    inside: int = 0
    how: Literal["reset", "close"] = "reset"


@frozen
class Call:
    """A call whose tool sends ``count`` messages, ``interval_ms`` milliseconds apart, and then the response."""

    session: int = 0
    count: int = 1
    interval_ms: int = 0
    cut: Cut | None = None


@frozen
class Read:
    """Wait until the newest view of a call has had ``events`` frames, or has ended."""

    call: int
    events: int


@frozen
class CutNow:
    """Cut the newest view of a call."""

    call: int


@frozen
class Resume:
    """Resume a call's stream from the id that lies ``back`` ids before the newest one that was read.

    If its newest view is open, that is a takeover. From an earlier id the view is only looked at; the call is still
    followed from where it was.
    """

    call: int
    back: int = 0
    cut: Cut | None = None


@frozen
class ResumeElsewhere:
    """Present a call's newest id under another session."""

    call: int
    session: int


@frozen
class Misuse:
    """Resume with a bad cursor: one of those that ``forged.misused`` makes from the ids of a call and of another."""

    call: int
    which: int


@frozen
class Listen:
    """A GET without a cursor, or with one of those that an earlier listener of the session was given."""

    session: int = 0
    back: int | None = None


@frozen
class CutListener:
    """Cut the newest listener of a session."""

    session: int = 0


@frozen
class Push:
    """Make the server send ``count`` messages on the standalone stream."""

    session: int = 0
    count: int = 1


@frozen
class Pause:
    """Stop reading the newest view of a call."""

    call: int


@frozen
class Unpause:
    """Read it again."""

    call: int


@frozen
class Wait:
    """Do nothing for so many milliseconds."""

    ms: int


@frozen
class Delete:
    """Terminate a session."""

    session: int = 0


OfCall: TypeAlias = Read | CutNow | Resume | ResumeElsewhere | Misuse | Pause | Unpause
Step: TypeAlias = OfCall | Call | Listen | CutListener | Push | Wait | Delete


@frozen
class History:
    """Steps, in order."""

    steps: tuple[Step, ...] = ()

    def parameters(self) -> Parameters:
        """The history as the parameters of its experiment, plain JSON."""
        steps: Json = _CONVERTER.unstructure(self.steps, unstructure_as=tuple[Step, ...])
        return {"steps": steps}


_CONVERTER = strict_converter()
configure_tagged_union(Step, _CONVERTER, tag_name="do", tag_generator=lambda kind: kind.__name__)


def read_history(parameters: Parameters) -> History:
    """The history that parameters hold. Raises ParameterError."""
    steps = parameters.get("steps")
    if not isinstance(steps, list):
        raise ParameterError("parameter steps: a list is needed")
    try:
        return History(_CONVERTER.structure(steps, tuple[Step, ...]))
    except BaseValidationError as error:
        raise ParameterError(f"parameter steps: {first_reason(error)}") from None
    except (KeyError, TypeError) as error:
        raise ParameterError(f"parameter steps: no step {error}") from None
