"""What passes on the wire to a client, as the items that the machine's client is driven by."""

from collections.abc import Mapping

from reattach.machine.client import refused
from reattach.machine.cursor import ABSENT, Cursor, parse_cursor
from reattach.machine.network import Aborted, Delivered, Item, Positioned, Primed, ResumptionRequired, Retry
from reattach.oracle.message import response_ids
from reattach.oracle.observation import Frame, Json

NOT_NOW = frozenset({408, 429, 500, 502, 503, 504})
"""Answers that say nothing about the session and its cursors: what was asked may be asked again."""
_RESUMED = "notifications/resumed"
_REQUIRED = "notifications/resumption_required"


def items_of(frame: Frame, *, asked: str | None, greeting: bool) -> tuple[Item, ...]:
    """What one SSE event is to a client.

    ``asked`` is the JSON-RPC id, as text, of the request whose stream it is; None: of none. ``greeting`` says whether
    it is the first event of a resumed view: without a message it states a position (ATT-1).
    """
    retry: tuple[Item, ...] = () if frame.retry is None else (Retry(frame.retry),)
    method = frame.payload.get("method") if isinstance(frame.payload, Mapping) else None
    if method == _RESUMED:
        return (*retry, Positioned(_stated(frame)))
    if method == _REQUIRED:
        return (*retry, ResumptionRequired())
    if frame.has_data:
        return (*retry, Delivered(cursor_of(frame.id), is_answer(frame.payload, asked)))
    if not frame.id:
        return retry
    cursor = cursor_of(frame.id)
    return (*retry, Positioned(cursor) if greeting else Primed(cursor))


def item_of_comment(text: str) -> Item | None:
    """What a comment is to a client: a stated position, the end of a view, or nothing."""
    words = text.split()
    if len(words) > 1 and words[0].rstrip(":") == "resumed":
        return Positioned(cursor_of(words[1]))
    if words and words[0].rstrip(":") == "resumption-required":
        return ResumptionRequired()
    return None


def item_of_status(status: int) -> Item:
    """What an answer other than 2xx is to a client."""
    return Aborted() if status in NOT_NOW else refused(status)


def is_answer(payload: Json, asked: str | None) -> bool:
    """Whether a message is, or as a batch contains, the response to a request."""
    return asked is not None and asked in response_ids(payload)


def cursor_of(identifier: str | None) -> Cursor:
    """An id as the cursor that it becomes; ABSENT if there is none."""
    return ABSENT if not identifier else parse_cursor((identifier,))


def _stated(frame: Frame) -> Cursor:
    params = frame.payload.get("params") if isinstance(frame.payload, Mapping) else None
    said = params.get("cursor") if isinstance(params, Mapping) else None
    return cursor_of(said if isinstance(said, str) else frame.id)
