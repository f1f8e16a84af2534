"""What the machine says, as the bytes of an event stream (spec/12-wire.md). The only place that spells them."""

from attrs import frozen

from reattach.live.server.jsonrpc import encode, notification
from reattach.machine.cursor import format_event_id
from reattach.machine.revision import TRAITS, Revision
from reattach.machine.session import Greeting
from reattach.machine.transition import WriteEvent, WriteGreeting, WriteHeartbeat, WriteOvertaken

HEARTBEAT = b": heartbeat\n\n"


@frozen
class Forms:
    """How one session's events look: by its tag, its revision and what its client declared."""

    tag: str
    revision: Revision
    reattaches: bool
    """The client declared ``capabilities.experimental.reattach``."""
    retry_ms: int

    def block(self, write: WriteGreeting | WriteEvent | WriteHeartbeat | WriteOvertaken) -> bytes:
        """The block to write; empty where the revision has no form for it."""
        match write:
            case WriteEvent(stream, seq, bytes() as message):
                return self._id(stream, seq) + b"data: " + message + b"\n\n"
            case WriteGreeting(Greeting.POSITION, stream, seq):
                return self._position(stream, seq)
            case WriteGreeting(_, stream, seq) if TRAITS[self.revision].priming:
                return self._id(stream, seq) + self._retry() + b"data:\n\n"  # EVT-3
            case WriteHeartbeat():
                return HEARTBEAT
            case WriteOvertaken(stream, position):
                return self.resumption_required(stream, position, "overtaken")  # IDL-3
            case _:
                return b""  # older clients read priming's empty data as JSON, and fail

    def resumption_required(self, stream: int, position: int, reason: str) -> bytes:
        """The last words to a view whose stream goes on; in 2025-11-25 with ``retry`` before the close (IDL-5)."""
        cursor = format_event_id(self.tag, stream, position)
        retry = self._retry() + b"\n" if self._retry() else b""
        if self.reattaches:
            said = notification(
                "notifications/resumption_required", {"stream": stream, "cursor": cursor, "reason": reason}
            )
            return retry + b"data: " + encode(said) + b"\n\n"
        return retry + f": resumption-required {cursor} {reason}\n\n".encode("ascii")

    def _position(self, stream: int, seq: int) -> bytes:
        """ "You are attached at position P" (ATT-1), under the client's own cursor, which moves nothing (EVT-6)."""
        cursor = format_event_id(self.tag, stream, seq)
        if self.reattaches:
            said = notification("notifications/resumed", {"stream": stream, "position": seq, "cursor": cursor})
            return self._id(stream, seq) + self._retry() + b"data: " + encode(said) + b"\n\n"
        comment = f": resumed {cursor}\n".encode("ascii")
        if TRAITS[self.revision].priming:
            return comment + self._id(stream, seq) + self._retry() + b"data:\n\n"
        return comment + b"\n"

    def _id(self, stream: int, seq: int) -> bytes:
        return f"id: {format_event_id(self.tag, stream, seq)}\n".encode("ascii")

    def _retry(self) -> bytes:
        return f"retry: {self.retry_ms}\n".encode("ascii") if TRAITS[self.revision].priming else b""
