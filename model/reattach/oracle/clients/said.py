"""What a client program said on its standard output (docs/clients.md): the only thing that shows what it applied."""

from collections.abc import Mapping

from attrs import define, field

from reattach.oracle.message import message_key, notification_of
from reattach.oracle.observation import Json, Printed
from reattach.oracle.record import Seen


@define
class Said:
    """The lines of one run, by what they are."""

    applied: dict[str, list[Seen]] = field(factory=dict)
    """Messages, by their key (``message_key``)."""
    results: dict[str, list[Seen]] = field(factory=dict)
    """Results, by the label of their call."""
    errors: dict[str, list[Seen]] = field(factory=dict)
    """Errors, by the label of their call; those that name none are of every call, under the empty text."""
    events: dict[str, list[Seen]] = field(factory=dict)
    """Whatever else the application was told."""
    tells: frozenset[str] = frozenset()
    """The events that the program prints whenever its application is told of them; it says so itself."""
    others: int = 0
    """Lines that are none of the contract."""

    def take(self, seen: Seen, printed: Printed) -> None:
        """Enter a line."""
        said = printed.payload
        if not isinstance(said, Mapping):
            self.others += 1
            return
        label = said.get("call")
        label = label if isinstance(label, str) else ""
        if "applied" in said:
            self.applied.setdefault(message_key(notification_of(said["applied"])), []).append(seen)
        elif "result" in said:
            self.results.setdefault(label, []).append(seen)
        elif "error" in said:
            self.errors.setdefault(label, []).append(seen)
        elif isinstance(said.get("event"), str):
            self.events.setdefault(str(said["event"]), []).append(seen)
        elif "tells" in said:
            self.tells = _names(said["tells"])
        else:
            self.others += 1

    @property
    def speaks(self) -> bool:
        """Whether the program follows the contract as far as calls go."""
        return bool(self.applied or self.results or self.errors)

    def answer(self, label: str) -> Seen | None:
        """The line with the result of a call."""
        return next(iter(self.results.get(label, ())), None)

    def failure(self, label: str) -> Seen | None:
        """The line that says that a call has failed, or that everything has."""
        return next(iter((*self.errors.get(label, ()), *self.errors.get("", ()))), None)


def _names(value: Json) -> frozenset[str]:
    return (
        frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list | tuple) else frozenset()
    )
