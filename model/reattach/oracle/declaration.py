"""What a server says of itself: its numbers, as far as they are declared.

What is declared the server is held to, and only then can WIN, IDL and most of CUR-7 be observed. What is not declared
is None, and never guessed.
"""

from attrs import asdict, fields, frozen

from reattach.machine.policy import Policy


@frozen(kw_only=True)
class Declaration:
    """The fields of ``Policy`` under their own names, units and meaning, and what else a server may declare."""

    window_events: int | None = None
    window_ms: int | None = None
    window_bytes: int | None = None
    stall_ms: int | None = None
    stall_reads: int | None = None
    absence_ms: int | None = None
    open_streams: int | None = None
    sessions: int | None = None
    heartbeat_ms: int | None = None
    retry_ms: int | None = None
    refusal_status: int | None = None

    takeover: bool | None = None
    """Whether a resumption takes over from a view that is still open (ATT-3)."""
    transport_buffer_bytes: int | None = None
    """The most bytes that lie between server and client once both have stopped: the kernel's send and receive buffers,
    and what middleboxes hold. More than that, delivered late, was queued somewhere else (IDL-2)."""


NOTHING_DECLARED = Declaration()


def declaration_of(
    policy: Policy, *, takeover: bool | None = None, transport_buffer_bytes: int | None = None
) -> Declaration:
    """The declaration of a server that runs by ``policy``."""
    return Declaration(**asdict(policy), takeover=takeover, transport_buffer_bytes=transport_buffer_bytes)


def declared(declaration: Declaration) -> tuple[str, ...]:
    """The names of what is declared, for the notes of a report."""
    return tuple(f.name for f in fields(Declaration) if getattr(declaration, f.name) is not None)
