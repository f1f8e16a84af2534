"""A frame of a recording, flat: what the oracle is told ten million times, and keeps for as long as it may need it.

It says the same as a ``Frame`` (which see), costs less to make, and lets go of its message once it has been judged:
what stays is its line as text, from which the message is read again for whoever asks.
"""

from typing import Annotated, Any, TypeAlias

import msgspec

from reattach.machine.cursor import MAX_INTEGER
from reattach.oracle.observation import Frame, Json

Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_INTEGER)]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class FlatFrame(
    msgspec.Struct,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    gc=False,
    tag="frame",
    tag_field="type",
):
    """The fields of a ``Frame``, and its payload as JSON."""

    at: Natural
    connection: Natural
    id: str | None = None
    event: str | None = None
    retry: Natural | None = None
    payload: Any = None
    """Unset once it has been let go."""
    has_data: bool = False
    size: Natural = 0
    experiment: str = ""
    """That of its line."""
    packed: Any = b"{}"
    """Bytes: its line; or an object with its payload alone, if that was replaced."""

    def let_go(self) -> None:
        """Keep the message as text alone."""
        self.payload = msgspec.UNSET

    def replace(self, payload: Json) -> None:
        """Have another message, and let go of the one that it had."""
        self.packed = _encode({"payload": payload})
        self.let_go()

    def frame(self) -> Frame:
        """The frame that it is."""
        payload = _decode(self.packed).get("payload") if self.payload is msgspec.UNSET else self.payload
        return Frame(
            at=self.at, connection=self.connection, id=self.id, event=self.event, retry=self.retry, payload=payload,
            has_data=self.has_data, size=self.size,
        )  # fmt: skip


AnyFrame: TypeAlias = Frame | FlatFrame


def let_go(frame: AnyFrame) -> AnyFrame:
    """The frame; a flat one keeps its message as text alone."""
    if type(frame) is FlatFrame:
        frame.let_go()
    return frame


Packed: TypeAlias = Frame | bytes
"""A frame as little as it can be kept: a flat one is its line."""

_frame = msgspec.json.Decoder(FlatFrame).decode


def pack(frame: AnyFrame) -> Packed:
    """What a frame is kept as, whose payload was not replaced."""
    return frame.packed if type(frame) is FlatFrame else frame  # type: ignore[return-value]


def unpack(packed: Packed) -> AnyFrame:
    """The frame; a flat one without its message."""
    if type(packed) is not bytes:
        return packed  # type: ignore[return-value]
    frame = _frame(packed)
    frame.packed = packed
    frame.let_go()
    return frame
