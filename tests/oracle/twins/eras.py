"""Twins of ERA."""

from tests.oracle.twins.base import twin
from tests.oracle.wire import Wire

from reattach.oracle.verdict import Fault

NEWEST = "2026-07-28"


def _spoken(wire: Wire, rpc_id: int = 1) -> None:
    message = {"jsonrpc": "2.0", "id": rpc_id, "method": "tools/list"}
    exchange = wire.request("POST", message=message, revision=NEWEST)
    exchange.answer(200, "application/json").body({"jsonrpc": "2.0", "id": rpc_id, "result": {}})


@twin("ERA-1", Fault.RESUMPTION_IN_SESSIONLESS_REVISION)
def get_opens_a_stream(wire: Wire, bad: bool) -> None:
    """GET under 2026-07-28."""
    _spoken(wire)
    get = wire.request("GET", revision=NEWEST, session="s", cursors=("1",))
    get.answer().quiet() if bad else get.answer(405, "text/plain").body(None)


@twin("ERA-1", Fault.RESUMPTION_IN_SESSIONLESS_REVISION)
def events_have_ids(wire: Wire, bad: bool) -> None:
    """An event stream under 2026-07-28."""
    _spoken(wire)
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    call = wire.request("POST", message=message, revision=NEWEST).answer()
    call.result("1" if bad else None).end()


@twin("ERA-1", Fault.RESUMPTION_IN_SESSIONLESS_REVISION)
def a_session_id_is_minted(wire: Wire, bad: bool) -> None:
    """In the answer to any POST."""
    _spoken(wire)
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    exchange = wire.request("POST", message=message, revision=NEWEST)
    exchange.answer(200, "application/json", "minted" if bad else None).body({"jsonrpc": "2.0", "id": 2, "result": {}})


@twin("ERA-1", Fault.WRONG_STATUS)
def a_cursor_is_not_ignored(wire: Wire, bad: bool) -> None:
    """A POST with headers of older revisions."""
    _spoken(wire)
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    exchange = wire.request("POST", message=message, revision=NEWEST, cursors=("1",), session="s")
    exchange.answer(400 if bad else 200, "application/json").body({"jsonrpc": "2.0", "id": 2, "result": {}})
